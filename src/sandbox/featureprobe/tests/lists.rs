//! Lists and their pages.

use serde_json::{Value, json};

use super::{Service, message, toggle};

const TOGGLES: &str = "/api/projects/p/toggles";

/// Five toggles `t0` to `t4`.
fn five() -> Service {
    let toggles: Vec<_> = (0..5).map(|n| toggle(&format!("t{n}"), "boolean", &["false", "true"])).collect();
    let data = json!({ "projects": [{ "key": "p", "environments": [{ "key": "e" }], "toggles": toggles }] });
    Service::with(Some(&data.to_string()), super::Faults::default())
}

fn keys(service: &Service, query: &str) -> Vec<String> {
    let page = service.done("GET", &format!("{TOGGLES}?{query}"), Value::Null);
    let content = page["content"].as_array().unwrap().iter();
    content.map(|one| one["key"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_list_is_read_in_pages_until_an_empty_one() {
    let service = five();
    let pages: Vec<_> =
        (0..4).map(|index| keys(&service, &format!("pageSize=2&pageIndex={index}"))).collect();
    assert_eq!(pages, [vec!["t0", "t1"], vec!["t2", "t3"], vec!["t4"], vec![]]);
    let last = service.done("GET", &format!("{TOGGLES}?pageSize=2&pageIndex=2"), Value::Null);
    assert_eq!(
        (&last["totalElements"], &last["totalPages"], &last["last"], &last["first"]),
        (&5.into(), &3.into(), &true.into(), &false.into())
    );
    for (query, text) in [
        ("pageSize=0", "Page size must not be less than one!"),
        ("pageIndex=-1", "Page index must not be less than zero!"),
        ("pageSize=many", ""),
        ("environmentKey=nowhere", "Environment nowhere not found"),
    ] {
        let (status, answer) = service.get(&format!("{TOGGLES}?{query}"));
        assert_eq!((status, message(&answer)), (400, text), "{query}");
    }
    assert_eq!(service.get("/api/projects/nothing/toggles").1["content"], json!([]));
    assert_eq!(service.get("/api/projects/nothing/environments"), (200, json!([])));
}

#[test]
fn archived_toggles_are_listed_only_on_request_and_only_with_an_environment() {
    let service = five();
    service.done("PATCH", &format!("{TOGGLES}/t2/offline"), Value::Null);
    for (query, expected) in [
        ("archived=true", vec!["t0", "t1", "t3", "t4"]),
        ("environmentKey=e", vec!["t0", "t1", "t3", "t4"]),
        ("environmentKey=e&archived=true", vec!["t2"]),
    ] {
        assert_eq!(keys(&service, query), expected, "{query}");
    }
}

#[test]
fn an_archived_toggle_can_be_read_and_restored_once() {
    let service = five();
    let toggle = format!("{TOGGLES}/t0");
    service.done("PATCH", &format!("{toggle}/offline"), Value::Null);
    assert_eq!(service.get(&toggle).1["archived"], true);
    let again = service.patch(&format!("{toggle}/offline"), Value::Null);
    assert_eq!((again.0, message(&again.1)), (400, "Toggle t0 not found"));
    service.done("PATCH", &format!("{toggle}/restore"), Value::Null);
    assert_eq!(service.patch(&format!("{toggle}/restore"), Value::Null).0, 400);
    assert_eq!(keys(&service, "").len(), 5);
}

#[test]
fn a_new_toggle_needs_its_members_and_a_free_key_and_name() {
    let service = Service::new();
    let good = json!({ "key": "u", "name": "U", "returnType": "string", "clientAvailability": false,
        "disabledServe": 0, "variations": [{ "name": "a", "value": "a" }], "tags": ["unknown"] });
    let with = |name: &str, value: Value| {
        let mut body = good.clone();
        body[name] = value;
        service.send(super::TOKEN, "POST", TOGGLES, &body)
    };
    for name in ["key", "name", "returnType", "clientAvailability", "disabledServe", "variations"] {
        let (status, answer) = with(name, Value::Null);
        assert_eq!((status, &answer["error"]), (400, &"Bad Request".into()), "{name}");
    }
    assert_eq!(with("variations", json!([])).0, 400);
    assert_eq!(with("tags", Value::Null).1["code"], "invalid_request");
    assert_eq!(with("name", "t".into()).1["code"], "conflict");
    let created = service.done("POST", TOGGLES, good.clone());
    assert_eq!((&created["tags"], &created["archived"]), (&json!([]), &false.into()));
    let targeting = service.get("/api/projects/p/environments/f/toggles/u/targeting").1;
    assert_eq!(
        (&targeting["version"], &targeting["disabled"], &targeting["content"]["defaultServe"]),
        (&1.into(), &true.into(), &json!({}))
    );
}
