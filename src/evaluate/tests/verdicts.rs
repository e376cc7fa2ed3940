//! Compares with recorded verdicts of all SDKs. Each line of `verdicts.jsonl` has documents, one of their
//! keys, a user, and each verdict with the SDKs that gave it: the value, and the number of the rule.

use serde::Deserialize;
use serde_json::Value;

use super::*;
use crate::document::may_differ;
use crate::evaluate::ServePlace;
use crate::model::{Condition, ReturnType, Sdk};

const RECORDED: &str = include_str!("verdicts.jsonl");

#[derive(Deserialize)]
struct Recorded {
    documents: BTreeMap<String, Document>,
    toggle: String,
    user: RecordedUser,
    verdicts: Vec<(Vec<String>, Value, Option<usize>)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    disabled: bool,
    content: Value,
    return_type: String,
}

#[derive(Deserialize)]
struct RecordedUser {
    key: Option<String>,
    attrs: BTreeMap<String, String>,
}

fn recorded() -> impl Iterator<Item = Recorded> {
    RECORDED.lines().map(|line| serde_json::from_str(line).unwrap())
}

impl Recorded {
    fn toggles(&self) -> Toggles {
        let targeting = |document: &Document| {
            let mut content = document.content.clone();
            for variation in content["variations"].as_array_mut().unwrap() {
                variation.as_object_mut().unwrap().entry("description").or_insert("".into());
            }
            let rules = content["rules"].as_array_mut().unwrap().iter_mut();
            for condition in rules.flat_map(|rule| rule["conditions"].as_array_mut().unwrap()) {
                condition.as_object_mut().unwrap().entry("subject").or_insert("".into());
            }
            serde_json::from_value(serde_json::json!({ "disabled": document.disabled, "content": content }))
        };
        let toggles = self.documents.iter();
        toggles.map(|(key, document)| (key.clone(), targeting(document).unwrap())).collect()
    }

    /// Compiles the toggle. The types of its prerequisites' toggles are those that were recorded.
    fn compiled(&self) -> (Evaluator, usize) {
        let toggles = self.toggles();
        let mut compiler = Compiler::default();
        let find = |id: &ToggleId| toggles.get(id.toggle()).map(Payload::new);
        let types = |id: &ToggleId| Some(vec![self.documents.get(id.toggle())?.return_type.parse().unwrap()]);
        let mut definitions = Definitions::new(find).with_types(types);
        let index = compiler.toggle(&id(&self.toggle), &mut definitions).unwrap();
        (compiler.finish(), index)
    }

    fn conditions(&self) -> impl Iterator<Item = Condition> {
        let all = self.toggles().into_values().flat_map(|targeting| targeting.content.rules);
        all.flat_map(|rule| rule.conditions)
    }

    /// Returns the verdict of an SDK.
    fn of(&self, sdk: &str) -> (&Value, Option<usize>) {
        let found = self.verdicts.iter().find(|(sdks, ..)| sdks.iter().any(|one| one == sdk));
        let (_, value, rule) = found.unwrap();
        (value, *rule)
    }

    /// Returns the value that an SDK returns for a variation.
    fn value(&self, index: u32) -> Value {
        let document = &self.documents[&self.toggle];
        let text = document.content["variations"][index as usize]["value"].as_str().unwrap();
        match document.return_type.parse::<ReturnType>().unwrap() {
            ReturnType::String => text.into(),
            _ => without_nulls(serde_json::from_str(text).unwrap()),
        }
    }

    fn is_same(&self, verdict: Verdict, value: &Value) -> bool {
        let Verdict::Known(Served::Variation(index)) = verdict else { return false };
        let own = self.value(index);
        own == *value || own.is_number() && own.as_f64() == value.as_f64()
    }

    fn person<'e>(&self, evaluator: &'e Evaluator) -> super::super::condition::Person<'e> {
        let mut person = evaluator.person(Some(RECORDED_AT));
        person.reset(self.user.key.as_deref());
        for (name, value) in &self.user.attrs {
            person.set(name, value);
        }
        person
    }
}

/// The time at which the verdicts were recorded, 2026-11-18: a condition without the attribute compares with
/// it.
const RECORDED_AT: i64 = 1_795_000_000;

/// The service drops members that are null.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(members.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

#[test]
fn every_verdict_is_that_of_the_rust_sdk() {
    let (mut known, mut unknown) = (0, 0);
    for (line, recorded) in recorded().enumerate() {
        let (evaluator, index) = recorded.compiled();
        let trace = evaluator.trace(SdkRules::RUST, index, &recorded.person(&evaluator));
        if matches!(trace.verdict, Verdict::CannotSay(_)) {
            unknown += 1;
            continue;
        }
        known += 1;
        let (value, rule) = recorded.of("rust");
        assert!(
            recorded.is_same(trace.verdict, value),
            "line {}: {:?}, not {value}",
            line + 1,
            trace.verdict
        );
        // Without a place, several serves give the same variation.
        let own = match trace.place {
            Some(ServePlace::Rule(rule)) => Some(Some(rule)),
            Some(_) => Some(None),
            None => None,
        };
        assert!(own.is_none_or(|own| own == rule), "line {}: {own:?}, not {rule:?}", line + 1);
    }
    assert_eq!(known + unknown, 500);
    assert!(unknown < 100, "{unknown} of 500 cannot be said");
}

/// Without conditions, about which SDKs differ as well.
#[test]
fn what_an_sdk_serves_has_a_place_of_its_rules() {
    let mut count = 0;
    for (line, recorded) in recorded().enumerate().filter(|(_, one)| one.toggle.starts_with("pre-")) {
        let (evaluator, index) = recorded.compiled();
        let person = recorded.person(&evaluator);
        for sdk in [Sdk::Go, Sdk::Java, Sdk::Node, Sdk::Python, Sdk::Rust] {
            let trace = evaluator.trace(SdkRules::of(sdk), index, &person);
            if matches!(trace.verdict, Verdict::CannotSay(_)) {
                continue;
            }
            let (value, _) = recorded.of(sdk.as_str());
            assert!(recorded.is_same(trace.verdict, value), "line {} {sdk:?}: {trace:?}", line + 1);
            let served = trace.serves.iter().all(|serve| serve.verdict == trace.verdict);
            assert!(served && !trace.serves.is_empty(), "line {} {sdk:?}: {trace:?}", line + 1);
            count += 1;
        }
    }
    assert!(count > 80, "{count}");
}

#[test]
fn what_an_unmet_prerequisite_serves_elsewhere_is_what_was_recorded() {
    let (mut differences, mut go) = (0, 0);
    for (line, recorded) in recorded().enumerate() {
        if recorded.documents.len() == 1 {
            continue;
        }
        let (evaluator, index) = recorded.compiled();
        let person = recorded.person(&evaluator);
        let own = evaluator.evaluate(SdkRules::RUST, index, &person);
        for (sdk, rules) in [
            ("go", SdkRules::GO),
            ("node", SdkRules::NODE),
            ("python", SdkRules::PYTHON),
            ("java21", SdkRules::OLD_JAVA),
        ] {
            let other = evaluator.evaluate(rules, index, &person);
            if other == own || matches!(other, Verdict::CannotSay(_)) {
                continue;
            }
            differences += 1;
            go += usize::from(sdk == "go");
            let (value, _) = recorded.of(sdk);
            assert!(recorded.is_same(other, value), "line {} {sdk}: {other:?}, not {value}", line + 1);
        }
    }
    assert!(differences > 20 && go > 0, "{differences} {go}");
}

/// What is served by the rules of an SDK is what it was recorded to serve, unless the repository does not say it
/// or a condition may differ for the user.
#[test]
fn every_verdict_is_that_of_each_sdk_or_is_said_to_be_uncertain() {
    let (mut exact, mut uncertain, mut of_go) = (0, 0, 0);
    let mut wrong = Vec::new();
    for (line, recorded) in recorded().enumerate() {
        let (evaluator, index) = recorded.compiled();
        let person = recorded.person(&evaluator);
        let rust = evaluator.evaluate(SdkRules::RUST, index, &person);
        for (name, sdk, rules) in [
            ("go", Sdk::Go, SdkRules::GO),
            ("java", Sdk::Java, SdkRules::JAVA),
            ("java21", Sdk::Java, SdkRules::OLD_JAVA),
            ("node", Sdk::Node, SdkRules::NODE),
            ("python", Sdk::Python, SdkRules::PYTHON),
        ] {
            let verdict = evaluator.evaluate(rules, index, &person);
            let (value, _) = recorded.of(name);
            let may_differ = recorded.conditions().any(|condition| {
                let value = recorded.user.attrs.get(&condition.subject);
                value.is_some_and(|value| {
                    may_differ(&condition, value, sdk.as_str().parse().unwrap()).is_some()
                })
            });
            match verdict {
                // A split of a user without a key, or with an empty one in Go, is random.
                Verdict::CannotSay(_) => {}
                _ if may_differ => uncertain += 1,
                _ if recorded.is_same(verdict, value) => {
                    exact += 1;
                    of_go += usize::from(sdk == Sdk::Go && verdict != rust);
                }
                _ => wrong.push(format!("line {} {name}: {verdict:?}, not {value}", line + 1)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(exact > 1_000 && of_go > 20, "{exact} exact, {uncertain} uncertain, {of_go} of Go");
}
