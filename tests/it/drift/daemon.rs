//! The daemon's scans.

use std::time::Duration;

use serde_json::{Value, json};

use super::stand::{Stand, TOGGLES, targeting};
use crate::support::certificate::Authority;
use crate::support::{Daemon, Gitoggle, Repo, TOKEN, doc, eventually};

fn daemon(stand: &Stand, change: impl FnOnce(Gitoggle) -> Gitoggle) -> Daemon {
    Daemon::ready(&stand.world, |run| change(stand.served(run)))
}

fn scanning(stand: &Stand, interval: &str) -> Daemon {
    daemon(stand, |run| run.set("drift-interval", interval))
}

fn scans(daemon: &Daemon, result: &str) -> f64 {
    let name = format!("gitoggle_drift_scans_total{{result=\"{result}\"}}");
    daemon.metric(&name).unwrap()
}

#[test]
fn a_change_on_the_service_is_reported_everywhere_and_so_is_its_end() {
    let stand = Stand::applied();
    let daemon = scanning(&stand, "1h");
    eventually("the first scan", || (scans(&daemon, "success") >= 1.0).then_some(()));
    stand.reads();
    stand.changes("pay", 21, "hotfix");
    assert_eq!(daemon.order("/reconcile", ""), 202);
    daemon.becomes("shop/prod/pay", "drifted");
    let ready = daemon.endpoint.get("/readyz").unwrap();
    let mut lines = ready.body.lines();
    assert_eq!((ready.status, lines.next()), (200, Some("ready; 1 drifted in shop/prod")));
    let explained = lines.next().unwrap();
    for part in [
        "drifted: shop/prod/pay: changed on the service: version 3 by Admin",
        "`gitoggle import shop/prod/pay --overwrite --repo ",
        "`gitoggle allow overwrite-drift shop/prod/pay --url http://127.0.0.1:",
    ] {
        assert!(explained.contains(part), "{explained}");
    }
    assert_eq!(daemon.metric("gitoggle_toggles{state=\"drifted\"}"), Some(1.0));
    assert_eq!(daemon.metric("gitoggle_withheld{reason=\"drifted\"}"), Some(1.0));
    daemon.says(&["\"drifted\"", "shop/prod/pay", "Admin", "hotfix"]);
    stand.reads();
    // Nothing has changed: one request, one more with the token, and nothing is logged again.
    let before = scans(&daemon, "success");
    assert_eq!(daemon.order("/reconcile", ""), 202);
    eventually("a scan", || (scans(&daemon, "success") > before).then_some(()));
    let reads = stand.reads();
    assert!(reads[0].starts_with("/internal/server/toggles?version="), "{reads:#?}");
    assert_eq!(reads[1..], ["/api/projects/shop/environments"]);
    assert_eq!(daemon.said("\"event\":\"drifted\""), 1, "{}", daemon.log());
    stand.changes("pay", 18, "revert");
    assert_eq!(daemon.order("/reconcile", ""), 202);
    daemon.becomes("shop/prod/pay", "in_sync");
    daemon.says(&["drift_ended", "shop/prod/pay"]);
    daemon.stops_cleanly();
}

#[test]
fn a_toggle_that_is_archived_is_logged_as_such_and_not_as_drifted() {
    let stand = Stand::applied();
    let daemon = scanning(&stand, "1h");
    eventually("the first scan", || (scans(&daemon, "success") >= 1.0).then_some(()));
    let switch = |to: &str| {
        stand.before("/", "PATCH", &format!("/api/projects/shop/toggles/pay/{to}"), Value::Null);
        assert_eq!(daemon.order("/reconcile", ""), 202);
    };
    switch("offline");
    daemon.becomes("shop/prod/pay", "held");
    daemon.says(&["\"event\":\"archived\"", "shop/prod/pay", "the toggle is archived on the service"]);
    switch("restore");
    daemon.becomes("shop/prod/pay", "in_sync");
    daemon.says(&["\"event\":\"archive_ended\""]);
    assert_eq!(daemon.said("drift"), 0, "{}", daemon.log());
    daemon.stops_cleanly();
}

#[test]
fn an_archived_toggle_whose_document_was_removed_is_not_logged_as_archived() {
    let stand = Stand::applied();
    stand.before("/", "PATCH", "/api/projects/shop/toggles/pay/offline", Value::Null);
    let daemon = scanning(&stand, "1h");
    daemon.becomes("shop/prod/pay", "held");
    stand.world.repo.remove("shop/prod/pay.yaml").commit("Remove pay");
    assert_eq!(daemon.order("/reconcile", ""), 202);
    daemon.becomes("shop/prod/pay", "orphan");
    assert_eq!(daemon.said("archive_ended"), 0, "{}", daemon.log());
    daemon.stops_cleanly();
    let daemon = scanning(&stand, "1h");
    eventually("a scan", || (scans(&daemon, "success") >= 1.0).then_some(()));
    assert_eq!(daemon.said("\"event\":\"archived\""), 0, "{}", daemon.log());
    daemon.stops_cleanly();
}

#[test]
fn an_outage_of_the_service_does_not_end_a_known_drift() {
    let stand = Stand::applied();
    stand.changes("pay", 21, "hotfix");
    let daemon = scanning(&stand, "1h");
    daemon.becomes("shop/prod/pay", "drifted");
    for _ in 0..40 {
        stand.script(json!({
            "on": { "method": "GET", "path": "/" },
            "do": { "page": "<title>Down</title>" },
        }));
    }
    assert_eq!(daemon.order("/reconcile", ""), 202);
    daemon.says(&["drift_scan_failed", "3 toggles could not be compared"]);
    daemon.becomes("shop/prod/pay", "drifted");
    let ready = daemon.endpoint.get("/readyz").unwrap();
    assert_eq!(ready.status, 200, "{}", ready.body);
    assert!(ready.body.contains("could not be compared with the service"), "{}", ready.body);
    assert!(scans(&daemon, "partial") >= 1.0);
    daemon.stops_cleanly();
}

#[test]
fn a_scan_while_another_machine_publishes_is_no_failure() {
    let stand = Stand::slow(Duration::from_millis(200));
    let remote = Repo::bare(&stand.world.path("state.git"));
    let on = |run: Gitoggle, machine: &str| {
        let run = run.set("state-dir", stand.world.path(machine));
        run.set("state-remote", remote.path()).set("state-name", "toggles")
    };
    on(stand.apply(), "other").set("first-pass", "adopt").exit(0).any_output();
    let daemon = daemon(&stand, |run| on(run, "daemon").set("drift-interval", "100ms"));
    eventually("the first scan", || (scans(&daemon, "success") >= 1.0).then_some(()));
    // The daemon does not find this commit, so that it starts no pass because of it.
    let ahead = stand.world.repo.linked("HEAD", &stand.world.path("ahead"));
    for toggle in TOGGLES {
        ahead.file(&format!("shop/prod/{toggle}.yaml"), doc(21));
    }
    ahead.commit("Raise the age");
    let apply = on(stand.apply(), "other").set("repo", ahead.path());
    apply.exit(0).stdout_contains(&["applied 3 of 3 changes"]).any_stderr();
    let before = scans(&daemon, "success");
    eventually("another scan", || (scans(&daemon, "success") > before + 1.0).then_some(()));
    assert_eq!(daemon.said("drift"), 0, "{}", daemon.log());
    assert_eq!((scans(&daemon, "partial"), scans(&daemon, "error")), (0.0, 0.0));
    daemon.stops_cleanly();
}

#[test]
fn a_lost_increment_is_found_by_the_scan_of_everything() {
    let stand = Stand::applied();
    let daemon = scanning(&stand, "200ms");
    eventually("the first scan", || (scans(&daemon, "success") >= 1.0).then_some(()));
    stand.script(json!({
        "on": { "method": "GET", "path": "/" }, "do": "lose_increment",
    }));
    stand.changes("pay", 21, "hotfix");
    daemon.becomes("shop/prod/pay", "drifted");
    assert!(scans(&daemon, "success") <= 42.0);
    daemon.stops_cleanly();
}

#[test]
fn a_daemon_that_overwrites_publishes_the_document_again() {
    let stand = Stand::applied();
    stand.changes("pay", 21, "hotfix");
    let daemon = daemon(&stand, |run| run.set("on-drift", "overwrite").set("drift-interval", "1h"));
    daemon.says(&["\"drifted\"", "shop/prod/pay"]);
    daemon.says(&["drift_ended", "shop/prod/pay"]);
    daemon.becomes("shop/prod/pay", "in_sync");
    let requests = stand.requests();
    let published = requests.iter().filter(|one| one.starts_with("PATCH")).count();
    assert_eq!(published, 1, "{requests:#?}");
    daemon.stops_cleanly();
}

#[test]
fn a_daemon_that_ignores_drift_or_has_no_interval_reads_nothing() {
    let stand = Stand::applied();
    for (name, value) in [("on-drift", "ignore"), ("drift-interval", "0")] {
        stand.changes("pay", 21, "hotfix");
        let daemon = daemon(&stand, |run| run.set(name, value));
        let before = daemon.passes();
        assert_eq!(daemon.order("/reconcile", ""), 202);
        eventually("another pass", || (daemon.passes() > before).then_some(()));
        assert_eq!(stand.requests(), [""; 0]);
        daemon.stops_cleanly();
    }
}

#[test]
fn an_sdk_key_that_is_reset_during_a_scan_is_replaced_by_the_scan_of_everything() {
    let stand = Stand::applied();
    let daemon = scanning(&stand, "200ms");
    eventually("the first scan", || (scans(&daemon, "success") >= 1.0).then_some(()));
    // The service answers 406 to the old key from now on, whatever changes.
    let environment = "/api/projects/shop/environments/prod";
    let reset = json!({ "resetServerSdk": true });
    stand.before("/internal/", "PATCH", environment, reset);
    stand.changes("pay", 21, "hotfix");
    daemon.becomes("shop/prod/pay", "drifted");
    let before = scans(&daemon, "success");
    stand.changes("ship", 30, "hotfix");
    daemon.becomes("shop/prod/ship", "drifted");
    let later = scans(&daemon, "success") - before;
    assert!(later < 15.0, "a scan with the new key finds it, not the next of everything: {later}");
    assert_eq!(scans(&daemon, "partial"), 0.0);
    assert_eq!(daemon.said("server-"), 0, "{}", daemon.log());
    daemon.stops_cleanly();
}

#[test]
fn a_reconcile_order_during_a_scan_is_followed_by_another_scan() {
    let stand = Stand::slow(Duration::from_millis(300));
    let daemon = scanning(&stand, "1h");
    eventually("the scan", || {
        let requests = stand.requests();
        requests.iter().any(|one| one.contains("/internal/")).then_some(())
    });
    assert_eq!(daemon.order("/reconcile", ""), 202);
    eventually("another scan", || {
        let ended = scans(&daemon, "success") + scans(&daemon, "interrupted");
        (ended >= 2.0).then_some(())
    });
    daemon.stops_cleanly();
}

#[test]
fn a_suspension_interrupts_a_scan_which_then_starts_again() {
    let stand = Stand::slow(Duration::from_millis(300));
    stand.changes("pay", 21, "hotfix");
    let daemon = scanning(&stand, "1h");
    eventually("the scan", || {
        let requests = stand.requests();
        requests.iter().any(|one| one.contains("/internal/")).then_some(())
    });
    assert_eq!(daemon.order("/suspend", ""), 200);
    eventually("the interruption", || (scans(&daemon, "interrupted") >= 1.0).then_some(()));
    daemon.becomes("shop/prod/pay", "drifted");
    assert!(!daemon.status().unwrap()["suspended"].is_null());
    daemon.stops_cleanly();
}

#[test]
fn a_suspension_does_not_hold_what_is_only_recorded() {
    let stand = Stand::applied();
    let daemon = scanning(&stand, "1h");
    assert_eq!(daemon.order("/suspend", ""), 200);
    stand.requests();
    stand.changes("pay", 30, "by hand");
    for (toggle, age) in [("pay", 30), ("ship", 21)] {
        stand.world.repo.file(&format!("shop/prod/{toggle}.yaml"), doc(age));
    }
    stand.world.repo.commit("Take over what was changed by hand");
    assert_eq!(daemon.order("/reconcile", ""), 202);
    daemon.says(&["\"converged\"", "shop/prod/pay"]);
    daemon.becomes("shop/prod/pay", "in_sync");
    daemon.becomes("shop/prod/ship", "pending");
    stand.reads();
    assert!(!daemon.status().unwrap()["suspended"].is_null());
    assert_eq!(daemon.order("/resume", ""), 200);
    daemon.becomes("shop/prod/ship", "in_sync");
    daemon.stops_cleanly();
}

#[test]
fn a_daemon_names_every_change_on_the_service_everywhere() {
    let stand = Stand::applied();
    let daemon = scanning(&stand, "1h");
    eventually("the first scan", || (scans(&daemon, "success") >= 1.0).then_some(()));
    let comments = ["INCIDENT 6: off until Monday", "typo in a rule name"];
    for (age, comment) in [21, 22].into_iter().zip(comments) {
        stand.changes("pay", age, comment);
    }
    // The first change is made before the first request, and the other one before a later one.
    eventually("both changes", || {
        daemon.order("/reconcile", "");
        daemon.endpoint.get("/readyz")?.body.contains(comments[1]).then_some(())
    });
    let status = daemon.status().unwrap();
    let toggles = status["toggles"].as_array().unwrap();
    let pay = toggles.iter().find(|line| line["toggle"] == "shop/prod/pay").unwrap().to_string();
    let (ready, page) = (daemon.endpoint.get("/readyz").unwrap(), daemon.endpoint.get("/").unwrap());
    for comment in comments {
        for text in [&ready.body, &page.body, &pay, &daemon.log()] {
            assert!(text.contains(comment), "{comment}: {text}");
        }
    }
    daemon.stops_cleanly();
}

#[test]
fn a_held_toggle_does_not_hide_that_the_service_stores_nothing() {
    let stand = Stand::applied();
    stand.changes("pay", 21, "hotfix");
    let repo = &stand.world.repo;
    repo.file("shop/prod/pay.yaml", doc(25));
    repo.file("shop/prod/cart.yaml", doc(25)).commit("Raise the age");
    for _ in 0..40 {
        let on = json!({ "method": "PATCH", "path": targeting("cart") });
        stand.script(json!({ "on": on, "do": "fail" }));
    }
    let daemon = Daemon::start(&stand.world, |run| stand.served(run).set("drift-interval", "1h"));
    daemon.says(&["live_hold", "shop/prod/pay"]);
    daemon.is_unready_for(&["the service applied and refused nothing", "500"]);
    assert_eq!(daemon.metric("gitoggle_passes_total{result=\"success\"}"), Some(0.0));
    daemon.becomes("shop/prod/pay", "drifted");
    daemon.stops_cleanly();
}

#[test]
fn an_operator_allows_to_overwrite_a_drifted_toggle_that_no_commit_changes() {
    let stand = Stand::applied();
    stand.changes("pay", 21, "hotfix");
    let daemon = scanning(&stand, "1h");
    daemon.becomes("shop/prod/pay", "drifted");
    stand.requests();
    let revision = stand.world.repo.head();
    let order = json!({ "environment": "shop/prod", "what": "overwrite-drift", "revision": revision });
    let (status, answer) = daemon.ask("/allow", &order.to_string());
    assert_eq!(status, 200, "{answer}");
    daemon.becomes("shop/prod/pay", "in_sync");
    let published: Vec<String> =
        stand.requests().into_iter().filter(|one| one.starts_with("PATCH")).collect();
    assert_eq!(published, [format!("PATCH {}", targeting("pay"))]);
    let (status, answer) = daemon.ask("/allow", &order.to_string());
    assert_eq!(status, 409, "a decision is valid once: {answer}");
    daemon.stops_cleanly();
}

/// Starts a daemon with a file for the token, which is revoked after the first scan, and orders another scan.
fn with_a_token_that_is_revoked(stand: &Stand) -> Daemon {
    let token = stand.world.write("token", TOKEN);
    let daemon = daemon(stand, |run| {
        run.set("drift-interval", "1h").without_env("GITOGGLE_TOKEN").set("token-file", &token)
    });
    eventually("the first scan", || (scans(&daemon, "success") >= 1.0).then_some(()));
    stand.world.write("token", "revoked");
    assert_eq!(daemon.order("/reconcile", ""), 202);
    daemon
}

#[test]
fn a_token_that_was_revoked_is_reported_by_the_next_scan_although_nothing_has_changed() {
    let stand = Stand::applied();
    let daemon = with_a_token_that_is_revoked(&stand);
    daemon.says(&["drift_scan_failed", "with the token", "rejected the token"]);
    // The log has it a moment before the status.
    eventually("the reason in `/readyz`", || {
        let ready = daemon.endpoint.get("/readyz")?;
        ready.body.contains("rejected the token").then_some(())
    });
    assert_eq!(daemon.metric("gitoggle_drift_failures_total{outcome=\"unauthorized\"}"), Some(1.0));
    stand.world.write("token", TOKEN);
    assert_eq!(daemon.order("/reconcile", ""), 202);
    daemon.says(&["drift_scan_recovered"]);
    assert_eq!(daemon.said("revoked"), 0, "{}", daemon.log());
    daemon.stops_cleanly();
}

#[test]
fn a_failed_scan_is_repeated_long_before_the_interval_is_over() {
    let stand = Stand::applied();
    let daemon = with_a_token_that_is_revoked(&stand);
    daemon.says(&["drift_scan_failed"]);
    stand.world.write("token", TOKEN);
    daemon.says(&["drift_scan_recovered"]);
    eventually("no remark", || {
        let ready = daemon.endpoint.get("/readyz")?;
        (!ready.body.contains("rejected the token")).then_some(())
    });
    daemon.stops_cleanly();
}

#[test]
fn a_pass_that_publishes_ends_what_scans_have_said_of_the_service() {
    let stand = Stand::applied();
    let daemon = with_a_token_that_is_revoked(&stand);
    let failed = || scans(&daemon, "partial") + scans(&daemon, "error");
    eventually("a failed scan", || (failed() >= 1.0).then_some(()));
    assert_eq!(daemon.order("/reconcile", ""), 202);
    daemon.is_unready_for(&["the last scan for drift failed", "rejected the token"]);
    stand.world.write("token", TOKEN);
    stand.world.repo.file("shop/prod/pay.yaml", doc(21)).commit("Raise the age");
    daemon.has_seen(&stand.world.repo.head());
    let ready = daemon.endpoint.get("/readyz").unwrap();
    assert_eq!((ready.status, ready.body.contains("rejected")), (200, false), "{}", ready.body);
    daemon.says(&["drift_scan_recovered"]);
    daemon.stops_cleanly();
}

#[test]
fn files_that_are_replaced_count_from_the_next_scan_on() {
    let stand = Stand::applied();
    let ca = stand.world.path("sandbox-ca.pem");
    let trusted = std::fs::read_to_string(&ca).unwrap();
    let daemon = scanning(&stand, "1h");
    eventually("the first scan", || (scans(&daemon, "success") >= 1.0).then_some(()));
    for (found, reason) in [(Authority::other().pem(), "not signed by a trusted CA"), ("", "sandbox-ca.pem")]
    {
        std::fs::write(&ca, found).unwrap();
        assert_eq!(daemon.order("/reconcile", ""), 202);
        daemon.says(&["drift_scan_failed", reason]);
        std::fs::write(&ca, &trusted).unwrap();
        let before = scans(&daemon, "success");
        assert_eq!(daemon.order("/reconcile", ""), 202);
        eventually("a scan", || (scans(&daemon, "success") > before).then_some(()));
    }
    daemon.stops_cleanly();
}

#[test]
fn a_file_that_cannot_be_used_is_counted_like_the_refusal_that_it_leads_to() {
    let stand = Stand::applied();
    let token = stand.world.write("token", TOKEN);
    let ca = stand.world.path("sandbox-ca.pem");
    let daemon = daemon(&stand, |run| {
        run.set("drift-interval", "1s").without_env("GITOGGLE_TOKEN").set("token-file", &token)
    });
    for (file, broken, outcome) in [
        (&token, Some(""), "unauthorized"),
        (&token, Some("two\nlines"), "unauthorized"),
        (&token, None, "unauthorized"),
        (&ca, Some(""), "untrusted"),
        (&ca, None, "untrusted"),
    ] {
        let counter = format!("gitoggle_drift_failures_total{{outcome=\"{outcome}\"}}");
        let valid = std::fs::read(file).unwrap();
        let before = daemon.metric(&counter);
        match broken {
            Some(text) => std::fs::write(file, text).unwrap(),
            None => std::fs::remove_file(file).unwrap(),
        }
        eventually(&counter, || (daemon.metric(&counter) > before).then_some(()));
        std::fs::write(file, valid).unwrap();
        let before = scans(&daemon, "success");
        eventually("a scan", || (scans(&daemon, "success") > before).then_some(()));
    }
    daemon.stops_cleanly();
}

#[test]
fn a_refusal_of_a_read_is_counted_like_one_of_a_publish() {
    let stand = Stand::applied();
    let token = stand.world.write("token", TOKEN);
    let daemon = daemon(&stand, |run| {
        run.set("drift-interval", "1h").without_env("GITOGGLE_TOKEN").set("token-file", &token)
    });
    stand.world.write("token", "revoked");
    stand.world.repo.file("shop/prod/pay.yaml", doc(21)).commit("Raise the age");
    daemon.is_unready_for(&["rejected the token"]);
    assert!(daemon.metric("gitoggle_publishes_total{outcome=\"unauthorized\"}") >= Some(1.0));
    stand.world.write("token", TOKEN);
    assert_eq!(daemon.order("/reconcile", ""), 202);
    daemon.becomes("shop/prod/pay", "in_sync");
    daemon.stops_cleanly();
}
