//! What SDKs get.

use serde_json::{Value, json};

use super::{Service, T, toggle};

/// Returns the toggle as SDKs get it, or null if they do not.
fn delivered(service: &Service) -> Value {
    let (status, payload) = service.sdk(&service.sdk_key("e"), 0);
    assert_eq!(status, 200);
    payload["toggles"]["t"].clone()
}

fn enabled(content: Value) -> Value {
    let mut content = content;
    if content["defaultServe"].is_null() {
        content["defaultServe"] = json!({ "select": 0 });
    }
    json!({ "disabled": false, "content": content })
}

fn condition(condition: Value) -> Value {
    enabled(json!({ "rules": [{ "serve": { "select": 0 }, "conditions": [condition] }] }))
}

/// A toggle of the type with the content is delivered to SDKs, or vanishes.
fn builds(cases: &[(&str, Value, bool)]) {
    for (kind, body, is_delivered) in cases {
        let data = json!({ "projects": [{
            "key": "p", "environments": [{ "key": "e" }], "toggles": [toggle("t", kind, &["false", "true"])],
        }] });
        let service = Service::with(Some(&data.to_string()), super::Faults::default());
        service.done("PATCH", T, body.clone());
        assert_eq!(delivered(&service).is_object(), *is_delivered, "{kind}: {body}");
    }
}

#[test]
fn a_toggle_whose_values_the_builder_cannot_convert_vanishes() {
    builds(&[
        ("boolean", json!({ "disabled": true }), true),
        ("boolean", json!({ "disabled": false }), false),
        ("boolean", enabled(json!({})), true),
        ("colour", enabled(json!({})), false),
        ("number", enabled(json!({})), false),
        ("number", enabled(json!({ "variations": [{ "value": "1.5" }, { "value": "-2" }] })), true),
        ("number", enabled(json!({ "variations": [{ "value": "NaN" }] })), false),
        ("number", enabled(json!({ "variations": [{ "value": "1d" }] })), false),
        ("json", enabled(json!({ "variations": [{ "value": "{\"a\":1}" }] })), true),
        ("json", enabled(json!({ "variations": [{ "value": "[1]" }] })), false),
    ]);
}

#[test]
fn a_toggle_whose_rules_or_prerequisites_the_builder_cannot_convert_vanishes() {
    builds(&[
        ("boolean", enabled(json!({ "rules": [{ "conditions": [] }] })), false),
        ("boolean", enabled(json!({ "rules": [{ "conditions": [], "serve": {} }] })), true),
        (
            "boolean",
            enabled(json!({ "prerequisites": [{ "key": "x", "value": "y", "type": "colour" }] })),
            false,
        ),
        (
            "boolean",
            enabled(json!({ "prerequisites": [{ "key": "x", "value": "y", "type": "string" }] })),
            true,
        ),
    ]);
}

#[test]
fn sdks_get_conditions_in_the_form_that_they_evaluate() {
    let service = Service::new();
    for (given, converted) in [
        (
            json!({ "type": "datetime", "subject": "d", "predicate": "after", "objects": ["1970-01-01T00:01:00+00:00"] }),
            json!([{ "type": "datetime", "subject": "d", "predicate": "after", "objects": ["60"] }]),
        ),
        (
            json!({ "type": "segment", "predicate": "is in", "objects": ["S"] }),
            json!([{ "type": "segment", "predicate": "is in", "objects": ["p$s"] }]),
        ),
        (
            json!({ "type": "number", "subject": "n", "predicate": "between", "objects": ["1"],
                "leftPredicate": ">", "rightPredicate": "<=", "rightObjects": ["2"] }),
            json!([
                { "type": "number", "subject": "n", "predicate": ">", "objects": ["1"] },
                { "type": "number", "subject": "n", "predicate": "<=", "objects": ["2"] },
            ]),
        ),
        (
            json!({ "type": "datetime", "subject": "d", "predicate": "between", "leftPredicate": "after",
                "objects": ["1970-01-01T00:01:00+00:00"], "rightPredicate": "before",
                "rightObjects": ["1970-02-30T23:59:60+00:00"] }),
            json!([
                { "type": "datetime", "subject": "d", "predicate": "after", "objects": ["60"] },
                { "type": "datetime", "subject": "d", "predicate": "before", "objects": ["5270400"] },
            ]),
        ),
        (
            json!({ "type": "colour", "subject": "c", "predicate": "resembles", "objects": ["red"] }),
            json!([{ "subject": "c", "objects": ["red"] }]),
        ),
    ] {
        service.done("PATCH", T, condition(given));
        assert_eq!(delivered(&service)["rules"][0]["conditions"], converted);
    }
}

#[test]
fn a_split_becomes_ranges_and_archived_toggles_are_left_out() {
    let service = Service::new();
    service.done("PATCH", T, enabled(json!({ "defaultServe": { "select": 0, "split": [2500, 0, 7500] } })));
    assert_eq!(
        delivered(&service)["defaultServe"],
        json!({ "split": { "distribution": [[[0, 2500]], [[2500, 2500]], [[2500, 10000]]] } })
    );
    service.done("PATCH", "/api/projects/p/toggles/t/offline", Value::Null);
    assert_eq!(delivered(&service), Value::Null);
}

#[test]
fn the_version_rises_with_every_publish_even_an_empty_one() {
    let service = Service::new();
    let key = service.sdk_key("e");
    let version = service.sdk(&key, 0).1["version"].as_u64().unwrap();
    assert_eq!(service.sdk(&key, version), (406, Value::Null));
    service.done("PATCH", T, json!({}));
    assert_eq!(service.sdk(&key, version).1["version"], version + 1);
    let other = service.sdk_key("f");
    assert_eq!(service.sdk(&other, version).0, 406, "another environment stays as it was");
    assert_eq!(service.sdk("server-unknown", 0), (404, Value::Null));
}
