//! Reads what a scan needs from the service: one request for an environment without changes, else its list
//! and the toggles that may have changed. Remembers what scans found out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;

use futures_util::{StreamExt as _, stream};
use tokio::sync::{Semaphore, watch};

use crate::document::{self, LARGEST_DOCUMENT};
use crate::git::ObjectReader;
use crate::model::{
    Action, EnvironmentId, Format, Hold, HoldKind, Key, Live, ObjectId, Scope, ToggleId, Trees as _, Version,
};
use crate::pass::{Error, Report, Rules, applied_tree};
use crate::plan::compare::join;
use crate::plan::{DriftReport, DriftedToggle, MissingToggle, OnMissing, StateEdit, hold};
use crate::service::{
    ByKey, EnvironmentReader, ErrorCode, LiveReader, Outcome, PayloadVersions, ReadSession, ToggleIndex,
};
use crate::state::{LiveVersions, OtherVersion, StateSnapshot};

/// What a scan reads in one environment.
#[derive(Debug)]
pub(super) struct EnvironmentPlan {
    pub(super) environment: EnvironmentId,
    /// The version of the payload for SDKs that the last scan read.
    pub(super) payload: Option<u64>,
    pub(super) toggles: BTreeMap<ToggleId, ExpectedLive>,
    /// Whether every toggle is read.
    pub(super) is_full: bool,
    /// Whether the list is read even if nothing has changed.
    pub(super) lists: bool,
}

/// What earlier scans found out about a toggle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ExpectedLive {
    /// The service did not have it.
    Lacking,
    /// Nothing, and its document is not applied, so it is read only if the list does not have it.
    Listed,
    /// Nothing, so the toggle is read.
    Unknown,
    Version(u64),
}

/// A result of reading. The result of an environment comes before those of its toggles.
#[derive(Debug)]
pub(super) enum ScanFound {
    Environment(EnvironmentFound),
    Live(ToggleId, Result<Live, Outcome>),
    /// Nothing else was read with the token, and the service did not accept it.
    Unaccepted(Outcome),
}

/// What was read about a whole environment.
#[derive(Debug)]
pub(super) struct EnvironmentFound {
    pub(super) environment: EnvironmentId,
    /// The new version of the payload for SDKs; none if it has not changed.
    pub(super) payload: Result<Option<u64>, Outcome>,
    /// The toggles whose versions are not the expected ones.
    pub(super) outdated: Vec<ToggleId>,
    /// The toggles that are not archived; none if the list was not read.
    pub(super) listed: Option<Vec<Key>>,
}

/// Reads several environments.
pub(super) struct Reading {
    session: ReadSession,
    /// Whether the session has read anything.
    is_asked: AtomicBool,
    // Failures are counted apart, because a service may be reachable where its SDK endpoint is not.
    sdk_session: ReadSession,
    open: Semaphore,
    in_flight: usize,
    found: Sender<ScanFound>,
}

impl Reading {
    pub(super) fn new(reader: &LiveReader, in_flight: usize, found: Sender<ScanFound>) -> Self {
        Self {
            session: ReadSession::new(reader.clone()),
            is_asked: AtomicBool::new(false),
            sdk_session: ReadSession::new(reader.clone()),
            open: Semaphore::new(in_flight),
            in_flight,
            found,
        }
    }

    /// Reads until everything is read or `stop` becomes true.
    pub(super) async fn run(self, environments: Vec<EnvironmentPlan>, stop: watch::Receiver<bool>) {
        let project = environments.first().map(|plan| plan.environment.project.clone());
        let mut reads =
            stream::iter(environments).map(|plan| self.environment(plan)).buffer_unordered(self.in_flight);
        let all = async {
            while reads.next().await.is_some() {}
            // Payloads for SDKs are read with other keys. Without this, a token that was revoked would be
            // noticed by the next publish, perhaps that of an incident.
            if let Some(project) = project.filter(|_| !self.is_asked.load(Relaxed)) {
                self.check_token(&project).await;
            }
        };
        tokio::select! {
            () = all => {}
            () = crate::pass::publish::stopped(stop) => {}
        }
    }

    async fn check_token(&self, project: &Key) {
        let environments = || self.session.reader().environments(project);
        if let Err(failure) = self.limited(&self.session, environments).await {
            self.send(ScanFound::Unaccepted(failure));
        }
    }

    async fn environment(&self, plan: EnvironmentPlan) {
        let EnvironmentPlan { environment, payload, toggles, is_full: _, lists } = plan;
        let versions = self
            .limited(&self.sdk_session, || self.sdk_session.reader().payload_versions(&environment, payload));
        let versions = versions.await;
        let due = due(&toggles, versions.as_ref().ok());
        let is_unchanged = matches!(versions, Ok(PayloadVersions::Unchanged));
        let reader = EnvironmentReader::new(self.session.reader().clone(), environment.clone());
        let mut reads = due.clone();
        let index = if lists || !is_unchanged || !due.is_empty() {
            self.is_asked.store(true, Relaxed);
            Some(self.limited(&self.session, || reader.index()).await)
        } else {
            None
        };
        let (listed, failure) = match index {
            None => (None, None),
            Some(Err(failure)) => (None, Some(failure)),
            Some(Ok(index)) => {
                let is_listed = |id: &&ToggleId| index.toggles.get(id.toggle()).is_some();
                reads.extend(locked(&toggles, index));
                reads.extend(toggles.keys().filter(|id| !is_listed(id)).cloned());
                reads.sort();
                reads.dedup();
                let keys = index.toggles.iter().map(|(key, _)| key.clone());
                (Some(keys.collect()), None)
            }
        };
        let (payload, outdated) = match versions {
            Ok(PayloadVersions::Unchanged) => (Ok(None), Vec::new()),
            Ok(PayloadVersions::Versions { version, .. }) => (Ok(Some(version)), due),
            Err(failure) => (Err(failure), Vec::new()),
        };
        self.send(ScanFound::Environment(EnvironmentFound { environment, payload, outdated, listed }));
        if let Some(failure) = failure {
            self.without_list(&failure, reads, &toggles);
            return;
        }
        let mut reads =
            stream::iter(reads).map(|id| self.toggle(&reader, id)).buffer_unordered(self.in_flight);
        while reads.next().await.is_some() {}
    }

    /// Ends the reads of an environment whose list could not be read, without which no toggle can be read.
    fn without_list(
        &self,
        failure: &Outcome,
        reads: Vec<ToggleId>,
        toggles: &BTreeMap<ToggleId, ExpectedLive>,
    ) {
        for id in reads {
            self.send(ScanFound::Live(id, Err(failure.clone())));
        }
        let is_nowhere = failure.is_refused_with(ErrorCode::Missing);
        let unapplied = toggles.iter().filter(|(_, expected)| **expected == ExpectedLive::Listed);
        for (id, _) in unapplied {
            let missing = Live::Missing { needs_approval: false };
            let live = if is_nowhere { Ok(missing) } else { Err(failure.clone()) };
            self.send(ScanFound::Live(id.clone(), live));
        }
    }

    async fn toggle(&self, reader: &EnvironmentReader, id: ToggleId) {
        let live = self.limited(&self.session, || reader.live(&id)).await;
        self.send(ScanFound::Live(id, live));
    }

    /// Reads with retries, within the limit of open requests.
    async fn limited<T, F>(&self, session: &ReadSession, read: impl Fn() -> F) -> Result<T, Outcome>
    where
        F: Future<Output = Result<T, Outcome>>,
    {
        let permit = self.open.acquire().await;
        let result = session.read(read).await;
        drop(permit);
        result
    }

    fn send(&self, found: ScanFound) {
        // The receiver is gone only if the scan has failed, so nothing is lost.
        let _ = self.found.send(found);
    }
}

/// Returns the toggles whose versions are not the expected ones.
fn due(toggles: &BTreeMap<ToggleId, ExpectedLive>, versions: Option<&PayloadVersions>) -> Vec<ToggleId> {
    let is_due = |id: &ToggleId, expected: ExpectedLive| match versions {
        _ if expected == ExpectedLive::Listed => false,
        None => true,
        Some(PayloadVersions::Unchanged) => expected == ExpectedLive::Unknown,
        Some(PayloadVersions::Versions { toggles, .. }) => !is_same(toggles, id, expected),
    };
    let due = toggles.iter().filter(|(id, expected)| is_due(id, **expected));
    due.map(|(id, _)| id.clone()).collect()
}

fn is_same(versions: &ByKey<u64>, id: &ToggleId, expected: ExpectedLive) -> bool {
    match (expected, versions.get(id.toggle())) {
        (ExpectedLive::Version(expected), Some(version)) => expected == *version,
        _ => false,
    }
}

/// Returns the toggles with a draft. Their version numbers prove nothing (src/service/featureprobe.md,
/// "Reading").
fn locked(toggles: &BTreeMap<ToggleId, ExpectedLive>, index: &ToggleIndex) -> Vec<ToggleId> {
    let is_locked = |id: &&ToggleId| {
        let listed = index.toggles.get(id.toggle());
        listed.is_some_and(|listed| listed.is_locked == Some(true))
    };
    toggles.keys().filter(is_locked).cloned().collect()
}

/// The findings of earlier scans. Only `versions` outlives the process.
#[derive(Debug, Default)]
pub(super) struct ScanMemory {
    pub(super) versions: LiveVersions,
    /// The differences that scans have found and no scan or pass has ended.
    pub(super) known: BTreeMap<ToggleId, KnownDifference>,
    /// The differences that an earlier process found, of toggles that this one has not compared yet.
    pub(super) earlier: BTreeMap<ToggleId, OtherVersion>,
    /// The applied toggles that were archived when they were read last.
    pub(super) archived: BTreeSet<ToggleId>,
    /// The toggles that the next scan reads, whatever their versions are.
    pub(super) unread: BTreeSet<ToggleId>,
    /// The toggles that a scan of everything has compared before it was interrupted.
    pub(super) compared: BTreeSet<ToggleId>,
    /// Whether a scan has ended, other than by an outage.
    pub(super) has_compared: bool,
    /// The environments whose payload for SDKs could not be read last.
    pub(super) without_payload: BTreeSet<EnvironmentId>,
}

/// A difference between the service and what was applied.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum KnownDifference {
    Drifted(Box<DriftedToggle>),
    Missing(MissingToggle),
}

impl ScanMemory {
    pub(super) fn new(mut versions: LiveVersions) -> Self {
        Self { earlier: std::mem::take(&mut versions.differences), versions, ..Self::default() }
    }

    pub(super) fn differences(&self) -> DriftReport {
        let mut report = DriftReport::default();
        for difference in self.known.values() {
            match difference {
                KnownDifference::Drifted(drifted) => report.drifted.push((**drifted).clone()),
                KnownDifference::Missing(missing) => report.missing.push(missing.clone()),
            }
        }
        report
    }

    /// Returns why each toggle is reported as drifted, as far as scans have found out, also those of an earlier
    /// process.
    pub(super) fn facts(&self, on_missing: OnMissing) -> BTreeMap<ToggleId, Hold> {
        let earlier = self.earlier.iter();
        let earlier = earlier.map(|(id, other)| (id.clone(), other.fact.clone()));
        let mut facts: BTreeMap<_, _> = earlier.collect();
        let archived = self.archived.iter();
        facts.extend(archived.map(|id| (id.clone(), hold::archived(Action::Update))));
        // Last, because a difference has more to decide.
        facts.extend(self.differences().facts(on_missing));
        facts
    }

    /// Returns what is to be kept for the next process.
    pub(super) fn kept(&mut self, on_missing: OnMissing) -> &LiveVersions {
        let other = |(id, fact): (ToggleId, Hold)| {
            let object = self.known.get(&id).map(KnownDifference::object);
            let object = object.or_else(|| Some(self.earlier.get(&id)?.object));
            let object = object.or_else(|| Some(self.versions.toggles.get(&id)?.object))?;
            let since = match self.known.get(&id) {
                Some(KnownDifference::Drifted(drifted)) => drifted.since,
                Some(KnownDifference::Missing(_)) => None,
                None => self.earlier.get(&id).and_then(|other| other.since),
            };
            Some((id, OtherVersion { object, since, fact }))
        };
        self.versions.differences = self.facts(on_missing).into_iter().filter_map(other).collect();
        &self.versions
    }

    /// Ends the differences of toggles that a pass has applied or recorded.
    pub(super) fn settle(&mut self, report: &Report) {
        for (change, _) in report.lines().filter(|(_, result)| result.is_recorded()) {
            self.known.remove(&change.id);
            self.archived.remove(&change.id);
            self.earlier.remove(&change.id);
        }
        self.versions.settle(&report.live);
        for edit in report.plan.state_edits() {
            match (edit, self.earlier.get_mut(edit.id())) {
                (StateEdit::SameMeaning(version), Some(other)) => other.object = version.object,
                _ => drop(self.earlier.remove(edit.id())),
            }
            match (edit, self.known.get_mut(edit.id())) {
                // What it means has not changed, so it still differs.
                (StateEdit::SameMeaning(version), Some(KnownDifference::Drifted(drifted))) => {
                    drifted.applied = version.clone();
                }
                (StateEdit::SameMeaning(version), Some(KnownDifference::Missing(missing))) => {
                    missing.applied = Some(version.object);
                }
                (StateEdit::SameMeaning(_), None) => {}
                _ => drop(self.known.remove(edit.id())),
            }
        }
    }

    /// Forgets that a toggle was archived: the service lists it.
    pub(super) fn is_listed(&mut self, id: &ToggleId) {
        self.archived.remove(id);
        if self.earlier.get(id).is_some_and(|other| other.fact.kind == Some(HoldKind::Archived)) {
            self.earlier.remove(id);
        }
    }

    /// Forgets what was found out about documents that are not applied anymore. A scan that keeps the version
    /// of the payload for SDKs compares only the toggles in scope with that payload, so `others` are
    /// forgotten, too.
    pub(super) fn forget(&mut self, applied: &AppliedDocuments<'_>, others: bool) {
        let is_left_out = |id: &ToggleId| !others && !applied.is_wanted(id);
        let is_applied = |id: &ToggleId, object| is_left_out(id) || applied.object(id) == Some(object);
        self.versions.toggles.retain(|id, equal| is_applied(id, equal.object));
        self.archived.retain(|id| is_left_out(id) || applied.contains(id));
        self.known.retain(|id, known| is_applied(id, known.object()));
        self.earlier.retain(|id, other| is_applied(id, other.object));
        self.unread.retain(|id| is_left_out(id) || applied.contains(id));
    }

    /// Returns what is known of the toggle whose applied document is `object`.
    pub(super) fn expected(&self, id: &ToggleId, object: ObjectId) -> ExpectedLive {
        if self.unread.contains(id) {
            return ExpectedLive::Unknown;
        }
        match (self.known.get(id), self.versions.toggles.get(id)) {
            (Some(KnownDifference::Drifted(drifted)), _) => ExpectedLive::Version(drifted.live.version),
            (Some(KnownDifference::Missing(_)), _) => ExpectedLive::Lacking,
            (None, Some(equal)) if equal.object == object => ExpectedLive::Version(equal.version),
            (None, _) => ExpectedLive::Unknown,
        }
    }
}

impl KnownDifference {
    /// Returns the blob of the applied document.
    fn object(&self) -> ObjectId {
        match self {
            Self::Drifted(drifted) => drifted.applied.object,
            Self::Missing(missing) => missing.applied.unwrap_or(ObjectId([0; 20])),
        }
    }
}

#[derive(Debug)]
pub(super) struct AppliedDocuments<'a> {
    view: &'a StateSnapshot,
    pub(super) rules: &'a Rules,
    reader: Option<ObjectReader>,
    globs: Option<&'a Scope>,
    documents: BTreeMap<ToggleId, (ObjectId, Format)>,
    /// The toggles whose last outcome is unknown.
    pub(super) unknown: BTreeSet<ToggleId>,
}

impl<'a> AppliedDocuments<'a> {
    /// Lists the applied documents of the toggles that match `--only` and `globs`.
    pub(super) fn of(
        view: &'a StateSnapshot,
        rules: &'a Rules,
        globs: Option<&'a Scope>,
    ) -> Result<Self, Error> {
        let is_wanted = |id: &ToggleId| is_wanted(id, rules, globs);
        let reader = view.reader()?;
        let mut documents = applied_tree(view, reader.as_ref())?;
        for (id, sent) in view.settled() {
            match sent.action {
                Action::Disable => documents.remove(id),
                Action::Adopt | Action::Create | Action::Update => {
                    documents.insert(id.clone(), (sent.object, sent.format))
                }
            };
        }
        // The tree cannot be trusted before the outcome of the request is known (src/state/README.md,
        // "Unknown").
        documents.retain(|id, _| !view.unknown().contains_key(id) && is_wanted(id));
        let unknown = view.unknown().keys().filter(|id| is_wanted(id));
        Ok(Self { view, rules, reader, globs, documents, unknown: unknown.cloned().collect() })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ToggleId, ObjectId)> {
        self.documents.iter().map(|(id, (object, _))| (id, *object))
    }

    /// Returns whether a toggle matches `--only` and the globs.
    pub(super) fn is_wanted(&self, id: &ToggleId) -> bool {
        is_wanted(id, self.rules, self.globs)
    }

    pub(super) fn len(&self) -> usize {
        self.documents.len() + self.unknown.len()
    }

    pub(super) fn object(&self, id: &ToggleId) -> Option<ObjectId> {
        self.documents.get(id).map(|(object, _)| *object)
    }

    pub(super) fn contains(&self, id: &ToggleId) -> bool {
        self.documents.contains_key(id) || self.unknown.contains(id)
    }

    /// Reads the applied document of a toggle; none if there is none, or if the current rules cannot read it.
    pub(super) fn version(&self, id: &ToggleId) -> Result<Option<Version>, Error> {
        let Some((object, format)) = self.documents.get(id).copied() else {
            return Ok(None);
        };
        let path = self.rules.layout.path(id, format);
        let version =
            |payload| Version { id: id.clone(), path: path.as_str().into(), format, object, payload };
        if let Some(sent) = self.view.settled().get(id) {
            return Ok(Some(version(sent.payload.for_kind(self.rules.kind))));
        }
        let Some(reader) = &self.reader else {
            return Ok(None);
        };
        let blob = reader.blob(object, LARGEST_DOCUMENT)?;
        let name = join(&self.rules.root, &path);
        let read = document::read(&name, &blob, self.rules.kind);
        Ok(read.payload.map(version))
    }
}

fn is_wanted(id: &ToggleId, rules: &Rules, globs: Option<&Scope>) -> bool {
    rules.policy.scope.contains(id) && globs.is_none_or(|globs| globs.contains(id))
}
