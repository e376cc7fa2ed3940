//! Projects, environments and segments.

use serde_json::{Value, json};

use super::{Service, T, message};

const ENVIRONMENTS: &str = "/api/projects/p/environments";

#[test]
fn an_archived_environment_is_not_found_and_gets_no_targeting_of_new_toggles() {
    let service = Service::new();
    service.done("PATCH", &format!("{ENVIRONMENTS}/e/offline"), Value::Null);
    for (method, path) in [("GET", T), ("PATCH", T)] {
        let (status, answer) = service.send(super::TOKEN, method, path, &json!({ "disabled": false }));
        assert_eq!((status, message(&answer)), (400, "Environment p-e not found"), "{method}");
    }
    let new = json!({ "key": "u", "name": "U", "returnType": "string", "clientAvailability": false,
        "disabledServe": 0, "variations": [{ "name": "a", "value": "a" }], "tags": [] });
    service.done("POST", "/api/projects/p/toggles", new);
    service.done("PATCH", &format!("{ENVIRONMENTS}/e/restore"), Value::Null);
    let targeting = format!("{ENVIRONMENTS}/e/toggles/u/targeting");
    assert_eq!(service.get(&targeting).0, 500);
    assert_eq!(service.get("/api/projects/p/toggles?environmentKey=e").0, 500);
    let (status, answer) = service.patch(&targeting, json!({ "disabled": true }));
    assert_eq!((status, message(&answer)), (400, "Targeting p-e-u not found"));
}

#[test]
fn a_new_environment_has_every_toggle() {
    let service = Service::new();
    let new = json!({ "key": "new", "name": "new" });
    service.done("POST", ENVIRONMENTS, new.clone());
    let targeting = service.get(&format!("{ENVIRONMENTS}/new/toggles/t/targeting")).1;
    assert_eq!(
        (&targeting["disabled"], &targeting["content"]["defaultServe"], &targeting["version"]),
        (&true.into(), &json!({}), &1.into())
    );
    assert_eq!(service.send(super::TOKEN, "POST", ENVIRONMENTS, &new).0, 500);
}

#[test]
fn projects_keep_their_names_and_keys_apart() {
    let service = Service::new();
    let project = |name: &str, key: &str| {
        service.send(super::TOKEN, "POST", "/api/projects", &json!({ "name": name, "key": key }))
    };
    assert_eq!(project("q", "q").0, 200);
    for (name, key) in [("q", "other"), ("other", "Q")] {
        assert_eq!(project(name, key).1["code"], "conflict");
    }
    assert_eq!(project("", "r").0, 400);
    assert_eq!(service.get(&format!("{ENVIRONMENTS}?archived=true")).1[0]["key"], "online");
}

#[test]
fn a_segment_has_a_free_key_and_publishing_it_without_rules_clears_them() {
    let service = Service::new();
    let segments = "/api/projects/p/segments";
    let taken = json!({ "key": "S", "name": "other" });
    assert_eq!(service.send(super::TOKEN, "POST", segments, &taken).1["code"], "conflict");
    let publish = &format!("{segments}/s/publish");
    let rules = json!([{ "conditions": [{ "type": "string", "subject": "a", "predicate": "contains", "objects": ["x"] }] }]);
    let first = service.done("PATCH", publish, json!({ "rules": rules, "baseVersion": 1 }));
    assert_eq!((&first["version"], &first["rules"]), (&2.into(), &rules));
    assert_eq!(service.done("PATCH", publish, json!({ "rules": rules }))["version"], 2, "unchanged");
    let stale = service.patch(publish, json!({ "baseVersion": 1 }));
    assert_eq!(message(&stale.1), "Request conflict, please try again");
    assert_eq!(service.done("PATCH", publish, json!({}))["rules"], json!([]));
}

#[test]
fn unknown_paths_and_verbs_are_errors_of_the_framework() {
    let service = Service::new();
    for (method, path, status) in [
        ("GET", "/api/nothing", 404),
        ("PATCH", "/elsewhere/api/projects", 404),
        ("GET", "/", 404),
        ("POST", "/internal/server/toggles", 405),
        ("DELETE", "/api/projects", 404),
        ("PUT", "/api/projects/p/environments/e/toggles/t/targeting/versions/1", 405),
        ("GET", "/api/projects/p/environments/e/toggles/t/targeting/other", 404),
    ] {
        let (got, answer) = service.send(super::TOKEN, method, path, &Value::Null);
        assert_eq!((got, &answer["status"], &answer["path"]), (status, &status.into(), &path.into()));
        assert!(answer["code"].is_null());
    }
    let (status, answer) = service.get(&format!("{T}/versions/latest"));
    assert_eq!((status, message(&answer)), (400, "For input string: \"latest\""));
    assert_eq!(service.get(&T.replace("/t/", "/other/")).0, 500);
    assert_eq!(service.get(&format!("{}/versions/1", T.replace("/t/", "/other/"))).1["total"], 0);
}
