//! Faults and changes by others at exact requests.

use serde_json::{Value, json};

use super::{Faults, Service, T, TOKEN};
use crate::sandbox::ScriptStep;

fn arrange(service: &Service, method: &str, path: &str, act: Value) {
    let step = json!({ "on": { "method": method, "path": path }, "do": act });
    let step: ScriptStep = serde_json::from_value(step).unwrap();
    service.api.add_step(step);
}

fn enable() -> Value {
    json!({ "disabled": false })
}

#[test]
fn a_publish_whose_response_is_lost_is_stored() {
    let service = Service::new();
    arrange(&service, "PATCH", T, json!("lose_response"));
    assert_eq!(service.patch(T, enable()).0, 0);
    assert_eq!(service.version(), 2);
    assert_eq!(service.patch(T, enable()).0, 200, "it happens once");
}

#[test]
fn a_held_publish_is_carried_out_later_if_its_base_is_still_current() {
    let service = Service::new();
    for (base, versions) in [(Some(1), [1, 2, 2]), (None, [2, 3, 4])] {
        arrange(&service, "PATCH", T, json!("hold"));
        let held = json!({ "disabled": false, "baseVersion": base, "comment": "held" });
        assert_eq!(service.patch(T, held).0, 0);
        let mut seen = vec![service.version()];
        service.done("PATCH", T, enable());
        seen.push(service.version());
        assert_eq!(service.api.release_held(), 1);
        seen.push(service.version());
        assert_eq!(seen, versions);
    }
}

#[test]
fn the_loser_of_a_race_gets_a_500_after_the_winners_change() {
    let service = Service::new();
    let winner = json!({ "method": "PATCH", "path": T, "body": { "disabled": false, "comment": "first" } });
    arrange(&service, "PATCH", T, json!({ "before": winner }));
    arrange(&service, "PATCH", T, json!("fail"));
    assert_eq!(service.patch(T, json!({ "disabled": true, "baseVersion": 1 })).0, 500);
    let newest = service.get(&format!("{T}/versions/2")).1["versions"][0].clone();
    assert_eq!((&newest["comment"], &newest["createdBy"]), (&"first".into(), &"Admin".into()));
    assert_eq!(service.version(), 2);
}

#[test]
fn a_lost_increment_leaves_sdks_with_a_406() {
    let service = Service::new();
    let key = service.sdk_key("e");
    let version = service.sdk(&key, 0).1["version"].as_u64().unwrap();
    arrange(&service, "PATCH", T, json!("lose_increment"));
    service.done("PATCH", T, enable());
    assert_eq!((service.sdk(&key, version).0, service.version()), (406, 2));
    service.done("PATCH", T, enable());
    assert_eq!(service.sdk(&key, version).0, 200);
}

#[test]
fn a_toggle_can_be_deleted_between_reading_and_writing() {
    let service = Service::new();
    arrange(&service, "GET", T, json!({ "delete_after": { "project": "p", "toggle": "T" } }));
    assert_eq!(service.get(T).0, 200);
    let (status, answer) = service.patch(T, enable());
    assert_eq!((status, super::message(&answer)), (400, "Targeting p-e-t not found"));
    assert_eq!(service.get(T).0, 500);
    assert_eq!(service.get("/api/projects/p/toggles?environmentKey=e").1["totalElements"], 0);
    let payload = service.sdk(&service.sdk_key("e"), 0).1;
    assert_eq!(payload["toggles"], json!({}));
}

#[test]
fn a_page_of_a_proxy_replaces_an_answer() {
    let service = Service::new();
    arrange(&service, "GET", T, json!({ "page": "<html>Sign in</html>" }));
    assert_eq!(service.get(T), (200, "<html>Sign in</html>".into()));
    assert_eq!(service.get(T).1["version"], 1);
}

#[test]
fn a_malformed_step_is_refused() {
    for text in [
        r#"{"on":{"method":"GET","path":"/"},"do":"explode"}"#,
        r#"{"on":{"method":"GET"},"do":"fail"}"#,
        r#"{"do":"fail"}"#,
    ] {
        assert!(serde_json::from_str::<ScriptStep>(text).is_err(), "{text}");
    }
}

#[test]
fn faults_strike_reads_and_publishes() {
    let with = |faults: Faults| Service::with(None, faults);
    let get = |service: &Service| service.send(TOKEN, "GET", "/api/projects", &Value::Null).0;
    let all = Faults { fail_rate: 1.0, ..Faults::default() };
    assert!(get(&with(all)) >= 500);
    let all = Faults { too_many_rate: 1.0, ..Faults::default() };
    assert_eq!(get(&with(all)), 429);
    let all = Faults { drop_after_store_rate: 1.0, ..Faults::default() };
    assert_eq!(get(&with(all)), 0);
}

#[test]
fn every_request_is_recorded_and_publishes_also_as_such() {
    let service = Service::new();
    service.get("/api/projects?keyword=x");
    service.patch(T, enable());
    service.send("wrong", "GET", T, &Value::Null);
    let calls: Vec<_> =
        service.api.calls().into_iter().map(|call| format!("{} {}", call.method, call.path)).collect();
    assert_eq!(calls, ["GET /api/projects?keyword=x".to_owned(), format!("PATCH {T}"), format!("GET {T}")]);
    let published = service.api.shared.request_log.received();
    assert_eq!(published.len(), 1);
    assert_eq!(
        (published[0].toggle.as_str(), &published[0].body[..]),
        ("p/e/t", &br#"{"disabled":false}"#[..])
    );
}
