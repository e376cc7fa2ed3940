//! Targeting in the service's own JSON.

use serde_json::{Value, json};

use super::*;

/// The content of `get-targeting.json`, as recorded from a running server.
fn recorded() -> Value {
    json!({
        "rules": [
            {
                "conditions": [{ "type": "number", "subject": "age", "predicate": ">", "objects": ["18"] }],
                "name": "adults",
                "serve": { "select": 1 }
            },
            {
                "conditions": [{ "type": "segment", "subject": "", "predicate": "is in", "objects": ["staff"] }],
                "name": "rollout",
                "serve": { "split": [2500, 7500] }
            },
            {
                "conditions": [{
                    "type": "number",
                    "subject": "age",
                    "predicate": "between",
                    "leftPredicate": ">=",
                    "objects": ["1"],
                    "rightPredicate": "<",
                    "rightObjects": ["9"]
                }],
                "name": "between",
                "serve": { "select": 0 }
            }
        ],
        "disabledServe": { "select": 0 },
        "defaultServe": { "select": 1 },
        "variations": [
            { "value": "false", "name": "off", "description": "" },
            { "value": "true", "name": "on", "description": "" }
        ],
        "prerequisites": [{ "key": "other", "value": "a", "type": "string" }]
    })
}

fn payload(content: &Value) -> Payload {
    from_service(ServiceKind::FeatureProbe, false, content).unwrap()
}

/// Replaces the value at `pointer`; an empty pointer is the whole content.
fn with_value(pointer: &str, value: Value) -> Value {
    let mut content = recorded();
    *content.pointer_mut(pointer).unwrap() = value;
    content
}

#[test]
fn recorded_content_is_read_without_loss() {
    let read = payload(&recorded());
    let json: Value = serde_json::from_str(read.json()).unwrap();
    assert_eq!(json["content"], recorded());
    assert_eq!(json["disabled"], json!(false));
}

#[test]
fn content_that_means_the_same_is_equal() {
    for (pointer, value) in [
        ("/variations/0", json!({ "value": "false", "name": "off" })),
        ("/variations/0/description", Value::Null),
        ("/rules/1/conditions/0", json!({ "type": "segment", "predicate": "is in", "objects": ["staff"] })),
        ("/rules/1/serve", json!({ "select": 0, "split": [2500, 7500] })),
        ("/rules/1/serve", json!({ "split": [2500, 7500, 0] })),
        ("/rules/0/serve", json!({ "select": 1, "split": [] })),
        ("/rules/0/serve", json!({ "select": 1, "split": null })),
        (
            "/rules/0/conditions/0",
            json!({
                "type": "number", "subject": "age", "predicate": ">", "objects": ["18"],
                "leftPredicate": ">=", "rightObjects": []
            }),
        ),
    ] {
        assert_eq!(payload(&with_value(pointer, value.clone())), payload(&recorded()), "{pointer} {value}");
    }
    let mut none = with_value("/prerequisites", json!([]));
    let expected = payload(&none);
    none.as_object_mut().unwrap().remove("prerequisites");
    assert_eq!(payload(&none), expected);
    let unnamed = |name: Value| payload(&with_value("/rules/0/name", name));
    assert_eq!(unnamed(Value::Null), unnamed(json!("")));
}

#[test]
fn a_toggle_that_was_never_configured_has_no_default_serve() {
    let content = with_value("/defaultServe", json!({}));
    let read = from_service(ServiceKind::FeatureProbe, true, &content).unwrap();
    assert_eq!(read.targeting().content.default_serve, Serve::Nothing);
    assert!(read.is_disabled());
}

/// The recorded content with `value` at the pointer cannot be read, for the reason.
fn refused(cases: &[((&str, Value), &str)]) {
    for ((pointer, value), reason) in cases {
        let content = with_value(pointer, value.clone());
        let error = from_service(ServiceKind::FeatureProbe, false, &content);
        assert_eq!(error.unwrap_err().to_string(), *reason, "{pointer} {value}");
    }
}

#[test]
fn a_serve_that_no_document_expresses_is_an_error_in_words() {
    refused(&[
        (
            ("/defaultServe", json!({ "select": 0, "salt": "x" })),
            "`content.defaultServe` has `salt`, which gitoggle does not know",
        ),
        (
            ("/defaultServe/select", json!(-1)),
            "`content.defaultServe` selects -1, which is not the index of a variation",
        ),
        (
            ("/defaultServe/select", json!("1")),
            "`content.defaultServe` selects \"1\", which is not the index of a variation",
        ),
        (
            ("/rules/1/serve/split", json!([2500, 7000])),
            "`content.rules[1].serve` has a split whose weights add up to 9500, not 10000",
        ),
        (
            ("/rules/1/serve/split", json!([-2500, 12500])),
            "`content.rules[1].serve.split[0]` is -2500, which is not a weight",
        ),
        (("/rules/1/serve/split", json!([0.5])), "`content.rules[1].serve.split[0]` is not a whole number"),
        (
            ("/rules/1/serve/split", json!([0, 0, 10000])),
            "`content.rules[1].serve` has a split over more variations than there are",
        ),
        (("/rules/1/serve/split", json!("all")), "`content.rules[1].serve.split` is not a list"),
    ]);
}

#[test]
fn another_part_that_no_document_expresses_is_an_error_in_words() {
    let between = json!({
        "type": "number", "subject": "a", "predicate": "between", "objects": ["1"], "leftPredicate": ">",
    });
    refused(&[
        (("", json!([])), "`content` is not an object"),
        (("/rules/1/conditions", Value::Null), "`content.rules[1]` has no `conditions`"),
        (("/rules/1/name", json!(1)), "`content.rules[1].name` is not text"),
        (("/rules/1", Value::Null), "`content.rules[1]` is not an object"),
        (("/rules/0/conditions/0/objects", Value::Null), "`content.rules[0].conditions[0]` has no `objects`"),
        (
            ("/rules/0/conditions/0/objects", json!([null])),
            "`content.rules[0].conditions[0].objects[0]` is not text",
        ),
        (
            ("/rules/0/conditions/0/predicate", Value::Null),
            "`content.rules[0].conditions[0]` has no `predicate`",
        ),
        (("/rules/0/conditions/0/type", Value::Null), "`content.rules[0].conditions[0]` has no `type`"),
        (("/variations/1/value", Value::Null), "`content.variations[1]` has no `value`"),
        (
            ("/prerequisites/0/type", json!("\u{1b}[1m")),
            "`content.prerequisites[0]` has the unknown type `\\u{1b}[1m`",
        ),
        (("/prerequisites/0/key", Value::Null), "`content.prerequisites[0]` has no `key`"),
        (
            ("/rules/2/conditions/0", between),
            "`content.rules[2].conditions[0]` is `between`, but has no `leftPredicate`, `rightPredicate` or `rightObjects`",
        ),
    ]);
}

#[test]
fn the_documented_kind_reads_only_what_its_api_has() {
    let documented = |content: &Value| from_service(ServiceKind::Documented, false, content);
    assert_eq!(
        documented(&recorded()).unwrap_err().to_string(),
        "it has a serve that is not one variation, prerequisites and a `between` condition, \
         which needs `service_kind: featureprobe`"
    );
    let mut plain = with_value("/prerequisites", json!([]));
    plain["rules"].as_array_mut().unwrap().truncate(1);
    let read = documented(&plain).unwrap();
    assert_eq!(read.targeting().content.prerequisites, None);
}

#[test]
fn many_splits_over_many_variations_take_bounded_memory() {
    let mut content = recorded();
    content["variations"] = json!(vec![json!({ "value": "x" }); 10_000]);
    content["rules"] = json!(vec![json!({ "conditions": [], "serve": { "split": [10_000] } }); 5000]);
    let error = from_service(ServiceKind::FeatureProbe, false, &content).unwrap_err();
    assert_eq!(error.to_string(), "`content` has too many splits over too many variations");
}
