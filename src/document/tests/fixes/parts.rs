//! Helps on the other parts of a document: its keys, lists and serves.

use super::*;

const OFF: &str = "defaultServe: { variation: \"off\" }";

pub(super) const MISTAKES: &[Mistake] = &[
    // A misspelled key is not missing as well.
    mistake("defaultServe", "defaultServ", "12:3 unknown-key: `content` has no `defaultServ`", "defaultServ"),
    mistake("  rules:", "  rule:", "6:3 unknown-key: `content` has no `rule`", "rule"),
    // What another type of value has in its place.
    mistake(VARIATIONS, "variations:", "3:3 wrong-type: `variations` is a list, not null", "variations:"),
    mistake(
        VARIATIONS,
        "variations: {}",
        "3:3 wrong-type: `variations` is a list, not a mapping",
        "variations: {}",
    ),
    mistake(
        VARIATIONS,
        "variations: \"off, on\"",
        "3:15 wrong-type: `variations` is a list, not the text `off, on`",
        "variations: \"off, on\"",
    ),
    mistake(
        VARIATIONS,
        "variations: [off, \"on\"]",
        "3:16 wrong-type: `variations` is a list of mappings, not `off`",
        "variations: [off, \"on\"]",
    ),
    mistake(
        DOCUMENT,
        "disabled: true\ncontent:\n  variations: [true, false]\n  rules: []\n  disabledServe: { select: 0 }\n  \
         defaultServe: { select: 1 }\n",
        "3:16 wrong-type: `variations` is a list of mappings, not `true`",
        "variations: [true, false]",
    ),
    mistake(
        OFF,
        "defaultServe: [on]",
        "12:3 wrong-type: `defaultServe` is a mapping, not a list",
        "defaultServe: [on]",
    ),
    mistake(
        OFF,
        "defaultServe: { variation: [on] }",
        "12:19 wrong-type: `variation` is text, not a list",
        "variation: [on]",
    ),
    mistake(
        OFF,
        "defaultServe: { variation: null }",
        "12:30 null-text: `variation` is text, and this is null",
        "variation: null",
    ),
    mistake(
        OFF,
        "defaultServe: { select: \"on\" }",
        "12:27 wrong-type: `select` is a whole number, not the text `on`",
        "select: \"on\"",
    ),
    mistake(
        OFF,
        "defaultServe: { select: on }",
        "12:27 wrong-type: `select` is a whole number, not `on`",
        "select: on",
    ),
    mistake(
        OFF,
        "defaultServe: { select: \"1\" }",
        "12:27 wrong-type: `select` is a whole number, not the text `1`",
        "select: \"1\"",
    ),
    mistake(
        "content:\n",
        "content:\n  prerequisites: [x]\n",
        "3:19 wrong-type: `prerequisites` is a list of mappings, not `x`",
        "prerequisites: [x]",
    ),
    mistake(
        "content:\n",
        "content:\n  prerequisites: x\n",
        "3:18 wrong-type: `prerequisites` is a list, not `x`",
        "prerequisites: x",
    ),
    mistake(
        "content:\n",
        "content:\n  prerequisites: { x: 20, y: blue }\n",
        "3:3 wrong-type: `prerequisites` is a list, not a mapping",
        "prerequisites: { x: 20, y: blue }",
    ),
    mistake(
        "content:\n",
        "content:\n  prerequisites: [{ flag: x, type: boolean, value: \"true\" }]\n",
        "3:21 unknown-key: a prerequisite has no `flag`",
        "flag",
    ),
    mistake(
        "content:\n",
        "content:\n  prerequisites: [{ key: x, variation: disabled }]\n",
        "3:29 unknown-key: a prerequisite has no `variation`",
        "variation: disabled",
    ),
    mistake(
        "content:\n",
        "content:\n  prerequisites: [{ x: \"true\" }]\n",
        "3:21 unknown-key: a prerequisite has no `x`",
        "x: \"true\"",
    ),
    // Templates, times, versions, patterns.
    mistake(
        "name: adults",
        "name: {{ .Values.name }}",
        "7:7 wrong-type: `name` is text, not a template",
        "{{ .Values.name }}",
    ),
    // What stands in place of a text.
    mistake(
        OFF,
        "defaultServe: { select: 01 }",
        "12:27 wrong-type: `select` is a whole number, not `01`",
        "select: 01",
    ),
    mistake(
        OFF,
        "defaultServe: { select: 1.0 }",
        "12:27 wrong-type: `select` is a whole number, not `1.0`",
        "select: 1.0",
    ),
    mistake(
        OFF,
        "defaultServe: { select: [0] }",
        "12:19 wrong-type: `select` is a whole number, not a list",
        "select: [0]",
    ),
    mistake(OFF, "defaultServe: { on }", "12:19 unknown-key: a serve has no `on`", "{ on }"),
    mistake("- name: adults", "- adults", "7:7 syntax: keys follow this text, which has none", "adults"),
    mistake("conditions:", "when:", "8:7 unknown-key: a rule has no `when`", "when"),
    mistake("content:", "spec:", "2:1 unknown-key: a document has no `spec`", "spec"),
    mistake(
        "name: adults",
        "name: { value: adults }",
        "7:7 wrong-type: `name` is text, not a mapping",
        "name: { value: adults }",
    ),
    mistake(
        VARIATIONS,
        "variations: { \"off\": { value: 10 }, \"on\": { value: 20 } }",
        "3:3 wrong-type: `variations` is a list, not a mapping",
        "variations: { \"off\": { value: 10 }, \"on\": { value: 20 } }",
    ),
];

/// A name that is not there is not looked for.
#[test]
fn variations_without_names_are_to_be_named() {
    let text = DOCUMENT.replace("name: \"off\", ", "").replace("name: \"on\", ", "");
    for one in featureprobe(&text).diagnostics.iter().filter(|one| one.id == "unknown-variation") {
        assert_eq!(one.help.as_deref(), Some("no variation has a name: give each one a `name`"));
    }
}
