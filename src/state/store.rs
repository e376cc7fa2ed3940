//! The writer's side of state: takes the lock, recovers what a process that died left, and records passes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::applied::{Applied, AppliedEdit, SkipIfUnchanged};
use super::error::Error;
use super::journal::index::{JournalIndex, JournalTrim};
use super::journal::{Journal, JournalFile, fresh_id};
use super::lock::{self, Lock};
use super::orders::Orders;
use super::shared::Lease;
use super::shared::session::{Announcing, SharedSession, Stop, unkept};
use super::sidecar::{self, Failures, PassMemory};
use super::{Clock, SharedRemote, View};
use crate::git::{self, FailpointHook, Failpoints};
use crate::model::{CommitId, ObjectId, Sent, ToggleId};

/// How to open a [`Store`].
#[derive(Clone)]
pub struct Options {
    /// How long to wait for another process that has the lock.
    pub wait: Duration,
    /// The service that state is about.
    pub base_url: String,
    /// The time, in seconds since 1970-01-01 UTC.
    pub now: i64,
    /// The remote that state is shared through, if it is.
    pub shared: Option<SharedOptions>,
    /// For tests: asked at every failpoint, where `true` makes the store behave as if the process died.
    pub crash: Option<FailpointHook>,
}

/// How to share state.
#[derive(Clone, Debug)]
pub struct SharedOptions {
    /// Through what.
    pub remote: SharedRemote,
    /// How long a request may take.
    pub timeout: Duration,
    /// The clock of this process.
    pub clock: Clock,
}

/// What a pass is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PassHead {
    /// The source revision.
    pub revision: CommitId,
    /// The time, in seconds since 1970-01-01 UTC.
    pub now: i64,
}

/// State, open for writing: one per state folder.
pub struct Store {
    dir: PathBuf,
    applied: Applied,
    journal: JournalFile,
    shared: Option<SharedSession>,
    /// What is committed and still in the journal, because the shared ref does not have it yet.
    committed: JournalTrim,
    /// The toggles that the journal had as unknown when it was opened.
    inherited: Vec<ToggleId>,
    view: View,
    failpoints: Failpoints,
    lock: Arc<Lock>,
}

impl Store {
    /// Takes the lock of `dir` (created if it is missing), clears away what a process that died left, and records what
    /// it had confirmed but not recorded. Shared state is not read before [`Store::refresh`].
    ///
    /// # Errors
    /// [`Error::Locked`] when another process has it for longer than `options.wait`, [`Error::OtherBaseUrl`] when the
    /// state belongs to another service, and whatever keeps it from being written.
    pub fn open(dir: &Path, options: Options) -> Result<Self, Error> {
        let Options {
            wait,
            base_url,
            now,
            shared,
            crash,
        } = options;
        lock::create(dir)?;
        let lock = Arc::new(Lock::take(dir, wait, now)?);
        let failpoints = Failpoints(crash);
        let mut applied = Applied::open(dir, base_url.clone(), failpoints.clone())?;
        let mut journal = JournalFile::open(dir, base_url, Arc::clone(&lock), failpoints.clone())?;
        let shared = shared.map(|options| SharedSession::new(options, failpoints.clone()));
        match &shared {
            Some(session) => session.adopt_folder(&mut applied, &mut journal)?,
            None => applied.check_base_url()?,
        }
        journal.check_base_url()?;
        let mut store = Self {
            view: View::of_folder(dir, applied.path())?,
            inherited: journal.index().unknown().map(|(id, _)| id.clone()).collect(),
            dir: dir.to_owned(),
            applied,
            journal,
            shared,
            committed: JournalTrim::default(),
            failpoints,
            lock,
        };
        store.recover(now)?;
        Ok(store)
    }

    /// Records what was confirmed. On shared state, [`Store::refresh`] does, once it knows what the ref says.
    fn recover(&mut self, now: i64) -> Result<(), Error> {
        let newest = self
            .journal
            .index()
            .settled()
            .max_by_key(|(_, entry)| entry.number);
        let newest = newest.map(|(_, entry)| entry.sent.revision);
        if let Some(revision) = newest.filter(|_| self.shared.is_none()) {
            let head = PassHead { revision, now };
            self.commit(&head, &[], SkipIfUnchanged::Yes, unkept)?;
            self.trim()?;
        }
        self.show();
        Ok(())
    }

    /// Brings shared state up to date, as a pass does before it plans: waits until no other process is publishing, and
    /// takes over what the ref says. Does nothing if state is not shared.
    ///
    /// # Errors
    /// [`Error::InUse`] if another process publishes for too long, or until `stop`; and whatever keeps the ref from being
    /// read or updated.
    pub fn refresh(&mut self, now: i64, stop: Stop<'_>) -> Result<(), Error> {
        let Some(session) = self.shared.as_mut().filter(|_| !self.journal.is_running()) else {
            return Ok(());
        };
        self.committed = JournalTrim::default();
        let queued = session.queue(&mut self.applied, &mut self.journal, now, stop);
        self.show();
        queued
    }

    /// Returns whether the journal has requests without an outcome that are to go on the list of the shared state.
    pub(crate) fn owes(&self) -> bool {
        let is_idle = self.shared.is_some() && !self.journal.is_running();
        is_idle && self.journal.index().unknown().next().is_some()
    }

    /// Makes the view say what the parts hold.
    fn show(&mut self) {
        let session = self.shared.as_ref();
        let listed = session
            .map(|session| session.unknown().clone())
            .unwrap_or_default();
        let newest = session.and_then(|session| session.head().revision);
        self.view
            .show(&self.applied, listed, self.journal.index(), newest);
    }

    /// Returns the toggles whose requests an earlier process with this folder left open.
    #[must_use]
    pub fn inherited(&self) -> &[ToggleId] {
        &self.inherited
    }

    /// Returns whether the folder is still the one that was opened.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.lock.is_in_place()
    }

    /// Returns what is recorded, as of the last call that changed it.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Puts every document that is about to be published into the state as one synced pack, opens the journal, and
    /// announces the pass on shared state.
    ///
    /// `documents` gives a document's bytes by its object id, once each.
    ///
    /// # Errors
    /// When something cannot be recorded: then nothing may be sent.
    pub fn start<E>(
        &mut self,
        head: &PassHead,
        changes: &[(ToggleId, Sent)],
        documents: impl FnMut(ObjectId) -> Result<Vec<u8>, E>,
        stop: Stop<'_>,
    ) -> Result<Journal, Error>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        sidecar::keep_pass(&self.dir, None, &self.failpoints)?;
        self.view.replace_memory(&self.dir)?;
        let objects = changes.iter().map(|(_, sent)| sent.object);
        self.applied.keep(objects, documents)?;
        let lease = match &self.shared {
            Some(session) => session.lease(),
            None => Lease::new(Clock::default(), None),
        };
        let mark = self.shared.is_some().then(fresh_id);
        let tip = self.applied.tip().map(|tip| tip.commit);
        let journal = self.journal.start(mark.clone(), tip, lease.clone())?;
        let Some((session, mark)) = self.shared.as_mut().zip(mark) else {
            return Ok(journal);
        };
        let announcing = Announcing {
            head: *head,
            mark,
            lease,
            changes,
        };
        if let Err(error) = session.announce(&self.applied, announcing, stop) {
            self.journal.close()?;
            return Err(error);
        }
        Ok(journal)
    }

    /// Records outcomes while lanes go on: what they begin or finish meanwhile is recorded by the next call. On shared
    /// state, this also renews the announcement.
    ///
    /// # Errors
    /// When nothing more may be sent in this pass. Everything that the shared ref does not have is still in the journal.
    pub fn checkpoint(&mut self, head: &PassHead) -> Result<(), Error> {
        let result = self.try_checkpoint(head);
        if result.is_err() {
            self.journal.end_lease();
        }
        result
    }

    fn try_checkpoint(&mut self, head: &PassHead) -> Result<(), Error> {
        self.journal.refresh()?;
        self.commit(head, &[], SkipIfUnchanged::No, unkept)?;
        let is_pushed = match &mut self.shared {
            Some(session) => session.checkpoint(&self.applied, head.now)?,
            None => true,
        };
        if is_pushed {
            self.trim()?;
        }
        self.show();
        Ok(())
    }

    /// Ends a pass that an error ended, as far as that is still possible: it records what was confirmed.
    ///
    /// # Errors
    /// As [`Store::record`]. Everything that is not recorded is still in the journal then.
    pub fn abandon(&mut self, head: &PassHead, stop: Stop<'_>) -> Result<(), Error> {
        let is_announced = self.shared.as_ref().is_some_and(SharedSession::is_announced);
        let recorded = match is_announced {
            true => self.record(head, &[], unkept, stop),
            false => Ok(()),
        };
        let failures = self.view.failures().clone();
        recorded.and(self.finish_pass(None, failures))
    }

    /// Records the outcomes of a pass, and `edits` besides. On shared state, this ends the announcement.
    ///
    /// # Errors
    /// When it cannot be recorded. Everything that is not is still in the journal then.
    pub fn record<E>(
        &mut self,
        head: &PassHead,
        edits: &[AppliedEdit],
        documents: impl FnMut(ObjectId) -> Result<Vec<u8>, E>,
        stop: Stop<'_>,
    ) -> Result<(), Error>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        self.journal.refresh()?;
        let index = self.journal.index();
        let is_withdrawn = self
            .shared
            .as_ref()
            .is_some_and(|session| session.is_fruitless(&self.applied, index));
        let is_seen_only = edits.iter().all(|edit| *edit == AppliedEdit::Seen);
        // An announcement of which nothing was stored takes its revision with it.
        let edits = if is_withdrawn && is_seen_only { &[] } else { edits };
        self.commit(head, edits, SkipIfUnchanged::No, documents)?;
        if let Some(session) = &mut self.shared {
            let open = self.journal.index().unknown();
            let open = open.map(|(id, entry)| (id.clone(), entry.sent.clone()));
            session.conclude(&self.applied, &open.collect(), head.now, stop)?;
            // The ref has all of it.
            self.committed
                .forgotten
                .extend(self.journal.index().unknown().map(|(id, _)| id.clone()));
        }
        self.trim()?;
        self.show();
        match git::repack(self.applied.repository(), &self.failpoints)? {
            true => self.reopen(),
            false => Ok(()),
        }
    }

    /// Commits what the journal has as confirmed, and `edits`.
    fn commit<E>(
        &mut self,
        head: &PassHead,
        edits: &[AppliedEdit],
        skip: SkipIfUnchanged,
        documents: impl FnMut(ObjectId) -> Result<Vec<u8>, E>,
    ) -> Result<(), Error>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let edits = self.applied.edits(self.journal.index(), &self.committed, edits)?;
        let toggles: Vec<ToggleId> = edits.outcomes().cloned().collect();
        let allowances = self.view.allowances();
        let trim = self.applied.commit(head, edits, allowances, skip, documents)?;
        if let Some(session) = &mut self.shared {
            session.recorded(&toggles);
        }
        self.committed.extend(trim);
        Ok(())
    }

    /// Removes what is recorded from the journal.
    fn trim(&mut self) -> Result<(), Error> {
        let tip = self.applied.tip().map(|tip| tip.commit);
        self.journal.trim(std::mem::take(&mut self.committed), tip)
    }

    fn reopen(&mut self) -> Result<(), Error> {
        self.view.close();
        self.applied.reopen()
    }

    /// Takes in that a pass at `revision` found nothing that the last clean pass did not leave, so that the next one at this
    /// revision need not look at the history. It is not written to the disk: the next process looks once.
    pub fn see(&mut self, revision: CommitId) {
        self.view.see(revision);
    }

    /// Closes the journal and keeps what the pass leaves behind besides: `memory` for the next one if nothing was held,
    /// pending, failed or unknown, and the requests that the service has not confirmed.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish_pass(&mut self, memory: Option<PassMemory>, failures: Failures) -> Result<(), Error> {
        if self.journal.is_running() {
            self.journal.close()?;
            // What was confirmed must be known to the next pass, whatever else fails here.
            self.show();
            // What was read of the packs stays in memory for as long as they are open, and the next pass may be far. If
            // there is no file descriptor for it, it stays as it is.
            let _ = self.reopen();
        }
        if self.shared.is_some() && self.journal.index().is_empty() {
            self.journal.replace(JournalIndex::default())?;
        }
        if failures != *self.view.failures() {
            sidecar::keep_failures(&self.dir, failures, &self.failpoints)?;
        }
        if memory.as_ref() != self.view.memory() {
            sidecar::keep_pass(&self.dir, memory, &self.failpoints)?;
        }
        self.show();
        self.view.replace_memory(&self.dir)
    }

    /// Returns the orders in this folder. What is changed there is known here after [`Store::reload`].
    #[must_use]
    pub fn orders(&self) -> Orders {
        Orders::with(&self.dir, self.failpoints.clone())
    }

    /// Reads what is remembered and ordered again.
    ///
    /// # Errors
    /// When the suspensions cannot be read.
    pub fn reload(&mut self) -> Result<(), Error> {
        self.view.replace_memory(&self.dir)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}
