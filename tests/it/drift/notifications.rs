//! Notifications about drift across restarts of the daemon.

use serde_json::{Value, json};

use super::stand::{Stand, targeting};
use crate::support::{Daemon, Service, eventually};

/// Starts a daemon that sends notifications to `receiver`.
fn daemon(stand: &Stand, receiver: &Service, interval: &str) -> Daemon {
    let authorities = [stand.world.path("sandbox-ca.pem"), stand.world.ca()];
    let authorities = authorities.map(|file| std::fs::read_to_string(file).unwrap());
    let ca = stand.world.write("both-ca.pem", &authorities.concat());
    Daemon::ready(&stand.world, |run| {
        stand
            .served(run)
            .set("ca-file", ca)
            .set("notify-url", format!("{}/notices", receiver.url()))
            .set("drift-interval", interval)
    })
}

/// Returns the changes of the next message as `toggle change`.
#[track_caller]
fn received(receiver: &Service) -> Vec<String> {
    receiver.wait_for(1);
    let requests = receiver.take();
    assert_eq!(requests.len(), 1, "one message at a time: {requests:?}");
    let message = requests[0].body();
    let changes = message["data"]["changes"].as_array().expect("a list");
    let text = |change: &Value, member: &str| change[member].as_str().expect("a text").to_owned();
    let line = |change: &Value| format!("{} {}", text(change, "toggle"), text(change, "change"));
    changes.iter().map(line).collect()
}

/// Returns a service on which `pay` was changed, after a daemon has sent a notification about that and has
/// ended.
fn drifted(receiver: &Service) -> Stand {
    let stand = Stand::applied();
    stand.changes("pay", 21, "hotfix");
    let daemon = daemon(&stand, receiver, "1h");
    assert_eq!(received(receiver), ["shop/prod/pay drifted"]);
    daemon.stops_cleanly();
    stand
}

/// Changes another toggle, and checks that the next message is about that one.
#[track_caller]
fn reports_only_another(stand: &Stand, daemon: &Daemon, receiver: &Service) {
    stand.changes("ship", 30, "hotfix");
    assert_eq!(daemon.order("/reconcile", ""), 202);
    daemon.becomes("shop/prod/ship", "drifted");
    assert_eq!(received(receiver), ["shop/prod/ship drifted"]);
}

#[test]
fn a_restart_does_not_release_a_toggle_that_is_still_drifted() {
    let receiver = Service::start();
    let stand = drifted(&receiver);
    let daemon = daemon(&stand, &receiver, "1h");
    daemon.becomes("shop/prod/pay", "drifted");
    reports_only_another(&stand, &daemon, &receiver);
    daemon.stops_cleanly();
}

#[test]
fn a_restart_during_an_outage_of_the_service_does_not_release_a_drifted_toggle() {
    let receiver = Service::start();
    let stand = drifted(&receiver);
    for _ in 0..40 {
        stand.script(json!({
            "on": { "method": "GET", "path": "/" },
            "do": { "page": "<title>Down</title>" },
        }));
    }
    let daemon = daemon(&stand, &receiver, "200ms");
    daemon.says(&["drift_scan_failed", "3 toggles could not be compared"]);
    daemon.says(&["drift_scan_recovered"]);
    daemon.becomes("shop/prod/pay", "drifted");
    reports_only_another(&stand, &daemon, &receiver);
    daemon.stops_cleanly();
}

#[test]
fn a_first_scan_that_misses_the_toggle_does_not_release_it() {
    let receiver = Service::start();
    let stand = drifted(&receiver);
    for _ in 0..9 {
        let page = json!({ "page": "<title>Oops</title>" });
        stand.script(json!({ "on": { "method": "GET", "path": targeting("pay") }, "do": page }));
    }
    let daemon = daemon(&stand, &receiver, "1h");
    daemon.says(&["drift_scan_failed", "shop/prod/pay could not be compared"]);
    reports_only_another(&stand, &daemon, &receiver);
    daemon.stops_cleanly();
}

#[test]
fn the_first_scan_after_a_restart_releases_a_toggle_that_was_reverted_before() {
    let receiver = Service::start();
    let stand = drifted(&receiver);
    stand.changes("pay", 18, "revert");
    let daemon = daemon(&stand, &receiver, "1h");
    assert_eq!(received(&receiver), ["shop/prod/pay released"]);
    eventually("the first scan", || {
        let scans = daemon.metric("gitoggle_drift_scans_total{result=\"success\"}")?;
        (scans >= 1.0).then_some(())
    });
    assert_eq!(receiver.count(), 0);
    daemon.stops_cleanly();
}
