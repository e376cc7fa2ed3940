//! Files of expectations: what they mean, and every mistake with its position.

use super::*;
use crate::document::expectation::Expectations;
use crate::model::Blob;

fn read_expectations(text: &str) -> Expectations {
    let document = yaml(GOOD);
    let variations = document.payload.unwrap().targeting().content.variations;
    expectations("pay.test.yaml", &Blob::Content(text.into()), Some(&variations))
}

#[test]
fn values_are_text_as_it_is_written() {
    let read = read_expectations(
        "- name: adults\n  given: { age: 1.10, vip: true, zip: 007, \"city\": 'Paris' }\n  key: 42\n  at: 1970-01-01T00:01:00Z\n  serves: on\n- { name: others, serves: off }\n",
    );
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    let given = [("age", "1.10"), ("city", "Paris"), ("vip", "true"), ("zip", "007")];
    let expected = [
        Expectation {
            name: "adults".into(),
            line: 1,
            given: given.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            key: Some("42".into()),
            at: Some(60),
            serves: "on".into(),
        },
        Expectation { name: "others".into(), line: 6, serves: "off".into(), ..Expectation::default() },
    ];
    assert_eq!(read.list.unwrap(), expected);
}

/// Each text has exactly one finding, which begins with the expected words, and no expectations.
fn refused(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let read = read_expectations(text);
        let found: Vec<String> = read
            .diagnostics
            .iter()
            .map(|one| format!("{}:{} {} {}", one.line, one.column, one.id, one.message))
            .collect();
        assert!(found.len() == 1 && found[0].starts_with(expected), "{text:?}: {found:?}");
        assert!(read.list.is_none());
    }
}

#[test]
fn a_file_that_is_not_a_list_of_expectations_is_an_error() {
    refused(&[
        ("", "0:0 empty-document this file contains no expectation"),
        ("# nothing\n", "0:0 empty-document this file contains no expectation"),
        ("[]\n", "0:0 empty-document this file contains no expectation"),
        ("name: x\n", "1:1 wrong-type this file is a list of expectations"),
        ("- on\n", "1:3 wrong-type `expectations` is a list of mappings, not `on`"),
        ("- name: [\n", "1:9 syntax this `[` is not closed"),
        ("<<<<<<< HEAD\n", "1:1 conflict-marker this file contains an unresolved merge conflict"),
    ]);
    let bytes = Blob::Content(vec![b'-', 0xff]);
    assert_eq!(expectations("a", &bytes, None).diagnostics[0].id, "not-utf8");
    assert_eq!(expectations("a", &Blob::TooLarge(9), None).diagnostics[0].id, "too-large");
}

#[test]
fn a_missing_unknown_or_repeated_field_is_an_error() {
    refused(&[
        ("- { name: a }\n", "1:5 missing-field an expectation needs `serves`"),
        ("- { serves: on }\n", "1:5 missing-field an expectation needs `name`"),
        ("- { name: a, servs: on, serves: on }\n", "1:14 unknown-key an expectation has no `servs`"),
        ("- { name: a, serves: on, serves: on }\n", "1:26 duplicate-key duplicate key `serves`"),
        (
            "- { name: a, serves: on }\n- { name: a, serves: on }\n",
            "2:11 duplicate-test two expectations are named `a`",
        ),
        ("- { name: a, given: { x: 1, x: 2 }, serves: on }\n", "1:29 duplicate-key duplicate key `x`"),
    ]);
}

#[test]
fn a_value_that_its_field_does_not_take_is_an_error() {
    refused(&[
        ("- { name: a, serves: onn }\n", "1:22 unknown-variation the toggle has no variation `onn`"),
        ("- { name: a, serves: ~ }\n", "1:22 null-text `serves` is text, and this is null"),
        (
            "- { name: a, given: [x], serves: on }\n",
            "1:14 wrong-type `given` is a mapping of attributes, not a list",
        ),
        ("- { name: a, given: { x: [1] }, serves: on }\n", "1:23 wrong-type `x` is text, not a list"),
        ("- { name: a, given: { x: { y: 1 } }, serves: on }\n", "1:23 wrong-type `x` is text, not a mapping"),
        ("- { name: a, given: { x: ~ }, serves: on }\n", "1:26 null-text `x` is text, and this is null"),
        ("- { name: a, at: today, serves: on }\n", "1:18 bad-datetime `today` is not a time"),
        ("- { name: a, key: [], serves: on }\n", "1:14 wrong-type `key` is text, not a list"),
        ("- { name: &a x, serves: on }\n", "1:11 yaml-anchor an anchor (`&`) is not allowed"),
    ]);
}

/// The first text in backticks of the help stands for the last one of each row.
#[test]
fn a_help_is_right_when_it_is_applied() {
    for (text, found, replaced) in [
        (
            "- { name: a, given: { price: 50,5 }, serves: on }",
            "1:33 wrong-type: a comma ends a value in braces, so `50,5` is not one",
            "50,5",
        ),
        (
            "- { name: a, given: { age: 20, vip:true }, serves: on }",
            "1:32 null-text: `vip:true` has no value",
            "vip:true",
        ),
        ("- { name: a, at: ~, serves: on }", "1:18 null-text: `at` is text, and this is null", "~"),
        (
            "- { name: a, user: { age: 20 }, serves: on }",
            "1:14 unknown-key: an expectation has no `user`",
            "user",
        ),
        ("- { name: a, user: u1, serves: on }", "1:14 unknown-key: an expectation has no `user`", "user: u1"),
        (
            "- { name: a, context: { age: 20 }, serves: on }",
            "1:14 unknown-key: an expectation has no `context`",
            "context",
        ),
        ("- { name: a, expect: on }", "1:14 unknown-key: an expectation has no `expect`", "expect"),
        (
            "- { name: a, expect: { variation: on } }",
            "1:14 unknown-key: an expectation has no `expect`",
            "expect: { variation: on }",
        ),
        ("- { test: a, serves: on }", "1:5 unknown-key: an expectation has no `test`", "test"),
        (
            "- { name: a, when: 2026-12-01T09:00:00Z, serves: on }",
            "1:14 unknown-key: an expectation has no `when`",
            "when: 2026-12-01T09:00:00Z",
        ),
        (
            "- { name: a, time: 2026-12-01T09:00:00Z, serves: on }",
            "1:14 unknown-key: an expectation has no `time`",
            "time",
        ),
        (
            "- { name: a, given: [{ age: 20 }, { vip: true }], serves: on }",
            "1:14 wrong-type: `given` is a mapping of attributes, not a list",
            "given: [{ age: 20 }, { vip: true }]",
        ),
        (
            "- { name: a, at: 2026-12-01, serves: on }",
            "1:18 bad-datetime: `2026-12-01` is not a time",
            "2026-12-01",
        ),
        (
            "- { name: a, at: 2026-12-01 09:00:00, serves: on }",
            "1:18 bad-datetime: `2026-12-01 09:00:00` is not a time",
            "2026-12-01 09:00:00",
        ),
        (
            "- { name: a, at: 1796371200, serves: on }",
            "1:18 bad-datetime: `1796371200` is not a time",
            "1796371200",
        ),
        (
            "- { name: a, at: 2026-12-01T09:00:00+24:00, serves: on }",
            "1:18 bad-datetime: `2026-12-01T09:00:00+24:00` is not a time",
            "2026-12-01T09:00:00+24:00",
        ),
        (
            "- { name: a, key: { id: 1 }, serves: on }",
            "1:14 wrong-type: `key` is text, not a mapping",
            "key: { id: 1 }",
        ),
        ("- adults", "1:3 wrong-type: `expectations` is a list of mappings, not `adults`", "adults"),
        ("name: adults", "1:1 wrong-type: this file is a list of expectations", "name: adults"),
    ] {
        let read = read_expectations(text);
        let all: Vec<String> = (read.diagnostics.iter())
            .map(|one| format!("{}:{} {}: {}", one.line, one.column, one.id, one.message))
            .collect();
        assert_eq!(all, [found], "{text}");
        let written = read.diagnostics[0].help.as_deref().unwrap().split('`').nth(1).unwrap();
        let fixed = text.replacen(replaced, written, 1);
        let after = read_expectations(&fixed);
        assert!(after.list.is_some(), "{fixed}: {:#?}", after.diagnostics);
    }
}

/// A name in place of an expectation, and a key above the list.
#[test]
fn an_expectation_below_another_key_has_one_finding() {
    for (text, message, help) in [
        (
            "- adults: { serves: on }\n",
            "an expectation has no `adults`",
            "write `name: \"adults\"`, and the rest beside it",
        ),
        (
            "tests:\n  - { name: a, serves: on }\n",
            "this file is a list of expectations",
            "remove `tests:`: the list is the whole file",
        ),
    ] {
        let read = read_expectations(text);
        let [one] = &read.diagnostics[..] else { panic!("{text}: {:#?}", read.diagnostics) };
        assert_eq!((one.message.as_str(), one.help.as_deref()), (message, Some(help)));
    }
}

#[test]
fn a_suggestion_names_the_variation() {
    let read = read_expectations("- { name: a, serves: offf }\n");
    assert_eq!(read.diagnostics[0].help.as_deref(), Some("did you mean `off`?"));
    for other in ["purple", "no", "non", "ofn"] {
        let read = read_expectations(&format!("- {{ name: a, serves: \"{other}\" }}\n"));
        assert_eq!(read.diagnostics[0].help.as_deref(), Some("it has `off` and `on`"), "{other}");
    }
    let read = read_expectations("- { name: a, serves: purple }\n");
    assert_eq!(read.diagnostics[0].help.as_deref(), Some("it has `off` and `on`"));
}

#[test]
fn the_lines_of_serves_are_those_of_the_file() {
    let lines = serve_lines(&Blob::Content(GOOD.into()), 1).unwrap();
    let expected = ServeLines { rules: vec![7], default_serve: 12, disabled_serve: 11 };
    assert_eq!(lines, expected);
}

#[test]
fn expectations_without_a_toggle_are_an_error() {
    let id = crate::model::ToggleId::new("shop", "prod", "pya").unwrap();
    let found = layout::test_without_toggle(&id, "shop/prod/pya.test.yaml", Some("shop/prod/pay"));
    assert_eq!((found.id, found.severity), ("test-without-toggle", Severity::Error));
    assert!(found.help.unwrap().contains("did you mean `shop/prod/pay`?"));
}

/// Rows of the fields beside the name, the help, and what the author meant. What stands in backticks with a colon in
/// the help is in the last one.
#[test]
fn a_help_on_another_notation_keeps_what_is_expected_of_whom() {
    let opposite = "write `serves: \"off\"` instead, which is the only other variation";
    let other = "write `serves: \"on\"` instead, which is the only other variation";
    let user = "write `key: \"u\"` and `given: { \"age\": \"30\" }` instead";
    let age = "write one mapping: `given: { \"age\": \"30\" }`";
    for (written, help, meant) in [
        // What is not served.
        ("not_serves: \"on\"", opposite, "serves: \"off\""),
        ("servesNot: \"on\"", opposite, "serves: \"off\""),
        ("not: \"on\"", opposite, "serves: \"off\""),
        ("not: { serves: \"off\" }", other, "serves: \"on\""),
        ("shouldNotBe: \"on\"", opposite, "serves: \"off\""),
        ("must_not_get: \"on\"", opposite, "serves: \"off\""),
        ("unexpected: on", opposite, "serves: \"off\""),
        ("\"!serves\": on", opposite, "serves: \"off\""),
        ("doesNotServe: true", opposite, "serves: \"off\""),
        ("never: off", other, "serves: \"on\""),
        ("expect: { not: on }", opposite, "serves: \"off\""),
        ("expect: { $ne: on }", opposite, "serves: \"off\""),
        ("serves: { not: on }", opposite, "serves: \"off\""),
        ("serves: \"!on\"", opposite, "serves: \"off\""),
        ("serves: \"!= on\"", opposite, "serves: \"off\""),
        ("serves: not on", opposite, "serves: \"off\""),
        (
            "not_serves: \"on\", serves: \"off\"",
            "remove it: `serves` names the variation that is served, so that no other one is",
            "serves: \"off\"",
        ),
        // A whole user.
        ("user: { key: u, age: 30 }, serves: on", user, "key: \"u\", given: { \"age\": \"30\" }, serves: on"),
        (
            "context: { targetingKey: u, age: 30 }, serves: on",
            user,
            "key: \"u\", given: { \"age\": \"30\" }, serves: on",
        ),
        (
            "user: { key: u, attributes: { age: 30 } }, serves: on",
            user,
            "key: \"u\", given: { \"age\": \"30\" }, serves: on",
        ),
        (
            "user: { key: u, attributes: { key: k } }, serves: on",
            "write `key: \"u\"` and `given: { \"key\": \"k\" }` instead",
            "key: \"u\", given: { \"key\": \"k\" }, serves: on",
        ),
        (
            "context: { userId: u, age: ~ }, serves: on",
            "write `key: \"u\"` instead",
            "key: \"u\", serves: on",
        ),
        ("user: { key: u, age: ~ }, serves: on", "write `key: \"u\"` instead", "key: \"u\", serves: on"),
        (
            "user: { key: u }, key: v, serves: on",
            "keep one of the two keys: `user` has one, and so has the expectation",
            "key: v, serves: on",
        ),
        (
            "given: { user: { age: 30 } }, serves: on",
            "write `given: { \"age\": \"30\" }`",
            "given: { \"age\": \"30\" }, serves: on",
        ),
        (
            "given: { vip: true, context: { key: u } }, serves: on",
            "write `key: \"u\"` and `given: { \"vip\": \"true\" }`",
            "key: \"u\", given: { \"vip\": \"true\" }, serves: on",
        ),
        (
            "given: { attributes: { age: 30 }, age: 31 }, serves: on",
            "write the attributes directly below `given`, each as a text, and the user's key as `key` beside it",
            "given: { age: 30 }, serves: on",
        ),
        // A variation by its value.
        ("value: \"true\"", "write `serves: \"on\"` instead", "serves: \"on\""),
        ("expected: true", "write `serves: \"on\"` instead", "serves: \"on\""),
        ("expect: { value: false }", "write `serves: \"off\"` instead", "serves: \"off\""),
        ("variation: 1", "write `serves: \"on\"` instead", "serves: \"on\""),
        (
            "value: purple",
            "write `serves` instead, with the name of the variation; the variations begin with `off` and `on`",
            "serves: on",
        ),
        ("serves: true", "write `\"on\"`, the name of the variation with this value", "serves: \"on\""),
        (
            "serves: [on, off]",
            "name one variation, and write an expectation for each kind of user",
            "serves: on",
        ),
        // Attributes.
        (
            "given: { age: null }, serves: on",
            "remove it for a user without it, or write `age: \"\"` for empty text",
            "given: { age: \"\" }, serves: on",
        ),
        (
            "given: { type: }, serves: on",
            "remove it for a user without it, or write `type: \"\"` for empty text",
            "given: { type: \"\" }, serves: on",
        ),
        ("given: ~, serves: on", "remove it for a user without attributes", "serves: on"),
        ("key: ~, serves: on", "write the user's key, or remove it", "serves: on"),
        ("given: [ age=30 ], serves: on", age, "given: { \"age\": \"30\" }, serves: on"),
        ("given: [ \"age: 30\" ], serves: on", age, "given: { \"age\": \"30\" }, serves: on"),
        ("given: [{ name: age, value: 30 }], serves: on", age, "given: { \"age\": \"30\" }, serves: on"),
        ("given: age=30, serves: on", age, "given: { \"age\": \"30\" }, serves: on"),
        (
            "given: \"age=30,city='Paris'\", serves: on",
            "write one mapping: `given: { \"age\": \"30\", \"city\": \"Paris\" }`",
            "given: { \"age\": \"30\", \"city\": \"Paris\" }, serves: on",
        ),
        (
            "given: [ age>=30 ], serves: on",
            "write the attributes of the user, such as `given: { age: 20 }`",
            "given: { age: 20 }, serves: on",
        ),
    ] {
        let read = read_expectations(&format!("- {{ name: a, {written} }}\n"));
        let helps: Vec<_> = read.diagnostics.iter().map(|one| one.help.as_deref().unwrap()).collect();
        assert_eq!(helps, [help], "{written}: {:#?}", read.diagnostics);
        let applied = help.split('`').skip(1).step_by(2).filter(|part| part.contains(": "));
        assert!(applied.clone().all(|part| meant.contains(part)), "{help}: {meant}");
        let after = read_expectations(&format!("- {{ name: a, {meant} }}\n"));
        assert!(after.list.is_some(), "{meant}: {:#?}", after.diagnostics);
    }
}

/// With three variations, or without any that is known, no other variation is certain.
#[test]
fn the_help_on_a_variation_that_is_not_served_never_names_it_as_served() {
    let opposite = "do not just rename it, which would say the opposite: write `serves` with the variation that is served";
    let text = "- { name: a, not_serves: \"on\" }\n";
    let three =
        GOOD.replace("    - { name: \"on\"", "    - { name: \"red\", value: \"x\" }\n    - { name: \"on\"");
    let three = yaml(&three).payload.map(|payload| payload.targeting().content.variations);
    for (variations, help) in [
        (None, opposite.to_owned()),
        (three.as_deref(), format!("{opposite}; the variations begin with `off`, `red` and `on`")),
    ] {
        let read = expectations("pay.test.yaml", &Blob::Content(text.into()), variations);
        let helps: Vec<_> = read.diagnostics.iter().map(|one| one.help.as_deref().unwrap()).collect();
        assert_eq!(helps, [help]);
    }
}

/// A dash before each key makes one expectation several.
#[test]
fn an_expectation_with_a_dash_before_each_key_is_one_finding() {
    for text in [
        "- name: a\n- given: { age: 30 }\n- serves: \"on\"\n",
        "- name: a\n  given: { age: 30 }\n- serves: \"on\"\n",
    ] {
        let read = read_expectations(text);
        let [one] = &read.diagnostics[..] else { panic!("{text}: {:#?}", read.diagnostics) };
        assert!(one.help.as_deref().unwrap().starts_with("write a space in place of the dash"), "{one:#?}");
    }
    assert_eq!(read_expectations("- { name: a, serves: on }\n- { name: b, serves: on }\n").diagnostics, []);
}

/// A user has values, and compares none.
#[test]
fn an_attribute_that_is_compared_has_no_form() {
    for value in ["{ not: AT }", "{ in: [AT] }", "{ gte: 18 }"] {
        let read =
            read_expectations(&format!("- {{ name: a, given: {{ country: {value} }}, serves: on }}\n"));
        let [one] = &read.diagnostics[..] else { panic!("{value}: {:#?}", read.diagnostics) };
        let help = one.help.as_deref().unwrap();
        assert_eq!(help, "write the one value that this user has: `country: …`", "{value}");
    }
}

/// What no table has can say that the variation is served, or that it is not.
#[test]
fn a_variation_under_an_unexplained_key_of_an_expectation_is_its_serve_or_not() {
    for key in ["shouldBe", "assert", "fails", "xzqj"] {
        let read = read_expectations(&format!("- {{ name: a, {key}: on }}\n"));
        let [one] = &read.diagnostics[..] else { panic!("{key}: {:#?}", read.diagnostics) };
        let help = one.help.as_deref().unwrap();
        assert_eq!(
            help,
            "do not just remove it: write the variation that this user is served as `serves: …`"
        );
    }
}
