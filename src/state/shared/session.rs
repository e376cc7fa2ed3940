//! Carries out the protocol: waits for the ref, announces a pass, renews the announcement, and ends it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Lease;
use super::head::{Announcement, SharedHead};
use super::protocol::{Found, GIVE_UP, Step, TERM, Term, UnknownList, Watch, open_for, silence};
use super::remote::{Pushed, RefLock, SharedRemote};
#[cfg(test)]
use crate::git::simulated::{self, Mutation};
use crate::git::{Failpoints, SharedClient, oid, refs};
use crate::model::{CommitId, Sent, ToggleId};
use crate::state::applied::{Applied, SkipIfUnchanged, Tip};
use crate::state::journal::JournalFile;
use crate::state::journal::index::{JournalIndex, JournalTrim};
use crate::state::store::{PassHead, SharedOptions};
use crate::state::{Clock, Error};

/// Where the last commit that was seen at the shared ref is kept. The name makes the folder a cache of one state.
const SEEN: &str = "refs/gitoggle/seen/";

/// How often a ref that another process holds is looked up, and a push that failed is repeated.
const POLL: Duration = Duration::from_secs(1);

/// How long a lookup is repeated that a host fails for a moment, and a push before the first request.
const TRANSIENT: Duration = Duration::from_secs(8);

/// Returns whether the process is to end. Asked while a call waits.
pub type Stop<'a> = &'a dyn Fn() -> bool;

/// The shared state as this process saw it last.
pub(crate) struct SharedSession {
    remote: SharedRemote,
    clock: Clock,
    opened: Duration,
    timeout: Duration,
    failpoints: Failpoints,
    /// The commit at the ref; none if there is no ref.
    at: Option<CommitId>,
    /// What that commit says.
    head: SharedHead,
    list: UnknownList<ToggleId, Sent>,
    announced: Option<Announced>,
    /// Commits that were pushed without a verdict. One of them at the ref is as good as a verdict.
    unconfirmed: Vec<CommitId>,
    lock: Option<Watch<RefLock>>,
}

/// The announcement of the pass that is going on.
struct Announced {
    announcement: Announcement,
    revision: CommitId,
    lease: Lease,
    /// What the ref returns to if certainly nothing was stored.
    before: (Option<Tip>, Option<CommitId>),
}

impl SharedSession {
    pub(crate) fn new(options: SharedOptions, failpoints: Failpoints) -> Self {
        let SharedOptions {
            remote,
            timeout,
            clock,
        } = options;
        Self {
            remote,
            opened: clock.elapsed(),
            clock,
            timeout,
            failpoints,
            at: None,
            head: SharedHead::default(),
            list: UnknownList::found(BTreeMap::new()),
            announced: None,
            unconfirmed: Vec::new(),
            lock: None,
        }
    }

    /// Returns what the ref says.
    pub(crate) fn head(&self) -> &SharedHead {
        &self.head
    }

    /// Returns the toggles with an unknown outcome.
    pub(crate) fn unknown(&self) -> &BTreeMap<ToggleId, Sent> {
        self.list.toggles()
    }

    /// Returns whether the ref has an announcement of this process, as far as it knows.
    pub(crate) fn is_announced(&self) -> bool {
        self.announced.is_some()
    }

    /// Returns whether a pass is announced of which certainly nothing was stored.
    pub(crate) fn is_fruitless(&self, applied: &Applied, index: &JournalIndex) -> bool {
        let before = self.announced.as_ref().map(|announced| &announced.before.0);
        before.is_some_and(|before| before.as_ref() == applied.tip()) && index.is_empty()
    }

    /// Empties a folder that is the cache of a state with another name.
    ///
    /// # Errors
    /// [`Error::OtherState`] if requests of that state have no recorded outcome yet.
    pub(crate) fn adopt_folder(&self, applied: &mut Applied, journal: &mut JournalFile) -> Result<(), Error> {
        let Some(other) = other_name(applied, &self.remote.name)? else {
            return Ok(());
        };
        if !journal.index().is_empty() {
            return Err(Error::OtherState { other });
        }
        journal.replace(JournalIndex::default())?;
        applied.adopt(None)?;
        let found = applied.repository().find_reference(&format!("{SEEN}{other}"));
        found.and_then(|mut seen| seen.delete()).map_err(applied.broken())
    }

    /// Waits until no other process is publishing, and makes what the ref says the state of this process. Whatever this
    /// process or an earlier one with this disk may have stored is on the ref's list afterwards.
    ///
    /// # Errors
    /// [`Error::InUse`] if another process is publishing for too long or `stop` ends the wait, and whatever keeps the ref
    /// from being read.
    pub(crate) fn queue(
        &mut self,
        applied: &mut Applied,
        journal: &mut JournalFile,
        now: i64,
        stop: Stop<'_>,
    ) -> Result<(), Error> {
        self.announced = None;
        // One connection for one pass: the next one reads the certificates again.
        self.remote.access.client = Some(SharedClient::default());
        let mut watch = Watch::new(self.clock.elapsed());
        let mut is_told = false;
        loop {
            let found = self.look(applied, stop)?;
            let owed: Vec<ToggleId> = journal.index().unknown().map(|(id, _)| id.clone()).collect();
            let step = watch.step(
                self.at,
                found.head.found(journal.mark()),
                !owed.is_empty(),
                self.clock.elapsed(),
            );
            #[cfg(test)]
            let step = self.mutated(step, applied);
            let age = self.clock.elapsed().saturating_sub(self.opened);
            let is_early = step == Step::End && journal.index().has_open() && age < open_for(self.timeout);
            if matches!(step, Step::End | Step::TakeOver) && !is_early {
                match self.take_over(found, step, applied, journal, now, stop) {
                    Err(Error::Raced(_)) => continue,
                    result => return result,
                }
            }
            let holder = found
                .head
                .announcement
                .map(|found| found.holder)
                .unwrap_or_default();
            if step == Step::GiveUp || stop() {
                let name = self.remote.name.clone();
                return Err(Error::InUse { name, holder, owed });
            }
            if !is_told && !is_early {
                tracing::warn!(name: "waiting_for_publisher", holder, state = %self.remote.name, "another process is publishing; waiting for it");
                is_told = true;
            }
            self.clock.sleep(POLL);
        }
    }

    /// Trusts the time that another machine wrote, which is a mistake.
    #[cfg(test)]
    fn mutated(&self, step: Step, applied: &Applied) -> Step {
        let found = self
            .at
            .and_then(|at| applied.repository().find_commit(oid(at.0)).ok());
        let age = found.map_or(0, |commit| self.clock.unix() - commit.time().seconds());
        match step {
            Step::Wait if age > 60 && simulated::makes(Mutation::TrustTheirClock) => Step::TakeOver,
            step => step,
        }
    }

    fn look(&mut self, applied: &Applied, stop: Stop<'_>) -> Result<FoundState, Error> {
        let repository = applied.repository();
        let seen = refs::look_up(repository, &self.seen())?;
        self.at = self.repeat(TRANSIENT, stop, |session| {
            session.remote.fetch(repository, &session.failpoints)
        })?;
        self.unconfirmed.clear();
        let base_url = Some(applied.base_url());
        let head = match self.at.or(seen) {
            Some(commit) => SharedHead::read(repository, commit, base_url)?,
            None => SharedHead::default(),
        };
        let origin = match (self.at, seen) {
            (Some(_), Some(_)) => Origin::Ref,
            (Some(_), None) => match &head.applied {
                Some(tip) if applied.descends_from(tip.commit)? => Origin::Local,
                _ => Origin::Foreign,
            },
            (None, Some(_)) => Origin::Deleted,
            (None, None) => Origin::Local,
        };
        let own = applied
            .tip()
            .filter(|_| matches!(origin, Origin::Deleted | Origin::Local));
        if own.is_some() {
            applied.check_base_url()?;
        }
        let tip = own.or(head.applied.as_ref()).cloned();
        Ok(FoundState { head, tip, origin })
    }

    /// Makes what was found the state of this process, and pushes what this process has to add to it.
    fn take_over(
        &mut self,
        found: FoundState,
        step: Step,
        applied: &mut Applied,
        journal: &mut JournalFile,
        now: i64,
        stop: Stop<'_>,
    ) -> Result<(), Error> {
        let FoundState { head, tip, origin } = found;
        let is_own = step == Step::End || origin == Origin::Local;
        if !is_own {
            // A successor has what was confirmed within the term on its list. What this folder did before it shared a
            // state has no successor.
            let mut index = journal.index().clone();
            match origin {
                Origin::Foreign => index.doubt(|_| true),
                _ => index.drop_settled(),
            }
            #[cfg(test)]
            if simulated::makes(Mutation::DropLateOutcomes) {
                index = JournalIndex::default();
            }
            journal.replace(index)?;
        }
        applied.adopt(tip.as_ref())?;
        self.list = UnknownList::found(head.unknown.clone());
        let newest = self.commit_confirmed(applied, journal, now)?;
        let tip = applied.tip().cloned();
        let revision = match origin {
            Origin::Local => newest.or(tip.as_ref().map(|tip| tip.revision)),
            _ => head.revision.or(newest),
        };
        let record = SharedHead {
            applied: tip,
            unknown: self.list.toggles().clone(),
            revision,
            announcement: None,
        };
        let is_known = self.at.is_some() && journal.index().is_empty() && record.applied == head.applied;
        self.head = head;
        if step == Step::End || (!is_known && record != SharedHead::default()) {
            if origin == Origin::Deleted {
                tracing::warn!(name: "shared_state_restored", state = %self.remote.name, "the ref of the shared state was deleted; restored it from this state folder");
            }
            self.push_for(TRANSIENT, applied, &record, now, stop)?;
        }
        self.remember(applied)?;
        journal.replace(JournalIndex::default())
    }

    /// Commits what the journal has as confirmed, and puts the rest on the list. Returns the newest confirmed revision.
    fn commit_confirmed(
        &mut self,
        applied: &mut Applied,
        journal: &JournalFile,
        now: i64,
    ) -> Result<Option<CommitId>, Error> {
        let index = journal.index();
        let newest = index.settled().max_by_key(|(_, entry)| entry.number);
        let newest = newest.map(|(_, entry)| entry.sent.revision);
        let edits = applied.edits(index, &JournalTrim::default(), &[])?;
        let mut left = index.clone();
        left.trim(&edits.trim);
        self.list.record(edits.outcomes());
        if let Some(revision) = newest {
            let head = PassHead { revision, now };
            applied.commit(&head, edits, &[], SkipIfUnchanged::Yes, unkept)?;
        }
        let unknown = left.unknown();
        self.list
            .add_unknown(unknown.map(|(id, entry)| (id.clone(), entry.sent.clone())));
        Ok(newest)
    }

    /// Announces the requests of a pass. Nothing may be sent unless this succeeds.
    pub(crate) fn announce(
        &mut self,
        applied: &Applied,
        announcing: Announcing<'_>,
        stop: Stop<'_>,
    ) -> Result<(), Error> {
        let Announcing {
            head,
            mark,
            lease,
            changes,
        } = announcing;
        let mut list = self.list.clone();
        list.announce(changes.iter().cloned());
        let announcement = Announcement::new(mark, self.remote.holder.clone(), self.timeout);
        let said = SharedHead {
            applied: applied.tip().cloned(),
            unknown: list.toggles().clone(),
            revision: Some(head.revision),
            announcement: Some(announcement.clone()),
        };
        let before = (applied.tip().cloned(), self.head.revision);
        self.announced = Some(Announced {
            announcement,
            revision: head.revision,
            lease,
            before,
        });
        self.list = list;
        let pushed = self.push_for(TRANSIENT, applied, &said, head.now, stop);
        if pushed.is_err() {
            // The next lookup finds out whether it is there after all.
            self.announced = None;
        }
        pushed
    }

    /// Returns the lease of the requests of a pass that is about to be announced.
    pub(crate) fn lease(&self) -> Lease {
        let term = Term {
            began: self.clock.elapsed(),
            timeout: self.timeout,
        };
        Lease::new(self.clock.clone(), Some(term))
    }

    /// Takes in that the tree has the outcome of these toggles.
    pub(crate) fn recorded<'a>(&mut self, toggles: impl IntoIterator<Item = &'a ToggleId>) {
        self.list.record(toggles);
    }

    /// Pushes the announcement again, with what was recorded since, if there is something new or its term gets old.
    /// Returns whether the ref has everything now. A push that fails is repeated by the next checkpoint.
    ///
    /// # Errors
    /// [`Error::Raced`] if another process took over, and the last error once pushing has failed for too long. Nothing
    /// more may be sent in this pass then.
    pub(crate) fn checkpoint(&mut self, applied: &Applied, now: i64) -> Result<bool, Error> {
        let Some(announced) = &mut self.announced else {
            return Ok(true);
        };
        let lease = announced.lease.clone();
        let is_new = applied.tip() != self.head.applied.as_ref();
        if !is_new
            && !lease
                .term()
                .is_some_and(|term| term.is_to_renew(self.clock.elapsed()))
        {
            return Ok(true);
        }
        announced.announcement.renew();
        let said = SharedHead {
            applied: applied.tip().cloned(),
            unknown: self.list.toggles().clone(),
            revision: Some(announced.revision),
            announcement: Some(announced.announcement.clone()),
        };
        let Err(error) = self.push(applied, &said, now) else {
            return Ok(true);
        };
        let has_given_up = lease
            .term()
            .is_some_and(|term| term.has_given_up(self.clock.elapsed()));
        if error.is_transient() && !has_given_up {
            tracing::debug!(name: "shared_state_retry", %error, "could not reach the shared state, to be tried again");
            return Ok(false);
        }
        if has_given_up {
            tracing::error!(name: "shared_state_lost", %error, "the shared state cannot be updated; nothing more is sent in this pass");
        }
        lease.end();
        Err(error)
    }

    /// Ends the pass with a record. `open` are the requests that may have been stored and are not recorded.
    ///
    /// # Errors
    /// As [`SharedSession::checkpoint`]. The announcement stays then, until a process with this disk ends it.
    pub(crate) fn conclude(
        &mut self,
        applied: &Applied,
        open: &BTreeMap<ToggleId, Sent>,
        now: i64,
        stop: Stop<'_>,
    ) -> Result<(), Error> {
        self.list.end(open);
        let tip = applied.tip().cloned();
        let recorded = match tip == self.head.applied {
            true => self.head.revision,
            false => tip.as_ref().map(|tip| tip.revision),
        };
        let revision = match &self.announced {
            None => recorded,
            // Certainly nothing was stored: the announcement takes its revision with it.
            Some(announced) if announced.before.0 == tip && open.is_empty() => announced.before.1,
            Some(announced) => Some(announced.revision),
        };
        let term = self
            .announced
            .as_ref()
            .and_then(|announced| announced.lease.term());
        let age = term.map(|term| self.clock.elapsed().saturating_sub(term.began));
        let patience = age.map_or(TRANSIENT, |age| GIVE_UP.saturating_sub(age).max(TRANSIENT));
        let record = SharedHead {
            applied: tip,
            unknown: self.list.toggles().clone(),
            revision,
            announcement: None,
        };
        if record != self.head {
            self.push_for(patience, applied, &record, now, stop)?;
        }
        self.announced = None;
        Ok(())
    }

    /// Pushes, and repeats what fails for a moment.
    fn push_for(
        &mut self,
        patience: Duration,
        applied: &Applied,
        head: &SharedHead,
        now: i64,
        stop: Stop<'_>,
    ) -> Result<(), Error> {
        self.repeat(patience, stop, |session| session.push(applied, head, now))
    }

    fn repeat<T>(
        &mut self,
        patience: Duration,
        stop: Stop<'_>,
        mut work: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let began = self.clock.elapsed();
        loop {
            let error = match work(self) {
                Err(error) if error.is_transient() && !stop() => error,
                result => return result,
            };
            // A lock that does not change is removed in the end.
            let is_over = self.clock.elapsed().saturating_sub(began) >= patience;
            if is_over && !matches!(error, Error::RemoteLocked { .. }) {
                return Err(error);
            }
            tracing::debug!(name: "shared_state_retry", %error, "could not reach the shared state, to be tried again");
            self.clock.sleep(POLL);
        }
    }

    /// Moves the ref from where it was seen last. On success, the term begins when the push began.
    fn push(&mut self, applied: &Applied, head: &SharedHead, now: i64) -> Result<(), Error> {
        let (objects, new) = head.objects(applied.base_url(), now);
        applied.write(&objects)?;
        loop {
            let began = self.clock.elapsed();
            let pushed = self
                .remote
                .push(applied.repository(), self.at, new, &self.failpoints);
            match pushed {
                Ok(Pushed::Done) => {
                    (self.at, self.head) = (Some(new), head.clone());
                    self.unconfirmed.clear();
                    self.lock = None;
                    if let Some(announced) = &self.announced {
                        announced.lease.renew(began);
                    }
                    return self.remember(applied);
                }
                // A push without a verdict had succeeded, and no other process has moved the ref since.
                Ok(Pushed::Moved(Some(found))) if self.unconfirmed.contains(&found) => self.at = Some(found),
                Ok(Pushed::Moved(_)) => {
                    if let Some(announced) = self.announced.take() {
                        announced.lease.end();
                    }
                    return Err(Error::Raced(self.remote.name.clone()));
                }
                Ok(Pushed::Locked(lock)) => self.await_lock(lock)?,
                Err(error) => {
                    self.unconfirmed.push(new);
                    return Err(error);
                }
            }
        }
    }

    /// Waits for a lock like for a holder that was killed, and removes it once its program must be dead.
    fn await_lock(&mut self, lock: RefLock) -> Result<(), Error> {
        let now = self.clock.elapsed();
        let watch = self.lock.get_or_insert_with(|| Watch::new(now));
        let path = lock.path.clone();
        let found = Found::Foreign(silence(TERM, Duration::ZERO));
        if watch.step(lock, found, true, now) == Step::TakeOver && std::fs::remove_file(&path).is_ok() {
            tracing::warn!(name: "lock_removed", path = %path.display(), "removed the lock that a killed program left on the state remote");
            return Ok(());
        }
        Err(Error::RemoteLocked { path })
    }

    /// Keeps what was seen, so that a ref that is deleted can be restored.
    fn remember(&self, applied: &Applied) -> Result<(), Error> {
        let Some(at) = self.at else { return Ok(()) };
        let kept = applied
            .repository()
            .reference(&self.seen(), oid(at.0), true, "seen");
        kept.map(drop).map_err(applied.broken())
    }

    fn seen(&self) -> String {
        format!("{SEEN}{}", self.remote.name)
    }
}

/// A pass to announce.
pub(crate) struct Announcing<'a> {
    pub(crate) head: PassHead,
    pub(crate) mark: String,
    pub(crate) lease: Lease,
    pub(crate) changes: &'a [(ToggleId, Sent)],
}

/// What a lookup found.
struct FoundState {
    head: SharedHead,
    /// What this process goes on from: its own tip if the ref does not say more.
    tip: Option<Tip>,
    origin: Origin,
}

/// How what was found relates to the state folder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Origin {
    /// The folder knows the state, and its ref is gone.
    Deleted,
    /// The folder never shared this state before.
    Foreign,
    /// The folder's own state is shared from now on.
    Local,
    /// The folder is a cache of it.
    Ref,
}

/// A document of a confirmed request is in the repository since before the request.
pub(crate) fn unkept(object: crate::model::ObjectId) -> Result<Vec<u8>, std::io::Error> {
    Err(std::io::Error::other(format!("document {object} was not kept")))
}

/// Returns the name of the state that the folder is a cache of, if it has another name.
fn other_name(applied: &Applied, name: &str) -> Result<Option<String>, Error> {
    let found = applied.repository().references_glob(&format!("{SEEN}*"));
    let mut others = Vec::new();
    for reference in found.map_err(applied.broken())? {
        let reference = reference.map_err(applied.broken())?;
        let seen = reference.name().unwrap_or_default();
        others.extend(seen.strip_prefix(SEEN).map(str::to_owned));
    }
    Ok(match others.iter().any(|other| other == name) {
        true => None,
        false => others.pop(),
    })
}
