//! SIGTERM in the middle of anything: nothing new starts, what is in flight is recorded, the exit code is 0.

use std::time::Duration;

use serde_json::Value;

use crate::support::git_host::Door;
use crate::support::{Answer, Daemon, Remote, Repo, Request, World, body, doc, eventually};

#[test]
fn what_is_in_flight_is_finished_when_it_is_asked_to_end() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    world.service.answers([Answer::applied().slowly(Duration::from_millis(500))]);
    world.repo.file("shop/prod/pay.yaml", doc(21)).file("shop/prod/zoo.yaml", doc(3)).commit("Change both");
    world.service.wait_for(1);
    daemon.stops_cleanly();
    world.sent(&[("shop/prod/pay", body(21, "Change both"))]);
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/zoo", body(3, "Change both"))]);
}

#[test]
fn a_second_signal_leaves_at_once() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run.set("timeout", "60s"));
    world.service.answers([Answer::stores_and_hangs()]);
    world.repo.commit_pay(21, "Change pay");
    world.service.wait_for(1);
    let start = std::time::Instant::now();
    daemon.terminate();
    // The first signal is handled once the endpoint is unready or closed. The second one follows.
    eventually("the first signal's effect", || {
        daemon.endpoint.get("/readyz").is_none_or(|reply| reply.status == 503).then_some(())
    });
    daemon.terminate();
    daemon.wait();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    world.service.sender_died();
    world.service.take();
    // The outcome is in the journal, so the next process does not repeat the request.
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_daemon_ends_cleanly_in_the_middle_of_a_pass_of_many_toggles() {
    let world = World::new();
    let toggles: Vec<_> = (0..60).map(|number| format!("shop/prod/t{number:02}")).collect();
    let change_all = |age, message: &str| {
        for toggle in &toggles {
            world.repo.file(&format!("{toggle}.yaml"), doc(age));
        }
        world.repo.commit(&format!("{message}\n\nGitoggle-Allow: mass-change"));
    };
    change_all(18, "Add");
    world.settle();
    let daemon = Daemon::ready(&world, |run| run);
    world.service.always(|_| Answer::applied().slowly(Duration::from_millis(20)));
    change_all(21, "Change");
    world.service.wait_for(7);
    daemon.stops_cleanly();
    let before: Vec<_> = world.service.take();
    assert!(before.len() < toggles.len(), "it was in the middle");
    world.apply().exit(0).any_output();
    let after = world.service.take();
    let sent: Vec<_> = before.iter().chain(&after).map(Request::toggle).collect();
    assert_eq!(sent, toggles, "each once, in order");
}

#[test]
fn a_daemon_ends_cleanly_while_a_pass_waits_to_retry() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    world.service.always(|_| Answer::status(503).header("Retry-After", "50"));
    world.repo.commit_pay(21, "Change pay");
    world.service.wait_for(1);
    daemon.stops_cleanly();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    world.service.always(|_| Answer::applied());
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_daemon_ends_cleanly_between_passes() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    // A longer wait than any pass makes ends the pass.
    world.service.always(|_| Answer::status(503).header("Retry-After", "3600"));
    let daemon = Daemon::start(&world, |run| run);
    daemon.is_unready_for(&["waiting until", "(Retry-After)"]);
    daemon.stops_cleanly();
    let sent = world.service.take();
    assert!(sent.iter().all(|request| request.body() == body(21, "Change pay")));
    world.service.always(|_| Answer::applied());
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_follower_ends_cleanly() {
    let world = World::with_pay_applied();
    let writer = Daemon::ready(&world, |run| run);
    let follower = Daemon::start(&world, |run| run);
    follower.is_unready_for(&["another process is the writer", &writer.id().to_string()]);
    follower.says(&["another process is the writer", "waiting"]);
    follower.stops_cleanly();
    world.repo.commit_pay(21, "Change pay");
    world.service.wait_for(1);
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    writer.stops_cleanly();
}

#[test]
fn a_daemon_ends_cleanly_while_a_publish_gets_no_response() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run.set("timeout", "500ms"));
    world.service.always(|_| Answer::stores_and_hangs());
    world.repo.commit_pay(21, "Change pay");
    world.service.wait_for(1);
    daemon.stops_cleanly();
    let sent = world.service.take();
    assert_eq!(sent.len(), 1, "it timed out and was not tried again");
    world.service.always(|_| Answer::applied());
    world.status().exit_in(&[0, 1, 4]).says(&["shop/prod/pay", "pending"]);
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_daemon_ends_cleanly_while_the_remote_does_not_respond() {
    let remote = Remote::settled(Door::Open);
    remote.host_answers(|_| Some(Answer::hangs()));
    let daemon = Daemon::start(&remote.world, |run| run.set("repo", remote.url()));
    remote.host.wait_for(1);
    daemon.is_unready_for(&["no pass has"]);
    daemon.stops_cleanly();
    remote.world.nothing_sent();
}

#[test]
fn a_daemon_ends_cleanly_while_the_state_remote_does_not_respond() {
    let remote = Remote::settled(Door::Open);
    Repo::bare(&remote.world.path("hosted/state.git"));
    remote.host_answers(|request| request.path.starts_with("/state.git").then(Answer::hangs));
    let daemon = Daemon::start(&remote.world, |run| {
        run.set("repo", remote.url())
            .set("state-remote", format!("{}/state.git", remote.host.url()))
            .set("state-dir", remote.world.path("other-state"))
    });
    eventually("a look at the state", || {
        let asked = remote.host.requests();
        asked.iter().any(|request| request.path.starts_with("/state.git")).then_some(())
    });
    daemon.stops_cleanly();
    remote.world.nothing_sent();
}

#[test]
fn an_interrupt_ends_a_daemon_like_a_termination() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    let status = std::process::Command::new("kill").args(["-INT", &daemon.id().to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()));
    assert_eq!(daemon.wait(), Some(0));
    world.nothing_sent();
}

#[test]
fn a_power_cut_of_the_writer_hands_what_was_open_to_the_one_that_waits() {
    let world = World::with_pay_applied();
    let first = Daemon::ready(&world, |run| run.set("timeout", "60s"));
    let second = Daemon::start(&world, |run| run);
    second.is_unready_for(&["another process is the writer"]);
    world.service.answers([Answer::stores_and_hangs()]);
    world.repo.commit_pay(21, "Change pay");
    world.service.wait_for(1);
    first.kill();
    world.service.sender_died();
    second.is_ready();
    world.sent(&[("shop/prod/pay", body(21, "Change pay")), ("shop/prod/pay", body(21, "Change pay"))]);
    second.stops_cleanly();
}

const TOGGLES: [&str; 4] = ["shop/prod/a", "shop/prod/b", "web/prod/a", "web/prod/b"];

/// Each toggle was sent once or twice, always with this body.
fn each_was_sent_once_or_twice(before: &[Request], after: &[Request], expected: &Value) {
    for toggle in TOGGLES {
        let requests = before.iter().chain(after);
        let of_toggle = requests.filter(|request| request.toggle() == toggle);
        let bodies: Vec<_> = of_toggle.map(Request::body).collect();
        assert!((1..=2).contains(&bodies.len()), "{toggle}: {bodies:?}");
        assert!(bodies.iter().all(|body| body == expected), "{toggle}: {bodies:?}");
    }
}

/// Only the last request of an environment can have been open, so no other one is sent again.
fn only_the_last_is_repeated(before: &[Request], after: &[Request]) {
    for lane in ["shop/prod", "web/prod"] {
        let sent: Vec<_> =
            before.iter().map(Request::toggle).filter(|toggle| toggle.starts_with(lane)).collect();
        let mut again = after.iter().map(Request::toggle).filter(|toggle| sent.contains(toggle));
        assert!(
            again.all(|toggle| Some(&toggle) == sent.last()),
            "only the last of {sent:?} can have been open: {after:?}"
        );
    }
}

/// Kills the daemon after each number of requests; what comes after is what the one before could not know.
#[test]
fn a_power_cut_after_any_request_repeats_only_what_was_open() {
    let world = World::new();
    let change_all = |age| {
        for toggle in TOGGLES {
            world.repo.file(&format!("{toggle}.yaml"), doc(age));
        }
        world.repo.commit(&format!("Ask for {age} years"));
    };
    change_all(1);
    world.settle();
    let mut daemon = Daemon::ready(&world, |run| run);
    for (age, count) in (2..).zip([0, 1, 1, 2, 2, 3, 3, 4, 4]) {
        world.service.always(|_| Answer::applied().slowly(Duration::from_millis(5)));
        change_all(age);
        world.service.wait_for(count);
        daemon.kill();
        world.service.sender_died();
        let before = world.service.take();
        daemon = Daemon::ready(&world, |run| run);
        daemon.has_seen(&world.repo.head());
        for toggle in TOGGLES {
            daemon.becomes(toggle, "in_sync");
        }
        let after = world.service.take();
        each_was_sent_once_or_twice(&before, &after, &body(age, &format!("Ask for {age} years")));
        only_the_last_is_repeated(&before, &after);
        for request in before.iter().chain(&after) {
            assert_eq!(request.open_for_toggle, 1);
        }
    }
    daemon.stops_cleanly();
    world.apply().exit(0).any_output();
    world.nothing_sent();
}
