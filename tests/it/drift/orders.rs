//! Orders of operators to publish over drift: they cover what the operator could see, and nothing else.

use serde_json::{Value, json};

use super::stand::{Stand, targeting};
use crate::support::{ADMIN, Daemon};

fn scanning(stand: &Stand) -> Daemon {
    Daemon::ready(&stand.world, |run| stand.served(run).set("drift-interval", "1h"))
}

/// Returns the paths of the publishes since the last look at the requests.
fn published(stand: &Stand) -> Vec<String> {
    let requests = stand.requests().into_iter();
    let published = requests.filter_map(|one| one.strip_prefix("PATCH ").map(str::to_owned));
    published.collect()
}

/// Changes `pay` on the service, and gives the order to overwrite that while the daemon is suspended.
fn ordered_while_suspended(stand: &Stand) -> Daemon {
    stand.changes("pay", 21, "hotfix");
    let daemon = scanning(stand);
    daemon.becomes("shop/prod/pay", "drifted");
    assert_eq!(daemon.order("/suspend", ""), 200);
    let mut answer = allow(stand, &daemon);
    let over = answer["releases"]["overwrites"]["shop/prod/pay"][0].take();
    assert!(over.as_str().is_some_and(|over| over.starts_with("version 3 by Admin at ")), "{over}");
    assert_eq!(
        answer["releases"],
        json!({
            "count": 1,
            "toggles": ["shop/prod/pay"],
            "versions": { "shop/prod/pay": 3 },
            "overwrites": { "shop/prod/pay": [null] }
        })
    );
    daemon.becomes("shop/prod/pay", "pending");
    stand.requests();
    daemon
}

#[track_caller]
fn allow(stand: &Stand, daemon: &Daemon) -> Value {
    let revision = stand.world.repo.head();
    let order = json!({ "environment": "shop/prod", "what": "overwrite-drift", "revision": revision });
    let (status, answer) = daemon.ask("/allow", &order.to_string());
    assert_eq!(status, 200, "{answer}");
    answer
}

/// Returns the reason of a toggle's state.
fn reason(daemon: &Daemon, toggle: &str) -> String {
    let status = daemon.status().unwrap();
    let toggles = status["toggles"].as_array().unwrap();
    let line = toggles.iter().find(|line| line["toggle"] == toggle).unwrap();
    line["reason"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_order_does_not_cover_what_was_changed_on_the_service_after_it() {
    let stand = Stand::applied();
    let daemon = ordered_while_suspended(&stand);
    stand.changes("pay", 22, "second hotfix");
    assert_eq!(daemon.order("/reconcile", ""), 202);
    daemon.says(&["\"drifted\"", "shop/prod/pay", "version 4"]);
    assert_eq!(daemon.order("/resume", ""), 200);
    daemon.becomes("shop/prod/pay", "drifted");
    let reason = reason(&daemon, "shop/prod/pay");
    assert!(
        reason.contains(
            "changed on the service again, after version 3 was allowed to be overwritten (version 4 by Admin"
        ),
        "{reason}"
    );
    assert_eq!(published(&stand), [""; 0]);
    // Another order covers it.
    let answer = allow(&stand, &daemon);
    assert_eq!(answer["releases"]["versions"], json!({ "shop/prod/pay": 4 }));
    daemon.becomes("shop/prod/pay", "in_sync");
    assert_eq!(published(&stand), [targeting("pay")]);
    daemon.stops_cleanly();
}

#[test]
fn an_order_does_not_cover_what_nobody_has_seen_before_it_is_carried_out() {
    let stand = Stand::applied();
    let daemon = ordered_while_suspended(&stand);
    // Only the read before the publish finds it.
    stand.before(&targeting("pay"), "PATCH", &targeting("pay"), crate::support::body(22, "second hotfix"));
    assert_eq!(daemon.order("/resume", ""), 200);
    daemon.says(&["changed on the service again", "version 4 by Admin"]);
    daemon.becomes("shop/prod/pay", "drifted");
    assert_eq!(published(&stand), [""; 0]);
    daemon.stops_cleanly();
}

/// Changes another toggle on the service, and waits until the daemon has found that out.
fn drifts_too(stand: &Stand, daemon: &Daemon) {
    stand.changes("ship", 30, "hotfix");
    assert_eq!(daemon.order("/reconcile", ""), 202);
    daemon.becomes("shop/prod/ship", "drifted");
}

#[test]
fn an_order_does_not_cover_another_toggle_of_the_environment() {
    let stand = Stand::applied();
    let daemon = ordered_while_suspended(&stand);
    drifts_too(&stand, &daemon);
    assert_eq!(daemon.order("/resume", ""), 200);
    daemon.becomes("shop/prod/pay", "in_sync");
    daemon.becomes("shop/prod/ship", "drifted");
    assert_eq!(published(&stand), [targeting("pay")]);
    daemon.stops_cleanly();
}

#[test]
fn a_later_order_about_another_toggle_keeps_the_earlier_one() {
    let stand = Stand::applied();
    let daemon = ordered_while_suspended(&stand);
    drifts_too(&stand, &daemon);
    let answer = allow(&stand, &daemon);
    assert_eq!(answer["releases"]["versions"], json!({ "shop/prod/ship": 3 }));
    daemon.becomes("shop/prod/ship", "pending");
    assert_eq!(daemon.order("/resume", ""), 200);
    daemon.becomes("shop/prod/pay", "in_sync");
    daemon.becomes("shop/prod/ship", "in_sync");
    let mut published = published(&stand);
    published.sort();
    assert_eq!(published, [targeting("pay"), targeting("ship")]);
    daemon.stops_cleanly();
}

#[test]
fn an_order_outlives_a_restart_with_what_it_covers() {
    let stand = Stand::applied();
    ordered_while_suspended(&stand).stops_cleanly();
    stand.changes("ship", 30, "hotfix");
    let daemon = scanning(&stand);
    daemon.becomes("shop/prod/ship", "drifted");
    assert_eq!(daemon.order("/resume", ""), 200);
    daemon.becomes("shop/prod/pay", "in_sync");
    daemon.becomes("shop/prod/ship", "drifted");
    assert_eq!(published(&stand), [targeting("pay")]);
    daemon.stops_cleanly();
}

#[test]
fn an_order_does_not_cover_what_was_changed_before_a_restart() {
    let stand = Stand::applied();
    ordered_while_suspended(&stand).stops_cleanly();
    stand.changes("pay", 22, "second hotfix");
    let daemon = scanning(&stand);
    daemon.says(&["\"drifted\"", "shop/prod/pay", "version 4"]);
    assert_eq!(daemon.order("/resume", ""), 200);
    daemon.becomes("shop/prod/pay", "drifted");
    assert_eq!(published(&stand), [""; 0]);
    daemon.stops_cleanly();
}

#[test]
fn an_order_about_one_toggle_covers_no_other_one_and_shows_each_version_that_it_replaces() {
    let stand = Stand::applied();
    stand.changes("pay", 21, "INCIDENT 6: off until Monday");
    stand.changes("pay", 22, "typo in a rule name");
    let daemon = scanning(&stand);
    daemon.becomes("shop/prod/pay", "drifted");
    drifts_too(&stand, &daemon);
    stand.requests();
    stand
        .world
        .bare("allow overwrite-drift shop/prod/pay")
        .set("url", format!("http://{}", daemon.endpoint.address()))
        .env("GITOGGLE_ADMIN_TOKEN", ADMIN)
        .exit(0)
        .stdout_contains(&[
            "allowed overwrite-drift in shop/prod at ",
            "releases 1 toggle:\n  shop/prod/pay (version 4 on the service)\n      version 3 by Admin at ",
            ", comment: INCIDENT 6: off until Monday\n      version 4 by Admin at ",
            ", comment: typo in a rule name\na later change there is held\n",
        ]);
    daemon.becomes("shop/prod/pay", "in_sync");
    daemon.becomes("shop/prod/ship", "drifted");
    assert_eq!(published(&stand), [targeting("pay")]);
    daemon.stops_cleanly();
}
