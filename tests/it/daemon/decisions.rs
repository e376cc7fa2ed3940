//! Operators decide in a running daemon: what they allow is released at that revision, and what they suspend
//! is not published.

use serde_json::{Value, json};

use crate::support::{Daemon, Gitoggle, Repo, World, body, doc, eventually};

/// Ten applied toggles in `shop/prod` and a daemon; then all of them change in one commit.
fn over_the_rail() -> (World, Daemon) {
    let world = World::new();
    for number in 0..10 {
        world.repo.file(&format!("shop/prod/t{number}.yaml"), doc(18));
    }
    world.repo.commit("Add all");
    world.settle();
    let daemon = Daemon::ready(&world, |run| run);
    for number in 0..10 {
        world.repo.file(&format!("shop/prod/t{number}.yaml"), doc(21));
    }
    world.repo.commit("Change all");
    daemon.becomes("shop/prod/t0", "held");
    (world, daemon)
}

fn allow(environment: &str, what: &str, revision: &str) -> String {
    json!({ "environment": environment, "what": what, "revision": revision }).to_string()
}

fn messages(world: &World) -> String {
    Repo::at(&world.state().join("state.git")).git(&["log", "--format=%B", "refs/gitoggle/applied"])
}

#[test]
fn a_mass_change_is_released_at_its_revision_and_recorded_with_caller_and_time() {
    let (world, daemon) = over_the_rail();
    world.nothing_sent();
    let head = world.repo.head();
    let (status, answer) = daemon.ask("/allow", &allow("shop/prod", "mass-change", &head));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["releases"]["count"], 10, "{answer}");
    assert_eq!(answer["releases"]["toggles"][0], "shop/prod/t0");
    assert_eq!(answer["revision"], head);
    world.service.wait_for(10);
    daemon.becomes("shop/prod/t9", "in_sync");
    world.service.take();
    daemon.says(&[
        "operator command carried out",
        "allow",
        "caller",
        "127.0.0.1:",
        "mass-change",
        "shop/prod",
        &head,
    ]);
    let messages = messages(&world);
    let line = messages.lines().find(|line| line.starts_with("Gitoggle-Allowed: "));
    let line = line.unwrap_or_else(|| panic!("{messages}"));
    assert!(
        line.starts_with("Gitoggle-Allowed: mass-change shop/prod by 127.0.0.1:") && line.ends_with('Z'),
        "{line}"
    );
    for number in 0..10 {
        world.repo.file(&format!("shop/prod/t{number}.yaml"), doc(30));
    }
    world.repo.commit("Change all again");
    daemon.becomes("shop/prod/t0", "held");
    world.nothing_sent();
    daemon.stops_cleanly();
}

#[test]
fn an_allowance_outlives_a_restart_and_not_its_revision() {
    let (world, daemon) = over_the_rail();
    assert_eq!(daemon.order("/suspend", ""), 200);
    daemon.becomes("shop/prod/t0", "held");
    let held = world.repo.head();
    assert_eq!(daemon.order("/allow", &allow("shop/prod", "mass-change", &held)), 200);
    daemon.becomes("shop/prod/t0", "pending");
    daemon.stops_cleanly();
    let daemon = Daemon::start(&world, |run| run);
    daemon.becomes("shop/prod/t0", "pending");
    world.nothing_sent();

    world.repo.file("shop/prod/t0.yaml", doc(40)).commit("Another one");
    daemon.becomes("shop/prod/t0", "held");
    assert_eq!(daemon.order("/resume", ""), 200);
    daemon.has_seen(&world.repo.head());
    eventually("the end of the allowance", || (!world.state().join("allowed.json").exists()).then_some(()));
    world.nothing_sent();
    daemon.stops_cleanly();
}

#[test]
fn emptying_an_environment_is_confirmed_at_run_time() {
    let world = World::with_pay_applied();
    world.repo.file("web/prod/a.yaml", doc(18)).commit("Add another");
    world.settle();
    let daemon = Daemon::ready(&world, |run| run.set("on-remove", "disable"));
    world.repo.remove("shop/prod/pay.yaml").commit("Remove pay");
    daemon.becomes("shop/prod/pay", "held");
    let status = daemon.status().unwrap();
    assert!(
        status["toggles"]
            .to_string()
            .contains("`gitoggle allow mass-change shop/prod --url http://127.0.0.1:"),
        "{status}"
    );
    let head = world.repo.head();
    assert_eq!(daemon.order("/allow", &allow("shop/prod", "mass-change", &head)), 200);
    world.service.wait_for(1);
    assert_eq!(world.service.take()[0].body()["disabled"], true);
    daemon.stops_cleanly();
}

/// Each order gets the status, and a problem with all the words.
fn refuses(daemon: &Daemon, cases: &[(String, u16, &[&str])]) {
    for (order, status, reasons) in cases {
        let (found, answer) = daemon.ask("/allow", order);
        assert_eq!(found, *status, "{order}: {answer}");
        for reason in *reasons {
            assert!(answer.to_string().contains(reason), "{reason}: {answer}");
        }
    }
}

#[test]
fn a_decision_that_cannot_be_read_is_refused_with_the_reason() {
    let (world, daemon) = over_the_rail();
    let head = world.repo.head();
    refuses(
        &daemon,
        &[
            ("nonsense".to_owned(), 400, &["could not read the command", "first-pass-assert"]),
            ("{}".to_owned(), 400, &["missing field `what`"]),
            ("[\"shop/prod\"]".to_owned(), 400, &["the body is not a JSON object"]),
            (
                allow("shop/prod", "everything", &head),
                400,
                &["`everything` cannot be allowed", "mass-change"],
            ),
            (allow("shop", "mass-change", &head), 400, &["`shop` is not an environment"]),
            (json!({"what": "mass-change", "revision": head}).to_string(), 400, &["needs an environment"]),
        ],
    );
    world.nothing_sent();
    daemon.stops_cleanly();
}

#[test]
fn an_order_that_releases_a_revision_names_it_and_counts_no_toggles() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run.set("poll-interval", "200ms"));
    world.repo.commit_pay(21, "Change pay");
    daemon.becomes("shop/prod/pay", "in_sync");
    world.service.wait_for(1);
    world.repo.force("HEAD~1");
    daemon.is_unready_for(&["this checkout is stale"]);
    let head = world.repo.head();
    let order = json!({ "what": "history", "revision": head }).to_string();
    let (status, answer) = daemon.ask("/allow", &order);
    assert_eq!((status, &answer["releases"]), (200, &json!({ "revision": head })), "{answer}");
    world.service.wait_for(2);
    daemon.is_ready();
    daemon.stops_cleanly();
}

#[test]
fn a_decision_that_releases_nothing_is_refused_with_the_reason() {
    let (world, daemon) = over_the_rail();
    let head = world.repo.head();
    let old = world.repo.id("HEAD~1");
    refuses(
        &daemon,
        &[
            (allow("shop/prdo", "mass-change", &head), 404, &["`shop/prdo`", "did you mean `shop/prod`?"]),
            (allow("prod/shop", "mass-change", &head), 404, &["`prod/shop`", "did you mean `shop/prod`?"]),
            (allow("shop/prod", "mass-change", &old), 409, &[&old, &head, "not the one that is planned"]),
            (
                allow("shop/prod", "first-pass-assert", &head),
                409,
                &["nothing in `shop/prod` waits", "`mass-change`"],
            ),
            (json!({"what": "history", "revision": head}).to_string(), 409, &["nothing in the source waits"]),
            (
                allow("shop/prod", "overwrite-drift", &head),
                422,
                &["not supported", "service_kind: documented"],
            ),
        ],
    );
    world.nothing_sent();
    daemon.stops_cleanly();
}

#[test]
fn a_decision_needs_the_admin_token() {
    let (world, daemon) = over_the_rail();
    let refused = daemon.endpoint.post("/allow", &[("Authorization", "Bearer wrong")], b"{}");
    assert_eq!(refused.status, 401, "{}", refused.body);
    daemon.stops_cleanly();
    let daemon = Daemon::start(&world, |run| run.unset("admin-token-file"));
    daemon.becomes("shop/prod/t0", "held");
    let head = world.repo.head();
    assert_eq!(daemon.order("/allow", &allow("shop/prod", "mass-change", &head)), 403);
    world.nothing_sent();
}

#[test]
fn one_part_is_suspended_while_another_is_published() {
    let world = World::with_pay_applied();
    world.repo.file("web/prod/a.yaml", doc(18)).commit("Add another");
    world.settle();
    let daemon = Daemon::ready(&world, |run| run);
    let suspend = |scope: &str, reason: &str| {
        let order = json!({ "scope": scope, "reason": reason }).to_string();
        assert_eq!(daemon.order("/suspend", &order), 200, "{scope}");
    };
    suspend("shop/prod/**", "sale");
    suspend("other/**", "freeze");
    let status = daemon.status().unwrap();
    assert_eq!(status["suspended"], Value::Null, "not everything is: {status}");
    assert_eq!(
        status["suspensions"],
        json!([
            {"scope": "other/**", "reason": "freeze", "until": null},
            {"scope": "shop/prod/**", "reason": "sale", "until": null},
        ])
    );
    assert_eq!(daemon.metric("gitoggle_suspended"), Some(1.0));
    world.repo.file("shop/prod/pay.yaml", doc(21)).file("web/prod/a.yaml", doc(21)).commit("Change both");
    world.service.wait_for(1);
    world.sent(&[("web/prod/a", body(21, "Change both"))]);
    daemon.becomes("shop/prod/pay", "pending");
    let page = daemon.endpoint.get("/").unwrap().body;
    assert!(page.contains("suspended shop/prod/**: sale"), "{page}");
    daemon.stops_cleanly();

    let daemon = Daemon::start(&world, |run| run);
    daemon.becomes("shop/prod/pay", "pending");
    let (found, answer) = daemon.ask("/resume", r#"{"scope": "shop/**"}"#);
    assert_eq!(found, 404, "{answer}");
    assert!(answer.to_string().contains("`shop/prod/**`"), "{answer}");
    assert_eq!(daemon.order("/suspend", r#"{"scope": "shop/prod"}"#), 400);
    world.nothing_sent();
    assert_eq!(daemon.order("/resume", r#"{"scope": "shop/prod/**"}"#), 200);
    world.service.wait_for(1);
    world.sent(&[("shop/prod/pay", body(21, "Change both"))]);
    assert_eq!(daemon.status().unwrap()["suspensions"].as_array().unwrap().len(), 1);
    assert_eq!(daemon.order("/resume", ""), 200);
    assert_eq!(daemon.status().unwrap()["suspensions"], json!([]));
    assert_eq!(daemon.metric("gitoggle_suspended"), Some(0.0));
    daemon.stops_cleanly();
}

#[test]
fn a_checkout_that_may_lag_behind_is_applied_once_an_operator_allows_it() {
    let world = World::new();
    Repo::bare(&world.path("remote.git"));
    let shared = |run: Gitoggle, disk: &str| {
        run.set("state-dir", world.path(disk))
            .set("state-remote", world.path("remote.git"))
            .set("state-name", "toggles")
    };
    world.repo.commit_pay(18, "Add pay");
    let lagging = world.repo.linked("main", &world.path("lagging"));
    let older = lagging.head();
    world.repo.commit_pay(21, "Change pay");
    shared(world.apply(), "job").set("first-pass", "assert").exit(0).any_output();
    world.service.take();

    let daemon = Daemon::start(&world, |run| shared(run, "disk").set("repo", lagging.path()));
    daemon.is_unready_for(&["is stale", "gitoggle allow history"]);
    assert_eq!(daemon.status().unwrap()["source"]["refused"], older);
    world.nothing_sent();
    let (found, answer) = daemon.ask("/allow", &json!({"what": "history", "revision": older}).to_string());
    assert_eq!(found, 200, "{answer}");
    world.service.wait_for(1);
    world.sent(&[("shop/prod/pay", body(18, "Add pay"))]);
    daemon.is_ready();
    daemon.stops_cleanly();
}
