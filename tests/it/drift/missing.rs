//! Toggles that were applied and are gone from the service.

use serde_json::json;

use super::stand::{Stand, targeting};
use crate::support::{Daemon, Gitoggle, eventually};

/// Returns a service on which `pay` was applied and removed.
fn without_pay() -> Stand {
    let stand = Stand::applied();
    stand.script(json!({
        "on": { "method": "GET", "path": "environmentKey=prod" },
        "do": { "delete_after": { "project": "shop", "toggle": "pay" } },
    }));
    stand.drift().exit(0).any_output();
    stand.requests();
    stand
}

/// Returns the requests that create or change a toggle, since the last look at the requests.
fn written(stand: &Stand) -> Vec<String> {
    let requests = stand.requests().into_iter();
    requests.filter(|one| !one.starts_with("GET ")).collect()
}

fn created() -> [String; 2] {
    let publish = format!("PATCH {}", targeting("pay"));
    ["POST /api/projects/shop/toggles".to_owned(), publish]
}

fn scanning(stand: &Stand, change: impl FnOnce(Gitoggle) -> Gitoggle) -> Daemon {
    Daemon::ready(&stand.world, |run| change(stand.served(run).set("drift-interval", "1h")))
}

#[test]
fn a_toggle_that_is_gone_is_created_again_like_drift_is_overwritten() {
    let stand = without_pay();
    let with = |verb: &str, on_missing: &str| {
        let command = stand.command(verb).set("on-missing", on_missing);
        command.set("on-drift", "overwrite")
    };
    // What may not be created is only reported.
    with("apply", "hold").exit(0).any_output();
    with("plan", "create")
        .arg("--live")
        .exit(0)
        .stdout_contains(&["create shop/prod/pay", "1 to publish: 1 create"]);
    assert_eq!(written(&stand), [""; 0]);
    with("apply", "create")
        .exit(0)
        .stdout_contains(&["applied shop/prod/pay (create)", "applied 1 of 1 change\n"])
        .any_stderr();
    assert_eq!(written(&stand), created());
    stand.drift().arg("--detailed-exitcode").exit(0).any_output();
}

#[test]
fn a_toggle_that_is_gone_stays_gone_without_an_order() {
    let stand = without_pay();
    stand.apply().set("on-missing", "create").exit(0).any_output();
    assert_eq!(written(&stand), [""; 0]);
    let apply = stand.apply().set("on-missing", "create").arg("--overwrite-drift");
    apply.exit(0).any_output();
    assert_eq!(written(&stand), created());
}

#[test]
fn a_daemon_that_overwrites_and_creates_creates_a_toggle_that_is_gone() {
    let stand = without_pay();
    let daemon = scanning(&stand, |run| run.set("on-drift", "overwrite").set("on-missing", "create"));
    daemon.says(&["\"drifted\"", "shop/prod/pay", "does not have the toggle anymore"]);
    daemon.says(&["drift_ended", "shop/prod/pay"]);
    daemon.becomes("shop/prod/pay", "in_sync");
    assert_eq!(written(&stand), created());
    daemon.stops_cleanly();
}

#[test]
fn an_operator_orders_to_create_a_toggle_that_is_gone_if_toggles_may_be_created() {
    let stand = without_pay();
    let revision = stand.world.repo.head();
    let order = json!({ "environment": "shop/prod", "what": "overwrite-drift", "revision": revision });
    let daemon = scanning(&stand, |run| run);
    daemon.becomes("shop/prod/pay", "drifted");
    let status = daemon.status().unwrap().to_string();
    assert!(status.contains("to have it created from its document, set `--on-missing create`"), "{status}");
    assert_eq!(daemon.order("/allow", &order.to_string()), 409);
    daemon.stops_cleanly();
    let daemon = scanning(&stand, |run| run.set("on-missing", "create"));
    daemon.becomes("shop/prod/pay", "drifted");
    eventually("the way out on the page", || {
        let page = daemon.endpoint.get("/")?.body;
        page.contains("Create the toggle again from its document").then_some(())
    });
    assert_eq!(written(&stand), [""; 0]);
    let (status, answer) = daemon.ask("/allow", &order.to_string());
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["releases"]["versions"], json!({ "shop/prod/pay": 0 }));
    daemon.becomes("shop/prod/pay", "in_sync");
    assert_eq!(written(&stand), created());
    daemon.stops_cleanly();
}
