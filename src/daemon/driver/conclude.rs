//! Concludes a pass: updates the schedule, the metrics, the status and the log.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::daemon::driver::Driver;
use crate::daemon::loop_state::{LoopState, pass_result};
use crate::daemon::schedule::PassOutcome;
use crate::daemon::status::{
    DriftFacts, LastPass, LastPlan, PassResult, SourceStatus, Success, ToggleStatus, Withheld, show,
};
use crate::model::Suspensions;
use crate::pass::publish::tries;
use crate::pass::{ChangeResult, Error, Reconciler, Report};

impl Driver {
    /// Reports the result of a pass, and decides when the next one is due.
    pub(super) fn conclude(
        &self,
        reconciler: &Reconciler,
        result: &Result<Report, Error>,
        mut toggles: Option<Vec<ToggleStatus>>,
        took: Duration,
        state: &mut LoopState,
    ) {
        if let Err(error) = result
            && let Some(path) = self.awaited(error)
        {
            self.wait_for_checkout(path);
            state.on_pass_finished(&PassOutcome::default(), self.token_fingerprint());
            return;
        }
        let at = self.config.clock.unix();
        let refused = result.as_ref().err().and_then(Error::refused_revision);
        if let Some(toggles) = &toggles {
            state.drift.set_orphans(toggles);
        }
        state.drift.recall(reconciler);
        let pass_result = self.take_result(result, took, state);
        let is_success = pass_result.as_ref().is_some_and(|result| result.failure().is_none());
        if is_success {
            self.on_success(state, at);
        }
        let suspensions = reconciler.view().suspensions().at(at);
        schedule_next(reconciler, &suspensions, result.as_ref().ok(), state, at);
        if let Some(toggles) = &mut toggles {
            show(toggles, &DriftFacts::new(), &state.drift.facts);
            self.count(toggles, state);
        }
        self.metrics.suspensions(&suspensions);
        // A pass that waited for another process has ended.
        self.metrics.writer(true);
        let next_pass = self.next_pass(state, at);
        let (drifted, awaits_scan) = (state.drift.drifted(), state.drift.awaits_scan());
        let drift_failure = state.drift.failure.clone();
        let unrecorded = reconciler.deleted_ref();
        // In one change, so that no reader combines the results of two passes.
        self.status.send_modify(|status| {
            status.unrecorded = unrecorded;
            status.source.refused = refused;
            if let Ok(report) = result {
                status.source = source_after(report, status.source.clone());
                status.plan = Some(LastPlan(report.concluded_plan()));
            }
            status.source.awaited = None;
            (status.doubt, status.queued) = (None, None);
            status.next_pass = Some(next_pass);
            status.drifted = Arc::new(drifted);
            (status.awaits_scan, status.drift_failure) = (awaits_scan, drift_failure);
            if is_success {
                let when = Instant::now();
                status.last_success = Some(Success { at, when });
            }
            if let Some(result) = pass_result {
                status.last_pass = Some(LastPass::new(at, result, took));
            }
            status.suspensions = suspensions;
            // A pass without news leaves them as they are.
            if result.is_ok() && (toggles.is_some() || status.is_in_sync()) {
                (status.toggles_at, status.recorded) = (Some(at), None);
            }
            if let Some(toggles) = toggles {
                status.set_toggles(toggles);
            }
        });
    }

    fn on_success(&self, state: &mut LoopState, at: i64) {
        self.metrics.succeeded_at(at);
        let failed_before =
            self.status.borrow().last_pass.as_ref().is_some_and(|pass| pass.result.failure().is_some());
        if failed_before && state.drift.failure.is_some() {
            // What the pass has recovered from may be what the last scan met.
            state.drift.set_due(Instant::now());
        }
    }

    /// Returns when the next pass starts, unless something wants one before, in seconds since 1970-01-01 UTC.
    /// `at` is now.
    fn next_pass(&self, state: &LoopState, at: i64) -> i64 {
        let now = Instant::now();
        let time = |then: Instant| {
            let wait = then.saturating_duration_since(now).as_secs();
            at.saturating_add(i64::try_from(wait).unwrap_or(i64::MAX))
        };
        let due = state.wakes_at.into_iter().fold(time(state.schedule.due()), i64::min);
        // What is due before the end of a wait starts then.
        self.paused_until(state, now).map_or(due, |until| due.max(time(until)))
    }

    /// Updates the schedule, the metrics of passes and the log.
    fn take_result(
        &self,
        result: &Result<Report, Error>,
        took: Duration,
        state: &mut LoopState,
    ) -> Option<PassResult> {
        if let Ok(report) = result {
            self.metrics.fetched(report.read_time);
            state.seen = Some(report.plan.source().revision);
            state.log_notes(&report.notes);
            state.log_guesses(report);
            LoopState::log_applied(report);
            state.drift.settle(report);
            if report.count(ChangeResult::is_recorded) > 0 {
                state.drift.on_published(Instant::now());
            }
        }
        state.drift.on_pass_finished(Instant::now());
        state.on_pass_finished(&PassOutcome::of(result), self.token_fingerprint());
        let pass_result = pass_result(result);
        if let Some(pass_result) = &pass_result {
            self.metrics.pass_ended(pass_result, took);
            state.log_result(pass_result);
        }
        pass_result
    }

    /// Counts the toggles by state, and logs the toggles that are newly withheld or held.
    pub(super) fn count(&self, toggles: &[ToggleStatus], state: &mut LoopState) {
        let withheld = Withheld::of(toggles);
        self.metrics.toggles(toggles);
        self.metrics.withheld(&withheld);
        state.log_withheld(&withheld);
        // Before the status is replaced, because the log compares the toggles of both passes.
        LoopState::log_held(&self.status.borrow().toggles, toggles);
    }
}

/// Schedules the next retry of a toggle, and a pass for the end of the next suspension or the opening of a
/// change window.
fn schedule_next(
    reconciler: &Reconciler,
    suspensions: &Suspensions,
    report: Option<&Report>,
    state: &mut LoopState,
    at: i64,
) {
    // After `on_pass_finished`, which sets the time that this only brings forward.
    if let Some(wait) = tries::next_retry(&reconciler.view().failures().tries, at) {
        state.schedule.retry_after(Instant::now(), wait);
    }
    state.wakes_at = suspensions.next_end().into_iter().chain(report.and_then(Report::opens_at)).min();
}

/// Returns the status of the source after a pass with this report.
fn source_after(report: &Report, before: SourceStatus) -> SourceStatus {
    let source = report.plan.source();
    let mut after = SourceStatus {
        repo: source.repo.clone(),
        reference: Some(source.reference.clone()),
        revision: Some(source.revision),
        is_history_cut: report.plan.is_history_cut(),
        ..before
    };
    after.set_head(&report.head);
    after
}
