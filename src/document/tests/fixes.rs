//! A help is tested by applying it: afterwards, the same place has no finding.

use super::*;

const SPLIT: &str = "{ split: { \"on\": 50, \"off\": 50 } }";

pub(super) const DOCUMENT: &str = r#"disabled: false
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

pub(super) const CONDITION: &str =
    r#"{ type: string, subject: country, predicate: is one of, objects: ["AT"] }"#;

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
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: !>, objects: [18] }",
        "9:52 syntax: a value cannot begin with `!`",
        "!>",
    ),
    // A misspelled key is not missing as well.
    mistake("defaultServe", "defaultServ", "12:3 unknown-key: `content` has no `defaultServ`", "defaultServ"),
    mistake("subject: country", "subjec: country", "9:27 unknown-key: a condition has no `subjec`", "subjec"),
    mistake("  rules:", "  rule:", "6:3 unknown-key: `content` has no `rule`", "rule"),
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
        "\"- 1\\n- 2\"",
    ),
    mistake(
        "[\"AT\"]",
        "[\"AT\", \"1 - 2 - 3\"]",
        "9:83 list-in-text: this text has the form of a list, but it is one object",
        "\"1 - 2 - 3\"",
    ),
    // The ends of texts.
    mistake(
        "[\"AT\"]",
        "[“AT”]",
        "9:77 typographic-quotes: the quotes `“` and `”` are a part of this text",
        "“AT”",
    ),
    mistake(
        "value: \"20\"",
        "value: „20“",
        "5:28 typographic-quotes: the quotes `„` and `“` are a part of this text",
        "„20“",
    ),
    mistake(
        "[\"AT\"]",
        "[\"AT\u{a0}\"]",
        "9:77 hidden-character: the invisible character U+00A0 is a part of this text",
        "\"AT\u{a0}\"",
    ),
    mistake(
        "subject: country",
        "subject: country\u{2003}",
        "9:36 hidden-character: the invisible character U+2003 is a part of this text",
        "country\u{2003}",
    ),
    mistake(
        "predicate: is one of",
        "predicate: “is one of”",
        "9:56 unknown-predicate: `“is one of”` is not a known predicate of a `string` condition",
        "“is one of”",
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
    mistake(
        SPLIT,
        "{ split: { \"on\": 33.33, \"off\": 66.66 } }",
        "10:16 split-sum: the percentages add up to 99.99, not 100",
        "{ \"on\": 33.33, \"off\": 66.66 }",
    ),
    mistake(
        SPLIT,
        "{ split: { \"on\": 50, \"off\": 49.99 } }",
        "10:16 split-sum: the percentages add up to 99.99, not 100",
        "{ \"on\": 50, \"off\": 49.99 }",
    ),
    mistake(
        SPLIT,
        "{ split: [33.33, 66.66] }",
        "10:24 split-share: `33.33` is not a weight",
        "[33.33, 66.66]",
    ),
    mistake(SPLIT, "{ split: [1/3, 2/3] }", "10:24 split-share: `1/3` is not a weight", "[1/3, 2/3]"),
    mistake(
        SPLIT,
        "{ split: { \"on\": 1/3, \"off\": 2/3 } }",
        "10:31 split-share: `1/3` is not a percentage",
        "{ \"on\": 1/3, \"off\": 2/3 }",
    ),
    mistake(
        SPLIT,
        "{ split: { \"on\": 1e1, \"off\": 90 } }",
        "10:31 split-share: `1e1` is not a percentage",
        "1e1",
    ),
    mistake(
        SPLIT,
        "{ split: { \"on\": 0.005, \"off\": 0.995 } }",
        "10:31 split-share: `0.005` is not a percentage",
        "{ \"on\": 0.005, \"off\": 0.995 }",
    ),
    // No blank follows a colon.
    mistake(
        "{ name: \"on\", value: \"20\" }",
        "{ name: \"on\", value:#20 }",
        "5:21 unknown-key: a variation has no `value:#20`",
        "value:#20",
    ),
    mistake(
        CONDITION,
        "{ type: string, subject:country, predicate: is one of, objects: [AT] }",
        "9:27 unknown-key: a condition has no `subject:country`",
        "subject:country",
    ),
    mistake(SPLIT, "{ split: { on: 50, off:50 } }", "10:33 null-text: `off:50` has no value", "off:50"),
    // The type and the predicate have one help.
    mistake(
        CONDITION,
        "{ type: boolean, predicate: \"=\", subject: vip, objects: [\"true\"] }",
        "9:19 unknown-condition-type: `boolean` is not a known type of condition",
        "type: boolean, predicate: \"=\"",
    ),
    mistake(
        CONDITION,
        "{ type: int, predicate: gte, subject: age, objects: [18] }",
        "9:19 unknown-condition-type: `int` is not a known type of condition",
        "type: int, predicate: gte",
    ),
    // Types, negations and units are kept.
    mistake(
        "value: \"20\"",
        "value: \"1,000\"",
        "5:28 almost-value: `1,000` is not a number, so the values are text",
        "value: \"1,000\"",
    ),
    mistake(
        "value: \"20\"",
        "value: \"2 \"",
        "5:28 almost-value: `2 ` is not a number, so the values are text",
        "value: \"2 \"",
    ),
    mistake(
        "value: \"20\"",
        "value: \" 2\"",
        "5:28 almost-value: ` 2` is not a number, so the values are text",
        "value: \" 2\"",
    ),
    mistake(
        "value: \"20\"",
        "value: \"2%\"",
        "5:28 almost-value: `2%` is not a number, so the values are text",
        "value: \"2%\"",
    ),
    mistake(
        "value: \"20\"",
        "value: \"49.90 €\"",
        "5:28 almost-value: `49.90 €` is not a number, so the values are text",
        "value: \"49.90 €\"",
    ),
    mistake(
        "value: \"20\"",
        "value: \"$5\"",
        "5:28 almost-value: `$5` is not a number, so the values are text",
        "value: \"$5\"",
    ),
    mistake(
        "value: \"20\"",
        "value: \"0x10\"",
        "5:28 almost-value: `0x10` is not a number, so the values are text",
        "value: \"0x10\"",
    ),
    mistake(
        "value: \"20\"",
        "value: \"-3 %\"",
        "5:28 almost-value: `-3 %` is not a number, so the values are text",
        "value: \"-3 %\"",
    ),
    mistake(
        "\"10\" }\n    - { name: \"on\", value: \"20\" }",
        "\"true\" }\n    - { name: \"on\", value: \"False\" }",
        "5:28 almost-value: `False` is not a boolean, so the values are text",
        "value: \"False\"",
    ),
    mistake(
        "\"10\" }\n    - { name: \"on\", value: \"20\" }",
        "\"false\" }\n    - { name: \"on\", value: \"flase\" }",
        "5:28 almost-value: `flase` is not a boolean, so the values are text",
        "value: \"flase\"",
    ),
    mistake(
        "\"10\" }\n    - { name: \"on\", value: \"20\" }",
        "\"false\" }\n    - { name: \"on\", value: \"yes\" }",
        "5:28 almost-value: `yes` is not a boolean, so the values are text",
        "value: \"yes\"",
    ),
    mistake(
        "\"10\" }\n    - { name: \"on\", value: \"20\" }",
        "\"true\" }\n    - { name: \"on\", value: \"0\" }",
        "5:28 almost-value: `0` is not a boolean, so the values are text",
        "value: \"0\"",
    ),
    mistake(
        "\"10\" }\n    - { name: \"on\", value: \"20\" }",
        "\"True\" }\n    - { name: \"on\", value: \"false \" }",
        "5:28 almost-value: `false ` is not a boolean, so the values are text",
        "value: \"false \"",
    ),
    mistake(
        "\"10\" }\n    - { name: \"on\", value: \"20\" }",
        "'{\"a\":1}' }\n    - { name: \"on\", value: '{a:2}' }",
        "5:28 almost-value: `{a:2}` is not a JSON object, so the values are text",
        "value: '{a:2}'",
    ),
    mistake(
        "\"10\" }\n    - { name: \"on\", value: \"20\" }",
        "'{\"a\":1}' }\n    - { name: \"on\", value: '{\"a\":True}' }",
        "5:28 almost-value: `{\"a\":True}` is not a JSON object, so the values are text",
        "value: '{\"a\":True}'",
    ),
    mistake(
        "\"10\" }\n    - { name: \"on\", value: \"20\" }",
        "'{\"a\":1}' }\n    - { name: \"on\", value: '{\"a\": 1' }",
        "5:28 almost-value: `{\"a\": 1` is not a JSON object, so the values are text",
        "value: '{\"a\": 1'",
    ),
    mistake(
        "\"10\" }\n    - { name: \"on\", value: \"20\" }",
        "\"[]\" }\n    - name: \"on\"\n      value: \"\n        - 1\n        - 2\n        - red\"",
        "6:14 list-in-text: this text was a list, whose lines are one now",
        "value: \"\n        - 1\n        - 2\n        - red\"",
    ),
    mistake(
        "\"10\" }\n    - { name: \"on\", value: \"20\" }",
        "\"[]\" }\n    - name: \"on\"\n      value: |\n        - 1\n        - 2",
        "7:9 list-in-text: this text has the form of a list, and the other values are JSON",
        "value: |\n        - 1\n        - 2",
    ),
    mistake(
        "\"10\" }\n    - { name: \"on\", value: \"20\" }",
        "\"[]\" }\n    - name: \"on\"\n      value: >\n        - 1\n        - 2",
        "7:9 list-in-text: this text was a list, whose lines are one now",
        "value: >\n        - 1\n        - 2",
    ),
    mistake(
        "\"10\" }\n    - { name: \"on\", value: \"20\" }",
        "\"{}\" }\n    - name: \"on\"\n      value: |\n        a: 1\n        b: red",
        "7:9 almost-value: `a: 1\\nb: red\\n` is not a JSON object, so the values are text",
        "value: |\n        a: 1\n        b: red",
    ),
    mistake(
        SPLIT,
        "{ split: { \"on\": { percentage: 40 }, \"off\": { weight: 60 } } }",
        "10:16 wrong-type: `split` has percentages by name, or a list of weights",
        "split: { \"on\": { percentage: 40 }, \"off\": { weight: 60 } }",
    ),
    mistake(
        SPLIT,
        "{ split: [[[0, 5000]], [[5000, 10000]]] }",
        "10:16 wrong-type: `split` has percentages by name, or a list of weights",
        "split: [[[0, 5000]], [[5000, 10000]]]",
    ),
    mistake(
        SPLIT,
        "{ split: [{ variation: \"on\", weight: 400 }, { weight: 600, variation: \"off\" }] }",
        "10:16 wrong-type: `split` has percentages by name, or a list of weights",
        "split: [{ variation: \"on\", weight: 400 }, { weight: 600, variation: \"off\" }]",
    ),
    mistake(
        SPLIT,
        "{ split: [\"on\": 40, \"off\": 60] }",
        "10:16 wrong-type: `split` has percentages by name, or a list of weights",
        "split: [\"on\": 40, \"off\": 60]",
    ),
    mistake(
        SPLIT,
        "{ split: [[\"on\", 40], [\"off\", 60]] }",
        "10:16 wrong-type: `split` has percentages by name, or a list of weights",
        "split: [[\"on\", 40], [\"off\", 60]]",
    ),
    mistake(
        SPLIT,
        "{ split: { weights: [1, 1] } }",
        "10:16 wrong-type: `split` has percentages by name, or a list of weights",
        "split: { weights: [1, 1] }",
    ),
    mistake(
        SPLIT,
        "{ percentage: { \"on\": 40, \"off\": 60 } }",
        "10:16 unknown-key: a serve has no `percentage`",
        "percentage: { \"on\": 40, \"off\": 60 }",
    ),
    mistake(
        SPLIT,
        "{ rollout: { \"on\": 0.4, \"off\": 0.6 } }",
        "10:16 unknown-key: a serve has no `rollout`",
        "rollout: { \"on\": 0.4, \"off\": 0.6 }",
    ),
    mistake(
        SPLIT,
        "{ fractional: [[\"on\", 40], [\"off\", 60]] }",
        "10:16 unknown-key: a serve has no `fractional`",
        "fractional: [[\"on\", 40], [\"off\", 60]]",
    ),
    mistake(
        SPLIT,
        "{ variations: [50, 50] }",
        "10:16 unknown-key: a serve has no `variations`",
        "variations: [50, 50]",
    ),
    mistake(SPLIT, "{ weights: [1, 3] }", "10:16 unknown-key: a serve has no `weights`", "weights: [1, 3]"),
    mistake(
        SPLIT,
        "{ variants: [{ name: \"on\", weight: 500 }, { name: \"off\", weight: 500 }] }",
        "10:16 unknown-key: a serve has no `variants`",
        "variants: [{ name: \"on\", weight: 500 }, { name: \"off\", weight: 500 }]",
    ),
    mistake(
        SPLIT,
        "{ split: [50000, 50000] }",
        "10:16 split-sum: the weights add up to 100000, not 10000",
        "[50000, 50000]",
    ),
    mistake(SPLIT, "{ split: [1, 1] }", "10:16 split-sum: the weights add up to 2, not 10000", "[1, 1]"),
    mistake(
        SPLIT,
        "{ split: { \"on\": 1, \"off\": 3 } }",
        "10:16 split-sum: the percentages add up to 4, not 100",
        "{ \"on\": 1, \"off\": 3 }",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \">\", objects: [\"49,90\"] }",
        "9:67 not-a-number: `49,90` is not a decimal number",
        "\"49,90\"",
    ),
    mistake(
        CONDITION,
        "{ type: int, subject: age, predicate: \">\", objects: [\"18\"] }",
        "9:19 unknown-condition-type: `int` is not a known type of condition",
        "int",
    ),
    mistake(
        CONDITION,
        "{ type: version, subject: app, predicate: \">\", objects: [1.2.3] }",
        "9:19 unknown-condition-type: `version` is not a known type of condition",
        "version",
    ),
    mistake(
        CONDITION,
        "{ type: string, subject: country, predicate: \"ncontains\", objects: [\"AT\"] }",
        "9:56 unknown-predicate: `ncontains` is not a known predicate of a `string` condition",
        "ncontains",
    ),
    mistake(
        CONDITION,
        "{ type: string, subject: country, predicate: \"mismatches regex\", objects: [\"AT\"] }",
        "9:56 unknown-predicate: `mismatches regex` is not a known predicate of a `string` condition",
        "mismatches regex",
    ),
    mistake(
        CONDITION,
        "{ type: string, subject: country, predicate: \"aint one of\", objects: [\"AT\"] }",
        "9:56 unknown-predicate: `aint one of` is not a known predicate of a `string` condition",
        "aint one of",
    ),
    mistake(
        CONDITION,
        "{ type: string, subject: country, predicate: \"is one\u{a0}of\", objects: [\"AT\"] }",
        "9:56 unknown-predicate: `is one\\u{a0}of` is not a known predicate of a `string` condition",
        "is one\u{a0}of",
    ),
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
    mistake(
        CONDITION,
        "country",
        "9:11 wrong-type: `conditions` is a list of mappings, not `country`",
        "country",
    ),
    mistake(
        "    - { name: \"on\", value: \"20\" }",
        "    -{ name: \"on\", value: \"20\" }",
        "5:5 syntax: no space follows the dash",
        "-{ name: \"on\", value: \"20\" }",
    ),
    // Templates, times, versions, patterns.
    mistake(
        "value: \"20\"",
        "value: {{ value }}",
        "5:21 wrong-type: `value` is text, not a template",
        "{{ value }}",
    ),
    mistake(
        "name: adults",
        "name: {{ .Values.name }}",
        "7:7 wrong-type: `name` is text, not a template",
        "{{ .Values.name }}",
    ),
    mistake(
        CONDITION,
        "{ type: datetime, subject: now, predicate: after, objects: [\"2026-12-01T09:00:00Z\"] }",
        "9:71 bad-datetime: `2026-12-01T09:00:00Z` is not a time that the service can parse",
        "2026-12-01T09:00:00Z",
    ),
    mistake(
        CONDITION,
        "{ type: datetime, subject: now, predicate: after, objects: [2026-12-01] }",
        "9:71 bad-datetime: `2026-12-01` is not a time that the service can parse",
        "2026-12-01",
    ),
    mistake(
        CONDITION,
        "{ type: datetime, subject: now, predicate: after, objects: [\"2026-12-01T09:00:00-05:00\"] }",
        "9:71 bad-datetime: `2026-12-01T09:00:00-05:00` is not a time that the service can parse",
        "2026-12-01T09:00:00-05:00",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: \"=\", objects: [\"v1.2\"] }",
        "9:67 bad-semver: `v1.2` is not a semantic version",
        "v1.2",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: \"=\", objects: [\"^1.2.3\"] }",
        "9:67 bad-semver: `^1.2.3` is not a semantic version",
        "predicate: \"=\", objects: [\"^1.2.3\"]",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: \"=\", objects: [\"~1.2\"] }",
        "9:67 bad-semver: `~1.2` is not a semantic version",
        "predicate: \"=\", objects: [\"~1.2\"]",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: \"=\", objects: [\">=1.2\"] }",
        "9:67 bad-semver: `>=1.2` is not a semantic version",
        "predicate: \"=\", objects: [\">=1.2\"]",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: between, objects: [65, 18] }",
        "9:52 between-fields: `between` needs `leftPredicate`, `rightPredicate` and `rightObjects`",
        "objects: [65, 18]",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: between, objects: [70] }",
        "9:52 between-fields: `between` needs `leftPredicate`, `rightPredicate` and `rightObjects`",
        "objects: [70]",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: between, objects: [1.10.0, 1.9.0] }",
        "9:52 between-fields: `between` needs `leftPredicate`, `rightPredicate` and `rightObjects`",
        "objects: [1.10.0, 1.9.0]",
    ),
    mistake(
        CONDITION,
        "{ type: datetime, subject: now, predicate: between, objects: [\"2026-12-01T09:00:00+00:00\", \
         \"2026-12-02T09:00:00+00:00\"] }",
        "9:54 between-fields: `between` needs `leftPredicate`, `rightPredicate` and `rightObjects`",
        "objects: [\"2026-12-01T09:00:00+00:00\", \"2026-12-02T09:00:00+00:00\"]",
    ),
    mistake(
        CONDITION,
        "{ type: datetime, subject: now, predicate: after, objects: [\"0000-00-00T00:00:00+00:00\"] }",
        "9:71 bad-datetime: `0000-00-00T00:00:00+00:00` is not a time that exists",
        "0000-00-00T00:00:00+00:00",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: \"^\", objects: [\"1.2.3\"] }",
        "9:52 unknown-predicate: `^` is not a known predicate of a `semver` condition",
        "predicate: \"^\", objects: [\"1.2.3\"]",
    ),
    // What stands in place of a text.
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \">\", objects: [{ value: 18 }] }",
        "9:69 wrong-type: `objects` is text, not a mapping",
        "{ value: 18 }",
    ),
    mistake("[\"AT\"]", "[a: b]", "9:77 wrong-type: `objects` is text, not a mapping", "a: b"),
    mistake(
        CONDITION,
        "{ type: number, subject: [age], predicate: \">\", objects: [18] }",
        "9:27 wrong-type: `subject` is text, not a list",
        "subject: [age]",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \">\", objects: { from: 5, to: 10 } }",
        "9:57 wrong-type: `objects` is a list, not a mapping",
        "objects: { from: 5, to: 10 }",
    ),
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
    mistake(
        "- { name: \"on\", value: \"20\" }",
        "- { \"on\": \"20\" }",
        "5:9 unknown-key: a variation has no `on`",
        "\"on\": \"20\"",
    ),
    mistake("- name: adults", "- adults", "7:7 syntax: keys follow this text, which has none", "adults"),
    mistake(SPLIT, "50%", "10:14 wrong-type: `serve` is a mapping, not `50%`", "serve: 50%"),
    mistake("conditions:", "when:", "8:7 unknown-key: a rule has no `when`", "when"),
    mistake("content:", "spec:", "2:1 unknown-key: a document has no `spec`", "spec"),
    mistake(
        "name: adults",
        "name: { value: adults }",
        "7:7 wrong-type: `name` is text, not a mapping",
        "name: { value: adults }",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \">\", objects: {18} }",
        "9:57 wrong-type: `objects` is a list, not a mapping",
        "objects: {18}",
    ),
    mistake(
        VARIATIONS,
        "variations: { \"off\": { value: 10 }, \"on\": { value: 20 } }",
        "3:3 wrong-type: `variations` is a list, not a mapping",
        "variations: { \"off\": { value: 10 }, \"on\": { value: 20 } }",
    ),
    mistake("[\"AT\"]", "[${X}]", "9:77 syntax: a value in brackets cannot contain `{`", "${X}"),
    // What compares is in the text, or in the key.
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \">\", objects: [\">=18\"] }",
        "9:67 not-a-number: `>=18` is not a decimal number",
        "predicate: \">\", objects: [\">=18\"]",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \"=\", objects: [18+] }",
        "9:67 not-a-number: `18+` is not a decimal number",
        "predicate: \"=\", objects: [18+]",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \"=\", objects: [5-10] }",
        "9:67 not-a-number: `5-10` is not a decimal number",
        "predicate: \"=\", objects: [5-10]",
    ),
    // The predicate decides what the object means.
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \"!=\", objects: [\">18\"] }",
        "9:68 not-a-number: `>18` is not a decimal number",
        "predicate: \"!=\", objects: [\">18\"]",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \"<\", objects: [\">18\"] }",
        "9:67 not-a-number: `>18` is not a decimal number",
        "\">18\"",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \"<=\", objects: [18-25] }",
        "9:68 not-a-number: `18-25` is not a decimal number",
        "18-25",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: \">=\", objects: [1.2.x] }",
        "9:68 bad-semver: `1.2.x` is not a semantic version",
        "1.2.x",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: \">\", objects: [^1.2.3] }",
        "9:67 bad-semver: `^1.2.3` is not a semantic version",
        "predicate: \">\", objects: [^1.2.3]",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: between, leftPredicate: \">=\", objects: [\">=18\"], \
         rightPredicate: \"<\", rightObjects: [\"65\"] }",
        "9:92 not-a-number: `>=18` is not a decimal number",
        "\">=18\"",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: between, leftPredicate: \">=\", objects: [\"18\"], \
         rightPredicate: \"<\", rightObjects: [\"<=65\"] }",
        "9:135 not-a-number: `<=65` is not a decimal number",
        "rightPredicate: \"<\", rightObjects: [\"<=65\"]",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, leftPredicate: \">=\", objects: [\"18\"], rightPredicate: \"<\", \
         rightObjects: [\"65\"] }",
        "9:13 missing-field: a condition needs `predicate`",
        "subject: age",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \">\", objects: [.5] }",
        "9:67 not-a-number: `.5` is not a decimal number",
        "[.5]",
    ),
    mistake(
        CONDITION,
        "{ country: [AT, CH] }",
        "9:13 unknown-key: a condition has no `country`",
        "country: [AT, CH]",
    ),
    mistake(
        CONDITION,
        "{ subject: country, in: [AT] }",
        "9:31 unknown-key: a condition has no `in`",
        "in: [AT]",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, min: 18 }",
        "9:41 unknown-key: a condition has no `min`",
        "min: 18",
    ),
];

const OFF: &str = "defaultServe: { variation: \"off\" }";

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
            _ if replaced.starts_with("[.") => format!("[{written}]"),
            _ if replaced.starts_with("{ on") => format!("{{ {written} }}"),
            "missing-field" => format!("{replaced}, {written}"),
            // Each text is a field.
            "between-fields" => help.split('`').skip(1).step_by(2).collect::<Vec<_>>().join(", "),
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

/// A comment that hides the closing brackets of its line hides them again if they are written at its end.
#[test]
fn a_comment_that_hides_closing_brackets_is_named_with_what_to_write_before_it() {
    let variation = "{ name: \"on\", value: \"20\" }";
    for (from, to, comment, written) in [
        (variation, "{ name: \"on\", value: \"20\" # red }", "# red }", "} "),
        (variation, "{ name: \"on\", value: \"20\", # red }", "# red }", "} "),
        (variation, "{ name: \"on\", value: \"20\" #red}", "#red}", "} "),
        (variation, "{ name: \"on\", value: \"20\"#red }", "#red }", "} "),
        ("[\"AT\"]", "[\"AT\"] # c", "# c }", "} "),
        ("[\"AT\"]", "[AT # c ]", "# c ] }", "] } "),
        ("[\"AT\"]", "[\"AT\"], # c", "# c }", "} "),
        ("[\"AT\"]", "[\"AT\" # c ]", "# c ] }", "] } "),
        (SPLIT, "{ split: { \"on\": 50, \"off\": 50 # }}", "# }}", "} } "),
    ] {
        let text = DOCUMENT.replace(from, to);
        let found = featureprobe(&text).diagnostics;
        let [one] = &found[..] else { panic!("{to}: {found:#?}") };
        let line = text.lines().nth(one.line as usize - 1).unwrap();
        assert_eq!(line.find(comment), Some(one.column as usize - 1), "{to}");
        assert!(one.message.starts_with(&format!("`{comment}` begins a comment")), "{to}: {}", one.message);
        assert_eq!(one.help.as_deref(), Some(format!("write `{written}` before it").as_str()), "{to}");
        let fixed = featureprobe(&text.replace(comment, &format!("{written}{comment}")));
        assert!(fixed.payload.is_some() && fixed.diagnostics.is_empty(), "{to}: {:#?}", fixed.diagnostics);
    }
    // What follows a colon may be the value.
    for (value, shown) in [("#", "#"), ("#c", "#c"), ("# c", "# c")] {
        let text = DOCUMENT.replace("value: \"20\" }", &format!("value: {value} }}"));
        let found = featureprobe(&text).diagnostics;
        let [one] = &found[..] else { panic!("{value}: {found:#?}") };
        let help = format!("put it in quotes if it is a value: `\"{shown}\"`");
        assert_eq!(one.help.as_deref(), Some(help.as_str()));
        let fixed = featureprobe(&text.replace(&format!("value: {value}"), &format!("value: \"{shown}\"")));
        assert!(fixed.payload.is_some(), "{value}: {:#?}", fixed.diagnostics);
    }
}

/// Brackets belong to a pattern, and to YAML without quotes.
#[test]
fn a_pattern_without_quotes_is_to_be_quoted() {
    for (pattern, quoted) in [
        (".*@acme[.]com", "\".*@acme[.]com\""),
        ("[a-z]+", "\"[a-z]+\""),
        ("[a-z]", "\"[a-z]\""),
        ("^a{1,3}$", "\"^a{1,3}$\""),
        ("^[a-z]$", "\"^[a-z]$\""),
        ("a\\.[bc]", "\"a\\\\.[bc]\""),
    ] {
        for more in ["", ", b"] {
            let own = |pattern: &str| {
                format!(
                    "{{ type: string, subject: mail, predicate: matches regex, objects: [{pattern}{more}] }}"
                )
            };
            let found = featureprobe(&DOCUMENT.replace(CONDITION, &own(pattern))).diagnostics;
            let [one] = &found[..] else { panic!("{pattern}: {found:#?}") };
            assert_eq!(
                one.help.as_deref(),
                Some(format!("put it in quotes: `{quoted}`").as_str()),
                "{pattern}"
            );
            let fixed = featureprobe(&DOCUMENT.replace(CONDITION, &own(quoted)));
            assert!(
                fixed.payload.is_some() && fixed.diagnostics.is_empty(),
                "{quoted}: {:#?}",
                fixed.diagnostics
            );
        }
    }
    // A list within a list of other texts, and a comma that is missing, stay what they are.
    for (objects, help) in [("[AT]", "remove the inner list"), ("AT [CH]", "write `,` between the items")] {
        let own = format!("{{ type: string, subject: country, predicate: is one of, objects: [{objects}] }}");
        let found = featureprobe(&DOCUMENT.replace(CONDITION, &own)).diagnostics;
        assert!(found[0].help.as_deref().is_some_and(|one| one.starts_with(help)), "{found:#?}");
    }
}

/// A null that stands for a number, a version, a time or a variation is no text.
#[test]
fn the_help_on_a_null_is_a_text_only_where_any_text_can_stand() {
    for (kind, predicate) in [("number", "\"=\""), ("semver", "\"=\""), ("datetime", "after")] {
        for null in ["null", "~", "NULL"] {
            let own = format!("{{ type: {kind}, subject: a, predicate: {predicate}, objects: [{null}] }}");
            let found = featureprobe(&DOCUMENT.replace(CONDITION, &own)).diagnostics;
            let [one] = &found[..] else { panic!("{own}: {found:#?}") };
            assert_eq!(
                (one.id, one.help.as_deref()),
                ("null-text", Some("write what is compared with, or remove it"))
            );
        }
    }
    let found = featureprobe(&DOCUMENT.replace("\"AT\"", "~")).diagnostics;
    assert_eq!(found[0].help.as_deref(), Some("write `\"~\"` if the text is meant"));
}

/// What has no certain meaning has no suggestion, but the reason.
#[test]
fn a_suggestion_that_would_change_a_type_is_left_out() {
    let document = |own: &str| {
        let (off, on) = ("value: \"10\"", "value: \"20\"");
        featureprobe(&DOCUMENT.replace(off, "value: '{\"a\":1}'").replace(on, &format!("value: '{own}'")))
    };
    for (own, reason) in [
        (r#"{"a":NaN}"#, "correct it (expected value at line 1 column 6)"),
        (r#"{"a":01}"#, "correct it (invalid number at line 1 column 7)"),
        (r#"{"a":1} // x"#, "correct it (trailing characters at line 1 column 9)"),
    ] {
        let found = document(own).diagnostics;
        let help = found.iter().find(|one| one.id == "almost-value").and_then(|one| one.help.as_deref());
        assert!(help.is_some_and(|help| help.starts_with(reason)), "{own}: {help:?}");
    }
    let both = featureprobe(&DOCUMENT.replace("value: \"20\"", "value: \"1,000\""));
    let help = both.diagnostics[0].help.as_deref().unwrap();
    assert!(help.starts_with("write `value: 1000` or `value: 1.000`"), "{help}");
    let incomplete = featureprobe(&DOCUMENT.replace("value: \"20\"", "value: \"1e\""));
    let help = incomplete.diagnostics[0].help.as_deref().unwrap();
    assert!(help.starts_with("write a decimal number"), "{help}");
}

#[test]
fn what_is_meant_as_it_is_written_has_no_finding() {
    for (from, to) in [
        ("[\"AT\"]", "[\"Smith - Jones\", \"a-b\", \"-\", \"- 1\", \"[a]\"]"),
        ("is one of, objects: [\"AT\"]", "matches regex, objects: [\"[ab],[cd]\"]"),
        ("value: \"20\"", "value: \"- one\\n- two\""),
        ("value: \"20\"", "value: \"1.2.3\""),
        ("value: \"20\"", "value: 12px"),
        ("value: \"20\"", "value: none"),
        ("value: \"20\"", "value: \"a: 1\""),
        ("\"10\" }\n    - { name: \"on\", value: \"20\" }", "true }\n    - { name: \"on\", value: unknown }"),
        (
            "\"10\" }\n    - { name: \"on\", value: \"20\" }",
            "\"yes\" }\n    - { name: \"on\", value: \"no\" }",
        ),
        ("\"10\" }\n    - { name: \"on\", value: \"20\" }", "10% }\n    - { name: \"on\", value: 20% }"),
        ("\"10\" }\n    - { name: \"on\", value: \"20\" }", "red }\n    - { name: \"on\", value: \"\" }"),
        ("value: \"20\"", "value: \"{name}\""),
    ] {
        assert_eq!(DOCUMENT.matches(from).count(), 1, "{from}");
        let document = featureprobe(&DOCUMENT.replace(from, to));
        let found = document.diagnostics.iter().filter(|one| one.id != "sdk-disagreement");
        assert_eq!(found.count(), 0, "{to}: {:?}", document.diagnostics);
    }
}

const VARIATIONS: &str = r#"variations:
    - { name: "off", value: "10" }
    - { name: "on", value: "20" }"#;

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

/// What cannot be read has one finding: no check takes it for an empty text, or for missing.
#[test]
fn a_part_of_a_condition_that_cannot_be_read_has_one_finding() {
    let between = "type: number, subject: age, predicate: between, leftPredicate: \">=\", objects: [5]";
    for own in [
        "type: number, subject: age, predicate: \">\", objects: [null]".to_owned(),
        "type: number, subject: age, predicate: \">\", objects: [~, 5]".to_owned(),
        "type: number, subject: age, predicate: \">\", objects: [[18]]".to_owned(),
        "type: semver, subject: app, predicate: \">\", objects: [{ a: 1 }]".to_owned(),
        format!("{between}, rightPredicate: \"<\", rightObjects: 10"),
        format!("{between}, rightPredicate: ~, rightObjects: [10]"),
    ] {
        let found = featureprobe(&DOCUMENT.replace(CONDITION, &format!("{{ {own} }}"))).diagnostics;
        assert_eq!(found.len(), 1, "{own}: {found:#?}");
    }
    // An empty text is one.
    let own = "{ type: number, subject: age, predicate: \">\", objects: [\"\"] }";
    assert_eq!(featureprobe(&DOCUMENT.replace(CONDITION, own)).diagnostics[0].id, "not-a-number");
    // Of several objects, the help on one does not replace the predicate of all.
    let own = "{ type: semver, subject: app, predicate: \"=\", objects: [\"^1.2.3\", \"~2.0\"] }";
    for one in featureprobe(&DOCUMENT.replace(CONDITION, own)).diagnostics {
        assert_eq!(one.help.as_deref(), Some("write a rule for each of these comparisons"));
    }
}

/// A name that is not there is not looked for.
#[test]
fn variations_without_names_are_to_be_named() {
    let text = DOCUMENT.replace("name: \"off\", ", "").replace("name: \"on\", ", "");
    for one in featureprobe(&text).diagnostics.iter().filter(|one| one.id == "unknown-variation") {
        assert_eq!(one.help.as_deref(), Some("no variation has a name: give each one a `name`"));
    }
}

/// A condition without a type gets the type that has its predicate.
#[test]
fn a_missing_type_is_one_that_has_the_predicate() {
    for (own, kind) in [
        ("subject: country, predicate: is one of, objects: [AT]", "string"),
        ("subject: country, predicate: does not start with, objects: [AT]", "string"),
        ("subject: now, predicate: after, objects: [\"2026-12-01T09:00:00+00:00\"]", "datetime"),
        ("predicate: is in, objects: [staff]", "segment"),
        ("subject: age, predicate: \">=\", objects: [\"18\"]", "number"),
        ("subject: app, predicate: \">=\", objects: [\"1.2.3\"]", "semver"),
    ] {
        let found = featureprobe(&DOCUMENT.replace(CONDITION, &format!("{{ {own} }}"))).diagnostics;
        let [one] = &found[..] else { panic!("{own}: {found:#?}") };
        assert_eq!(one.help.as_deref(), Some(format!("name the type, such as `type: {kind}`").as_str()));
        let fixed = featureprobe(&DOCUMENT.replace(CONDITION, &format!("{{ type: {kind}, {own} }}")));
        assert!(fixed.payload.is_some() && fixed.diagnostics.is_empty(), "{own}: {:#?}", fixed.diagnostics);
    }
    for own in ["subject: country, objects: [AT]", "predicate: sounds like", "subject: x"] {
        let found = featureprobe(&DOCUMENT.replace(CONDITION, &format!("{{ {own} }}"))).diagnostics;
        let helps: Vec<String> = found.into_iter().filter_map(|one| one.help).collect();
        let is_of_number =
            |help: &String| ["type: number", "\">\"", "age", "18"].iter().any(|part| help.contains(part));
        assert!(!helps.iter().any(is_of_number), "{own}: {helps:?}");
    }
    for kind in ["string", "segment"] {
        let own = format!("{{ type: {kind}, subject: a, predicate: between, objects: [AT] }}");
        let found = featureprobe(&DOCUMENT.replace(CONDITION, &own)).diagnostics;
        assert!(found.iter().all(|one| one.id != "between-fields"), "{kind}: {found:#?}");
    }
}

#[test]
fn rounded_percentages_add_up() {
    let text = DOCUMENT.replace(SPLIT, "{ split: { \"on\": 12.345, \"off\": 87.655 } }");
    let mut fixed = text.clone();
    for one in featureprobe(&text).diagnostics {
        let written = one.help.as_deref().unwrap().split('`').nth(1).unwrap().to_owned();
        fixed = fixed.replace(one.message.split('`').nth(1).unwrap(), &written);
    }
    assert!(featureprobe(&fixed).payload.is_some(), "{fixed}");
}
