//! The triggers of passes, their frequency, and the effect of a newer commit on the retry of an older one.

mod orders;
mod turns;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::support::answer::Gate;
use crate::support::git_host::Door;
use crate::support::{Answer, Daemon, Remote, Request, World, body, doc, eventually};

/// Answers each request for the older document with an error, and accepts the newer one.
fn busy_with_older(request: &Request) -> Answer {
    match request.comment() == "Older" {
        true => Answer::status(503),
        false => Answer::applied(),
    }
}

/// Waits for `newer`, and asserts that it was sent once, after every attempt at `older`.
#[track_caller]
fn is_overtaken(world: &World, daemon: &Daemon, older: &Value, newer: &Value) {
    eventually("the newer document", || {
        let requests = world.service.requests();
        requests.iter().any(|request| request.body() == *newer).then_some(())
    });
    daemon.becomes("shop/prod/pay", "in_sync");
    let requests = world.service.take();
    let (last, before) = requests.split_last().expect("something was sent");
    assert_eq!(last.body(), *newer);
    assert!(!before.is_empty() && before.iter().all(|request| request.body() == *older));
}

pub(super) fn signal(daemon: &Daemon, name: &str) {
    let status = std::process::Command::new("kill").args([name, &daemon.id().to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()));
}

#[test]
fn a_burst_of_triggers_during_a_pass_is_one_more_pass() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    let gate = Gate::default();
    world.service.answers([Answer::applied().behind(&gate)]);
    world.repo.commit_pay(21, "Change pay");
    world.service.wait_for(1);
    // This pass is open until the service has answered.
    let before = daemon.passes();
    for _ in 0..200 {
        assert_eq!(daemon.order("/reconcile", ""), 202);
    }
    gate.open();
    eventually("the pass, and one more", || (daemon.passes() >= before + 2.0).then_some(()));
    // Any other request that the burst caused would precede this one.
    assert_eq!(daemon.order("/reconcile", ""), 202);
    eventually("the last pass", || (daemon.passes() >= before + 3.0).then_some(()));
    daemon.is_ready();
    assert_eq!(daemon.passes(), before + 3.0);
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.stops_cleanly();
}

#[test]
fn a_sighup_starts_a_pass() {
    let remote = Remote::settled(Door::Open);
    let daemon = remote.daemon(|run| run);
    remote.push(21, "Ask for 21 years");
    signal(&daemon, "-HUP");
    remote.world.service.wait_for(1);
    remote.world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
    daemon.stops_cleanly();
}

#[test]
fn a_newer_commit_on_a_remote_ends_the_retry_of_an_older_one_at_the_next_poll() {
    let remote = Remote::settled(Door::Open);
    let daemon = remote.daemon(|run| run.set("poll-interval", "200ms"));
    remote.world.service.always(busy_with_older);
    remote.push(21, "Older");
    remote.world.service.wait_for(1);
    remote.push(22, "Newer");
    is_overtaken(&remote.world, &daemon, &body(21, "Older"), &body(22, "Newer"));
    daemon.stops_cleanly();
}

#[test]
fn a_newer_commit_on_a_remote_ends_the_retry_of_an_older_one_at_a_trigger() {
    let remote = Remote::settled(Door::Open);
    let daemon = remote.daemon(|run| run);
    remote.world.service.always(busy_with_older);
    remote.push(21, "Older");
    assert_eq!(daemon.order("/reconcile", ""), 202);
    remote.world.service.wait_for(1);
    remote.push(22, "Newer");
    assert_eq!(daemon.order("/reconcile", ""), 202);
    is_overtaken(&remote.world, &daemon, &body(21, "Older"), &body(22, "Newer"));
    daemon.stops_cleanly();
}

#[test]
fn a_newer_commit_in_a_local_repository_ends_the_retry_of_an_older_one() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    world.service.always(busy_with_older);
    world.repo.commit_pay(21, "Older");
    world.service.wait_for(1);
    world.repo.commit_pay(22, "Newer");
    is_overtaken(&world, &daemon, &body(21, "Older"), &body(22, "Newer"));
    daemon.stops_cleanly();
}

#[test]
fn a_source_that_moves_all_the_time_keeps_no_pass_from_sending() {
    let world = World::new();
    let toggles: Vec<String> = (0..6).map(|number| format!("shop/prod/t{number}")).collect();
    for toggle in &toggles {
        world.repo.file(&format!("{toggle}.yaml"), doc(18));
    }
    world.repo.commit("Add six");
    // A request takes longer than the time between two commits.
    world.service.always(|_| Answer::applied().slowly(Duration::from_millis(300)));
    let daemon = Daemon::start(&world, |run| run.set("first-pass", "assert").set("poll-interval", "200ms"));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                if is_done.load(Ordering::SeqCst) {
                    break;
                }
                world.repo.file("notes.md", number.to_string()).commit("Move");
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        eventually("all requests", || (world.service.count() >= toggles.len()).then_some(()));
        is_done.store(true, Ordering::SeqCst);
    });
    for toggle in &toggles {
        daemon.becomes(toggle, "in_sync");
    }
    assert_eq!(world.service.take().len(), toggles.len(), "each once");
    daemon.stops_cleanly();
}

#[test]
fn a_commit_that_reverts_an_unknown_one_sends_what_it_goes_back_to() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    world.service.always(busy_with_older);
    world.repo.commit_pay(21, "Older");
    world.service.wait_for(1);
    world.repo.commit_pay(18, "Go back");
    is_overtaken(&world, &daemon, &body(21, "Older"), &body(18, "Go back"));
    daemon.stops_cleanly();
}

#[test]
fn the_head_of_a_linked_work_tree_is_followed_wherever_it_goes() {
    let world = World::with_pay_applied();
    let tree = world.repo.linked("main", &world.path("tree"));
    let daemon = Daemon::ready(&world, |run| run.set("repo", tree.path()));
    world.repo.commit_pay(21, "Change pay");
    // The branch has moved, and this work tree is on no branch.
    let passes = daemon.passes();
    assert_eq!(daemon.order("/reconcile", ""), 202);
    eventually("a look", || (daemon.passes() > passes).then_some(()));
    world.nothing_sent();
    tree.checkout(&world.repo.head());
    world.service.wait_for(1);
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.has_seen(&world.repo.head());
    daemon.stops_cleanly();
}

#[test]
fn a_bare_repository_whose_refs_are_packed_is_followed() {
    let world = World::with_pay_applied();
    let bare = world.repo.clone_bare(&world.path("bare.git"));
    let daemon = Daemon::ready(&world, |run| run.set("repo", bare.path()));
    for age in [21, 22] {
        bare.git(&["pack-refs", "--all"]);
        world.repo.commit_pay(age, "Change pay");
        let to = bare.path().display().to_string();
        world.repo.git(&["push", "--quiet", &to, "main"]);
        world.service.wait_for(1);
        world.sent(&[("shop/prod/pay", body(age, "Change pay"))]);
    }
    daemon.stops_cleanly();
}

#[test]
fn a_remote_that_has_not_moved_is_looked_up_and_not_fetched_and_the_service_is_left_alone() {
    let remote = Remote::settled(Door::Open);
    let connections = remote.world.service.connections();
    let daemon = remote.daemon(|run| run.set("poll-interval", "100ms"));
    let passes = daemon.passes();
    eventually("ten more passes", || (daemon.passes() >= passes + 10.0).then_some(()));
    daemon.stops_cleanly();
    let asked = remote.asked();
    assert!(asked.len() >= 10, "{asked:?}");
    for asked in asked {
        assert!(crate::support::remote::LOOKUP.contains(&&*asked), "{asked}");
    }
    assert_eq!(remote.world.service.connections(), connections);
}
