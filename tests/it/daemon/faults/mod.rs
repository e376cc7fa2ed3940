//! What a daemon goes through: hosts and services that are slow, silent, gone or not what they say. It says
//! what is wrong, never ends because of it, and goes on by itself once it is over.

mod credentials;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::git_host::Door;
use crate::support::{Answer, Daemon, Remote, Repo, Request, World, body, doc, eventually};

/// Something that a test changes while the harness looks at it.
struct Shared<T>(Arc<Mutex<T>>);

impl<T: Clone> Shared<T> {
    fn new(value: T) -> Self {
        Self(Arc::new(Mutex::new(value)))
    }

    fn is(&self) -> T {
        self.0.lock().unwrap().clone()
    }

    fn becomes(&self, value: T) {
        *self.0.lock().unwrap() = value;
    }

    fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

fn is_fetch(request: &Request) -> bool {
    let is_for = |command: &[u8]| request.bytes.windows(command.len()).any(|window| window == command);
    request.method == "POST" && request.path.ends_with("/git-upload-pack") && is_for(b"command=fetch")
}

/// A world with twelve toggles that were applied, and a change of all of them that was not.
fn twelve_changed() -> World {
    let world = World::new();
    change_twelve(&world, 18, "Add");
    world.settle();
    change_twelve(&world, 21, "Change");
    world
}

fn change_twelve(world: &World, age: u32, message: &str) {
    for number in 0..12 {
        world.repo.file(&format!("shop/prod/t{number}.yaml"), doc(age));
    }
    world.repo.commit(message);
}

/// Waits until the service has confirmed the change of each of the twelve.
#[track_caller]
fn twelve_arrive(world: &World, daemon: &Daemon) {
    for number in 0..12 {
        daemon.becomes(&format!("shop/prod/t{number}"), "in_sync");
    }
    daemon.is_ready();
    let confirmed = world.service.take();
    let confirmed: Vec<_> = confirmed.iter().filter(|request| request.confirmed).collect();
    for number in 0..12 {
        let toggle = format!("shop/prod/t{number}");
        let bodies: Vec<_> = confirmed
            .iter()
            .filter(|request| request.toggle() == toggle)
            .map(|request| request.body())
            .collect();
        assert_eq!(bodies, [body(21, "Change")], "{toggle}: confirmed once");
    }
}

#[test]
fn a_remote_that_hangs_during_a_fetch_is_reported_and_does_not_block_the_end() {
    let remote = Remote::settled(Door::Open);
    let daemon = remote.daemon(|run| run.set("stale-after", "1s").set("poll-interval", "500ms"));
    remote.host_answers(|request| is_fetch(request).then(Answer::stores_and_hangs));
    remote.push(21, "Ask for 21 years");
    eventually("the fetch", || remote.host.requests().iter().any(is_fetch).then_some(()));
    daemon.is_unready_for(&["stale"]);
    daemon.stops_cleanly();
    remote.world.nothing_sent();
    remote.host_answers(|_| None);
    remote.apply().exit(0).any_output();
    remote.world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
}

#[test]
fn a_fetch_that_breaks_off_is_repeated() {
    let remote = Remote::settled(Door::Open);
    let breaks = Shared::new(true);
    let broken = breaks.share();
    remote.host_answers(move |request| {
        let half = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-result\r\n\
            Content-Length: 4000\r\n\r\n0008NAK\n";
        (is_fetch(request) && broken.is()).then(|| Answer::raw(half))
    });
    let daemon = remote.daemon(|run| run.set("poll-interval", "1s"));
    remote.push(21, "Ask for 21 years");
    daemon.is_unready_for(&["could not read the source", "127.0.0.1"]);
    remote.world.nothing_sent();
    breaks.becomes(false);
    daemon.is_ready();
    remote.world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
    daemon.stops_cleanly();
}

#[test]
fn a_remote_that_answers_slowly_is_waited_for() {
    let remote = Remote::settled(Door::Open);
    let daemon = remote.daemon(|run| run.set("poll-interval", "100ms"));
    let root = remote.world.path("hosted");
    remote.host.always(move |request| {
        crate::support::git_host::answer(&root, &Door::Open, request).slowly(Duration::from_millis(200))
    });
    for age in [21, 22] {
        remote.push(age, "Change pay");
        remote.world.service.wait_for(1);
        remote.world.sent(&[("shop/prod/pay", body(age, "Change pay"))]);
    }
    daemon.is_ready();
    daemon.stops_cleanly();
}

#[test]
fn a_remote_that_was_away_is_followed_again_without_a_new_commit() {
    for away in [Answer::closes(), Answer::status(503), Answer::html(200)] {
        let remote = Remote::settled(Door::Open);
        let gone = Shared::new(false);
        let is_gone = gone.share();
        remote.host_answers(move |_| is_gone.is().then(|| away.clone()));
        let daemon = remote.daemon(|run| run.set("poll-interval", "200ms"));
        gone.becomes(true);
        remote.push(21, "Meanwhile");
        daemon.is_unready_for(&["could not read the source", "127.0.0.1"]);
        daemon.says(&["\"error\"", "the pass failed"]);
        remote.world.nothing_sent();
        gone.becomes(false);
        remote.world.service.wait_for(1);
        daemon.is_ready();
        daemon.says(&["recovered"]);
        remote.world.sent(&[("shop/prod/pay", body(21, "Meanwhile"))]);
        assert_eq!(daemon.said("the pass failed"), 1, "{}", daemon.log());
        daemon.stops_cleanly();
    }
}

#[test]
fn a_remote_that_comes_back_rewritten_is_followed_and_reported() {
    let remote = Remote::settled(Door::Open);
    let before = remote.world.repo.head();
    let gone = Shared::new(false);
    let is_gone = gone.share();
    remote.host_answers(move |_| is_gone.is().then(Answer::closes));
    let daemon = remote.daemon(|run| run.set("poll-interval", "200ms"));
    remote.push(21, "A mistake");
    remote.world.service.wait_for(1);
    daemon.has_seen(&remote.world.repo.head());
    remote.world.service.take();

    gone.becomes(true);
    daemon.is_unready_for(&["could not read the source"]);
    remote.world.repo.force(&before);
    remote.push(22, "What was meant");
    gone.becomes(false);
    remote.world.service.wait_for(1);
    remote.world.sent(&[("shop/prod/pay", body(22, "What was meant"))]);
    daemon.says(&["\"warn\"", "history was rewritten"]);
    daemon.has_seen(&remote.world.repo.head());
    let count = daemon.said("history was rewritten");
    let passes = daemon.passes();
    eventually("two more passes", || (daemon.passes() >= passes + 2.0).then_some(()));
    assert_eq!(daemon.said("history was rewritten"), count, "it is logged once");
    remote.world.nothing_sent();
    daemon.stops_cleanly();
}

#[test]
fn a_name_that_does_not_resolve_is_reported() {
    let world = World::with_pay_applied();
    let daemon = Daemon::start(&world, |run| run.set("repo", "https://git.nowhere.invalid/toggles.git"));
    daemon.is_unready_for(&["could not read the source", "git.nowhere.invalid"]);
    daemon.stops_cleanly();

    let world = twelve_changed();
    let daemon = Daemon::start(&world, |run| {
        run.set("base-url", "https://toggles.nowhere.invalid")
            .set("give-up-after", "1s")
            .set("state-dir", world.path("other-state"))
            .set("first-pass", "assert")
    });
    daemon.is_unready_for(&["the last pass failed", "toggles.nowhere.invalid"]);
    daemon.stops_cleanly();
    world.nothing_sent();
}

#[test]
fn a_service_that_never_responds_is_reported_and_gets_everything_once_it_does() {
    let world = twelve_changed();
    world.service.always(|_| Answer::hangs());
    let daemon = Daemon::start(&world, |run| {
        run.set("timeout", "100ms")
            .set("poll-interval", "1s")
            .set("give-up-after", "3s")
            .set("max-change-ratio", "1")
    });
    daemon.is_unready_for(&["the last pass failed", "in a row", "--timeout"]);
    assert!(
        daemon.metric("gitoggle_publishes_total{outcome=\"lost\"}") >= Some(10.0),
        "{:?}",
        daemon.endpoint.get("/metrics")
    );
    world.service.always(|_| Answer::applied());
    twelve_arrive(&world, &daemon);
    daemon.stops_cleanly();
}

#[test]
fn a_service_that_refuses_connections_gets_everything_once_it_is_there() {
    let world = twelve_changed();
    // An unused port stands in for a service that is down.
    let down = crate::support::http::Endpoint::free();
    let proxy = crate::support::proxy::Proxy::to(&down.address());
    let daemon = Daemon::start(&world, |run| {
        run.set("poll-interval", "1s")
            .set("give-up-after", "1s")
            .set("max-change-ratio", "1")
            .env("HTTPS_PROXY", proxy.url())
    });
    daemon.is_unready_for(&["the last pass failed"]);
    world.nothing_sent();
    proxy.leads_to(&format!("127.0.0.1:{}", world.service.port()));
    twelve_arrive(&world, &daemon);
    daemon.stops_cleanly();
}

#[test]
fn a_rewritten_history_that_is_not_to_be_followed_stops_everything_until_it_is_back() {
    let remote = Remote::settled(Door::Open);
    let daemon = remote.daemon(|run| run.set("poll-interval", "200ms").set("history", "refuse"));
    let first = remote.world.repo.head();
    remote.push(21, "A second one");
    remote.world.service.wait_for(1);
    daemon.has_seen(&remote.world.repo.head());
    let second = remote.world.repo.head();
    remote.world.service.take();
    remote.world.repo.force(&first);
    remote.push(22, "Another second one");
    daemon.is_unready_for(&["history was rewritten"]);
    remote.world.repo.force(&second);
    remote.push(23, "A third one");
    remote.world.service.wait_for(1);
    daemon.is_ready();
    remote.world.sent(&[("shop/prod/pay", body(23, "A third one"))]);
    daemon.stops_cleanly();
}

#[test]
fn a_branch_that_vanishes_is_reported_and_no_toggle_counts_as_removed() {
    let remote = Remote::settled(Door::Open);
    let daemon =
        remote.daemon(|run| run.set("poll-interval", "200ms").set("ref", "main").set("on-remove", "disable"));
    let hosted = Repo::at(&remote.world.path("hosted/toggles.git"));
    hosted.git(&["update-ref", "-d", "refs/heads/main"]);
    daemon.is_unready_for(&["could not read the source", "main"]);
    remote.world.nothing_sent();
    remote.push(21, "It is back");
    remote.world.service.wait_for(1);
    daemon.is_ready();
    remote.world.sent(&[("shop/prod/pay", body(21, "It is back"))]);
    daemon.stops_cleanly();
}

#[test]
fn a_state_remote_that_hangs_during_a_pass_does_not_block_its_stop() {
    let remote = Remote::new(Door::Open);
    let world = &remote.world;
    Repo::bare(&world.path("hosted/state.git"));
    for number in 0..200 {
        world.repo.file(&format!("shop/prod/t{number:03}.yaml"), doc(18));
    }
    world.repo.commit("Add many");
    world.service.always(|_| Answer::applied().slowly(Duration::from_millis(100)));
    let url = format!("{}/state.git", remote.host.url());
    let daemon = Daemon::start(world, |run| run.set("state-remote", url).set("first-pass", "assert"));
    world.service.wait_for(1);
    let (release, released) = std::sync::mpsc::channel::<()>();
    let hangs = Arc::new(AtomicBool::new(false));
    let hanging = Arc::clone(&hangs);
    remote.host_answers(move |_| {
        hanging.store(true, Ordering::SeqCst);
        let _ = released.recv();
        None
    });
    eventually("the checkpoint to hang", || hangs.load(Ordering::SeqCst).then_some(()));
    assert_eq!(daemon.order("/suspend", r#"{"reason": "incident"}"#), 200);
    let open = world.service.count();
    eventually("the service to be left alone", || {
        let before = world.service.count();
        // Three times as long as a request takes.
        std::thread::sleep(Duration::from_millis(300));
        (world.service.count() == before).then_some(())
    });
    drop(release);
    daemon.becomes("shop/prod/t199", "pending");
    assert!(world.service.count() <= open + 1, "nothing starts once it is suspended");
    daemon.stops_cleanly();
}
