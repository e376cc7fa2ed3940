//! What makes a daemon look, how often, and what a newer commit does to the retry of an older one.

use std::time::Duration;

use crate::support::git_host::Door;
use crate::support::{Answer, Daemon, Remote, Request, World, body, doc, eventually};

/// A service that is busy for everybody, for longer than any test waits.
fn busy_for_long(_: &Request) -> Answer {
    Answer::status(503).header("Retry-After", "50")
}

/// Is busy for long with the older document, and takes the newer one.
fn busy_with_older(request: &Request) -> Answer {
    match request.comment() == "Older" {
        true => busy_for_long(request),
        false => Answer::applied(),
    }
}

fn signal(daemon: &Daemon, name: &str) {
    let status = std::process::Command::new("kill")
        .args([name, &daemon.id().to_string()])
        .status();
    assert!(status.is_ok_and(|status| status.success()));
}

#[test]
fn a_burst_of_triggers_during_a_pass_is_one_more_pass() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    world
        .service
        .answers([Answer::applied().slowly(Duration::from_secs(2))]);
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    world.service.wait_for(1);
    // This pass is open until the service has answered.
    let before = daemon.passes();
    for number in 0..200 {
        match number % 10 {
            0 => signal(&daemon, "-HUP"),
            _ => assert_eq!(daemon.order("/reconcile", ""), 202),
        }
    }
    eventually("the pass, and one more", || {
        (daemon.passes() >= before + 2.0).then_some(())
    });
    // Whatever else the burst had caused would come before this one.
    assert_eq!(daemon.order("/reconcile", ""), 202);
    eventually("the last pass", || {
        (daemon.passes() >= before + 3.0).then_some(())
    });
    daemon.is_ready();
    assert_eq!(daemon.passes(), before + 3.0);
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.ends_in_peace();
}

#[test]
fn a_hang_up_is_a_look() {
    let remote = Remote::settled(Door::Open);
    let daemon = remote.daemon(|run| run);
    remote.push(21, "Ask for 21 years");
    signal(&daemon, "-HUP");
    remote.world.service.wait_for(1);
    remote
        .world
        .sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
    daemon.ends_in_peace();
}

#[test]
fn a_newer_commit_on_a_remote_ends_the_retry_of_an_older_one_at_the_next_poll() {
    let remote = Remote::settled(Door::Open);
    let daemon = remote.daemon(|run| run.set("poll-interval", "200ms"));
    remote.world.service.always(busy_with_older);
    remote.push(21, "Older");
    remote.world.service.wait_for(1);
    remote.push(22, "Newer");
    remote.world.service.wait_for(2);
    daemon.becomes("shop/prod/pay", "in_sync");
    remote.world.sent(&[
        ("shop/prod/pay", body(21, "Older")),
        ("shop/prod/pay", body(22, "Newer")),
    ]);
    daemon.ends_in_peace();
}

#[test]
fn a_newer_commit_on_a_remote_ends_the_retry_of_an_older_one_when_somebody_says_so() {
    let remote = Remote::settled(Door::Open);
    let daemon = remote.daemon(|run| run);
    remote.world.service.always(busy_with_older);
    remote.push(21, "Older");
    assert_eq!(daemon.order("/reconcile", ""), 202);
    remote.world.service.wait_for(1);
    remote.push(22, "Newer");
    assert_eq!(daemon.order("/reconcile", ""), 202);
    remote.world.service.wait_for(2);
    daemon.becomes("shop/prod/pay", "in_sync");
    remote.world.sent(&[
        ("shop/prod/pay", body(21, "Older")),
        ("shop/prod/pay", body(22, "Newer")),
    ]);
    daemon.ends_in_peace();
}

#[test]
fn a_newer_commit_in_a_local_repository_ends_the_retry_of_an_older_one() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    world.service.always(busy_with_older);
    world.repo.file("shop/prod/pay.yaml", doc(21)).commit("Older");
    world.service.wait_for(1);
    world.repo.file("shop/prod/pay.yaml", doc(22)).commit("Newer");
    world.service.wait_for(2);
    daemon.becomes("shop/prod/pay", "in_sync");
    world.sent(&[
        ("shop/prod/pay", body(21, "Older")),
        ("shop/prod/pay", body(22, "Newer")),
    ]);
    daemon.ends_in_peace();
}

#[test]
fn a_commit_that_reverts_an_unknown_one_sends_what_it_goes_back_to() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    world.service.always(busy_with_older);
    world.repo.file("shop/prod/pay.yaml", doc(21)).commit("Older");
    world.service.wait_for(1);
    world.repo.file("shop/prod/pay.yaml", doc(18)).commit("Go back");
    world.service.wait_for(2);
    daemon.becomes("shop/prod/pay", "in_sync");
    world.sent(&[
        ("shop/prod/pay", body(21, "Older")),
        ("shop/prod/pay", body(18, "Go back")),
    ]);
    daemon.ends_in_peace();
}

#[test]
fn a_parked_toggle_is_tried_again_when_its_document_changes() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run.set("poll-interval", "200ms"));
    world.service.always(|request| match request.comment().as_str() {
        "Refused" => Answer::json(422, r#"{"message": "no such attribute"}"#),
        _ => Answer::applied(),
    });
    world.repo.file("shop/prod/pay.yaml", doc(21)).commit("Refused");
    daemon.becomes("shop/prod/pay", "failed");
    let passes = daemon.passes();
    eventually("three more passes", || {
        (daemon.passes() >= passes + 3.0).then_some(())
    });
    world.sent(&[("shop/prod/pay", body(21, "Refused"))]);
    world.repo.file("shop/prod/zoo.yaml", doc(1)).commit("Another");
    daemon.becomes("shop/prod/zoo", "in_sync");
    world.sent(&[("shop/prod/zoo", body(1, "Another"))]);
    world.repo.file("shop/prod/pay.yaml", doc(22)).commit("Repaired");
    daemon.becomes("shop/prod/pay", "in_sync");
    world.sent(&[("shop/prod/pay", body(22, "Repaired"))]);
    daemon.ends_in_peace();
}

#[test]
fn a_suspension_with_an_end_survives_a_restart_and_ends_by_itself() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    let order = r#"{"reason": "release freeze", "for": "4s"}"#;
    assert_eq!(daemon.order("/suspend", order), 200);
    let until = daemon.status().unwrap()["suspended"]["until"].as_i64().unwrap();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    daemon.becomes("shop/prod/pay", "pending");
    assert_eq!(daemon.metric("gitoggle_suspended"), Some(1.0));
    daemon.ends_in_peace();

    let daemon = Daemon::start(&world, |run| run);
    daemon.becomes("shop/prod/pay", "pending");
    assert_eq!(daemon.status().unwrap()["suspended"]["until"], until);
    world.service.wait_for(1);
    assert!(
        jiff::Timestamp::now().as_second() >= until,
        "it was not sent before"
    );
    daemon.becomes("shop/prod/pay", "in_sync");
    assert_eq!(daemon.metric("gitoggle_suspended"), Some(0.0));
    assert_eq!(daemon.status().unwrap()["suspended"], serde_json::Value::Null);
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.ends_in_peace();
}
