//! Drafts and what becomes of them.

use serde_json::{Value, json};

use super::{Service, T, TOKEN, message};

/// A service whose environment `e` requires approval by Kim.
fn guarded() -> Service {
    let service = Service::new();
    let setting = json!({ "environmentKey": "e", "enable": true, "reviewers": ["Kim"] });
    let path = "/api/projects/p/approvalSettings";
    let answer = service.done("PATCH", path, json!({ "approvalSettings": [setting] }));
    let enabled = answer
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["enable"] == true);
    assert_eq!(enabled.count(), 1);
    service
}

fn draft() -> Value {
    json!({
        "disabled": false,
        "comment": "please",
        "content": { "rules": [], "disabledServe": { "select": 0 }, "defaultServe": { "select": 1 },
            "variations": [{ "name": "a", "value": "true" }] },
    })
}

fn propose(service: &Service) {
    service.done("POST", &format!("{T}/approval"), draft());
}

fn decide(service: &Service, authorization: &str, status: &str) -> (u16, Value) {
    service.send(
        authorization,
        "PATCH",
        &format!("{T}/approvalStatus"),
        &json!({ "status": status, "comment": "ok" }),
    )
}

fn item(service: &Service) -> Value {
    service.get("/api/projects/p/toggles?environmentKey=e").1["content"][0].clone()
}

#[test]
fn a_draft_hides_the_live_values_until_it_is_approved_and_published() {
    let service = guarded();
    propose(&service);
    let hidden = service.get(T).1;
    assert_eq!(
        (
            &hidden["locked"],
            &hidden["status"],
            &hidden["version"],
            &hidden["disabled"]
        ),
        (&true.into(), &"PENDING".into(), &2.into(), &false.into())
    );
    assert_eq!(
        (&item(&service)["releaseStatus"], &item(&service)["disabled"]),
        (&"PENDING_APPROVAL".into(), &true.into())
    );
    assert_eq!(
        decide(&service, TOKEN, "PASS"),
        (400, json!({ "code": "invalid_request" })),
        "no reviewer"
    );
    assert_eq!(decide(&service, &service.person("Kim"), "PASS").0, 200);
    let passed = service.get(T).1;
    assert_eq!(
        (&passed["status"], &passed["approvalBy"]),
        (&"PASS".into(), &"Kim".into())
    );
    let published = service.done("PATCH", &format!("{T}/sketch/publish"), Value::Null);
    assert_eq!(
        (&published["version"], &published["disabled"]),
        (&2.into(), &false.into())
    );
    assert_eq!(
        (
            service.get(T).1["locked"].clone(),
            &item(&service)["releaseStatus"]
        ),
        (false.into(), &"RELEASE".into())
    );
    let newest = service.done("GET", &format!("{T}/versions/2"), Value::Null)["versions"][0].clone();
    assert_eq!(
        (
            &newest["comment"],
            &newest["approvalStatus"],
            &newest["approvalBy"],
            &newest["approvalComment"]
        ),
        (&"please".into(), &"PASS".into(), &"Kim".into(), &"ok".into())
    );
    service.done("PATCH", T, json!({ "disabled": true }));
    let replayed = service.done("PATCH", &format!("{T}/sketch/publish"), Value::Null);
    assert_eq!(
        replayed["version"], 4,
        "the old draft is published over the newer change"
    );
}

#[test]
fn a_rejected_draft_stays_until_it_is_cancelled() {
    let service = guarded();
    propose(&service);
    assert_eq!(decide(&service, &service.person("Kim"), "REJECT").0, 200);
    assert_eq!(
        (&service.get(T).1["status"], &item(&service)["releaseStatus"]),
        (&"REJECT".into(), &"REJECT".into())
    );
    assert_eq!(
        service.patch(&format!("{T}/sketch/publish"), Value::Null),
        (200, Value::Null)
    );
    service.done(
        "PATCH",
        &format!("{T}/sketch/cancel"),
        json!({ "comment": "never mind" }),
    );
    let live = service.get(T).1;
    assert_eq!(
        (&live["locked"], &live["version"], &live["disabled"]),
        (&false.into(), &1.into(), &true.into())
    );
}

#[test]
fn an_owner_may_publish_at_once_or_withdraw() {
    let service = guarded();
    propose(&service);
    assert_eq!(decide(&service, TOKEN, "JUMP").0, 200);
    assert_eq!(
        (service.version(), &service.get(T).1["locked"]),
        (2, &false.into())
    );
    propose(&service);
    let writer = service.done(
        "POST",
        "/api/tokens",
        json!({ "name": "w", "type": "APPLICATION", "role": "WRITER" }),
    );
    assert_eq!(
        decide(&service, writer["token"].as_str().unwrap(), "REVOKE").0,
        400
    );
    assert_eq!(decide(&service, TOKEN, "REVOKE").0, 200);
    assert_eq!(
        (service.version(), &service.get(T).1["locked"]),
        (2, &false.into())
    );
}

#[test]
fn drafts_are_refused_as_the_service_does() {
    let service = guarded();
    let submit = |body: Value| service.send(TOKEN, "POST", &format!("{T}/approval"), &body);
    let without = |name: &str| {
        let mut body = draft();
        body[name] = Value::Null;
        submit(body)
    };
    assert_eq!((without("content").0, without("disabled").0), (500, 500));
    assert_eq!(
        submit(json!({ "disabled": true, "content": { "variations": [] } })).0,
        500,
        "it is not merged"
    );
    let other = service.send(
        TOKEN,
        "POST",
        &format!("{}/approval", T.replace("/e/", "/f/")),
        &draft(),
    );
    assert_eq!(message(&other.1), "Approval is not enabled.");
    assert_eq!(decide(&service, TOKEN, "JUMP").0, 400, "there is no draft");
    assert_eq!(
        service.patch(&format!("{T}/sketch/cancel"), json!({})),
        (200, Value::Null)
    );
    assert_eq!(service.get(&format!("{T}/diff")), (200, json!({})));
    propose(&service);
    let again = submit(draft());
    assert_eq!(
        message(&again.1),
        "This toggle is already under approval, please do not repeat approval again."
    );
    assert_eq!(decide(&service, TOKEN, "PERHAPS").0, 500);
}
