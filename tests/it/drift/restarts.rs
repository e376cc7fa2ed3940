//! What the daemon reports after a restart, until its first scan has ended.

use serde_json::json;

use super::stand::{Stand, targeting};
use crate::support::{Daemon, eventually};

const UNSCANNED: &str = "has not been compared with what was applied since the start";

fn scanning(stand: &Stand) -> Daemon {
    Daemon::ready(&stand.world, |run| stand.served(run).set("drift-interval", "1h"))
}

/// Returns a service on which `pay` was changed, after a daemon has found that and has ended.
fn drifted() -> Stand {
    let stand = Stand::applied();
    stand.changes("pay", 21, "hotfix");
    let daemon = scanning(&stand);
    daemon.becomes("shop/prod/pay", "drifted");
    daemon.stops_cleanly();
    stand
}

/// Arranges that the next scan hangs.
fn hangs(stand: &Stand) {
    for _ in 0..40 {
        stand.script(json!({ "on": { "method": "GET", "path": "/" }, "do": "hold" }));
    }
}

fn readyz(daemon: &Daemon) -> String {
    daemon.endpoint.get("/readyz").unwrap().body
}

#[test]
fn a_drift_is_reported_after_a_restart_while_the_service_hangs() {
    let stand = drifted();
    hangs(&stand);
    let daemon = scanning(&stand);
    let ready = readyz(&daemon);
    assert!(ready.starts_with("ready; 1 drifted in shop/prod; "), "{ready}");
    assert!(ready.contains(UNSCANNED), "{ready}");
    assert_eq!(daemon.state("shop/prod/pay").as_deref(), Some("drifted"));
    assert_eq!(daemon.metric("gitoggle_toggles{state=\"drifted\"}"), Some(1.0));
    daemon.stops_cleanly();
}

#[test]
fn a_daemon_that_has_compared_nothing_yet_says_so() {
    let stand = Stand::applied();
    hangs(&stand);
    let daemon = scanning(&stand);
    assert!(readyz(&daemon).contains(UNSCANNED), "{}", readyz(&daemon));
    let status = daemon.status().unwrap();
    assert!(status["remarks"].to_string().contains(UNSCANNED), "{status}");
    daemon.stops_cleanly();
    let daemon = Daemon::ready(&stand.world, |run| stand.served(run).set("drift-interval", "0"));
    assert_eq!(readyz(&daemon), "ready\n");
    daemon.stops_cleanly();
}

#[test]
fn the_first_scan_ends_the_remark() {
    let stand = drifted();
    stand.changes("pay", 18, "revert");
    let daemon = scanning(&stand);
    eventually("the first scan", || (readyz(&daemon) == "ready\n").then_some(()));
    assert_eq!(daemon.state("shop/prod/pay").as_deref(), Some("in_sync"));
    daemon.stops_cleanly();
}

#[test]
fn a_first_scan_that_misses_the_toggle_does_not_end_its_drift() {
    let stand = drifted();
    for _ in 0..9 {
        let page = json!({ "page": "<title>Oops</title>" });
        stand.script(json!({ "on": { "method": "GET", "path": targeting("pay") }, "do": page }));
    }
    let daemon = scanning(&stand);
    daemon.says(&["drift_scan_failed", "shop/prod/pay could not be compared"]);
    assert_eq!(daemon.state("shop/prod/pay").as_deref(), Some("drifted"));
    assert_eq!(daemon.said("drift_ended"), 0, "{}", daemon.log());
    daemon.stops_cleanly();
}

#[test]
fn a_drift_that_an_apply_has_ended_is_not_reported_after_a_restart() {
    let stand = drifted();
    stand.world.repo.commit_pay(25, "Raise the age");
    stand.apply().arg("--overwrite-drift").exit(0).any_output();
    hangs(&stand);
    let daemon = scanning(&stand);
    assert_eq!(daemon.state("shop/prod/pay").as_deref(), Some("in_sync"));
    daemon.stops_cleanly();
}
