//! Tests that a delayed toggle waits whatever the service does, blocks no other toggle, and is sent before the pass ends;
//! and that a limit, a hold and the end of a pass concern all lanes.

use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

use super::Limits;
use super::dispatch::{Dispatcher, Response};
use super::evidence::ServiceVerdict;
use super::lanes::{Job, Next, Purpose};
use super::order::{Foundation, Item, Order};

const SEEDS: u64 = 50;

/// Toggle 0 and `others` more that were all applied before, one lane each. Toggle 0 may not be sent before `not_before`.
fn dispatcher(others: usize, not_before: Instant, seed: u64) -> Dispatcher {
    let item = |lane| Item {
        lane,
        not_before: (lane == 0).then_some(not_before),
        ..Item::default()
    };
    let order = Order {
        items: (0..=others).map(item).collect(),
        lanes: (0..=others).map(|change| [change].into()).collect(),
        foundation: Foundation::Applied,
    };
    let limits = Limits {
        in_flight: 16,
        in_flight_per_environment: 1,
        give_up_after: Duration::from_secs(60),
    };
    Dispatcher::new(order, limits, Rng::with_seed(seed))
}

fn sent(next: Next) -> Job {
    match next {
        Next::Send(job) => job,
        other => panic!("expected a job, got {other:?}"),
    }
}

#[test]
fn the_pass_sends_the_other_toggles_and_then_waits() {
    let now = Instant::now();
    let due = now + Duration::from_secs(10);
    for seed in 0..SEEDS {
        let mut dispatcher = dispatcher(5, due, seed);
        for _ in 0..5 {
            let job = sent(dispatcher.next(now));
            assert_ne!(job.change, 0);
            dispatcher.finish(job, Response::Applied, now);
        }
        assert_eq!(dispatcher.next(now), Next::WaitUntil(due));
        let job = sent(dispatcher.next(due));
        assert_eq!((job.change, job.attempt), (0, 1));
        dispatcher.finish(job, Response::Applied, due);
        assert_eq!(dispatcher.next(due), Next::Done);
    }
}

#[test]
fn a_delayed_toggle_is_not_one_of_the_first_three_requests() {
    let now = Instant::now();
    for seed in 0..SEEDS {
        let mut dispatcher = dispatcher(3, now + Duration::from_secs(10), seed);
        for _ in 0..3 {
            assert_ne!(sent(dispatcher.next(now)).change, 0);
        }
        assert_eq!(dispatcher.next(now), Next::Wait);
    }
}

#[test]
fn a_closed_pass_does_not_wait_for_a_delayed_toggle() {
    let now = Instant::now();
    let mut dispatcher = dispatcher(0, now + Duration::from_secs(10), 1);
    dispatcher.close();
    assert_eq!(dispatcher.next(now), Next::Done);
}

#[test]
fn no_more_requests_are_open_than_the_limit() {
    let now = Instant::now();
    let mut dispatcher = dispatcher(30, now, 1);
    let [first, ..] = [(); 3].map(|()| sent(dispatcher.next(now)));
    assert_eq!(dispatcher.next(now), Next::Wait, "nothing was applied");
    dispatcher.finish(first, Response::Applied, now);
    let more = std::iter::from_fn(|| match dispatcher.next(now) {
        Next::Send(job) => Some(job),
        _ => None,
    });
    assert_eq!(more.count(), 14);
}

#[test]
fn a_hold_applies_to_all_lanes() {
    let now = Instant::now();
    let mut dispatcher = dispatcher(1, now, 1);
    let held = now + Duration::from_secs(5);
    dispatcher.hold(held);
    dispatcher.hold(now + Duration::from_secs(2));
    assert_eq!(dispatcher.next(now), Next::WaitUntil(held));
    sent(dispatcher.next(held));
}

#[test]
fn a_closed_pass_starts_no_request_and_lets_open_ones_end() {
    let now = Instant::now();
    let mut dispatcher = dispatcher(1, now, 1);
    let job = sent(dispatcher.next(now));
    dispatcher.close();
    assert_eq!(dispatcher.next(now), Next::Wait);
    dispatcher.finish(job, Response::Applied, now);
    assert_eq!(dispatcher.next(now), Next::Done);
}

#[test]
fn a_delayed_toggle_is_not_a_probe_before_it_is_due() {
    let now = Instant::now();
    let due = now + Duration::from_secs(10);
    for seed in 0..SEEDS {
        let mut dispatcher = dispatcher(5, due, seed);
        for _ in 0..5 {
            let job = sent(dispatcher.next(now));
            dispatcher.retry(job, Response::Busy, now, now + Duration::from_secs(1));
        }
        let mut time = now;
        let probe = loop {
            match dispatcher.next(time) {
                Next::Send(job) if job.change == 0 => break job,
                Next::Send(job) => {
                    assert!(time < due, "it has its turn as soon as it is due");
                    dispatcher.retry(job, Response::Busy, time, time + Duration::from_secs(1));
                }
                Next::WaitUntil(at) => time = at,
                other => panic!("{other:?}"),
            }
        };
        assert!(time >= due);
        assert_eq!(probe.purpose, Purpose::Probe);
    }
}

#[test]
fn a_pause_waits_for_a_delayed_toggle_if_no_other_is_left() {
    let now = Instant::now();
    let due = now + Duration::from_secs(10);
    let mut dispatcher = dispatcher(5, due, 1);
    for _ in 0..5 {
        let job = sent(dispatcher.next(now));
        dispatcher.finish(job, Response::Busy, now);
    }
    let mut time = now;
    let job = loop {
        match dispatcher.next(time) {
            Next::WaitUntil(at) => time = at,
            next => break sent(next),
        }
    };
    assert_eq!((job.change, time), (0, due));
}

/// Ends the pass of a service that misroutes all other toggles, up to the moment when toggle 0 is sent.
fn misrouted(dispatcher: &mut Dispatcher, now: Instant, due: Instant) -> Job {
    loop {
        match dispatcher.next(now) {
            Next::Send(job) => {
                let effect = dispatcher.finish(job, Response::Misrouted, now);
                assert_eq!(effect.verdict, None, "one toggle could not be tried yet");
            }
            next => {
                assert_eq!(next, Next::WaitUntil(due));
                break;
            }
        }
    }
    let job = sent(dispatcher.next(due));
    assert_eq!(job.change, 0);
    job
}

#[test]
fn a_verdict_waits_for_a_delayed_toggle() {
    let now = Instant::now();
    let due = now + Duration::from_secs(10);
    for (response, verdict) in [
        (Response::Applied, None),
        (Response::Misrouted, Some(ServiceVerdict::Misrouted)),
    ] {
        let mut dispatcher = dispatcher(3, due, 1);
        let job = misrouted(&mut dispatcher, now, due);
        assert_eq!(dispatcher.finish(job, response, due).verdict, verdict);
    }
}

#[test]
fn no_toggle_is_sent_while_a_verdict_waits_for_a_delayed_one() {
    let now = Instant::now();
    let due = now + Duration::from_secs(10);
    for seed in 0..SEEDS {
        let mut dispatcher = dispatcher(100, due, seed);
        let mut requests = 0;
        while let Next::Send(job) = dispatcher.next(now) {
            requests += 1;
            dispatcher.finish(job, Response::Misrouted, now);
        }
        assert_eq!(requests, 3);
        assert_eq!(dispatcher.next(now), Next::WaitUntil(due));
        sent(dispatcher.next(due));
    }
}
