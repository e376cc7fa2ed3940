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
    let mut jobs = [sent(lanes.next(now)), sent(lanes.next(now))];
    jobs.sort_by_key(|job| job.change);
    assert_eq!((jobs[0].change, jobs[1].change), (0, 2));
    assert_eq!(lanes.next(now), Next::Wait);
    lanes.settle(jobs[0]);
    assert_eq!(sent(lanes.next(now)).change, 1);
}

#[test]
fn the_order_of_the_lanes_is_random() {
    let first = |seed| {
        let queues = (0..10).map(|change| [change].into()).collect();
        let mut lanes = Lanes::new(queues, 1, &mut Rng::with_seed(seed));
        sent(lanes.next(Instant::now())).change
    };
    let firsts: std::collections::BTreeSet<usize> = (0..200).map(first).collect();
    assert_eq!(firsts.len(), 10);
    assert_eq!(first(7), first(7));
}

#[test]
fn a_retry_waits_at_the_end_of_its_lane() {
    let now = Instant::now();
    let later = now + Duration::from_secs(1);
    let mut lanes = lanes(&[2], 1);
    let first = sent(lanes.next(now));
    lanes.retry(first, later);
    let second = sent(lanes.next(now));
    assert_eq!(second.change, 1);
    lanes.settle(second);
    assert_eq!(lanes.next(now), Next::WaitUntil(later));
    let again = sent(lanes.next(later));
    assert_eq!((again.change, again.attempt, again.number), (0, 2, 3));
    lanes.settle(again);
    assert!(lanes.is_empty());
}

#[test]
fn a_lane_that_is_moved_goes_after_all_others() {
    let now = Instant::now();
    let mut lanes = lanes(&[3, 3], 1);
    lanes.move_to_end(0);
    let mut order = Vec::new();
    while let Next::Send(job) = lanes.next(now) {
        order.push(job.change);
        lanes.settle(job);
    }
    assert_eq!(order, [3, 4, 5, 0, 1, 2]);
}

#[test]
fn a_drained_lane_sends_no_further_request() {
    let now = Instant::now();
    let mut lanes = lanes(&[3], 1);
    let job = sent(lanes.next(now));
    lanes.retry(job, now);
    let mut drained = lanes.drain(0);
    drained.sort_unstable();
    assert_eq!(drained, [0, 1, 2]);
    assert!(lanes.is_empty());
}

fn next_delayed(lanes: &mut Lanes, now: Instant) -> Next {
    lanes.admit(now);
    lanes.next(now)
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
    assert!(lanes.is_empty());
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
    assert!(lanes.is_empty());
}
