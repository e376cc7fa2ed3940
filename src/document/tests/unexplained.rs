//! A key that no table has: what it says is not lost in silence, and nothing is invented in its place.

use super::evident::DOCUMENT;
use super::*;

/// A word that is similar to no key and to no word of another tool.
fn any_key() -> impl Strategy<Value = String> {
    "[qxzjkv]{7,10}"
}

/// A value that is none of the variations.
fn any_value() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "zzz",
        "\"zzz\"",
        "1",
        "1.5",
        "true",
        "false",
        "10%",
        "[]",
        "[qq]",
        "{ }",
        "{ qq: 1 }",
        "[{ qq: 1 }]",
        "2026-12-01T00:00:00Z",
        "\"not zzz\"",
        "~",
    ])
}

/// The levels of a document at which a key can be unknown, each with all its parts: the parts, and the text around.
const LEVELS: &[(&str, &[&str], &str)] = &[
    (
        "`content`",
        &[
            "variations: [{ name: \"off\", value: \"10\" }, { name: \"on\", value: \"20\" }]",
            "rules: [{ name: a, conditions: [], serve: { variation: \"on\" } }]",
            "disabledServe: { variation: \"off\" }",
            "defaultServe: { variation: \"off\" }",
        ],
        "{ disabled: false, content: { … } }",
    ),
    (
        "a rule",
        &[
            "name: a",
            "conditions: [{ type: string, subject: a, predicate: is one of, objects: [b] }]",
            "serve: { variation: \"on\" }",
        ],
        "{ disabled: false, content: { variations: [{ name: \"off\", value: \"10\" }, { name: \"on\", value: \"20\" }], \
         rules: [{ … }], disabledServe: { variation: \"off\" }, defaultServe: { variation: \"off\" } } }",
    ),
    (
        "a condition",
        &["type: string", "subject: a", "predicate: is one of", "objects: [b]"],
        "{ disabled: false, content: { variations: [{ name: \"off\", value: \"10\" }, { name: \"on\", value: \"20\" }], \
         rules: [{ name: a, conditions: [{ … }], serve: { variation: \"on\" } }], \
         disabledServe: { variation: \"off\" }, defaultServe: { variation: \"off\" } } }",
    ),
    (
        "a prerequisite",
        &["key: base", "type: string", "value: blue"],
        "{ disabled: false, content: { variations: [{ name: \"off\", value: \"10\" }, { name: \"on\", value: \"20\" }], \
         rules: [{ name: a, conditions: [], serve: { variation: \"on\" } }], prerequisites: [{ … }], \
         disabledServe: { variation: \"off\" }, defaultServe: { variation: \"off\" } } }",
    ),
    (
        "a serve",
        &["variation: \"on\""],
        "{ disabled: false, content: { variations: [{ name: \"off\", value: \"10\" }, { name: \"on\", value: \"20\" }], \
         rules: [], disabledServe: { variation: \"off\" }, defaultServe: { … } } }",
    ),
    (
        "a variation",
        &["name: \"on\"", "value: \"20\""],
        "{ disabled: false, content: { variations: [{ name: \"off\", value: \"10\" }, { … }], \
         rules: [], disabledServe: { variation: \"off\" }, defaultServe: { variation: \"off\" } } }",
    ),
];

fn helps(document: &Document) -> Vec<(&str, &str)> {
    document.diagnostics.iter().map(|one| (one.id, one.help.as_deref().unwrap_or_default())).collect()
}

/// Returns whether a text in backticks is an entry with a value, which an author can copy.
fn can_be_copied(help: &str) -> bool {
    help.split('`').skip(1).step_by(2).any(|text| text.contains(": ") && !text.contains('…'))
}

proptest! {
    #[test]
    fn what_an_unexplained_key_says_is_not_lost_in_silence(
        (level, own, value) in (0..LEVELS.len(), any_key(), any_value())
    ) {
        let (what, parts, around) = LEVELS[level];
        let text = around.replacen('…', &format!("{}, {own}: {value}", parts.join(", ")), 1);
        let document = featureprobe(&text);
        let all = helps(&document);
        let unknown = all.iter().find(|(id, _)| *id == "unknown-key");
        let Some((_, help)) = unknown else { panic!("{text} {all:?}") };
        prop_assert!(help.contains("do not just remove it"), "{} {}: {}: {}", what, own, value, help);
    }

    #[test]
    fn nothing_is_invented_beside_an_unexplained_key(
        (level, own, value) in (0..LEVELS.len(), any_key(), any_value()),
        missing in 0..4_usize,
        other in 0..4_usize,
    ) {
        let (what, parts, around) = LEVELS[level];
        let kept = parts.iter().enumerate().filter(|(at, _)| *at != missing % parts.len() && *at != other);
        let kept: String = kept.map(|(_, part)| format!("{part}, ")).collect();
        let text = around.replacen('…', &format!("{kept}{own}: {value}"), 1);
        let document = featureprobe(&text);
        // What stands in the place of a part has the values that are written.
        let is_missing = |id: &str| matches!(id, "missing-field" | "rule-without-serve");
        for (id, help) in helps(&document) {
            let is_invented = is_missing(id) && can_be_copied(help);
            prop_assert!(!is_invented, "{} {} {}: {}", what, text, id, help);
        }
    }

    #[test]
    fn an_unexplained_key_of_an_expectation_is_not_lost(
        (own, value, is_missing) in (any_key(), any_value(), any::<bool>())
    ) {
        let serves = if is_missing { "" } else { "serves: \"on\", " };
        let text = format!("- {{ name: a, {serves}{own}: {value} }}\n");
        let read = expectations("a.test.yaml", &Blob::Content(text.clone().into()), None);
        for one in &read.diagnostics {
            let help = one.help.as_deref().unwrap_or_default();
            let is_right = match one.id {
                "missing-field" => !can_be_copied(help),
                _ => help.contains("do not just remove it"),
            };
            prop_assert!(is_right, "{} {}: {}", text, one.id, help);
        }
        prop_assert_eq!(read.diagnostics.len(), 1 + usize::from(is_missing));
    }

    /// The only serve that is missing is the one that a key means whose value names a variation.
    #[test]
    fn a_variation_under_an_unexplained_key_is_the_only_serve_that_is_missing(
        own in any_key(),
        missing in prop::sample::select(vec!["serve", "defaultServe", "disabledServe"]),
        written in prop::sample::select(vec!["\"on\"", "{ variation: \"on\" }", "{ select: 1 }"]),
    ) {
        let text = with_missing(missing, &format!("{own}: {written}"));
        let document = featureprobe(&text);
        let help = format!("write `{missing}: {{ variation: \"on\" }}` instead");
        prop_assert_eq!(helps(&document), [("unknown-key", help.as_str())], "{}", text);
    }
}

/// Returns a document with an entry in place of a serve.
fn with_missing(missing: &str, entry: &str) -> String {
    let serves = [("serve", "on"), ("disabledServe", "off"), ("defaultServe", "off")];
    let [serve, disabled, default] = serves.map(|(name, variation)| match name == missing {
        true => entry.to_owned(),
        false => format!("{name}: {{ variation: \"{variation}\" }}"),
    });
    format!(
        "{{ disabled: false, content: {{ variations: [{{ name: \"off\", value: \"10\" }}, {{ name: \"on\", value: \"20\" }}], \
         rules: [{{ name: a, conditions: [{{ type: string, subject: a, predicate: is one of, objects: [b] }}], {serve} }}], {disabled}, {default} }} }}"
    )
}

/// Where both are missing, the name of the key tells which it is, or nothing does.
#[test]
fn the_name_of_a_key_tells_which_of_two_missing_serves_it_is() {
    let rest = DOCUMENT.split_once("  disabledServe").unwrap().0;
    for (own, expected) in [
        ("everyone: \"on\"", "write `defaultServe: { variation: \"on\" }` instead"),
        ("fallbackVariation: \"on\"", "write `defaultServe: { variation: \"on\" }` instead"),
        ("fallthroughVariation: 1", "write `defaultServe: { variation: \"on\" }` instead"),
        ("offServe: { variation: \"on\" }", "write `disabledServe: { variation: \"on\" }` instead"),
        ("whenOff: \"on\"", "write `disabledServe: { variation: \"on\" }` instead"),
        ("\"off\": \"on\"", "write `disabledServe: { variation: \"on\" }` instead"),
        ("disabled: { variation: \"on\" }", "write `disabledServe: { variation: \"on\" }` instead"),
    ] {
        let document = featureprobe(&format!("{rest}  {own}\n"));
        let all = helps(&document);
        assert!(all.len() == 2 && all.contains(&("unknown-key", expected)), "{own}: {all:?}");
    }
    let document = featureprobe(&format!("{rest}  result: \"on\"\n"));
    let all = helps(&document);
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].1.contains("`defaultServe: …`") && all[0].1.contains("`disabledServe: …`"), "{all:?}");
    // More than one would be there twice.
    for own in ["everyoneServe: \"on\"\n  elseServe: \"off\"", "result: \"on\"\n  outcome: \"off\""] {
        let rest = DOCUMENT.split_once("  defaultServe").unwrap().0;
        let document = featureprobe(&format!("{rest}  {own}\n"));
        let once = "write `defaultServe: …` instead, once: more than one key here names a variation";
        assert_eq!(helps(&document), [("unknown-key", once), ("unknown-key", once)], "{own}");
    }
    // A part of a word tells nothing.
    let (_, help) = only(&format!("{DOCUMENT}  offset: 1\n"));
    assert!(help.contains("do not just remove it"), "{help}");
    // Both are there.
    let (_, help) = only(&format!("{DOCUMENT}  whenOff: \"on\"\n"));
    assert_eq!(help, "keep one of the two: `whenOff` stands for `disabledServe`, which is here as well");
}

fn only(text: &str) -> (Diagnostic, String) {
    let found = featureprobe(text).diagnostics;
    let [one] = &found[..] else { panic!("{text}{found:#?}") };
    (one.clone(), one.help.clone().unwrap())
}

/// What decides nothing may become a comment.
#[test]
fn what_plainly_decides_nothing_may_be_removed() {
    for (from, own) in [
        ("content:\n", "content:\n  notes: for the launch\n"),
        ("content:\n", "content:\n  createdAt: 2026-12-01\n"),
        ("content:\n", "content:\n  tags: [a, b]\n"),
        ("    - name: adults\n", "    - name: adults\n      owner: me\n"),
        ("        - type: string\n", "        - type: string\n          comment: as agreed\n"),
    ] {
        let (_, help) = only(&DOCUMENT.replacen(from, own, 1));
        assert!(
            help.ends_with("remove it, or write it as a comment, which begins with `#`"),
            "{own}: {help}"
        );
    }
    for key in ["priority", "stickiness", "type", "killSwitch", "activateAt", "archived", "match"] {
        let (_, help) = only(&format!("{DOCUMENT}  {key}: 1\n"));
        assert!(help.contains("do not just remove it"), "{key}: {help}");
    }
}

/// A prerequisite in another form has one finding, and no value that nobody wrote.
#[test]
fn a_prerequisite_in_another_form_has_one_finding_and_no_invented_value() {
    for (own, parts) in [
        ("[multi]", &["key: \"multi\", type: boolean, value: \"true\"", "if it has no booleans"][..]),
        ("multi", &["key: \"multi\", type: boolean, value: \"true\"", "if it has no booleans"]),
        ("{ base: ~ }", &["key: \"base\"", "if it has no booleans"]),
        ("[{ base: ~ }]", &["key: \"base\"", "if it has no booleans"]),
        ("[\"base = false\"]", &["key: …, type: …, value: …"]),
        ("[\"base: off\"]", &["key: …, type: …, value: …"]),
        ("[\"not base\"]", &["key: …, type: …, value: …"]),
        ("\"base, multi\"", &["key: …, type: …, value: …"]),
        ("{ \"base = on\": true }", &["key: …, type: …, value: …"]),
        ("[{ not: base }]", &["do not just remove it"]),
        ("[{ any: [base, multi] }]", &["do not just remove it"]),
        ("[{ key: base, type: string, not: red }]", &["do not just remove it"]),
        ("[{ key: base, is: \"on\" }]", &["`value: …`"]),
        ("[{ key: base, isNot: \"on\" }]", &["`value: …`"]),
        ("[{ key: base, equals: true }]", &["`value: …`"]),
        ("[{ key: base, expected: 1 }]", &["`value: …`"]),
    ] {
        let (_, help) = only(&DOCUMENT.replace("content:\n", &format!("content:\n  prerequisites: {own}\n")));
        assert!(parts.iter().all(|part| help.contains(part)), "{own}: {help}");
    }
}

/// Who writes `[]` in place of a text with all rules loses them.
#[test]
fn a_text_in_place_of_a_list_is_not_removed() {
    let (start, rest) = DOCUMENT.split_once("  rules:\n").unwrap();
    let end = &rest[rest.find("  disabledServe").unwrap()..];
    for text in [
        format!("{start}  rules: |\n{rest}"),
        format!("{start}  rules: >\n{rest}"),
        format!("{start}  rules: |-\n{rest}"),
        format!("{start}  rules: \"- name: a\"\n{end}"),
    ] {
        let (_, help) = only(&text);
        assert!(!help.contains("[]") && help.contains("list"), "{text}: {help}");
    }
    assert_eq!(only(&format!("{start}  rules: none\n{end}")).1, "write `[]` for none");
    let (_, help) =
        only(&DOCUMENT.replace("content:\n", "content:\n  prerequisites: { multi: [red, blue] }\n"));
    assert_eq!(help, "write `- ` before each item");
}

/// Expectations that `gitoggle test` does not find.
#[test]
fn a_document_that_is_a_list_of_expectations_is_named_as_such() {
    let text = "- { name: a, given: { age: 20 }, serves: \"on\" }\n";
    for (path, name) in [
        ("shop/prod/pay.test.yml", "pay.test.yaml"),
        ("shop/prod/pay.tests.yaml", "pay.test.yaml"),
        ("shop/prod/pay_test.yaml", "pay.test.yaml"),
        ("shop/prod/pay-test.yaml", "pay.test.yaml"),
        ("shop/prod/pay.spec.yaml", "pay.test.yaml"),
        ("shop/prod/pay.yaml", "pay.test.yaml"),
    ] {
        let document = read(path, &Blob::Content(text.into()), ServiceKind::FeatureProbe);
        let [one] = &document.diagnostics[..] else { panic!("{path}: {:#?}", document.diagnostics) };
        assert_eq!(one.id, "not-a-document");
        let help = one.help.as_deref().unwrap();
        assert!(help.contains(&format!("`{name}`")), "{path}: {help}");
    }
}

/// A part of `content` among the variations is no variation that is never served.
#[test]
fn a_part_of_content_among_the_variations_has_one_finding() {
    let (_, help) =
        only(&DOCUMENT.replacen("  rules:\n", "    - defaultServe: { variation: \"off\" }\n  rules:\n", 1));
    assert_eq!(help, "keep one of the two: `content` has `defaultServe` as well");
}
