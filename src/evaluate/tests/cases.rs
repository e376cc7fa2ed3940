//! Cases of src/service/featureprobe.md, "Evaluation", and of the SDKs' common specification.

use super::*;

/// Returns whether one condition matches: variation 1 if so, 0 if not.
fn condition(kind: &str, predicate: &str, objects: &[&str], value: Option<&str>) -> Verdict {
    let objects = serde_json::to_string(objects).unwrap();
    let toggles = toggles(&format!(
        r#"{{"t":{{"disabled":false,"content":{{"rules":[{{"name":"","serve":{{"select":1}},"conditions":[
            {{"type":"{kind}","subject":"a","predicate":"{predicate}","objects":{objects}}}]}}],
            "disabledServe":{{"select":0}},"defaultServe":{{"select":0}},"variations":[
            {{"name":"n","value":"n","description":""}},{{"name":"y","value":"y","description":""}}]}}}}}}"#
    ));
    let attributes: Vec<_> = value.map(|value| ("a", value)).into_iter().collect();
    evaluate(&toggles, "t", &user("u", &attributes))
}

fn check(kind: &str, rows: &[(&str, &[&str], &str, bool)]) {
    for (predicate, objects, value, matches) in rows {
        assert_eq!(
            condition(kind, predicate, objects, Some(value)),
            variation(u32::from(*matches)),
            "{kind} {predicate} {objects:?} {value:?}"
        );
    }
}

#[test]
fn text_conditions_match_any_object_and_are_case_sensitive() {
    check(
        "string",
        &[
            ("is one of", &["1", "2"], "2", true),
            ("is one of", &["a", "b"], "A", false),
            ("is one of", &["", "b"], "", true),
            ("is not any of", &["1", "2", "3"], "10", true),
            ("is not any of", &["1", "2"], "1", false),
            ("ends with", &["First", "Bob"], "Martin Bob", true),
            ("ends with", &["First", "Bob"], "Bob Martin", false),
            ("does not end with", &["Bob"], "Martin Bob", false),
            ("starts with", &["John"], "John Smith", true),
            ("does not start with", &["John"], "Jon", true),
            ("contains", &["Middle"], "A Middle B", true),
            ("does not contain", &["Middle", "A"], "A B", false),
            ("matches regex", &["\\d\\d\\d"], "some 666 word", true),
            ("matches regex", &["^\\d+$"], "some 666 word", false),
            ("does not match regex", &["\\d"], "none", true),
            // An invalid pattern matches nothing, so its negation matches everything.
            ("matches regex", &["("], "(", false),
            ("does not match regex", &["("], "(", true),
            ("matches regex", &["(", "b"], "b", true),
        ],
    );
}

#[test]
fn number_conditions_compare_64_bit_floats() {
    check(
        "number",
        &[
            ("=", &["18"], "18.0", true),
            ("=", &["1", "2"], "2", true),
            ("!=", &["1", "2"], "2", false),
            ("!=", &["1", "2"], "3", true),
            ("!=", &["1"], "one", false),
            (">", &["10", "5"], "7", true),
            (">", &["10", "5"], "5", false),
            (">=", &["10", "5"], "5", true),
            ("<", &["10", "5"], "7", true),
            ("<", &["10", "5"], "10", false),
            ("<=", &["10", "5"], "10", true),
            (">", &["18"], "1e3", true),
            (">", &["18"], " 20", false),
            (">", &["18"], "0x20", false),
            // An object that is not a number is skipped.
            ("=", &["one", "1"], "1", true),
            ("!=", &["one"], "1", true),
            // NaN is a number to the SDK, and equals nothing.
            ("=", &["NaN"], "NaN", false),
            ("!=", &["NaN"], "NaN", true),
            (">", &["NaN", "1"], "2", true),
            ("<", &["inf"], "1", true),
            // The two differ in the 17th digit, which 64 bits do not have.
            ("=", &["9007199254740993"], "9007199254740992", true),
        ],
    );
}

#[test]
fn version_conditions_are_strict_and_order_build_metadata() {
    check(
        "semver",
        &[
            ("=", &["1.2.3"], "1.2.3", true),
            ("=", &["1.2.3"], "1.2.3+build", false),
            ("!=", &["1.2.3"], "1.2.3+build", true),
            (">", &["1.2.3"], "1.2.3+build", true),
            (">", &["1.2.3-alpha"], "1.2.3", true),
            ("<", &["1.10.0"], "1.9.9", true),
            (">=", &["1.0.0"], "v1.2.3", false),
            (">=", &["1.0.0"], "1.2", false),
            ("!=", &["1.0.0"], "1.2", false),
            ("<=", &["bad", "2.0.0"], "1.0.0", true),
        ],
    );
}

#[test]
fn datetime_conditions_compare_seconds_and_use_the_current_time() {
    check(
        "datetime",
        &[
            ("after", &["2001-09-09T01:46:40+00:00"], "1000000000", true),
            ("after", &["2001-09-09T01:46:41+00:00"], "1000000000", false),
            ("before", &["2001-09-09T01:46:40+00:00"], "1000000000", false),
            ("before", &["2001-09-09T01:46:41+00:00"], "1000000000", true),
            ("after", &["2001-09-09T09:46:40+08:00"], "1000000000", true),
            ("after", &["2001-09-09T01:46:40+00:00"], "-5", false),
            ("after", &["2001-09-09T01:46:40+00:00"], "1000000000.5", false),
            ("after", &["2001-09-09T01:46:40+00:00"], "99999999999999999999", true),
            ("after", &["1960-01-01T00:00:00+00:00"], "5", false),
        ],
    );
    let now = |predicate, object| condition("datetime", predicate, &[object], None);
    assert_eq!(now("after", "2020-01-01T00:00:00+00:00"), variation(1));
    assert_eq!(now("after", "2024-01-01T00:00:00+00:00"), variation(0));
    assert_eq!(now("before", "2024-01-01T00:00:00+00:00"), variation(1));
}

#[test]
fn a_missing_attribute_matches_no_condition() {
    for (kind, predicate) in [
        ("string", "is not any of"),
        ("string", "does not contain"),
        ("string", "does not match regex"),
        ("number", "!="),
        ("number", "<"),
        ("semver", "!="),
    ] {
        let verdict = condition(kind, predicate, &["1"], None);
        assert_eq!(verdict, variation(0), "{kind} {predicate}");
    }
}

#[test]
fn a_between_condition_is_two_conditions() {
    let toggles = toggles(
        r#"{"t":{"disabled":false,"content":{"rules":[{"name":"","serve":{"select":1},"conditions":[
        {"type":"number","subject":"age","predicate":"between","objects":["18"],"leftPredicate":">=",
         "rightPredicate":"<","rightObjects":["65"]}]}],
        "disabledServe":{"select":0},"defaultServe":{"select":0},"variations":[
        {"name":"n","value":"n","description":""},{"name":"y","value":"y","description":""}]}}}"#,
    );
    for (age, index) in [("17", 0), ("18", 1), ("64.9", 1), ("65", 0), ("old", 0)] {
        assert_eq!(evaluate(&toggles, "t", &user("u", &[("age", age)])), variation(index), "{age}");
    }
}

/// A toggle with two rules and four variations.
const RULES: &str = r#"{"t":{"disabled":DISABLED,"content":{"rules":[
    {"name":"","serve":{"select":0},"conditions":[{"type":"string","subject":"city","predicate":"is one of","objects":["1","2"]}]},
    {"name":"","serve":{"select":1},"conditions":[
        {"type":"string","subject":"city","predicate":"is one of","objects":["10"]},
        {"type":"string","subject":"email","predicate":"is one of","objects":["a@a.com"]}]},
    {"name":"","serve":{"select":9},"conditions":[{"type":"string","subject":"city","predicate":"is one of","objects":["bad"]}]}],
    "disabledServe":{"split":[0,0,2500,7500]},"defaultServe":DEFAULT,"variations":[
    {"name":"a","value":"a","description":""},{"name":"b","value":"b","description":""},
    {"name":"c","value":"c","description":""},{"name":"d","value":"d","description":""}]}}}"#;

fn rules(disabled: &str, default: &str) -> Toggles {
    toggles(&RULES.replace("DISABLED", disabled).replace("DEFAULT", default))
}

#[test]
fn the_first_rule_whose_conditions_all_match_serves() {
    let toggles = rules("false", r#"{"select":3}"#);
    for (attributes, expected) in [
        (&[("city", "2"), ("email", "a@a.com")][..], variation(0)),
        (&[("city", "10"), ("email", "a@a.com")], variation(1)),
        (&[("city", "10")], variation(3)),
        (&[], variation(3)),
        // A serve without a variation is an error, and the rules after it are not tried.
        (&[("city", "bad")], CALLER),
    ] {
        assert_eq!(evaluate(&toggles, "t", &user("u", attributes)), expected, "{attributes:?}");
    }
}

#[test]
fn a_disabled_toggle_serves_its_disabled_serve_which_may_be_a_split() {
    let toggles = rules("true", "{}");
    let all: std::collections::BTreeSet<u32> = (0..50)
        .map(|number| match evaluate(&toggles, "t", &user(&number.to_string(), &[("city", "1")])) {
            Verdict::Known(Served::Variation(index)) => index,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(all.into_iter().collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn an_enabled_toggle_with_an_empty_default_serve_is_not_delivered() {
    assert_eq!(evaluate(&rules("false", "{}"), "t", &user("u", &[("city", "1")])), CALLER);
}

#[test]
fn a_split_has_contiguous_ranges_by_variation() {
    // The bucket of this user and toggle is 9558.
    for (weights, expected) in [
        ("[9000,1000]", variation(1)),
        ("[9558,1,441]", variation(1)),
        ("[9559,441]", variation(0)),
        ("[9558,442]", variation(1)),
        ("[0,0,10000]", variation(2)),
        ("[5000,4000]", CALLER),
        ("[]", CALLER),
        ("[9000,0,0,0,1000]", CALLER),
    ] {
        let json =
            RULES.replace("DISABLED", "false").replace("DEFAULT", &format!(r#"{{"split":{weights}}}"#));
        let toggles = toggles(&json.replace(r#"{"t":"#, r#"{"tutorial_rollout":"#));
        assert_eq!(evaluate(&toggles, "tutorial_rollout", &user("13", &[])), expected, "{weights}");
    }
}
