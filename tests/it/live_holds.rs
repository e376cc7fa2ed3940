//! Changes that are held because of what the service has: drift, drafts, approvals, archived toggles, types.

use serde_json::json;

use crate::live_publish::{by_hand, toggle, with_pay_changed};
use crate::support::{Daemon, Gitoggle, LiveService, World, doc, eventually, targeting};

/// Applies, and returns the requests. The change of `pay` must be held for a reason with these words.
fn held(service: &LiveService, words: &[&str]) -> Vec<String> {
    service.requests(|| {
        let said = [&["held shop/prod/pay", "1 held"], words].concat();
        service.apply().exit(4).stdout_contains(&said).any_stderr();
    })
}

#[test]
fn a_change_to_a_drifted_toggle_is_held_until_it_is_allowed() {
    let service = with_pay_changed("Raise the age");
    service.edit("pay", by_hand());
    let requests = held(
        &service,
        &["changed on the service", "version 3 by ", "--overwrite-drift --only shop/prod/pay`"],
    );
    assert_eq!(requests, ["GET toggles/pay", "GET pay/targeting", "GET pay/targeting/versions/3"]);
    service.apply().arg("--exit-zero-when-held").exit(0).any_output();
    let json = service.apply().set("output", "json").exit(4).json();
    assert_eq!(json["results"][0]["result"], "held", "{json}");
    assert_eq!(json["results"][0]["kind"], "drifted", "{json}");
    service.apply().arg("--overwrite-drift").exit(0).any_output();
    assert_eq!(service.versions("pay").last(), Some(&(4, "Raise the age".to_owned())));
}

#[test]
fn every_place_names_every_change_since_a_toggle_was_applied() {
    for count in 1..=3 {
        let service = with_pay_changed("Raise the age");
        let comments: Vec<String> = (1..=count).map(|number| format!("INCIDENT {number}")).collect();
        for comment in &comments {
            service.edit("pay", json!({ "comment": comment, "disabled": true }));
        }
        let all: Vec<&str> = comments.iter().map(String::as_str).collect();
        // The pass comes first, because nothing has read the versions before it.
        let place = |verb: &str| service.connected(service.world.connected(verb)).unset("timeout");
        let text = [("apply", 4), ("status", 4), ("plan --live", 4), ("drift", 0)];
        for (verb, code) in text {
            place(verb).exit(code).stdout_contains(&all).any_output();
        }
        for (verb, code) in text {
            let json = place(verb).set("output", "json").exit(code).json().to_string();
            assert!(all.iter().all(|comment| json.contains(comment)), "{verb}: {json}");
        }
        let daemon = Daemon::start(&service.world, |run| service.connected(run));
        daemon.says(&all);
        eventually("/readyz", || {
            let ready = daemon.endpoint.get("/readyz")?.body;
            all.iter().all(|comment| ready.contains(comment)).then_some(())
        });
    }
}

#[test]
fn every_change_counts_however_many_there_are() {
    let service = with_pay_changed("Raise the age");
    let edit = |number: u32| {
        service.edit(
            "pay",
            json!({ "comment": format!("INCIDENT {number}"), "disabled": number.is_multiple_of(2) }),
        );
    };
    let drift = |line: &str| {
        let place = service.connected(service.world.connected("drift")).unset("timeout");
        place.exit(0).stdout_contains(&[&format!("~ drifted shop/prod/pay  {line}")]).any_output();
    };
    (0..61).for_each(edit);
    drift("61 changes, the last version 63 by ");
    // What was applied returns, and is changed again. Each run of the command is a process.
    (61..63).for_each(edit);
    drift("63 changes, the last version 65 by ");
    // Without the notes of earlier scans, only what came after the last equal version is certain.
    std::fs::remove_file(service.world.state().join("live.json")).unwrap();
    drift("version 65 by ");
}

#[test]
fn a_hold_after_an_unknown_outcome_names_every_change_since_then() {
    let service = with_pay_changed("Raise the age");
    service.script("PATCH", "/pay/", &json!("hold"));
    let run = service.apply().start();
    eventually("the request", || service.has_received("PATCH", "Raise the age").then_some(()));
    run.kill();
    for comment in ["INCIDENT 1", "INCIDENT 2"] {
        service.edit("pay", json!({ "comment": comment, "disabled": true }));
    }
    held(&service, &["INCIDENT 1", "INCIDENT 2"]);
}

#[test]
fn the_status_shows_why_the_last_pass_held_a_change_until_another_one_is_due() {
    let service = with_pay_changed("Raise the age");
    service.edit("pay", by_hand());
    let status = || service.connected(service.world.status()).unset("timeout");
    status().exit(0).stdout_contains(&["pending  shop/prod/pay", "1 pending"]);
    service.apply().exit(4).any_output();
    let requests = service.requests(|| {
        status().exit(4).stdout_contains(&[
            "drifted  shop/prod/pay",
            "changed on the service",
            "version 3 by ",
        ]);
        let json = status().set("output", "json").exit(4).json();
        assert_eq!(json["toggles"][0]["kind"], "drifted", "{json}");
    });
    assert!(requests.is_empty(), "{requests:?}");
    let commit = |age| {
        let repo = &service.world.repo;
        repo.commit_pay(age, "Raise it again");
    };
    commit(22);
    status().exit(0).stdout_contains(&["pending  shop/prod/pay"]);
    service.apply().exit(4).any_output();
    service.apply().arg("--overwrite-drift").exit(0).any_output();
    status().exit(0).stdout_contains(&["1 in sync (the service was not read; `--live` reads it)"]);
    commit(24);
    status().exit(0).stdout_contains(&["pending  shop/prod/pay"]);
}

#[test]
fn a_trailer_allows_to_overwrite_drift() {
    let service = with_pay_changed("Raise the age\n\nGitoggle-Allow: overwrite-drift\n");
    service.edit("pay", by_hand());
    service.apply().arg("--no-allow-trailer").exit(4).any_output();
    service.apply().exit(0).any_output();
    assert_eq!(service.versions("pay").len(), 4);
}

#[test]
fn a_daemon_holds_a_drifted_toggle_and_an_operator_allows_to_overwrite_it() {
    let service = with_pay_changed("Raise the age");
    service.edit("pay", by_hand());
    let daemon = Daemon::start(&service.world, |run| service.connected(run).set("poll-interval", "200ms"));
    daemon.becomes("shop/prod/pay", "drifted");
    let scans = "gitoggle_drift_scans_total{result=\"success\"}";
    eventually("the first scan", || daemon.metric(scans).filter(|count| *count > 0.0));
    let more_passes = || {
        let passes = daemon.passes();
        eventually("more passes", || (daemon.passes() > passes + 2.0).then_some(()));
    };
    // The pass after a scan may read, too.
    more_passes();
    let requests = service.requests(more_passes);
    assert!(requests.is_empty(), "a held toggle is read again: {requests:?}");
    let revision = service.world.repo.head();
    let order = json!({ "environment": "shop/prod", "what": "overwrite-drift", "revision": revision });
    assert_eq!(daemon.order("/allow", &order.to_string()), 200);
    daemon.becomes("shop/prod/pay", "in_sync");
    assert_eq!(service.versions("pay").len(), 4);
}

#[test]
fn an_archived_toggle_is_held() {
    let service = with_pay_changed("Raise the age");
    service.request("PATCH", "/api/projects/shop/toggles/pay/offline", Some(json!({})));
    held(&service, &["the toggle is archived on the service"]);
    assert_eq!(service.versions("pay").len(), 2);
}

#[test]
fn an_archived_toggle_is_named_whatever_else_holds_it() {
    let service = LiveService::start(&json!([toggle("pay"), toggle("other")]));
    service.world.repo.file("shop/prod/other.yaml", doc(18)).commit_pay(18, "Add both");
    service.request("PATCH", "/api/projects/shop/toggles/pay/offline", Some(json!({})));
    let why = "the toggle is archived on the service: restore it there, or remove its file";
    let connected = |run: Gitoggle| service.connected(run).arg("--live");
    for (name, command) in [("plan", service.world.plan()), ("status", service.world.status())] {
        for form in ["human", "json", "markdown", "github"] {
            for decision in ["", "--first-pass adopt", "--first-pass assert"] {
                let run = connected(command.clone()).args(decision).set("output", form);
                let summary = service.world.write("summary.md", "");
                let printed = run.env("GITHUB_STEP_SUMMARY", &summary).exit_in(&[0, 4]).both();
                let printed = printed + &std::fs::read_to_string(&summary).unwrap();
                assert!(printed.contains(why), "{name} -o {form} {decision}: {printed}");
            }
        }
    }
    for decision in ["adopt", "assert"] {
        service.apply().set("first-pass", decision).exit(4).stdout_contains(&[why]).any_stderr();
    }
}

#[test]
fn an_environment_with_approvals_is_held_unless_they_are_bypassed() {
    let environment = json!({ "key": "prod", "enableApproval": true, "reviewers": ["Admin"] });
    let service = LiveService::with(&environment, &json!([toggle("pay")]));
    service.commit("pay", doc(18), "Add pay");
    let apply = || service.apply().set("first-pass", "assert");
    apply().exit(4).stdout_contains(&["changes in this environment need an approval"]).any_stderr();
    let draft = json!({ "comment": "draft", "disabled": true, "content": { "rules": [], "disabledServe": { "select": 0 }, "defaultServe": { "select": 0 }, "variations": toggle("pay")["variations"] } });
    service.request("POST", &format!("{}/approval", targeting("pay")), Some(draft));
    apply().exit(4).stdout_contains(&["a draft by ", "awaits approval on the service"]).any_stderr();
    assert_eq!(service.versions("pay").len(), 1);
    apply().set("on-approval", "bypass").exit(0).any_output();
    assert_eq!(service.versions("pay").len(), 2);
}

#[test]
fn a_value_of_another_type_is_held_before_it_is_sent() {
    let service = with_pay_changed("Raise the age");
    let document = doc(18).replace("value: \"true\"", "value: \"maybe\"");
    service.commit("pay", document, "Say maybe");
    held(
        &service,
        &[
            "the value of the variation `on` is neither `true` nor `false`",
            "correct the document, or use a toggle of another type",
        ],
    );
}

#[test]
fn adopt_records_what_is_equal_and_holds_what_differs() {
    let service = LiveService::start(&json!([toggle("pay"), toggle("other")]));
    service.world.repo.file("shop/prod/other.yaml", doc(18)).commit_pay(18, "Add both");
    let content = crate::support::content(18);
    service.edit("other", json!({ "comment": "by hand", "disabled": false, "content": content }));
    let plan = || service.connected(service.world.plan()).unset("timeout").set("first-pass", "adopt");
    plan()
        .exit(0)
        .never_says(&["uncommitted"])
        .stdout_contains(&["  = adopt shop/prod/other\n", "  = adopt shop/prod/pay\n"]);
    plan().set("output", "markdown").exit(0).never_says(&["uncommitted"]).any_output();
    let json = plan().set("output", "json").exit(0).json();
    assert_eq!(json["changes"][0]["attribution"], json!(null), "{json}");
    crate::outputs::assert_valid(&service.world, "plan", &json);
    let requests = service.requests(|| {
        service
            .apply()
            .set("first-pass", "adopt")
            .exit(4)
            .stdout_contains(&[
                "converged shop/prod/other (adopt)",
                "held shop/prod/pay (adopt)",
                "not adopted, because the service has other targeting",
            ])
            .any_stderr();
    });
    assert!(requests.iter().all(|request| request.starts_with("GET ")), "{requests:?}");
}

#[test]
fn adopt_without_a_comparison_names_the_setting_that_compares() {
    let service = LiveService::start(&json!([toggle("pay")]));
    service.world.repo.commit_pay(18, "Add pay");
    service
        .apply()
        .set("first-pass", "adopt")
        .set("on-drift", "ignore")
        .exit(0)
        .stdout_contains(&[
            "the adopted documents were not compared with the service (`--on-drift hold` does that)\n",
        ])
        .never_says(&["--service-kind"])
        .any_stderr();
}

#[test]
fn settings_about_live_state_need_a_service_that_can_be_read() {
    let service = with_pay_changed("Raise the age");
    for (name, value) in [("on-drift", "overwrite"), ("on-approval", "bypass"), ("on-missing", "create")] {
        let flag = format!("--{name}");
        let needed = [flag.as_str(), "needs `--service-kind featureprobe`"];
        service.world.plan().set(name, value).exit(64).stderr_contains(&needed);
        service.connected(service.world.plan()).unset("timeout").set(name, value).exit(0).any_output();
    }
    let needed = ["--overwrite-drift", "needs `--service-kind featureprobe`"];
    service.world.plan().arg("--overwrite-drift").exit(64).stderr_contains(&needed);
    let interval = |value| service.world.plan().env("GITOGGLE_DRIFT_INTERVAL", value);
    let needed = ["GITOGGLE_DRIFT_INTERVAL", "needs `--service-kind featureprobe`"];
    interval("5m").exit(64).stderr_contains(&needed);
    // The default may be given explicitly, and so may a scan that is off.
    let documented = World::with_pay_applied();
    documented.plan().set("on-drift", "hold").exit(0).any_output();
    for value in ["10m", "0s"] {
        let interval = documented.plan().env("GITOGGLE_DRIFT_INTERVAL", value);
        interval.exit(0).any_output();
    }
}

#[test]
fn a_toggle_without_a_targeting_in_its_environment_is_held() {
    let service = LiveService::start(&json!([toggle("other")]));
    let environment = "/api/projects/shop/environments/prod";
    service.request("PATCH", &format!("{environment}/offline"), Some(json!({})));
    let created = json!({
        "name": "pay", "key": "pay", "returnType": "boolean", "clientAvailability": false, "disabledServe": 0,
        "tags": [], "variations": toggle("pay")["variations"],
    });
    service.request("POST", "/api/projects/shop/toggles", Some(created));
    service.request("PATCH", &format!("{environment}/restore"), Some(json!({})));
    service.commit("pay", doc(18), "Add pay");
    let requests = service.requests(|| {
        service
            .apply()
            .set("first-pass", "assert")
            .exit(4)
            .stdout_contains(&["held shop/prod/pay", "has no targeting in this environment"])
            .any_stderr();
    });
    assert!(requests.iter().all(|request| request.starts_with("GET ")), "{requests:?}");
}

#[test]
fn a_run_with_another_scope_leaves_what_is_known_of_the_rest() {
    let service = with_pay_changed("Raise the age");
    service.edit("pay", by_hand());
    service.apply().exit(4).any_output();
    let status = || {
        let ran = service.connected(service.world.status()).unset("timeout").exit(4);
        ran.stdout_contains(&["changed on the service since it was last applied"]);
    };
    status();
    service.world.repo.file("shop/test/other.yaml", doc(18)).commit("Add other");
    let other = service.apply().set("only", "shop/test/*").set("first-pass", "assert");
    other.set("on-missing", "create").exit_in(&[0, 1]).any_output();
    status();
}

#[test]
fn a_suspended_change_is_pending_whether_the_service_can_be_read_or_not() {
    let service = with_pay_changed("Raise the age");
    service.world.suspend(None);
    let live = service.apply().set("output", "json").exit(4).json();
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Raise the age");
    world.suspend(None);
    let documented = world.apply().set("output", "json").exit(4).json();
    for json in [live, documented] {
        assert_eq!(json["totals"]["pending"], json!(["shop/prod/pay"]), "{json}");
        assert_eq!(json["totals"]["held"], json!([]), "{json}");
    }
}
