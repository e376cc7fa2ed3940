//! Concludes a pass: updates the schedule, the metrics, the status and the log. Scans the service for drift
//! between two passes.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::daemon::driver::running_pass::RunningPass;
use crate::daemon::driver::{Driver, pass_span};
use crate::daemon::loop_state::{LoopState, overwrites_drift, pass_result};
use crate::daemon::metrics::ScanResult;
use crate::daemon::schedule::PassOutcome;
use crate::daemon::status::{
    DriftFacts, LastPass, LastPlan, PassResult, SourceStatus, Success, ToggleStatus, Withheld, show,
};
use crate::drift::{DriftScan, DriftScanner, ScanRequest};
use crate::model::{Hold, HoldKind, Suspensions, chain};
use crate::pass::publish::order;
use crate::pass::{Config, Error, PassContext, Reconciler, Report, planning};

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
        state.drift.recall(reconciler);
        let pass_result = self.take_result(result, took, state);
        let is_success = pass_result.as_ref().is_some_and(|result| result.failure().is_none());
        if is_success {
            self.metrics.succeeded_at(at);
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
        let next = state.schedule.due().saturating_duration_since(Instant::now());
        let next_pass = at.saturating_add(i64::try_from(next.as_secs()).unwrap_or(i64::MAX));
        let next_pass = state.wakes_at.map_or(next_pass, |wakes_at| wakes_at.min(next_pass));
        let (drifted, awaits_scan) = (state.drift.drifted(), state.drift.awaits_scan());
        // In one change, so that no reader combines the results of two passes.
        self.status.send_modify(|status| {
            status.source.refused = refused;
            if let Ok(report) = result {
                status.source = source_after(report, status.source.clone());
                status.plan = Some(LastPlan(report.concluded_plan()));
            }
            status.source.awaited = None;
            (status.doubt, status.queued) = (None, None);
            status.next_pass = Some(next_pass);
            status.drifted = Arc::new(drifted);
            status.awaits_scan = awaits_scan;
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
                status.toggles_at = Some(at);
            }
            if let Some(toggles) = toggles {
                status.set_toggles(toggles);
            }
        });
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
    if let Some(wait) = order::next_retry(&reconciler.view().failures().tries, at) {
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

/// The end of a scan; none if another process was publishing.
type ScanEnd = Result<Option<DriftScan>, Error>;

impl Driver {
    /// Compares the service with what was applied. A newer commit, an order and a shutdown interrupt it.
    /// Returns nothing if a shutdown abandoned it.
    pub(super) async fn scan(
        &mut self,
        reconciler: &mut Reconciler,
        state: &mut LoopState,
        stop: &mut watch::Receiver<bool>,
    ) -> Option<()> {
        let (mut running, context) = RunningPass::at(self, state.seen);
        let (config, scanner) = (self.config.clone(), state.drift.scanner.take());
        let span = pass_span();
        let task = tokio::task::spawn_blocking(move || span.in_scope(|| scan(scanner, &config, &context)));
        let ended = self.attend(task, &mut running, &mut state.probe, stop).await?;
        let (scanner, result) = ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        state.drift.scanner = scanner;
        self.follow_up(&running, reconciler);
        self.conclude_scan(&result, state);
        // Last, because the end of a scan schedules the next one, and this one may have read toggles before
        // the order.
        running.clear_failures(state);
        // An operator may have allowed it before a restart.
        let may_be_overwritten = |fact: &Hold| fact.kind != Some(HoldKind::Archived);
        if overwrites_drift(reconciler) && state.drift.facts.values().any(may_be_overwritten) {
            self.trigger.fire();
        }
        Some(())
    }

    fn conclude_scan(&self, result: &ScanEnd, state: &mut LoopState) {
        let now = Instant::now();
        let (scan_result, reason) = match result {
            Err(error) => (ScanResult::Error, Some(chain(error))),
            // What another process sends is applied once it is recorded, so this is not a failed scan.
            Ok(None) => return state.drift.schedule_soon(now),
            Ok(Some(scan)) if scan.is_interrupted || scan.is_outrun => (ScanResult::Interrupted, None),
            Ok(Some(scan)) => match scan.failure() {
                None => (ScanResult::Success, None),
                Some(reason) => (ScanResult::Partial, Some(reason)),
            },
        };
        self.metrics.drift_scanned(scan_result);
        if let Ok(Some(scan)) = result {
            scan.failures().for_each(|outcome| self.metrics.scan_failed(outcome));
        }
        match result {
            // The pass that interrupted it comes first, and the next scan goes on where this one ended.
            Ok(Some(scan)) if scan.is_interrupted => {
                self.trigger.fire();
                state.drift.set_due(now);
            }
            Ok(Some(scan)) if scan.is_outrun => state.drift.schedule_soon(now),
            _ => state.drift.schedule(now, fastrand::f64()),
        }
        // Someone may have reverted the change that a held one waits for.
        state.schedule.release_held();
        let Some(scanner) = &state.drift.scanner else {
            return self.show_failure(reason, state);
        };
        let shown = state.drift.replace(scanner.facts());
        let mut toggles = (*self.status.borrow().toggles).clone();
        show(&mut toggles, &shown, &state.drift.facts);
        let awaits_scan = state.drift.awaits_scan();
        let is_new = *self.status.borrow().toggles != toggles;
        if is_new {
            self.count(&toggles, state);
        }
        let drifted = is_new.then(|| state.drift.drifted());
        // In one change, so that no notification releases a toggle that this scan has found drifted.
        self.status.send_if_modified(|status| {
            let was_awaiting = std::mem::replace(&mut status.awaits_scan, awaits_scan);
            if let Some(drifted) = drifted {
                status.set_toggles(toggles);
                status.drifted = Arc::new(drifted);
            }
            is_new || was_awaiting != awaits_scan
        });
        if scan_result != ScanResult::Interrupted {
            self.show_failure(reason, state);
        }
    }

    fn show_failure(&self, reason: Option<String>, state: &mut LoopState) {
        let reason = state.drift.on_failure(reason);
        self.status.send_if_modified(|status| {
            let is_new = status.drift_failure != reason;
            status.drift_failure = reason;
            is_new
        });
    }
}

/// Runs a scan, and keeps what it found equal. Returns the scanner if it could be opened.
fn scan(
    scanner: Option<DriftScanner>,
    config: &Config,
    context: &PassContext,
) -> (Option<DriftScanner>, ScanEnd) {
    let mut scanner = match scanner.map_or_else(|| DriftScanner::open(config), Ok) {
        Ok(scanner) => scanner,
        Err(error) => return (None, Err(error)),
    };
    let result = planning::view(config).and_then(|view| match view.holder() {
        Some(_) => Ok(None),
        None => scanner.scan(config, ScanRequest::of(&view), context).map(Some),
    });
    // Losing the cache costs one scan of everything, so this is not a failed scan.
    if let Err(error) = scanner.keep(&config.state_dir) {
        tracing::warn!(name: "live_versions_lost", reason = chain(&error), "could not keep what was found equal; a restart reads every toggle");
    }
    (Some(scanner), result)
}
