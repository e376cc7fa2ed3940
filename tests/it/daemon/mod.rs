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

use gitoggle::config::Command;
use gitoggle::model::Forge;
use serde_json::{Value, json};

use crate::support::{Answer, Daemon, Request, World, body, doc, eventually};

#[test]
fn a_commit_is_noticed_and_published() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    for age in [21, 22] {
        world.repo.commit_pay(age, "Change pay");
        world.service.wait_for(1);
        daemon.becomes("shop/prod/pay", "in_sync");
        world.sent(&[("shop/prod/pay", body(age, "Change pay"))]);
    }
    daemon.stops_cleanly();
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
    let _daemon = Daemon::ready(&world, |run| run.set("repo", &link));
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
    let daemon = Daemon::ready(&world, |run| run);
    assert_eq!(daemon.endpoint.get("/healthz").unwrap().status, 200);
    assert_eq!(daemon.endpoint.get("/nowhere").unwrap().status, 404);
    let status = daemon.endpoint.get("/api/status").unwrap().json();
    assert_eq!(status["ready"], json!(true));
    assert_eq!(status["source"]["ref"], json!("refs/heads/main"));
    assert_eq!(status["source"]["revision"], json!(world.repo.head()));
    assert_eq!(status["suspended"], Value::Null);
    assert!(status["last_pass"]["at"].is_number() || status["last_pass"]["at"].is_string(), "{status}");
    assert!(status["last_pass"]["took_ms"].is_number(), "{status}");
    assert_eq!(daemon.state("shop/prod/bad").as_deref(), Some("held"));
    assert_eq!(daemon.state("shop/prod/pay").as_deref(), Some("in_sync"));
    let metrics = daemon.endpoint.get("/metrics").unwrap().body;
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
        assert!(metrics.contains(&format!("# TYPE {name}")) || metrics.contains(name), "{name} in {metrics}");
    }
    assert!(metrics.contains(r#"gitoggle_toggles{state="held"} 1"#), "{metrics}");
}

#[test]
fn it_is_not_ready_while_its_token_is_refused() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    world.service.always(|_| Answer::json(401, r#"{"message": "who are you?"}"#));
    let daemon = Daemon::start(&world, |run| run);
    world.service.wait_for(1);
    let reply = eventually("the end of the pass", || {
        daemon
            .endpoint
            .get("/readyz")
            .filter(|reply| reply.body.contains("token") || reply.body.contains("401"))
    });
    assert_eq!(reply.status, 503);
    assert_eq!(daemon.endpoint.get("/healthz").unwrap().status, 200);
}

#[test]
fn a_refused_toggle_is_parked_until_its_document_changes_or_an_operator_asks() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    world.service.always(|request: &Request| match request.toggle() == "shop/prod/pay" {
        true => Answer::json(422, r#"{"message": "no such attribute"}"#),
        false => Answer::applied(),
    });
    world.repo.commit_pay(21, "Change pay");
    daemon.becomes("shop/prod/pay", "failed");
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    assert_eq!(daemon.endpoint.get("/readyz").unwrap().status, 200, "a single failure does not count");

    world.repo.file("shop/prod/zoo.yaml", doc(3)).commit("Add zoo");
    daemon.becomes("shop/prod/zoo", "in_sync");
    world.sent(&[("shop/prod/zoo", body(3, "Add zoo"))]);

    world.service.always(|_| Answer::applied());
    assert_eq!(daemon.order("/reconcile", ""), 202);
    daemon.becomes("shop/prod/pay", "in_sync");
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_suspended_daemon_plans_and_publishes_nothing_even_after_a_restart() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    assert_eq!(daemon.order("/suspend", r#"{"reason": "release freeze", "for": "2h"}"#), 200);
    world.repo.commit_pay(21, "Change pay");
    daemon.becomes("shop/prod/pay", "pending");
    let status = daemon.endpoint.get("/api/status").unwrap().json();
    assert_eq!(status["suspended"]["reason"], json!("release freeze"));
    world.nothing_sent();
    daemon.stops_cleanly();

    world.apply().exit(4).says(&["release freeze"]);
    world.nothing_sent();

    let daemon = Daemon::start(&world, |run| run);
    daemon.becomes("shop/prod/pay", "pending");
    world.nothing_sent();
    assert_eq!(daemon.order("/resume", ""), 200);
    daemon.becomes("shop/prod/pay", "in_sync");
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn without_secrets_there_are_neither_webhooks_nor_commands() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run.unset("admin-token-file"));
    let manual = include_str!("../../../deploy/daemon.md");
    let help = world.bare("run --help").exit(0).both();
    for command in Command::ALL.into_iter().filter(|command| command.is_sent_to_daemon()) {
        let path = format!("/{}", command.as_str());
        assert_eq!(daemon.order(&path, "{}"), 403, "{path}: in src/admin/server.rs");
        assert!(manual.contains(&format!("`POST {path}`")), "{path}: in deploy/daemon.md");
        assert!(help.contains(&format!("{path}`")), "{path}: `admin_token_file` in src/config/settings.rs");
    }
    for host in Forge::WORDS.iter().chain(&["generic"]) {
        assert_eq!(daemon.endpoint.post(&format!("/webhook/{host}"), &[], b"{}").status, 404);
    }
}

#[test]
fn one_writes_and_the_other_takes_over() {
    let world = World::with_pay_applied();
    let first = Daemon::ready(&world, |run| run);
    let second = Daemon::start(&world, |run| run);
    let reply = eventually("the second one's endpoint", || second.endpoint.get("/readyz"));
    assert_eq!(reply.status, 503, "{}", reply.body);
    world.repo.commit_pay(21, "Change pay");
    world.service.wait_for(1);
    first.stops_cleanly();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    second.is_ready();
    world.repo.commit_pay(22, "Change again");
    world.service.wait_for(1);
    world.sent(&[("shop/prod/pay", body(22, "Change again"))]);
}

#[test]
fn a_newer_commit_wins_over_the_retry_of_an_older_one() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    world.service.always(|_| Answer::status(503));
    world.repo.commit_pay(21, "Older");
    world.service.wait_for(1);
    world.repo.commit_pay(22, "Newer");
    eventually("the newer one", || {
        world.service.requests().iter().any(|request| request.comment() == "Newer").then_some(())
    });
    world.service.always(|_| Answer::applied());
    daemon.becomes("shop/prod/pay", "in_sync");
    let comments: Vec<_> = world.service.take().iter().map(Request::comment).collect();
    let newer = comments.iter().position(|comment| comment == "Newer").unwrap();
    assert!(comments[newer..].iter().all(|comment| comment == "Newer"), "{comments:?}");
}

#[test]
fn a_source_that_is_away_for_a_while_is_waited_for() {
    let world = World::with_pay_applied();
    let away = world.path("away");
    std::fs::rename(world.repo.path(), &away).unwrap();
    let daemon = Daemon::start(&world, |run| run.set("poll-interval", "1s"));
    let waiting = format!("waiting for a checkout at `{}`", world.repo.path().display());
    eventually("a word about waiting", || {
        daemon.endpoint.get("/readyz").filter(|reply| reply.status == 503 && reply.body.contains(&waiting))
    });
    std::fs::rename(&away, world.repo.path()).unwrap();
    daemon.is_ready();
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
