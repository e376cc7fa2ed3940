//! Decides which request is next and when the pass ends, by the rules of DESIGN, section 6.
//!
//! [`Lanes`] has the queues, [`ServiceEvidence`] and [`Breaker`] evaluate the outcomes, and [`Pool`] picks the next toggle
//! while it is unknown whether the service works. The dispatcher combines them. It reads no clock and sends nothing, so a
//! test can run thousands of passes against a random service.

use fastrand::Rng;
use tokio::time::Instant;

use super::Limits;
use super::breaker::{Breaker, Circuit};
use super::evidence::{ServiceEvidence, ServiceVerdict};
use super::lanes::{Job, Lanes, Next, Purpose};
use super::order::{Item, Order, Pool};
use crate::service::Outcome;

/// The limit of open requests until a change was applied.
const OPEN_UNTIL_APPLIED: usize = 3;

/// Added to the numbers of requests, so that tries of this pass are later than those of all earlier passes.
const THIS_PASS: u64 = 1 << 48;

/// The kind of a request's outcome.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Response {
    Applied,
    /// Busy or lost.
    Busy,
    Forbidden,
    Misrouted,
    Refused,
    /// No evidence: the pass ends because of it, or the request is repeated immediately with another token.
    Void,
}

impl Response {
    pub(crate) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Applied { .. } => Self::Applied,
            Outcome::Busy { .. } | Outcome::Lost { .. } => Self::Busy,
            Outcome::Forbidden { .. } => Self::Forbidden,
            Outcome::Misrouted { .. } => Self::Misrouted,
            Outcome::Refused { .. } => Self::Refused,
            Outcome::Unauthorized { .. } | Outcome::Untrusted { .. } => Self::Void,
        }
    }
}

/// The effect of a request's outcome on the rest of the pass.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Effect {
    /// Why the pass ends, if it does.
    pub(crate) verdict: Option<ServiceVerdict>,
    /// The toggles that are not sent because their lane is forbidden.
    pub(crate) forbidden: Vec<usize>,
}

/// The limit of open requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Pace {
    /// Few, because no change was applied yet.
    Careful,
    /// The limit of the settings.
    Full,
    /// One.
    Paused,
}

/// Decides what one pass sends next.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    items: Vec<Item>,
    lanes: Lanes,
    evidence: ServiceEvidence,
    breaker: Breaker,
    /// Used while a request has failed and no change was applied.
    pool: Option<Pool>,
    /// A verdict that waits for delayed toggles, because one of them may refute it.
    verdict: Option<ServiceVerdict>,
    probing: Option<u64>,
    last_lane: Option<usize>,
    in_flight: usize,
    /// The time before which no request is sent.
    held_until: Option<Instant>,
    is_closed: bool,
    rng: Rng,
}

impl Dispatcher {
    pub(crate) fn new(order: Order, limits: Limits, mut rng: Rng) -> Self {
        let Limits {
            in_flight,
            in_flight_per_environment,
            give_up_after,
        } = limits;
        let Order {
            items,
            lanes,
            foundation,
        } = order;
        let mut lanes = Lanes::new(lanes, in_flight_per_environment, &mut rng);
        lanes.delay(|change| items[change].not_before);
        Self {
            evidence: ServiceEvidence::new(&items, foundation),
            lanes,
            breaker: Breaker::new(give_up_after),
            items,
            pool: None,
            verdict: None,
            probing: None,
            last_lane: None,
            in_flight,
            held_until: None,
            is_closed: false,
            rng,
        }
    }

    /// Returns the next step at `now`. A job is open until [`Dispatcher::finish`] or [`Dispatcher::retry`].
    pub(crate) fn next(&mut self, now: Instant) -> Next {
        if self.lanes.admit(now) {
            // A toggle that is due may refute the verdict, and the pool does not contain it yet.
            (self.pool, self.verdict) = (None, None);
        }
        let next = match self.blocked(now) {
            Some(blocked) => blocked,
            None if self.verdict.is_some() => self.when_delayed(),
            None => match self.breaker.circuit() {
                Circuit::PausedUntil(at) => self.probe(now, at),
                _ if self.evidence.is_in_doubt() => self.next_in_doubt(now),
                _ => self.lanes.next(now),
            },
        };
        if let Next::Send(job) = next {
            self.last_lane = Some(job.lane);
            // The pool prefers the longest wait, so this toggle now comes after the others.
            self.items[job.change].age.last_try = THIS_PASS + job.number;
        }
        next
    }

    /// Ends a job whose toggle is finished in this pass.
    pub(crate) fn finish(&mut self, job: Job, response: Response, now: Instant) -> Effect {
        self.lanes.settle(job);
        self.record(job, response, now)
    }

    /// Ends a job whose toggle is tried again at `at` or later.
    pub(crate) fn retry(&mut self, job: Job, response: Response, now: Instant, at: Instant) -> Effect {
        self.lanes.retry(job, at);
        self.record(job, response, now)
    }

    /// Sends no request until `until`, or until the end of a longer hold.
    pub(crate) fn hold(&mut self, until: Instant) {
        self.held_until = self.held_until.max(Some(until));
    }

    pub(crate) fn held_until(&self) -> Option<Instant> {
        self.held_until
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Sends no further request. Open requests may end.
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
    }

    /// Returns whether the toggle at this index failed alone before.
    pub(crate) fn is_alone(&self, change: usize) -> bool {
        self.items[change].is_alone
    }

    pub(crate) fn pace(&self) -> Pace {
        match (self.breaker.circuit(), self.evidence.is_applied()) {
            (Circuit::PausedUntil(_) | Circuit::GivenUp, _) => Pace::Paused,
            (Circuit::Closed, true) => Pace::Full,
            (Circuit::Closed, false) => Pace::Careful,
        }
    }

    /// Returns the next step if no request may be sent at `now`.
    fn blocked(&self, now: Instant) -> Option<Next> {
        let open = self.lanes.in_flight();
        if self.is_closed || self.lanes.is_empty() {
            return Some(if open == 0 { Next::Done } else { Next::Wait });
        }
        let room = match self.evidence.is_applied() {
            true => self.in_flight,
            false => self.in_flight.min(OPEN_UNTIL_APPLIED),
        };
        if open >= room {
            return Some(Next::Wait);
        }
        self.held_until.filter(|until| *until > now).map(Next::WaitUntil)
    }

    /// Returns the next step while a request has failed and no change was applied.
    fn next_in_doubt(&mut self, now: Instant) -> Next {
        let Self {
            lanes, items, rng, ..
        } = self;
        let pool = self
            .pool
            .get_or_insert_with(|| Pool::new(lanes.all_queued(), items, rng));
        pool.pick(self.last_lane, |lane| lanes.has_room(lane), rng)
            .and_then(|change| lanes.take(change, items[change].lane, Purpose::Publish))
            .unwrap_or_else(|| lanes.retry_next(now))
    }

    /// Returns the next step during a pause: one probe at a time.
    fn probe(&mut self, now: Instant, at: Instant) -> Next {
        if self.probing.is_some() {
            return Next::Wait;
        }
        if now < at {
            return Next::WaitUntil(at);
        }
        let Self {
            lanes, items, rng, ..
        } = self;
        // Queued toggles were not sent in this pass, so their last try is longer ago (DESIGN, section 6, *Order*).
        let candidates = [lanes.all_queued(), lanes.all_waiting()].into_iter();
        let mut picks = candidates.filter_map(|all| {
            Pool::new(all, items, rng).pick(self.last_lane, |lane| lanes.has_room(lane), rng)
        });
        let change = picks.next();
        match change.and_then(|change| lanes.take(change, items[change].lane, Purpose::Probe)) {
            Some(Next::Send(job)) => {
                self.probing = Some(job.number);
                // The pool still contains this toggle.
                self.pool = None;
                Next::Send(job)
            }
            _ => self.when_delayed(),
        }
    }

    fn when_delayed(&self) -> Next {
        self.lanes.delayed_until().map_or(Next::Wait, Next::WaitUntil)
    }

    fn record(&mut self, job: Job, response: Response, now: Instant) -> Effect {
        let item = self.items[job.change];
        let mut effect = Effect::default();
        match response {
            Response::Applied => {
                self.evidence.applied();
                (self.pool, self.verdict) = (None, None);
            }
            Response::Refused | Response::Void => {}
            Response::Busy | Response::Forbidden | Response::Misrouted => {
                self.evidence.failed(job.number, self.lanes.next_number());
            }
        }
        match response {
            Response::Applied | Response::Refused => self.breaker.useful(job.number),
            // A toggle that failed alone does not count for the breaker (DESIGN, section 6, *Failed alone*).
            Response::Busy if !item.is_alone => self.breaker.busy(job.change, job.number, now),
            Response::Misrouted => {
                self.interrupt(job);
                effect.verdict = self.evidence.misrouted(&item, job.number);
            }
            Response::Forbidden => {
                self.interrupt(job);
                effect.verdict = self.evidence.forbidden(&item);
                effect.forbidden = self.forbid(job.lane);
            }
            Response::Busy | Response::Void => {}
        }
        if self.probing == Some(job.number) {
            self.probing = None;
            if self.breaker.probed(now) == Circuit::GivenUp {
                effect.verdict = Some(ServiceVerdict::GaveUp);
            }
        }
        if effect.verdict.is_none() && self.lanes.is_empty() && self.lanes.in_flight() == 0 {
            effect.verdict = self.evidence.final_verdict();
        }
        effect.verdict = self.final_verdict(effect.verdict);
        effect
    }

    /// Returns the verdict, unless delayed toggles may still refute it.
    fn final_verdict(&mut self, verdict: Option<ServiceVerdict>) -> Option<ServiceVerdict> {
        let verdict = verdict.or(self.verdict.take());
        if self.lanes.delayed_until().is_some() {
            self.verdict = verdict;
            return None;
        }
        verdict
    }

    fn interrupt(&mut self, job: Job) {
        if !self.items[job.change].is_alone {
            self.breaker.interrupt(job.number);
        }
    }

    /// Moves a forbidden lane to the end. Empties it once the whole lane counts as forbidden.
    fn forbid(&mut self, lane: usize) -> Vec<usize> {
        if !self.evidence.is_forbidden(lane) {
            self.lanes.move_to_end(lane);
            return Vec::new();
        }
        if let Some(pool) = &mut self.pool {
            pool.remove_lane(lane);
        }
        self.lanes.drain(lane)
    }
}
