//! One scan: what it reads and compares, and its result.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, mpsc};

use futures_util::{StreamExt as _, stream};

use super::applied::AppliedDocuments;
use super::memory::{KnownDifference, ScanMemory};
use super::reading::{EnvironmentFound, EnvironmentPlan, Reading, ScanFound};
use crate::model::{
    EnvironmentId, FoldedId, Live, LiveToggle, LiveVersion, ObjectId, OutcomeKind, Scope, ToggleId,
};
use crate::pass::{Acceptance, Error, PassContext, Rules, StopReason};
use crate::plan::{DraftedToggle, DriftReport, DriftedToggle, Lack, MissingToggle, UnreadToggle};
use crate::service::retry::effect;
use crate::service::{LiveReader, Outcome, ReadSession};
use crate::state::{AppliedHistory, EqualVersion, OtherVersion, RecordsSince, StateSnapshot};

/// How many seconds the service's payload for SDKs may lag behind a change (src/service/featureprobe.md,
/// "Reading").
const SDK_LAG: i64 = 2;

pub(super) struct Scan<'a> {
    reader: LiveReader,
    memory: &'a mut ScanMemory,
    applied: &'a AppliedDocuments<'a>,
    request: ScanRequest<'a>,
    is_interrupted: bool,
    is_outrun: bool,
    environments: BTreeSet<EnvironmentId>,
    /// The differences that this scan has found and the last one did not know.
    new: BTreeSet<ToggleId>,
    live: BTreeMap<ToggleId, Live>,
    /// The versions of toggles that have other ones now.
    applied_versions: BTreeMap<ToggleId, EqualVersion>,
    report: DriftReport,
    unaccepted: Option<String>,
    /// Whether the token could read no project.
    is_refused: bool,
    failures: BTreeMap<OutcomeKind, Outcome>,
    /// How many toggles were read.
    read: usize,
    /// How many toggles could not be read, by environment.
    failed: BTreeMap<EnvironmentId, usize>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(
        reader: LiveReader,
        memory: &'a mut ScanMemory,
        applied: &'a AppliedDocuments<'a>,
        request: ScanRequest<'a>,
    ) -> Self {
        Self {
            reader,
            memory,
            applied,
            request,
            is_interrupted: false,
            is_outrun: false,
            environments: BTreeSet::new(),
            new: BTreeSet::new(),
            live: BTreeMap::new(),
            applied_versions: BTreeMap::new(),
            report: DriftReport::default(),
            unaccepted: None,
            is_refused: false,
            failures: BTreeMap::new(),
            read: 0,
            failed: BTreeMap::new(),
        }
    }

    /// Reads and compares everything, unless it is stopped.
    pub(super) fn run(
        &mut self,
        environments: Vec<EnvironmentPlan>,
        in_flight: usize,
        context: &PassContext,
    ) -> Result<(), Error> {
        self.environments = environments.iter().map(|plan| plan.environment.clone()).collect();
        let (sender, found) = mpsc::channel();
        let reading = Reading::new(&self.reader, in_flight, sender);
        let task = context.runtime.spawn(reading.run(environments, context.stop.clone()));
        // Until the task drops the sender.
        for found in found {
            match found {
                ScanFound::Environment(environment) => self.environment(environment),
                ScanFound::Live(id, Ok(live)) => {
                    self.read += 1;
                    self.toggle(id, live)?;
                }
                ScanFound::Live(id, Err(failure)) => {
                    self.report.hint = self.report.hint.or(hint(&failure));
                    *self.failed.entry(id.environment()).or_default() += 1;
                    self.unread(id, failure.to_string());
                    self.failures.entry(failure.kind).or_insert(failure);
                }
                ScanFound::Unaccepted { failure, is_everywhere } => {
                    self.is_refused = is_everywhere;
                    self.unaccepted =
                        Some(format!("the service could not be read with the token: {failure}"));
                    self.failures.entry(failure.kind).or_insert(failure);
                }
            }
        }
        context.runtime.finish(&task)?;
        self.is_interrupted = context.is_stopped();
        Ok(())
    }

    fn environment(&mut self, found: EnvironmentFound) {
        let EnvironmentFound { environment, payload, outdated, listed } = found;
        match payload {
            Ok(version) => {
                self.memory.without_payload.remove(&environment);
                let payloads = &mut self.memory.versions.payloads;
                let version = version.filter(|_| self.request.keeps_payloads());
                version.map(|version| payloads.insert(environment.clone(), version));
            }
            Err(failure) if self.memory.without_payload.insert(environment.clone()) => {
                let reason = failure.to_string();
                tracing::info!(name: "payload_unread", %environment, reason, "the environment's payload for SDKs could not be read; reading every toggle");
            }
            Err(_) => {}
        }
        // The next scan finds the same payload, so it would not read them if this one fails or is
        // interrupted.
        for id in outdated {
            if let Some(equal) = self.memory.versions.toggles.remove(&id) {
                self.applied_versions.insert(id.clone(), equal);
            }
            self.memory.unread.insert(id);
        }
        let Some(listed) = listed else { return };
        let id =
            |key: &str| ToggleId::new(environment.project.as_str(), environment.environment.as_str(), key);
        listed.iter().filter_map(|key| id(key.as_str()).ok()).for_each(|id| self.memory.is_listed(&id));
        let ids = listed.iter().filter_map(|key| id(key.as_str()).ok());
        if let Some(documents) = self.request.documents {
            let applied = self.applied.iter().map(|(id, _)| id).chain(&self.applied.unknown);
            let claimed = documents.iter().chain(applied);
            let claimed: HashSet<FoldedId> = claimed.map(ToggleId::folded).collect();
            let is_extra = |id: &ToggleId| self.applied.is_wanted(id) && !claimed.contains(&id.folded());
            self.report.undocumented.extend(ids.filter(is_extra));
        }
    }

    /// Compares the live state of a toggle with the applied document.
    fn toggle(&mut self, id: ToggleId, live: Live) -> Result<(), Error> {
        self.memory.unread.remove(&id);
        let earlier = self.memory.earlier.remove(&id);
        self.memory.archived.remove(&id);
        self.memory.compared.insert(id.clone());
        if self.request.wanted.is_some_and(|wanted| wanted.contains(&id)) {
            self.live.insert(id.clone(), live.clone());
        }
        if self.applied.object(&id).is_none() {
            self.not_applied(id, &live);
            return Ok(());
        }
        let lack = match &live {
            Live::Missing { .. } => Lack::Toggle,
            Live::Untargeted => Lack::Targeting,
            Live::Toggle(live) => return self.compare(id, live, earlier),
        };
        // A plan that creates it again decides by its live state.
        self.live.insert(id.clone(), live);
        let applied = self.applied.object(&id);
        let missing = MissingToggle { id: id.clone(), lack, applied };
        self.differs(id, KnownDifference::Missing(missing));
        Ok(())
    }

    /// Reports what is known of a wanted toggle that is not applied.
    fn not_applied(&mut self, id: ToggleId, live: &Live) {
        let lack = match live {
            Live::Missing { .. } => Lack::Toggle,
            Live::Untargeted => Lack::Targeting,
            Live::Toggle(live) => return self.notice(&id, live),
        };
        self.report.missing.push(MissingToggle { id, lack, applied: None });
    }

    /// Compares a toggle with what is applied. `earlier` is the difference that an earlier process found.
    fn compare(
        &mut self,
        id: ToggleId,
        live: &LiveToggle,
        earlier: Option<OtherVersion>,
    ) -> Result<(), Error> {
        self.notice(&id, live);
        let Some(applied) = self.applied.version(&id)? else {
            self.unread(id, "the applied document can no longer be read".to_owned());
            return Ok(());
        };
        if live.content.payload() == Some(&applied.payload) {
            let equal = EqualVersion { version: live.version, object: applied.object };
            self.memory.known.remove(&id);
            self.memory.versions.toggles.insert(id, equal);
            return Ok(());
        }
        // A plan that overwrites it decides by its live state.
        self.live.insert(id.clone(), Live::Toggle(Box::new(live.clone())));
        let earlier = earlier.filter(|earlier| earlier.object == applied.object);
        let since =
            earlier.and_then(|earlier| earlier.since).or_else(|| self.applied_version(&id, applied.object));
        let drifted = DriftedToggle { applied, live: live.clone(), since, is_documented: false };
        self.differs(id, KnownDifference::Drifted(Box::new(drifted)));
        Ok(())
    }

    /// Returns the version on the service that was found equal to the applied document, or that published it.
    fn applied_version(&self, id: &ToggleId, object: ObjectId) -> Option<u64> {
        if let Some(KnownDifference::Drifted(known)) = self.memory.known.get(id)
            && known.applied.object == object
        {
            return known.since;
        }
        let equal = self.memory.versions.toggles.get(id).or_else(|| self.applied_versions.get(id));
        equal.filter(|equal| equal.object == object).map(|equal| equal.version)
    }

    /// Reports a draft, and an archived toggle.
    fn notice(&mut self, id: &ToggleId, live: &LiveToggle) {
        if let Some(draft) = &live.draft {
            self.report.drafts.push(DraftedToggle { id: id.clone(), by: draft.submitted_by.clone() });
        }
        if live.is_archived {
            self.report.archived.push(id.clone());
            if self.applied.object(id).is_some() {
                self.memory.archived.insert(id.clone());
            }
        }
    }

    fn differs(&mut self, id: ToggleId, difference: KnownDifference) {
        self.memory.versions.toggles.remove(&id);
        // Without the date, which differs by a second (src/service/featureprobe.md, "Answers").
        let version = |known: &KnownDifference| match known {
            KnownDifference::Drifted(drifted) => Some((drifted.live.version, drifted.live.content.clone())),
            KnownDifference::Missing(_) => None,
        };
        let known = self.memory.known.get(&id);
        if known.is_some_and(|known| version(known) == version(&difference)) {
            return;
        }
        self.new.insert(id.clone());
        self.memory.known.insert(id, difference);
    }

    fn unread(&mut self, id: ToggleId, reason: String) {
        self.report.unread.push(UnreadToggle { id, reason });
    }

    pub(super) fn has_new_differences(&self) -> bool {
        !self.new.is_empty()
    }

    /// Reads who made the changes that this scan has found, and why.
    pub(super) fn read_events(&mut self, in_flight: usize, context: &PassContext) -> Result<(), Error> {
        let changes = self.new.iter().filter_map(|id| match self.memory.known.get(id) {
            Some(KnownDifference::Drifted(drifted)) => {
                Some((id.clone(), drifted.live.first_event(drifted.since)))
            }
            _ => None,
        });
        let changes: Vec<(ToggleId, u64)> = changes.collect();
        let ids: Vec<ToggleId> = changes.iter().map(|(id, _)| id.clone()).collect();
        let read = versions_from(&self.reader, changes, in_flight, context)?;
        // A folder without what scans and passes have found, such as that of a job, does not know the version that was
        // applied.
        let is_unknown = |id: &&ToggleId| match self.memory.known.get(*id) {
            Some(KnownDifference::Drifted(drifted)) => drifted.since.is_none(),
            _ => false,
        };
        let unknown: BTreeSet<ToggleId> = read.keys().filter(is_unknown).cloned().collect();
        let records = match AppliedHistory::of(self.request.view)?.filter(|_| !unknown.is_empty()) {
            Some(records) => records.since(unknown)?,
            None => RecordsSince::default(),
        };
        for id in ids {
            // None if they could not be read.
            let versions = read.get(&id).map_or(&[][..], Vec::as_slice);
            if let Some(KnownDifference::Drifted(drifted)) = self.memory.known.get_mut(&id) {
                let applied = &drifted.applied.payload;
                let recorded = records.at(&id);
                let recorded = recorded.and_then(|at| LiveVersion::number_applied(versions, applied, at));
                // The service may not have the versions anymore.
                drifted.live.add_events(versions, drifted.since.or(recorded), Some(applied));
                if let Some(Live::Toggle(live)) = self.live.get_mut(&id) {
                    live.events.clone_from(&drifted.live.events);
                    live.has_earlier_events = drifted.live.has_earlier_events;
                }
            }
        }
        Ok(())
    }

    /// Leaves out the differences of toggles that were applied while they were read.
    pub(super) fn leave_out_published(&mut self, view: &StateSnapshot, rules: &Rules) -> Result<(), Error> {
        let now = AppliedDocuments::of(view, rules, self.request.globs)?;
        for id in std::mem::take(&mut self.new) {
            if now.object(&id) != self.applied.object(&id) {
                self.is_outrun = true;
                self.memory.known.remove(&id);
                self.memory.unread.insert(id.clone());
                self.live.remove(&id);
                self.unread(id, "it was applied while it was read; scan again".to_owned());
            }
        }
        Ok(())
    }

    /// Completes the report of a scan that began at this time.
    pub(super) fn finish(self, rules: &Rules, began: i64) -> DriftScan {
        let Self {
            reader: _,
            memory,
            applied,
            request: _,
            is_interrupted,
            mut environments,
            is_outrun,
            live,
            applied_versions: _,
            mut report,
            unaccepted,
            is_refused,
            failures,
            read,
            failed,
            new: _,
        } = self;
        let is_everywhere = read == 0 && environments.iter().all(|one| failed.contains_key(one));
        let failed_everywhere = match is_everywhere {
            _ if is_refused => applied.len(),
            true => failed.values().sum(),
            false => 0,
        };
        environments.extend(applied.unknown.iter().map(ToggleId::environment));
        report.unread.extend(applied.unknown.iter().map(unknown));
        list_known(&mut report, memory.differences(), applied);
        report.service = rules.base_url.clone().unwrap_or_default();
        report.applied = applied.len();
        report.as_of = began - SDK_LAG;
        report.environments = environments;
        report.in_sync = in_sync(&report, applied);
        report.sort();
        DriftScan {
            report,
            live,
            unaccepted,
            failures,
            failed_everywhere,
            is_interrupted,
            is_outrun,
            has_new_documents: false,
        }
    }
}

/// Returns the entry of a toggle whose last outcome is unknown.
fn unknown(id: &ToggleId) -> UnreadToggle {
    let reason = "the outcome of the last publish is unknown until the next pass reads the toggle";
    UnreadToggle { id: id.clone(), reason: reason.to_owned() }
}

/// Adds the known differences of the toggles that were read and are still applied.
fn list_known(report: &mut DriftReport, known: DriftReport, applied: &AppliedDocuments) {
    let is_unread: BTreeSet<&ToggleId> = report.unread.iter().map(|unread| &unread.id).collect();
    let is_shown = |id: &ToggleId| applied.object(id).is_some() && !is_unread.contains(id);
    let drifted = known.drifted.into_iter().filter(|drifted| is_shown(&drifted.applied.id));
    let drifted: Vec<_> = drifted.collect();
    let missing = known.missing.into_iter().filter(|missing| is_shown(&missing.id));
    let missing: Vec<_> = missing.collect();
    report.drifted = drifted;
    report.missing.extend(missing);
}

/// Returns the number of applied toggles that a report does not list.
fn in_sync(report: &DriftReport, applied: &AppliedDocuments) -> usize {
    let drifted = report.drifted.iter().map(|drifted| &drifted.applied.id);
    let missing = report.missing.iter().map(|missing| &missing.id);
    let unread = report.unread.iter().map(|unread| &unread.id);
    let listed: BTreeSet<&ToggleId> = drifted.chain(missing).chain(unread).collect();
    let is_equal = |id: &ToggleId| !listed.contains(id) && !report.archived.contains(id);
    applied.iter().filter(|(id, _)| is_equal(id)).count()
}

/// Returns how to fix what made a read fail.
fn hint(failure: &Outcome) -> Option<&'static str> {
    match failure.kind {
        OutcomeKind::Forbidden => Some(
            "let the account of the token read these environments on the service, or use another token; a \
             glob after `gitoggle drift` limits what is compared",
        ),
        OutcomeKind::Misrouted => Some("check `--base-url`: another server may have responded"),
        OutcomeKind::Unauthorized => {
            Some("check the token in `GITOGGLE_TOKEN` or `--token-file`: it may have expired or been revoked")
        }
        OutcomeKind::Untrusted => Some("check `--base-url`, `--ca-file` and the proxy settings"),
        OutcomeKind::Busy | OutcomeKind::Lost => Some("check the service, then compare again"),
        OutcomeKind::Applied | OutcomeKind::Refused => None,
    }
}

/// The toggles that a scan reads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ScanDepth {
    /// Those that may have changed; every toggle if the last such scan is long ago.
    Changes,
    /// Every toggle.
    Everything,
}

#[derive(Clone, Copy, Debug)]
pub struct ScanRequest<'a> {
    /// What was applied.
    pub view: &'a StateSnapshot,
    /// The toggles to compare, of those that match `--only`; none for all of them.
    pub globs: Option<&'a Scope>,
    /// The toggles to read.
    pub depth: ScanDepth,
    /// The toggles with documents. If given, all lists are read, so that toggles without one are found.
    pub documents: Option<&'a BTreeSet<ToggleId>>,
    /// Further toggles to read, applied or not.
    pub wanted: Option<&'a BTreeSet<ToggleId>>,
}

impl<'a> ScanRequest<'a> {
    /// Returns whether the scan keeps the versions of payloads for SDKs. A command that runs once compares
    /// all versions instead: "unchanged" proves nothing after a lost increment, and its globs may leave out
    /// toggles of an environment.
    pub(super) const fn keeps_payloads(&self) -> bool {
        self.documents.is_none()
    }

    /// Compares every toggle of `view`, and reads those that may have changed.
    pub const fn of(view: &'a StateSnapshot) -> Self {
        Self { view, globs: None, depth: ScanDepth::Changes, documents: None, wanted: None }
    }
}

#[derive(Clone, Debug)]
pub struct DriftScan {
    pub report: DriftReport,
    /// The live states of the wanted toggles that could be read.
    pub live: BTreeMap<ToggleId, Live>,
    /// Why the service could not be read with the token, if nothing else needed the token.
    unaccepted: Option<String>,
    /// The first failed read of each kind.
    failures: BTreeMap<OutcomeKind, Outcome>,
    /// How many toggles could not be read, if none could, and some not in each environment; all of them, if the token
    /// was refused for each project.
    failed_everywhere: usize,
    /// Whether the scan was stopped before its end.
    pub is_interrupted: bool,
    /// Whether another process applied toggles while they were read.
    pub is_outrun: bool,
    /// Whether there are documents of toggles that are not applied yet.
    pub has_new_documents: bool,
}

impl DriftScan {
    /// Returns why the scan did not read everything that it wanted to.
    pub fn failure(&self) -> Option<String> {
        self.report.failure().or_else(|| self.unaccepted.clone())
    }

    /// Returns the kinds of failed reads, each once.
    pub fn failures(&self) -> impl Iterator<Item = OutcomeKind> {
        self.failures.keys().copied()
    }

    /// Returns the failure that concerns the service as a whole, by the rule of a pass (src/pass/README.md, "One
    /// toggle is not evidence"): one that ends a pass at once, or one of `evidence` toggles of all environments, or of all
    /// toggles where there are fewer, and no other could be read.
    pub fn failure_of_service(&self, evidence: usize) -> Option<StopReason> {
        let ends_pass = self.failures.values().find(|failure| effect(failure.kind).ends_pass);
        let is_evident = self.failed_everywhere >= evidence.min(self.report.applied).max(1);
        let failure = ends_pass.or_else(|| self.failures.values().next().filter(|_| is_evident))?;
        Some(StopReason::from_outcome(failure, Acceptance::Nowhere))
    }
}

/// Reads the versions of each toggle from a number on, newest first. A toggle is absent if its versions could
/// not be read, or if the pass was stopped.
pub(super) fn versions_from(
    reader: &LiveReader,
    wanted: Vec<(ToggleId, u64)>,
    in_flight: usize,
    context: &PassContext,
) -> Result<BTreeMap<ToggleId, Vec<LiveVersion>>, Error> {
    if wanted.is_empty() || context.is_stopped() {
        return Ok(BTreeMap::new());
    }
    let session = Arc::new(ReadSession::new(reader.clone()));
    let stop = context.stop.clone();
    let task = context.runtime.spawn(async move {
        let reads = stream::iter(wanted)
            .map(|(id, first)| {
                let session = Arc::clone(&session);
                async move {
                    let read = session.read(|| session.reader().versions_from(&id, first));
                    let versions = read.await.ok()?;
                    Some((id, versions))
                }
            })
            .buffer_unordered(in_flight);
        tokio::select! {
            found = reads.filter_map(std::future::ready).collect() => found,
            () = crate::pass::publish::stopped(stop) => BTreeMap::new(),
        }
    });
    context.runtime.finish(&task)
}
