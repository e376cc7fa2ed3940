//! A help is tested by applying it: afterwards, the same place has no finding.

use super::*;

const SPLIT: &str = "{ split: { \"on\": 50, \"off\": 50 } }";

const DOCUMENT: &str = r#"disabled: false
content:
  variations:
    - { name: "off", value: "10" }
    - { name: "on", value: "20" }
  rules:
    - name: adults
      conditions:
        - { type: string, subject: country, predicate: is one of, objects: ["AT"] }
      serve: { split: { "on": 50, "off": 50 } }
  disabledServe: { variation: "off" }
  defaultServe: { variation: "off" }
"#;

const CONDITION: &str = r#"{ type: string, subject: country, predicate: is one of, objects: ["AT"] }"#;

/// A mistake, and which of its words the last text in backticks of the help replaces.
struct Mistake {
    from: &'static str,
    to: &'static str,
    /// The position, the check and the message.
    finding: &'static str,
    replaced: &'static str,
}

const fn mistake(
    from: &'static str,
    to: &'static str,
    finding: &'static str,
    replaced: &'static str,
) -> Mistake {
    Mistake { from, to, finding, replaced }
}

const MISTAKES: &[Mistake] = &[
    // Each type of condition has its own comparisons and objects.
    mistake(
        CONDITION,
        "{ type: segment, objects: [staff] }",
        "9:13 missing-field: a condition needs `predicate`",
        "type: segment",
    ),
    mistake(
        CONDITION,
        "{ type: datetime, subject: now, objects: [\"2026-12-01T09:00:00+00:00\"] }",
        "9:13 missing-field: a condition needs `predicate`",
        "type: datetime",
    ),
    mistake(
        CONDITION,
        "{ type: string, subject: country, objects: [AT] }",
        "9:13 missing-field: a condition needs `predicate`",
        "type: string",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, objects: [1.2.3] }",
        "9:13 missing-field: a condition needs `predicate`",
        "type: semver",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, objects: [18] }",
        "9:13 missing-field: a condition needs `predicate`",
        "type: number",
    ),
    mistake(
        CONDITION,
        "{ type: segment, predicate: \"\", objects: [staff] }",
        "9:39 empty-text: `predicate` is empty",
        "predicate: \"\"",
    ),
    mistake(
        CONDITION,
        "{ type: datetime, subject: now, predicate: after }",
        "9:13 missing-field: a condition needs `objects`",
        "type: datetime",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: \"=\", objects: [] }",
        "9:57 no-objects: this condition has no objects to compare with",
        "objects: []",
    ),
    // JSON and numbers.
    mistake(
        "value: \"20\"",
        "value: { b: 1, a: [\"x y\", true, ~], \"it's\": 1.10 }",
        "5:21 wrong-type: `value` is text, not a mapping",
        "value: { b: 1, a: [\"x y\", true, ~], \"it's\": 1.10 }",
    ),
    mistake(
        "value: \"20\"",
        "value: [1, 2]",
        "5:21 wrong-type: `value` is text, not a list",
        "value: [1, 2]",
    ),
    mistake(
        "value: \"20\"",
        "value: \"20,5\"",
        "5:28 almost-value: `20,5` is not a number, so the values are text",
        "value: \"20,5\"",
    ),
    mistake(
        "value: \"20\"",
        "value: 1_000",
        "5:28 almost-value: `1_000` is not a number, so the values are text",
        "value: 1_000",
    ),
    mistake(
        "value: \"20\"",
        "value: 1.000,50",
        "5:34 unknown-key: a comma ends a value in braces, so `1.000,50` is not one",
        "1.000,50",
    ),
    mistake(
        "value: \"20\"",
        "value: Hello, world",
        "5:35 unknown-key: a comma ends a value in braces, so `Hello,world` is not one",
        "Hello, world",
    ),
    mistake(
        "\"10\" }\n    - { name: \"on\", value: \"20\" }",
        "'{}' }\n    - { name: \"on\", value: \"{a: 1}\" }",
        "5:28 almost-value: `{a: 1}` is not a JSON object, so the values are text",
        "value: \"{a: 1}\"",
    ),
    mistake(
        "\"10\" }\n    - { name: \"on\", value: \"20\" }",
        "'{}' }\n    - { name: \"on\", value: '{\"a\": 1,}' }",
        "5:28 almost-value: `{\"a\": 1,}` is not a JSON object, so the values are text",
        "value: '{\"a\": 1,}'",
    ),
    mistake(
        "value: \"20\"",
        "value: \"- 1\n      - 2\n      - 3\"",
        "5:28 list-in-text: this text was a list, whose lines are one now",
        "value: \"- 1\n      - 2\n      - 3\"",
    ),
    // Lists.
    mistake(
        "[\"AT\"]",
        "\"- 1\n            - 2\"",
        "9:76 wrong-type: `objects` is a list, not the text `- 1 - 2`",
        "objects: \"- 1\n            - 2\"",
    ),
    mistake("[\"AT\"]", "AT", "9:76 wrong-type: `objects` is a list, not `AT`", "objects: AT"),
    mistake(
        "[\"AT\"]",
        "\"AT, CH\"",
        "9:76 wrong-type: `objects` is a list, not the text `AT, CH`",
        "objects: \"AT, CH\"",
    ),
    mistake(
        "[\"AT\"]",
        "\"[AT, CH]\"",
        "9:76 wrong-type: `objects` is a list, not the text `[AT, CH]`",
        "objects: \"[AT, CH]\"",
    ),
    mistake(
        "[\"AT\"]",
        "[\"- 1\\n- 2\"]",
        "9:77 list-in-text: this text has the form of a list, but it is one object",
        "[\"- 1\\n- 2\"]",
    ),
    mistake(
        "[\"AT\"]",
        "[\"AT\", \"1 - 2 - 3\"]",
        "9:83 list-in-text: this text has the form of a list, but it is one object",
        "\"1 - 2 - 3\"",
    ),
    // Splits.
    mistake(
        SPLIT,
        "{ split: { distribution: [[[0, 2500]], [[2500, 10000]]] } }",
        "10:25 unknown-key: `distribution` is the form of a split for SDKs, and a document has weights",
        "split: { distribution: [[[0, 2500]], [[2500, 10000]]] }",
    ),
    mistake(
        SPLIT,
        "{ distribution: [[[0, 100], [5000, 10000]], [[100, 5000]]] }",
        "10:16 unknown-key: `distribution` is the form of a split for SDKs, and a document has weights",
        "distribution: [[[0, 100], [5000, 10000]], [[100, 5000]]]",
    ),
    mistake(
        SPLIT,
        "{ split: [50, 50] }",
        "10:16 split-sum: the weights add up to 100, not 10000",
        "[50, 50]",
    ),
    mistake(SPLIT, "{ split: [33.3, 66.7] }", "10:24 split-share: `33.3` is not a weight", "[33.3, 66.7]"),
    mistake(
        SPLIT,
        "{ split: [50,5, 49,5] }",
        "10:30 split-share: this weight is number 3, but there are only 2 variations",
        "[50,5, 49,5]",
    ),
    mistake(SPLIT, "{ split: [50%, 50%] }", "10:24 split-share: `50%` is not a weight", "[50%, 50%]"),
    mistake(SPLIT, "{ split: [0.25, 0.75] }", "10:24 split-share: `0.25` is not a weight", "[0.25, 0.75]"),
    mistake(
        SPLIT,
        "{ split: { \"on\": 0.25, \"off\": 0.75 } }",
        "10:16 split-sum: the percentages add up to 1, not 100",
        "{ \"on\": 0.25, \"off\": 0.75 }",
    ),
    mistake(
        SPLIT,
        "{ split: { \"on\": 2500, \"off\": 7500 } }",
        "10:16 split-sum: the percentages add up to 10000, not 100",
        "{ \"on\": 2500, \"off\": 7500 }",
    ),
    mistake(
        SPLIT,
        "{ split: { \"on\": 50 %, \"off\": 50 } }",
        "10:31 split-share: `50 %` is not a percentage",
        "50 %",
    ),
    mistake(
        SPLIT,
        "{ split: { \"on\": 50,5, \"off\": 49.5 } }",
        "10:34 wrong-type: a comma ends a value in braces, so `50,5` is not one",
        "50,5",
    ),
    mistake(
        SPLIT,
        "{ split: { \"on\": 33.333, \"off\": 66.67 } }",
        "10:31 split-share: `33.333` is not a percentage",
        "33.333",
    ),
];

#[test]
fn a_help_is_right_when_it_is_applied() {
    let mut wrong = Vec::new();
    for Mistake { from, to, finding, replaced } in MISTAKES {
        assert_eq!(DOCUMENT.matches(from).count(), 1, "{from}");
        let text = DOCUMENT.replace(from, to);
        let shown = |one: &Diagnostic| format!("{}:{} {}: {}", one.line, one.column, one.id, one.message);
        let document = featureprobe(&text);
        let found = document.diagnostics.iter().find(|one| shown(one) == *finding);
        let Some(found) = found else {
            wrong.push((*to, *finding, document.diagnostics.iter().map(shown).collect::<Vec<_>>()));
            continue;
        };
        let help = found.help.as_deref().unwrap();
        let written = help.split('`').nth(1).unwrap_or_else(|| panic!("{help}"));
        assert_eq!(text.matches(replaced).count(), 1, "{replaced}");
        // A missing field goes beside another one.
        let new = match found.id {
            "missing-field" => format!("{replaced}, {written}"),
            _ => written.to_owned(),
        };
        let fixed = text.replace(replaced, &new);
        let after = featureprobe(&fixed);
        let same_place = |one: &&Diagnostic| one.line == found.line;
        let left: Vec<_> = after.diagnostics.iter().filter(same_place).map(shown).collect();
        if !left.is_empty() || after.payload.is_none() {
            wrong.push((*to, *finding, [left, vec![help.to_owned()]].concat()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_meant_as_it_is_written_has_no_finding() {
    for (from, to) in [
        ("[\"AT\"]", "[\"Smith - Jones\", \"a-b\", \"-\", \"- 1\", \"[a]\"]"),
        ("is one of, objects: [\"AT\"]", "matches regex, objects: [\"[ab],[cd]\"]"),
        ("value: \"20\"", "value: \"- one\\n- two\""),
        ("value: \"20\"", "value: \"1.2.3\""),
        ("value: \"20\"", "value: 12px"),
        ("value: \"20\"", "value: \"{name}\""),
    ] {
        assert_eq!(DOCUMENT.matches(from).count(), 1, "{from}");
        let document = featureprobe(&DOCUMENT.replace(from, to));
        let found = document.diagnostics.iter().filter(|one| one.id != "sdk-disagreement");
        assert_eq!(found.count(), 0, "{to}: {:?}", document.diagnostics);
    }
}
