//! Helps on keys of other tools.

use super::*;

/// What is written in place of what, the message, and what the first text in backticks of the help replaces.
type Foreign = (&'static str, &'static str, &'static str, &'static str);

const FOREIGN: &[Foreign] = &[
    ("conditions:", "clauses:", "a rule has no `clauses`", "clauses"),
    ("conditions:", "constraints:", "a rule has no `constraints`", "constraints"),
    ("subject:", "contextName:", "a condition has no `contextName`", "contextName"),
    ("subject:", "attribute:", "a condition has no `attribute`", "attribute"),
    ("subject:", "property:", "a condition has no `property`", "property"),
    ("predicate:", "operator:", "a condition has no `operator`", "operator"),
    ("predicate:", "op:", "a condition has no `op`", "op"),
    ("objects:", "values:", "a condition has no `values`", "values"),
    ("objects: [\"AT\"]", "value: AT", "a condition has no `value`", "value: AT"),
    (CONDITION, "{ segment: staff }", "a condition has no `segment`", "segment: staff"),
    (
        "is one of",
        "is one of, negate: true",
        "a condition has no `negate`",
        "predicate: is one of, negate: true",
    ),
    (
        "is one of",
        "is one of, inverted: true",
        "a condition has no `inverted`",
        "predicate: is one of, inverted: true",
    ),
    ("rules:", "targeting:", "`content` has no `targeting`", "targeting"),
    ("rules:", "strategies:", "`content` has no `strategies`", "strategies"),
    (
        VARIATIONS,
        "variations: { \"off\": 10, \"on\": 20 }",
        "`variations` is a list, not a mapping",
        "variations: { \"off\": 10, \"on\": 20 }",
    ),
    (
        "serve: { split: { \"on\": 50, \"off\": 50 } }",
        "variation: \"on\"",
        "a rule has no `variation`",
        "variation: \"on\"",
    ),
    (
        "serve: { split: { \"on\": 50, \"off\": 50 } }",
        "rollout: { variations: [{ variation: 0, weight: 50000 }, { variation: 1, weight: 50000 }] }",
        "a rule has no `rollout`",
        "rollout: { variations: [{ variation: 0, weight: 50000 }, { variation: 1, weight: 50000 }] }",
    ),
    (
        SPLIT,
        "{ rollout: { variations: [{ variation: 0, weight: 50000 }, { variation: 1, weight: 50000 }] } }",
        "a serve has no `rollout`",
        "rollout: { variations: [{ variation: 0, weight: 50000 }, { variation: 1, weight: 50000 }] }",
    ),
    (SPLIT, "{ variations: \"on\" }", "a serve has no `variations`", "variations: \"on\""),
    (SPLIT, "on", "`serve` is a mapping, not `on`", "serve: on"),
    (
        "defaultServe: { variation: \"off\" }",
        "defaultServe: \"on\"",
        "`defaultServe` is a mapping, not the text `on`",
        "defaultServe: \"on\"",
    ),
    (
        "defaultServe: { variation: \"off\" }",
        "fallthrough: { variation: 1 }",
        "`content` has no `fallthrough`",
        "fallthrough: { variation: 1 }",
    ),
    (
        "defaultServe: { variation: \"off\" }",
        "defaultVariant: \"on\"",
        "`content` has no `defaultVariant`",
        "defaultVariant: \"on\"",
    ),
    (
        "disabledServe: { variation: \"off\" }",
        "offVariation: 1",
        "`content` has no `offVariation`",
        "offVariation: 1",
    ),
    ("disabled: false", "enabled: true", "a document has no `enabled`", "enabled: true"),
    ("disabled: false", "enabled: false", "a document has no `enabled`", "enabled: false"),
    ("disabled: false", "state: ENABLED", "a document has no `state`", "state: ENABLED"),
    ("disabled: false", "state: DISABLED", "a document has no `state`", "state: DISABLED"),
    // A comment hides the rest of a line.
    ("\"20\"", "red #1", HIDDEN, "red #1"),
    ("\"20\"", "\"20\", description: issue #12", HIDDEN, "issue #12"),
    ("\"AT\"", "red #1, b", HIDDEN, "red #1"),
    (
        "\"10\" }\n    - { name: \"on\", value: \"20\" }",
        "\"false\" }\n    - name: \"on\"\n      value: |\n        true",
        "`true\\n` is not a boolean, so the values are text",
        "value: |\n        true",
    ),
];

const HIDDEN: &str = "a `#` after a blank begins a comment, which hides the rest of this line";

#[test]
fn a_key_of_another_tool_leads_to_that_of_a_document() {
    let mut wrong = Vec::new();
    for (from, to, message, replaced) in FOREIGN {
        assert_eq!(DOCUMENT.matches(from).count(), 1, "{from}");
        let text = DOCUMENT.replace(from, to);
        let found = featureprobe(&text).diagnostics;
        let helps: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
        let Some(one) = found.iter().find(|one| one.message == *message) else {
            wrong.push(format!("{to}: {found:#?}"));
            continue;
        };
        let written = one.help.as_deref().unwrap_or_default().split('`').nth(1).unwrap_or_default();
        let is_reversed = ["conditions: []", "rules: []", "select: 0"];
        let is_reversed = helps.iter().any(|help| is_reversed.iter().any(|part| help.contains(part)));
        let fixed = featureprobe(&text.replacen(replaced, written, 1));
        let mut left = fixed.diagnostics.iter().filter(|other| other.line == one.line);
        if is_reversed || fixed.payload.is_none() || left.next().is_some() {
            wrong.push(format!("{to}: {helps:?}: {:#?}", fixed.diagnostics));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
