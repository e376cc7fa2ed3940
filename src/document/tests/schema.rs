//! The schema and the parser agree, as far as a schema can.

use serde_json::{Value, json};

use super::super::formats::is_decimal;
use super::*;

/// Evaluates the keywords that the schema uses; panics at any other, so that none goes untested.
fn accepts(root: &Value, schema: &Value, value: &Value) -> bool {
    let keywords = schema.as_object().unwrap();
    keywords.iter().all(|(keyword, argument)| match keyword.as_str() {
        "$schema" | "$defs" | "title" | "description" | "then" => true,
        "$ref" => accepts(
            root,
            root.pointer(&argument.as_str().unwrap()[1..]).unwrap(),
            value,
        ),
        "type" => match argument {
            Value::Array(types) => types.iter().any(|one| has_type(value, one)),
            one => has_type(value, one),
        },
        "required" => keys(value).is_none_or(|keys| {
            argument
                .as_array()
                .unwrap()
                .iter()
                .all(|key| keys.contains(&key.as_str().unwrap()))
        }),
        "additionalProperties" => {
            assert_eq!(argument, &json!(false));
            let known = schema["properties"].as_object().unwrap();
            keys(value).is_none_or(|keys| keys.iter().all(|key| known.contains_key(*key)))
        }
        "properties" => argument
            .as_object()
            .unwrap()
            .iter()
            .all(|(key, schema)| value.get(key).is_none_or(|value| accepts(root, schema, value))),
        "items" => value
            .as_array()
            .is_none_or(|items| items.iter().all(|item| accepts(root, argument, item))),
        "minItems" => value
            .as_array()
            .is_none_or(|items| items.len() as u64 >= argument.as_u64().unwrap()),
        "minLength" => value
            .as_str()
            .is_none_or(|text| text.chars().count() as u64 >= argument.as_u64().unwrap()),
        "minProperties" => keys(value).is_none_or(|keys| keys.len() as u64 >= argument.as_u64().unwrap()),
        "maxProperties" => keys(value).is_none_or(|keys| keys.len() as u64 <= argument.as_u64().unwrap()),
        "minimum" => value
            .as_i64()
            .is_none_or(|number| number >= argument.as_i64().unwrap()),
        "maximum" => value
            .as_u64()
            .is_none_or(|number| number <= argument.as_u64().unwrap()),
        "const" => value == argument,
        "pattern" => {
            assert_eq!(argument, "^[+-]?[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)?$");
            value.as_str().is_none_or(is_decimal)
        }
        "if" => !accepts(root, argument, value) || accepts(root, &schema["then"], value),
        other => panic!("`{other}` is not evaluated"),
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

fn check(value: &Value) -> Result<(), TestCaseError> {
    let schema = schema();
    let document = json(&value.to_string());
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
        json!({ "variation": "on" }),
        json!({ "select": 0, "variation": "on" }),
    ])
}

proptest! {
    #[test]
    fn the_schema_accepts_what_the_parser_accepts(targeting in any_targeting(ServiceKind::Documented)) {
        check(&serde_json::to_value(&targeting).unwrap())?;
    }

    #[test]
    fn the_schema_refuses_what_the_parser_refuses(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), strange(), 0..3_u8), 1..3),
    ) {
        let mut value = full();
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
        check(&value)?;
    }
}

#[test]
fn a_full_document_is_accepted() {
    check(&full()).unwrap();
    assert!(json(&full().to_string()).payload.is_some());
}
