//! Carries out the decisions of the dispatcher with several workers, which share one [`Dispatcher`] and one set of results.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::PublishJob;
use super::dispatch::{Dispatcher, Job, Next, Response, ServiceVerdict};
use super::order::Order;
use crate::model::{Hold, HoldKind, SentNote, ToggleId};
use crate::pass::report::{ChangeResult, PublishSummary};
use crate::pass::{Event, PublishAnswer, StopReason};
use crate::plan::{Change, Policy};
use crate::service::Outcome;
use crate::service::retry::{self, Again, PassEffect, RetryContext};
use crate::state::{self, EqualVersion};

/// The longest `Retry-After` that is kept for one toggle.
const LONGEST_HOLD: Duration = Duration::from_secs(3600);

/// The shared state of all workers. A mutex is locked for a few instructions, never across an `.await`.
pub(super) struct Sender {
    pub(super) job: PublishJob,
    dispatcher: Mutex<Dispatcher>,
    results: Mutex<Results>,
    /// Notified when a worker may have a new next step.
    pub(super) changed: Notify,
    /// Whether the log has that the service is in doubt.
    is_doubt_logged: AtomicBool,
}

/// How an attempt ended.
#[derive(Debug)]
pub(super) enum Attempt {
    /// The service has the desired targeting, and the journal records it. Nothing was sent.
    Converged,
    /// The last request, a read or a publish, ended like this.
    Ended(Outcome),
    /// The live state does not permit the change. Nothing was sent.
    Held(Hold),
}

#[derive(Debug)]
pub(super) enum Abandoned {
    /// The journal could not record a request. The pass must not send any more requests then.
    Journal(state::Error),
    PassEnded,
}

impl From<state::Error> for Abandoned {
    fn from(error: state::Error) -> Self {
        Self::Journal(error)
    }
}

/// The live version that a request replaces.
#[derive(Clone, Copy, Debug)]
pub(super) struct BaseVersion {
    pub(super) number: u64,
    /// Whether another program wrote it.
    pub(super) note: Option<SentNote>,
}

/// The results so far.
struct Results {
    changes: Vec<ChangeProgress>,
    /// The changes that the service refused and that may be sent again.
    unreported: BTreeSet<usize>,
    stopped: Option<StopReason>,
}

/// What this pass has done for one change so far.
#[derive(Clone, Debug)]
pub(super) struct ChangeProgress {
    pub(super) result: ChangeResult,
    /// What its last request was sent on top of.
    pub(super) base_version: Option<BaseVersion>,
    /// The version on the service that has its targeting, as far as it is known.
    pub(super) live_version: Option<u64>,
    /// Whether its toggle was created, perhaps in an earlier try.
    pub(super) is_created: bool,
    /// The end of its last request.
    pub(super) answer: Option<PublishAnswer>,
}

impl Sender {
    pub(super) fn new(mut job: PublishJob) -> Self {
        let order = std::mem::take(&mut job.order);
        let seed = fastrand::u64(..);
        // The logged seed makes the order of a pass reproducible.
        tracing::debug!(name: "order_drawn", seed, "order of the environments drawn");
        let total = job.plan.changes().len();
        log_delays(&order, job.clock.instant());
        let rng = fastrand::Rng::with_seed(seed);
        let dispatcher = Dispatcher::new(order, job.limits, job.thresholds, rng);
        let progress = ChangeProgress {
            result: ChangeResult::NotSent,
            base_version: None,
            live_version: None,
            is_created: false,
            answer: None,
        };
        Self {
            job,
            dispatcher: Mutex::new(dispatcher),
            results: Mutex::new(Results {
                changes: vec![progress; total],
                unreported: BTreeSet::new(),
                stopped: None,
            }),
            changed: Notify::new(),
            is_doubt_logged: AtomicBool::new(false),
        }
    }

    /// Sends requests until the pass ends.
    pub(super) async fn work(&self) -> Result<(), state::Error> {
        loop {
            // Enabled before the check, so that no change in between is missed.
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let next = self.dispatcher().next(self.now());
            match next {
                Next::Done => {
                    self.changed.notify_waiters();
                    return Ok(());
                }
                Next::Send(job) => self.send(job).await?,
                Next::Wait => changed.await,
                Next::WaitUntil(at) => tokio::select! {
                    () = changed => {}
                    () = self.job.clock.sleep_until(at) => {}
                },
            }
        }
    }

    async fn send(&self, job: Job) -> Result<(), state::Error> {
        // Read before the request, so that a token that another worker reads meanwhile counts as newer.
        let generation = self.job.service.token_generation();
        match self.attempt(job).await {
            Ok(Attempt::Ended(outcome)) => self.decide(job, &outcome, generation),
            Ok(Attempt::Converged) => {
                self.settle_without_request(job, ChangeResult::Converged, Response::Applied);
            }
            Ok(Attempt::Held(hold)) if !hold.is_live() => {
                self.settle(job.change, ChangeResult::Held(Arc::new(hold)));
                self.dispatcher().finish(job, Response::Void, self.now());
                self.changed.notify_waiters();
            }
            Ok(Attempt::Held(hold)) => {
                self.settle_without_request(job, ChangeResult::Held(Arc::new(hold)), Response::Refused);
            }
            Err(Abandoned::PassEnded) => drop(self.dispatcher().finish(job, Response::Void, self.now())),
            Err(Abandoned::Journal(error)) => return Err(self.abandon(job, error)),
        }
        Ok(())
    }

    /// Ends a change that needed no publish. The read had a useful response.
    fn settle_without_request(&self, job: Job, result: ChangeResult, response: Response) {
        self.settle(job.change, result);
        let (now, read) = (self.now(), Outcome::Applied { status: 200 });
        self.conclude(&read, |dispatcher| dispatcher.finish(job, response, now));
    }

    fn decide(&self, job: Job, outcome: &Outcome, generation: u64) {
        let context = RetryContext {
            tries: job.attempt,
            jitter: fastrand::f64(),
            token: self.job.service.token_state(outcome, generation),
        };
        let decision = retry::decide(outcome, context);
        let (now, response) = (self.now(), Response::of(outcome));
        // First, so that no other worker sends before it is held back.
        let holds_all = match decision.pass {
            PassEffect::EndFor(wait) | PassEffect::HoldBack(wait) => self.hold(job, outcome, wait),
            PassEffect::End | PassEffect::GoOn => false,
        };
        let verdict = match decision.toggle {
            Again::After(wait) => self.retry(job, outcome, response, now + wait),
            Again::Now => self.retry(job, outcome, Response::Void, now),
            Again::Never if response == Response::Refused => {
                self.refuse(job, outcome);
                None
            }
            Again::Never => {
                self.settle(job.change, to_change_result(outcome));
                self.conclude(outcome, |dispatcher| dispatcher.finish(job, response, now))
            }
        };
        let trust = self.dispatcher().trust();
        match decision.pass {
            PassEffect::End => self.end(StopReason::from_outcome(outcome, trust)),
            PassEffect::EndFor(_) if holds_all => self.end(StopReason::from_outcome(outcome, trust)),
            PassEffect::EndFor(_) | PassEffect::GoOn | PassEffect::HoldBack(_) => {}
        }
        if let Some(verdict) = verdict {
            self.end(self.stop_reason(verdict, outcome));
        }
    }

    /// Ends a change that the service refused, unless it may be sent again at the end of the pass.
    fn refuse(&self, job: Job, outcome: &Outcome) {
        let result = to_change_result(outcome);
        self.update(job.change, |progress| {
            progress.result = result.clone();
            progress.base_version = None;
        });
        let now = self.now();
        let mut is_first = false;
        self.conclude(outcome, |dispatcher| {
            is_first = dispatcher.refuse(job, now);
            None
        });
        if is_first {
            self.results().unreported.insert(job.change);
            let toggle = &self.changes()[job.change].id;
            tracing::debug!(name: "refused", %toggle, reason = %outcome, "may be tried again at the end of the pass");
        } else {
            self.settle(job.change, result);
        }
    }

    /// Holds back a toggle, or everything, for the `Retry-After` of a response. `wait` is as long as a pass waits.
    fn hold(&self, job: Job, outcome: &Outcome, wait: Duration) -> bool {
        let asked = match outcome {
            Outcome::Busy { retry_after: Some(asked), .. } => (*asked).min(LONGEST_HOLD),
            _ => wait,
        };
        let now = self.now();
        let holds_all = self.dispatcher().hold(job, now + asked, now + wait);
        if holds_all {
            self.report(Event::HeldBack(wait));
        }
        holds_all
    }

    fn retry(&self, job: Job, outcome: &Outcome, response: Response, at: Instant) -> Option<ServiceVerdict> {
        let toggle = &self.changes()[job.change].id;
        let wait_s = at.saturating_duration_since(self.now()).as_secs_f64();
        tracing::debug!(name: "retry", %toggle, attempt = job.attempt, wait_s, reason = %outcome, "will be tried again");
        self.update(job.change, |progress| progress.result = to_change_result(outcome));
        self.conclude(outcome, |dispatcher| dispatcher.retry(job, response, self.now(), at))
    }

    /// Updates the dispatcher with an outcome. Wakes the other workers if they may send more than before.
    fn conclude(
        &self,
        outcome: &Outcome,
        step: impl FnOnce(&mut Dispatcher) -> Option<ServiceVerdict>,
    ) -> Option<ServiceVerdict> {
        let mut dispatcher = self.dispatcher();
        let (was_paused, room, trusted) = (dispatcher.is_paused(), dispatcher.room(), dispatcher.doubt());
        let waiting = dispatcher.waiting();
        let verdict = step(&mut dispatcher);
        let (is_paused, new_room, doubt) = (dispatcher.is_paused(), dispatcher.room(), dispatcher.doubt());
        let is_released = dispatcher.waiting() < waiting;
        drop(dispatcher);
        if doubt != trusted {
            self.report(Event::Doubted(doubt.map(|toggles| (toggles, outcome))));
        }
        // Before the pause, which takes ten time-outs of a service that hangs. Once a pass, because toggles may take turns.
        let is_silent = matches!(outcome, Outcome::Busy { .. } | Outcome::Lost { .. });
        if is_silent
            && doubt.is_some_and(|toggles| toggles > 1)
            && !is_paused
            && !self.is_doubt_logged.swap(true, Relaxed)
        {
            tracing::warn!(name: "doubted", toggles = doubt, reason = %outcome, "no useful response from the service");
        }
        if is_paused && !was_paused {
            tracing::warn!(name: "paused", reason = %outcome, "no useful response from the service, pass paused");
        } else if was_paused && !is_paused {
            tracing::info!(name: "resumed", "the service responds, pass resumed");
        }
        if is_paused != was_paused || new_room != room || is_released {
            self.changed.notify_waiters();
        }
        verdict
    }

    fn stop_reason(&self, verdict: ServiceVerdict, outcome: &Outcome) -> StopReason {
        let last = outcome.to_string();
        match verdict {
            ServiceVerdict::Forbidden => StopReason::Forbidden(last, self.dispatcher().trust()),
            ServiceVerdict::GaveUp => StopReason::Breaker {
                after: self.job.limits.give_up_after,
                toggles: self.dispatcher().row(),
                last,
            },
            ServiceVerdict::Misrouted => StopReason::Misrouted(last, self.dispatcher().trust()),
        }
    }

    fn settle(&self, change: usize, result: ChangeResult) {
        // Other results are reported at the end of the pass, when it is known which toggles failed alone.
        if !result.is_untried() {
            let answer = self.update(change, |progress| progress.answer);
            self.report_end(change, &result, answer);
            self.results().unreported.remove(&change);
        }
        self.update(change, |progress| progress.result = result);
    }

    fn report_end(&self, change: usize, result: &ChangeResult, answer: Option<PublishAnswer>) {
        self.report(Event::Ended(&self.changes()[change], result, answer));
    }

    /// Reads or changes what this pass has done for a change.
    pub(super) fn update<T>(&self, change: usize, act: impl FnOnce(&mut ChangeProgress) -> T) -> T {
        act(&mut self.results().changes[change])
    }

    pub(super) fn changes(&self) -> &[Change] {
        self.job.plan.changes()
    }

    pub(super) fn policy(&self) -> &Policy {
        &self.job.policy
    }

    pub(super) fn is_closed(&self) -> bool {
        self.dispatcher().is_closed()
    }

    pub(super) fn report(&self, event: Event<'_>) {
        self.job.context.report(event);
    }

    pub(super) fn now(&self) -> Instant {
        self.job.clock.instant()
    }

    /// Ends the pass: starts no further request. Keeps the first reason. An error has none.
    pub(super) fn end(&self, reason: impl Into<Option<StopReason>>) {
        if let Some(reason) = reason.into() {
            self.results().stopped.get_or_insert(reason);
        }
        self.dispatcher().close();
        self.changed.notify_waiters();
    }

    fn abandon(&self, job: Job, error: state::Error) -> state::Error {
        let mut dispatcher = self.dispatcher();
        dispatcher.close();
        dispatcher.finish(job, Response::Void, self.now());
        drop(dispatcher);
        self.changed.notify_waiters();
        error
    }

    /// Returns all results after the last worker has ended, and reports the unconfirmed changes.
    pub(super) fn summary(&self) -> PublishSummary {
        let mut current = self.results();
        let (changes, stopped) = (std::mem::take(&mut current.changes), current.stopped.take());
        let unreported = std::mem::take(&mut current.unreported);
        drop(current);
        let live = self.live_versions(&changes);
        let ended = changes.into_iter().map(|progress| (progress.result, progress.answer));
        let (mut results, answers): (Vec<_>, Vec<_>) = ended.unzip();
        let (now, dispatcher) = (self.now(), self.dispatcher());
        let held_until = dispatcher.held_until();
        let wait = |(change, result): (usize, &ChangeResult)| {
            let until = dispatcher.waits_until(change).filter(|_| !result.is_recorded())?;
            Some((self.changes()[change].id.clone(), until.checked_duration_since(now)?))
        };
        let waits = results.iter().enumerate().filter_map(wait).collect();
        drop(dispatcher);
        // After an error, toggles may have tries left.
        let is_cut = stopped.is_none() && self.is_closed();
        if !is_cut {
            park_lone_failures(&mut results, stopped.as_ref(), &self.dispatcher());
        }
        for (change, (result, answer)) in results.iter().zip(answers).enumerate() {
            let is_open = result.is_untried() && *result != ChangeResult::NotSent;
            if is_open || unreported.contains(&change) {
                self.report_end(change, result, answer);
            }
        }
        PublishSummary {
            results,
            live,
            stopped,
            held_back: held_until.and_then(|until| until.checked_duration_since(now)),
            waits,
            error: None,
        }
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

    fn dispatcher(&self) -> MutexGuard<'_, Dispatcher> {
        self.dispatcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn results(&self) -> MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Marks the toggles that failed alone: others were applied, or they had failed alone before.
pub(super) fn park_lone_failures(
    results: &mut [ChangeResult],
    stopped: Option<&StopReason>,
    dispatcher: &Dispatcher,
) {
    use StopReason::{Breaker, Forbidden, Misrouted};
    // A pass that was stopped for another reason shows nothing about toggles that had tries left.
    let is_over = matches!(stopped, None | Some(Breaker { .. } | Forbidden(..) | Misrouted(..)));
    let is_applied = results.iter().any(ChangeResult::is_recorded);
    for (change, result) in results.iter_mut().enumerate() {
        let is_known = is_over && !dispatcher.is_in_row(change);
        if let Some(hold) = result.hold().filter(|_| result.is_pending())
            && (dispatcher.is_alone(change)
                || is_applied && (is_known || dispatcher.waits_until(change).is_some()))
        {
            *result = ChangeResult::failed(HoldKind::FailedAlone, hold.text.as_str());
        }
    }
}

pub(super) fn to_change_result(outcome: &Outcome) -> ChangeResult {
    match outcome {
        Outcome::Applied { .. } => ChangeResult::Applied,
        Outcome::Refused { reason, .. } => ChangeResult::failed(HoldKind::Refused, reason.as_str()),
        Outcome::Busy { reason, .. }
        | Outcome::Forbidden { reason, .. }
        | Outcome::Lost { reason }
        | Outcome::Misrouted { reason, .. }
        | Outcome::Unauthorized { reason, .. }
        | Outcome::Untrusted { reason, .. } => ChangeResult::pending(reason.as_str()),
    }
}
