//! State as a reader sees it: no lock, nothing written, and a writer may be at work.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use super::applied::{Applied, Tip};
use super::error::Error;
use super::journal::index::JournalIndex;
use super::journal::lines::Replay;
use super::shared::SharedRemote;
use super::shared::head::SharedHead;
use super::sidecar::{self, Failures, PassMemory, Refusal, Tried};
use super::{files, journal, orders};
use crate::git::{ObjectReader, RepositoryPool};
use crate::model::{Allowance, CommitId, ObjectId, Sent, Suspensions, ToggleId};

/// How often reading starts over because a writer cut the journal meanwhile.
const TRIES: usize = 20;

/// The id of a tree with no entries, the same in every repository.
const EMPTY_TREE: ObjectId = ObjectId([
    0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60, 0xe5, 0x4b, 0xf8, 0xd6, 0x92, 0x88, 0xfb,
    0xee, 0x49, 0x04,
]);

/// A toggle whose last request has no known outcome.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unknown {
    /// What was sent, to be sent again where the same document is wanted.
    pub sent: Sent,
}

/// What is recorded, at one moment.
#[derive(Clone, Debug, Default)]
pub struct View {
    repository: Option<Arc<RepositoryPool>>,
    tip: Option<Tip>,
    newest: Option<CommitId>,
    requested: Option<CommitId>,
    holder: Option<String>,
    base_url: Option<String>,
    unknown: BTreeMap<ToggleId, Unknown>,
    settled: BTreeMap<ToggleId, Sent>,
    failures: Failures,
    memory: Option<PassMemory>,
    suspensions: Suspensions,
    allowances: Vec<Allowance>,
    /// Where a fetched repository lies, for as long as a reader may need it.
    _temporary: Option<Arc<TempDir>>,
}

impl View {
    /// Reads the state in `dir`; a folder that is missing is an empty state.
    ///
    /// # Errors
    /// When something is there and cannot be understood.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let mut tries = 0;
        loop {
            let bytes = files::read(&dir.join("journal"))?.unwrap_or_default();
            let replay = journal::parse(dir, &bytes);
            // The record is read after the journal: what moves from one to the other is seen twice, never not at all.
            let (repository, tip) = record_in(&dir.join("state.git"))?;
            tries += 1;
            if tries < TRIES && header_of(dir)? != first_line(&bytes) {
                continue;
            }
            let Replay { index, header } = replay?;
            // A journal binds the state only while something in it may have been stored.
            let announced = header.filter(|_| !index.is_empty()).map(|header| header.base_url);
            let mut view = Self {
                repository,
                base_url: tip.as_ref().map(|tip| tip.base_url.clone()).or(announced),
                newest: tip.as_ref().map(|tip| tip.revision),
                tip,
                ..Self::default()
            };
            view.replace_memory(dir)?;
            view.show_index(BTreeMap::new(), &index);
            return Ok(view);
        }
    }

    /// Reads the state that is shared through `shared`, with what `dir` holds besides. Never waits. Nothing is written in
    /// `dir`; what has to be fetched goes into a temporary folder.
    ///
    /// # Errors
    /// When the remote cannot be read, or something there cannot be understood.
    pub fn fetch(shared: &SharedRemote, dir: &Path) -> Result<Self, Error> {
        let bytes = files::read(&dir.join("journal"))?.unwrap_or_default();
        let Replay { mut index, header } = journal::parse(dir, &bytes)?;
        let (path, repository, temporary) = shared.open_to_read()?;
        let Some(at) = shared.seen(&repository)? else {
            return Self::open(dir);
        };
        let SharedHead {
            applied,
            unknown,
            revision,
            announcement,
        } = SharedHead::read(&repository, at, None)?;
        let mark = header.and_then(|header| header.mark);
        let is_own = announcement
            .as_ref()
            .is_some_and(|found| Some(&found.mark) == mark.as_ref());
        if !is_own {
            index.drop_settled();
        }
        let mut view = Self {
            repository: Some(Arc::new(RepositoryPool::new(path))),
            base_url: applied.as_ref().map(|tip| tip.base_url.clone()),
            tip: applied,
            newest: revision,
            holder: announcement.filter(|_| !is_own).map(|found| found.holder),
            _temporary: temporary,
            ..Self::default()
        };
        view.replace_memory(dir)?;
        view.show_index(unknown, &index);
        Ok(view)
    }

    /// Returns the view of a folder, for a writer to fill.
    pub(crate) fn of_folder(dir: &Path, repository: &Path) -> Result<Self, Error> {
        let mut view = Self {
            repository: Some(Arc::new(RepositoryPool::new(repository.to_owned()))),
            ..Self::default()
        };
        view.replace_memory(dir)?;
        Ok(view)
    }

    /// Takes in what the parts of a store hold.
    pub(crate) fn show(
        &mut self,
        applied: &Applied,
        listed: BTreeMap<ToggleId, Sent>,
        index: &JournalIndex,
        newest: Option<CommitId>,
    ) {
        self.tip = applied.tip().cloned();
        self.newest = newest.or(self.tip.as_ref().map(|tip| tip.revision));
        let is_bound = self.tip.is_some() || !index.is_empty() || !listed.is_empty();
        self.base_url = is_bound.then(|| match &self.tip {
            Some(tip) => tip.base_url.clone(),
            None => applied.base_url().to_owned(),
        });
        self.show_index(listed, index);
    }

    /// Shows the unknown toggles of a shared list and of a journal, which knows more about its own.
    fn show_index(&mut self, mut listed: BTreeMap<ToggleId, Sent>, index: &JournalIndex) {
        self.requested = index.newest_revision(self.tip.as_ref().map(|tip| tip.commit));
        index.settled().for_each(|(id, _)| drop(listed.remove(id)));
        let own = index.unknown();
        listed.extend(own.map(|(id, entry)| (id.clone(), entry.sent.clone())));
        let unknown = listed.into_iter();
        self.unknown = unknown.map(|(id, sent)| (id, Unknown { sent })).collect();
        let settled = index.settled();
        self.settled = settled
            .map(|(id, entry)| (id.clone(), entry.sent.clone()))
            .collect();
    }

    /// Lets go of what is open of the repository.
    pub(crate) fn close(&self) {
        if let Some(repository) = &self.repository {
            repository.close();
        }
    }

    /// Takes in that a pass at `revision` found what the last clean pass left.
    pub(crate) fn see(&mut self, revision: CommitId) {
        if let Some(memory) = &mut self.memory {
            memory.revision = revision;
        }
    }

    pub(crate) fn replace_memory(&mut self, dir: &Path) -> Result<(), Error> {
        self.failures = sidecar::failures(dir);
        self.memory = sidecar::pass(dir);
        self.suspensions = orders::suspensions(dir)?;
        self.allowances = orders::allowances(dir);
        Ok(())
    }

    /// Returns what is recorded as applied, or nothing where nothing ever was.
    #[must_use]
    pub fn tip(&self) -> Option<&Tip> {
        self.tip.as_ref()
    }

    /// Returns the newest revision that a process dealt with: on shared state, it may be announced only.
    #[must_use]
    pub fn newest(&self) -> Option<CommitId> {
        self.newest
    }

    /// Returns the revision of a request that may have been stored, if no commit has recorded the revision: the pass died.
    pub(crate) fn requested(&self) -> Option<CommitId> {
        self.requested
    }

    /// Returns the process that has announced a pass on shared state, as a reader finds it. It may have died.
    #[must_use]
    pub fn holder(&self) -> Option<&str> {
        self.holder.as_deref()
    }

    /// Returns the base URL that this state belongs to, where there is one on record.
    #[must_use]
    pub fn base_url(&self) -> Option<&str> {
        self.base_url.as_deref()
    }

    /// Returns the toggles whose last request has no known outcome.
    #[must_use]
    pub fn unknown(&self) -> &BTreeMap<ToggleId, Unknown> {
        &self.unknown
    }

    /// Returns what the service confirmed and the tip does not hold yet: a pass is running, or one died. Empty in a
    /// [`Store`](super::Store) that was just opened, which records it first.
    #[must_use]
    pub fn settled(&self) -> &BTreeMap<ToggleId, Sent> {
        &self.settled
    }

    /// Returns the documents that the service refused last.
    #[must_use]
    pub fn refusals(&self) -> &BTreeMap<ToggleId, Refusal> {
        &self.failures.refusals
    }

    /// Returns the last tries of requests that the service has not confirmed.
    #[must_use]
    pub fn tries(&self) -> &BTreeMap<ToggleId, Tried> {
        &self.failures.tries
    }

    /// Returns the requests that the service has not confirmed.
    #[must_use]
    pub fn failures(&self) -> &Failures {
        &self.failures
    }

    /// Returns whether anything is recorded as applied.
    #[must_use]
    pub fn has_applied(&self) -> bool {
        self.tip.as_ref().is_some_and(|tip| tip.tree != EMPTY_TREE)
    }

    /// Returns what the last clean pass left.
    #[must_use]
    pub fn memory(&self) -> Option<&PassMemory> {
        self.memory.as_ref()
    }

    /// Returns what is suspended, as it was ordered; whether a suspension is over is for the caller's clock.
    #[must_use]
    pub fn suspensions(&self) -> &Suspensions {
        &self.suspensions
    }

    /// Returns what operators allowed and no pass has used up yet, for any revision.
    #[must_use]
    pub fn allowances(&self) -> &[Allowance] {
        &self.allowances
    }

    /// Opens the applied documents for reading, or gives nothing where there is no repository yet.
    ///
    /// # Errors
    /// When the repository cannot be opened.
    pub fn reader(&self) -> Result<Option<ObjectReader>, Error> {
        Ok(self.repository.as_ref().map(ObjectReader::open).transpose()?)
    }
}

/// Returns the repository at `path`, if there is one, and what is recorded in it.
fn record_in(path: &Path) -> Result<(Option<Arc<RepositoryPool>>, Option<Tip>), Error> {
    if !path.exists() {
        return Ok((None, None));
    }
    let handles = Arc::new(RepositoryPool::new(path.to_owned()));
    let tip = Tip::of(ObjectReader::open(&handles)?.repository())?;
    Ok((Some(handles), tip))
}

/// Returns the first line of the journal as it is now: each cut gives it another one.
fn header_of(dir: &Path) -> Result<Vec<u8>, Error> {
    use std::io::{BufRead, BufReader, ErrorKind};

    let path = dir.join("journal");
    let mut line = Vec::new();
    match std::fs::File::open(&path) {
        Ok(file) => {
            let read = BufReader::new(file).read_until(b'\n', &mut line);
            read.map_err(Error::io("read", &path))?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(Error::io("read", &path)(error)),
    }
    Ok(line)
}

fn first_line(bytes: &[u8]) -> &[u8] {
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default()
}
