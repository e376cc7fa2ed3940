//! Suspensions and other orders during passes and outages.

use serde_json::Value;

use crate::support::answer::Gate;
use crate::support::git_host::Door;
use crate::support::{Answer, Daemon, Remote, World, body, eventually};

#[test]
fn orders_are_answered_while_the_service_takes_its_time() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run.set("timeout", "200s"));
    let suspended = || daemon.status().unwrap()["suspended"].clone();
    world.service.always(|_| Answer::stores_and_hangs());
    world.repo.commit_pay(21, "Change pay");
    world.service.wait_for(1);
    assert_eq!(daemon.order("/suspend", r#"{"reason": "incident"}"#), 200);
    assert_eq!(suspended()["reason"], "incident");
    assert_eq!(daemon.metric("gitoggle_suspended"), Some(1.0));
    assert_eq!(daemon.order("/resume", ""), 200);
    assert_eq!(suspended(), Value::Null);
    assert_eq!(daemon.order("/suspend", ""), 200);
    assert_eq!(daemon.order("/reconcile", ""), 202);
    assert_ne!(suspended(), Value::Null);
}

#[test]
fn a_suspension_whose_time_is_over_is_so_at_once() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run.set("timeout", "200s").set("poll-interval", "600s"));
    world.service.always(|_| Answer::stores_and_hangs());
    assert_eq!(daemon.order("/suspend", r#"{"for": "1s"}"#), 200);
    world.repo.commit_pay(21, "Change pay");
    world.service.wait_for(1);
    eventually("the end of the suspension", || {
        let over = daemon.status()?["suspended"].is_null();
        (over && daemon.metric("gitoggle_suspended") == Some(0.0)).then_some(())
    });
}

#[test]
fn a_suspension_with_an_end_survives_a_restart_and_ends_by_itself() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    let order = r#"{"reason": "release freeze", "for": "4s"}"#;
    assert_eq!(daemon.order("/suspend", order), 200);
    let until = daemon.status().unwrap()["suspended"]["until"].clone();
    let end: jiff::Timestamp = until.as_str().unwrap().parse().unwrap();
    world.repo.commit_pay(21, "Change pay");
    daemon.becomes("shop/prod/pay", "pending");
    assert_eq!(daemon.metric("gitoggle_suspended"), Some(1.0));
    daemon.stops_cleanly();

    let daemon = Daemon::start(&world, |run| run);
    daemon.becomes("shop/prod/pay", "pending");
    assert_eq!(daemon.status().unwrap()["suspended"]["until"], until);
    world.service.wait_for(1);
    assert!(jiff::Timestamp::now() >= end, "it was not sent before");
    daemon.becomes("shop/prod/pay", "in_sync");
    assert_eq!(daemon.metric("gitoggle_suspended"), Some(0.0));
    assert_eq!(daemon.status().unwrap()["suspended"], Value::Null);
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.stops_cleanly();
}

#[test]
fn an_order_to_publish_nothing_is_not_held_up_by_a_remote_that_hangs() {
    let remote = Remote::settled(Door::Open);
    let daemon = remote.daemon(|run| run);
    let gate = Gate::default();
    let closed = gate.clone();
    let root = remote.world.path("hosted");
    remote
        .host
        .always(move |request| crate::support::git_host::answer(&root, &Door::Open, request).behind(&closed));
    remote.push(21, "Ask for 21 years");
    remote.host.take();
    assert_eq!(daemon.order("/reconcile", ""), 202);
    remote.host.wait_for(1);
    assert_eq!(daemon.order("/suspend", "{}"), 200);
    gate.open();
    daemon.becomes("shop/prod/pay", "pending");
    remote.world.nothing_sent();
    assert_eq!(daemon.order("/resume", ""), 200);
    remote.world.service.wait_for(1);
    remote.world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
    daemon.stops_cleanly();
}
