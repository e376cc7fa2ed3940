//! Generated targeting.

use proptest::prelude::*;

use crate::model::{
    Between, Condition, Content, Prerequisite, ReturnType, Rule, Serve, ServiceKind, Targeting, Variation,
    WHOLE,
};

/// Texts that YAML parsers take for something else.
const TRAPS: &[&str] = &[
    "null",
    "Null",
    "~",
    "",
    "true",
    "yes",
    "NO",
    "off",
    "y",
    "1.10",
    "007",
    "1e3",
    "0x1F",
    "1_000",
    ".inf",
    ".nan",
    "12:30:45",
    "2024-01-01",
    " leading",
    "trailing ",
    "a: b",
    "a #b",
    "#c",
    "- x",
    "? x",
    "&a",
    "*a",
    "!t",
    "%d",
    "@at",
    "`tick",
    "[x",
    "{x",
    "]",
    "}",
    ",",
    "|",
    ">",
    "'",
    "\"",
    "\\",
    "a\nb",
    "a\r\nb",
    "\r",
    "\t",
    "a\tb",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "\u{2029}",
    "\u{7f}",
    "\u{0}",
    "\u{1b}[31m",
    "\u{202e}",
    "\u{fffe}",
    "\u{ffff}",
    "\u{10ffff}",
    "😀",
    "日本",
    "---",
    "...",
    "<<",
    "=",
    "naïve",
    "\u{a0}",
    "a\u{a0}",
];

/// Texts of all sorts, [`TRAPS`] among them.
pub(super) fn any_text() -> impl Strategy<Value = String> {
    let traps = prop::sample::select(TRAPS);
    prop_oneof![
        3 => traps.prop_map(str::to_owned),
        2 => any::<String>(),
        1 => "[a-z ]{0,12}",
        1 => proptest::collection::vec(any::<char>(), 0..8).prop_map(String::from_iter),
    ]
}

prop_compose! {
    fn any_condition()(
        kind in prop_oneof![Just("string".to_owned()), Just("number".to_owned()), any_text()],
        subject in any_text(),
        predicate in any_text(),
        texts in proptest::collection::vec(any_text(), 1..4),
        numbers in proptest::collection::vec(prop::sample::select(vec!["1.10", "007", "-1e3", "0"]), 1..4),
    ) -> Condition {
        let fill = |text: String| if text.is_empty() { "x".to_owned() } else { text };
        let objects = match kind.as_str() {
            "number" => numbers.into_iter().map(str::to_owned).collect(),
            _ => texts,
        };
        Condition { kind: fill(kind), subject, predicate: fill(predicate), objects, between: None }
    }
}

/// A condition of the documented kind, or one of FeatureProbe's vocabulary.
fn condition_of(kind: ServiceKind) -> BoxedStrategy<Condition> {
    match kind {
        ServiceKind::Documented => any_condition().boxed(),
        ServiceKind::FeatureProbe => known_condition().boxed(),
    }
}

fn known_condition() -> impl Strategy<Value = Condition> {
    let condition = |kind: &str, subject: &str, predicate: &str, objects: Vec<String>| Condition {
        kind: kind.to_owned(),
        subject: subject.to_owned(),
        predicate: predicate.to_owned(),
        objects,
        between: None,
    };
    let texts = proptest::collection::vec(any_text(), 1..4);
    let predicate = prop::sample::select(vec!["is one of", "is not any of", "does not contain"]);
    let between = |left: &str| Between {
        left_predicate: left.to_owned(),
        right_predicate: "<".to_owned(),
        right_objects: vec!["1e3".to_owned()],
    };
    let fixed = prop::sample::select(vec![
        condition("string", "mail", "matches regex", vec!["^a+@b$".to_owned()]),
        condition("semver", "app", ">=", vec!["1.2.3-rc.1".to_owned()]),
        condition("datetime", "now", "after", vec!["2024-02-29T00:00:00+08:00".to_owned()]),
        condition("segment", "", "is not in", vec!["staff".to_owned(), "007".to_owned()]),
        Condition {
            between: Some(Box::new(between(">="))),
            ..condition("number", "age", "between", vec!["1.10".to_owned()])
        },
    ]);
    prop_oneof![
        (predicate, texts).prop_map(move |(predicate, texts)| condition("string", "a b", predicate, texts)),
        fixed,
    ]
}

/// Shares of `count` variations that add up to 100 percent.
fn any_split(count: usize) -> impl Strategy<Value = Serve> {
    proptest::collection::vec(0..=WHOLE, count - 1).prop_map(|mut cuts| {
        cuts.push(WHOLE);
        cuts.sort_unstable();
        let mut last = 0;
        let weights = cuts.into_iter().map(|cut| cut - std::mem::replace(&mut last, cut));
        Serve::Split(weights.collect())
    })
}

fn serve_of(kind: ServiceKind, count: usize) -> BoxedStrategy<Serve> {
    let select = (0..u32::try_from(count).unwrap()).prop_map(Serve::Select);
    match kind {
        ServiceKind::Documented => select.boxed(),
        ServiceKind::FeatureProbe => prop_oneof![select, any_split(count)].boxed(),
    }
}

fn prerequisites_of(kind: ServiceKind) -> BoxedStrategy<Option<Vec<Prerequisite>>> {
    let values = [
        (ReturnType::Boolean, "true"),
        (ReturnType::Number, "1.10"),
        (ReturnType::Json, "{}"),
        (ReturnType::String, "null"),
    ];
    let all = proptest::collection::btree_map("[a-z0-9]{1,4}", prop::sample::select(values.to_vec()), 0..3);
    match kind {
        ServiceKind::Documented => Just(None).boxed(),
        ServiceKind::FeatureProbe => all
            .prop_map(|all| {
                let all = all.into_iter().map(|(key, (kind, value))| Prerequisite {
                    key,
                    value: value.to_owned(),
                    kind,
                });
                Some(all.collect())
            })
            .boxed(),
    }
}

/// Any targeting that is valid for this kind of service.
pub(in crate::document) fn any_targeting(kind: ServiceKind) -> impl Strategy<Value = Targeting> {
    let variations = proptest::collection::btree_map(any_text(), (any_text(), any_text()), 1..4);
    variations.prop_flat_map(move |variations| {
        let count = variations.len();
        let serve = move || serve_of(kind, count);
        let conditions = proptest::collection::vec(condition_of(kind), 0..3);
        let rule = (any_text(), serve(), conditions).prop_map(|(name, serve, conditions)| Rule {
            name,
            serve,
            conditions,
        });
        let variations: Vec<Variation> = variations
            .into_iter()
            .map(|(name, (value, description))| Variation { value, name, description })
            .collect();
        (
            any::<bool>(),
            proptest::collection::vec(rule, 0..3),
            serve(),
            serve(),
            any::<bool>(),
            prerequisites_of(kind),
        )
            .prop_map(
                move |(disabled, rules, disabled_serve, default_serve, is_new, prerequisites)| Targeting {
                    disabled,
                    content: Content {
                        rules,
                        disabled_serve,
                        // Only a disabled toggle may have no default serve.
                        default_serve: if is_new && disabled && kind == ServiceKind::FeatureProbe {
                            Serve::Nothing
                        } else {
                            default_serve
                        },
                        variations: variations.clone(),
                        prerequisites,
                    },
                },
            )
    })
}
