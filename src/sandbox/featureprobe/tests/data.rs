//! The data that a service starts with.

use serde_json::{Value, json};

use super::{Faults, Service};
use crate::sandbox::featureprobe::store;

fn load(text: &str) -> Result<(), String> {
    store::load(&mut store::World::new(), text, jiff::Timestamp::UNIX_EPOCH)
}

#[test]
fn the_sample_has_what_a_first_import_meets() {
    let service = Service::with(None, Faults::default());
    let environments = service.get("/api/projects/shop/environments").1;
    let keys: Vec<_> = environments.as_array().unwrap().iter().map(|one| &one["key"]).collect();
    assert_eq!(keys, ["staging", "production"]);
    let toggles = service.get("/api/projects/shop/toggles?environmentKey=production").1;
    let kinds: Vec<_> = toggles["content"].as_array().unwrap().iter().map(|one| &one["returnType"]).collect();
    assert_eq!(kinds, ["boolean", "number", "string"]);
    let read = |toggle: &str| {
        service.get(&format!("/api/projects/shop/environments/production/toggles/{toggle}/targeting")).1
    };
    assert_eq!(read("new-checkout")["content"]["defaultServe"], json!({ "split": [7500, 2500] }));
    let banner = read("banner");
    assert_eq!(
        (&banner["version"], &banner["disabled"], &banner["content"]["defaultServe"]),
        (&1.into(), &true.into(), &json!({}))
    );
    let key = environments[1]["serverSdkKey"].as_str().unwrap();
    let payload = service.sdk(key, 0).1;
    assert_eq!(payload["toggles"].as_object().unwrap().len(), 3, "SDKs get all of them");
}

#[test]
fn a_toggle_can_begin_archived_and_with_a_history() {
    let mut toggle = super::toggle("t", "boolean", &["false", "true"]);
    toggle["archived"] = true.into();
    toggle["targeting"] =
        json!({ "online": [{ "disabled": false }, { "disabled": true, "comment": "off" }] });
    let data =
        json!({ "projects": [{ "key": "p", "environments": [{ "key": "online" }], "toggles": [toggle] }] });
    let service = Service::with(Some(&data.to_string()), Faults::default());
    let path = "/api/projects/p/environments/online/toggles/t/targeting";
    assert_eq!(service.get(path).1["version"], 3);
    assert_eq!(service.get("/api/projects/p/toggles/t").1["archived"], true);
}

#[test]
fn mistakes_in_the_data_are_named() {
    let project = |members: Value| json!({ "projects": [members] }).to_string();
    let toggle = |targeting: Value| {
        let mut toggle = super::toggle("t", "boolean", &["true"]);
        toggle["targeting"] = targeting;
        project(json!({ "key": "p", "toggles": [toggle] }))
    };
    for (text, reason) in [
        ("{".to_owned(), "EOF"),
        ("{}".to_owned(), "missing field `projects`"),
        (project(json!({ "key": "p", "colour": 1 })), "unknown field `colour`"),
        (project(json!({ "key": "" })), "POST /api/projects was answered 400"),
        (toggle(json!({ "nowhere": {} })), "Environment p-nowhere not found"),
        (toggle(json!({ "online": { "baseVersion": 7, "disabled": true } })), "Request conflict"),
    ] {
        let error = load(&text).unwrap_err();
        assert!(error.contains(reason), "{text}: {error}");
    }
}
