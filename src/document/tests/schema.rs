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

#[test]
fn an_editor_can_complete_a_serve_and_offers_what_exists() {
    for kind in [ServiceKind::Documented, ServiceKind::FeatureProbe] {
        let schema = schema(kind);
        let definitions = &schema["$defs"];
        let names = |serve: &Value| -> Vec<String> {
            let forms = serve["oneOf"].as_array().unwrap().iter();
            forms.filter_map(|form| Some(form["required"][0].as_str()?.to_owned())).collect()
        };
        let properties = definitions["serve"]["properties"].as_object().unwrap();
        let mut forms = names(&definitions["serve"]);
        forms.sort_unstable();
        assert_eq!(forms, properties.keys().cloned().collect::<Vec<_>>());
        assert!(!schema.to_string().contains("maxProperties"), "an editor would not complete a serve");
        let condition = &definitions["condition"];
        for member in ["type", "subject", "predicate", "objects"] {
            assert!(condition["properties"][member]["description"].is_string(), "{kind:?} {member}");
        }
        let text = condition["properties"]["type"].to_string();
        assert!(["string", "number", "semver", "datetime", "segment"].iter().all(|one| text.contains(one)));
        // An editor offers `true` and `false` for a type that may be a boolean.
        assert!(definitions["word"].get("type").is_none());
    }
}

#[test]
fn the_schema_of_tests_accepts_what_the_reader_accepts() {
    let accepts = |value: &Value| {
        let mut schemas = Schemas::new();
        let mut compiler = Compiler::new();
        let url = "https://example.com/schema.json";
        compiler.add_resource(url, test_schema()).unwrap();
        let compiled = compiler.compile(url, &mut schemas).unwrap();
        schemas.validate(value, compiled).is_ok()
    };
    let full = json!({
        "name": "a", "serves": true, "key": 7, "at": "2024-12-31T23:59:59Z", "given": { "age": 20, "city": "Paris" }
    });
    for (member, value) in [
        ("name", json!("b")),
        ("name", json!(null)),
        ("serves", json!([])),
        ("key", json!(["x"])),
        ("at", json!("tomorrow")),
        ("at", json!(5)),
        ("given", json!([])),
        ("given", json!({ "age": null })),
        ("given", json!({})),
        ("server", json!("on")),
    ] {
        let mut one = full.clone();
        one[member] = value;
        let list = json!([one]);
        let content = Blob::Content(list.to_string().into_bytes());
        let read = expectations("t.test.yaml", &content, None);
        assert_eq!(accepts(&list), read.diagnostics.is_empty(), "{list} {:?}", read.diagnostics);
    }
    assert!(accepts(&json!([full])) && !accepts(&json!([])) && !accepts(&full));
}
