//! Carries out what the dispatcher decides: several workers that share one [`Dispatcher`] and one set of results.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::dispatch::{Dispatcher, Effect, Pace, Response};
use super::evidence::Verdict;
use super::lanes::{Job, Next};
use super::order::Order;
use super::{PublishJob, PublishSummary, body, sent};
use crate::model::{Certainty, Sent, ToggleId};
use crate::pass::context::Event;
use crate::pass::report::{ChangeResult, StopReason};
use crate::service::retry::{self, Again, PassEffect, RetryContext, TokenState};
use crate::service::{Outcome, TokenChange};
use crate::state::{self, Begun};

/// What all workers share. The mutexes are held for a few instructions, by every worker, never across an `.await`.
pub(super) struct Sender {
    job: PublishJob,
    dispatcher: Mutex<Dispatcher>,
    results: Mutex<Results>,
    changed: Notify,
}

/// What is known so far.
struct Results {
    results: Vec<ChangeResult>,
    stopped: Option<StopReason>,
}

impl Sender {
    pub(super) fn new(job: PublishJob) -> Self {
        let order = Order::new(&job.plan, &job.remembered);
        let seed = fastrand::u64(..);
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

    /// Sends until nothing is left to send.
    pub(super) async fn work(&self) -> Result<(), state::Error> {
        loop {
            let next = self.dispatcher().next(self.now());
            if let Next::Send(job) = next {
                self.send(job).await?;
                continue;
            }
            // Listening begins before looking again, so that what changes in between is not missed.
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
                self.dispatcher().ended(job, Response::Void, self.now());
                return Ok(());
            }
            Err(error) => return Err(self.abandon(job, error)),
        };
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
                self.results().results[job.change] = ended(&outcome);
                return Err(self.abandon(job, error));
            }
        };
        self.decide(job, &outcome, generation);
        Ok(())
    }

    /// Records a request that may start now, and waits until one may. Returns nothing if the pass ends first.
    async fn begin(&self, toggle: &ToggleId, sent: &Sent) -> Result<Option<Begun>, state::Error> {
        let journal = &self.job.journal;
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.dispatcher().is_closed() {
                return Ok(None);
            }
            tokio::select! {
                // First, so that a request that may start does so.
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
        if let PassEffect::EndFor(wait) | PassEffect::HoldBack(wait) = decision.pass {
            self.dispatcher().hold(now + wait);
            self.report(Event::HeldBack(wait));
        }
        let effect = match decision.toggle {
            Again::After(wait) => self.again(job, outcome, response, now + wait),
            Again::Now => self.again(job, outcome, Response::Void, now),
            Again::Never => {
                self.settle(job.change, ended(outcome));
                self.conclude(outcome, |dispatcher| dispatcher.ended(job, response, now))
            }
        };
        if let PassEffect::End | PassEffect::EndFor(_) = decision.pass {
            self.end(StopReason::from_outcome(outcome));
        }
        self.take_effect(outcome, effect);
    }

    fn again(&self, job: Job, outcome: &Outcome, response: Response, at: Instant) -> Effect {
        let toggle = &self.job.plan.changes()[job.change].id;
        let wait_s = at.saturating_duration_since(self.now()).as_secs_f64();
        tracing::debug!(name: "retry", %toggle, attempt = job.attempt, wait_s, reason = %outcome, "to be tried again");
        self.results().results[job.change] = ended(outcome);
        self.conclude(outcome, |dispatcher| {
            dispatcher.again(job, response, self.now(), at)
        })
    }

    /// Lets the dispatcher take in an outcome. Wakes the other workers if it shows that more or less may be sent.
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

    fn stop_reason(&self, verdict: Verdict, outcome: &Outcome) -> StopReason {
        let last = outcome.to_string();
        match verdict {
            Verdict::Forbidden => StopReason::Forbidden(last),
            Verdict::GaveUp => StopReason::Breaker {
                after: self.job.limits.give_up_after,
                last,
            },
            Verdict::Misrouted => StopReason::Misrouted(last),
        }
    }

    /// Returns what is known of the token of a request, which is read again if the service did not accept it.
    fn token(&self, outcome: &Outcome, generation: u64) -> TokenState {
        let service = &self.job.service;
        if !matches!(outcome, Outcome::Forbidden { .. } | Outcome::Unauthorised { .. }) {
            return TokenState::Current;
        }
        let is_changed = service.reload_token() == TokenChange::Changed;
        match is_changed || service.token_generation() > generation {
            true => TokenState::Outdated,
            false => TokenState::Current,
        }
    }

    /// Keeps a result. An unconfirmed one is reported at the end of the pass: whether the toggle failed alone is known
    /// then.
    fn settle(&self, change: usize, sending: ChangeResult) {
        if matches!(sending, ChangeResult::Applied | ChangeResult::Failed { .. }) {
            self.report(Event::Ended(&self.job.plan.changes()[change], &sending));
        }
        self.results().results[change] = sending;
    }

    fn report(&self, event: Event<'_>) {
        self.job.context.report(event);
    }

    fn now(&self) -> Instant {
        self.job.clock.instant()
    }

    /// Starts nothing more. The first reason counts.
    pub(super) fn end(&self, reason: StopReason) {
        self.results().stopped.get_or_insert(reason);
        self.dispatcher().close();
        self.changed.notify_waiters();
    }

    fn abandon(&self, job: Job, error: state::Error) -> state::Error {
        let mut dispatcher = self.dispatcher();
        dispatcher.close();
        dispatcher.ended(job, Response::Void, self.now());
        drop(dispatcher);
        self.changed.notify_waiters();
        error
    }

    /// Ends the pass: reports what was not confirmed, and returns all results.
    pub(super) fn summary(&self) -> PublishSummary {
        let mut known = self.results();
        let (mut results, stopped) = (std::mem::take(&mut known.results), known.stopped.take());
        drop(known);
        let held_until = self.dispatcher().held_until();
        park_lone_failures(&mut results, stopped.as_ref(), &self.dispatcher());
        for (change, sending) in results.iter().enumerate() {
            if matches!(
                sending,
                ChangeResult::FailedAlone { .. } | ChangeResult::Pending { .. }
            ) {
                self.report(Event::Ended(&self.job.plan.changes()[change], sending));
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

/// Logs what the pass will wait for, because that can take as long as a request.
fn log_delays(order: &Order, now: Instant) {
    let delays = order.items.iter().filter_map(|item| item.not_before);
    let count = delays.clone().count();
    if let Some(until) = delays.max() {
        let wait_s = until.saturating_duration_since(now).as_secs_f64();
        tracing::info!(name: "delayed", count, wait_s, "toggles wait until an earlier process's request has ended");
    }
}

/// Finds the toggles that failed alone: others were applied, or they had failed alone before. A pass that was stopped
/// shows nothing about toggles that had tries left.
pub(super) fn park_lone_failures(
    results: &mut [ChangeResult],
    stopped: Option<&StopReason>,
    dispatcher: &Dispatcher,
) {
    let ran_to_its_end = matches!(stopped, None | Some(StopReason::Breaker { .. }));
    let is_applied = ran_to_its_end && results.contains(&ChangeResult::Applied);
    for (change, sending) in results.iter_mut().enumerate() {
        if let ChangeResult::Pending { reason } = sending
            && (is_applied || dispatcher.is_alone(change))
        {
            let reason = std::mem::take(reason);
            *sending = ChangeResult::FailedAlone { reason };
        }
    }
}

fn ended(outcome: &Outcome) -> ChangeResult {
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
