//! Compares the service with what was applied once, for `gitoggle drift`. Writes only what it found equal, for the next
//! scan.

use std::collections::BTreeSet;

use super::request::{DriftScan, ScanDepth, ScanRequest};
use super::scanner::DriftScanner;
use crate::model::{Scope, ToggleId, chain};
use crate::pass::{Config, Error, Files, PassContext, Planned, planning};
use crate::plan::{DriftReport, LiveDifferences, OnDrift, Plan};
use crate::state::StateSnapshot;

/// A comparison of the service with what was applied.
#[derive(Clone, Copy, Debug)]
pub struct DriftCheck<'a> {
    /// The toggles to compare, of those that match `--only`.
    pub globs: &'a Scope,
    /// The toggles to read.
    pub depth: ScanDepth,
}

impl DriftCheck<'_> {
    /// Reads the state, the source and the service. Blocks.
    ///
    /// # Errors
    /// If the source or the state cannot be read, if nothing is applied, or if no applied toggle matches.
    pub fn run(&self, config: &Config, context: &PassContext) -> Result<DriftScan, Error> {
        // State before source, as in a pass.
        let view = planning::view(config)?;
        if !view.has_applied() && view.settled().is_empty() {
            return Err(Error::NothingApplied);
        }
        let planned = planning::with_snapshot(&config.source, |snapshot| {
            planning::plan_read_only(snapshot, &view, &LiveDifferences::new(), config)
        })?;
        let request = ScanRequest {
            globs: Some(self.globs),
            depth: self.depth,
            documents: Some(&documents(&planned.plan)),
            ..ScanRequest::of(&view)
        };
        let mut scanner = DriftScanner::open(config)?;
        let mut scan = scanner.scan(config, request, context)?;
        // Without it, the next scan reads every toggle, so this is not a failure.
        if let Err(error) = scanner.keep(&config.state_dir) {
            tracing::info!(name: "live_versions_lost", reason = chain(&error), "could not keep what was found equal; the next scan reads every toggle");
        }
        let orphans = planned.plan.orphans().iter();
        scan.report.orphans = orphans.map(|orphan| orphan.id.clone()).collect();
        match scan.report.applied {
            0 => Err(Error::NothingAppliedMatches(self.globs.globs().to_owned())),
            _ => Ok(scan),
        }
    }
}

/// Plans with what the service has now. Writes nothing.
///
/// # Errors
/// If the source or the state cannot be read. A failed read of the service is part of the plan.
pub fn plan_live(config: &Config, files: Files, context: &PassContext) -> Result<Planned, Error> {
    let view = planning::view(config)?;
    let mut planned = planning::plan(config, files)?;
    let scan = LiveScan::of(&planned.plan, &view, config, context)?;
    let drifted = scan.scan.report.differences();
    if config.rules.policy.on_drift == OnDrift::Overwrite && !drifted.is_empty() {
        planned = planning::plan_over(config, files, &drifted)?;
    }
    planned.plan = scan.decide(planned.plan, config, context)?;
    Ok(planned)
}

/// Decides on the changes of `plan` with what the service has now, like [`plan_live`].
///
/// # Errors
/// If the state cannot be read, or the scan is interrupted.
pub(crate) fn with_live(
    plan: Plan,
    view: &StateSnapshot,
    config: &Config,
    context: &PassContext,
) -> Result<Plan, Error> {
    let scan = LiveScan::of(&plan, view, config, context)?;
    scan.decide(plan, config, context)
}

/// What the service has of the toggles of a plan.
struct LiveScan {
    scanner: DriftScanner,
    scan: DriftScan,
}

impl LiveScan {
    fn of(plan: &Plan, view: &StateSnapshot, config: &Config, context: &PassContext) -> Result<Self, Error> {
        let documents = documents(plan);
        let request = ScanRequest {
            documents: Some(&documents),
            wanted: Some(&documents),
            ..ScanRequest::of(view)
        };
        let mut scanner = DriftScanner::open(config)?;
        let scan = scanner.scan(config, request, context)?;
        match scan.is_interrupted {
            true => Err(Error::Cancelled),
            false => Ok(Self { scanner, scan }),
        }
    }

    fn decide(self, plan: Plan, config: &Config, context: &PassContext) -> Result<Plan, Error> {
        let Self { scanner, scan } = self;
        let newer = scanner.deciding_versions(&plan, &scan.live, config, context)?;
        // A plan lists documents, and the missing toggles of new ones are held.
        let report = DriftReport {
            undocumented: Vec::new(),
            archived: Vec::new(),
            ..scan.report
        };
        Ok(plan.with_live(&scan.live, &newer, report, &config.rules.policy))
    }
}

/// Returns the toggles with documents that are not applied yet.
fn documents(plan: &Plan) -> BTreeSet<ToggleId> {
    let changes = plan.changes().iter().map(|change| change.id.clone());
    let withheld = plan.withheld().iter().map(|withheld| withheld.id.clone());
    changes.chain(withheld).collect()
}
