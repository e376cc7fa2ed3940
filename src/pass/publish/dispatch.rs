//! Decides which request is next and when the pass ends, by one rule (src/pass/README.md, "One toggle is not
//! evidence"): a failure is charged to its toggle, and ten different toggles in a row without a success put
//! the service in doubt.
//!
//! Each environment is a lane with a queue. The lanes take turns; among their first toggles, the one whose
//! last try is longest ago is next. A toggle that needs others waits until they have ended ([`Turns`]). What
//! the service refused is sent once more at the end of a pass that applied something, because the refusal may
//! have been about what was not applied yet. So is what the token may not change, if it may change others in the
//! same environment. What was held because such a toggle was not applied is tried then as well.
//!
//! The dispatcher reads no clock and sends nothing, so a test can run thousands of passes against a random
//! service.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

use super::Limits;
use super::failure_row::FailureRow;
use super::order::{Item, Order};
use super::turns::Turns;
use crate::model::{OutcomeKind, Thresholds};
use crate::pass::{Acceptance, StopReason};
use crate::service::Outcome;
use crate::service::retry::{self, Again, Evidence, PassEffect, Repeat, RetryContext, TokenState, effect};
use crate::transport::probe_backoff;

/// The longest `Retry-After` that is kept for one toggle.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// A toggle whose turn it is, until the dispatcher learns how the attempt ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Job {
    /// An index into the plan's changes.
    pub(crate) change: usize,
    /// The number of the try, from 1. Probes do not count.
    pub(crate) attempt: u32,
    pub(crate) lane: usize,
    /// Whether it finds out if the service works again.
    pub(crate) is_probe: bool,
}

/// What follows from the outcome of a job.
#[derive(Debug)]
pub(crate) struct Conclusion {
    pub(crate) next_try: NextTry,
    /// How long the service asked to hold back everything.
    pub(crate) held_back: Option<Duration>,
    /// Why the pass ends, if it does.
    pub(crate) stop: Option<StopReason>,
}

/// The next try of a toggle in the same pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NextTry {
    /// At this time or later, at the end of its lane.
    At(Instant),
    /// After all others, if any was applied, in the same environment if the token was not allowed to change it.
    AtTheEnd,
    Never,
}

/// The next step of a pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Next {
    /// The pass has ended.
    Done,
    Send(Job),
    /// Wait for the end of an open request.
    Wait,
    WaitUntil(Instant),
}

#[derive(Debug, Default)]
struct Lane {
    queue: VecDeque<usize>,
    retries: VecDeque<Retry>,
    in_flight: usize,
}

#[derive(Clone, Copy, Debug)]
struct Retry {
    change: usize,
    attempt: u32,
    at: Instant,
}

/// A pause of the pass while the service is in doubt.
#[derive(Debug)]
struct Pause {
    probe_at: Instant,
    give_up_at: Instant,
    /// The number of the next probe, from 1.
    probe: u32,
    is_probing: bool,
}

/// Decides what one pass sends next.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    items: Vec<Item>,
    lanes: Vec<Lane>,
    /// The order in which the lanes take turns, from the next one on.
    rotation: VecDeque<usize>,
    /// The toggles that may not be sent yet. They are in no queue, so that they block no other.
    delayed: Vec<usize>,
    turns: Turns,
    /// The toggles that refer to each other, and those that have an open request: it is one of them at a time.
    related: HashMap<usize, Vec<usize>>,
    open: HashSet<usize>,
    /// The toggles that the service refused, or that wait for one that was not applied; then those of them that were tried
    /// again.
    kept: Vec<usize>,
    kept_before: BTreeSet<usize>,
    /// The kept toggles that the token was not allowed to change.
    forbidden: BTreeSet<usize>,
    /// The environments, by lane, to which the service has accepted a request in this pass.
    accepted: BTreeSet<usize>,
    row: FailureRow,
    /// The toggles of which the last request was not sent, because no connection was made.
    unsent: BTreeSet<usize>,
    /// The start of the first request since the last success.
    silent_since: Option<Instant>,
    /// The toggles whose response had a `Retry-After`, with its end.
    waits: BTreeMap<usize, Instant>,
    /// The time before which no request is sent.
    held_back_until: Option<Instant>,
    pause: Option<Pause>,
    is_applied: bool,
    is_blank: bool,
    is_closed: bool,
    in_flight: usize,
    limits: Limits,
    thresholds: Thresholds,
    rng: Rng,
}

impl Dispatcher {
    pub(crate) fn new(order: Order, limits: Limits, thresholds: Thresholds, mut rng: Rng) -> Self {
        let Order { items, lanes, related, is_blank } = order;
        let mut rotation: Vec<usize> = (0..lanes.len()).collect();
        rng.shuffle(&mut rotation);
        let mut dispatcher = Self {
            lanes: lanes.iter().map(|_| Lane::default()).collect(),
            items,
            rotation: rotation.into(),
            delayed: Vec::new(),
            turns: Turns::default(),
            related,
            open: HashSet::new(),
            kept: Vec::new(),
            kept_before: BTreeSet::new(),
            forbidden: BTreeSet::new(),
            accepted: BTreeSet::new(),
            row: FailureRow::default(),
            unsent: BTreeSet::new(),
            silent_since: None,
            waits: BTreeMap::new(),
            held_back_until: None,
            pause: None,
            is_applied: false,
            is_blank,
            is_closed: false,
            in_flight: 0,
            limits,
            thresholds,
            rng,
        };
        dispatcher.enqueue(lanes.into_iter().flatten().collect());
        dispatcher
    }

    /// Puts changes into the queues, except those that wait for others.
    fn enqueue(&mut self, changes: Vec<usize>) {
        for turn in changes.iter().filter_map(|change| self.items[*change].turn) {
            self.turns.open(turn);
        }
        for change in changes {
            match self.items[change].turn {
                Some(turn) if !self.turns.is_next(turn) => self.turns.wait(turn, change),
                _ => self.admit_one(change),
            }
        }
        for lane in &mut self.lanes {
            // Stable: the plan's order, which is by path, decides among equals.
            lane.queue.make_contiguous().sort_by_key(|change| self.items[*change].rank());
        }
    }

    fn admit_one(&mut self, change: usize) {
        let Item { lane, not_before, .. } = self.items[change];
        match not_before {
            // In no queue, so that it blocks no other.
            Some(_) => self.delayed.push(change),
            None => self.lanes[lane].queue.push_back(change),
        }
    }

    /// Returns the next step at `now`.
    pub(crate) fn next(&mut self, now: Instant) -> Next {
        self.admit(now);
        if self.is_empty() && self.in_flight == 0 && self.is_applied && !self.is_closed {
            let (forbidden, accepted, items) = (&self.forbidden, &self.accepted, &self.items);
            // Elsewhere, the token may lack access.
            let may_succeed =
                |change: &mut usize| !forbidden.contains(change) || accepted.contains(&items[*change].lane);
            let again: Vec<usize> = self.kept.extract_if(.., may_succeed).collect();
            self.kept_before.extend(&again);
            self.enqueue(again);
        }
        if self.is_closed || self.is_empty() {
            return if self.in_flight == 0 { Next::Done } else { Next::Wait };
        }
        if self.in_flight >= self.room() {
            return Next::Wait;
        }
        if let Some(until) = self.held_back_until.filter(|until| *until > now) {
            return Next::WaitUntil(until);
        }
        let next = match &self.pause {
            Some(pause) if pause.is_probing => Next::Wait,
            Some(pause) if now < pause.probe_at => Next::WaitUntil(pause.probe_at),
            Some(_) => self.probe(now),
            None => self.queued(false).unwrap_or_else(|| self.due(now)),
        };
        if matches!(next, Next::Send(_)) {
            self.silent_since.get_or_insert(now);
        }
        next
    }

    /// Ends a job with the outcome of its last request. `token` is the state of the token of that request.
    pub(crate) fn conclude(
        &mut self,
        job: Job,
        outcome: &Outcome,
        token: TokenState,
        now: Instant,
    ) -> Conclusion {
        match outcome.is_unsent {
            true => self.unsent.insert(job.change),
            false => self.unsent.remove(&job.change),
        };
        if outcome.kind == OutcomeKind::Applied {
            self.accepted.insert(job.lane);
        }
        let context = RetryContext { tries: job.attempt, jitter: self.rng.f64(), token };
        let decision = retry::decide(outcome, context);
        let held_back = match decision.pass {
            // This comes first, while the job is open.
            PassEffect::EndFor(wait) | PassEffect::HoldBack(wait) => self.hold_back(job, outcome, wait, now),
            PassEffect::End | PassEffect::GoOn => None,
        };
        let evidence = effect(outcome.kind).evidence;
        let (next_try, verdict) = match decision.toggle {
            Again::After(wait) => self.retry(job, outcome, evidence, now, now + wait),
            // The other token says nothing about this one.
            Again::Now => self.retry(job, outcome, Evidence::Nothing, now, now),
            Again::Never => {
                let next_try = match effect(outcome.kind).repeat {
                    Repeat::AtTheEnd => self.keep_for_the_end(job),
                    Repeat::WithNewTokenOrAtTheEnd => self.keep_forbidden(job),
                    _ => NextTry::Never,
                };
                (next_try, self.finish(job, outcome, now))
            }
        };
        let is_over = match decision.pass {
            PassEffect::End => true,
            PassEffect::EndFor(_) => held_back.is_some(),
            PassEffect::GoOn | PassEffect::HoldBack(_) => false,
        };
        let stop = is_over.then(|| StopReason::from_outcome(outcome, self.acceptance())).or(verdict);
        Conclusion { next_try, held_back, stop }
    }

    /// Ends a job whose toggle is finished in this pass. Returns why the pass ends, if it does.
    pub(crate) fn finish(&mut self, job: Job, outcome: &Outcome, now: Instant) -> Option<StopReason> {
        self.end_turn(job);
        self.end(job, outcome, effect(outcome.kind).evidence, now)
    }

    /// Ends a job that shows nothing about the service.
    pub(crate) fn release(&mut self, job: Job, now: Instant) {
        self.end_turn(job);
        self.end_request(job);
        self.end_probe(job, now);
    }

    fn end_turn(&mut self, job: Job) {
        if let Some(turn) = self.items[job.change].turn {
            let due = self.turns.close(turn);
            due.into_iter().for_each(|change| self.admit_one(change));
        }
    }

    fn end_request(&mut self, job: Job) {
        self.open.remove(&job.change);
        self.lanes[job.lane].in_flight -= 1;
        self.in_flight -= 1;
    }

    /// Keeps a toggle for the end of the pass, once.
    pub(crate) fn keep_for_the_end(&mut self, job: Job) -> NextTry {
        if self.kept_before.contains(&job.change) {
            return NextTry::Never;
        }
        self.kept.push(job.change);
        NextTry::AtTheEnd
    }

    /// Keeps a toggle that the token may not change, because it may change others in the same environment.
    fn keep_forbidden(&mut self, job: Job) -> NextTry {
        let next_try = self.keep_for_the_end(job);
        if next_try == NextTry::AtTheEnd {
            self.forbidden.insert(job.change);
        }
        next_try
    }

    /// Returns whether the toggle at this index waits for others, or others for it.
    pub(crate) fn has_turn(&self, change: usize) -> bool {
        self.items[change].turn.is_some()
    }

    /// Ends a job whose toggle is tried again at `at` or later, at the end of its lane.
    fn retry(
        &mut self,
        job: Job,
        outcome: &Outcome,
        evidence: Evidence,
        now: Instant,
        at: Instant,
    ) -> (NextTry, Option<StopReason>) {
        let Job { change, attempt, lane, is_probe } = job;
        let attempt = attempt + u32::from(!is_probe);
        self.lanes[lane].retries.push_back(Retry { change, attempt, at });
        (NextTry::At(at), self.end(job, outcome, evidence, now))
    }

    /// Records a `Retry-After` for an open job. It holds back its toggle; a second one, or one before
    /// anything was applied that leaves nothing else to send, holds back everything for `wait`, which is as
    /// long as a pass waits. Returns the wait for everything.
    fn hold_back(&mut self, job: Job, outcome: &Outcome, wait: Duration, now: Instant) -> Option<Duration> {
        let asked = outcome.retry_after.map_or(wait, |asked| asked.min(LONGEST_WAIT));
        self.waits.insert(job.change, now + asked);
        // The service names the time at which it responds again, so the wait for it begins there.
        self.silent_since = None;
        let is_alone = !self.is_applied && self.in_flight == 1 && self.is_empty();
        let is_for_all = is_alone || self.waits.len() > 1;
        if is_for_all {
            self.held_back_until = self.held_back_until.max(Some(now + wait));
        }
        is_for_all.then_some(wait)
    }

    /// Returns the end of the wait for everything.
    pub(crate) fn held_back_until(&self) -> Option<Instant> {
        self.held_back_until
    }

    /// Returns the end of the wait for one toggle.
    pub(crate) fn waits_until(&self, change: usize) -> Option<Instant> {
        self.waits.get(&change).copied()
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

    /// Returns whether the toggle at this index has used up its tries, the last of them was sent, and others were not
    /// failing as well then.
    pub(crate) fn is_exhausted(&self, change: usize) -> bool {
        let is_left = |lane: &Lane| lane.retries.iter().any(|retry| retry.change == change);
        let is_shared = self.row.is_excused(change) || (self.row.has(change) && self.is_row_evidence());
        !is_shared && !self.unsent.contains(&change) && !self.lanes.iter().any(is_left)
    }

    /// Returns whether the service asked to wait for the toggle at this index, and for no other.
    pub(crate) fn waits_alone(&self, change: usize) -> bool {
        self.waits.len() == 1 && self.waits.contains_key(&change)
    }

    /// Returns whether the failures since the last success say something about the service.
    fn is_row_evidence(&self) -> bool {
        self.pause.is_some() || self.row.len() >= self.thresholds.failures_in_a_row
    }

    /// Returns where requests of this pass had a useful response before those that fail now.
    fn acceptance(&self) -> Acceptance {
        let is_accepted = |change: usize| self.accepted.contains(&self.items[change].lane);
        match self.is_applied {
            false => Acceptance::Nowhere,
            true if self.row.of(OutcomeKind::Forbidden).any(is_accepted) => Acceptance::Here,
            true => Acceptance::Elsewhere,
        }
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.pause.is_some()
    }

    /// Puts the delayed toggles that are due at the front of their queues, in their order.
    fn admit(&mut self, now: Instant) {
        let items = &self.items;
        let is_due = |change: &mut usize| items[*change].not_before.is_none_or(|time| time <= now);
        let due: Vec<usize> = self.delayed.extract_if(.., is_due).collect();
        for change in due.into_iter().rev() {
            self.lanes[self.items[change].lane].queue.push_front(change);
        }
    }

    fn delayed_until(&self) -> Option<Instant> {
        self.delayed.iter().filter_map(|change| self.items[*change].not_before).min()
    }

    /// Returns whether no toggle is queued, delayed, waiting for others or waiting for a retry.
    fn is_empty(&self) -> bool {
        let is_empty = |lane: &Lane| lane.queue.is_empty() && lane.retries.is_empty();
        self.delayed.is_empty() && self.turns.are_over() && self.lanes.iter().all(is_empty)
    }

    /// Returns the limit of open requests: few, until a change was applied.
    fn room(&self) -> usize {
        let most = if self.is_applied { usize::MAX } else { self.thresholds.first_round };
        self.limits.in_flight.min(most)
    }

    fn has_room(&self, lane: usize) -> bool {
        self.lanes[lane].in_flight < self.limits.in_flight_per_environment
    }

    /// Returns whether no toggle that refers to this one, or that it refers to, has an open request.
    fn is_free(&self, change: usize) -> bool {
        let related = self.related.get(&change);
        related.is_none_or(|related| !related.iter().any(|other| self.open.contains(other)))
    }

    /// Opens the request of the queued toggle whose turn it is.
    fn queued(&mut self, is_probe: bool) -> Option<Next> {
        let first = |lane: usize| {
            let change = self.lanes[lane].queue.front().filter(|_| self.has_room(lane))?;
            self.is_free(*change).then(|| self.items[*change].rank())
        };
        // `min_by_key` returns the first among equals, so the lanes take turns.
        let ranked =
            self.rotation.iter().enumerate().filter_map(|(place, lane)| Some((place, first(*lane)?)));
        let (place, _) = ranked.min_by_key(|(_, rank)| *rank)?;
        let lane = self.rotation.remove(place)?;
        self.rotation.push_back(lane);
        let change = self.lanes[lane].queue.pop_front()?;
        Some(self.open(change, 1, lane, is_probe))
    }

    /// Opens a retry that is due, of a lane whose queue is empty; otherwise returns what to wait for.
    fn due(&mut self, now: Instant) -> Next {
        let is_open = |lane: &usize| self.has_room(*lane) && self.lanes[*lane].queue.is_empty();
        let open: Vec<usize> = (0..self.lanes.len()).filter(is_open).collect();
        let place =
            |lane: &usize, test: &dyn Fn(&Retry) -> bool| self.lanes[*lane].retries.iter().position(test);
        let is_due = |retry: &Retry| retry.at <= now && self.is_free(retry.change);
        if let Some((lane, place)) = open.iter().find_map(|lane| Some((*lane, place(lane, &is_due)?))) {
            return self.reopen(lane, place, false).unwrap_or(Next::Wait);
        }
        let retries = open.iter().flat_map(|lane| &self.lanes[*lane].retries);
        let times = retries.filter(|retry| self.is_free(retry.change)).map(|retry| retry.at);
        times.chain(self.delayed_until()).min().map_or(Next::Wait, Next::WaitUntil)
    }

    /// Opens a probe. A toggle that this pass has not sent precedes those that wait for a retry, due or not;
    /// only a `Retry-After` counts.
    fn probe(&mut self, now: Instant) -> Next {
        let next = match self.queued(true) {
            Some(next) => next,
            None => self.probe_again(now),
        };
        if let (Next::Send(_), Some(pause)) = (next, &mut self.pause) {
            pause.is_probing = true;
        }
        next
    }

    fn probe_again(&mut self, now: Instant) -> Next {
        let waits = self.waits.clone();
        let wait = |retry: &Retry| waits.get(&retry.change).copied().filter(|until| *until > now);
        let ready = |lane: usize| {
            let retries = &self.lanes[lane].retries;
            retries.iter().position(|retry| wait(retry).is_none()).filter(|_| self.has_room(lane))
        };
        let mut rotation = self.rotation.iter().enumerate();
        if let Some((place, retry)) = rotation.find_map(|(place, lane)| Some((place, ready(*lane)?)))
            && let Some(lane) = self.rotation.remove(place)
        {
            self.rotation.push_back(lane);
            return self.reopen(lane, retry, true).unwrap_or(Next::Wait);
        }
        let waits = self.lanes.iter().flat_map(|lane| &lane.retries).filter_map(wait);
        waits.chain(self.delayed_until()).min().map_or(Next::Wait, Next::WaitUntil)
    }

    fn reopen(&mut self, lane: usize, place: usize, is_probe: bool) -> Option<Next> {
        let Retry { change, attempt, .. } = self.lanes[lane].retries.remove(place)?;
        Some(self.open(change, attempt, lane, is_probe))
    }

    fn open(&mut self, change: usize, attempt: u32, lane: usize, is_probe: bool) -> Next {
        self.open.insert(change);
        self.lanes[lane].in_flight += 1;
        self.in_flight += 1;
        Next::Send(Job { change, attempt, lane, is_probe })
    }

    /// Ends a request that says this about the service. Returns why the pass ends, if it does.
    fn end(&mut self, job: Job, outcome: &Outcome, evidence: Evidence, now: Instant) -> Option<StopReason> {
        self.end_request(job);
        match evidence {
            Evidence::Nothing => {}
            Evidence::Useful => {
                self.is_applied |= outcome.kind == OutcomeKind::Applied;
                let is_outage = self.is_row_evidence();
                self.row.end(is_outage);
                self.silent_since = None;
                self.pause = None;
            }
            Evidence::Lasting | Evidence::Passing => {
                self.shuffle();
                if let Some(verdict) = self.fail(job, outcome, now) {
                    return Some(verdict);
                }
            }
        }
        if self.end_probe(job, now) {
            let (after, toggles) = (self.limits.give_up_after, self.row.len());
            return Some(StopReason::InDoubt { after, toggles, last: outcome.to_string() });
        }
        // Fewer than ten toggles say what they have in common as well, once all were tried.
        let is_over = self.in_flight == 0 && self.is_empty() && !self.is_applied;
        self.verdict(outcome).filter(|_| is_over && self.row.is_all_of(outcome.kind))
    }

    /// Prepares the next probe after one that did not succeed. Returns whether it was the last one.
    fn end_probe(&mut self, job: Job, now: Instant) -> bool {
        let Some(pause) = self.pause.as_mut().filter(|_| job.is_probe) else {
            return false;
        };
        pause.is_probing = false;
        pause.probe += 1;
        pause.probe_at = pause.give_up_at.min(now + probe_backoff(pause.probe));
        now >= pause.give_up_at
    }

    /// Counts a failure. Returns the verdict if it puts the service in doubt and no probe can refute it.
    fn fail(&mut self, job: Job, outcome: &Outcome, now: Instant) -> Option<StopReason> {
        let item = &self.items[job.change];
        let is_missing = outcome.kind == OutcomeKind::Misrouted && matches!(outcome.status, Some(404 | 405));
        // At the end of the pass, the same refusal says nothing new.
        let is_repeated = outcome.kind == OutcomeKind::Forbidden
            && self.forbidden.contains(&job.change)
            && self.kept_before.contains(&job.change);
        let is_exempt = item.is_alone || (is_missing && item.may_be_missing) || is_repeated;
        let is_new = !is_exempt && self.row.count(job.change, outcome.kind);
        let silence = now.saturating_duration_since(self.silent_since.unwrap_or(now));
        // Ten requests that time out one after the other take longer than a pass waits.
        let is_passing = effect(outcome.kind).evidence == Evidence::Passing;
        let is_late = is_passing
            && silence >= self.limits.give_up_after
            && self.row.first_failures() > self.lone_failures();
        let is_tenth = is_new && self.row.len() >= self.thresholds.failures_in_a_row;
        if self.pause.is_some() || !(is_late || is_tenth) {
            return None;
        }
        if is_passing {
            let give_up_at = if is_late { now } else { now + self.limits.give_up_after };
            self.pause = Some(Pause {
                // The last probe is sent at the end of the pause, however short `--give-up-after` is.
                probe_at: give_up_at.min(now + probe_backoff(1)),
                give_up_at,
                probe: 1,
                is_probing: false,
            });
        }
        self.verdict(outcome)
    }

    /// Returns why the pass ends if toggles have nothing but this failure in common, and waiting does not
    /// change it.
    fn verdict(&self, outcome: &Outcome) -> Option<StopReason> {
        let is_lasting = effect(outcome.kind).evidence == Evidence::Lasting;
        is_lasting.then(|| StopReason::from_outcome(outcome, self.acceptance()))
    }

    /// Returns whether several toggles, or the only ones of the pass, had no useful response since the last
    /// success.
    fn is_in_doubt(&self) -> bool {
        self.row.len() > self.lone_failures()
    }

    /// Returns how many failures in a row say nothing about the service: one, while another toggle is still
    /// to be tried.
    fn lone_failures(&self) -> usize {
        let is_queued = self.lanes.iter().any(|lane| !lane.queue.is_empty());
        usize::from(is_queued || !self.delayed.is_empty() || !self.turns.are_over())
    }

    /// Returns the number of toggles in a row without a useful response, if that puts the service in doubt.
    pub(crate) fn doubt(&self) -> Option<usize> {
        (self.is_in_doubt() && !self.is_closed).then_some(self.row.len())
    }

    /// Draws the order within the lanes when a request has failed for the first time, if no earlier try is
    /// known.
    fn shuffle(&mut self) {
        if !std::mem::take(&mut self.is_blank) {
            return;
        }
        for lane in &mut self.lanes {
            let queue = lane.queue.make_contiguous();
            self.rng.shuffle(queue);
            queue.sort_by_key(|change| self.items[*change].rank());
        }
    }
}
