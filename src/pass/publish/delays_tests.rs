//! Tests what the dispatcher decides after few outcomes: the order, the rule of ten, waits and probes; and
//! that a delayed toggle blocks no other and is sent before the pass ends.

use std::collections::HashMap;
use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

use super::Limits;
use super::dispatch::{Conclusion, Dispatcher, Job, Next, NextTry};
use super::dispatch_tests::{Response, cause};
use super::order::{Item, Order};
use crate::model::Thresholds;
use crate::pass::{Acceptance, StopReason};
use crate::plan::Turn;
use crate::service::Outcome;
use crate::service::retry::{REQUEST_TRIES, TokenState};

const SEEDS: u64 = 50;

/// As many failures in a row put the service in doubt.
const ROW: usize = 10;

const LIMITS: Limits =
    Limits { in_flight: 16, in_flight_per_environment: 1, give_up_after: Duration::from_secs(60) };

/// Toggle 0 and `others` more that were all applied before, one lane each. Toggle 0 may not be sent before
/// `not_before`.
fn dispatcher(others: usize, not_before: Instant, seed: u64) -> Dispatcher {
    let item = |lane| Item { lane, not_before: (lane == 0).then_some(not_before), ..Item::default() };
    let order = Order {
        items: (0..=others).map(item).collect(),
        lanes: (0..=others).map(|change| vec![change]).collect(),
        ..Order::default()
    };
    Dispatcher::new(order, LIMITS, Thresholds::default(), Rng::with_seed(seed))
}

/// Ends a job that is to be sent again after this many seconds.
fn asks(dispatcher: &mut Dispatcher, job: Job, seconds: u64, now: Instant) -> Conclusion {
    let retry_after = Some(Duration::from_secs(seconds));
    let outcome = Outcome { retry_after, ..Response::Busy.outcome() };
    dispatcher.conclude(job, &outcome, TokenState::Current, now)
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
            Response::Applied.concludes(&mut dispatcher, job, now);
        }
        assert_eq!(dispatcher.next(now), Next::WaitUntil(due));
        let job = sent(dispatcher.next(due));
        assert_eq!((job.change, job.attempt), (0, 1));
        Response::Applied.concludes(&mut dispatcher, job, due);
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
    Response::Applied.concludes(&mut dispatcher, first, now);
    let more = std::iter::from_fn(|| match dispatcher.next(now) {
        Next::Send(job) => Some(job),
        _ => None,
    });
    assert_eq!(more.count(), 14);
}

#[test]
fn a_first_retry_after_holds_back_its_toggle_and_a_second_one_everything() {
    let now = Instant::now();
    let mut dispatcher = dispatcher(4, now, 1);
    let first = sent(dispatcher.next(now));
    assert_eq!(asks(&mut dispatcher, first, 1, now).held_back, None);
    let second = sent(dispatcher.next(now));
    assert_ne!(second.change, first.change);
    let wait = Duration::from_secs(5);
    assert_eq!(asks(&mut dispatcher, second, 5, now).held_back, Some(wait));
    assert_eq!(dispatcher.next(now), Next::WaitUntil(now + wait));
    sent(dispatcher.next(now + wait));
}

#[test]
fn a_retry_after_of_the_only_toggle_holds_back_everything_unless_others_were_applied() {
    let now = Instant::now();
    for (others, is_for_all) in [(0, true), (1, false)] {
        let mut dispatcher = dispatcher(others, now, 1);
        for _ in 0..others {
            let other = sent(dispatcher.next(now));
            Response::Applied.concludes(&mut dispatcher, other, now);
        }
        let last = sent(dispatcher.next(now));
        assert_eq!(asks(&mut dispatcher, last, 5, now).held_back.is_some(), is_for_all);
    }
}

#[test]
fn the_same_toggle_that_asks_twice_holds_back_nothing_else() {
    let now = Instant::now();
    let mut dispatcher = dispatcher(1, now, 1);
    let job = sent(dispatcher.next(now));
    assert_eq!(asks(&mut dispatcher, job, 1, now).held_back, None);
    let other = sent(dispatcher.next(now));
    Response::Applied.concludes(&mut dispatcher, other, now);
    let Next::WaitUntil(at) = dispatcher.next(now) else { panic!("expected a wait for the first toggle") };
    let again = sent(dispatcher.next(at));
    assert_eq!(again.change, job.change);
    assert_eq!(asks(&mut dispatcher, again, 1, at).held_back, None);
}

#[test]
fn a_closed_pass_starts_no_request_and_lets_open_ones_end() {
    let now = Instant::now();
    let mut dispatcher = dispatcher(1, now, 1);
    let job = sent(dispatcher.next(now));
    dispatcher.close();
    assert_eq!(dispatcher.next(now), Next::Wait);
    Response::Applied.concludes(&mut dispatcher, job, now);
    assert_eq!(dispatcher.next(now), Next::Done);
}

#[test]
fn a_delayed_toggle_is_not_a_probe_before_it_is_due() {
    let now = Instant::now();
    let due = now + Duration::from_secs(10);
    for seed in 0..SEEDS {
        let mut dispatcher = dispatcher(ROW, due, seed);
        let mut time = now;
        let probe = loop {
            match dispatcher.next(time) {
                Next::Send(job) if job.change == 0 => break job,
                Next::Send(job) => {
                    assert!(time < due, "it has its turn as soon as it is due");
                    Response::Busy.concludes(&mut dispatcher, job, time);
                }
                Next::WaitUntil(at) => time = at,
                other => panic!("{other:?}"),
            }
        };
        assert!(time >= due);
        assert!(probe.is_probe);
    }
}

#[test]
fn a_pause_waits_for_a_delayed_toggle_if_no_other_is_left() {
    let now = Instant::now();
    let due = now + Duration::from_secs(10);
    let mut dispatcher = dispatcher(ROW, due, 1);
    for _ in 0..ROW {
        let job = sent(dispatcher.next(now));
        dispatcher.finish(job, &Response::Busy.outcome(), now);
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

/// Sends one request after the other, each with the next of `responses`. Returns why the pass ends and the
/// requests.
fn responds(dispatcher: &mut Dispatcher, now: Instant, responses: &[Response]) -> (Option<Response>, usize) {
    for (sent_before, response) in responses.iter().enumerate() {
        let Next::Send(job) = dispatcher.next(now) else {
            return (None, sent_before);
        };
        if let Some(stop) = response.concludes(dispatcher, job, now).stop {
            return (Some(cause(&stop)), sent_before + 1);
        }
    }
    (None, responses.len())
}

#[test]
fn ten_different_toggles_in_a_row_without_a_success_end_the_pass_or_pause_it() {
    use Response::{Applied, Busy, Forbidden, Misrouted, Missing, Refused};
    let now = Instant::now();
    for (responses, expected) in [
        (vec![Missing; 20], (Some(Misrouted), 10)),
        (vec![Misrouted; 20], (Some(Misrouted), 10)),
        (vec![Forbidden; 20], (Some(Forbidden), 10)),
        ([vec![Busy; 9], vec![Forbidden; 9]].concat(), (Some(Forbidden), 10)),
        (vec![Busy; 20], (None, 10)),
        ([vec![Missing; 9], vec![Busy; 9]].concat(), (None, 10)),
        ([vec![Missing; 9], vec![Applied], vec![Missing; 9]].concat(), (None, 19)),
        ([vec![Missing; 9], vec![Refused], vec![Missing; 9]].concat(), (None, 19)),
    ] {
        let mut dispatcher = dispatcher(30, now, 1);
        assert_eq!(responds(&mut dispatcher, now, &responses), expected, "{responses:?}");
    }
}

#[test]
fn a_token_lacks_access_only_to_environments_that_have_not_accepted_it() {
    use Response::{Applied, Forbidden};
    let now = Instant::now();
    for (accepted, first, verdict) in [
        (0, Applied, Acceptance::Here),
        (1, Applied, Acceptance::Elsewhere),
        (0, Forbidden, Acceptance::Nowhere),
    ] {
        let item = |at: usize| Item { lane: if at == 0 { accepted } else { 0 }, ..Item::default() };
        let mut lanes = vec![Vec::new(), Vec::new()];
        (0..12).for_each(|at| lanes[item(at).lane].push(at));
        let order = Order { items: (0..12).map(item).collect(), lanes, ..Order::default() };
        let limits = Limits { in_flight: 1, ..LIMITS };
        let mut dispatcher = Dispatcher::new(order, limits, Thresholds::default(), Rng::with_seed(1));
        let mut stop = None;
        while stop.is_none() {
            let Next::Send(job) = dispatcher.next(now) else { panic!("no verdict") };
            let response = if job.change == 0 { first } else { Forbidden };
            stop = response.concludes(&mut dispatcher, job, now).stop;
        }
        assert!(matches!(stop, Some(StopReason::Forbidden(_, found)) if found == verdict), "{stop:?}");
    }
}

#[test]
fn fewer_than_ten_say_what_they_have_in_common_after_all_were_tried() {
    use Response::{Applied, Busy, Forbidden, Misrouted, Missing, Refused};
    let now = Instant::now();
    for (responses, verdict) in [
        ([Missing; 3], Some(Misrouted)),
        ([Forbidden; 3], Some(Forbidden)),
        ([Busy; 3], None),
        ([Forbidden, Missing, Missing], None),
        ([Applied, Missing, Missing], None),
        ([Missing, Missing, Refused], None),
    ] {
        let mut dispatcher = dispatcher(2, now, 1);
        assert_eq!(responds(&mut dispatcher, now, &responses).0, verdict, "{responses:?}");
    }
}

#[test]
fn a_toggle_that_failed_alone_or_may_be_missing_does_not_count() {
    let now = Instant::now();
    for (is_alone, may_be_missing, response, requests) in [
        (true, false, Response::Busy, 30),
        (true, false, Response::Forbidden, 30),
        (false, true, Response::Missing, 30),
        (false, true, Response::Misrouted, 10),
    ] {
        let item = Item { is_alone, may_be_missing, ..Item::default() };
        let order = Order { items: vec![item; 30], lanes: vec![(0..30).collect()], ..Order::default() };
        let mut dispatcher = Dispatcher::new(order, LIMITS, Thresholds::default(), Rng::with_seed(1));
        assert_eq!(responds(&mut dispatcher, now, &[response; 30]).1, requests, "{response:?}");
    }
}

#[test]
fn the_waits_for_probes_grow_and_the_last_one_is_sent_at_the_end() {
    let start = Instant::now();
    let mut dispatcher = dispatcher(ROW, start, 1);
    let (mut now, mut waits) = (start, Vec::new());
    let stop = loop {
        match dispatcher.next(now) {
            Next::Send(job) if job.is_probe => {
                waits.push((now - start).as_secs_f64());
                if let Some(stop) = Response::Busy.concludes(&mut dispatcher, job, now).stop {
                    break stop;
                }
            }
            Next::Send(job) => assert!(Response::Busy.concludes(&mut dispatcher, job, now).stop.is_none()),
            Next::WaitUntil(at) => now = at,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(cause(&stop), Response::Busy);
    assert_eq!(waits, [0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 60.0]);
}

#[test]
fn a_toggle_counts_once_in_a_pass() {
    let now = Instant::now();
    let (mut dispatcher, mut now, mut requests) = (dispatcher(2, now, 1), now, 0);
    loop {
        match dispatcher.next(now) {
            Next::Send(job) => {
                assert!(!job.is_probe);
                Response::Busy.concludes(&mut dispatcher, job, now);
                requests += 1;
            }
            Next::WaitUntil(at) => now = at,
            Next::Done => break,
            Next::Wait => panic!("nothing is open"),
        }
    }
    assert_eq!(requests, 3 * REQUEST_TRIES);
}

#[test]
fn the_longest_untried_is_next_and_a_disabled_document_among_equals() {
    let now = Instant::now();
    let item = |lane, last_try, is_unknown, is_disabled| Item {
        lane,
        last_try,
        is_unknown,
        is_disabled,
        ..Item::default()
    };
    let order = Order {
        items: vec![
            item(0, 7, false, true),
            item(0, 0, true, false),
            item(0, 0, false, false),
            item(0, 0, false, true),
            item(1, 5, false, false),
        ],
        lanes: vec![vec![0, 1, 2, 3], vec![4]],
        ..Order::default()
    };
    let mut dispatcher = Dispatcher::new(order, LIMITS, Thresholds::default(), Rng::with_seed(1));
    let mut found = Vec::new();
    while let Next::Send(job) = dispatcher.next(now) {
        found.push(job.change);
        Response::Applied.concludes(&mut dispatcher, job, now);
    }
    assert_eq!(found, [3, 2, 1, 4, 0]);
}

#[test]
fn environments_take_turns_and_one_request_is_open_in_each() {
    let now = Instant::now();
    let order = || Order {
        items: [0, 0, 1, 1].map(|lane| Item { lane, ..Item::default() }).into(),
        lanes: vec![vec![0, 1], vec![2, 3]],
        ..Order::default()
    };
    let mut dispatcher = Dispatcher::new(order(), LIMITS, Thresholds::default(), Rng::with_seed(1));
    let jobs = [sent(dispatcher.next(now)), sent(dispatcher.next(now))];
    assert_ne!(jobs[0].lane, jobs[1].lane);
    assert_eq!(dispatcher.next(now), Next::Wait);
    let firsts = |seed| {
        sent(Dispatcher::new(order(), LIMITS, Thresholds::default(), Rng::with_seed(seed)).next(now)).change
    };
    let firsts: std::collections::BTreeSet<usize> = (0..50).map(firsts).collect();
    assert_eq!(firsts, [0, 2].into(), "the first lane is drawn, and its order is that of the plan");
}

#[test]
fn after_a_failure_without_earlier_tries_the_order_within_an_environment_is_drawn() {
    let now = Instant::now();
    let second = |is_blank, seed| {
        let order = Order {
            items: vec![Item::default(); 4],
            lanes: vec![vec![0, 1, 2, 3]],
            is_blank,
            ..Order::default()
        };
        let mut dispatcher = Dispatcher::new(order, LIMITS, Thresholds::default(), Rng::with_seed(seed));
        let first = sent(dispatcher.next(now));
        assert_eq!(first.change, 0);
        Response::Busy.concludes(&mut dispatcher, first, now);
        sent(dispatcher.next(now)).change
    };
    for (is_blank, expected) in [(false, 1), (true, 3)] {
        let seconds: std::collections::BTreeSet<usize> =
            (0..SEEDS).map(|seed| second(is_blank, seed)).collect();
        assert_eq!(seconds.len(), expected);
    }
}

#[test]
fn a_retry_waits_at_the_end_of_its_lane() {
    let now = Instant::now();
    let order = Order { items: vec![Item::default(); 2], lanes: vec![vec![0, 1]], ..Order::default() };
    let mut dispatcher = Dispatcher::new(order, LIMITS, Thresholds::default(), Rng::with_seed(1));
    let first = sent(dispatcher.next(now));
    let NextTry::At(later) = Response::Busy.concludes(&mut dispatcher, first, now).next_try else {
        panic!("expected another try");
    };
    let second = sent(dispatcher.next(now));
    assert_eq!(second.change, 1);
    Response::Applied.concludes(&mut dispatcher, second, now);
    assert_eq!(dispatcher.next(now), Next::WaitUntil(later));
    let again = sent(dispatcher.next(later));
    assert_eq!((again.change, again.attempt), (0, 2));
}

/// Toggles of one lane with these turns.
fn with_turns(turns: &[Option<(usize, usize)>], in_flight_per_environment: usize) -> Dispatcher {
    let turn = |turn: &Option<(usize, usize)>| turn.map(|(group, level)| Turn { group, level });
    let items = turns.iter().map(|one| Item { turn: turn(one), ..Item::default() });
    let lanes = vec![(0..turns.len()).collect()];
    with_order(Order { items: items.collect(), lanes, ..Order::default() }, in_flight_per_environment)
}

/// A dispatcher of one lane that has sent and applied the first change.
fn with_order(order: Order, in_flight_per_environment: usize) -> Dispatcher {
    let limits = Limits { in_flight_per_environment, ..LIMITS };
    let mut dispatcher = Dispatcher::new(order, limits, Thresholds::default(), Rng::with_seed(1));
    // More than three may be open once a change was applied.
    let job = sent(dispatcher.next(Instant::now()));
    assert_eq!(job.change, 0);
    Response::Applied.concludes(&mut dispatcher, job, Instant::now());
    dispatcher
}

#[test]
fn a_toggle_waits_until_those_that_it_needs_have_ended_and_blocks_no_other() {
    let now = Instant::now();
    for last in [Some(Response::Applied), Some(Response::Refused), Some(Response::Busy), None] {
        let mut dispatcher =
            with_turns(&[None, Some((1, 2)), Some((1, 0)), Some((1, 0)), None, Some((2, 0))], 16);
        let [first, second, free, other] = [(); 4].map(|()| sent(dispatcher.next(now)));
        assert_eq!([first, second, free, other].map(|job| job.change), [2, 3, 4, 5]);
        assert_eq!(dispatcher.next(now), Next::Wait);
        Response::Applied.concludes(&mut dispatcher, free, now);
        Response::Applied.concludes(&mut dispatcher, first, now);
        assert_eq!(dispatcher.next(now), Next::Wait);
        Response::Busy.concludes(&mut dispatcher, second, now);
        let Next::WaitUntil(later) = dispatcher.next(now) else { panic!("expected a wait for the retry") };
        let second = sent(dispatcher.next(later));
        assert_eq!((second.change, second.attempt), (3, 2), "a retry has not ended");
        assert_eq!(dispatcher.next(later), Next::Wait);
        match last {
            Some(response) => assert_eq!(dispatcher.finish(second, &response.outcome(), later), None),
            None => dispatcher.release(second, later),
        }
        assert_eq!(sent(dispatcher.next(later)).change, 1, "{last:?}");
    }
}

/// A retry counts as well.
#[test]
fn changes_that_refer_to_each_other_have_one_open_request_at_a_time() {
    let now = Instant::now();
    let related = HashMap::from([(1, vec![2, 4]), (2, vec![1, 3]), (3, vec![2]), (4, vec![1])]);
    let (items, lanes) = (vec![Item::default(); 5], vec![(0..5).collect()]);
    let mut dispatcher = with_order(Order { items, lanes, related, ..Order::default() }, 16);
    let first = sent(dispatcher.next(now));
    assert_eq!((first.change, dispatcher.next(now)), (1, Next::Wait));
    Response::Busy.concludes(&mut dispatcher, first, now);
    let second = sent(dispatcher.next(now));
    assert_eq!((second.change, dispatcher.next(now)), (2, Next::Wait));
    Response::Applied.concludes(&mut dispatcher, second, now);
    let [third, fourth] = [(); 2].map(|()| sent(dispatcher.next(now)));
    assert_eq!([third.change, fourth.change], [3, 4]);
    assert_eq!(dispatcher.next(now), Next::Wait, "the retry waits for the last one");
    Response::Applied.concludes(&mut dispatcher, fourth, now);
    let Next::WaitUntil(later) = dispatcher.next(now) else { panic!("expected a wait for the retry") };
    assert_eq!(sent(dispatcher.next(later)).change, 1);
}

#[test]
fn what_the_service_refused_is_sent_once_more_after_everything_else() {
    let now = Instant::now();
    let mut dispatcher = with_turns(&[None, Some((1, 0)), Some((1, 1)), None], 1);
    for (change, is_again) in [(1, true), (3, false), (2, true), (1, false), (2, false)] {
        let job = sent(dispatcher.next(now));
        assert_eq!(job.change, change);
        let response = if change == 3 { Response::Applied } else { Response::Refused };
        let next_try = response.concludes(&mut dispatcher, job, now).next_try;
        assert_eq!(next_try == NextTry::AtTheEnd, is_again);
    }
    assert_eq!(dispatcher.next(now), Next::Done);
}

#[test]
fn what_the_service_refused_is_not_sent_again_if_nothing_was_applied() {
    let now = Instant::now();
    let mut dispatcher = dispatcher(2, now, 1);
    for _ in 0..3 {
        let job = sent(dispatcher.next(now));
        let next_try = Response::Refused.concludes(&mut dispatcher, job, now).next_try;
        assert_eq!(next_try, NextTry::AtTheEnd);
    }
    assert_eq!(dispatcher.next(now), Next::Done);
}

#[test]
fn what_the_token_may_not_change_is_sent_once_more_if_it_may_change_others_there() {
    let now = Instant::now();
    // Nine of lane 0 and three of lane 1 are refused, and the last one of lane 0 is applied.
    let lane = |at: usize| usize::from(at < 3);
    let items = (0..13).map(|at| Item { lane: lane(at), ..Item::default() }).collect();
    let order = Order { items, lanes: vec![(3..13).collect(), (0..3).collect()], ..Order::default() };
    let limits = Limits { in_flight: 1, ..LIMITS };
    let thresholds = Thresholds { failures_in_a_row: 13, ..Thresholds::default() };
    let mut dispatcher = Dispatcher::new(order, limits, thresholds, Rng::with_seed(1));
    let mut tries = vec![0; 13];
    while let Next::Send(job) = dispatcher.next(now) {
        tries[job.change] += 1;
        let response = if job.change == 12 { Response::Applied } else { Response::Forbidden };
        let Conclusion { next_try, stop, .. } = response.concludes(&mut dispatcher, job, now);
        let is_kept = tries[job.change] == 1 && job.change != 12;
        assert_eq!((next_try == NextTry::AtTheEnd, stop), (is_kept, None), "{job:?}");
    }
    let again = |at: usize| usize::from(lane(at) == 0 && at != 12);
    assert_eq!(tries, (0..13).map(|at| 1 + again(at)).collect::<Vec<_>>());
}
