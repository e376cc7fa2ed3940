//! Drafts.

use serde_json::{Value, json};

use super::{Service, T, TOKEN, message};

/// A service whose environment `e` requires approval by Kim.
fn guarded() -> Service {
    let service = Service::new();
    let setting = json!({ "environmentKey": "e", "enable": true, "reviewers": ["Kim"] });
    let path = "/api/projects/p/approvalSettings";
    let answer = service.done("PATCH", path, json!({ "approvalSettings": [setting] }));
    let enabled = answer.as_array().unwrap().iter().filter(|one| one["enable"] == true);
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

fn item(service: &Service) -> Value {
    service.get("/api/projects/p/toggles?environmentKey=e").1["content"][0].clone()
}

#[test]
fn a_draft_hides_the_live_values_and_a_publish_goes_over_it() {
    let service = guarded();
    propose(&service);
    let hidden = service.get(T).1;
    assert_eq!(
        (&hidden["locked"], &hidden["status"], &hidden["version"], &hidden["disabled"]),
        (&true.into(), &"PENDING".into(), &2.into(), &false.into())
    );
    assert_eq!(
        (&item(&service)["releaseStatus"], &item(&service)["disabled"]),
        (&"PENDING_APPROVAL".into(), &true.into())
    );
    let published = service.done("PATCH", T, json!({ "disabled": true }));
    assert_eq!((&published["version"], &item(&service)["releaseStatus"]), (&2.into(), &"RELEASE".into()));
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
    let other = service.send(TOKEN, "POST", &format!("{}/approval", T.replace("/e/", "/f/")), &draft());
    assert_eq!(message(&other.1), "Approval is not enabled.");
    assert_eq!(service.get(&format!("{T}/diff")), (200, json!({})));
    propose(&service);
    let again = submit(draft());
    assert_eq!(
        message(&again.1),
        "This toggle is already under approval, please do not repeat approval again."
    );
}
