//! Sentences describe every difference and no other.

use proptest::prelude::*;

use crate::model::{
    Between, Condition, Content, Prerequisite, ReturnType, Rule, Serve, Targeting, Variation,
};
use crate::plan::sentences;

fn any_condition() -> impl Strategy<Value = Condition> {
    let objects = || proptest::collection::vec("[12]", 0..3);
    let between = ("[<>]", "[<>]", objects()).prop_map(|(left_predicate, right_predicate, right_objects)| {
        Box::new(Between { left_predicate, right_predicate, right_objects })
    });
    let kind = prop::sample::select(vec!["number", "segment"]);
    (kind, "[st]?", "[<>]", objects(), proptest::option::of(between)).prop_map(
        |(kind, subject, predicate, objects, between)| Condition {
            kind: kind.into(),
            subject,
            predicate,
            objects,
            between,
        },
    )
}

/// A serve of a toggle with `count` variations. A split has one weight for each.
fn any_serve(count: usize) -> impl Strategy<Value = Serve> {
    prop_oneof![
        (0_u32..3).prop_map(Serve::Select),
        proptest::collection::vec(0_u32..3, count).prop_map(Serve::Split),
        Just(Serve::Nothing),
    ]
}

fn any_targeting() -> impl Strategy<Value = Targeting> {
    let variation = ("[ab]", "[xy]", "[d]?").prop_map(|(name, value, description)| Variation {
        value,
        name,
        description,
    });
    let kinds = prop::sample::select(vec![ReturnType::String, ReturnType::Number]);
    let prerequisite =
        ("[kl]", "[12]", kinds).prop_map(|(key, value, kind)| Prerequisite { key, value, kind });
    let prerequisites = proptest::option::of(proptest::collection::vec(prerequisite, 0..3));
    let variations = proptest::collection::vec(variation, 0..4);
    (any::<bool>(), variations, prerequisites).prop_flat_map(|(disabled, variations, prerequisites)| {
        let count = variations.len();
        let conditions = proptest::collection::vec(any_condition(), 0..3);
        let rule = ("[rq]?", any_serve(count), conditions).prop_map(|(name, serve, conditions)| Rule {
            name,
            serve,
            conditions,
        });
        let rules = proptest::collection::vec(rule, 0..4);
        (rules, any_serve(count), any_serve(count)).prop_map(move |(rules, disabled_serve, default_serve)| {
            Targeting {
                disabled,
                content: Content {
                    rules,
                    disabled_serve,
                    default_serve,
                    variations: variations.clone(),
                    prerequisites: prerequisites.clone(),
                },
            }
        })
    })
}

proptest! {
    #[test]
    fn there_is_no_sentence_exactly_when_two_targetings_are_equal(a in any_targeting(), b in any_targeting()) {
        prop_assert!(sentences(Some(&a), &a).is_empty());
        prop_assert_eq!(sentences(Some(&a), &b).is_empty(), a == b);
    }
}

#[test]
fn two_long_texts_are_shown_from_where_they_part() {
    let targeting = |end: &str| {
        let serve = Serve::Select(0);
        let value = format!("{}{end}", "x".repeat(200));
        let variation = Variation { value, name: "a".into(), description: String::new() };
        let content = Content {
            rules: vec![],
            disabled_serve: serve.clone(),
            default_serve: serve,
            variations: vec![variation],
            prerequisites: None,
        };
        let disabled = false;
        Targeting { disabled, content }
    };
    let found = sentences(Some(&targeting("one")), &targeting("two"));
    assert_eq!(found, ["variation `a` value: `…xxxxxxxxxxone` → `…xxxxxxxxxxtwo`"]);
}

#[test]
fn rules_in_another_order_are_told_by_the_fewest_that_moved() {
    let targeting = |order: &str| {
        let serve = Serve::Select(0);
        let rules =
            order.chars().map(|name| Rule { name: name.into(), serve: serve.clone(), conditions: vec![] });
        let content = Content {
            rules: rules.collect(),
            disabled_serve: serve.clone(),
            default_serve: serve,
            variations: vec![],
            prerequisites: None,
        };
        Targeting { disabled: false, content }
    };
    for (before, after, expected) in [
        ("abc", "bca", &["rule `a` moved from position 1 to 3"][..]),
        ("abc", "cab", &["rule `c` moved from position 3 to 1"]),
        ("abc", "cba", &["rule `c` moved from position 3 to 1", "rule `b` is now behind rule `c`"]),
    ] {
        let found = sentences(Some(&targeting(before)), &targeting(after));
        assert_eq!(found, expected, "{before} {after}");
    }
}

/// A toggle with everything that FeatureProbe has.
fn full() -> Targeting {
    let variation =
        |name: &str| Variation { value: name.to_uppercase(), name: name.into(), description: String::new() };
    let condition = |kind: &str, subject: &str, predicate: &str, object: &str| Condition {
        kind: kind.into(),
        subject: subject.into(),
        predicate: predicate.into(),
        objects: vec![object.into()],
        between: None,
    };
    let between = Between {
        left_predicate: ">=".into(),
        right_predicate: "<".into(),
        right_objects: vec!["65".into()],
    };
    let rule = Rule {
        name: "r".into(),
        serve: Serve::Split(vec![1250, 8750]),
        conditions: vec![
            Condition { between: Some(Box::new(between)), ..condition("number", "age", "between", "18") },
            condition("segment", "", "is in", "staff"),
        ],
    };
    Targeting {
        disabled: true,
        content: Content {
            rules: vec![rule],
            disabled_serve: Serve::Select(0),
            default_serve: Serve::Nothing,
            variations: vec![variation("a"), variation("b")],
            prerequisites: Some(vec![Prerequisite {
                key: "other".into(),
                value: "true".into(),
                kind: ReturnType::Boolean,
            }]),
        },
    }
}

#[test]
fn a_new_toggle_is_described_with_its_splits_and_prerequisites() {
    assert_eq!(
        sentences(None, &full()),
        [
            "new, DISABLED",
            "variations `a` = `A`, `b` = `B`",
            "prerequisite `other` must serve `true` (boolean)",
            "rule `r` serves split `a` 12.5%, `b` 87.5%: `age` between >= `18` and < `65` (number), is in `staff` (segment)",
            "default serve nothing",
            "disabled serve `a`",
        ]
    );
}

#[test]
fn each_change_of_the_vocabulary_has_its_sentence() {
    type Change = fn(&mut Content);
    let changes: [(Change, &[&str]); 7] = [
        (
            |content| content.rules[0].serve = Serve::Split(vec![5000, 5000]),
            &["rule `r` serves: split `a` 12.5%, `b` 87.5% → split `a` 50%, `b` 50%"],
        ),
        (|content| content.default_serve = Serve::Select(1), &["default serve: nothing → `b`"]),
        (
            |content| {
                content.variations.reverse();
                content.rules[0].serve = Serve::Split(vec![8750, 1250]);
                content.disabled_serve = Serve::Select(1);
            },
            &["variations reordered: `b`, `a`"],
        ),
        (
            |content| {
                content.prerequisites.iter_mut().flatten().for_each(|one| one.value = "false".into());
            },
            &[
                "prerequisite changed: `other` must serve `true` (boolean) → `other` must serve `false` (boolean)",
            ],
        ),
        (
            |content| content.prerequisites = Some(vec![]),
            &["prerequisite removed: `other` must serve `true` (boolean)"],
        ),
        (
            |content| {
                let between = content.rules[0].conditions[0].between.as_mut().unwrap();
                between.right_objects = vec!["60".into()];
            },
            &[
                "rule `r`: condition changed: `age` between >= `18` and < `65` (number) → `age` between >= `18` and < `60` (number)",
            ],
        ),
        (
            |content| content.rules[0].conditions[1].objects.push("beta".into()),
            &["rule `r`: condition changed: is in …: 1 object added (`beta`)"],
        ),
    ];
    for (change, expected) in changes {
        let mut after = full();
        change(&mut after.content);
        assert_eq!(sentences(Some(&full()), &after), expected);
    }
}

#[test]
fn a_change_of_the_kind_of_service_is_told_by_its_effect_on_prerequisites() {
    let mut documented = full();
    documented.content.prerequisites = None;
    let mut none = full();
    none.content.prerequisites = Some(vec![]);
    assert_eq!(sentences(Some(&documented), &none), ["prerequisites: as on the service → none"]);
    assert_eq!(sentences(Some(&none), &documented), ["prerequisites: as on the service from now on"]);
}

#[test]
fn a_rule_that_compares_the_time_is_described_as_a_schedule() {
    let rule = |predicate: &str, objects: &[&str], serve: Serve| {
        let condition = Condition {
            kind: "datetime".into(),
            subject: "now".into(),
            predicate: predicate.into(),
            objects: objects.iter().map(|object| (*object).to_owned()).collect(),
            between: None,
        };
        Rule { name: "r".into(), serve, conditions: vec![condition] }
    };
    let with = |rule: Rule| {
        let mut targeting = full();
        targeting.content.rules = vec![rule];
        targeting
    };
    let monday = || rule("after", &["2026-12-01T09:00:00+01:00"], Serve::Split(vec![7500, 2500]));
    let expected = "from 2026-12-01 09:00 +01:00: `a` 75%, `b` 25% (for users without `now`)";
    let new = sentences(None, &with(monday()));
    assert!(new.contains(&format!("rule `r` serves {expected}")), "{new:?}");
    let mut before = full();
    before.content.rules.clear();
    assert_eq!(sentences(Some(&before), &with(monday())), [format!("rule `r` added, serves {expected}")]);
    let later = rule("after", &["2026-12-02T09:00:30+00:00"], Serve::Split(vec![7500, 2500]));
    let changed = sentences(Some(&with(monday())), &with(later));
    let expected =
        "rule `r` now serves from 2026-12-02 09:00:30 +00:00: `a` 75%, `b` 25% (for users without `now`)";
    assert_eq!(changed.last().map(String::as_str), Some(expected));
    let more = rule("after", &["2026-12-01T09:00:00+01:00"], Serve::Split(vec![5000, 5000]));
    assert_eq!(
        sentences(Some(&with(monday())), &with(more)),
        [
            "rule `r` serves: split `a` 75%, `b` 25% → split `a` 50%, `b` 50%",
            "rule `r` now serves from 2026-12-01 09:00 +01:00: `a` 50%, `b` 50% (for users without `now`)",
        ]
    );
    let mut between = rule("between", &["2026-12-01T09:00:00+01:00"], Serve::Select(1));
    between.conditions[0].between = Some(Box::new(Between {
        left_predicate: "after".into(),
        right_predicate: "before".into(),
        right_objects: vec!["2026-12-24T18:00:00+01:00".into()],
    }));
    let mut beside = monday();
    beside.conditions.insert(
        0,
        Condition {
            kind: "string".into(),
            subject: "country".into(),
            predicate: "is one of".into(),
            objects: vec!["AT".into()],
            between: None,
        },
    );
    let new = sentences(None, &with(beside));
    let expected = "rule `r` serves from 2026-12-01 09:00 +01:00: `a` 75%, `b` 25% if `country` is one of `AT` (string) (for users without `now`)";
    assert!(new.iter().any(|line| line == expected), "{new:?}");
    let new = sentences(None, &with(between));
    let expected = "rule `r` serves from 2026-12-01 09:00 +01:00 until 2026-12-24 18:00 +01:00: `b` (for users without `now`)";
    assert!(new.iter().any(|line| line == expected), "{new:?}");
    let early = sentences(None, &with(rule("after", &["1960-01-01T00:00:00+00:00"], Serve::Select(1))));
    assert!(early.iter().any(|line| line.starts_with("rule `r` serves `b`: `now` after")), "{early:?}");
    // Any of several times may match.
    let times = ["2026-12-02T09:00:00+01:00", "2026-12-01T09:00:00+01:00"];
    for (predicate, expected) in [
        ("after", "from 2026-12-01 09:00 +01:00 (the earliest of 2 times): `b` (for users without `now`)"),
        ("before", "until 2026-12-02 09:00 +01:00 (the latest of 2 times): `b` (for users without `now`)"),
    ] {
        let new = sentences(None, &with(rule(predicate, &times, Serve::Select(1))));
        assert!(new.contains(&format!("rule `r` serves {expected}")), "{new:?}");
    }
}
