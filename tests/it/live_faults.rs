//! Publishing to a service that can be read, when reads fail, toggles disappear, and processes are killed.

use serde_json::json;

use crate::live_publish::{by_hand, toggle, with_pay_changed};
use crate::support::{Daemon, Gitoggle, LiveService, Repo, World, doc, eventually, targeting};

/// The comments of the versions of `pay`, oldest first.
pub(crate) fn comments(service: &LiveService) -> Vec<String> {
    let versions = service.versions("pay").into_iter();
    versions.map(|(_, comment)| comment).collect()
}

#[test]
fn a_toggle_that_is_archived_between_the_read_and_the_publish_is_applied_once_and_held_from_then_on() {
    let service = with_pay_changed("Raise the age");
    let archive = json!({ "method": "PATCH", "path": "/api/projects/shop/toggles/pay/offline", "body": {} });
    service.script("PATCH", "/pay/targeting", &json!({ "before": archive }));
    service.apply().exit(0).stdout_contains(&["applied shop/prod/pay (update)"]).any_stderr();
    assert_eq!(comments(&service), ["", "Add pay", "Raise the age"]);
    service.commit("pay", doc(22), "Raise it again");
    service.apply().exit(4).stdout_contains(&["the toggle is archived on the service"]).any_stderr();
    assert_eq!(comments(&service).len(), 3);
}

#[test]
fn a_live_plan_decides_on_a_lost_request_as_the_next_pass_does() {
    for (act, shown, exit, done) in [
        (
            json!("lose_response"),
            "nothing to publish · 1 to record without a publish",
            0,
            "applied shop/prod/pay (update)",
        ),
        (
            json!({ "page": "<title>Down</title>" }),
            "changed on the service since it was last applied",
            4,
            "held shop/prod/pay",
        ),
    ] {
        let service = with_pay_changed("Raise the age");
        service.script("PATCH", "/pay/targeting", &act);
        // The pass ends at once, before it reads what became of its request.
        service.script("GET", "/pay/targeting/versions", &json!({ "page": "<title>Down</title>" }));
        service.apply().exit(1).any_output();
        // The service may have had no reason to answer it.
        service.request("GET", &format!("{}/versions/1", targeting("pay")), None);
        service.edit("pay", by_hand());
        let count = comments(&service).len();
        let plan = service.connected(service.world.plan()).unset("timeout");
        plan.arg("--live").exit(exit).stdout_contains(&[shown]);
        service.apply().exit(exit).stdout_contains(&[done]).any_stderr();
        assert_eq!(comments(&service).len(), count, "nothing is sent again");
    }
}

#[test]
fn a_toggle_that_is_archived_while_a_pass_runs_is_held_if_the_pass_has_not_read_it_yet() {
    let service = with_pay_changed("Raise the age");
    let archive = json!({ "method": "PATCH", "path": "/api/projects/shop/toggles/pay/offline", "body": {} });
    service.script("GET", "/shop/toggles/pay", &json!({ "before": archive }));
    let requests = service.requests(|| {
        service
            .apply()
            .exit(4)
            .stdout_contains(&["held shop/prod/pay", "the toggle is archived on the service"])
            .any_stderr();
    });
    assert_eq!(requests, ["GET toggles/pay", "GET pay/targeting"]);
    assert_eq!(comments(&service), ["", "Add pay"]);
}

#[test]
fn a_request_is_not_repeated_once_the_toggle_is_archived_or_needs_an_approval() {
    let archive = json!({ "method": "PATCH", "path": "/api/projects/shop/toggles/pay/offline", "body": {} });
    let settings =
        json!({ "approvalSettings": [{ "environmentKey": "prod", "enable": true, "reviewers": ["Admin"] }] });
    let approvals =
        json!({ "method": "PATCH", "path": "/api/projects/shop/approvalSettings", "body": settings });
    for (meanwhile, reason) in [
        (archive, "the toggle is archived on the service"),
        (approvals, "changes in this environment need an approval"),
    ] {
        let service = with_pay_changed("Raise the age");
        service.script("PATCH", "/pay/targeting", &json!("fail"));
        service.script("GET", "/versions/3", &json!({ "before": meanwhile }));
        let requests = service.requests(|| {
            service.apply().exit(4).stdout_contains(&["held shop/prod/pay (update)", reason]).any_stderr();
        });
        assert_eq!(
            requests[2..],
            [
                "PATCH pay/targeting on 2",
                "GET pay/targeting/versions/3",
                "GET toggles/pay",
                "GET pay/targeting"
            ]
        );
        assert_eq!(comments(&service), ["", "Add pay"]);
    }
}

#[test]
fn a_toggle_that_is_deleted_between_the_read_and_the_publish_fails_and_is_then_held_as_missing() {
    let service = with_pay_changed("Raise the age");
    let delete = json!({ "delete_after": { "project": "shop", "toggle": "pay" } });
    service.script("GET", "/pay/targeting", &delete);
    let requests = service.requests(|| {
        service.apply().exit(1).stdout_contains(&["failed shop/prod/pay (update)", "not found"]).any_stderr();
    });
    assert_eq!(requests, ["GET toggles/pay", "GET pay/targeting", "PATCH pay/targeting on 2"]);
    service.commit("pay", doc(22), "Raise it again");
    let requests = service.requests(|| {
        service.apply().exit(4).stdout_contains(&["the service has no such toggle"]).any_stderr();
    });
    assert_eq!(requests, ["GET toggles/pay", "GET environments"]);
}

#[test]
fn a_document_that_the_service_calls_invalid_is_refused_and_not_a_conflict() {
    let service = LiveService::start(&json!([toggle("pay"), toggle("other")]));
    let prerequisite = |key: &str| json!([{ "key": key, "type": "boolean", "value": "true" }]);
    service
        .edit("other", json!({ "comment": "by hand", "content": { "prerequisites": prerequisite("pay") } }));
    let document = doc(18).replace(
        "content:\n",
        "content:\n  prerequisites: [{ key: other, type: boolean, value: \"true\" }]\n",
    );
    service.commit("pay", document, "Need the other");
    let requests = service.requests(|| {
        service
            .apply()
            .set("first-pass", "assert")
            .exit(1)
            .stdout_contains(&["failed shop/prod/pay (create)", "the service responded with 400"])
            .any_stderr();
    });
    assert_eq!(
        requests,
        [
            "GET toggles/pay",
            "GET pay/targeting",
            // The type of the other one.
            "GET toggles/other",
            "PATCH pay/targeting on 1",
            "GET pay/targeting/versions/2",
        ]
    );
    assert_eq!(service.versions("pay").len(), 1);
}

#[test]
fn a_page_of_a_proxy_instead_of_a_toggle_sends_nothing() {
    for path in ["/shop/toggles/pay", "/pay/targeting"] {
        let service = with_pay_changed("Raise the age");
        for _ in 0..20 {
            service.script("GET", path, &json!({ "page": "<title>Sign in</title>" }));
        }
        let requests = service.requests(|| {
            service
                .apply()
                .exit(1)
                .stdout_contains(&[
                    "pending shop/prod/pay (update)",
                    "a body that is not JSON",
                    "check `--base-url`",
                ])
                .stderr_contains(&["the server that responds may not be the service"]);
        });
        let writes = requests.iter().filter(|request| !request.starts_with("GET "));
        assert_eq!(writes.count(), 0, "{requests:?}");
    }
}

/// Returns `apply` on a separate machine, with shared state.
pub(crate) fn job(service: &LiveService, machine: &str) -> Gitoggle {
    let world = &service.world;
    let apply = service.apply().set("state-dir", world.path(&format!("disk-{machine}")));
    apply.set("state-remote", world.path("remote.git")).set("state-name", "toggles").env("HOSTNAME", machine)
}

/// Kills a job whose request met `act` and got no response, and deletes its disk.
pub(crate) fn killed_after(act: &str) -> (LiveService, Repo) {
    let service = LiveService::start(&json!([toggle("pay")]));
    let world = &service.world;
    let remote = Repo::bare(&world.path("remote.git"));
    world.repo.commit_pay(18, "Add pay");
    job(&service, "first").set("first-pass", "assert").exit(0).any_output();
    world.repo.commit_pay(20, "Raise the age");
    service.script("PATCH", "/pay/targeting", &json!(act));
    let requests = service.requests(|| {
        // The process may not learn the outcome before it is killed.
        for _ in 0..50 {
            service.script("GET", "/versions/", &json!("fail"));
        }
        let run = job(&service, "lost").start();
        eventually("the request", || service.has_received("PATCH", "Raise the age").then_some(()));
        run.kill();
    });
    assert!(requests.contains(&"PATCH pay/targeting on 2".to_owned()), "{requests:?}");
    std::fs::remove_dir_all(world.path("disk-lost")).unwrap();
    for _ in 0..50 {
        service.request("GET", &format!("{}/versions/1", targeting("pay")), None);
    }
    (service, remote)
}

#[test]
fn a_request_that_a_killed_job_left_stored_creates_no_second_version() {
    let (service, remote) = killed_after("lose_response");
    crate::shared::age(&remote);
    job(&service, "next").exit(0).any_output();
    assert_eq!(comments(&service), ["", "Add pay", "Raise the age"]);
    let requests = service.requests(|| drop(job(&service, "last").exit(0).any_output()));
    assert!(requests.is_empty(), "{requests:?}");
}

#[test]
fn a_request_of_a_killed_job_that_is_executed_after_the_takeover_creates_no_second_version() {
    let (service, remote) = killed_after("hold");
    crate::shared::age(&remote);
    job(&service, "next").exit(0).any_output();
    service.release();
    assert_eq!(comments(&service), ["", "Add pay", "Raise the age"]);
}

#[test]
fn a_change_that_someone_else_made_after_the_kill_is_not_overwritten() {
    let (service, remote) = killed_after("lose_response");
    service.edit("pay", by_hand());
    crate::shared::age(&remote);
    service.commit("pay", doc(22), "Raise it again");
    job(&service, "next")
        .exit(4)
        .stdout_contains(&["held shop/prod/pay", "changed on the service", "version 4 by "])
        .any_stderr();
    assert_eq!(comments(&service), ["", "Add pay", "Raise the age", "by hand"]);
}

#[test]
fn without_reads_overwriting_drift_cannot_be_allowed() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    let revision = world.repo.head();
    let order = json!({ "environment": "shop/prod", "what": "overwrite-drift", "revision": revision });
    let (status, answer) = daemon.ask("/allow", &order.to_string());
    assert_eq!(status, 422, "{answer}");
    assert!(answer.to_string().contains("service_kind: documented"), "{answer}");
    world.nothing_sent();
}

/// Applies `doc(18)`, then `doc(20)` with a request that meets `act` each time, as to a service that cannot
/// be read.
fn unknown_from_documented(act: &str) -> LiveService {
    let service = LiveService::start(&json!([toggle("pay")]));
    let repo = &service.world.repo;
    let apply = || service.apply().set("service-kind", "documented");
    repo.commit_pay(18, "Add pay");
    apply().set("first-pass", "assert").exit(0).any_output();
    repo.commit_pay(20, "Raise the age");
    for _ in 0..4 {
        service.script("PATCH", "/pay/targeting", &json!(act));
    }
    apply().exit(1).any_output();
    service
}

#[test]
fn a_service_that_can_be_read_from_now_on_shows_what_became_of_an_unknown_request() {
    let stored = unknown_from_documented("lose_response");
    let versions = stored.versions("pay").len();
    let requests = stored.requests(|| {
        stored.apply().exit(0).stdout_contains(&["converged shop/prod/pay (update)"]).any_stderr();
    });
    assert_eq!(requests, ["GET toggles/pay", "GET pay/targeting"]);
    assert_eq!(stored.versions("pay").len(), versions);
    let lost = unknown_from_documented("fail");
    let requests = lost.requests(|| drop(lost.apply().exit(0).any_output()));
    assert_eq!(requests.last().map(String::as_str), Some("PATCH pay/targeting on 2"), "{requests:?}");
    assert_eq!(comments(&lost), ["", "Add pay", "Raise the age"]);
}

#[test]
fn a_change_of_someone_else_after_an_unknown_request_is_held_even_if_the_service_could_not_be_read_then() {
    for act in ["lose_response", "fail"] {
        let service = unknown_from_documented(act);
        service.edit("pay", by_hand());
        let before = comments(&service);
        service.apply().exit_in(&[0, 4]).any_output();
        assert_eq!(comments(&service), before, "{act}");
        let repo = &service.world.repo;
        repo.commit_pay(22, "Raise it again");
        service
            .apply()
            .exit(4)
            .stdout_contains(&["held shop/prod/pay", "changed on the service"])
            .any_stderr();
        assert_eq!(comments(&service), before, "{act}");
    }
}

#[test]
fn a_newer_commit_ends_the_retries_of_the_read_before_an_older_one() {
    let service = with_pay_changed("Older");
    // As often as it takes to find the newer commit: the four tries of two passes, and some of a third one.
    for _ in 0..10 {
        service.script("GET", "/pay/targeting", &json!("fail"));
    }
    let daemon = Daemon::start(&service.world, |run| service.connected(run).set("poll-interval", "200ms"));
    eventually("a read that failed", || {
        daemon.metric("gitoggle_publishes_total{outcome=\"busy\"}").filter(|count| *count >= 1.0)
    });
    service.commit("pay", doc(22), "Newer");
    daemon.becomes("shop/prod/pay", "in_sync");
    assert_eq!(comments(&service), ["", "Add pay", "Newer"]);
    daemon.stops_cleanly();
}
