//! Runs scans, one after the other.

use std::collections::BTreeMap;
use std::path::Path;

use super::applied::AppliedDocuments;
use super::memory::ScanMemory;
use super::reading::{EnvironmentPlan, ExpectedLive};
use super::request::{DriftScan, ScanDepth, ScanRequest};
use super::scan::Scan;
use super::versions::versions_from;
use crate::model::{EnvironmentId, Hold, Live, LiveVersion, ToggleId};
use crate::pass::{Config, Error, PassContext, Report, Rules, planning};
use crate::plan::{DriftedToggle, LiveDecision, LiveDifferences, OnMissing, Plan, decide_live};
use crate::service::{ClientConfig, LiveReader};
use crate::state::{LiveVersions, StateSnapshot};

/// Of this many scans of an environment, whichever commands make them, one reads every toggle.
const FULL_EVERY: u32 = 20;

/// Compares one service with one state. Keeps SDK keys and differences in memory, so one scanner is used for many scans.
#[derive(Debug)]
pub struct DriftScanner {
    reader: LiveReader,
    memory: ScanMemory,
    on_missing: OnMissing,
}

impl DriftScanner {
    /// Creates a scanner of the service of `config`. Reads the cache in the state folder.
    ///
    /// # Errors
    /// [`Error::NoService`], or that connections cannot be set up.
    pub fn open(config: &Config) -> Result<Self, Error> {
        let service = config.service.clone().ok_or(Error::NoService)?;
        let ClientConfig { base_url, .. } = &service;
        let versions = LiveVersions::open(&config.state_dir, &base_url.to_string());
        Ok(Self {
            memory: ScanMemory::new(versions),
            reader: LiveReader::new(service)?,
            on_missing: config.rules.policy.on_missing,
        })
    }

    /// Compares the service with what was applied. Blocks.
    ///
    /// # Errors
    /// If the state cannot be read. A failed read of the service is part of the report.
    pub fn scan(
        &mut self,
        config: &Config,
        request: ScanRequest<'_>,
        context: &PassContext,
    ) -> Result<DriftScan, Error> {
        // The old token stays in use if the new one cannot be read.
        let _ = self.reader.reload_token();
        let applied = AppliedDocuments::of(request.view, &config.rules, request.globs)?;
        self.memory.forget(&applied, request.keeps_payloads());
        let environments = self.environments(&applied, request);
        if environments.iter().any(|plan| plan.is_full) {
            self.reader.forget_sdk_keys();
        }
        let scanned: Vec<_> = environments
            .iter()
            .map(|plan| (plan.environment.clone(), plan.is_full))
            .collect();
        let began = config.clock.unix();
        let mut scan = Scan::new(self.reader.clone(), &mut self.memory, &applied, request);
        scan.run(environments, config.limits.in_flight, context)?;
        scan.read_comments(config.limits.in_flight, context)?;
        if scan.has_new_differences() {
            scan.leave_out_published(&planning::view(config)?, &config.rules)?;
        }
        let result = scan.finish(&config.rules, began);
        if !result.is_interrupted {
            self.memory.compared.clear();
            // One toggle that cannot be read must not make every scan a full one, but an outage is not a full scan.
            let is_outage = result.report.unread.len() * 2 > result.report.applied;
            self.memory.has_compared |= !is_outage;
            for (environment, is_full) in scanned {
                let scans = self.memory.versions.scans.entry(environment).or_default();
                *scans = if is_full && !is_outage {
                    0
                } else {
                    (*scans + 1).min(FULL_EVERY)
                };
            }
        }
        Ok(result)
    }

    /// Writes what was found out into the state folder, for the next process.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(&mut self, dir: &Path) -> Result<(), Error> {
        Ok(self.memory.kept(self.on_missing).keep(dir)?)
    }

    /// Keeps which versions a pass has published, or has read and recorded, for the scan of another process.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn keep_published(config: &Config, report: &Report) -> Result<(), Error> {
        if report.live.is_empty() {
            return Ok(());
        }
        let base_url = config
            .service
            .as_ref()
            .map(|service| service.base_url.to_string());
        let mut versions = LiveVersions::open(&config.state_dir, &base_url.unwrap_or_default());
        versions.settle(&report.live);
        Ok(versions.keep(&config.state_dir)?)
    }

    /// Forgets what an earlier process found out about documents that are not applied anymore.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn forget_replaced(&mut self, view: &StateSnapshot, rules: &Rules) -> Result<(), Error> {
        if !self.memory.earlier.is_empty() {
            self.memory
                .forget(&AppliedDocuments::of(view, rules, None)?, true);
        }
        Ok(())
    }

    /// Reads the versions that decide on changes whose last outcome is unknown.
    pub(super) fn deciding_versions(
        &self,
        plan: &Plan,
        live: &BTreeMap<ToggleId, Live>,
        config: &Config,
        context: &PassContext,
    ) -> Result<BTreeMap<ToggleId, Vec<LiveVersion>>, Error> {
        let changes = plan.changes().iter();
        let wanted = changes.filter_map(|change| {
            match decide_live(
                change,
                live.get(&change.id)?,
                &config.rules.policy,
                plan.overrides(),
            ) {
                LiveDecision::ReadVersions { after } => Some((change.id.clone(), after + 1)),
                _ => None,
            }
        });
        versions_from(&self.reader, wanted.collect(), config.limits.in_flight, context)
    }

    /// Returns whether a scan has found out what differs.
    pub(crate) const fn has_compared(&self) -> bool {
        self.memory.has_compared
    }

    /// Returns why each toggle counts as drifted, as far as scans have found out.
    pub(crate) fn facts(&self) -> BTreeMap<ToggleId, Hold> {
        self.memory.facts(self.on_missing)
    }

    /// Returns the differences that a publish of the document ends, as far as scans of this process have found out.
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
            request.depth == ScanDepth::Everything || scans + 1 >= FULL_EVERY
        };
        let mut toggles: BTreeMap<EnvironmentId, BTreeMap<ToggleId, ExpectedLive>> = BTreeMap::new();
        for (id, object) in applied.iter() {
            let expected = match is_full(&id.environment()) && !self.memory.compared.contains(id) {
                true => ExpectedLive::Unknown,
                false => self.memory.expected(id, object),
            };
            toggles
                .entry(id.environment())
                .or_default()
                .insert(id.clone(), expected);
        }
        let documents = request
            .documents
            .into_iter()
            .flatten()
            .filter(|id| applied.is_wanted(id));
        for id in documents.filter(|id| !applied.contains(id)) {
            let toggles = toggles.entry(id.environment()).or_default();
            toggles.insert(id.clone(), ExpectedLive::Listed);
        }
        for id in request.wanted.into_iter().flatten() {
            toggles
                .entry(id.environment())
                .or_default()
                .insert(id.clone(), ExpectedLive::Unknown);
        }
        let plans = toggles.into_iter().map(|(environment, toggles)| EnvironmentPlan {
            payload: match request.keeps_payloads() {
                true => versions.payloads.get(&environment).copied(),
                false => None,
            },
            is_full: is_full(&environment),
            environment,
            toggles,
            lists: request.documents.is_some(),
        });
        plans.collect()
    }
}
