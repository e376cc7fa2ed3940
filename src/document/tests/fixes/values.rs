//! Helps on the values of variations.

use super::*;

pub(super) const MISTAKES: &[Mistake] = &[
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
    // The ends of texts.
    mistake(
        "value: \"20\"",
        "value: „20“",
        "5:28 typographic-quotes: the quotes `„` and `“` are a part of this text",
        "„20“",
    ),
    // No blank follows a colon.
    mistake(
        "{ name: \"on\", value: \"20\" }",
        "{ name: \"on\", value:#20 }",
        "5:21 unknown-key: a variation has no `value:#20`",
        "value:#20",
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
    // What another type of value has in its place.
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
    // What stands in place of a text.
    mistake(
        "- { name: \"on\", value: \"20\" }",
        "- { \"on\": \"20\" }",
        "5:9 unknown-key: a variation has no `on`",
        "\"on\": \"20\"",
    ),
];

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
