//! Reads what a scan needs from the service: one request for an environment without changes, else its list
//! and the toggles that may have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;

use futures_util::{StreamExt as _, stream};
use tokio::sync::{Semaphore, watch};

use crate::model::{EnvironmentId, Key, Live, ToggleId};
use crate::service::retry::{Evidence, effect};
use crate::service::{
    ByKey, EnvironmentReader, ErrorCode, LiveReader, Outcome, PayloadVersions, ReadSession, ToggleIndex,
};

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
    Unaccepted {
        failure: Outcome,
        /// Whether no project could be read, for a reason that does not pass.
        is_everywhere: bool,
    },
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
        let projects: BTreeSet<Key> =
            environments.iter().map(|plan| plan.environment.project.clone()).collect();
        let mut reads =
            stream::iter(environments).map(|plan| self.environment(plan)).buffer_unordered(self.in_flight);
        let all = async {
            while reads.next().await.is_some() {}
            if !self.is_asked.load(Relaxed) {
                self.check_token(&projects).await;
            }
        };
        tokio::select! {
            () = all => {}
            () = crate::pass::publish::stopped(stop) => {}
        }
    }

    /// Reads a project with the token. Payloads for SDKs are read with other keys, so that a token that was revoked
    /// would be noticed by the next publish, perhaps that of an incident. A refusal may concern one project, so
    /// the others are read after it, until one can be read.
    async fn check_token(&self, projects: &BTreeSet<Key>) {
        let mut first = None;
        let mut is_everywhere = true;
        for project in projects {
            let environments = || self.session.reader().environments(project);
            let read = self.limited(&self.session, environments).await;
            is_everywhere =
                read.as_ref().is_err_and(|failure| effect(failure.kind).evidence == Evidence::Lasting);
            first = first.or(read.err());
            if !is_everywhere {
                break;
            }
        }
        if let Some(failure) = first {
            self.send(ScanFound::Unaccepted { failure, is_everywhere });
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
