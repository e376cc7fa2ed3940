//! Runs scans, one after the other: for the daemon, for `gitoggle drift`, and for passes and plans that may
//! publish over drift.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::applied::AppliedDocuments;
use super::memory::ScanMemory;
use super::scan::{Scan, versions_from};
use super::{DriftScan, ScanDepth, ScanRequest};
use crate::drift::reading::{EnvironmentPlan, ExpectedLive};

use crate::model::{
    Action, Allowance, EnvironmentId, Hold, Live, LiveVersion, Override, Scope, ToggleId, chain,
};
use crate::pass::{
    Config, Error, Files, PassContext, PassInputs, Planned, Report, Rules, deleted_ref, planning,
};
use crate::plan::hold::state_lost_advice;
use crate::plan::{
    Before, Change, DriftReport, DriftedToggle, LiveDecision, LiveDifferences, OnDrift, OnMissing, Plan,
    decide_live, needed_types,
};
use crate::service::{ClientConfig, LiveReader, SdkKeys};
use crate::state::{LiveVersions, StateSnapshot};

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
    pub fn run(&self, config: &Config, context: &PassContext) -> Result<DriftScan, Error> {
        // State before source, as in a pass.
        let view = planning::view(config)?;
        if !view.has_applied() && view.settled().is_empty() {
            if !view.lost().is_empty() {
                return Err(Error::AppliedLost { advice: state_lost_advice(&config.rules.policy) });
            }
            // The report says that requests have no known outcome.
            if view.unknown().is_empty() {
                let note = deleted_ref(&view, config);
                return Err(Error::NothingApplied { is_shared: config.shared.is_some(), note });
            }
        }
        let planned = planning::with_snapshot(&config.source, |snapshot| {
            planning::plan_read_only(snapshot, &view, &LiveDifferences::new(), config)
        })?;
        let documents = documents(&planned.plan);
        let request = ScanRequest {
            globs: Some(self.globs),
            depth: self.depth,
            documents: Some(&documents),
            ..ScanRequest::of(&view)
        };
        let mut scanner = DriftScanner::open(config)?;
        let mut scan = scanner.scan(config, request, context)?;
        // Without it, the next scan reads every toggle, so this is not a failure.
        if let Err(error) = scanner.keep(&config.state_dir) {
            tracing::info!(name: "live_versions_lost", reason = chain(&error), "could not keep what was found equal; the next scan reads every toggle");
        }
        for drifted in &mut scan.report.drifted {
            drifted.is_documented = planned.plan.is_wanted(&drifted.applied.id, &drifted.live);
        }
        let held = planned.plan.withheld().iter().filter_map(|held| held.change.as_deref());
        let changes = planned.plan.changes().iter().chain(held);
        let new: BTreeSet<&ToggleId> =
            changes.filter(|change| change.before == Before::Nothing).map(|change| &change.id).collect();
        scan.has_new_documents = !new.is_empty();
        let report = &scan.report;
        // Each toggle is listed once.
        let listed = report.missing.iter().map(|missing| &missing.id).chain(&report.archived);
        let listed = listed.chain(report.drafts.iter().map(|draft| &draft.id));
        let listed: BTreeSet<&ToggleId> =
            listed.chain(report.unread.iter().map(|unread| &unread.id)).collect();
        let unapplied = new.into_iter().filter(|id| !listed.contains(id) && self.globs.contains(id));
        scan.report.unapplied = unapplied.cloned().collect();
        scan.report.leave_out_archived(orphans(&planned.plan));
        if scan.report.applied == 0 {
            return Err(Error::NothingAppliedMatches(self.globs.globs().to_owned()));
        }
        let applied = AppliedDocuments::of(&view, &config.rules, None)?;
        let applied = applied.iter().map(|(id, _)| id).chain(&applied.unknown);
        let known: Vec<&ToggleId> = applied.chain(&documents).chain(&scan.report.undocumented).collect();
        let idle = idle_globs(self.globs, &known);
        if !idle.is_empty() {
            return Err(Error::NoToggleMatches(idle));
        }
        scan.report.idle_globs = idle_globs(&config.rules.policy.scope, &known);
        Ok(scan)
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

/// Reads what the service has of the toggles that a pass may publish over: the inputs of that pass, and what
/// differs. With `--overwrite-drift`, it may overwrite exactly the versions that this has read, and what is
/// changed later is held. Blocks.
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
        // The types of the toggles that a change needs decide on it, too.
        let needed = plan.changes().iter().flat_map(needed_types).map(|(id, _)| id);
        let wanted = documents(plan).into_iter().chain(needed).collect();
        let request =
            ScanRequest { documents: Some(&wanted), wanted: Some(&wanted), ..ScanRequest::of(view) };
        let mut scanner = DriftScanner::open(config)?;
        let mut scan = scanner.scan(config, request, context)?;
        scanner.add_events(plan, &mut scan.live, config, context)?;
        if scan.is_interrupted { Err(Error::Cancelled) } else { Ok(Self { scanner, scan }) }
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
                let change = held.change.as_deref().filter(|change| change.action != Action::Adopt)?;
                let live = self.scan.live.get(&change.id)?;
                let may_be_overwritten = matches!(live, Live::Toggle(_)) && held.hold.version.is_some();
                may_be_overwritten.then(|| (change.id.clone(), live.clone()))
            });
            live.extend(held);
        }
        let mut versions = BTreeMap::<EnvironmentId, BTreeMap<ToggleId, u64>>::new();
        for (id, live) in live.iter().filter(|_| config.overwrite_drift) {
            let version = match live {
                Live::Missing { .. } | Live::Untargeted => 0,
                Live::Toggle(live) => live.version,
            };
            versions.entry(id.environment()).or_default().insert(id.clone(), version);
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
        let inputs =
            PassInputs { drifted: live, orders, scanned: self.scan.live.clone(), ..PassInputs::default() };
        Ok((inputs, report))
    }

    fn decide(&self, plan: Plan, config: &Config, context: &PassContext) -> Result<Plan, Error> {
        let Self { scanner, scan } = self;
        let newer = scanner.deciding_versions(&plan, &scan.live, config, context)?;
        // A plan lists documents. What keeps a change from being sent is the reason of its hold.
        let documents = documents(&plan);
        let mut report = DriftReport { undocumented: Vec::new(), ..scan.report.clone() };
        report.archived.retain(|id| !documents.contains(id));
        report.leave_out_archived(orphans(&plan));
        // A toggle that only others need is no drift.
        report.missing.retain(|missing| missing.applied.is_some() || documents.contains(&missing.id));
        Ok(plan.with_live(&scan.live, &newer, report, &config.rules.policy))
    }
}

/// Returns the toggles with documents that are not applied yet.
fn documents(plan: &Plan) -> BTreeSet<ToggleId> {
    let changes = plan.changes().iter().map(|change| change.id.clone());
    let withheld = plan.withheld().iter().map(|withheld| withheld.id.clone());
    changes.chain(withheld).collect()
}

/// Returns the globs of `scope` that match none of `toggles`.
fn idle_globs(scope: &Scope, toggles: &[&ToggleId]) -> Vec<String> {
    let mut unmatched = scope.unmatched();
    toggles.iter().for_each(|id| unmatched.remove_matching(id.as_str()));
    unmatched.globs()
}

fn orphans(plan: &Plan) -> BTreeSet<ToggleId> {
    plan.orphans().iter().map(|orphan| orphan.id.clone()).collect()
}

/// Compares one service with one state. Keeps SDK keys and differences in memory, so one scanner is used for
/// many scans.
#[derive(Debug)]
pub struct DriftScanner {
    sdk_keys: SdkKeys,
    memory: ScanMemory,
    on_missing: OnMissing,
    /// Of this many scans of an environment, whichever commands make them, one reads every toggle.
    full_every: u32,
}

impl DriftScanner {
    /// Creates a scanner of the service of `config`. Reads the cache in the state folder.
    ///
    /// # Errors
    /// [`Error::NoService`].
    pub fn open(config: &Config) -> Result<Self, Error> {
        let ClientConfig { base_url, .. } = config.service.as_ref().ok_or(Error::NoService)?;
        let versions = LiveVersions::open(&config.state_dir, &base_url.to_string());
        Ok(Self {
            memory: ScanMemory::new(versions),
            sdk_keys: SdkKeys::default(),
            on_missing: config.rules.policy.on_missing,
            full_every: config.thresholds.scans,
        })
    }

    fn reader(&self, config: &Config) -> Result<LiveReader, Error> {
        Ok(config.client()?.reader().with_sdk_keys(self.sdk_keys.clone()))
    }

    /// Compares the service with what was applied. Blocks.
    ///
    /// # Errors
    /// If the state cannot be read, or connections cannot be set up. A failed read of the service is part of
    /// the report.
    pub fn scan(
        &mut self,
        config: &Config,
        request: ScanRequest<'_>,
        context: &PassContext,
    ) -> Result<DriftScan, Error> {
        let reader = self.reader(config)?;
        let applied = AppliedDocuments::of(request.view, &config.rules, request.globs)?;
        self.memory.forget(&applied, request.keeps_payloads());
        let environments = self.environments(&applied, request);
        if environments.iter().any(|plan| plan.is_full) {
            self.sdk_keys.forget();
        }
        let scanned: Vec<_> =
            environments.iter().map(|plan| (plan.environment.clone(), plan.is_full)).collect();
        let began = config.clock.unix();
        let mut scan = Scan::new(reader, &mut self.memory, &applied, request);
        scan.run(environments, config.limits.in_flight, context)?;
        scan.read_events(config.limits.in_flight, context)?;
        if scan.has_new_differences() {
            scan.leave_out_published(&planning::view(config)?, &config.rules)?;
        }
        let result = scan.finish(&config.rules, began);
        if !result.is_interrupted {
            self.memory.compared.clear();
            // One toggle that cannot be read must not make every scan a full one, but an outage is not a full
            // scan.
            let is_outage = result.report.unread.len() * 2 > result.report.applied;
            self.memory.has_compared |= !is_outage;
            for (environment, is_full) in scanned {
                let scans = self.memory.versions.scans.entry(environment).or_default();
                *scans = if is_full && !is_outage { 0 } else { (*scans + 1).min(self.full_every) };
            }
        }
        Ok(result)
    }

    /// Writes what was found out into the state folder, for the next process.
    pub fn keep(&mut self, dir: &Path) -> Result<(), Error> {
        Ok(self.memory.kept(self.on_missing).keep(dir)?)
    }

    /// Keeps which versions a pass has published, or has read and recorded, for the scan of another process.
    pub(crate) fn keep_published(config: &Config, report: &Report) -> Result<(), Error> {
        if report.live.is_empty() {
            return Ok(());
        }
        let base_url = config.service.as_ref().map(|service| service.base_url.to_string());
        let mut versions = LiveVersions::open(&config.state_dir, &base_url.unwrap_or_default());
        versions.settle(&report.live);
        Ok(versions.keep(&config.state_dir)?)
    }

    /// Forgets what an earlier process found out about documents that are not applied anymore.
    pub(crate) fn forget_replaced(&mut self, view: &StateSnapshot, rules: &Rules) -> Result<(), Error> {
        if !self.memory.earlier.is_empty() {
            self.memory.forget(&AppliedDocuments::of(view, rules, None)?, true);
        }
        Ok(())
    }

    /// Reads who configured the toggles of which nothing was applied, and why, if their documents differ.
    fn add_events(
        &self,
        plan: &Plan,
        live: &mut BTreeMap<ToggleId, Live>,
        config: &Config,
        context: &PassContext,
    ) -> Result<(), Error> {
        let held = plan.withheld().iter().filter_map(|held| held.change.as_deref());
        let changes = plan.changes().iter().chain(held).filter(|change| change.before == Before::Nothing);
        let is_changed =
            |change: &&Change| live.get(&change.id).and_then(|live| live.overwritten_by(change)).is_some();
        // The creation of a toggle makes its first version.
        let wanted: Vec<_> = changes.filter(is_changed).map(|change| (change.id.clone(), 2)).collect();
        let read = versions_from(&self.reader(config)?, wanted.clone(), config.limits.in_flight, context)?;
        for (id, _) in wanted {
            if let Some(Live::Toggle(live)) = live.get_mut(&id) {
                live.add_events(read.get(&id).map_or(&[], Vec::as_slice), Some(1), None);
            }
        }
        Ok(())
    }

    /// Reads the versions that decide on changes whose last outcome is unknown.
    fn deciding_versions(
        &self,
        plan: &Plan,
        live: &BTreeMap<ToggleId, Live>,
        config: &Config,
        context: &PassContext,
    ) -> Result<BTreeMap<ToggleId, Vec<LiveVersion>>, Error> {
        let changes = plan.changes().iter();
        let wanted = changes.filter_map(|change| {
            match decide_live(change, live.get(&change.id)?, &config.rules.policy, plan.overrides()) {
                LiveDecision::ReadVersions { after } => Some((change.id.clone(), after + 1)),
                _ => None,
            }
        });
        let wanted: Vec<_> = wanted.collect();
        if wanted.is_empty() {
            return Ok(BTreeMap::new());
        }
        versions_from(&self.reader(config)?, wanted, config.limits.in_flight, context)
    }

    /// Returns whether a scan has found out what differs.
    pub(crate) const fn has_compared(&self) -> bool {
        self.memory.has_compared
    }

    /// Returns why each toggle is reported as drifted, as far as scans have found out.
    pub(crate) fn facts(&self) -> BTreeMap<ToggleId, Hold> {
        self.memory.facts(self.on_missing)
    }

    /// Returns the differences that a publish of the document ends, as far as scans of this process have
    /// found out.
    pub(crate) fn differences(&self) -> LiveDifferences {
        self.memory.differences().differences()
    }

    /// Returns the drifted toggles, as far as scans have found out.
    pub(crate) fn drifted(&self) -> Vec<DriftedToggle> {
        self.memory.differences().drifted
    }

    /// Ends the differences of toggles that a pass has applied or recorded.
    pub fn settle(&mut self, report: &Report) {
        self.memory.settle(report);
    }

    fn environments(&self, applied: &AppliedDocuments<'_>, request: ScanRequest<'_>) -> Vec<EnvironmentPlan> {
        let versions = &self.memory.versions;
        let is_full = |environment: &EnvironmentId| {
            let scans = versions.scans.get(environment).copied().unwrap_or_default();
            request.depth == ScanDepth::Everything || scans + 1 >= self.full_every
        };
        let mut toggles: BTreeMap<EnvironmentId, BTreeMap<ToggleId, ExpectedLive>> = BTreeMap::new();
        for (id, object) in applied.iter() {
            let expected = if is_full(&id.environment()) && !self.memory.compared.contains(id) {
                ExpectedLive::Unknown
            } else {
                self.memory.expected(id, object)
            };
            toggles.entry(id.environment()).or_default().insert(id.clone(), expected);
        }
        let documents = request.documents.into_iter().flatten().filter(|id| applied.is_wanted(id));
        for id in documents.filter(|id| !applied.contains(id)) {
            let toggles = toggles.entry(id.environment()).or_default();
            toggles.insert(id.clone(), ExpectedLive::Listed);
        }
        for id in request.wanted.into_iter().flatten() {
            toggles.entry(id.environment()).or_default().insert(id.clone(), ExpectedLive::Unknown);
        }
        let plans = toggles.into_iter().map(|(environment, toggles)| EnvironmentPlan {
            payload: if request.keeps_payloads() {
                versions.payloads.get(&environment).copied()
            } else {
                None
            },
            is_full: is_full(&environment),
            environment,
            toggles,
            lists: request.documents.is_some(),
        });
        plans.collect()
    }
}
