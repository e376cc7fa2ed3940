//! The vocabulary of FeatureProbe.

use super::help::lines;
use super::*;
use crate::model::{CONDITION_TYPES, ConditionType};

const NUMBER: &str = r#"type: number, subject: age, predicate: ">", objects: ["18"]"#;
const SERVE: &str = "serve: { select: 1 }";
const DEFAULT: &str = "defaultServe: { select: 0 }";

fn payload(text: &str) -> Payload {
    let document = featureprobe(text);
    document.payload.unwrap_or_else(|| panic!("{:?}", document.diagnostics))
}

#[test]
fn the_vocabulary_needs_the_kind_of_service() {
    for (from, to, message) in [
        (SERVE, "serve: { split: [5000, 5000] }", "a serve has no `split`"),
        (SERVE, "serve: { split: { \"on\": 100 }, select: 1 }", "a serve has no `split`"),
        ("  rules:\n", "  prerequisites: []\n  rules:\n", "`content` has no `prerequisites`"),
        (
            NUMBER,
            r#"type: number, subject: age, predicate: ">", objects: ["18"], leftPredicate: ">=""#,
            "a condition has no `leftPredicate`",
        ),
        (DEFAULT, "defaultServe: {}", "a serve needs `select` or `variation`"),
    ] {
        let document = yaml(with(from, to).replace("disabled: false", "disabled: true"));
        let [one] = document.diagnostics.as_slice() else {
            panic!("{:?}", lines(&document));
        };
        assert_eq!(one.message, message);
        let help = one.help.as_deref().unwrap();
        assert!(help.contains("service_kind: featureprobe"), "{help}");
        assert!(document.payload.is_none());
    }
    let no_subject = with(NUMBER, "type: segment, predicate: is in, objects: [staff]");
    assert_eq!(found(&yaml(&no_subject)), ["9:11 missing-field"]);
}

#[test]
fn every_pair_of_type_and_predicate_is_accepted_or_named() {
    let names = |kind: &ConditionType| kind.predicates();
    let mut predicates: Vec<&str> = CONDITION_TYPES.iter().flat_map(names).collect();
    predicates.push("is");
    for kind in CONDITION_TYPES {
        let object = match kind.name {
            "datetime" => "2026-12-01T09:00:00+00:00",
            "semver" => "1.0.0",
            _ => "1",
        };
        for predicate in &predicates {
            let sides = format!(
                "leftPredicate: {0:?}, rightPredicate: {0:?}, rightObjects: [\"{object}\"], ",
                kind.sides().first().unwrap_or(&"=")
            );
            let sides = if *predicate == "between" { sides } else { String::new() };
            let condition = format!(
                "type: {}, subject: age, predicate: {predicate:?}, {sides}objects: [\"{object}\"]",
                kind.name
            );
            let text = with(NUMBER, &condition);
            let document = featureprobe(&text);
            let ids: Vec<&str> = document.diagnostics.iter().map(|one| one.id).collect();
            let is_known = kind.predicates().contains(predicate);
            assert_eq!(ids.contains(&"unknown-predicate"), !is_known, "{condition}: {ids:?}");
            assert_eq!(document.payload.is_some(), is_known, "{condition}: {ids:?}");
        }
    }
}

#[test]
fn a_split_by_name_means_the_same_as_one_by_index() {
    let split = |split: &str| payload(&with(SERVE, &format!("serve: {{ split: {split} }}")));
    let expected = split("[2500, 7500]");
    assert_eq!(expected.targeting().content.rules[0].serve, Serve::Split(vec![2500, 7500]));
    for same in [
        "{ \"on\": 75, \"off\": 25 }",
        "{ 'off': 25.0, 'on': 75.00 }",
        "{ off: 25, on: 75 }",
        "{ \"on\" : \"75\", ? off : 25 }",
        "[\"2500\", 7500]",
    ] {
        assert_eq!(split(same), expected, "{same}");
    }
    assert_eq!(
        payload(&with(SERVE, "serve:\n        split:\n          \"off\": 25\n          on: 75")),
        expected
    );
    assert_eq!(split("{ \"off\": 100 }"), split("[10000]"));
    assert_eq!(split("[10000]"), split("[10000, 0]"));
    let json = GOOD_JSON.replace("{\"select\": 1}", "{\"split\": {\"on\": 75, \"off\": 25}}");
    let read = read_as(ServiceKind::FeatureProbe, json);
    assert_eq!(read.payload, Some(expected), "{:?}", read.diagnostics);
}

/// [`GOOD`] in JSON.
const GOOD_JSON: &str = r#"{
  "disabled": false,
  "content": {
    "variations": [{"name": "off", "value": "false"}, {"name": "on", "value": "true", "description": "New page"}],
    "rules": [{
      "name": "adults",
      "conditions": [{"type": "number", "subject": "age", "predicate": ">", "objects": ["18"]}],
      "serve": {"select": 1}
    }],
    "disabledServe": {"select": 0},
    "defaultServe": {"select": 0}
  }
}"#;

#[test]
fn what_is_left_out_means_the_same_as_the_empty_form() {
    let expected = payload(&with(NUMBER, "type: segment, subject: \"\", predicate: is in, objects: [staff]"));
    let without = with(NUMBER, "type: segment, predicate: is in, objects: [staff]");
    for text in [
        without.clone(),
        without.replace("  rules:\n", "  prerequisites: []\n  rules:\n"),
        without.replace("value: \"false\"", "value: \"false\", description: \"\""),
        // The positioned reader, which a hexadecimal index requires.
        without.replace("select: 1", "select: +1"),
    ] {
        assert_eq!(payload(&text), expected, "{text}");
    }
    assert_eq!(expected.targeting().content.prerequisites, Some(vec![]));
}

#[test]
fn only_a_disabled_toggle_has_an_empty_default_serve() {
    let text = with(DEFAULT, "defaultServe: {}").replace("disabled: false", "disabled: true");
    assert_eq!(payload(&text).targeting().content.default_serve, Serve::Nothing);
    // The served variation is not decided yet.
    let unused = featureprobe(&text.replace(SERVE, "serve: { select: 0 }"));
    assert_eq!(lines(&unused), Vec::<String>::new());
    for (text, explanation) in [
        (with(DEFAULT, "defaultServe: {}"), "no longer delivers the toggle"),
        (text.replace("disabledServe: { select: 0 }", "disabledServe: {}"), "no longer delivers the toggle"),
        (text.replace(SERVE, "serve: {}"), "no toggle of the environment is updated"),
    ] {
        let lines = lines(&featureprobe(&text));
        let is_explained = |line: &String| line.contains("error serve-choice") && line.contains(explanation);
        assert!(lines.iter().any(is_explained), "{lines:?}");
    }
}

#[test]
fn a_finding_explains_what_callers_would_see() {
    for (from, to, explanation) in [
        ("      serve: { select: 1 }\n", "", "no longer delivers the toggle"),
        (
            "  rules:\n",
            "  prerequisites: [{ key: a, value: x, type: text }]\n  rules:\n",
            "no longer delivers the toggle",
        ),
        ("number", "numbr", "no toggle of the environment is updated"),
        ("\">\"", "\"=>\"", "no toggle of the environment is updated"),
        ("\">\"", "between", "no toggle of the environment is updated"),
        (SERVE, "serve: { select: -1 }", "no toggle of the environment is updated"),
        (SERVE, "serve: { split: [-1, 10001] }", "no toggle of the environment is updated"),
        (SERVE, "serve: { select: 2 }", "callers get the default value in their code"),
        (SERVE, "serve: { split: [1, 2] }", "callers get the default value in their code"),
        (
            NUMBER,
            "type: string, subject: c, predicate: matches regex, objects: [\"(\"]",
            "the condition never matches",
        ),
    ] {
        let explained = lines(&featureprobe(&with(from, to)));
        assert!(explained.iter().any(|line| line.contains(explanation)), "{to}: {explained:?}");
        let documented = lines(&yaml(with(from, to)));
        assert!(!documented.iter().any(|line| line.contains(explanation)), "{to}: {documented:?}");
    }
}

#[test]
fn many_splits_over_many_variations_take_bounded_memory() {
    let variations: String = (0..10_000).map(|n| format!("    - {{ name: v{n}, value: x }}\n")).collect();
    let rules = "    - { name: r, conditions: [], serve: { split: [10000] } }\n".repeat(5000);
    let text = format!(
        "disabled: false\ncontent:\n  variations:\n{variations}  rules:\n{rules}  disabledServe: {{ select: 0 }}\n  defaultServe: {{ select: 0 }}\n"
    );
    let document = featureprobe(&text);
    assert!(found(&document).contains(&"0:0 content-too-large".to_owned()), "{:?}", found(&document).first());
    assert!(yaml(&text).payload.is_none());
}

/// Every type and predicate that the service's converter passes on to SDKs, and whether a condition may
/// combine them.
#[test]
fn every_pair_of_type_and_predicate_is_that_of_the_service() {
    const TEXT: &[&str] = &[
        "is one of",
        "ends with",
        "starts with",
        "contains",
        "matches regex",
        "is not any of",
        "does not end with",
        "does not start with",
        "does not contain",
        "does not match regex",
    ];
    const ORDER: &[&str] = &["=", "!=", ">", ">=", "<", "<=", "between"];
    const TIME: &[&str] = &["after", "before", "between"];
    const SEGMENT: &[&str] = &["is in", "is not in"];
    let types = [
        ("string", TEXT, "a", ""),
        ("number", ORDER, "1", ">="),
        ("semver", ORDER, "1.0.0", ">="),
        ("datetime", TIME, "2026-12-01T09:00:00+01:00", "after"),
        ("segment", SEGMENT, "a", ""),
    ];
    for (kind, known, object, side) in types {
        for predicate in [TEXT, ORDER, TIME, SEGMENT].concat() {
            let sides = match predicate {
                "between" if side.is_empty() => String::new(),
                "between" => format!(
                    ", leftPredicate: \"{side}\", rightPredicate: \"{side}\", rightObjects: [\"{object}\"]"
                ),
                _ => String::new(),
            };
            let condition = format!(
                "type: {kind}, subject: now, predicate: \"{predicate}\", objects: [\"{object}\"]{sides}"
            );
            let document = featureprobe(&with(NUMBER, &condition));
            assert_eq!(document.payload.is_some(), known.contains(&predicate), "{condition}");
        }
    }
}

#[test]
fn the_sides_of_between_are_those_of_the_type() {
    for (kind, left, object, expected) in [
        (
            "datetime",
            ">=",
            "2026-12-01T09:00:00+01:00",
            "`>=` is not a known predicate of a `datetime` condition",
        ),
        ("number", "after", "1", "`after` is not a known predicate of a `number` condition"),
        ("semver", "between", "1.0.0", "`between` is not a known predicate of a `semver` condition"),
        ("datetime", "after", "tomorrow", "`tomorrow` is not a time that the service can parse"),
    ] {
        let right = if kind == "datetime" { "before" } else { "<" };
        let text = with(
            NUMBER,
            &format!(
                "type: {kind}, subject: a, predicate: between, leftPredicate: \"{left}\", rightPredicate: \"{right}\", objects: [\"{object}\"], rightObjects: [\"{object}\"]"
            ),
        );
        let document = featureprobe(&text);
        assert!(document.diagnostics.iter().any(|one| one.message == expected), "{:?}", lines(&document));
    }
}

#[test]
fn the_sides_of_between_are_those_of_the_type_that_is_meant() {
    let times = ["2026-12-04T09:00:00+01:00", "2026-12-05T09:00:00+01:00"];
    for (kind, [left, right], [low, high], expected) in [
        ("date", ["after", "before"], times, &["unknown-condition-type: did you mean `datetime`"][..]),
        ("datetme", ["after", "before"], times, &["unknown-condition-type: did you mean `datetime`"]),
        ("version", [">=", "<"], ["1.2.3", "2.0.0"], &["unknown-condition-type: did you mean `semver`"]),
        ("json", ["after", "before"], times, &["unknown-condition-type: the known types are"]),
        ("boolean", ["after", "before"], times, &["unknown-condition-type: did you mean `string`"]),
        (
            "date-time",
            ["from", "until"],
            times,
            &[
                "unknown-condition-type: did you mean `datetime`",
                "unknown-predicate: did you mean `after`",
                "unknown-predicate: did you mean `before`",
            ],
        ),
        // Predicates and objects say together which type is meant.
        ("number", ["after", "before"], times, &["unknown-predicate: write `type: datetime`"]),
        ("semver", ["after", "before"], times, &["unknown-predicate: write `type: datetime`"]),
        ("datetime", [">=", "<"], ["1.2.3", "2.0.0"], &["unknown-predicate: write `type: semver`"]),
        ("datetime", [">=", "<"], ["18", "65"], &["unknown-predicate: write `type: number`"]),
        (
            "number",
            ["after", "before"],
            ["1", "2"],
            &["unknown-predicate: did you mean `>`", "unknown-predicate: did you mean `<`"],
        ),
    ] {
        let condition = format!(
            "type: {kind}, subject: a, predicate: between, leftPredicate: \"{left}\", rightPredicate: \"{right}\", objects: [\"{low}\"], rightObjects: [\"{high}\"]"
        );
        let document = featureprobe(&with(NUMBER, &condition));
        let mut found: Vec<_> = document.diagnostics.iter().collect();
        found.sort_by_key(|one| (one.line, one.column));
        assert_eq!(found.len(), expected.len(), "{condition}: {found:#?}");
        for (one, expected) in found.iter().zip(expected) {
            let line = format!("{}: {}", one.id, one.help.as_deref().unwrap_or_default());
            assert!(line.starts_with(expected), "{condition}: {line}");
        }
    }
}

#[test]
fn a_type_that_neither_the_predicate_nor_the_objects_have_is_one_finding_that_names_theirs() {
    let time = "2026-12-04T09:00:00+01:00";
    for (own, predicate, object, other) in [
        ("number", "after", time, "datetime"),
        ("semver", "before", time, "datetime"),
        ("datetime", ">", "18", "number"),
        ("datetime", "!=", "1.2.3", "semver"),
    ] {
        let condition =
            |kind| format!("type: {kind}, subject: a, predicate: \"{predicate}\", objects: [\"{object}\"]");
        let document = featureprobe(&with(NUMBER, &condition(own)));
        let [one] = document.diagnostics.as_slice() else { panic!("{own}: {:#?}", document.diagnostics) };
        assert_eq!(one.id, "unknown-predicate", "{own}");
        let help = format!("write `type: {other}`");
        assert!(one.help.as_deref().unwrap_or_default().starts_with(&help), "{own}: {one:?}");
        assert_eq!(lines(&featureprobe(&with(NUMBER, &condition(other)))), [""; 0], "{other}");
    }
    // The documented kind does not say which predicates there are, but a number is a number.
    let condition = format!("type: number, subject: a, predicate: after, objects: [\"{time}\"]");
    let document = yaml(with(NUMBER, &condition));
    let [one] = document.diagnostics.as_slice() else { panic!("{:#?}", document.diagnostics) };
    assert_eq!((one.id, document.payload.is_none()), ("not-a-number", true));
}

#[test]
fn a_wrong_object_has_a_true_reason_and_a_fix_that_is_right() {
    for (kind, predicate, object, message, fix) in [
        (
            "datetime",
            "after",
            "2023-02-30T00:00:00+00:00",
            "is not a time that exists",
            "2023-03-02T00:00:00+00:00",
        ),
        (
            "datetime",
            "after",
            "2024-12-31T23:59:60+01:00",
            "is not a time that exists",
            "2024-12-31T23:00:00+00:00",
        ),
        (
            "datetime",
            "after",
            "2024-12-31T23:59:59+24:00",
            "has an offset of a day or more",
            "2024-12-30T23:59:59+00:00",
        ),
        (
            "datetime",
            "after",
            "2024-12-31T23:59:59Z",
            "is not a time that the service can parse",
            "2024-12-31T23:59:59+00:00",
        ),
        (
            "datetime",
            "before",
            "9999-12-31T23:59:59Z",
            "is not a time that the service can parse",
            "9999-12-31T23:59:59+00:00",
        ),
        (
            "datetime",
            "before",
            "1969-06-15T10:00:00Z",
            "is not a time that the service can parse",
            "1969-06-15T10:00:00+00:00",
        ),
        (
            "datetime",
            "before",
            "9999-12-31T23:59:60+00:00",
            "is not a time that exists",
            "9999-12-31T23:59:59+00:00",
        ),
        (
            "datetime",
            "before",
            "9999-12-31T23:59:59-01:00",
            "is not a time that the service can parse",
            "9999-12-31T23:59:59+00:00",
        ),
        ("semver", "=", "99999999999999999999.0.0", "has a number of more than 64 bits", "1.2.3"),
        ("semver", "=", "1.2", "is not a semantic version", "1.2.3"),
    ] {
        let text = |object: &str| {
            with(
                NUMBER,
                &format!("type: {kind}, subject: a, predicate: \"{predicate}\", objects: [\"{object}\"]"),
            )
        };
        let document = featureprobe(&text(object));
        let [one] = document.diagnostics.as_slice() else { panic!("{:?}", lines(&document)) };
        assert_eq!(one.message, format!("`{object}` {message}"));
        let help = one.help.as_deref().unwrap();
        assert!(help.contains(fix) || kind == "semver", "{help}");
        assert!(featureprobe(&text(fix)).payload.is_some(), "{fix}");
    }
    assert!(
        featureprobe(&with(
            NUMBER,
            "type: semver, subject: a, predicate: \"=\", objects: [18446744073709551615.0.0]"
        ))
        .payload
        .is_some()
    );
    assert!(
        featureprobe(&with(
            NUMBER,
            "type: semver, subject: a, predicate: \"=\", objects: [1.0.0-99999999999999999999]"
        ))
        .payload
        .is_some()
    );
}

#[test]
fn a_time_without_a_subject_has_the_form_that_compares_the_current_time() {
    let time = "type: datetime, predicate: after, objects: [\"2026-12-01T09:00:00+01:00\"]";
    let document = featureprobe(&with(NUMBER, time));
    let [one] = document.diagnostics.as_slice() else { panic!("{:?}", lines(&document)) };
    assert_eq!((one.id, one.help.as_deref()), ("missing-field", Some(check::NOW)));
    assert!(check::NOW.contains("`subject: now`"));
    assert!(featureprobe(&with(NUMBER, &format!("subject: now, {time}"))).payload.is_some());
}
