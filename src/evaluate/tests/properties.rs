//! Compares evaluation with the slow reference on generated toggles and users.

use std::collections::HashMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::reference;
use super::*;
use crate::model::{Between, Condition, Content, Prerequisite, ReturnType, Rule, Serve, Variation};

const TEXTS: &[&str] = &[
    "",
    "a",
    "ab",
    "A",
    "18",
    "18.0",
    "-1",
    "1e1",
    "NaN",
    "inf",
    "1.2.3",
    "1.2.3-a",
    "1.2.3+b",
    "v1.0.0",
    "1000000000",
    "1700000000",
    "+5",
    "a.b",
    "^a",
    "[ab]{2}",
    "(",
    "é",
    " 18",
];
const TIMES: &[&str] = &[
    "1970-01-01T00:00:00+00:00",
    "2001-09-09T01:46:40+00:00",
    "2023-11-14T22:13:20+00:00",
    "2023-11-15T06:13:20+08:00",
    "2100-02-28T23:59:59+12:10",
];
const KNOWN: &[(&str, &[&str])] = &[
    (
        "string",
        &[
            "is one of",
            "is not any of",
            "starts with",
            "does not start with",
            "ends with",
            "does not end with",
            "contains",
            "does not contain",
            "matches regex",
            "does not match regex",
        ],
    ),
    ("number", &["=", "!=", ">", ">=", "<", "<=", "between"]),
    ("semver", &["=", "!=", ">", ">=", "<", "<="]),
    ("datetime", &["after", "before"]),
];
const UNKNOWN: &[(&str, &str)] =
    &[("segment", "is in"), ("segment", "is not in"), ("string", "sounds like"), ("geo", "near")];

fn text() -> impl Strategy<Value = String> {
    select(TEXTS).prop_map(str::to_owned)
}

fn known() -> impl Strategy<Value = Condition> {
    let parts = (select(KNOWN), any::<prop::sample::Index>(), select(&["x", "y", "z"][..]));
    let objects = (vec(text(), 1..4), vec(select(TIMES).prop_map(str::to_owned), 1..3), vec(text(), 1..3));
    (parts, objects, select(&[">=", ">", "!="][..])).prop_map(
        |(((kind, predicates), at, subject), objects, left)| {
            let predicate = *at.get(predicates);
            let (texts, times, right) = objects;
            Condition {
                kind: kind.to_owned(),
                subject: subject.to_owned(),
                predicate: predicate.to_owned(),
                objects: if *kind == *"datetime" { times } else { texts },
                between: (predicate == "between").then(|| {
                    Box::new(Between {
                        left_predicate: left.to_owned(),
                        right_predicate: "<".to_owned(),
                        right_objects: right,
                    })
                }),
            }
        },
    )
}

fn unknown() -> impl Strategy<Value = Condition> {
    (select(UNKNOWN), 0..4_u32).prop_map(|((kind, predicate), number)| Condition {
        kind: kind.to_owned(),
        subject: "x".to_owned(),
        predicate: predicate.to_owned(),
        objects: vec![number.to_string()],
        between: None,
    })
}

fn serve() -> impl Strategy<Value = Serve> {
    prop_oneof![
        6 => (0..4_u32).prop_map(Serve::Select),
        2 => vec(0..6_000_u32, 0..4).prop_map(Serve::Split),
        1 => Just(Serve::Split(vec![10_000])),
    ]
}

fn toggle(condition: impl Strategy<Value = Condition>) -> impl Strategy<Value = Targeting> {
    let rules = vec((serve(), vec(condition, 0..4)), 0..4);
    let prerequisite =
        (select(&["t0", "t1", "t2", "t3"][..]), select(&["true", "false", "True"][..]), any::<bool>());
    let serves = (serve(), prop_oneof![9 => serve(), 1 => Just(Serve::Nothing)]);
    (prop::bool::weighted(0.2), rules, serves, vec(prerequisite, 0..3)).prop_map(
        |(disabled, rules, (disabled_serve, default_serve), prerequisites)| {
            let rules =
                rules.into_iter().map(|(serve, conditions)| Rule { name: String::new(), serve, conditions });
            let prerequisites = prerequisites.into_iter().map(|(key, value, is_boolean)| Prerequisite {
                key: key.to_owned(),
                value: value.to_owned(),
                kind: if is_boolean { ReturnType::Boolean } else { ReturnType::String },
            });
            let variations = ["true", "false", "true"].iter().map(|value| Variation {
                value: (*value).to_owned(),
                name: String::new(),
                description: String::new(),
            });
            Targeting {
                disabled,
                content: Content {
                    rules: rules.collect(),
                    disabled_serve,
                    default_serve,
                    variations: variations.collect(),
                    prerequisites: Some(prerequisites.collect()),
                },
            }
        },
    )
}

fn environment(condition: impl Strategy<Value = Condition> + Clone) -> impl Strategy<Value = Toggles> {
    vec(toggle(condition), 4).prop_map(|all| {
        let named = all.into_iter().enumerate();
        named.map(|(number, toggle)| (format!("t{number}"), toggle)).collect()
    })
}

fn person() -> impl Strategy<Value = User> {
    (text(), btree_map(select(&["x", "y", "z"][..]).prop_map(str::to_owned), text(), 0..4))
        .prop_map(|(key, attributes)| User { key: Some(key), attributes, now: Some(1_700_000_000) })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn with_everything_defined_the_verdict_is_that_of_the_reference(
        toggles in environment(known().boxed()),
        user in person(),
    ) {
        let expected = reference::evaluate(&toggles, "t0", &user, &|_| unreachable!());
        prop_assert_eq!(evaluate(&toggles, "t0", &user), Verdict::Known(expected));
    }

    #[test]
    fn with_undefined_conditions_the_verdict_is_known_exactly_if_no_completion_changes_it(
        toggle in toggle(prop_oneof![known(), unknown(), unknown()]),
        user in person(),
    ) {
        let mut toggle = toggle;
        toggle.content.prerequisites = None;
        // Each undefined condition is a separate unknown.
        let undefined = toggle.content.rules.iter_mut().flat_map(|rule| &mut rule.conditions)
            .filter(|condition| UNKNOWN.contains(&(&*condition.kind, &*condition.predicate)));
        let mut count = 0;
        for condition in undefined {
            condition.objects = vec![count.to_string()];
            count += 1;
        }
        let toggles = Toggles::from([("t0".to_owned(), toggle)]);
        let mut possible: Vec<Served> = (0..1_u32 << count)
            .map(|bits| {
                let oracle = |condition: &Condition| bits >> condition.objects[0].parse::<u32>().unwrap() & 1 == 1;
                reference::evaluate(&toggles, "t0", &user, &oracle)
            })
            .collect();
        possible.sort();
        possible.dedup();
        match (evaluate(&toggles, "t0", &user), possible.as_slice()) {
            (Verdict::Known(served), [only]) => prop_assert_eq!(served, *only),
            (Verdict::CannotSay(_), [_, _, ..]) => {}
            (verdict, possible) => prop_assert!(false, "{:?} of {:?}", verdict, possible),
        }
    }

    #[test]
    fn a_known_verdict_is_that_of_every_completion_of_missing_toggles_and_conditions(
        toggles in environment(prop_oneof![known(), unknown()].boxed()),
        completions in vec((option::of(toggle(known())), any::<u64>()), 8),
        user in person(),
    ) {
        let mut partial = toggles.clone();
        partial.remove("t3");
        if let Verdict::Known(known) = evaluate(&partial, "t0", &user) {
            for (completion, seed) in completions {
                let mut complete = partial.clone();
                complete.extend(completion.map(|toggle| ("t3".to_owned(), toggle)));
                // One condition has one truth wherever it occurs.
                let truths = std::cell::RefCell::new(HashMap::new());
                let oracle = |condition: &Condition| {
                    let count = truths.borrow().len();
                    *truths.borrow_mut().entry(condition.clone()).or_insert(seed >> (count % 64) & 1 == 1)
                };
                let served = reference::evaluate(&complete, "t0", &user, &oracle);
                prop_assert_eq!(known, served);
            }
        }
    }
}
