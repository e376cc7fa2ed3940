//! Reads state without the lock and without writing, even while a writer works.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::Error;
use super::applied::{AppliedRepository, Tip};
use super::folder::Place;
use super::journal::JournalFile;
use super::journal::JournalIndex;
use super::journal::line::{JournalHeader, Replay};
use super::orders;
use super::shared::SharedRemote;
use super::shared::head;
use super::shared::head::SharedHead;
use super::shared::protocol::{JournalAge, merge, unlist_unstarted};
use super::sidecar::{self, CleanPass, Failures};
use super::{files, folder, journal};
use crate::git::{ObjectReader, RepositoryPool};
use crate::model::{
    Allowance, CommitId, EnvironmentId, ObjectId, RequestDigest, Sent, Suspensions, ToggleId,
};

/// The most tries to read the state between two trims of the journal.
const SNAPSHOT_TRIES: usize = 20;

/// The id of a tree with no entries, the same in every repository.
const EMPTY_TREE: ObjectId = ObjectId([
    0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60, 0xe5, 0x4b, 0xf8, 0xd6, 0x92, 0x88, 0xfb,
    0xee, 0x49, 0x04,
]);

/// The recorded state at one moment.
#[derive(Clone, Debug, Default)]
pub struct StateSnapshot {
    repository: Option<Arc<RepositoryPool>>,
    /// Whether it was read from a remote that has records.
    is_fetched: bool,
    tip: Option<Tip>,
    newest: Option<CommitId>,
    requested: Option<CommitId>,
    holder: Option<String>,
    base_url: Option<String>,
    unknown: BTreeMap<ToggleId, Sent>,
    settled: BTreeMap<ToggleId, Sent>,
    let_through: BTreeMap<ToggleId, RequestDigest>,
    failures: Failures,
    clean_pass: Option<CleanPass>,
    lost: BTreeSet<EnvironmentId>,
    suspensions: Suspensions,
    allowances: Vec<Allowance>,
    /// The allowances of this run, which no file has.
    given: Vec<Allowance>,
}

impl StateSnapshot {
    /// Reads the state in `dir`, which lives there. The state of a missing folder is empty.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        Self::open_at(dir, &Place::of(None))
    }

    /// Reads the state in `dir`, whose place is `wanted` unless the folder says where it is.
    pub(crate) fn open_at(dir: &Path, wanted: &Place) -> Result<Self, Error> {
        folder::check(dir)?;
        let read = || Ok::<_, Error>(files::read(&dir.join("journal"))?.unwrap_or_default());
        let mut tries = 0;
        loop {
            let bytes = read()?;
            let replay = journal::parse(dir, &bytes);
            // The record is read after the journal, so that an entry that moves to the record is not missed.
            let (repository, tip) = record_in(&dir.join("state.git"))?;
            tries += 1;
            // The first line changes with each trim: if it changed, the journal and the record do not belong
            // together.
            if tries < SNAPSHOT_TRIES && first_line(&read()?) != first_line(&bytes) {
                continue;
            }
            // Damage counts only now: a journal that was replaced during the read was read again.
            let Replay { index, header } = replay?;
            // A journal binds the state only while something in it may have been stored.
            let header = header.unwrap_or_default();
            let announced = (!index.is_empty()).then_some(header.base_url);
            let mut view = Self {
                repository,
                base_url: tip.as_ref().map(|tip| tip.base_url.clone()).or(announced),
                newest: tip.as_ref().map(|tip| tip.revision),
                tip,
                let_through: header.let_through,
                ..Self::default()
            };
            view.reload(dir)?;
            match folder::check_record(dir, wanted, view.tip.as_ref(), &index, view.clean_pass.as_ref()) {
                // The first record may have been made since it was looked for.
                Err(_) if tries < SNAPSHOT_TRIES => continue,
                found => found?,
            }
            view.show_index(BTreeMap::new(), &index, JournalAge::Current);
            return Ok(view);
        }
    }

    /// Reads the shared state, and the files in `dir`. Never waits for another process. Fetches into a
    /// temporary folder instead of `dir`.
    pub fn fetch(shared: &SharedRemote, dir: &Path) -> Result<Self, Error> {
        // The journal is read before the ref, so that an outcome that moves to the ref is not missed.
        let bytes = files::read(&dir.join("journal"))?.unwrap_or_default();
        let Replay { mut index, header } = journal::parse(dir, &bytes)?;
        let (pool, repository, at) = shared.open_to_read(dir).map_err(|error| error.of_folder(dir))?;
        let Some(at) = at else {
            return Self::open_at(dir, &Place::of(Some(shared)));
        };
        let SharedHead { applied, mut unknown, revision, announcement } =
            SharedHead::read(&repository, at, None)?;
        let JournalHeader { mark, let_through, .. } = header.unwrap_or_default();
        let is_own = announcement.as_ref().is_some_and(|found| Some(&found.mark) == mark.as_ref());
        let age = if is_own { JournalAge::Current } else { JournalAge::Older };
        if age == JournalAge::Older {
            // The process that took over the ref has the confirmations of this folder in its list or tree.
            index.drop_settled();
        }
        if is_own {
            unlist_unstarted(&mut unknown, mark.as_deref(), &index);
        }
        let mut view = Self {
            let_through,
            repository: Some(Arc::new(pool)),
            is_fetched: true,
            base_url: applied.as_ref().map(|tip| tip.base_url.clone()),
            tip: applied,
            newest: revision,
            holder: announcement.filter(|_| !is_own).map(|found| found.holder),
            ..Self::default()
        };
        view.reload(dir)?;
        view.show_index(unknown, &index, age);
        Ok(view)
    }

    /// Returns the view of a folder, without the record and the journal.
    pub(crate) fn of_folder(dir: &Path, repository: &Path) -> Result<Self, Error> {
        let mut view = Self {
            repository: Some(Arc::new(RepositoryPool::new(repository.to_owned()))),
            ..Self::default()
        };
        view.reload(dir)?;
        Ok(view)
    }

    /// Updates the view from the parts of a store.
    pub(crate) fn show(
        &mut self,
        applied: &AppliedRepository,
        listed: BTreeMap<ToggleId, Sent>,
        journal: &JournalFile,
        newest: Option<CommitId>,
    ) {
        let index = journal.index();
        self.let_through.clone_from(journal.let_through());
        self.tip = applied.tip().cloned();
        self.newest = newest.or(self.tip.as_ref().map(|tip| tip.revision));
        // State is bound to a base URL once something may have been stored there (src/state/README.md, "One
        // writer, one place, one service").
        let is_bound = self.tip.is_some() || !index.is_empty() || !listed.is_empty();
        self.base_url = is_bound.then(|| match &self.tip {
            Some(tip) => tip.base_url.clone(),
            None => applied.base_url().to_owned(),
        });
        self.show_index(listed, index, JournalAge::Current);
    }

    /// Merges the unknown toggles of a shared list and of a journal of this `age`.
    fn show_index(&mut self, mut listed: BTreeMap<ToggleId, Sent>, index: &JournalIndex, age: JournalAge) {
        self.requested = index.newest_revision(self.tip.as_ref().map(|tip| tip.commit));
        // The journal has outcomes that no push has recorded yet.
        for (id, _) in index.settled() {
            listed.remove(id);
        }
        merge(&mut listed, index.unknown_requests(), age);
        self.unknown = listed;
        let settled = index.settled();
        self.settled = settled.map(|(id, entry)| (id.clone(), entry.sent.clone())).collect();
    }

    /// Returns the environments whose first pass was asserted and has not ended, with the revision at which
    /// it was.
    pub(crate) fn asserted(&self) -> BTreeMap<EnvironmentId, CommitId> {
        let recorded = self.tip.iter().flat_map(|tip| tip.asserted.clone());
        let requests = self.unknown.iter().chain(&self.settled);
        let requested = requests.filter_map(|(id, sent)| Some((id.environment(), sent.asserted?)));
        requested.chain(recorded).collect()
    }

    /// Adds allowances of this run.
    pub(crate) fn give(&mut self, allowances: Vec<Allowance>) {
        self.allowances.extend_from_slice(&allowances);
        self.given.extend(allowances);
    }

    /// Closes the files of the repository.
    pub(crate) fn close(&self) {
        if let Some(repository) = &self.repository {
            repository.close();
        }
    }

    /// Moves the last clean pass to `revision`, at which a pass found no difference.
    pub(crate) fn see(&mut self, revision: CommitId) {
        if let Some(pass) = &mut self.clean_pass {
            pass.revision = revision;
        }
    }

    /// Reads the files beside the record and the journal again.
    pub(crate) fn reload(&mut self, dir: &Path) -> Result<(), Error> {
        self.failures = sidecar::failures(dir);
        self.clean_pass = sidecar::pass(dir);
        self.lost = sidecar::lost(dir);
        self.suspensions = orders::suspensions(dir)?;
        self.allowances = orders::allowances(dir);
        self.allowances.extend_from_slice(&self.given);
        Ok(())
    }

    /// Returns the tip of the record; none if nothing was ever applied.
    pub fn tip(&self) -> Option<&Tip> {
        self.tip.as_ref()
    }

    /// Returns the newest revision of a pass. On shared state, it may be announced and not recorded yet.
    pub fn newest(&self) -> Option<CommitId> {
        self.newest
    }

    /// Returns the revision of a request that may have been stored, if no commit has recorded the revision:
    /// the pass died.
    pub(crate) fn requested(&self) -> Option<CommitId> {
        self.requested
    }

    /// Returns the process that has announced a pass on shared state. It may have died since.
    pub fn holder(&self) -> Option<&str> {
        self.holder.as_deref()
    }

    pub fn base_url(&self) -> Option<&str> {
        self.base_url.as_deref()
    }

    /// Returns the last requests whose outcome is not known. Each is sent again if the same document is
    /// desired.
    pub fn unknown(&self) -> &BTreeMap<ToggleId, Sent> {
        &self.unknown
    }

    /// Returns the requests that the rails let through in the last pass of this folder that sent any.
    pub(crate) fn let_through(&self) -> &BTreeMap<ToggleId, RequestDigest> {
        &self.let_through
    }

    /// Returns confirmed requests that the tip does not have yet: a pass is running, or its process died.
    /// Empty in a [`Store`](super::Store) that was just opened, which records them first.
    pub fn settled(&self) -> &BTreeMap<ToggleId, Sent> {
        &self.settled
    }

    /// Returns the refusals, tries and holds of unconfirmed requests.
    pub fn failures(&self) -> &Failures {
        &self.failures
    }

    /// Returns whether any document is applied.
    pub fn has_applied(&self) -> bool {
        // A commit that records only a revision, or forgets the last toggle, has an empty tree.
        self.tip.as_ref().is_some_and(|tip| tip.tree != EMPTY_TREE)
    }

    /// Returns the environments of which a folder before this one had records, which were lost.
    pub(crate) fn lost(&self) -> &BTreeSet<EnvironmentId> {
        &self.lost
    }

    pub fn last_clean_pass(&self) -> Option<&CleanPass> {
        self.clean_pass.as_ref()
    }

    /// Returns the suspensions, ended ones included.
    pub fn suspensions(&self) -> &Suspensions {
        &self.suspensions
    }

    /// Returns the allowances, for any revision.
    pub fn allowances(&self) -> &[Allowance] {
        &self.allowances
    }

    /// Returns whether the state was read from a remote that has records.
    pub(crate) fn is_fetched(&self) -> bool {
        self.is_fetched
    }

    /// Returns the name of the shared state that the folder has a copy of.
    pub(crate) fn cached_state(&self) -> Result<Option<String>, Error> {
        let Some(reader) = self.reader()? else {
            return Ok(None);
        };
        head::cached(reader.repository())
    }

    /// Opens the applied documents for reading; none if the repository does not exist yet.
    pub fn reader(&self) -> Result<Option<ObjectReader>, Error> {
        Ok(self.repository.as_ref().map(ObjectReader::open).transpose()?)
    }
}

/// Returns the repository at `path`, if it exists, and its tip.
fn record_in(path: &Path) -> Result<(Option<Arc<RepositoryPool>>, Option<Tip>), Error> {
    if !path.exists() {
        return Ok((None, None));
    }
    let handles = Arc::new(RepositoryPool::new(path.to_owned()));
    let tip = Tip::of(ObjectReader::open(&handles)?.repository())?;
    Ok((Some(handles), tip))
}

fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default()
}
