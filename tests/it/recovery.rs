//! The recovery procedures of README.md.

use std::time::{Duration, Instant};

use crate::support::files::copy;
use crate::support::{Answer, Daemon, Repo, World, body, doc, eventually};

#[test]
fn a_moved_repository_publishes_nothing_again() {
    let world = World::with_pay_applied();
    let moved = world.repo.clone_bare(&world.path("moved.git"));
    std::fs::rename(world.repo.path(), world.path("gone")).unwrap();
    world.apply().set("repo", moved.path()).exit(0).any_output();
    world.nothing_sent();
    let work = Repo::at(&world.path("gone"));
    work.commit_pay(21, "Change pay");
    work.git(&["push", "-q", moved.path().to_str().unwrap(), "main"]);
    world.apply().set("repo", moved.path()).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_renamed_service_is_adopted_and_another_service_gets_every_document() {
    let world = World::with_pay_applied();
    world.apply().set("base-url", "https://renamed.invalid").exit(4).any_output();
    for (choice, sent) in [("adopt", vec![]), ("assert", vec![("shop/prod/pay", body(18, "Add pay"))])] {
        let state = world.path(&format!("state-{choice}"));
        let apply = || world.apply().set("state-dir", &state);
        apply().set("first-pass", choice).exit(0).any_output();
        world.sent(&sent);
        apply().exit(0).any_output();
        world.nothing_sent();
    }
}

#[test]
fn a_restored_backup_repeats_only_later_publishes() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/search.yaml", doc(1)).commit("Add search");
    world.apply().exit(0).any_output();
    world.service.take();
    let backup = world.path("backup");
    copy(&world.state(), &backup);
    world.repo.commit_pay(21, "Change pay");
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    std::fs::remove_dir_all(world.state()).unwrap();
    copy(&backup, &world.state());
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    world.apply().exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_state_that_is_moved_away_is_a_first_pass() {
    let world = World::with_pay_applied();
    std::fs::rename(world.state(), world.path("damaged")).unwrap();
    world.apply().exit(4).says(&["--first-pass"]);
    world.nothing_sent();
    world.apply().set("first-pass", "adopt").exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn the_same_document_is_sent_again_at_once() {
    let world = crate::state::interrupted();
    let start = Instant::now();
    world.apply().set("timeout", "100s").exit(0).any_output();
    assert!(start.elapsed() < Duration::from_secs(100));
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn an_unknown_outcome_of_the_same_process_causes_no_delay() {
    let world = World::with_pay_applied();
    // Longer than the timeout of `eventually`.
    let _daemon = Daemon::ready(&world, |run| run.set("timeout", "100s"));
    world.service.always(|_| Answer::status(503));
    world.repo.commit_pay(21, "Change pay");
    world.service.wait_for(1);
    world.repo.commit_pay(22, "Newer");
    eventually("the newer document", || {
        let requests = world.service.requests();
        let mut requests = requests.iter();
        requests.any(|request| request.comment() == "Newer").then_some(())
    });
}

#[test]
fn a_newer_document_waits_until_the_request_of_a_killed_process_has_ended() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/zoo.yaml", doc(1)).commit("Add zoo");
    world.settle();
    world.repo.commit_pay(21, "Change pay");
    world.service.answers([Answer::stores_and_hangs()]);
    let killed = world.apply().start();
    world.service.wait_for(1);
    killed.kill();
    world.service.sender_died();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    world.repo.file("shop/prod/pay.yaml", doc(22)).file("shop/prod/zoo.yaml", doc(2)).commit("Change both");
    let start = Instant::now();
    let timeout = Duration::from_secs(2);
    world.apply().set("timeout", "2s").exit(0).any_output();
    let requests =
        world.sent(&[("shop/prod/zoo", body(2, "Change both")), ("shop/prod/pay", body(22, "Change both"))]);
    let waited = requests[1].at.duration_since(start);
    assert!(waited >= timeout, "sent after {waited:?}");
    world.apply().set("timeout", "2s").exit(0).any_output();
    world.nothing_sent();
}
