//! Compares the service with what was applied once, for `gitoggle drift`. Writes only what it found equal, for the next
//! scan.

use std::collections::{BTreeMap, BTreeSet};

use super::request::{DriftScan, ScanDepth, ScanRequest};
use super::scanner::DriftScanner;
use crate::model::{Action, Allowance, EnvironmentId, Live, Override, Scope, ToggleId, chain};
use crate::pass::{Config, Error, Files, PassContext, PassInputs, Planned, planning};
use crate::plan::{DriftReport, LiveChange, LiveDifference, LiveDifferences, OnDrift, Plan};
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
    let mut view = planning::view(config)?;
    let mut planned = planning::plan_over(config, files, &view, &LiveDifferences::new())?;
    let scan = LiveScan::of(&planned.plan, &view, config, context)?;
    let (PassInputs { drifted, orders, .. }, _) = scan.overwritable(&planned.plan, config, context)?;
    if !drifted.is_empty() {
        view.give(orders);
        planned = planning::plan_over(config, files, &view, &drifted)?;
    }
    planned.plan = scan.decide(planned.plan, config, context)?;
    Ok(planned)
}

/// Reads what the service has of the toggles that a pass may publish over: the inputs of that pass, and what differs. With
/// `--overwrite-drift`, it may overwrite exactly the versions that this has read, and what is changed later is held. Blocks.
///
/// # Errors
/// As [`plan_live`].
pub(crate) fn overwritable(
    config: &Config,
    context: &PassContext,
) -> Result<(PassInputs, DriftReport), Error> {
    let view = planning::view(config)?;
    let planned = planning::plan_over(config, Files::Committed, &view, &LiveDifferences::new())?;
    let mut scan = LiveScan::of(&planned.plan, &view, config, context)?;
    scan.scanner.keep(&config.state_dir)?;
    scan.overwritable(&planned.plan, config, context)
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

    /// Returns what a pass with `plan` would hold because someone changed it, and what was changed besides.
    fn overwritable(
        &self,
        plan: &Plan,
        config: &Config,
        context: &PassContext,
    ) -> Result<(PassInputs, DriftReport), Error> {
        let report = self.scan.report.clone();
        let (policy, revision) = (&config.rules.policy, plan.source().revision);
        let mut live = LiveDifferences::new();
        if config.overwrite_drift || policy.on_drift == OnDrift::Overwrite {
            live = report.differences();
            let plan = self.decide(plan.clone(), config, context)?;
            let held = plan.withheld().iter().filter_map(|held| {
                // A first pass that adopts publishes nothing, whatever else is allowed.
                let change = held
                    .change
                    .as_deref()
                    .filter(|change| change.action != Action::Adopt)?;
                match self.scan.live.get(&change.id)? {
                    Live::Toggle(live) if held.hold.version.is_some() => {
                        Some(LiveChange::of(&change.id, live))
                    }
                    _ => None,
                }
            });
            live.extend(held.map(|made| (made.id.clone(), LiveDifference::Other(Box::new(made)))));
        }
        let mut versions = BTreeMap::<EnvironmentId, BTreeMap<ToggleId, u64>>::new();
        for (id, live) in live.iter().filter(|_| config.overwrite_drift) {
            let version = match live {
                LiveDifference::Missing => 0,
                LiveDifference::Other(live) => live.version,
            };
            versions
                .entry(id.environment())
                .or_default()
                .insert(id.clone(), version);
        }
        let at = config.clock.unix();
        let order = |(environment, versions)| Allowance {
            what: Override::OverwriteDrift,
            environment: Some(environment),
            revision,
            by: "--overwrite-drift".to_owned(),
            at,
            versions: Some(versions),
        };
        let orders = versions.into_iter().map(order).collect();
        let inputs = PassInputs {
            drifted: live,
            orders,
            scanned: self.scan.live.clone(),
            ..PassInputs::default()
        };
        Ok((inputs, report))
    }

    fn decide(&self, plan: Plan, config: &Config, context: &PassContext) -> Result<Plan, Error> {
        let Self { scanner, scan } = self;
        let newer = scanner.deciding_versions(&plan, &scan.live, config, context)?;
        // A plan lists documents, and the missing toggles of new ones are held.
        let report = DriftReport {
            undocumented: Vec::new(),
            archived: Vec::new(),
            ..scan.report.clone()
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
