//! Carries out the decisions of the dispatcher with several workers, which share one [`Dispatcher`] and one set of results.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::dispatch::{Dispatcher, Effect, Pace, Response};
use super::evidence::ServiceVerdict;
use super::lanes::{Job, Next};
use super::order::Order;
use super::{PublishJob, body, sent};
use crate::model::{Certainty, Sent, ToggleId};
use crate::pass::context::Event;
use crate::pass::report::{ChangeResult, PublishSummary, StopReason};
use crate::service::retry::{self, Again, PassEffect, RetryContext, TokenState};
use crate::service::{Outcome, TokenChange};
use crate::state::{self, Begun};

/// The shared state of all workers. A mutex is locked for a few instructions, never across an `.await`.
pub(super) struct Sender {
    job: PublishJob,
    dispatcher: Mutex<Dispatcher>,
    results: Mutex<Results>,
    changed: Notify,
}

/// The results so far.
struct Results {
    results: Vec<ChangeResult>,
    stopped: Option<StopReason>,
}

impl Sender {
    pub(super) fn new(job: PublishJob) -> Self {
        let order = Order::new(&job.plan, &job.remembered);
        let seed = fastrand::u64(..);
        // The logged seed makes the order of a pass reproducible.
        tracing::info!(name: "order_drawn", seed, "order of the environments drawn");
        let total = job.plan.changes().len();
        log_delays(&order, job.clock.instant());
        let rng = fastrand::Rng::with_seed(seed);
        let dispatcher = Dispatcher::new(order, job.limits, rng);
        Self {
            job,
            dispatcher: Mutex::new(dispatcher),
            results: Mutex::new(Results {
                results: vec![ChangeResult::NotSent; total],
                stopped: None,
            }),
            changed: Notify::new(),
        }
    }

    /// Sends requests until the pass ends.
    pub(super) async fn work(&self) -> Result<(), state::Error> {
        loop {
            let next = self.dispatcher().next(self.now());
            if let Next::Send(job) = next {
                self.send(job).await?;
                continue;
            }
            // Enabled before the second check, so that no change in between is missed.
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
        let plan = &self.job.plan;
        let change = &plan.changes()[job.change];
        let sent = sent(change, plan.source().revision);
        let begun = match self.begin(&change.id, &sent).await {
            Ok(Some(begun)) => begun,
            Ok(None) => {
                self.dispatcher().finish(job, Response::Void, self.now());
                return Ok(());
            }
            Err(error) => return Err(self.abandon(job, error)),
        };
        // Read before the request, so that a token that another worker reads meanwhile counts as newer.
        let generation = self.job.service.token_generation();
        let started = self.now();
        let outcome = self.job.service.publish(&change.id, body(&sent)).await;
        let took = self.now().saturating_duration_since(started);
        self.report(Event::Answered(&outcome, took));
        let outcome = match self.job.journal.finish(begun, outcome.certainty()) {
            Ok(Certainty::Unknown) if outcome.certainty() == Certainty::Stored => Outcome::Lost {
                reason: "confirmed so late that another process may have taken over the shared state"
                    .to_owned(),
            },
            Ok(_) => outcome,
            Err(error) => {
                // Once a request has left, the report has its result (DESIGN, section 3), recorded or not.
                self.results().results[job.change] = to_change_result(&outcome);
                return Err(self.abandon(job, error));
            }
        };
        self.decide(job, &outcome, generation);
        Ok(())
    }

    /// Waits until the request may start, and journals it. Returns nothing if the pass ends first.
    async fn begin(&self, toggle: &ToggleId, sent: &Sent) -> Result<Option<Begun>, state::Error> {
        let journal = &self.job.journal;
        loop {
            // Enabled before the check, so that an end in between is not missed.
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.dispatcher().is_closed() {
                return Ok(None);
            }
            tokio::select! {
                // First, so that a permitted request starts.
                biased;
                granted = journal.granted() => {
                    granted?;
                    let begun = journal.begin(toggle, sent);
                    if let Some(begun) = self.job.runtime.recorded(begun).await? {
                        return Ok(Some(begun));
                    }
                }
                () = changed => {}
            }
        }
    }

    fn decide(&self, job: Job, outcome: &Outcome, generation: u64) {
        let context = RetryContext {
            tries: job.attempt,
            jitter: fastrand::f64(),
            token: self.token(outcome, generation),
        };
        let decision = retry::decide(outcome, context);
        let (now, response) = (self.now(), Response::of(outcome));
        // First, so that no other worker sends before it is held back.
        if let PassEffect::EndFor(wait) | PassEffect::HoldBack(wait) = decision.pass {
            self.dispatcher().hold(now + wait);
            self.report(Event::HeldBack(wait));
        }
        let effect = match decision.toggle {
            Again::After(wait) => self.retry(job, outcome, response, now + wait),
            Again::Now => self.retry(job, outcome, Response::Void, now),
            Again::Never => {
                self.settle(job.change, to_change_result(outcome));
                self.conclude(outcome, |dispatcher| dispatcher.finish(job, response, now))
            }
        };
        if let PassEffect::End | PassEffect::EndFor(_) = decision.pass {
            self.end(StopReason::from_outcome(outcome));
        }
        self.take_effect(outcome, effect);
    }

    fn retry(&self, job: Job, outcome: &Outcome, response: Response, at: Instant) -> Effect {
        let toggle = &self.job.plan.changes()[job.change].id;
        let wait_s = at.saturating_duration_since(self.now()).as_secs_f64();
        tracing::debug!(name: "retry", %toggle, attempt = job.attempt, wait_s, reason = %outcome, "will be tried again");
        self.results().results[job.change] = to_change_result(outcome);
        self.conclude(outcome, |dispatcher| {
            dispatcher.retry(job, response, self.now(), at)
        })
    }

    /// Updates the dispatcher with an outcome. Wakes the other workers if the limit of open requests changes.
    fn conclude(&self, outcome: &Outcome, step: impl FnOnce(&mut Dispatcher) -> Effect) -> Effect {
        let mut dispatcher = self.dispatcher();
        let before = dispatcher.pace();
        let effect = step(&mut dispatcher);
        let after = dispatcher.pace();
        drop(dispatcher);
        if before != after {
            match (before, after) {
                (_, Pace::Paused) => {
                    tracing::warn!(name: "paused", reason = %outcome, "no useful response from the service, pass paused");
                }
                (Pace::Paused, _) => tracing::info!(name: "resumed", "the service responds, pass resumed"),
                _ => {}
            }
            self.changed.notify_waiters();
        }
        effect
    }

    fn take_effect(&self, outcome: &Outcome, effect: Effect) {
        let changes = self.job.plan.changes();
        for change in effect.forbidden {
            let environment = changes[change].id.environment();
            let reason = format!("the token may not change `{environment}`: {outcome}");
            self.settle(change, ChangeResult::Pending { reason });
        }
        if let Some(verdict) = effect.verdict {
            self.end(self.stop_reason(verdict, outcome));
        }
    }

    fn stop_reason(&self, verdict: ServiceVerdict, outcome: &Outcome) -> StopReason {
        let last = outcome.to_string();
        match verdict {
            ServiceVerdict::Forbidden => StopReason::Forbidden(last),
            ServiceVerdict::GaveUp => StopReason::Breaker {
                after: self.job.limits.give_up_after,
                last,
            },
            ServiceVerdict::Misrouted => StopReason::Misrouted(last),
        }
    }

    /// Returns whether the token of a request is outdated. Reads it again if the service rejected it.
    fn token(&self, outcome: &Outcome, generation: u64) -> TokenState {
        let service = &self.job.service;
        // FeatureProbe also answers 403 for a revoked token (DESIGN, section 6, *Verdict*).
        if !matches!(outcome, Outcome::Forbidden { .. } | Outcome::Unauthorised { .. }) {
            return TokenState::Current;
        }
        let is_changed = service.reload_token() == TokenChange::Changed;
        // Another worker may have read the new token already.
        match is_changed || service.token_generation() > generation {
            true => TokenState::Outdated,
            false => TokenState::Current,
        }
    }

    fn settle(&self, change: usize, result: ChangeResult) {
        // Other results are reported at the end of the pass, when it is known which toggles failed alone.
        if matches!(result, ChangeResult::Applied | ChangeResult::Failed { .. }) {
            self.report(Event::Ended(&self.job.plan.changes()[change], &result));
        }
        self.results().results[change] = result;
    }

    fn report(&self, event: Event<'_>) {
        self.job.context.report(event);
    }

    fn now(&self) -> Instant {
        self.job.clock.instant()
    }

    /// Ends the pass: starts no further request. Keeps the first reason.
    pub(super) fn end(&self, reason: StopReason) {
        self.results().stopped.get_or_insert(reason);
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
        let (mut results, stopped) = (std::mem::take(&mut current.results), current.stopped.take());
        drop(current);
        let held_until = self.dispatcher().held_until();
        park_lone_failures(&mut results, stopped.as_ref(), &self.dispatcher());
        for (change, result) in results.iter().enumerate() {
            if matches!(
                result,
                ChangeResult::FailedAlone { .. } | ChangeResult::Pending { .. }
            ) {
                self.report(Event::Ended(&self.job.plan.changes()[change], result));
            }
        }
        PublishSummary {
            results,
            stopped,
            held_back: held_until.and_then(|until| until.checked_duration_since(self.now())),
            error: None,
        }
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
    // A stopped pass shows nothing about toggles that had tries left.
    let ran_to_its_end = matches!(stopped, None | Some(StopReason::Breaker { .. }));
    let is_applied = ran_to_its_end && results.contains(&ChangeResult::Applied);
    for (change, result) in results.iter_mut().enumerate() {
        if let ChangeResult::Pending { reason } = result
            && (is_applied || dispatcher.is_alone(change))
        {
            let reason = std::mem::take(reason);
            *result = ChangeResult::FailedAlone { reason };
        }
    }
}

fn to_change_result(outcome: &Outcome) -> ChangeResult {
    match outcome {
        Outcome::Applied { .. } => ChangeResult::Applied,
        Outcome::Refused { reason, .. } => ChangeResult::Failed {
            reason: reason.clone(),
        },
        Outcome::Busy { reason, .. }
        | Outcome::Forbidden { reason, .. }
        | Outcome::Lost { reason }
        | Outcome::Misrouted { reason, .. }
        | Outcome::Unauthorised { reason, .. }
        | Outcome::Untrusted { reason } => ChangeResult::Pending {
            reason: reason.clone(),
        },
    }
}
