//! The order in which the recorded requests were made, with what happened between them.

use serde_json::{Value, json};

use super::recorded;

/// One step, in the order in which the service was used.
pub(super) enum Step {
    /// What `Admin` did and no exchange shows: the second, the request.
    Admin(&'static str, &'static str, &'static str, Value),
    /// What the recording client did and no exchange shows.
    Client(&'static str, &'static str, &'static str, Value),
    /// A recorded exchange, and whose authorization it carries.
    Exchange(&'static str, By),
}

#[derive(Clone, Copy)]
pub(super) enum By {
    Admin,
    Client,
    /// With this header.
    Header(&'static str),
    Anonymous,
    Sdk,
}

use By::{Admin, Anonymous, Client, Header, Sdk};
use Step::Exchange;

const PLAIN: &str = "/api/projects/facts/environments/production/toggles/plain/targeting";

/// The accounts, projects and toggles with which the recording began.
fn beginning() -> Vec<Step> {
    let environment = |name| {
        let body = json!({ "name": name, "key": name });
        Step::Admin("55", "POST", "/api/projects/facts/environments", body)
    };
    let toggle = |key: &str, kind, variations| {
        let body = json!({
            "name": key, "key": key, "returnType": kind, "disabledServe": 0, "desc": "d", "tags": [],
            "variations": variations, "clientAvailability": true,
        });
        Step::Admin("55", "POST", "/api/projects/facts/toggles", body)
    };
    let boolean = || {
        json!([
            { "value": "false", "name": "off", "description": "" },
            { "value": "true", "name": "on", "description": "" },
        ])
    };
    let segment = json!({ "name": "staff", "key": "staff", "description": "people who work here" });
    vec![
        Step::Admin("54", "POST", "/api/projects", json!({ "name": "Facts", "key": "facts" })),
        environment("production"),
        environment("guarded"),
        Step::Admin("55", "POST", "/api/projects/facts/segments", segment),
        toggle("plain", "boolean", boolean()),
        toggle("fresh", "boolean", boolean()),
        toggle("other", "string", json!([{ "value": "a" }, { "value": "b" }])),
        toggle("guarded", "boolean", boolean()),
    ]
}

fn reads_and_publishes() -> Vec<Step> {
    let adults = json!({
        "name": "adults", "serve": { "select": 1 },
        "conditions": [{ "type": "number", "subject": "age", "predicate": ">", "objects": ["18"] }],
    });
    let fourth = json!({
        "comment": "As gitoggle sends it: no prerequisites", "disabled": false,
        "content": { "rules": [adults] },
    });
    vec![
        Exchange("no-token", Anonymous),
        Exchange("token-unknown", Header("api-0000")),
        Exchange("token-bearer", Header("Bearer api-0000")),
        Exchange("token-other-scheme", Header("Token abc")),
        Exchange("jwt-only-endpoint", Client),
        Exchange("list-projects", Client),
        Exchange("list-environments", Client),
        Exchange("list-segments", Client),
        Exchange("list-toggles", Client),
        Exchange("approval-settings", Client),
        Exchange("get-toggle", Client),
        Exchange("get-targeting-new", Client),
        Exchange("patch-targeting", Client),
        Exchange("get-targeting", Client),
        Exchange("list-toggles-of-environment", Client),
        Exchange("patch-prerequisites", Client),
        Exchange("get-targeting-prerequisites", Client),
        Step::Client("56", "PATCH", PLAIN, fourth),
        Exchange("versions-from-1", Client),
        Exchange("versions-page", Client),
        Exchange("patch-base-version-right", Client),
        Exchange("patch-base-version-stale", Client),
        Step::Client("56", "PATCH", PLAIN, json!({ "disabled": true })),
        Exchange("patch-empty-object", Client),
        Exchange("patch-comment-only", Client),
    ]
}

fn refusals() -> Vec<Step> {
    vec![
        Exchange("patch-no-body", Client),
        Exchange("patch-malformed", Client),
        Exchange("patch-text-plain", Client),
        Exchange("patch-bad-number", Client),
        Exchange("patch-rule-without-conditions", Client),
        Exchange("patch-comment-1025", Client),
        Exchange("patch-comment-1024-emoji", Client),
        Exchange("patch-unknown-segment", Client),
        Exchange("patch-unknown-toggle", Client),
        Exchange("patch-unknown-environment", Client),
        Exchange("patch-unknown-project", Client),
        Exchange("patch-other-accept-language", Client),
        Exchange("patch-serve-out-of-range", Client),
        Exchange("method-post", Client),
        Exchange("method-put", Client),
        Exchange("method-delete", Client),
        Exchange("get-unknown-toggle", Client),
        Exchange("get-unknown-environment", Client),
        Exchange("get-unknown-project", Client),
    ]
}

fn archive_and_approval() -> Vec<Step> {
    let toggle = |verb| match verb {
        "offline" => "/api/projects/facts/toggles/fresh/offline",
        _ => "/api/projects/facts/toggles/fresh/restore",
    };
    let first = recorded("patch-targeting")["request"]["body"]["content"].clone();
    let enabled = json!({ "disabled": false, "content": first });
    let enabled_without_default = "/api/projects/facts/environments/production/toggles/other/targeting";
    let approval = json!({ "approvalSettings": [
        { "environmentKey": "guarded", "enable": true, "reviewers": ["Admin"] },
    ] });
    let mut steps = vec![
        Step::Client("57", "PATCH", PLAIN, json!({ "content": { "prerequisites": [] } })),
        Step::Client("57", "PATCH", PLAIN, enabled),
        Step::Client("57", "PATCH", enabled_without_default, json!({ "disabled": false })),
        Step::Client("57", "PATCH", toggle("offline"), json!({})),
        Exchange("archived-get-toggle", Client),
        Exchange("archived-get-targeting", Client),
        Exchange("archived-patch", Client),
        Step::Client("57", "PATCH", toggle("restore"), json!({})),
    ];
    // The environment's version was raised four times more than the exchanges show.
    steps.extend((0..4).map(|_| Step::Client("57", "PATCH", PLAIN, json!({}))));
    steps.extend([
        Exchange("sdk-toggles", Sdk),
        Exchange("sdk-toggles-unchanged", Sdk),
        Step::Client("57", "PATCH", "/api/projects/facts/approvalSettings", approval),
        Exchange("approval-get-before-draft", Client),
        Exchange("approval-draft", Admin),
        Exchange("approval-get-with-draft", Client),
        Exchange("approval-patch-with-draft", Client),
        Exchange("approval-get-after-patch", Client),
        Exchange("approval-diff", Client),
        Exchange("approval-versions", Client),
        Exchange("list-toggles-with-draft", Client),
    ]);
    steps
}

/// Returns all steps.
pub(super) fn steps() -> Vec<Step> {
    let parts = [beginning(), reads_and_publishes(), refusals(), archive_and_approval()];
    parts.into_iter().flatten().collect()
}
