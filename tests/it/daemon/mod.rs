//! `gitoggle run`: passes in a loop, and the HTTP interface.

mod decisions;
mod faults;
mod notifications;
mod page;
mod report;
mod resources;
mod signals;
mod simulation;
mod slow_readers;
mod ssh;
mod triggers;
mod webhooks;

use serde_json::{Value, json};

use crate::support::command::Running;
use crate::support::daemon::ADMIN;
use crate::support::http::Endpoint;
use crate::support::{Answer, Daemon, Gitoggle, Request, World, body, doc, eventually};

/// Begins a daemon that looks again only when something happens, or once an hour.
fn daemon(world: &World, endpoint: Endpoint) -> Gitoggle {
    let admin = world.write("admin-token", &format!("{ADMIN}\n"));
    world
        .daemon()
        .set("listen", endpoint.address())
        .set("poll-interval", "1h")
        .set("admin-token-file", admin)
}

/// Starts it and waits until it is ready.
fn ready(run: Gitoggle, endpoint: Endpoint) -> Running {
    let running = run.start();
    eventually("readiness", || {
        endpoint.get("/readyz").filter(|reply| reply.status == 200)
    });
    running
}

fn admin(endpoint: Endpoint, path: &str, body: &str) -> u16 {
    let bearer = format!("Bearer {ADMIN}");
    endpoint
        .post(
            path,
            &[("Authorization", &bearer), ("Content-Type", "application/json")],
            body.as_bytes(),
        )
        .status
}

/// Returns the state of one toggle.
fn state(endpoint: Endpoint, toggle: &str) -> Option<String> {
    let status = endpoint.get("/api/status")?.json();
    let line = status["toggles"]
        .as_array()?
        .iter()
        .find(|line| line["toggle"] == toggle)?
        .clone();
    Some(line["state"].as_str()?.to_owned())
}

#[test]
fn a_commit_is_noticed_and_published() {
    let world = World::with_pay_applied();
    let endpoint = Endpoint::free();
    let running = ready(daemon(&world, endpoint), endpoint);
    for age in [21, 22] {
        world.repo.commit_pay(age, "Change pay");
        world.service.wait_for(1);
        eventually("the outcome", || {
            (state(endpoint, "shop/prod/pay")? == "in_sync").then_some(())
        });
        world.sent(&[("shop/prod/pay", body(age, "Change pay"))]);
    }
    running.terminate();
    assert_eq!(running.wait(), Some(0));
    world.nothing_sent();
    // What it did is on record.
    world.apply().exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_swapped_link_is_noticed() {
    let world = World::with_pay_applied();
    let first = world.repo.linked("main", &world.path("first"));
    let link = world.path("current");
    std::os::unix::fs::symlink(first.path(), &link).unwrap();
    let endpoint = Endpoint::free();
    let _running = ready(daemon(&world, endpoint).set("repo", &link), endpoint);
    world.repo.commit_pay(21, "Change pay");
    let second = world.repo.linked("main", &world.path("second"));
    let next = world.path("next");
    std::os::unix::fs::symlink(second.path(), &next).unwrap();
    std::fs::rename(&next, &link).unwrap();
    world.service.wait_for(1);
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn its_endpoints_report_health_readiness_status_and_metrics() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/bad.yaml", "nonsense\n").commit("Bad");
    let endpoint = Endpoint::free();
    let _running = ready(daemon(&world, endpoint), endpoint);
    assert_eq!(endpoint.get("/healthz").unwrap().status, 200);
    assert_eq!(endpoint.get("/nowhere").unwrap().status, 404);
    let status = endpoint.get("/api/status").unwrap().json();
    assert_eq!(status["ready"], json!(true));
    assert_eq!(status["source"]["ref"], json!("refs/heads/main"));
    assert_eq!(status["source"]["revision"], json!(world.repo.head()));
    assert_eq!(status["suspended"], Value::Null);
    assert!(
        status["last_pass"]["at"].is_number() || status["last_pass"]["at"].is_string(),
        "{status}"
    );
    assert!(status["last_pass"]["took_ms"].is_number(), "{status}");
    assert_eq!(state(endpoint, "shop/prod/bad").as_deref(), Some("held"));
    assert_eq!(state(endpoint, "shop/prod/pay").as_deref(), Some("in_sync"));
    let metrics = endpoint.get("/metrics").unwrap().body;
    for name in [
        "gitoggle_passes_total",
        "gitoggle_pass_duration_seconds",
        "gitoggle_publishes_total",
        "gitoggle_publish_duration_seconds",
        "gitoggle_toggles",
        "gitoggle_last_success_timestamp_seconds",
        "gitoggle_source_fetch_duration_seconds",
        "gitoggle_commit_to_applied_seconds",
        "gitoggle_suspended",
        "gitoggle_build_info",
    ] {
        assert!(
            metrics.contains(&format!("# TYPE {name}")) || metrics.contains(name),
            "{name} in {metrics}"
        );
    }
    assert!(
        metrics.contains(r#"gitoggle_toggles{state="held"} 1"#),
        "{metrics}"
    );
}

#[test]
fn it_is_not_ready_while_its_token_is_refused() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    world
        .service
        .always(|_| Answer::json(401, r#"{"message": "who are you?"}"#));
    let endpoint = Endpoint::free();
    let _running = daemon(&world, endpoint).start();
    world.service.wait_for(1);
    let reply = eventually("the end of the pass", || {
        endpoint
            .get("/readyz")
            .filter(|reply| reply.body.contains("token") || reply.body.contains("401"))
    });
    assert_eq!(reply.status, 503);
    assert_eq!(endpoint.get("/healthz").unwrap().status, 200);
}

#[test]
fn a_refused_toggle_is_parked_until_its_document_changes_or_an_operator_asks() {
    let world = World::with_pay_applied();
    let endpoint = Endpoint::free();
    let _running = ready(daemon(&world, endpoint), endpoint);
    world
        .service
        .always(|request: &Request| match request.toggle() == "shop/prod/pay" {
            true => Answer::json(422, r#"{"message": "no such attribute"}"#),
            false => Answer::applied(),
        });
    world.repo.commit_pay(21, "Change pay");
    eventually("the refusal", || {
        (state(endpoint, "shop/prod/pay")? == "failed").then_some(())
    });
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    assert_eq!(
        endpoint.get("/readyz").unwrap().status,
        200,
        "a single failure does not count"
    );

    world.repo.file("shop/prod/zoo.yaml", doc(3)).commit("Add zoo");
    eventually("the other one", || {
        (state(endpoint, "shop/prod/zoo")? == "in_sync").then_some(())
    });
    world.sent(&[("shop/prod/zoo", body(3, "Add zoo"))]);

    world.service.always(|_| Answer::applied());
    assert_eq!(admin(endpoint, "/reconcile", ""), 202);
    eventually("another try", || {
        (state(endpoint, "shop/prod/pay")? == "in_sync").then_some(())
    });
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_suspended_daemon_plans_and_publishes_nothing_even_after_a_restart() {
    let world = World::with_pay_applied();
    let endpoint = Endpoint::free();
    let running = ready(daemon(&world, endpoint), endpoint);
    assert_eq!(
        admin(
            endpoint,
            "/suspend",
            r#"{"reason": "release freeze", "for": "2h"}"#
        ),
        200
    );
    world.repo.commit_pay(21, "Change pay");
    eventually("the plan", || {
        (state(endpoint, "shop/prod/pay")? == "pending").then_some(())
    });
    let status = endpoint.get("/api/status").unwrap().json();
    assert_eq!(status["suspended"]["reason"], json!("release freeze"));
    world.nothing_sent();
    running.terminate();
    assert_eq!(running.wait(), Some(0));

    world.apply().exit(4).says(&["release freeze"]);
    world.nothing_sent();

    let endpoint = Endpoint::free();
    let _running = daemon(&world, endpoint).start();
    eventually("the plan", || {
        (state(endpoint, "shop/prod/pay")? == "pending").then_some(())
    });
    world.nothing_sent();
    assert_eq!(admin(endpoint, "/resume", ""), 200);
    eventually("the publish", || {
        (state(endpoint, "shop/prod/pay")? == "in_sync").then_some(())
    });
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn without_secrets_there_are_neither_webhooks_nor_commands() {
    let world = World::with_pay_applied();
    let endpoint = Endpoint::free();
    let _running = ready(daemon(&world, endpoint).unset("admin-token-file"), endpoint);
    assert_eq!(admin(endpoint, "/suspend", "{}"), 403);
    for host in ["github", "gitlab", "gitea", "generic"] {
        assert_eq!(endpoint.post(&format!("/webhook/{host}"), &[], b"{}").status, 404);
    }
}

#[test]
fn one_writes_and_the_other_takes_over() {
    let world = World::with_pay_applied();
    let (left, right) = (Endpoint::free(), Endpoint::free());
    let first = ready(daemon(&world, left), left);
    let _second = daemon(&world, right).start();
    let reply = eventually("the second one's endpoint", || right.get("/readyz"));
    assert_eq!(reply.status, 503, "{}", reply.body);
    world.repo.commit_pay(21, "Change pay");
    world.service.wait_for(1);
    first.terminate();
    assert_eq!(first.wait(), Some(0));
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    eventually("the second one to take over", || {
        right.get("/readyz").filter(|reply| reply.status == 200)
    });
    world.repo.commit_pay(22, "Change again");
    world.service.wait_for(1);
    world.sent(&[("shop/prod/pay", body(22, "Change again"))]);
}

#[test]
fn a_newer_commit_wins_over_the_retry_of_an_older_one() {
    let world = World::with_pay_applied();
    let endpoint = Endpoint::free();
    let _running = ready(daemon(&world, endpoint), endpoint);
    world.service.always(|_| Answer::status(503));
    world.repo.commit_pay(21, "Older");
    world.service.wait_for(1);
    world.repo.commit_pay(22, "Newer");
    eventually("the newer one", || {
        world
            .service
            .requests()
            .iter()
            .any(|request| request.comment() == "Newer")
            .then_some(())
    });
    world.service.always(|_| Answer::applied());
    eventually("the end", || {
        (state(endpoint, "shop/prod/pay")? == "in_sync").then_some(())
    });
    let comments: Vec<_> = world.service.take().iter().map(Request::comment).collect();
    let newer = comments.iter().position(|comment| comment == "Newer").unwrap();
    assert!(
        comments[newer..].iter().all(|comment| comment == "Newer"),
        "{comments:?}"
    );
}

#[test]
fn a_source_that_is_away_for_a_while_is_waited_for() {
    let world = World::with_pay_applied();
    let away = world.path("away");
    std::fs::rename(world.repo.path(), &away).unwrap();
    let endpoint = Endpoint::free();
    let _running = daemon(&world, endpoint).set("poll-interval", "1s").start();
    let waiting = format!("waiting for a checkout at `{}`", world.repo.path().display());
    eventually("a word about waiting", || {
        endpoint
            .get("/readyz")
            .filter(|reply| reply.status == 503 && reply.body.contains(&waiting))
    });
    std::fs::rename(&away, world.repo.path()).unwrap();
    eventually("readiness", || {
        endpoint.get("/readyz").filter(|reply| reply.status == 200)
    });
    world.nothing_sent();
}

#[test]
fn an_apply_beside_a_daemon_reports_that_it_waits_and_goes_on_when_the_daemon_ends() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    let log = world.path("apply.log");
    let apply = world.apply().start_logged(&log);
    eventually("a word about waiting", || {
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        (said.contains("the state is in use; waiting for it") && said.contains("process ")).then_some(())
    });
    daemon.stops_cleanly();
    assert_eq!(apply.wait(), Some(0));
    world.nothing_sent();
}
