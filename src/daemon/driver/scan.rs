//! Scans the service for drift between two passes, and concludes a scan.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::daemon::driver::running_pass::RunningPass;
use crate::daemon::driver::{Driver, pass_span};
use crate::daemon::loop_state::{LoopState, overwrites_drift};
use crate::daemon::metrics::ScanResult;
use crate::daemon::status::{ScanFailure, ScanFailureExtent, show};
use crate::drift::{DriftScan, DriftScanner, ScanRequest};
use crate::model::{Hold, HoldKind, chain};
use crate::pass::{Config, Error, PassContext, Reconciler, StopReason, planning};

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
        let (scan_result, failure) = match result {
            Err(error) => (ScanResult::Error, Some(of_error(error))),
            // What another process sends is applied once it is recorded, so this is not a failed scan.
            Ok(None) => return state.drift.schedule_soon(now),
            Ok(Some(scan)) if scan.is_interrupted || scan.is_outrun => (ScanResult::Interrupted, None),
            Ok(Some(scan)) => match self.scan_failure(scan) {
                None => (ScanResult::Success, None),
                Some(failure) => (ScanResult::Partial, Some(failure)),
            },
        };
        self.metrics.drift_scanned(scan_result);
        match result {
            Ok(Some(scan)) => scan.failures().for_each(|outcome| self.metrics.scan_failed(outcome)),
            Err(Error::Service(error)) => {
                error.outcome().into_iter().for_each(|outcome| self.metrics.scan_failed(outcome));
            }
            Ok(None) | Err(_) => {}
        }
        if scan_result != ScanResult::Interrupted {
            state.drift.on_failure(failure);
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
            return self.show_failure(state);
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
        self.show_failure(state);
    }

    fn show_failure(&self, state: &LoopState) {
        self.status.send_if_modified(|status| {
            let is_new = status.drift_failure != state.drift.failure;
            status.drift_failure.clone_from(&state.drift.failure);
            is_new
        });
    }

    /// Returns why a scan did not compare every toggle, with what to do if that concerns the next pass.
    fn scan_failure(&self, scan: &DriftScan) -> Option<ScanFailure> {
        let reason = scan.failure()?;
        let evidence = self.config.thresholds.failures_in_a_row;
        let Some(stop) = scan.failure_of_service(evidence) else {
            return Some(ScanFailure { reason, extent: ScanFailureExtent::Toggles });
        };
        let hint = match stop {
            StopReason::Patience { .. } => Some("check the service; the next scan follows within a minute"),
            _ => stop.hint(),
        };
        let reason = hint.map_or_else(|| reason.clone(), |hint| format!("{reason}; {hint}"));
        Some(ScanFailure::of_service(reason, stop.needs_someone()))
    }
}

/// Returns the failure of a scan that could not begin, because a pass could not begin either.
fn of_error(error: &Error) -> ScanFailure {
    ScanFailure::of_service(error.in_full(), error.needs_someone())
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
