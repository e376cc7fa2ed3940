//! Publishing to a service that can be read: compare-and-set, lost responses, races, and what someone else
//! changed.

use serde_json::{Value, json};

use crate::support::{LiveService, doc, targeting};

/// A toggle of the sandbox that was never configured.
pub(crate) fn toggle(key: &str) -> Value {
    json!({
        "key": key,
        "returnType": "boolean",
        "variations": [
            { "name": "off", "value": "false", "description": "" },
            { "name": "on", "value": "true", "description": "New payment page" },
        ],
    })
}

/// A change that someone makes on the service.
pub(crate) fn by_hand() -> Value {
    json!({ "comment": "by hand", "disabled": true })
}

/// Starts a service in which `pay` is applied with `doc(18)`, and commits `doc(20)`.
pub(crate) fn with_pay_changed(message: &str) -> LiveService {
    let service = with_pay_applied();
    service.commit("pay", doc(20), message);
    service
}

fn with_pay_applied() -> LiveService {
    let service = LiveService::start(&json!([toggle("pay")]));
    service.commit("pay", doc(18), "Add pay");
    service.apply().set("first-pass", "assert").exit(0).any_output();
    service
}

/// Commits a document, and makes the same change on the service.
fn edit_as_committed(service: &LiveService, key: &str) {
    let found = service.request("GET", &targeting(key), None);
    let mut content = found["content"].clone();
    content["rules"][0]["conditions"][0]["objects"] = json!(["20"]);
    service.edit(key, json!({ "comment": "by hand", "disabled": false, "content": content }));
    service.commit(key, doc(20), "Raise the age");
}

#[test]
fn an_apply_that_only_records_says_so_in_each_form() {
    let line = "recorded without publishing: 1 toggle";
    let run = |output: &str| {
        let service = with_pay_applied();
        edit_as_committed(&service, "pay");
        service.apply().set("output", output).exit(0)
    };
    run("human").any_stderr().stdout_contains(&[line]);
    run("github").any_stdout().stderr_contains(&[&format!("note: {line}\n")]);
    let json = run("json").any_stderr().json();
    let summary = ["text", "changes", "records"].map(|name| json["summary"][name].clone());
    assert_eq!(summary, [json!(format!("{line} (shop/prod/pay)")), json!(0), json!(1)]);
}

const UPDATE: [&str; 3] = ["GET toggles/pay", "GET pay/targeting", "PATCH pay/targeting on 2"];

#[test]
fn a_publish_reads_the_toggle_and_its_targeting_and_has_the_base_version() {
    let service = with_pay_changed("Raise the age");
    let requests = service.requests(|| {
        service
            .apply()
            .exit(0)
            .stdout_contains(&["applied shop/prod/pay (update)", "applied 1 of 1 change\n"])
            .any_stderr();
    });
    assert_eq!(requests, UPDATE);
    let requests = service.requests(|| drop(service.apply().exit(0).any_output()));
    assert!(requests.is_empty(), "{requests:?}");
}

#[test]
fn a_publish_of_several_toggles_costs_one_read_for_each_and_one_list() {
    let keys = ["pay", "ship", "tax"];
    let service = LiveService::start(&json!(keys.map(toggle)));
    let commit = |age| {
        let repo = &service.world.repo;
        for key in keys {
            repo.file(&format!("shop/prod/{key}.yaml"), doc(age));
        }
        repo.commit(&format!("Set the age to {age}"));
    };
    for (age, version) in [(18, 1), (20, 2)] {
        commit(age);
        let mut requests =
            service.requests(|| drop(service.apply().set("first-pass", "assert").exit(0).any_output()));
        requests.sort();
        let each = |text: &dyn Fn(&str) -> String| keys.map(text);
        let mut expected = vec!["GET toggles".to_owned()];
        expected.extend(each(&|key| format!("GET {key}/targeting")));
        expected.extend(each(&|key| format!("PATCH {key}/targeting on {version}")));
        expected.sort();
        assert_eq!(requests, expected);
    }
}

#[test]
fn with_on_drift_ignore_nothing_is_read() {
    let service = with_pay_changed("Raise the age");
    service.edit("pay", by_hand());
    let requests = service.requests(|| drop(service.apply().set("on-drift", "ignore").exit(0).any_output()));
    assert_eq!(requests, ["PATCH pay/targeting"]);
}

#[test]
fn what_the_service_has_already_is_recorded_without_a_new_version() {
    let service = with_pay_applied();
    let versions = service.versions("pay");
    edit_as_committed(&service, "pay");
    let requests = service.requests(|| {
        service
            .apply()
            .exit(0)
            .stdout_contains(&["converged shop/prod/pay (update)", "recorded without publishing: 1 toggle"])
            .any_stderr();
    });
    assert_eq!(requests, UPDATE[..2]);
    assert_eq!(service.versions("pay").len(), versions.len() + 1);
    let requests = service.requests(|| drop(service.apply().exit(0).any_output()));
    assert!(requests.is_empty(), "{requests:?}");
}

#[test]
fn what_protects_against_sending_holds_no_record() {
    let keys = ["pay", "tax"];
    for (kind, state) in
        [("rail", "held"), ("window", "held"), ("not_reviewed", "held"), ("suspended", "pending")]
    {
        let apply = |service: &LiveService| {
            let (run, world) = (service.apply(), &service.world);
            match kind {
                "rail" => run.set("max-change-count", "1"),
                "window" => {
                    let freeze = r#"{ deny: "**", at: "2020-01-01 - 2099-12-31", zone: UTC }"#;
                    run.set("config", world.write("config.yaml", &format!("windows:\n  - {freeze}\n")))
                }
                "not_reviewed" => {
                    let empty = r#"{"version": 1, "changes": [], "held": []}"#;
                    run.set("reviewed", world.write("old.json", empty))
                }
                _ => {
                    world.suspend(None);
                    run
                }
            }
        };
        let start = || {
            let service = LiveService::start(&json!(keys.map(toggle)));
            keys.iter().for_each(|key| service.commit(key, doc(18), "Add one"));
            service.apply().set("first-pass", "assert").exit(0).any_output();
            service
        };
        let reads = |service: &LiveService, code, result: &str, hold: Option<&str>| {
            let requests = service.requests(|| {
                let json = apply(service).set("output", "json").exit(code).json();
                assert_eq!(
                    json["totals"][result],
                    json!(["shop/prod/pay", "shop/prod/tax"]),
                    "{kind}: {json}"
                );
                assert_eq!(json["results"][0]["kind"].as_str(), hold, "{json}");
            });
            assert!(requests.iter().all(|request| request.starts_with("GET ")), "{kind}: {requests:?}");
        };
        let service = start();
        keys.iter().for_each(|key| edit_as_committed(&service, key));
        reads(&service, 0, "converged", None);
        // What the service does not have is held.
        let service = start();
        keys.iter().for_each(|key| service.commit(key, doc(20), "Raise the age"));
        reads(&service, 4, state, Some(kind));
    }
}

#[test]
fn a_lost_response_is_resolved_by_reading_and_creates_no_second_version() {
    let service = with_pay_changed("Raise the age");
    service.script("PATCH", "/pay/", &json!("lose_response"));
    let requests = service.requests(|| {
        service.apply().exit(0).stdout_contains(&["applied 1 of 1 change\n"]).any_stderr();
    });
    assert_eq!(
        requests,
        ["GET toggles/pay", "GET pay/targeting", "PATCH pay/targeting on 2", "GET pay/targeting/versions/3"]
    );
    let comments: Vec<_> = service.versions("pay").into_iter().map(|(_, comment)| comment).collect();
    assert_eq!(comments, ["", "Add pay", "Raise the age"]);
}

#[test]
fn a_request_that_is_carried_out_late_creates_no_second_version() {
    let service = with_pay_changed("Raise the age");
    service.script("PATCH", "/pay/", &json!("hold"));
    let requests = service.requests(|| {
        service.apply().exit(0).stdout_contains(&["applied 1 of 1 change\n"]).any_stderr();
    });
    assert_eq!(
        requests,
        [
            "GET toggles/pay",
            "GET pay/targeting",
            "PATCH pay/targeting on 2",
            "GET pay/targeting/versions/3",
            "GET toggles/pay",
            "GET pay/targeting",
            "PATCH pay/targeting on 2",
        ]
    );
    service.release();
    assert_eq!(service.versions("pay").len(), 3, "{:?}", service.versions("pay"));
}

#[test]
fn a_500_after_a_race_is_resolved_by_reading() {
    let service = with_pay_changed("Raise the age");
    service.script("PATCH", "/pay/", &json!("fail"));
    let requests = service.requests(|| drop(service.apply().exit(0).any_output()));
    assert_eq!(
        requests[2..],
        [
            "PATCH pay/targeting on 2",
            "GET pay/targeting/versions/3",
            "GET toggles/pay",
            "GET pay/targeting",
            "PATCH pay/targeting on 2"
        ]
    );
    assert_eq!(service.versions("pay").len(), 3);
}

#[test]
fn the_loser_of_a_race_holds_and_shows_the_change_of_the_winner() {
    let service = with_pay_changed("Raise the age");
    let edit = json!({ "method": "PATCH", "path": targeting("pay"), "body": by_hand() });
    service.script("PATCH", "/pay/", &json!({ "before": edit }));
    let requests = service.requests(|| {
        service
            .apply()
            .exit(4)
            .stdout_contains(&["held shop/prod/pay (update)", "changed on the service", "version 3 by Admin"])
            .any_stderr();
    });
    // The last one is about who made that change.
    let last: Vec<&str> = requests.iter().rev().take(2).map(String::as_str).collect();
    assert_eq!(last, ["GET pay/targeting/versions/3", "GET pay/targeting"], "{requests:?}");
    let versions = service.versions("pay");
    assert_eq!(versions.last(), Some(&(3, "by hand".to_owned())));
}

#[test]
fn an_invalid_document_is_refused_with_the_message_of_the_service() {
    let service = with_pay_applied();
    let document = doc(18).replace(
        "type: number, subject: age, predicate: \">\", objects: [\"18\"]",
        "type: segment, predicate: is in, objects: [\"nobody\"]",
    );
    service.commit("pay", document, "Use a segment");
    service
        .apply()
        .exit(1)
        .stdout_contains(&["failed shop/prod/pay (update)", "Segment nobody not found"])
        .any_stderr();
}

#[test]
fn a_pass_whose_request_stays_unknown_leaves_it_to_the_next_one_which_finds_it_by_reading() {
    let service = with_pay_changed("Raise the age");
    service.script("PATCH", "/pay/", &json!("lose_response"));
    service.script("GET", "/versions/", &json!({ "page": "a proxy" }));
    service.apply().exit(1).any_output();
    service
        .connected(service.world.plan())
        .arg("--live")
        .exit(0)
        .stdout_contains(&["\nnothing to publish · 1 to record without a publish (shop/prod/pay)\n"])
        .any_stderr();
    let requests = service.requests(|| {
        service.apply().exit(0).stdout_contains(&["converged shop/prod/pay (update)"]).any_stderr();
    });
    assert_eq!(requests, UPDATE[..2]);
    assert_eq!(service.versions("pay").len(), 3);
}

#[test]
fn a_token_without_access_sends_nothing() {
    let service = with_pay_changed("Raise the age");
    let requests = service.requests(|| {
        service
            .apply()
            .env("GITOGGLE_TOKEN", "api-0000000000000000000000000000000000000000")
            .exit(1)
            .stdout_contains(&["pending shop/prod/pay (update)"])
            .any_stderr();
    });
    assert!(requests.iter().all(|request| request.starts_with("GET ")), "{requests:?}");
    assert_eq!(service.versions("pay").len(), 2);
}
