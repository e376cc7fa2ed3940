//! The schema and the parser agree, as far as a schema can.

use boon::{Compiler, Schemas};
use serde_json::{Value, json};

use super::*;

fn accepts(kind: ServiceKind, value: &Value) -> bool {
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    let url = "https://example.com/schema.json";
    compiler.add_resource(url, schema(kind)).unwrap();
    let compiled = compiler.compile(url, &mut schemas).unwrap();
    schemas.validate(value, compiled).is_ok()
}

/// What no schema can see.
const BEYOND: [&str; 4] =
    ["ambiguous-variation", "duplicate-variation", "select-out-of-range", "unknown-variation"];

/// What a schema can see in part.
const PARTLY: [&str; 3] = ["prerequisite-value", "split-share", "split-sum"];

fn check(kind: ServiceKind, value: &Value) -> Result<(), TestCaseError> {
    let document = read_as(kind, in_ascii(&value.to_string()));
    if document.diagnostics.iter().any(|one| PARTLY.contains(&one.id)) {
        return Ok(());
    }
    let errors: Vec<&str> = document
        .diagnostics
        .iter()
        .filter(|one| one.severity == Severity::Error && !BEYOND.contains(&one.id))
        .map(|one| one.id)
        .collect();
    prop_assert_eq!(accepts(kind, value), errors.is_empty(), "{} {:?}", value, errors);
    Ok(())
}

/// Every place in `value` as a JSON pointer.
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| places(item, &format!("{at}/{index}"), out));
        }
        Value::Object(entries) => {
            entries.iter().for_each(|(key, value)| places(value, &format!("{at}/{key}"), out));
        }
        _ => {}
    }
}

/// A document with everything in it.
fn full() -> Value {
    json!({
        "disabled": false,
        "content": {
            "rules": [{
                "name": "adults",
                "serve": { "select": 1 },
                "conditions": [
                    { "type": "number", "subject": "age", "predicate": ">", "objects": ["18", 1.5] },
                    { "type": "string", "subject": "", "predicate": "is", "objects": ["", true, 7] },
                ],
            }],
            "disabledServe": { "select": 0 },
            "defaultServe": { "variation": "off" },
            "variations": [{ "name": "off", "value": false }, { "name": "on", "value": true, "description": "" }],
        },
    })
}

/// A document with everything in it that only FeatureProbe has.
fn full_featureprobe() -> Value {
    let mut full = full();
    let content = &mut full["content"];
    content["prerequisites"] = json!([{ "key": "other", "value": true, "type": "boolean" }]);
    content["defaultServe"] = json!({ "split": { "off": 12.5, "on": 87.5 } });
    content["rules"][0]["serve"] = json!({ "split": [2500, 7500] });
    content["rules"][0]["conditions"] = json!([
        {
            "type": "number", "subject": "age", "predicate": "between", "leftPredicate": ">", "objects": [18],
            "rightPredicate": "<", "rightObjects": ["65"]
        },
        { "type": "segment", "predicate": "is in", "objects": ["staff"] },
        { "type": "string", "subject": "city", "predicate": "is one of", "objects": ["Paris", 1] }
    ]);
    full
}

fn any_kind() -> impl Strategy<Value = ServiceKind> {
    prop::sample::select(vec![ServiceKind::Documented, ServiceKind::FeatureProbe])
}

fn strange() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(1.5),
        json!(""),
        json!("number"),
        json!("12"),
        json!("0x1F"),
        json!([]),
        json!([1]),
        json!([null]),
        json!([[]]),
        json!({}),
        json!({ "select": 0 }),
        json!({ "split": [10000] }),
        json!({ "split": { "on": 100 } }),
        json!("between"),
        json!("segment"),
        json!("boolean"),
        json!({ "variation": "on" }),
        json!({ "select": 0, "variation": "on" }),
    ])
}

proptest! {
    #[test]
    fn the_schema_accepts_what_the_parser_accepts(
        (kind, targeting) in any_kind().prop_flat_map(|kind| (Just(kind), any_targeting(kind))),
    ) {
        check(kind, &serde_json::to_value(&targeting).unwrap())?;
    }

    #[test]
    fn the_schema_refuses_what_the_parser_refuses(
        kind in any_kind(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), strange(), 0..3_u8), 1..3),
    ) {
        let mut value = match kind {
            ServiceKind::Documented => full(),
            ServiceKind::FeatureProbe => full_featureprobe(),
        };
        for (place, strange, how) in changes {
            let mut all = Vec::new();
            places(&value, "", &mut all);
            let at = value.pointer_mut(&all[place.index(all.len())]).unwrap();
            match (how, at) {
                (0, Value::Object(entries)) => {
                    let first = entries.keys().next().cloned();
                    first.map(|key| entries.remove(&key));
                }
                (1, Value::Object(entries)) => {
                    entries.insert("extra".to_owned(), strange);
                }
                (_, at) => *at = strange,
            }
        }
        check(kind, &value)?;
    }
}

#[test]
fn a_full_document_is_accepted() {
    check(ServiceKind::Documented, &full()).unwrap();
    assert!(json(&full().to_string()).payload.is_some());
    let full = full_featureprobe();
    assert!(accepts(ServiceKind::FeatureProbe, &full));
    let document = read_as(ServiceKind::FeatureProbe, full.to_string());
    assert!(document.payload.is_some(), "{:?}", document.diagnostics);
}

#[test]
fn only_the_schema_of_a_disabled_toggle_accepts_an_empty_default_serve() {
    for (kind, disabled, is_accepted) in [
        (ServiceKind::Documented, true, false),
        (ServiceKind::FeatureProbe, true, true),
        (ServiceKind::FeatureProbe, false, false),
    ] {
        let mut value = full();
        value["disabled"] = json!(disabled);
        value["content"]["rules"] = json!([]);
        value["content"]["defaultServe"] = json!({});
        check(kind, &value).unwrap();
        assert_eq!(accepts(kind, &value), is_accepted, "{kind:?} {disabled}");
    }
}
