//! What follows from a pass: the schedule, the metrics, the status, and what the log says once.

use std::time::Duration;

use tokio::time::Instant;

use super::decisions;
use super::driver::Driver;
use super::loop_state::{LoopState, outcome};
use super::pass_outcome::PassOutcome;
use super::status::{LastPass, PassResult, SourceStatus, Success, ToggleStatus, Withheld};
use crate::model::Suspensions;
use crate::pass::publish::tries;
use crate::pass::{Error, Reconciler, Report, planning};

impl Driver {
    /// Reports what came of a pass, and decides when the next one is due.
    pub(super) fn conclude(
        &self,
        writer: &Reconciler,
        result: Result<Report, Error>,
        toggles: Option<Vec<ToggleStatus>>,
        took: Duration,
        memory: &mut LoopState,
    ) {
        let at = self.config.clock.unix();
        if let Err(error) = &result
            && let Some(path) = self.awaited(error)
        {
            self.wait_for_checkout(path);
            memory.on_pass_finished(&PassOutcome::default(), self.token_fingerprint());
            return;
        }
        let refused = result.as_ref().err().and_then(Error::refused_revision);
        let result = result.map_err(|error| error.in_full());
        let outcome = outcome(&result);
        if let Ok(report) = &result {
            self.metrics.fetched(report.looked);
            memory.seen = Some(report.plan.source().revision);
            memory.note(&report.notes);
            memory.guesses(report);
        }
        memory.on_pass_finished(&PassOutcome::of(&result), self.token_fingerprint());
        if let Some(outcome) = &outcome {
            self.metrics.pass_ended(outcome, took);
            memory.tell(outcome);
        }
        let suspensions = planning::suspensions(writer.view(), at);
        schedule_next(writer, &suspensions, memory, at);
        decisions::count(&self.metrics, &suspensions);
        if let Some(toggles) = &toggles {
            self.count(toggles, memory);
        }
        let is_success = outcome.as_ref().is_some_and(PassResult::is_success);
        if is_success {
            self.metrics.succeeded_at(at);
        }
        self.status.send_modify(|status| {
            status.source.refused = refused;
            if let Ok(report) = &result {
                status.source = source_after(report, status.source.clone());
            }
            status.source.awaited = None;
            if is_success {
                let when = Instant::now();
                status.last_success = Some(Success { at, when });
            }
            if let Some(result) = outcome {
                status.last_pass = Some(LastPass::new(at, result, took));
            }
            status.suspensions = suspensions;
            if let Some(toggles) = toggles {
                status.set_toggles(toggles);
            }
        });
    }

    /// Counts the toggles by state, and logs what is newly withheld or held.
    fn count(&self, toggles: &[ToggleStatus], memory: &mut LoopState) {
        let withheld = Withheld::of(toggles);
        self.metrics.toggles(toggles);
        self.metrics.withheld(&withheld);
        memory.withheld(&withheld);
        LoopState::held(&self.status.borrow().toggles, toggles);
    }
}

/// Schedules the next retry of a toggle, and a pass for when the next suspension ends.
fn schedule_next(writer: &Reconciler, suspensions: &Suspensions, memory: &mut LoopState, at: i64) {
    if let Some(wait) = tries::next_retry(writer.view().tries(), at) {
        memory.schedule.retry_after(Instant::now(), wait);
    }
    if let Some(until) = suspensions.next_end() {
        let left = Duration::from_secs(u64::try_from(until.saturating_sub(at)).unwrap_or_default());
        memory.schedule.no_later_than(Instant::now() + left);
    }
}

/// Returns the status of the source after a pass with this report.
fn source_after(report: &Report, before: SourceStatus) -> SourceStatus {
    let source = report.plan.source();
    SourceStatus {
        repo: source.repo.clone(),
        reference: Some(source.reference.clone()),
        revision: Some(source.revision),
        history: report.plan.history(),
        ..before
    }
}
