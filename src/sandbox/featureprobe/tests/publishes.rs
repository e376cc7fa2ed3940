//! What a publish stores, and what is refused.

use serde_json::{Value, json};

use super::{Service, T, message};

fn rule(conditions: Value) -> Value {
    json!({ "content": { "rules": [{ "name": "r", "serve": { "select": 0 }, "conditions": conditions }] } })
}

fn condition(kind: &str, objects: Value) -> Value {
    rule(json!([{ "type": kind, "subject": "a", "predicate": "=", "objects": objects }]))
}

fn variations(name: &str, value: &str) -> Value {
    json!({ "content": { "variations": [{ "name": name, "value": value }] } })
}

fn prerequisites(list: Value) -> Value {
    json!({ "content": { "prerequisites": list } })
}

/// The service answers each body with the status and the message, and changes nothing.
fn refused(cases: &[(Value, u16, &str)]) {
    let service = Service::new();
    for (body, status, text) in cases {
        let (got, answer) = service.patch(T, body.clone());
        assert_eq!((got, message(&answer)), (*status, *text), "{body:.200}");
        assert_eq!(answer["code"].is_null(), text.is_empty(), "{answer}");
    }
    assert_eq!(service.version(), 1);
}

#[test]
fn a_publish_without_the_form_or_the_version_of_the_toggle_is_refused() {
    refused(&[
        (json!([]), 400, ""),
        (Value::Null, 400, ""),
        (json!({ "disabled": "maybe" }), 400, ""),
        (json!({ "content": { "rules": "none" } }), 400, ""),
        (json!({ "content": { "defaultServe": [] } }), 400, ""),
        (json!({ "disabled": true, "baseVersion": 2 }), 400, "Request conflict, please try again"),
        (json!({ "disabled": true, "baseVersion": -1 }), 400, "Request conflict, please try again"),
    ]);
}

#[test]
fn a_publish_of_a_rule_that_the_service_cannot_read_is_refused() {
    refused(&[
        (json!({ "content": { "rules": [null] } }), 500, ""),
        (rule(Value::Null), 500, ""),
        (rule(json!([null])), 500, ""),
        (condition("number", json!(["many"])), 400, "Invalid number"),
        (condition("number", Value::Null), 500, ""),
        (condition("number", json!([null])), 500, ""),
        (condition("datetime", json!(["2026-11-21T00:00:00Z"])), 400, "Invalid datetime"),
        (condition("datetime", Value::Null), 500, ""),
        (condition("semver", json!(["1.2"])), 400, "Invalid version"),
        (condition("segment", json!(["other"])), 400, "Segment other not found"),
        (condition("segment", json!([null])), 400, "Segment null not found"),
        (condition("segment", Value::Null), 500, ""),
    ]);
}

#[test]
fn a_publish_of_variations_or_prerequisites_that_the_service_cannot_store_is_refused() {
    refused(&[
        (variations(&"n".repeat(129), "v"), 500, ""),
        (variations("n", &"v".repeat(65_536)), 500, ""),
        (variations("n", &"v".repeat(1024 * 1024)), 400, "Rule content length exceeded (<1M)."),
        (json!({ "content": { "variations": [null] } }), 500, ""),
        (prerequisites(json!([{ "key": "x", "type": "string" }])), 500, ""),
        (prerequisites(json!([{ "value": "x", "type": "string" }])), 500, ""),
        (
            prerequisites(json!([{ "key": "t", "value": "x", "type": "string" }])),
            400,
            "validate.prerequisite.dependency.cycle",
        ),
    ]);
}

#[test]
fn what_sdks_cannot_handle_is_stored_all_the_same() {
    let service = Service::new();
    let name = "n".repeat(128);
    for body in [
        rule(json!([])),
        rule(json!([{ "type": "colour", "predicate": "resembles", "objects": null }])),
        condition("string", json!([null, "a"])),
        condition("number", json!([" 1d "])),
        json!({ "content": { "defaultServe": { "select": -7, "split": [1, -2] } } }),
        json!({ "content": { "disabledServe": {} } }),
        json!({ "content": { "variations": [] } }),
        variations(&name, &"v".repeat(65_535)),
        prerequisites(json!([{ "key": "nowhere", "value": "x", "type": "colour" }])),
    ] {
        let before = service.version();
        let (status, answer) = service.patch(T, body.clone());
        assert_eq!((status, &answer["version"]), (200, &(before + 1).into()), "{body:.200}");
    }
}

#[test]
fn content_is_merged_one_level_deep_without_nulls_and_unknown_members() {
    let service = Service::new();
    let sent = json!({
        "disabled": "false",
        "other": 1,
        "content": {
            "rules": [{ "name": null, "color": "red", "serve": { "split": ["1", 2.9] }, "conditions": [] }],
            "defaultServe": { "select": 1, "bucketBy": "x" },
        },
    });
    let first = service.patch(T, sent).1;
    assert_eq!(first["disabled"], false);
    let rules = json!([{ "conditions": [], "serve": { "split": [1, 2] } }]);
    assert_eq!(first["content"]["rules"], rules);
    assert_eq!(first["content"]["defaultServe"], json!({ "select": 1 }));
    assert_eq!(first["content"]["variations"][1]["value"], "true", "kept");
    let second = service.patch(T, json!({ "content": { "defaultServe": {}, "prerequisites": null } })).1;
    assert_eq!(second["content"]["rules"], rules, "kept");
    assert_eq!(second["content"]["defaultServe"], json!({}), "replaced");
    assert_eq!(second["content"]["prerequisites"], json!([]), "kept");
}

#[test]
fn identical_content_still_makes_a_version_with_its_comment() {
    let service = Service::new();
    for comment in ["one", "two"] {
        service.done("PATCH", T, json!({ "disabled": false, "comment": comment }));
    }
    let history = service.done("GET", &format!("{T}/versions/2"), Value::Null);
    let comments: Vec<_> =
        history["versions"].as_array().unwrap().iter().map(|one| &one["comment"]).collect();
    assert_eq!(comments, ["two", "one"]);
    assert_eq!((service.version(), &history["total"]), (3, &3.into()));
}

#[test]
fn a_key_in_another_case_is_the_same_key() {
    let service = Service::new();
    let shouted = "/api/projects/P/environments/E/toggles/T/targeting";
    service.done("PATCH", shouted, json!({ "disabled": false }));
    assert_eq!(service.version(), 2);
    let other = json!({ "key": "T", "name": "other", "returnType": "string", "clientAvailability": false,
        "disabledServe": 0, "variations": [{ "value": "a" }], "tags": [] });
    let (status, answer) = service.send(super::TOKEN, "POST", "/api/projects/p/toggles", &other);
    assert_eq!((status, &answer["code"]), (400, &"conflict".into()));
}

#[test]
fn a_long_chain_of_prerequisites_is_refused() {
    let toggles: Vec<_> = (0..25).map(|n| super::toggle(&format!("t{n}"), "boolean", &["true"])).collect();
    let data = json!({ "projects": [{ "key": "p", "environments": [{ "key": "e" }], "toggles": toggles }] });
    let service = Service::with(Some(&data.to_string()), super::Faults::default());
    let depend = |n: usize| {
        let path = format!("/api/projects/p/environments/e/toggles/t{n}/targeting");
        let on = json!([{ "key": format!("t{}", n - 1), "value": "true", "type": "boolean" }]);
        service.patch(&path, prerequisites(on))
    };
    let refused = (1..25).map(depend).position(|(status, _)| status != 200);
    assert_eq!(refused, Some(19), "the longest chain has 19 levels");
    let text = depend(20).1;
    assert_eq!(message(&text), "validate.prerequisite.deep.limit");
}

#[test]
fn publishes_by_others_carry_their_names() {
    let service = Service::new();
    service.api.add_account("Bearer session", "Kim");
    for authorization in [super::TOKEN, "Bearer session"] {
        let (status, _) = service.send(authorization, "PATCH", T, &json!({ "disabled": false }));
        assert_eq!(status, 200);
    }
    let page = service.done("GET", &format!("{T}/versions/1"), Value::Null);
    let authors: Vec<_> = page["versions"].as_array().unwrap().iter().map(|one| &one["createdBy"]).collect();
    assert_eq!(authors, ["Kim", "api:sandbox", "Admin"]);
}
