//! Tests evaluation against the vectors and cases of the SDKs, and against a slow reference.

mod cases;
mod kleene;
mod properties;
mod reference;
mod verdicts;

use std::collections::BTreeMap;

use super::{Compiler, Definitions, Evaluator, SdkRules, Served, Truth, Verdict};
use crate::model::{Payload, ReturnType, Targeting, ToggleId};

/// The toggles of one environment, by key.
type Toggles = BTreeMap<String, Targeting>;

/// A user: the key and the attributes.
#[derive(Clone, Debug, Default)]
struct User {
    key: Option<String>,
    attributes: BTreeMap<String, String>,
    now: Option<i64>,
}

fn user(key: &str, attributes: &[(&str, &str)]) -> User {
    let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    User { key: Some(key.to_owned()), attributes: attributes.collect(), now: Some(1_700_000_000) }
}

fn id(key: &str) -> ToggleId {
    ToggleId::new("shop", "prod", key).unwrap()
}

/// Parses toggles: JSON objects of targetings by key.
fn toggles(json: &str) -> Toggles {
    serde_json::from_str(json).unwrap()
}

fn compiled(toggles: &Toggles, key: &str) -> (Evaluator, usize) {
    let mut compiler = Compiler::default();
    let find = |id: &ToggleId| toggles.get(id.toggle()).map(Payload::new);
    let types = |id: &ToggleId| {
        let values = toggles.get(id.toggle())?.content.variations.iter().map(|one| one.value.as_str());
        Some(vec![ReturnType::of(&values.collect::<Vec<_>>())])
    };
    let mut definitions = Definitions::new(find).with_types(types);
    let index = compiler.toggle(&id(key), &mut definitions).unwrap();
    (compiler.finish(), index)
}

fn evaluate(toggles: &Toggles, key: &str, user: &User) -> Verdict {
    let (evaluator, index) = compiled(toggles, key);
    let mut person = evaluator.person(user.now);
    person.reset(user.key.as_deref());
    for (name, value) in &user.attributes {
        assert!(!person.set(name, value));
    }
    let verdict = evaluator.evaluate(SdkRules::RUST, index, &person);
    let trace = evaluator.trace(SdkRules::RUST, index, &person);
    assert_eq!(trace.verdict, verdict);
    if let (Some(_), Some(serve)) = (trace.place, trace.serves.first()) {
        assert_eq!(serve.verdict, verdict, "a certain place serves the verdict: {trace:?}");
    }
    let certain = |truth| truth == Truth::True;
    assert!(trace.rules.iter().rev().skip(1).all(|rule| !certain(rule.truth)));
    verdict
}

fn variation(index: u32) -> Verdict {
    Verdict::Known(Served::Variation(index))
}

const CALLER: Verdict = Verdict::Known(Served::CallerDefault);
