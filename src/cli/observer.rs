//! Counts and logs what the passes of `gitoggle run` do.
//!
//! A toggle that fails again in the next pass for the same reason is logged only at DEBUG.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::daemon::Metrics;
use crate::model::{HoldKind, ToggleId, ToggleState};
use crate::pass::{ChangeResult, Event, PublishAnswer, Report};
use crate::plan::{Change, Plan};
use crate::telemetry::ANNOUNCEMENT;

/// Counts and logs the events of passes.
pub(super) struct RunObserver {
    host: String,
    metrics: Metrics,
    /// Whether the pass has too many changes to log each one that is applied.
    is_long: AtomicBool,
    /// The last logged result of each toggle that was not applied.
    logged: Mutex<BTreeMap<ToggleId, ChangeResult>>,
}

impl RunObserver {
    /// Creates an observer of passes that publish to `host`.
    pub(super) fn new(host: String, metrics: Metrics) -> Self {
        Self { host, metrics, is_long: AtomicBool::new(false), logged: Mutex::default() }
    }

    /// Returns whether `result` is the last one of the toggle, and stores it.
    fn is_known(&self, toggle: &ToggleId, result: &ChangeResult) -> bool {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if result.is_recorded() {
            // The next failure is logged again, even for the same reason.
            logged.remove(toggle);
            return false;
        }
        logged.insert(toggle.clone(), result.clone()).as_ref() == Some(result)
    }

    pub(super) fn observe(&self, event: &Event<'_>) {
        match event {
            Event::Answered(outcome, took) => self.metrics.published(outcome.kind(), *took),
            Event::Begins(plan) => {
                self.is_long.store(plan.changes().len() > Report::MANY, Relaxed);
                log_begin(&self.host, plan);
            }
            Event::Ended(change, result, answer) => self.ended(change, result, *answer),
            Event::Doubted(_) | Event::HeldBack(_) | Event::Looked(_) => {}
        }
    }

    fn ended(&self, change: &Change, result: &ChangeResult, answer: Option<PublishAnswer>) {
        if let (ChangeResult::Applied, Some(commit)) = (result, change.attribution.commit()) {
            let now = jiff::Timestamp::now().as_second();
            // A commit from a machine whose clock is ahead counts as zero seconds old.
            let since = u64::try_from(now.saturating_sub(commit.committed_at));
            self.metrics.applied_after(Duration::from_secs(since.unwrap_or_default()));
        }
        match (self.is_known(&change.id, result), result.reason()) {
            (true, Some(reason)) => {
                tracing::debug!(name: "unchanged", toggle = %change.id, reason, "not applied, as before");
            }
            _ if result.is_recorded() && self.is_long.load(Relaxed) => {
                tracing::debug!(name: "published", toggle = %change.id, "published or found equal");
            }
            _ => log_result(change, result, answer),
        }
    }
}

/// Logs a plan before its first request.
pub(super) fn log_begin(host: &str, plan: &Plan) {
    let source = plan.source();
    tracing::info!(
        name: "publishing",
        target: ANNOUNCEMENT,
        host,
        reference = source.reference,
        revision = %source.revision,
        changes = plan.changes().len(),
        "publishing"
    );
}

pub(super) fn log_result(change: &Change, result: &ChangeResult, answer: Option<PublishAnswer>) {
    let toggle = &change.id;
    let (status, took_ms) = (answer.and_then(|answer| answer.status), took_ms(answer));
    match result {
        ChangeResult::Applied => {
            let commit = change.attribution.commit();
            let commit = commit.map(|commit| tracing::field::display(commit.id));
            tracing::info!(name: "published", %toggle, commit, status, took_ms, "published");
        }
        ChangeResult::Held(hold) => {
            let (kind, reason) = (hold.kind.map(HoldKind::as_str), &hold.text);
            match hold.state {
                ToggleState::Failed => {
                    tracing::warn!(name: "failed", %toggle, reason, status, took_ms, "failed");
                }
                ToggleState::Pending => {
                    tracing::warn!(name: "pending", %toggle, reason, status, took_ms, "pending");
                }
                _ if !hold.is_live() => tracing::info!(name: "held", %toggle, kind, reason, "held"),
                _ => {
                    tracing::warn!(name: "live_hold", %toggle, kind, reason, "held because of its live state");
                }
            }
        }
        ChangeResult::Converged => {
            tracing::info!(name: "converged", %toggle, "the service had this targeting already, recorded");
        }
        ChangeResult::NotSent => {}
    }
}

/// Logs the last request for a change whose result was printed.
pub(super) fn log_answer(change: &Change, result: &ChangeResult, answer: Option<PublishAnswer>) {
    let (toggle, outcome) = (&change.id, result.as_str());
    let (status, took_ms) = (answer.and_then(|answer| answer.status), took_ms(answer));
    tracing::info!(name: "publish_ended", %toggle, outcome, status, took_ms, "publish ended");
}

fn took_ms(answer: Option<PublishAnswer>) -> Option<u64> {
    answer.map(|answer| u64::try_from(answer.took.as_millis()).unwrap_or(u64::MAX))
}
