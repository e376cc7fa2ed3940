//! Opens state for writing: takes the lock, recovers from a dead process, and records passes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::Error;
use super::applied::{AppliedEdit, AppliedRepository, DocumentReader, PassHead, SkipIfUnchanged, unkept};
use super::folder::{self, Lock, Place};
use super::journal::{Journal, JournalFile, fresh_id};
use super::journal::{JournalIndex, JournalTrim};
use super::orders::Orders;
use super::shared::{Lease, MayRestore, Queues};
use super::shared::{PassAnnouncement, SharedSession};
use super::sidecar::{self, CleanPass, Failures};
use super::{SharedOptions, StateSnapshot, Stop, SystemClock};
use crate::git::{FailpointHook, Failpoints};
use crate::model::{Allowance, CommitId, EnvironmentId, RequestDigest, Sent, Thresholds, ToggleId};

/// How to open a [`Store`].
#[derive(Clone)]
pub struct Options {
    /// The longest wait for the lock.
    pub wait: Duration,
    /// The service that the state belongs to.
    pub base_url: String,
    /// The longest time that a request may take.
    pub timeout: Duration,
    /// The time, in seconds since 1970-01-01 UTC.
    pub now: i64,
    /// None if state is not shared.
    pub shared: Option<SharedOptions>,
    pub thresholds: Thresholds,
    /// A hook for tests, called at every failpoint. If it returns `true`, the store stops as if the process
    /// had died.
    pub crash: Option<FailpointHook>,
}

/// State, open for writing.
pub struct Store {
    dir: PathBuf,
    applied: AppliedRepository,
    journal: JournalFile,
    shared: Option<SharedSession>,
    /// Committed entries that are still in the journal, because the shared ref does not have them yet.
    committed: JournalTrim,
    view: StateSnapshot,
    failpoints: Failpoints,
    lock: Arc<Lock>,
}

impl Store {
    /// Takes the lock of `dir`, which it creates if necessary. Removes the temporary files of a dead process,
    /// and records its confirmed requests. [`Store::refresh`] reads shared state later.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process holds the lock for longer than `options.wait`,
    /// [`Error::OtherBaseUrl`] if the state belongs to another service, and the cause if the state cannot be
    /// written.
    pub fn open(dir: &Path, options: Options) -> Result<Self, Error> {
        let Options { wait, base_url, timeout, now, shared, thresholds, crash } = options;
        folder::create(dir)?;
        // Locked first: opening the repository removes temporary files, whose writer must be dead.
        let lock = Arc::new(Lock::take(dir, wait, now)?);
        let failpoints = Failpoints(crash);
        let applied = AppliedRepository::open(dir, base_url.clone(), thresholds, failpoints.clone())?;
        let journal = JournalFile::open(dir, base_url, timeout, Arc::clone(&lock), failpoints.clone())?;
        let place = Place::of(shared.as_ref().map(|options| &options.remote));
        // What the remote has is found out by `refresh`, which checks again.
        folder::check_place(dir, &place, false)?;
        if place.is_here() {
            // On shared state, `refresh` checks the base URL of the state that it finds, and keeps the place.
            applied.check_base_url()?;
            folder::keep_place(dir, &place, &failpoints)?;
        }
        journal.check_base_url()?;
        let shared = shared.map(|options| SharedSession::new(dir, options, timeout, failpoints.clone()));
        let mut store = Self {
            view: StateSnapshot::of_folder(dir, applied.path())?,
            dir: dir.to_owned(),
            applied,
            journal,
            shared,
            committed: JournalTrim::default(),
            failpoints,
            lock,
        };
        let (tip, pass) = (store.applied.tip(), store.view.last_clean_pass());
        folder::check_record(dir, &place, tip, store.journal.index(), pass)?;
        store.recover(now)?;
        Ok(store)
    }

    /// Records confirmed requests, unless state is shared.
    fn recover(&mut self, now: i64) -> Result<(), Error> {
        let newest = self.journal.index().newest_settled();
        // On shared state, `refresh` records them after it has read the ref.
        if let Some(revision) = newest.filter(|_| self.shared.is_none()) {
            let head = PassHead { revision, now };
            self.commit(&head, &[], SkipIfUnchanged::Yes, unkept)?;
            self.trim()?;
        }
        self.show();
        Ok(())
    }

    /// Updates shared state before a pass plans: waits until no other process is publishing, and takes over
    /// the content of the ref. Does nothing if state is not shared. Asks `may_restore` before it pushes the
    /// record of this folder to a remote that has lost it: the repository may be another one of the same
    /// name.
    ///
    /// # Errors
    /// [`Error::InUse`] if another process publishes for too long or until `stop`, and the cause if the ref
    /// cannot be read or updated.
    pub fn refresh(
        &mut self,
        now: i64,
        stop: Stop<'_>,
        queues: Queues<'_>,
        may_restore: MayRestore<'_>,
    ) -> Result<(), Error> {
        // A running pass holds the ref already, and its checkpoints update it.
        let Some(session) = self.shared.as_mut().filter(|_| !self.journal.is_running()) else {
            return Ok(());
        };
        self.committed = JournalTrim::default();
        let queued = session.queue(&mut self.applied, &mut self.journal, now, stop, queues, may_restore);
        self.show();
        queued.map_err(|error| error.of_folder(&self.dir))
    }

    /// Returns whether the journal has requests without an outcome that the shared state does not list yet.
    pub(crate) fn owes(&self) -> bool {
        let is_idle = self.shared.is_some() && !self.journal.is_running();
        is_idle && self.journal.index().unknown().next().is_some()
    }

    fn show(&mut self) {
        let session = self.shared.as_ref();
        let listed = session.map(|session| session.unknown().clone()).unwrap_or_default();
        let newest = session.and_then(SharedSession::newest);
        self.view.show(&self.applied, listed, &self.journal, newest);
    }

    /// Returns the toggles that earlier processes with this folder left unknown, or with a request that may
    /// still be open. Call it before the first pass.
    pub fn inherited(&self) -> BTreeSet<ToggleId> {
        self.journal.inherited()
    }

    /// Returns the longest timeout of the requests of this process and of those that earlier processes left
    /// open.
    pub fn longest_timeout(&self) -> Duration {
        self.journal.longest_timeout()
    }

    /// Forgets the requests that earlier processes left open, once all of them have ended. Does nothing
    /// during a pass.
    pub fn forget_open(&mut self) -> Result<(), Error> {
        self.journal.forget_open()
    }

    /// Returns whether the folder was neither moved nor replaced since it was opened, and has the record that this
    /// process left.
    pub fn is_in_place(&self) -> bool {
        self.lock.is_in_place() && self.applied.is_in_place()
    }

    /// Returns the recorded state as of the last call that changed it.
    pub fn view(&self) -> &StateSnapshot {
        &self.view
    }

    /// Has the commits of a pass at `revision` name the subject of its message and its signer, for the
    /// deployment history.
    pub fn describe(&mut self, revision: CommitId, subject: &str, signer: Option<&str>) {
        self.applied.describe(revision, subject, signer);
    }

    /// Adds allowances of this run.
    pub(crate) fn give(&mut self, allowances: Vec<Allowance>) {
        self.view.give(allowances);
    }

    /// Has the next pass that starts keep the requests that the rails let through.
    pub(crate) fn let_through(&mut self, requests: BTreeMap<ToggleId, RequestDigest>) {
        self.journal.set_let_through(requests);
    }

    /// Writes the documents of `changes` as one synced pack, opens the journal, and announces the pass on
    /// shared state.
    ///
    /// Calls `documents` for what is missing.
    ///
    /// # Errors
    /// If something cannot be recorded. No request may be sent then.
    pub fn start(
        &mut self,
        head: &PassHead,
        changes: &[(ToggleId, Sent)],
        documents: impl DocumentReader,
        stop: Stop<'_>,
    ) -> Result<Journal, Error> {
        // Removed first: after a crash, the next pass must not take the state for clean.
        sidecar::keep_pass(&self.dir, None, &self.failpoints)?;
        self.reload()?;
        // The documents come first, because recording a confirmed request must not need the source.
        let objects = changes.iter().map(|(_, sent)| sent.object);
        self.applied.keep(objects, documents)?;
        let lease = match &self.shared {
            Some(session) => session.lease(),
            None => Lease::new(Arc::new(SystemClock), None),
        };
        let mark = self.shared.is_some().then(fresh_id);
        let tip = self.applied.tip().map(|tip| tip.commit);
        let journal = self.journal.start(mark.clone(), tip, lease.clone())?;
        let Some((session, mark)) = self.shared.as_mut().zip(mark) else {
            return Ok(journal);
        };
        let pass = PassAnnouncement { head: *head, mark, lease, changes };
        // After an error, the journal keeps the mark, by which a lookup recognizes an announcement without a
        // verdict.
        if let Err(error) = session.announce(&self.applied, pass, stop) {
            self.journal.close()?;
            return Err(error);
        }
        Ok(journal)
    }

    /// Records outcomes while lanes continue. The next call records later outcomes. On shared state, this
    /// also renews the announcement.
    ///
    /// # Errors
    /// If the pass must not send any more requests. The journal keeps all entries that the shared ref does
    /// not have.
    pub fn checkpoint(&mut self, head: &PassHead) -> Result<(), Error> {
        let result = self.try_checkpoint(head);
        if result.is_err() {
            // Lanes must not start requests that this pass cannot record.
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
        // Trimmed only after the push: the next checkpoint repeats a failed push with all outcomes since.
        if is_pushed {
            self.trim()?;
        }
        self.show();
        Ok(())
    }

    /// Ends a pass after an error. Records confirmed requests if this process still holds the shared state.
    pub fn abandon(&mut self, head: &PassHead, stop: Stop<'_>) -> Result<(), Error> {
        let is_announced = self.shared.as_ref().is_some_and(SharedSession::is_announced);
        let recorded = match is_announced {
            true => self.record(head, &[], unkept, stop),
            // The next pass takes the outcomes from the journal.
            false => Ok(()),
        };
        let failures = self.view.failures().clone();
        // The journal is closed even after a failed record, because the next pass needs the confirmed
        // requests.
        recorded.and(self.finish_pass(None, failures))
    }

    /// Records the outcomes of a pass and `edits`. On shared state, this ends the announcement.
    ///
    /// # Errors
    /// If something cannot be recorded. The journal keeps all entries that are not recorded.
    pub fn record(
        &mut self,
        head: &PassHead,
        edits: &[AppliedEdit],
        documents: impl DocumentReader,
        stop: Stop<'_>,
    ) -> Result<(), Error> {
        self.journal.refresh()?;
        let index = self.journal.index();
        let is_withdrawn =
            self.shared.as_ref().is_some_and(|session| session.is_fruitless(&self.applied, index));
        let records =
            |edit: &AppliedEdit| matches!(edit, AppliedEdit::Put { .. } | AppliedEdit::Remove { .. });
        // A pass that stored nothing withdraws its revision with the announcement.
        let edits = if is_withdrawn && !edits.iter().any(records) { &[] } else { edits };
        self.commit(head, edits, SkipIfUnchanged::No, documents)?;
        if let Some(session) = &mut self.shared {
            let open = self.journal.index().unknown_requests();
            session.conclude(&self.applied, &open, head.now, stop)?;
            // The ref lists all unknown requests.
            self.committed.forgotten.extend(open.into_keys());
        }
        self.trim()?;
        self.show();
        match self.applied.merge_packs()? {
            true => self.reopen(),
            false => Ok(()),
        }
    }

    /// Commits confirmed requests and `edits`.
    fn commit(
        &mut self,
        head: &PassHead,
        edits: &[AppliedEdit],
        skip: SkipIfUnchanged,
        documents: impl DocumentReader,
    ) -> Result<(), Error> {
        let edits = self.applied.edits(self.journal.index(), &self.committed, edits)?;
        let toggles: Vec<ToggleId> = edits.outcomes.iter().cloned().collect();
        let allowances = self.view.allowances();
        let trim = self.applied.commit(head, edits, allowances, skip, documents)?;
        if let Some(session) = &mut self.shared {
            // A toggle leaves the list only once the tree has its outcome.
            session.record(&toggles);
        }
        self.committed.extend(trim);
        Ok(())
    }

    /// Removes recorded entries from the journal.
    fn trim(&mut self) -> Result<(), Error> {
        let tip = self.applied.tip().map(|tip| tip.commit);
        self.journal.trim(std::mem::take(&mut self.committed), tip)
    }

    fn reopen(&mut self) -> Result<(), Error> {
        self.view.close();
        self.applied.reopen()
    }

    /// Moves the last clean pass to `revision`, at which a pass found no difference.
    pub fn see(&mut self, revision: CommitId) {
        // The next pass at this revision does not read the history again.
        // Not written to disk: the next process reads the history once.
        self.view.see(revision);
    }

    /// Records that a folder before this one had records of these environments, which are lost.
    pub fn lose(&mut self, environments: BTreeSet<EnvironmentId>) -> Result<(), Error> {
        sidecar::keep_lost(&self.dir, environments, &self.failpoints)?;
        self.reload()
    }

    /// Closes the journal, and keeps the pass, if it was clean, and the unconfirmed requests for the next
    /// pass.
    pub fn finish_pass(&mut self, clean_pass: Option<CleanPass>, failures: Failures) -> Result<(), Error> {
        if self.journal.is_running() {
            self.journal.close()?;
            // The next pass needs the confirmed requests even if the rest of this function fails.
            self.show();
            // Open packs use memory, and the next pass may be hours away. Without a free file descriptor,
            // they stay open.
            let _ = self.reopen();
        }
        if self.shared.is_some() && self.journal.index().is_empty() {
            self.journal.replace(JournalIndex::default())?;
        }
        // A write costs two syncs, so an unchanged file stays.
        if failures != *self.view.failures() {
            sidecar::keep_failures(&self.dir, failures, &self.failpoints)?;
        }
        if clean_pass.as_ref() != self.view.last_clean_pass() {
            sidecar::keep_pass(&self.dir, clean_pass, &self.failpoints)?;
        }
        self.show();
        self.reload()
    }

    /// Returns the orders in this folder. Call [`Store::reload`] after changing them.
    pub fn orders(&self) -> Orders {
        Orders::with(&self.dir, self.failpoints.clone())
    }

    /// Reads failures, the last clean pass and orders again. What is in the place of a folder that was deleted says
    /// nothing: nobody ended the suspensions that it had.
    pub fn reload(&mut self) -> Result<(), Error> {
        if self.is_in_place() { self.view.reload(&self.dir) } else { Ok(()) }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("dir", &self.dir).finish_non_exhaustive()
    }
}
