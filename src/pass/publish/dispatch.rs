//! Decides which request is next and when the pass ends: the rules of DESIGN, section 6, as one value.
//!
//! [`Lanes`] knows what is queued, [`Evidence`] and [`Breaker`] what the outcomes show, [`Pool`] whose turn it is while it
//! is not known whether the service works. The dispatcher puts them together. It has no clock and sends nothing, so a test
//! runs thousands of passes against a random service.

use fastrand::Rng;
use tokio::time::Instant;

use super::Limits;
use super::breaker::{Breaker, Circuit};
use super::evidence::{Evidence, Verdict};
use super::lanes::{Job, Lanes, Next, Purpose};
use super::order::{Item, Order, Pool};
use crate::service::Outcome;

/// How many requests are open until something was applied.
const OPEN_UNTIL_APPLIED: usize = 3;

/// Tries within this pass are younger than those of all passes before.
const THIS_PASS: u64 = 1 << 48;

/// How one request ended, as far as the dispatcher is concerned.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Response {
    Applied,
    /// Busy or lost.
    Busy,
    Forbidden,
    Misrouted,
    Refused,
    /// The pass ends because of it, or it is repeated at once with another token.
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
            Outcome::Unauthorised { .. } | Outcome::Untrusted { .. } => Self::Void,
        }
    }
}

/// What the end of one request means for the other toggles of the pass.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Effect {
    /// Why the pass ends, if it does.
    pub(crate) verdict: Option<Verdict>,
    /// The toggles that are forbidden together with this one and are not sent.
    pub(crate) forbidden: Vec<usize>,
}

/// How many requests may be open.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Pace {
    /// Few: nothing was applied yet.
    Careful,
    /// As many as the settings allow.
    Full,
    /// One.
    Paused,
}

/// Decides what one pass sends next.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    items: Vec<Item>,
    lanes: Lanes,
    evidence: Evidence,
    breaker: Breaker,
    /// There while something has failed and nothing was applied.
    pool: Option<Pool>,
    /// A verdict that waits for the toggles that could not be tried yet, because one of them may refute it.
    verdict: Option<Verdict>,
    probing: Option<u64>,
    last_lane: Option<usize>,
    in_flight: usize,
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
            evidence: Evidence::new(&items, foundation),
            lanes,
            breaker: Breaker::new(give_up_after),
            items,
            pool: None,
            verdict: None,
            probing: None,
            last_lane: None,
            in_flight,
            rng,
        }
    }

    /// Returns what can be done at `now`. A job counts as open until [`Dispatcher::ended`] or [`Dispatcher::again`].
    pub(crate) fn next(&mut self, now: Instant) -> Next {
        if self.lanes.admit(now) {
            (self.pool, self.verdict) = (None, None);
        }
        let room = match self.evidence.is_applied() {
            true => self.in_flight,
            false => self.in_flight.min(OPEN_UNTIL_APPLIED),
        };
        let next = match self.lanes.blocked(now, room) {
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
            self.items[job.change].age.last_try = THIS_PASS + job.number;
        }
        next
    }

    /// Ends a job whose toggle is dealt with in this pass.
    pub(crate) fn ended(&mut self, job: Job, response: Response, now: Instant) -> Effect {
        self.lanes.settle(job);
        self.note(job, response, now)
    }

    /// Ends a job whose toggle is tried again, not before `at`.
    pub(crate) fn again(&mut self, job: Job, response: Response, now: Instant, at: Instant) -> Effect {
        self.lanes.retry(job, at);
        self.note(job, response, now)
    }

    /// Holds everything back until `until`.
    pub(crate) fn hold(&mut self, until: Instant) {
        self.lanes.hold(until);
    }

    /// Returns until when everything is held back, or was last.
    pub(crate) fn held_until(&self) -> Option<Instant> {
        self.lanes.held_until()
    }

    /// Returns whether nothing more is sent.
    pub(crate) fn is_closed(&self) -> bool {
        self.lanes.is_closed()
    }

    /// Sends nothing more. What is open may end.
    pub(crate) fn close(&mut self) {
        self.lanes.close();
    }

    /// Returns whether the toggle at this index failed alone before.
    pub(crate) fn is_alone(&self, change: usize) -> bool {
        self.items[change].is_alone
    }

    /// Returns how many requests may be open.
    pub(crate) fn pace(&self) -> Pace {
        match (self.breaker.circuit(), self.evidence.is_applied()) {
            (Circuit::PausedUntil(_) | Circuit::GivenUp, _) => Pace::Paused,
            (Circuit::Closed, true) => Pace::Full,
            (Circuit::Closed, false) => Pace::Careful,
        }
    }

    /// While nothing was applied and something failed: whose last try is longest ago.
    fn next_in_doubt(&mut self, now: Instant) -> Next {
        let Self {
            lanes, items, rng, ..
        } = self;
        let pool = self
            .pool
            .get_or_insert_with(|| Pool::new(lanes.all_queued(), items, rng));
        match pool.pick(self.last_lane, |lane| lanes.has_room(lane), rng) {
            Some(change) => lanes.take(change, items[change].lane, Purpose::Publish),
            None => lanes.retry_next(now),
        }
    }

    /// In a pause: one toggle at a time.
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
        let has_room = |lane| lanes.has_room(lane);
        let queued = Pool::new(lanes.all_queued(), items, rng).pick(self.last_lane, has_room, rng);
        let next = match queued {
            Some(change) => Some(lanes.take(change, items[change].lane, Purpose::Probe)),
            None => Pool::new(lanes.all_waiting(), items, rng)
                .pick(self.last_lane, |lane| lanes.has_room(lane), rng)
                .and_then(|change| lanes.probe_waiting(change, items[change].lane)),
        };
        match next {
            Some(Next::Send(job)) => {
                self.probing = Some(job.number);
                self.pool = None;
                Next::Send(job)
            }
            _ => self.when_delayed(),
        }
    }

    fn when_delayed(&self) -> Next {
        self.lanes.delayed_until().map_or(Next::Wait, Next::WaitUntil)
    }

    fn note(&mut self, job: Job, response: Response, now: Instant) -> Effect {
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
                effect.verdict = Some(Verdict::GaveUp);
            }
        }
        if effect.verdict.is_none() && self.lanes.is_done() {
            effect.verdict = self.evidence.finally();
        }
        effect.verdict = self.final_verdict(effect.verdict);
        effect
    }

    /// Keeps a verdict back while toggles are delayed.
    fn final_verdict(&mut self, verdict: Option<Verdict>) -> Option<Verdict> {
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

    /// Moves a forbidden lane to the end, and empties it once it is forbidden as a whole.
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
