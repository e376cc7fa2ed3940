//! Tests that lanes send one toggle at a time, run concurrently, and keep retries and delays.

use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

use super::lanes::{Job, Lanes, Next};

/// Returns lanes with these numbers of toggles.
fn lanes(lengths: &[usize], per_lane: usize) -> Lanes {
    let mut next = 0..;
    let queues = lengths.iter().map(|length| next.by_ref().take(*length).collect());
    Lanes::new(queues.collect(), per_lane, &mut Rng::with_seed(1))
}

fn next(lanes: &mut Lanes, now: Instant, room: usize) -> Next {
    lanes.blocked(now, room).unwrap_or_else(|| lanes.next(now))
}

fn sent(next: Next) -> Job {
    match next {
        Next::Send(job) => job,
        other => panic!("expected a job, got {other:?}"),
    }
}

#[test]
fn one_request_at_a_time_is_open_in_an_environment() {
    let now = Instant::now();
    let mut lanes = lanes(&[2, 1], 1);
    let mut jobs = [sent(next(&mut lanes, now, 16)), sent(next(&mut lanes, now, 16))];
    jobs.sort_by_key(|job| job.change);
    assert_eq!((jobs[0].change, jobs[1].change), (0, 2));
    assert_eq!(next(&mut lanes, now, 16), Next::Wait);
    lanes.settle(jobs[0]);
    assert_eq!(sent(next(&mut lanes, now, 16)).change, 1);
}

#[test]
fn the_order_of_the_lanes_is_random() {
    let first = |seed| {
        let queues = (0..10).map(|change| [change].into()).collect();
        let mut lanes = Lanes::new(queues, 1, &mut Rng::with_seed(seed));
        sent(next(&mut lanes, Instant::now(), 16)).change
    };
    let firsts: std::collections::BTreeSet<usize> = (0..200).map(first).collect();
    assert_eq!(firsts.len(), 10);
    assert_eq!(first(7), first(7));
}

#[test]
fn no_more_requests_are_open_than_the_limit() {
    let now = Instant::now();
    let mut lanes = lanes(&[1, 1, 1], 1);
    sent(next(&mut lanes, now, 2));
    sent(next(&mut lanes, now, 2));
    assert_eq!(next(&mut lanes, now, 2), Next::Wait);
}

#[test]
fn a_retry_waits_at_the_end_of_its_lane() {
    let now = Instant::now();
    let later = now + Duration::from_secs(1);
    let mut lanes = lanes(&[2], 1);
    let first = sent(next(&mut lanes, now, 16));
    lanes.retry(first, later);
    let second = sent(next(&mut lanes, now, 16));
    assert_eq!(second.change, 1);
    lanes.settle(second);
    assert_eq!(next(&mut lanes, now, 16), Next::WaitUntil(later));
    let again = sent(next(&mut lanes, later, 16));
    assert_eq!((again.change, again.attempt, again.number), (0, 2, 3));
    lanes.settle(again);
    assert_eq!(next(&mut lanes, later, 16), Next::Done);
}

#[test]
fn a_hold_applies_to_all_lanes() {
    let now = Instant::now();
    let mut lanes = lanes(&[1, 1], 1);
    lanes.hold(now + Duration::from_secs(5));
    lanes.hold(now + Duration::from_secs(2));
    assert_eq!(
        next(&mut lanes, now, 16),
        Next::WaitUntil(now + Duration::from_secs(5))
    );
    sent(next(&mut lanes, now + Duration::from_secs(5), 16));
}

#[test]
fn a_lane_that_is_moved_goes_after_all_others() {
    let now = Instant::now();
    let mut lanes = lanes(&[3, 3], 1);
    lanes.move_to_end(0);
    let mut order = Vec::new();
    while let Next::Send(job) = next(&mut lanes, now, 1) {
        order.push(job.change);
        lanes.settle(job);
    }
    assert_eq!(order, [3, 4, 5, 0, 1, 2]);
}

#[test]
fn a_drained_lane_sends_no_further_request() {
    let now = Instant::now();
    let mut lanes = lanes(&[3], 1);
    let job = sent(next(&mut lanes, now, 16));
    lanes.retry(job, now);
    let mut drained = lanes.drain(0);
    drained.sort_unstable();
    assert_eq!(drained, [0, 1, 2]);
    assert_eq!(next(&mut lanes, now, 16), Next::Done);
}

#[test]
fn closed_lanes_start_no_request_and_let_open_ones_end() {
    let now = Instant::now();
    let mut lanes = lanes(&[2], 1);
    let job = sent(next(&mut lanes, now, 16));
    lanes.close();
    assert_eq!(next(&mut lanes, now, 16), Next::Wait);
    lanes.settle(job);
    assert_eq!(next(&mut lanes, now, 16), Next::Done);
}

fn next_delayed(lanes: &mut Lanes, now: Instant) -> Next {
    lanes.admit(now);
    next(lanes, now, 16)
}

#[test]
fn a_delayed_toggle_blocks_no_other() {
    let now = Instant::now();
    let later = now + Duration::from_secs(1);
    let mut lanes = lanes(&[3], 1);
    lanes.delay(|change| (change == 0).then_some(later));
    for change in [1, 2] {
        let job = sent(next_delayed(&mut lanes, now));
        assert_eq!(job.change, change);
        lanes.settle(job);
    }
    assert_eq!(next_delayed(&mut lanes, now), Next::WaitUntil(later));
    let job = sent(next_delayed(&mut lanes, later));
    assert_eq!((job.change, job.attempt), (0, 1));
    lanes.settle(job);
    assert_eq!(next_delayed(&mut lanes, later), Next::Done);
}

#[test]
fn delayed_toggles_are_next_once_they_are_due() {
    let now = Instant::now();
    let later = now + Duration::from_secs(1);
    let mut lanes = lanes(&[4, 1], 1);
    lanes.delay(|change| (change < 2 || change == 4).then_some(later));
    let first = sent(next_delayed(&mut lanes, now));
    assert_eq!(first.change, 2);
    let other = sent(next_delayed(&mut lanes, later));
    assert_eq!(other.change, 4);
    lanes.settle(first);
    lanes.settle(other);
    let mut order = Vec::new();
    while let Next::Send(job) = next_delayed(&mut lanes, later) {
        order.push(job.change);
        lanes.settle(job);
    }
    assert_eq!(order, [0, 1, 3]);
}

#[test]
fn a_delayed_toggle_of_a_drained_lane_is_dropped() {
    let now = Instant::now();
    let mut lanes = lanes(&[2], 1);
    lanes.delay(|change| (change == 1).then_some(now + Duration::from_secs(1)));
    let mut drained = lanes.drain(0);
    drained.sort_unstable();
    assert_eq!(drained, [0, 1]);
    assert_eq!(next_delayed(&mut lanes, now), Next::Done);
}
