//! Shares state between processes through one ref of a Git repository (src/state/README.md, "Shared state").
//!
//! [`protocol`] decides, [`SharedSession`] carries the decisions out, [`remote`] moves the ref, and [`head`]
//! is the content of its commit. [`protocol::merge`] adds the journal of a folder to the ref's list.
//! Invariant: unless a toggle is on that list, the service has the document in the ref's tree.

mod fault;
pub(crate) mod head;
mod lease;
pub(crate) mod protocol;
mod remote;
#[cfg(test)]
mod simulated_remote;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use fault::RemoteFault;
pub(crate) use lease::Lease;
pub use remote::SharedRemote;
pub(crate) use remote::{GitProgram, RemoteRef};
#[cfg(test)]
pub(crate) use simulated_remote::SimulatedRemote;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use head::{Announcement, FoundState, SharedHead, StateOrigin};
use protocol::{HolderWatch, JournalAge, QueueStep, Term, UnknownList, merge, open_for, unlist_unstarted};
use remote::{Patience, REF_POLL, RETRY, TrackedRef};

use super::applied::{AppliedRepository, PassHead, SkipIfUnchanged, Tip, unkept};
use super::folder::Place;
use super::journal::{JournalFile, JournalIndex, JournalTrim};
use super::{Clock, Error, folder};
use crate::git::Failpoints;
use crate::model::{CommitId, Sent, ToggleId};

/// How to share state.
#[derive(Clone, Debug)]
pub struct SharedOptions {
    pub remote: SharedRemote,
    pub clock: Arc<dyn Clock>,
    /// What reads and moves the ref.
    pub(crate) host: Arc<dyn RemoteRef>,
}

/// Returns whether the process should end. Called repeatedly during a wait.
pub type Stop<'a> = &'a dyn Fn() -> bool;

/// Told, in a sentence, which process publishes while another one waits for it.
pub type Queues<'a> = &'a dyn Fn(&str);

/// Decides whether the record of a revision may be pushed to a remote that has lost it.
pub type MayRestore<'a> = &'a mut dyn FnMut(CommitId) -> bool;

/// The part of one process in the shared state.
pub(crate) struct SharedSession {
    dir: PathBuf,
    tracked: TrackedRef,
    opened: Duration,
    timeout: Duration,
    list: UnknownList<ToggleId, Sent>,
    open: Option<OpenAnnouncement>,
}

pub(crate) struct PassAnnouncement<'a> {
    pub(crate) head: PassHead,
    pub(crate) mark: String,
    pub(crate) lease: Lease,
    pub(crate) changes: &'a [(ToggleId, Sent)],
}

/// The announcement of the pass in progress.
struct OpenAnnouncement {
    announcement: Announcement,
    revision: CommitId,
    lease: Lease,
    tip_before: Option<Tip>,
    revision_before: Option<CommitId>,
}

impl SharedSession {
    pub(crate) fn new(dir: &Path, options: SharedOptions, timeout: Duration, failpoints: Failpoints) -> Self {
        Self {
            dir: dir.to_owned(),
            opened: options.clock.elapsed(),
            tracked: TrackedRef::new(options, failpoints),
            timeout,
            list: UnknownList::found(BTreeMap::new()),
            open: None,
        }
    }

    /// Returns the newest revision at the ref, announced or recorded.
    pub(crate) fn newest(&self) -> Option<CommitId> {
        self.tracked.head.revision
    }

    pub(crate) fn unknown(&self) -> &BTreeMap<ToggleId, Sent> {
        self.list.toggles()
    }

    /// Returns whether the ref has an announcement of this process, as far as this process knows.
    pub(crate) fn is_announced(&self) -> bool {
        self.open.is_some()
    }

    /// Returns whether a pass is announced and certainly stored nothing.
    pub(crate) fn is_fruitless(&self, applied: &AppliedRepository, index: &JournalIndex) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|open| open.tip_before.as_ref() == applied.tip()) && index.is_empty()
    }

    /// Waits until no other process is publishing, and takes over the content of the ref. Afterwards, the ref
    /// lists every request that this folder may have stored without a recorded outcome.
    ///
    /// # Errors
    /// [`Error::InUse`] if another process publishes for too long or `stop` ends the wait, and the cause if
    /// the ref cannot be read.
    pub(crate) fn queue(
        &mut self,
        applied: &mut AppliedRepository,
        journal: &mut JournalFile,
        now: i64,
        stop: Stop<'_>,
        queues: Queues<'_>,
        may_restore: MayRestore<'_>,
    ) -> Result<(), Error> {
        self.open = None;
        let mut watch = HolderWatch::new(self.now());
        let mut is_logged = false;
        loop {
            let found = self.find(applied, stop)?;
            let lost = found.head.revision.filter(|_| found.origin == StateOrigin::Deleted);
            if lost.is_some_and(|revision| !may_restore(revision)) {
                // The pass is refused as stale. Until then, the folder keeps everything that it has.
                self.tracked.head = found.head;
                return Ok(());
            }
            let owed = journal.index().unknown_toggles();
            let status = found.head.status(journal.mark());
            let step = watch.step(self.tracked.at, status, !owed.is_empty(), self.now());
            let is_early = step == QueueStep::End && self.may_be_executing(journal);
            if matches!(step, QueueStep::End | QueueStep::TakeOver) && !is_early {
                match self.take_over(found, step, applied, journal, now, stop) {
                    // Another process was faster, and may be publishing now.
                    Err(Error::Raced(_)) => continue,
                    result => return result,
                }
            }
            let holder = found.head.announcement.map(|found| found.holder).unwrap_or_default();
            if step == QueueStep::GiveUp || stop() {
                let name = self.tracked.remote.name.clone();
                return Err(Error::InUse { name, holder, owed });
            }
            if !is_logged && !is_early {
                self.report_wait(&holder, queues);
                is_logged = true;
            }
            self.tracked.clock.sleep(REF_POLL);
        }
    }

    /// Reads the state at the ref.
    ///
    /// # Errors
    /// If it cannot be read, or the state in the folder does not belong to this ref.
    fn find(&mut self, applied: &AppliedRepository, stop: Stop<'_>) -> Result<FoundState, Error> {
        let found = FoundState::look_up(&mut self.tracked, applied, stop)?;
        let place = Place::of(Some(&self.tracked.remote));
        folder::check_place(&self.dir, &place, self.tracked.at.is_some())?;
        // A process that was killed while it took over the record of the remote has left an older one of it.
        if found.origin == StateOrigin::Foreign && !applied.is_continued_by(found.tip.as_ref())? {
            // Another process was faster with the first record of that remote.
            return Err(folder::not_moved(&self.dir, place));
        }
        Ok(found)
    }

    /// Returns whether a request that a killed process left open may still be executing.
    fn may_be_executing(&self, journal: &JournalFile) -> bool {
        let age = self.now().saturating_sub(self.opened);
        journal.index().open().next().is_some() && age < open_for(journal.longest_timeout())
    }

    fn report_wait(&self, holder: &str, queues: Queues<'_>) {
        let name = &self.tracked.remote.name;
        let text = format!(
            "another process publishes on the shared state `{name}`: {holder}; this one waits for it to end"
        );
        queues(&text);
        tracing::warn!(name: "waiting_for_publisher", holder, state = %name, "{text}");
    }

    /// Takes over the found state, and pushes what this folder has to add.
    fn take_over(
        &mut self,
        found: FoundState,
        step: QueueStep,
        applied: &mut AppliedRepository,
        journal: &mut JournalFile,
        now: i64,
        stop: Stop<'_>,
    ) -> Result<(), Error> {
        let FoundState { head, tip, origin } = found;
        // Before the first push: after a crash, the folder must not take the remote's record for that of
        // others.
        let place = Place::of(Some(&self.tracked.remote));
        folder::keep_place(&self.dir, &place, &self.tracked.failpoints)?;
        let is_own = step == QueueStep::End || origin == StateOrigin::Local;
        if !is_own {
            let mut index = journal.index().clone();
            distrust(&mut index, origin);
            journal.replace(index)?;
        }
        applied.adopt(tip.as_ref())?;
        let mut listed = head.unknown.clone();
        if step == QueueStep::End {
            unlist_unstarted(&mut listed, journal.mark(), journal.index());
        }
        self.list = UnknownList::found(listed);
        let age = match origin {
            StateOrigin::Ref if !is_own => JournalAge::Older,
            _ => JournalAge::Current,
        };
        let newest = self.commit_confirmed(applied, journal, age, now)?;
        let revision = match origin {
            StateOrigin::Local => newest.or(applied.tip().map(|tip| tip.revision)),
            _ => head.revision.or(newest),
        };
        let record = self.compose(applied, revision, None);
        let lacks_records = record.applied != head.applied;
        let is_known = self.tracked.at.is_some() && journal.index().is_empty() && !lacks_records;
        self.tracked.head = head;
        if step == QueueStep::End || (!is_known && record != SharedHead::default()) {
            let name = &self.tracked.remote.name;
            if origin == StateOrigin::Deleted {
                tracing::warn!(name: "shared_state_restored", state = %name, "the ref of the shared state was deleted; restored it from this state folder");
            }
            self.tracked.push_within(Patience::first_push(), applied, &record, now, stop)?;
            if lacks_records && origin != StateOrigin::Deleted {
                let state = &self.tracked.remote.name;
                tracing::warn!(name: "shared_state_completed", %state, "the shared state lacked what an earlier pass had recorded in this state folder; pushed it");
            }
        } else if let Some(at) = self.tracked.at {
            head::keep(applied, &self.tracked.remote.name, at)?;
        }
        // Emptied last: until the push, only the journal has these requests.
        journal.replace(JournalIndex::default())
    }

    /// Commits the confirmed requests of the journal, and lists the others. Returns the newest confirmed
    /// revision.
    fn commit_confirmed(
        &mut self,
        applied: &mut AppliedRepository,
        journal: &JournalFile,
        age: JournalAge,
        now: i64,
    ) -> Result<Option<CommitId>, Error> {
        let index = journal.index();
        let newest = index.newest_settled();
        let edits = applied.edits(index, &JournalTrim::default(), &[])?;
        let mut left = index.clone();
        left.trim(&edits.trim);
        self.list.record(&edits.outcomes);
        if let Some(revision) = newest {
            let head = PassHead { revision, now };
            applied.commit(&head, edits, &[], SkipIfUnchanged::Yes, unkept)?;
        }
        let mut listed = self.list.toggles().clone();
        merge(&mut listed, left.unknown_requests(), age);
        self.list = UnknownList::found(listed);
        Ok(newest)
    }

    /// Returns the lease for the requests of the next pass.
    pub(crate) fn lease(&self) -> Lease {
        let term = Term { began: self.now(), timeout: self.timeout };
        Lease::new(Arc::clone(&self.tracked.clock), Some(term))
    }

    /// Announces the requests of a pass. No request may be sent unless this succeeds.
    pub(crate) fn announce(
        &mut self,
        applied: &AppliedRepository,
        pass: PassAnnouncement<'_>,
        stop: Stop<'_>,
    ) -> Result<(), Error> {
        let PassAnnouncement { head: PassHead { revision, now }, mark, lease, changes } = pass;
        let announced = |(id, sent): &(ToggleId, Sent)| {
            let is_same = |found: &&Sent| (found.action, &found.payload) == (sent.action, &sent.payload);
            // A request that is on the list already may have started, whoever repeats it.
            let announced = match self.list.toggles().get(id).filter(is_same) {
                Some(found) => found.announced.clone(),
                None => Some(mark.clone()),
            };
            (id.clone(), Sent { announced, ..sent.clone() })
        };
        let announced: Vec<_> = changes.iter().map(announced).collect();
        self.list.announce(announced);
        let announcement = Announcement::new(mark, self.tracked.remote.holder.clone(), self.timeout);
        let head = self.compose(applied, Some(revision), Some(&announcement));
        let revision_before = self.newest();
        // If this fails, the next lookup finds out whether the announcement is at the ref after all.
        let began = self.tracked.push_within(Patience::first_push(), applied, &head, now, stop)?;
        lease.renew(began);
        self.open = Some(OpenAnnouncement {
            announcement,
            revision,
            lease,
            tip_before: head.applied,
            revision_before,
        });
        Ok(())
    }

    /// Removes toggles from the list whose outcome is in the applied tree.
    pub(crate) fn record<'a>(&mut self, toggles: impl IntoIterator<Item = &'a ToggleId>) {
        self.list.record(toggles);
    }

    /// Pushes the announcement again if an outcome was recorded since or its term gets old. Returns whether
    /// the ref is up to date. The next checkpoint repeats a push that fails temporarily.
    ///
    /// # Errors
    /// [`Error::TakenOver`] if another process took over, and the last error if pushing has failed for too
    /// long. The pass must not send any more requests then.
    pub(crate) fn checkpoint(&mut self, applied: &AppliedRepository, now: i64) -> Result<bool, Error> {
        let Some(open) = &mut self.open else {
            return Ok(true);
        };
        let is_new = applied.tip() != self.tracked.head.applied.as_ref();
        if !is_new && !open.lease.check(Term::is_to_renew) {
            return Ok(true);
        }
        open.announcement.renew();
        let (announcement, revision, lease) = (open.announcement.clone(), open.revision, open.lease.clone());
        let head = self.compose(applied, Some(revision), Some(&announcement));
        let error = match self.tracked.push(applied, &head, now) {
            Ok(began) => {
                lease.renew(began);
                return Ok(true);
            }
            Err(error) => error,
        };
        let has_given_up = lease.check(Term::has_given_up);
        // What was sent is on the service, so a refusal, which may last only seconds, is repeated like any
        // other failure.
        if matches!(error, Error::Remote { .. }) && !has_given_up {
            if !error.is_transient() {
                lease.await_push();
            }
            self.tracked.log_retry(&error);
            return Ok(false);
        }
        if has_given_up {
            tracing::error!(name: "shared_state_lost", %error, "could not update the shared state; the pass sends no more requests");
        }
        lease.end();
        Err(self.lost(error))
    }

    /// Ends the pass with a record. `open` are the requests that may have been stored and are not recorded.
    ///
    /// # Errors
    /// As [`SharedSession::checkpoint`]. The announcement then stays until a process with this folder ends
    /// it.
    pub(crate) fn conclude(
        &mut self,
        applied: &AppliedRepository,
        open: &BTreeMap<ToggleId, Sent>,
        now: i64,
        stop: Stop<'_>,
    ) -> Result<(), Error> {
        self.list.end(open);
        let tip = applied.tip();
        let revision = match &self.open {
            None if tip == self.tracked.head.applied.as_ref() => self.newest(),
            None => tip.map(|tip| tip.revision),
            // The pass certainly stored nothing, so its revision is withdrawn with the announcement.
            Some(pass) if pass.tip_before.as_ref() == tip && open.is_empty() => pass.revision_before,
            Some(pass) => Some(pass.revision),
        };
        let left = self.open.as_ref().and_then(|open| open.lease.left());
        let record = self.compose(applied, revision, None);
        if record != self.tracked.head {
            // No checkpoint follows that could repeat this push, so it is retried until the holder must give
            // up.
            let patience = match left {
                Some(left) => Patience::refusals_too(left.max(RETRY)),
                None => Patience::first_push(),
            };
            let pushed = self.tracked.push_within(patience, applied, &record, now, stop);
            pushed.map_err(|error| self.lost(error))?;
        }
        self.open = None;
        Ok(())
    }

    /// Forgets the announcement if another process replaced it, and returns the error.
    fn lost(&mut self, error: Error) -> Error {
        let Error::Raced(name) = error else { return error };
        match self.open.take() {
            Some(open) => {
                open.lease.end();
                Error::TakenOver(name)
            }
            None => Error::Raced(name),
        }
    }

    /// Returns the content of the next commit at the ref.
    fn compose(
        &self,
        applied: &AppliedRepository,
        revision: Option<CommitId>,
        announcement: Option<&Announcement>,
    ) -> SharedHead {
        SharedHead {
            applied: applied.tip().cloned(),
            unknown: self.list.toggles().clone(),
            revision,
            announcement: announcement.cloned(),
        }
    }

    fn now(&self) -> Duration {
        self.tracked.clock.elapsed()
    }
}

/// Takes out of a journal what a successor of this process may know otherwise.
fn distrust(index: &mut JournalIndex, origin: StateOrigin) {
    match origin {
        // No successor took over what this folder did before it cached the state.
        StateOrigin::Foreign => index.doubt(|_| true),
        // The successor took over the list with everything that was confirmed within the term.
        _ => index.drop_settled(),
    }
}
