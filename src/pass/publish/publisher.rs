//! Publishes the changes of a plan as one task, which owns everything that changes meanwhile: what the
//! dispatcher knows, the results, and the open attempts. An attempt takes what is known of its change along,
//! and returns it at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::watch;
use tokio::time::Instant;

use super::attempt::{Abandoned, Attempt, AttemptEnd, ChangeProgress};
use super::dispatch::{Conclusion, Dispatcher, Job, Next, NextTry};
use super::order::Order;
use super::{PublishJob, stopped};
use crate::model::{Certainty, EnvironmentId, Hold, HoldKind, OutcomeKind, ToggleId};
use crate::pass::report::{ChangeResult, PublishSummary};
use crate::pass::{Error, Event, PublishAnswer, StopReason};
use crate::plan::{Change, ChangeFate, EnvironmentChanges};
use crate::service::Outcome;
use crate::service::retry::{Evidence, effect};
use crate::state::{self, EqualVersion};

/// The owner of a pass that publishes.
pub(super) struct Publisher<'a> {
    job: &'a PublishJob,
    dispatcher: Dispatcher,
    /// What this pass has done for each change so far.
    progress: Vec<ChangeProgress>,
    /// The changes that may have to wait for others.
    by_environment: BTreeMap<EnvironmentId, EnvironmentChanges<'a>>,
    /// The changes that the service refused and that may be sent again.
    unreported: BTreeSet<usize>,
    stopped: Option<StopReason>,
    failure: Option<state::Error>,
    /// Becomes true when the open attempts may start no further request.
    closed: watch::Sender<bool>,
    /// Whether the log has that the service is in doubt.
    is_doubt_logged: bool,
}

impl<'a> Publisher<'a> {
    pub(super) fn new(job: &'a PublishJob, order: Order) -> Self {
        let seed = fastrand::u64(..);
        // The logged seed makes the order of a pass reproducible.
        tracing::debug!(name: "order_drawn", seed, "order of the environments drawn");
        log_delays(&order, job.clock.instant());
        let rng = fastrand::Rng::with_seed(seed);
        Self {
            dispatcher: Dispatcher::new(order, job.limits, job.thresholds, rng),
            progress: vec![ChangeProgress::default(); job.plan.changes().len()],
            by_environment: job.plan.by_environment(),
            job,
            unreported: BTreeSet::new(),
            stopped: None,
            failure: None,
            closed: watch::Sender::new(false),
            is_doubt_logged: false,
        }
    }

    /// Sends requests until the pass ends. Returns all results, and reports the unconfirmed changes.
    pub(super) async fn run(mut self) -> PublishSummary {
        let clock = &self.job.clock;
        let mut halted = pin!(halted(self.job).fuse());
        let mut open = FuturesUnordered::new();
        loop {
            let now = self.now();
            let until = match self.dispatcher.next(now) {
                Next::Done => return self.summary(),
                Next::Send(job) => {
                    open.push(self.attempt(job).run());
                    continue;
                }
                Next::Wait => None,
                Next::WaitUntil(at) => Some(at),
            };
            tokio::select! {
                // First, so that a stop that is already requested precedes every request.
                biased;
                reason = &mut halted => self.end(reason),
                Some((attempt, end)) = open.next() => self.conclude_attempt(attempt, end),
                () = clock.sleep_until(until.unwrap_or(now)), if until.is_some() => {}
            }
        }
    }

    /// Returns the attempt of a job, which has sent nothing yet.
    fn attempt(&mut self, job: Job) -> Attempt<'a> {
        let wait = self.wait(job);
        let progress = std::mem::take(&mut self.progress[job.change]);
        Attempt::new(self.job, job, progress, wait, self.closed.subscribe())
    }

    /// Returns why a change must not be sent after those that this pass has tried before it.
    fn wait(&self, job: Job) -> Option<Hold> {
        let changes = self.changes();
        let change = &changes[job.change];
        if !self.dispatcher.has_turn(job.change) || !self.job.plan.is_request(change) {
            return None;
        }
        let fate = |id: &ToggleId| match changes.binary_search_by(|other| other.id.cmp(id)) {
            Ok(other) => match &self.progress[other].result {
                result if result.is_recorded() => ChangeFate::Applied,
                // It does not decide about one that precedes it.
                ChangeResult::NotSent => ChangeFate::Untried,
                _ => ChangeFate::Withheld,
            },
            Err(_) => ChangeFate::Withheld,
        };
        self.by_environment.get(&change.id.environment())?.wait(change, fate)
    }

    fn conclude_attempt(&mut self, attempt: Attempt<'a>, end: Result<AttemptEnd, Abandoned>) {
        let (job, generation) = (attempt.job, attempt.generation);
        self.progress[job.change] = attempt.progress;
        match end {
            Ok(AttemptEnd::Ended(outcome)) => self.conclude(job, &outcome, generation),
            Ok(AttemptEnd::Converged) => {
                self.conclude_read(job, ChangeResult::Converged, &Outcome::applied(200));
            }
            Ok(AttemptEnd::Held(hold)) if hold.is_live() => {
                let response = Outcome::new(OutcomeKind::Refused, Certainty::NotStored, hold.fact.as_str());
                self.conclude_read(job, ChangeResult::Held(Arc::new(hold)), &response);
            }
            Ok(AttemptEnd::Held(hold)) => {
                if hold.awaits_others() {
                    // The other one may be applied at the end of the pass.
                    self.dispatcher.keep_for_the_end(job);
                }
                self.settle(job.change, ChangeResult::Held(Arc::new(hold)));
                self.dispatcher.release(job, self.now());
            }
            Err(Abandoned::PassEnded) => self.dispatcher.release(job, self.now()),
            Err(Abandoned::Journal(error)) => {
                // Not returned here, so that the other open requests end first.
                self.failure.get_or_insert(error);
                self.end(None);
                self.dispatcher.release(job, self.now());
            }
        }
    }

    /// Ends a change that needed no publish. The read had a useful response.
    fn conclude_read(&mut self, job: Job, result: ChangeResult, response: &Outcome) {
        let before = self.doubt();
        self.settle(job.change, result);
        self.dispatcher.finish(job, response, self.now());
        self.report_doubt(before, response);
    }

    fn conclude(&mut self, job: Job, outcome: &Outcome, generation: u64) {
        let token = self.job.service.token_state(outcome, generation);
        let (now, before) = (self.now(), self.doubt());
        let Conclusion { next_try, held_back, stop } = self.dispatcher.conclude(job, outcome, token, now);
        if let Some(wait) = held_back {
            self.report(Event::HeldBack(wait));
        }
        let (toggle, result) = (&self.changes()[job.change].id, ChangeResult::of(outcome));
        match next_try {
            NextTry::At(at) => {
                let wait_s = at.saturating_duration_since(now).as_secs_f64();
                tracing::debug!(name: "retry", %toggle, attempt = job.attempt, wait_s, reason = %outcome, "will be tried again");
                self.progress[job.change].result = result;
            }
            NextTry::AtTheEnd => {
                tracing::debug!(name: "refused", %toggle, reason = %outcome, "may be tried again at the end of the pass");
                let progress = &mut self.progress[job.change];
                (progress.result, progress.base_version) = (result, None);
                self.unreported.insert(job.change);
            }
            NextTry::Never => self.settle(job.change, result),
        }
        self.report_doubt(before, outcome);
        if stop.is_some() {
            self.end(stop);
        }
    }

    /// Returns whether the pass waits for the service, and the toggles in a row that put it in doubt.
    fn doubt(&self) -> (bool, Option<usize>) {
        (self.dispatcher.is_paused(), self.dispatcher.doubt())
    }

    /// Reports what an outcome has changed about the doubt of the service.
    fn report_doubt(&mut self, before: (bool, Option<usize>), outcome: &Outcome) {
        let ((was_paused, trusted), (is_paused, doubt)) = (before, self.doubt());
        if doubt != trusted {
            self.report(Event::Doubted(doubt.map(|toggles| (toggles, outcome))));
        }
        // Before the pause, which takes ten time-outs of a service that hangs. Once a pass, because toggles
        // may take turns.
        let is_silent = effect(outcome.kind).evidence == Evidence::Passing;
        let is_doubted = is_silent && !is_paused && doubt.is_some_and(|toggles| toggles > 1);
        if is_doubted && !self.is_doubt_logged {
            self.is_doubt_logged = true;
            tracing::warn!(name: "doubted", toggles = doubt, reason = %outcome, "no useful response from the service");
        }
        if is_paused && !was_paused {
            tracing::warn!(name: "paused", reason = %outcome, "no useful response from the service, pass paused");
        } else if was_paused && !is_paused {
            tracing::info!(name: "resumed", "the service responds, pass resumed");
        }
    }

    fn settle(&mut self, change: usize, result: ChangeResult) {
        // Other results are reported at the end of the pass, when it is known which toggles failed alone.
        if !result.is_untried() {
            self.report_end(change, &result, self.progress[change].answer);
            self.unreported.remove(&change);
        }
        self.progress[change].result = result;
    }

    fn report_end(&self, change: usize, result: &ChangeResult, answer: Option<PublishAnswer>) {
        self.report(Event::Ended(&self.changes()[change], result, answer));
    }

    fn changes(&self) -> &'a [Change] {
        self.job.plan.changes()
    }

    fn report(&self, event: Event<'_>) {
        self.job.context.report(event);
    }

    fn now(&self) -> Instant {
        self.job.clock.instant()
    }

    /// Ends the pass: starts no further request. Keeps the first reason. An error has none.
    fn end(&mut self, reason: Option<StopReason>) {
        if self.stopped.is_none() {
            self.stopped = reason;
        }
        self.dispatcher.close();
        self.closed.send_replace(true);
    }

    /// Returns all results after the last request has ended, and reports the unconfirmed changes.
    fn summary(mut self) -> PublishSummary {
        let changes = std::mem::take(&mut self.progress);
        let live = self.live_versions(&changes);
        let overwritten = self
            .changes()
            .iter()
            .zip(&changes)
            .filter_map(|(change, progress)| Some((change.id.clone(), *progress.overwritten.clone()?)));
        let overwritten = overwritten.collect();
        let unread: Vec<bool> = changes.iter().map(|progress| progress.is_unread).collect();
        let ended = changes.into_iter().map(|progress| (progress.result, progress.answer));
        let (mut results, answers): (Vec<_>, Vec<_>) = ended.unzip();
        let (now, dispatcher) = (self.now(), &self.dispatcher);
        let held_back_until = dispatcher.held_back_until();
        let wait = |(change, result): (usize, &ChangeResult)| {
            let until = dispatcher.waits_until(change).filter(|_| !result.is_recorded())?;
            Some((self.changes()[change].id.clone(), until.checked_duration_since(now)?))
        };
        let waits = results.iter().enumerate().filter_map(wait).collect();
        // After an error, toggles may have tries left.
        let is_cut = self.stopped.is_none() && dispatcher.is_closed();
        if !is_cut {
            park_lone_failures(&mut results, self.stopped.as_ref(), dispatcher);
        }
        let still_held = self.still_held(&results, &unread);
        for (change, (result, answer)) in results.iter().zip(answers).enumerate() {
            let is_open = result.is_untried() && *result != ChangeResult::NotSent;
            if is_open || self.unreported.contains(&change) {
                let hold = still_held.get(&self.changes()[change].id);
                let held = hold.map(|hold| ChangeResult::Held(Arc::clone(hold)));
                self.report_end(change, held.as_ref().unwrap_or(result), answer);
            }
        }
        PublishSummary {
            still_held,
            results,
            live,
            held_back: held_back_until.and_then(|until| until.checked_duration_since(now)),
            waits,
            overwritten,
            stopped: self.stopped,
            error: self.failure.map(Error::from),
        }
    }

    /// Returns why changes stay held whose toggles this pass could not read: what holds them whatever the service has,
    /// or what held them after an earlier read. `unread` are the reads that failed, in the plan's order.
    fn still_held(&self, results: &[ChangeResult], unread: &[bool]) -> BTreeMap<ToggleId, Arc<Hold>> {
        let decided_nothing = |result: &ChangeResult, is_unread: bool| match result {
            ChangeResult::NotSent => true,
            result => result.is_pending() && is_unread,
        };
        let changes = self.changes().iter().zip(results.iter().zip(unread));
        let undecided = changes.filter(|(_, (result, unread))| decided_nothing(result, **unread));
        let held = undecided.filter_map(|(change, _)| {
            let hold = self.job.plan.unless_equal(&change.id).or_else(|| self.job.held.get(&change.id))?;
            Some((change.id.clone(), Arc::clone(hold)))
        });
        held.collect()
    }

    /// Returns the versions on the service that have the targeting of the recorded changes.
    fn live_versions(&self, progress: &[ChangeProgress]) -> BTreeMap<ToggleId, EqualVersion> {
        let changes = self.changes().iter().zip(progress);
        let recorded = changes.filter(|(_, progress)| progress.result.is_recorded());
        let live = recorded.filter_map(|(change, progress)| {
            let object = change.version.object;
            let version = progress.live_version?;
            Some((change.id.clone(), EqualVersion { version, object }))
        });
        live.collect()
    }
}

/// Waits until the pass may send no further request, and returns why.
async fn halted(job: &PublishJob) -> Option<StopReason> {
    tokio::select! {
        () = stopped(job.context.stop.clone()) => Some(StopReason::Interrupted),
        // The checkpoint that ended it reports the cause.
        () = job.journal.ended() => None,
    }
}

/// Logs the delays, because they can take as long as a request.
fn log_delays(order: &Order, now: Instant) {
    let delays = order.items.iter().filter_map(|item| item.not_before);
    let count = delays.clone().count();
    if let Some(until) = delays.max() {
        let wait_s = until.saturating_duration_since(now).as_secs_f64();
        tracing::info!(name: "delayed", count, wait_s, "toggles wait until an earlier process's request has ended");
    }
}

/// Marks the toggles that failed alone: others were applied, or they had failed alone before. A failure while
/// others failed as well shows nothing about its toggle, and neither does one that has tries left.
pub(super) fn park_lone_failures(
    results: &mut [ChangeResult],
    stopped: Option<&StopReason>,
    dispatcher: &Dispatcher,
) {
    use StopReason::{Forbidden, InDoubt, Misrouted};
    // Other reasons are about the token, the certificate or the process.
    let is_over = matches!(stopped, None | Some(InDoubt { .. } | Forbidden(..) | Misrouted(..)));
    let is_applied = results.iter().any(ChangeResult::is_recorded);
    for (change, result) in results.iter_mut().enumerate() {
        if let Some(hold) = result.hold().filter(|_| result.is_pending())
            && (dispatcher.is_alone(change)
                || is_applied
                    && (is_over && dispatcher.is_exhausted(change) || dispatcher.waits_alone(change)))
        {
            *result = ChangeResult::failed(HoldKind::FailedAlone, hold.fact.as_str());
        }
    }
}
