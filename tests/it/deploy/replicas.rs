//! Two replicas with shared state, as the chart runs them.

use std::time::{Duration, Instant};

use super::tool::note;
use crate::support::{Answer, Daemon, Repo, World, body, doc};

const TOGGLES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn file(toggle: &str) -> String {
    format!("shop/prod/{toggle}.yaml")
}

/// Starts a replica with its own state folder.
fn replica(world: &World, name: &str) -> Daemon {
    Daemon::ready(world, |run| {
        run.set("state-dir", world.path(name))
            .set("state-remote", world.path("remote.git"))
            .set("poll-interval", "1s")
            .env("HOSTNAME", name)
    })
}

fn change(world: &World, age: u32, message: &str) {
    TOGGLES.iter().for_each(|toggle| {
        world.repo.file(&file(toggle), doc(age));
    });
    world.repo.commit(message);
}

/// Waits longer than `eventually`, and returns how long it took.
fn takes(what: &str, limit: Duration, condition: impl Fn() -> bool) -> Duration {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < limit, "waited in vain for: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
    start.elapsed()
}

/// A world with the toggles applied by a job on another machine.
fn applied() -> World {
    let world = World::new();
    Repo::bare(&world.path("remote.git"));
    change(&world, 18, "Add toggles");
    let first = world.apply().set("state-dir", world.path("job"));
    let first = first.set("state-remote", world.path("remote.git"));
    first.set("first-pass", "assert").exit(0).any_output();
    world.service.take();
    world
}

#[test]
fn both_replicas_are_ready_and_one_of_them_publishes() {
    let world = applied();
    let (first, second) = (replica(&world, "first"), replica(&world, "second"));
    change(&world, 21, "Change toggles");
    for replica in [&first, &second] {
        replica.has_seen(&world.repo.head());
        TOGGLES.iter().for_each(|toggle| replica.becomes(&format!("shop/prod/{toggle}"), "in_sync"));
        replica.is_ready();
    }
    let expected = TOGGLES.map(|toggle| (format!("shop/prod/{toggle}"), body(21, "Change toggles")));
    world.sent(&expected.each_ref().map(|(toggle, body)| (toggle.as_str(), body.clone())));
    first.stops_cleanly();
    second.stops_cleanly();
}

/// Returns the replica that publishes, and the other one.
fn publisher_first(first: Daemon, second: Daemon) -> (Daemon, Daemon) {
    let is_publisher = |replica: &Daemon| replica.log().contains("\"event\":\"published\"");
    match (is_publisher(&first), is_publisher(&second)) {
        (true, false) => (first, second),
        (false, true) => (second, first),
        both => panic!("one of them publishes: {both:?}"),
    }
}

#[test]
#[ignore = "waits for the term of a killed replica, which takes more than a minute"]
fn a_replica_takes_over_from_one_that_is_killed_while_it_publishes() {
    let world = applied();
    let (first, second) = (replica(&world, "first"), replica(&world, "second"));
    // The third request is stored, but its response never arrives.
    world.service.answers([Answer::applied(), Answer::applied(), Answer::stores_and_hangs()]);
    change(&world, 21, "Change toggles");
    world.service.wait_for(3);
    let (publisher, survivor) = publisher_first(first, second);
    publisher.kill();
    let killed = Instant::now();
    world.service.sender_died();
    let sent = world.service.take();
    let limit = Duration::from_secs(150);
    let began = takes("the first request of the survivor", limit, || world.service.count() > 0);
    let in_sync = |toggle: &str| survivor.state(&format!("shop/prod/{toggle}")).as_deref() == Some("in_sync");
    // Until its own pass ends, the survivor shows the toggles as they were before the change.
    takes("the survivor to finish", limit, || {
        let revision = survivor.status().map(|status| status["source"]["revision"].clone());
        revision == Some(world.repo.head().into()) && TOGGLES.iter().all(|toggle| in_sync(toggle))
    });
    let finished = killed.elapsed();
    // With `--timeout 10s`: the term of 60 s, the timeout, and 10 %.
    assert!(
        began > Duration::from_secs(70) && finished < Duration::from_secs(100),
        "{began:?}, {finished:?}"
    );
    let requests: Vec<_> = sent.into_iter().chain(world.service.take()).collect();
    for toggle in TOGGLES {
        let of_it = requests.iter().filter(|request| request.toggle() == format!("shop/prod/{toggle}"));
        let of_it: Vec<_> = of_it.collect();
        // Once, except for the one without a known outcome and those confirmed since the last checkpoint.
        assert!((1..=2).contains(&of_it.len()), "{toggle}: {}", of_it.len());
        for request in of_it {
            assert_eq!(request.body(), body(21, "Change toggles"));
            assert_eq!(request.open_for_environment, 1);
        }
    }
    assert!(survivor.metric("gitoggle_publishes_total{outcome=\"applied\"}") >= Some(4.0));
    survivor.is_ready();
    survivor.stops_cleanly();
    // The state is complete: a job with an empty disk has nothing to do.
    let next = world.apply().set("state-dir", world.path("next"));
    next.set("state-remote", world.path("remote.git")).exit(0).any_output();
    world.nothing_sent();
    // For the manual.
    note(&format!("first request after {began:.1?}, finished after {finished:.1?}"));
}
