//! Three-valued evaluation: what is known although something is not.

use super::*;
use crate::evaluate::Doubt;

/// Returns toggle `t` with variations `off` and `on`, from its members and those of other toggles.
fn with(members: &str, others: &str) -> Toggles {
    let variations = r#""variations":[{"name":"off","value":"false","description":""},{"name":"on","value":"true","description":""}]"#;
    toggles(&format!("{{\"t\":{members}{others}}}").replace("VARIATIONS", variations))
}

fn rule(conditions: &str, select: u32) -> String {
    format!(r#"{{"name":"","serve":{{"select":{select}}},"conditions":[{conditions}]}}"#)
}

fn ruled(rules: &[String]) -> Toggles {
    let rules = rules.join(",");
    with(
        &format!(
            r#"{{"disabled":false,"content":{{"rules":[{rules}],"disabledServe":{{"select":0}},"defaultServe":{{"select":0}},VARIATIONS}}}}"#
        ),
        "",
    )
}

const SEGMENT: &str = r#"{"type":"segment","subject":"","predicate":"is in","objects":["vip"]}"#;
const ODD: &str = r#"{"type":"string","subject":"age","predicate":"sounds like","objects":["1"]}"#;
const ADULT: &str = r#"{"type":"number","subject":"age","predicate":">","objects":["18"]}"#;

fn doubt(reason: Doubt) -> Verdict {
    Verdict::CannotSay(reason)
}

#[test]
fn a_false_condition_decides_a_rule_and_an_unknown_one_leaves_it_open() {
    let both = ruled(&[rule(&format!("{SEGMENT},{ADULT}"), 1)]);
    assert_eq!(evaluate(&both, "t", &user("u", &[("age", "17")])), variation(0));
    assert_eq!(evaluate(&both, "t", &user("u", &[("age", "19")])), doubt(Doubt::Segment));
    let odd = ruled(&[rule(ODD, 1)]);
    assert_eq!(evaluate(&odd, "t", &user("u", &[])), doubt(Doubt::Undocumented));
}

#[test]
fn an_open_rule_does_not_matter_if_everything_after_it_serves_the_same() {
    let same = ruled(&[rule(SEGMENT, 1), rule(ODD, 1), rule(ADULT, 1)]);
    assert_eq!(evaluate(&same, "t", &user("u", &[("age", "19")])), variation(1));
    assert_eq!(evaluate(&same, "t", &user("u", &[])), doubt(Doubt::Segment));
    let default = ruled(&[rule(SEGMENT, 0)]);
    assert_eq!(evaluate(&default, "t", &user("u", &[])), variation(0));
}

#[test]
fn a_split_needs_a_key_and_a_time_needs_a_clock() {
    let split = with(
        r#"{"disabled":false,"content":{"rules":[],"disabledServe":{"select":0},"defaultServe":{"split":[5000,5000]},VARIATIONS}}"#,
        "",
    );
    let anonymous = User::default();
    assert_eq!(evaluate(&split, "t", &anonymous), doubt(Doubt::NoKey));
    // Go replaces an empty key by a random one.
    let (evaluator, index) = compiled(&split, "t");
    let mut person = evaluator.person(None);
    person.reset(Some(""));
    for (rules, is_known) in [(SdkRules::GO, false), (SdkRules::RUST, true), (SdkRules::NODE, true)] {
        let verdict = evaluator.evaluate(rules, index, &person);
        assert_eq!(verdict != doubt(Doubt::EmptyKey), is_known);
        assert_eq!(evaluator.trace(rules, index, &person).serves[0].bucket.is_some(), is_known);
    }
    let time =
        r#"{"type":"datetime","subject":"at","predicate":"after","objects":["2020-01-01T00:00:00+00:00"]}"#;
    assert_eq!(evaluate(&ruled(&[rule(time, 1)]), "t", &anonymous), doubt(Doubt::CurrentTime));
    let zone = time.replace("+00:00", "Z");
    assert_eq!(evaluate(&ruled(&[rule(&zone, 1)]), "t", &user("u", &[])), doubt(Doubt::NotATime));
}

/// Returns toggle `t`, on if the toggle `other` serves `true`, with the definition of `other`.
fn depends(disabled_serve: u32, other: &str) -> Toggles {
    with(
        &format!(
            r#"{{"disabled":false,"content":{{"rules":[],"disabledServe":{{"select":{disabled_serve}}},
            "defaultServe":{{"select":1}},VARIATIONS,"prerequisites":[{{"key":"other","value":"true","type":"boolean"}}]}}}}"#
        ),
        other,
    )
}

fn other(default: u32, prerequisites: &str) -> String {
    format!(
        r#","other":{{"disabled":false,"content":{{"rules":[],"disabledServe":{{"select":0}},
        "defaultServe":{{"select":{default}}},VARIATIONS,"prerequisites":[{prerequisites}]}}}}"#
    )
}

#[test]
fn a_prerequisite_is_evaluated_if_its_toggle_is_in_the_repository() {
    let someone = user("u", &[]);
    assert_eq!(evaluate(&depends(0, &other(1, "")), "t", &someone), variation(1));
    assert_eq!(evaluate(&depends(0, &other(0, "")), "t", &someone), variation(0));
    assert_eq!(evaluate(&depends(0, ""), "t", &someone), doubt(Doubt::UnknownToggle));
    // Whether the prerequisite is met does not matter then.
    assert_eq!(evaluate(&depends(1, ""), "t", &someone), variation(1));
}

#[test]
fn a_toggle_that_may_not_exist_ends_the_evaluation_of_the_outermost_toggle() {
    let missing = r#"{"key":"missing","value":"x","type":"string"}"#;
    let someone = user("u", &[]);
    // `other` serves false in any case, unless `missing` does not exist: then `t` serves its disabled serve,
    // too.
    assert_eq!(evaluate(&depends(0, &other(0, missing)), "t", &someone), variation(0));
    assert_eq!(evaluate(&depends(0, &other(1, missing)), "t", &someone), doubt(Doubt::UnknownToggle));
}

#[test]
fn a_cycle_and_a_chain_of_more_than_20_toggles_end_with_the_disabled_serve_of_the_outermost() {
    let cycle = r#"{"key":"t","value":"true","type":"boolean"}"#;
    assert_eq!(evaluate(&depends(0, &other(1, cycle)), "t", &user("u", &[])), variation(0));
    let chain = |length: usize| -> Toggles {
        (0..length)
            .map(|number| {
                let next = number + 1;
                let prerequisites = if next == length { String::new() } else { format!(r#"{{"key":"t{next}","value":"true","type":"boolean"}}"#) };
                let json = other(1, &prerequisites).replacen(r#","other":"#, "", 1);
                let variations = r#""variations":[{"name":"off","value":"false","description":""},{"name":"on","value":"true","description":""}]"#;
                (format!("t{number}"), serde_json::from_str(&json.replace("VARIATIONS", variations)).unwrap())
            })
            .collect()
    };
    assert_eq!(evaluate(&chain(20), "t0", &user("u", &[])), variation(1));
    assert_eq!(evaluate(&chain(21), "t0", &user("u", &[])), variation(0));
    assert_eq!(evaluate(&chain(20_000), "t0", &user("u", &[])), variation(0));
}

#[test]
fn toggles_that_share_prerequisites_are_evaluated_in_bounded_time() {
    let mut all = Toggles::new();
    for number in 0..19 {
        let next = format!(r#"{{"key":"t{}","value":"true","type":"boolean"}}"#, number + 1);
        let prerequisites = match number {
            18 => String::new(),
            _ => [next.as_str(); 10].join(","),
        };
        let more = with(&other(1, &prerequisites).replacen(r#","other":"#, "", 1), "");
        all.insert(format!("t{number}"), more["t"].clone());
    }
    assert_eq!(evaluate(&all, "t0", &user("u", &[])), variation(1));
}
