//! Sentences tell every difference and no other.

use proptest::prelude::*;

use crate::model::{Condition, Content, Rule, Serve, Targeting, Variation};
use crate::plan::sentences;

fn any_targeting() -> impl Strategy<Value = Targeting> {
    let variation = ("[ab]", "[xy]", "[d]?").prop_map(|(name, value, description)| Variation {
        value,
        name,
        description,
    });
    let objects = proptest::collection::vec("[12]", 0..3);
    let condition = ("[st]", "[<>]", objects).prop_map(|(subject, predicate, objects)| Condition {
        kind: "number".into(),
        subject,
        predicate,
        objects,
        between: None,
    });
    let rule = ("[rq]?", 0_u32..3, proptest::collection::vec(condition, 0..3)).prop_map(
        |(name, select, conditions)| Rule {
            name,
            serve: Serve::Select(select),
            conditions,
        },
    );
    (
        any::<bool>(),
        proptest::collection::vec(rule, 0..4),
        proptest::collection::vec(variation, 0..4),
        0_u32..3,
        0_u32..3,
    )
        .prop_map(|(disabled, rules, variations, a, b)| {
            let (disabled_serve, default_serve) = (Serve::Select(a), Serve::Select(b));
            Targeting {
                disabled,
                content: Content {
                    rules,
                    disabled_serve,
                    default_serve,
                    variations,
                    prerequisites: None,
                },
            }
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
        let variation = Variation {
            value,
            name: "a".into(),
            description: String::new(),
        };
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
    assert_eq!(
        found,
        ["variation `a` value: `…xxxxxxxxxxone` → `…xxxxxxxxxxtwo`"]
    );
}

#[test]
fn rules_in_another_order_are_told_by_the_fewest_that_moved() {
    let targeting = |order: &str| {
        let serve = Serve::Select(0);
        let rules = order.chars().map(|name| Rule {
            name: name.into(),
            serve: serve.clone(),
            conditions: vec![],
        });
        let content = Content {
            rules: rules.collect(),
            disabled_serve: serve.clone(),
            default_serve: serve,
            variations: vec![],
            prerequisites: None,
        };
        Targeting {
            disabled: false,
            content,
        }
    };
    for (before, after, expected) in [
        ("abc", "bca", &["rule `a` moved from position 1 to 3"][..]),
        ("abc", "cab", &["rule `c` moved from position 3 to 1"]),
        (
            "abc",
            "cba",
            &[
                "rule `c` moved from position 3 to 1",
                "rule `b` is now behind rule `c`",
            ],
        ),
    ] {
        let found = sentences(Some(&targeting(before)), &targeting(after));
        assert_eq!(found, expected, "{before} {after}");
    }
}
