//! The schema and the parser agree, as far as a schema can.

use serde_json::{Value, json};

use super::*;

/// Evaluates the keywords that the schema uses; panics at any other, so that none goes untested.
fn accepts(root: &Value, schema: &Value, value: &Value) -> bool {
    if let Value::Bool(is_accepted) = schema {
        return *is_accepted;
    }
    let keywords = schema.as_object().unwrap();
    keywords.iter().all(|(keyword, argument)| match keyword.as_str() {
        "$schema" | "$defs" | "title" | "description" | "then" | "else" => true,
        "$ref" => {
            let target = root.pointer(&argument.as_str().unwrap()[1..]);
            accepts(root, target.unwrap(), value)
        }
        "type" => match argument {
            Value::Array(types) => types.iter().any(|one| has_type(value, one)),
            one => has_type(value, one),
        },
        "required" => {
            let mut required = list(argument).iter().map(|key| key.as_str().unwrap());
            keys(value).is_none_or(|keys| required.all(|key| keys.contains(&key)))
        }
        "additionalProperties" => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let is_known = |key: &str| properties.is_some_and(|known| known.contains_key(key));
            let is_accepted = |key: &str| is_known(key) || accepts(root, argument, &value[key]);
            keys(value).is_none_or(|keys| keys.iter().all(|key| is_accepted(key)))
        }
        "properties" => argument
            .as_object()
            .unwrap()
            .iter()
            .all(|(key, schema)| value.get(key).is_none_or(|value| accepts(root, schema, value))),
        "items" => value
            .as_array()
            .is_none_or(|items| items.iter().all(|item| accepts(root, argument, item))),
        "minItems" | "minLength" | "minProperties" | "maxProperties" | "minimum" | "maximum" => {
            is_within(value, keyword, argument.as_f64().unwrap())
        }
        "const" => value == argument,
        "enum" => list(argument).contains(value),
        "allOf" => list(argument).iter().all(|one| accepts(root, one, value)),
        "anyOf" => list(argument).iter().any(|one| accepts(root, one, value)),
        "pattern" => {
            let pattern = regex::Regex::new(argument.as_str().unwrap()).unwrap();
            value.as_str().is_none_or(|text| pattern.is_match(text))
        }
        "if" => {
            let branch = match accepts(root, argument, value) {
                true => "then",
                false => "else",
            };
            let branch = schema.get(branch);
            branch.is_none_or(|branch| accepts(root, branch, value))
        }
        other => panic!("`{other}` is not evaluated"),
    })
}

fn list(argument: &Value) -> &[Value] {
    argument.as_array().unwrap()
}

/// Returns whether `value` is within a limit, if the limit concerns its type.
fn is_within(value: &Value, keyword: &str, limit: f64) -> bool {
    let size = match keyword {
        "minItems" => value.as_array().map(|items| items.len() as f64),
        "minLength" => value.as_str().map(|text| text.chars().count() as f64),
        "minProperties" | "maxProperties" => keys(value).map(|keys| keys.len() as f64),
        _ => value.as_f64(),
    };
    size.is_none_or(|size| match keyword.starts_with("min") {
        true => size >= limit,
        false => size <= limit,
    })
}

fn has_type(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "string" => value.is_string(),
        other => panic!("`{other}` is not evaluated"),
    }
}

fn keys(value: &Value) -> Option<Vec<&str>> {
    value
        .as_object()
        .map(|object| object.keys().map(String::as_str).collect())
}

/// What no schema can see.
const BEYOND: [&str; 4] = [
    "ambiguous-variation",
    "duplicate-variation",
    "select-out-of-range",
    "unknown-variation",
];

/// What a schema can see in part.
const PARTLY: [&str; 3] = ["prerequisite-value", "split-share", "split-sum"];

fn check(kind: ServiceKind, value: &Value) -> Result<(), TestCaseError> {
    let schema = schema(kind);
    let content = Blob::Content(value.to_string().into_bytes());
    let document = read("a.json", Format::Json, &content, kind);
    if document.diagnostics.iter().any(|one| PARTLY.contains(&one.id)) {
        return Ok(());
    }
    let errors: Vec<&str> = document
        .diagnostics
        .iter()
        .filter(|one| one.severity == Severity::Error && !BEYOND.contains(&one.id))
        .map(|one| one.id)
        .collect();
    prop_assert_eq!(
        accepts(&schema, &schema, value),
        errors.is_empty(),
        "{} {:?}",
        value,
        errors
    );
    Ok(())
}

/// Every place in `value` as a JSON pointer.
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, item)| places(item, &format!("{at}/{index}"), out)),
        Value::Object(entries) => entries
            .iter()
            .for_each(|(key, value)| places(value, &format!("{at}/{key}"), out)),
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
    let schema = schema(ServiceKind::FeatureProbe);
    assert!(accepts(&schema, &schema, &full));
    let content = Blob::Content(full.to_string().into_bytes());
    let document = read("a.json", Format::Json, &content, ServiceKind::FeatureProbe);
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
        let schema = schema(kind);
        assert_eq!(
            accepts(&schema, &schema, &value),
            is_accepted,
            "{kind:?} {disabled}"
        );
    }
}
