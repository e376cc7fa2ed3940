//! Tests that every toggle that a faulty service accepts is applied after a bounded number of passes
//! (src/pass/README.md, "One toggle is not evidence"). Each family of faults has a bound and is tried with
//! many seeds. Up to three requests, or as many as the settings allow, are open at once.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

use super::dispatch::{Conclusion, Dispatcher, Job, Next};
use super::order::{Item, Order};
use crate::model::{Certainty, HeldRequests, HoldKind, OutcomeKind, RequestDigest, Thresholds, ToggleId};
use crate::pass::StopReason;
use crate::pass::publish::{Limits, tries};
use crate::pass::report::ChangeResult;
use crate::service::Outcome;
use crate::service::retry::TokenState;

const SEEDS: u64 = 400;

/// A response of the service.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Response {
    Applied,
    Busy,
    Forbidden,
    /// 403 with this `Retry-After`, in seconds.
    Limited(u64),
    /// 404 without a code.
    Missing,
    Misrouted,
    Refused,
}

impl Response {
    pub(super) fn outcome(self) -> Outcome {
        let (kind, status) = match self {
            Self::Applied => (OutcomeKind::Applied, 200),
            Self::Busy => (OutcomeKind::Busy, 503),
            Self::Forbidden => (OutcomeKind::Forbidden, 403),
            Self::Limited(_) => (OutcomeKind::Busy, 403),
            Self::Missing => (OutcomeKind::Misrouted, 404),
            Self::Misrouted => (OutcomeKind::Misrouted, 302),
            Self::Refused => (OutcomeKind::Refused, 400),
        };
        let retry_after = match self {
            Self::Limited(seconds) => Some(Duration::from_secs(seconds)),
            _ => None,
        };
        Outcome { status: Some(status), retry_after, ..Outcome::new(kind, Certainty::Unknown, "") }
    }

    /// Ends a job with this response.
    pub(super) fn concludes(self, dispatcher: &mut Dispatcher, job: Job, now: Instant) -> Conclusion {
        dispatcher.conclude(job, &self.outcome(), TokenState::Current, now)
    }
}

/// Returns what the toggles have in common because of which the pass ended.
pub(super) fn cause(stop: &StopReason) -> Response {
    match stop {
        StopReason::InDoubt { .. } | StopReason::Patience { .. } => Response::Busy,
        StopReason::Forbidden(..) => Response::Forbidden,
        StopReason::Misrouted(..) => Response::Misrouted,
        other => panic!("{other:?}"),
    }
}

/// Whether the state has any applied toggle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Foundation {
    Applied,
    Nothing,
}

/// A toggle of the service.
#[derive(Clone, Debug)]
struct Toggle {
    id: ToggleId,
    environment: usize,
    response: Response,
    /// Whether the state has it as applied, at the start.
    is_known: bool,
    is_applied: bool,
    is_unknown: bool,
    /// Whether a failure leaves it unknown.
    is_unclear: bool,
}

/// Whether the state survives between passes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Disk {
    Empty,
    Kept,
}

/// Toggles with faults of one kind, and toggles without a fault.
#[derive(Clone, Copy, Debug)]
enum Family {
    Deleted,
    FewErrors,
    FirstMissing,
    ForbiddenEnvironments,
    ManyErrors,
    ManyMissing,
    Redirects,
}

/// A fault of the service that concerns all toggles.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Service {
    /// Every request has this outcome.
    All(Response),
    PerToggle,
}

/// Toggles, their earlier tries, and a clock.
struct World {
    toggles: Vec<Toggle>,
    tries: HeldRequests,
    disk: Disk,
    foundation: Foundation,
    rng: Rng,
    now: Instant,
    limits: Limits,
    /// The time that the service takes to fail.
    hangs: Duration,
    outages: Option<Outages>,
}

/// Two outages, each of which begins once this many toggles are applied. The second one does not end.
struct Outages {
    response: Response,
    first: usize,
    lasts: Duration,
    ends: Option<Instant>,
    second: usize,
    second_began: Option<Instant>,
}

const LIMITS: Limits =
    Limits { in_flight: 16, in_flight_per_environment: 1, give_up_after: Duration::from_secs(60) };

/// The result of one pass.
#[derive(Debug, Default)]
struct Pass {
    requests: usize,
    stop: Option<StopReason>,
    took: Duration,
    open: usize,
    /// The number of toggles that failed alone.
    alone: usize,
}

impl Family {
    /// Returns the number of toggles that fail, and the response to each.
    const fn failures(self) -> (usize, Response) {
        match self {
            Self::FewErrors => (8, Response::Busy),
            Self::FirstMissing => (1, Response::Missing),
            Self::ForbiddenEnvironments => (20, Response::Forbidden),
            Self::ManyErrors => (60, Response::Busy),
            Self::ManyMissing => (100, Response::Missing),
            Self::Deleted => (5, Response::Missing),
            Self::Redirects => (5, Response::Misrouted),
        }
    }
}

impl World {
    fn new(family: Family, foundation: Foundation, disk: Disk, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let environments = rng.choice([1, 2, 4, 10]).unwrap();
        let good = rng.choice([1, 3, 30]).unwrap();
        let mut toggles: Vec<Toggle> = Vec::new();
        let mut add = |environment: usize, key: String, response, is_known| {
            toggles.push(Toggle {
                id: format!("p/e{environment}/{key}").parse().unwrap(),
                environment,
                response,
                is_known: is_known && foundation == Foundation::Applied,
                is_applied: false,
                is_unknown: false,
                is_unclear: !matches!(family, Family::Deleted | Family::ManyMissing | Family::FirstMissing),
            });
        };
        let (bad, response) = family.failures();
        let is_closed = |environment: usize| {
            matches!(family, Family::ForbiddenEnvironments) && environment < environments / 2
        };
        for number in 0..good {
            let mut environment = rng.usize(0..environments);
            while is_closed(environment) {
                environment = rng.usize(0..environments);
            }
            let key = format!("g{}-{number}", rng.u32(..));
            add(environment, key, Response::Applied, rng.f64() < 0.7);
        }
        for number in 0..bad {
            let environment = rng.usize(0..environments);
            if matches!(family, Family::ForbiddenEnvironments) && !is_closed(environment) {
                continue;
            }
            let key = format!("{}{}-{number}", rng.choice(['a', 'h', 'z']).unwrap(), rng.u32(..));
            let is_known = match family {
                Family::ManyMissing => false,
                Family::Deleted | Family::ForbiddenEnvironments => true,
                _ => rng.bool(),
            };
            add(environment, key, response, is_known);
        }
        toggles.sort_by(|a, b| a.id.cmp(&b.id));
        Self {
            toggles,
            tries: HeldRequests::new(),
            disk,
            foundation,
            rng,
            now: Instant::now(),
            limits: LIMITS,
            hangs: Duration::ZERO,
            outages: None,
        }
    }

    fn is_settled(&self) -> bool {
        let is_open = |toggle: &Toggle| toggle.response == Response::Applied && !toggle.is_applied;
        !self.toggles.iter().any(is_open)
    }

    /// The toggles that a pass sends, and their order.
    fn order(&self) -> (Vec<usize>, Order) {
        let due: Vec<usize> = (0..self.toggles.len()).filter(|at| !self.toggles[*at].is_applied).collect();
        let item = |at: &usize| {
            let toggle = &self.toggles[*at];
            let tried = self.tries.get(&toggle.id.folded());
            Item {
                lane: toggle.environment,
                last_try: tried.map_or(0, |tried| tried.pass),
                is_unknown: toggle.is_unknown,
                may_be_missing: !toggle.is_known && self.foundation == Foundation::Applied,
                is_alone: tried.is_some_and(|tried| tried.alone.is_some()),
                ..Item::default()
            }
        };
        let items: Vec<Item> = due.iter().map(item).collect();
        let mut lanes: Vec<Vec<usize>> = vec![Vec::new(); 10];
        for (index, item) in items.iter().enumerate() {
            lanes[item.lane].push(index);
        }
        let order = Order { lanes, items, is_blank: self.tries.is_empty(), ..Order::default() };
        (due, order)
    }

    fn pass(&mut self, service: Service) -> Pass {
        let (due, order) = self.order();
        let mut dispatcher =
            Dispatcher::new(order, self.limits, Thresholds::default(), Rng::with_seed(self.rng.u64(..)));
        let mut results = vec![ChangeResult::NotSent; due.len()];
        let mut open: Vec<(Instant, Job)> = Vec::new();
        let (began, mut pass) = (self.now, Pass::default());
        let mut is_applied = false;
        loop {
            let wake = match dispatcher.next(self.now) {
                Next::Send(job) => {
                    pass.requests += 1;
                    let hangs = self.hang(due[job.change], service);
                    let answer_at = self.now + hangs + Duration::from_millis(self.rng.u64(1..40));
                    open.push((answer_at, job));
                    if !is_applied {
                        pass.open = pass.open.max(open.len());
                    }
                    continue;
                }
                Next::Done => break,
                Next::Wait => None,
                Next::WaitUntil(at) => Some(at),
            };
            let first = (0..open.len()).min_by_key(|at| open[*at].0);
            let Some(first) = first.filter(|at| wake.is_none_or(|wake| open[*at].0 <= wake)) else {
                self.now = wake.expect("something is open, or there is a time to wait for");
                continue;
            };
            let (at, job) = open.swap_remove(first);
            self.now = at;
            let (change, response) = (job.change, self.respond(due[job.change], service));
            is_applied |= response == Response::Applied;
            results[change] = match response {
                Response::Applied => ChangeResult::Applied,
                _ => pending(),
            };
            let stop = response.concludes(&mut dispatcher, job, at).stop;
            if stop.is_some() {
                pass.stop = pass.stop.or(stop);
                dispatcher.close();
            }
        }
        pass.took = self.now - began;
        super::publisher::park_lone_failures(&mut results, pass.stop.as_ref(), &dispatcher);
        let is_alone = |result: &&ChangeResult| {
            result.hold().is_some_and(|hold| hold.kind == Some(HoldKind::FailedAlone))
        };
        pass.alone = results.iter().filter(is_alone).count();
        if self.disk == Disk::Kept {
            self.remember(&due, &results);
        }
        pass
    }

    /// Returns how long the service takes to fail.
    fn hang(&self, toggle: usize, service: Service) -> Duration {
        let response = match service {
            Service::All(response) => response,
            Service::PerToggle => self.toggles[toggle].response,
        };
        if response == Response::Busy { self.hangs } else { Duration::ZERO }
    }

    /// Returns the response of the service to everything while it is down.
    fn outage(&mut self) -> Option<Response> {
        let applied = self.toggles.iter().filter(|toggle| toggle.is_applied).count();
        let outages = self.outages.as_mut()?;
        if applied >= outages.second {
            outages.second_began.get_or_insert(self.now);
            return Some(outages.response);
        }
        let is_down =
            applied >= outages.first && self.now < *outages.ends.get_or_insert(self.now + outages.lasts);
        is_down.then_some(outages.response)
    }

    /// Draws two outages of a service without other faults, which respond like this.
    fn draw_outages(&mut self, response: Response) {
        self.toggles.iter_mut().for_each(|toggle| toggle.response = Response::Applied);
        let first = self.rng.usize(0..20);
        // At least ten toggles are left for the second.
        let second = first + self.rng.usize(1..30);
        let lasts = Duration::from_millis(self.rng.u64(1..50_000));
        self.outages = Some(Outages { response, first, lasts, ends: None, second, second_began: None });
    }

    /// Returns the response to a request for a toggle, and changes the toggle as the service does.
    fn respond(&mut self, toggle: usize, service: Service) -> Response {
        let outage = self.outage();
        let toggle = &mut self.toggles[toggle];
        let response = match (outage, service) {
            (Some(response), _) | (None, Service::All(response)) => response,
            (None, Service::PerToggle) => toggle.response,
        };
        let is_unclear = matches!(response, Response::Busy | Response::Misrouted) && toggle.is_unclear;
        toggle.is_unknown = response != Response::Applied && (toggle.is_unknown || is_unclear);
        toggle.is_applied |= response == Response::Applied;
        response
    }

    /// Remembers the toggles that were not applied, for the next pass.
    fn remember(&mut self, due: &[usize], results: &[ChangeResult]) {
        let failed = due.iter().zip(results).filter(|(_, result)| **result != ChangeResult::Applied);
        let lines = failed.map(|(at, result)| (&self.toggles[*at].id, RequestDigest::default(), result));
        let (waits, still_held) = (&BTreeMap::new(), &BTreeMap::new());
        let end = tries::PassEnd { waits, still_held, now: 0, jitter: 1.0 };
        self.tries = tries::remember(&self.tries, lines, [], end);
    }

    /// Runs passes until every toggle that the service accepts is applied. Returns their number.
    fn passes(&mut self) -> usize {
        let mut passes = 0;
        while !self.is_settled() {
            assert!(passes < 2000, "starved: {:?}", self.toggles);
            passes += 1;
            let pass = self.pass(Service::PerToggle);
            assert!(pass.open <= 3, "more than three are open before anything is applied");
        }
        passes
    }
}

/// Checks that no seed needs more passes than `kept` with a surviving state folder and `empty` without: the
/// worst case of the model.
#[track_caller]
fn settles(family: Family, foundation: Foundation, kept: usize, empty: usize) {
    for (disk, most) in [(Disk::Kept, kept), (Disk::Empty, empty)] {
        let passes = (0..SEEDS).map(|seed| World::new(family, foundation, disk, seed).passes());
        let worst = passes.max().unwrap();
        assert!(worst <= most, "{family:?} {foundation:?} {disk:?}: {worst} passes, more than {most}");
    }
}

#[test]
fn a_few_toggles_with_errors_starve_none() {
    settles(Family::FewErrors, Foundation::Applied, 1, 1);
    settles(Family::FewErrors, Foundation::Nothing, 1, 1);
}

#[test]
fn many_toggles_with_errors_starve_none() {
    settles(Family::ManyErrors, Foundation::Applied, 7, 7);
    settles(Family::ManyErrors, Foundation::Nothing, 7, 7);
}

#[test]
fn a_toggle_that_does_not_exist_starves_none() {
    settles(Family::FirstMissing, Foundation::Applied, 1, 1);
    settles(Family::FirstMissing, Foundation::Nothing, 1, 1);
}

#[test]
fn many_toggles_that_do_not_exist_starve_none() {
    settles(Family::ManyMissing, Foundation::Applied, 1, 1);
    // The model needs 87 with an empty disk; here the first toggles are the same in each pass, in the order
    // of their paths.
    settles(Family::ManyMissing, Foundation::Nothing, 10, 130);
}

#[test]
fn toggles_that_are_redirected_starve_none() {
    settles(Family::Redirects, Foundation::Applied, 1, 1);
    settles(Family::Redirects, Foundation::Nothing, 1, 1);
}

/// Not a family of the model.
#[test]
fn toggles_that_were_deleted_on_the_service_starve_none() {
    settles(Family::Deleted, Foundation::Applied, 1, 1);
}

#[test]
fn environments_that_are_forbidden_starve_none() {
    settles(Family::ForbiddenEnvironments, Foundation::Applied, 3, 8);
    settles(Family::ForbiddenEnvironments, Foundation::Nothing, 3, 8);
}

#[test]
fn a_service_that_is_down_costs_few_requests_and_the_configured_time() {
    for seed in 0..SEEDS {
        let mut world = World::new(Family::ManyErrors, Foundation::Applied, Disk::Kept, seed);
        let pass = world.pass(Service::All(Response::Busy));
        assert_eq!(pass.stop.as_ref().map(cause), Some(Response::Busy));
        assert!(pass.requests <= 20, "{pass:?}");
        assert!((60..62).contains(&pass.took.as_secs()), "{pass:?}");
    }
}

#[test]
fn a_second_outage_in_one_pass_lasts_as_long_as_a_first_before_the_pass_gives_up() {
    for seed in 0..SEEDS {
        let mut world = World::new(Family::ManyErrors, Foundation::Applied, Disk::Kept, seed);
        world.draw_outages(Response::Busy);
        let pass = world.pass(Service::PerToggle);
        assert_eq!(pass.stop.as_ref().map(cause), Some(Response::Busy), "seed {seed}: {pass:?}");
        let began = world.outages.and_then(|outages| outages.second_began).expect("a second outage");
        let waited = world.now.duration_since(began).as_secs();
        assert!((60..62).contains(&waited), "seed {seed}: {waited} s after the second began");
    }
}

#[test]
fn a_failure_while_others_failed_for_the_same_reason_is_no_evidence_against_the_toggle() {
    for response in [Response::Busy, Response::Limited(2), Response::Limited(20), Response::Limited(3600)] {
        for seed in 0..SEEDS {
            let mut world = World::new(Family::ManyErrors, Foundation::Applied, Disk::Kept, seed);
            world.limits.in_flight_per_environment = world.rng.usize(1..4);
            world.draw_outages(response);
            let pass = world.pass(Service::PerToggle);
            assert_eq!(pass.alone, 0, "{response:?}, seed {seed}: {pass:?}");
            world.outages = None;
            assert_eq!(world.passes(), 1, "{response:?}, seed {seed}");
        }
    }
}

#[test]
fn a_service_that_hangs_costs_the_configured_time_and_a_few_timeouts() {
    let timeout = Duration::from_secs(10);
    for seed in 0..SEEDS {
        for give_up_after in [Duration::from_secs(8), Duration::from_secs(60)] {
            let mut world = World::new(Family::FewErrors, Foundation::Applied, Disk::Kept, seed);
            world.hangs = timeout;
            world.limits = Limits { give_up_after, ..LIMITS };
            world.toggles.truncate(1 + world.rng.usize(0..world.toggles.len()));
            let pass = world.pass(Service::All(Response::Busy));
            // Ten toggles in a row begin the wait of `--give-up-after` unless it is over by then.
            let longest = if give_up_after < timeout { give_up_after } else { 2 * give_up_after };
            assert!(pass.took < longest + 3 * timeout, "{pass:?}");
        }
    }
}

#[test]
fn a_few_toggles_that_hang_starve_none() {
    for disk in [Disk::Kept, Disk::Empty] {
        for seed in 0..SEEDS {
            let mut world = World::new(Family::FewErrors, Foundation::Applied, disk, seed);
            world.hangs = Duration::from_secs(10);
            world.limits.give_up_after = Duration::from_secs(8);
            let passes = world.passes();
            assert!(passes <= 40, "{disk:?}: {passes}");
        }
    }
}

#[test]
fn a_wrong_base_url_and_a_revoked_token_cost_few_requests() {
    for seed in 0..SEEDS {
        for (response, expected) in [
            (Response::Missing, Response::Misrouted),
            (Response::Misrouted, Response::Misrouted),
            (Response::Forbidden, Response::Forbidden),
        ] {
            let mut world = World::new(Family::FewErrors, Foundation::Nothing, Disk::Kept, seed);
            let pass = world.pass(Service::All(response));
            assert_eq!(pass.stop.as_ref().map(cause), Some(expected), "{pass:?}");
            assert!(pass.requests <= 12, "{pass:?}");
        }
    }
}

#[test]
fn after_an_outage_within_a_pass_every_toggle_is_sent() {
    for seed in 0..SEEDS {
        let mut world = World::new(Family::FirstMissing, Foundation::Applied, Disk::Kept, seed);
        world.toggles.iter_mut().for_each(|toggle| toggle.response = Response::Applied);
        world.pass(Service::All(Response::Busy));
        assert_eq!(world.passes(), 1);
    }
}

fn pending() -> ChangeResult {
    ChangeResult::pending(String::new())
}
