//! State as a reader sees it: no lock, nothing written, and a writer may be at work.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use super::error::Error;
use super::ledger::{self, Ledger, Replay};
use super::memory::{self, Failures, PassMemory, Refusal, Tried};
use super::record::{self, APPLIED, Tip};
use super::shared::Shared;
use super::{files, intent, orders};
use crate::git::{ObjectReader, RepositoryPool, oid, refs};
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
    /// Grows with every request that is sent.
    pub number: u64,
}

/// What is recorded, at one moment.
#[derive(Clone, Debug, Default)]
pub struct View {
    repository: Option<Arc<RepositoryPool>>,
    tip: Option<Tip>,
    base_url: Option<String>,
    unknown: BTreeMap<ToggleId, Unknown>,
    settled: BTreeMap<ToggleId, Sent>,
    failures: Failures,
    memory: Option<PassMemory>,
    suspensions: Suspensions,
    allowances: Vec<Allowance>,
    /// Where a fetched repository lies, for as long as somebody may read it.
    temporary: Option<Arc<TempDir>>,
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
            let replay = parse_journal(dir, &bytes);
            // The record is read after the journal: what moves from one to the other is seen twice, never not at all.
            let (repository, tip) = record_in(&dir.join("state.git"))?;
            tries += 1;
            if tries < TRIES && header_of(dir)? != first_line(&bytes) {
                continue;
            }
            return Self::new(dir, repository, tip, replay?);
        }
    }

    /// Reads the state that is shared through `shared`, with what `dir` holds besides. Nothing is written in `dir`; what
    /// has to be fetched goes into a temporary folder.
    ///
    /// # Errors
    /// When the remote cannot be read, or something there cannot be understood.
    pub fn fetch(shared: &Shared, dir: &Path) -> Result<Self, Error> {
        let bytes = files::read(&dir.join("journal"))?.unwrap_or_default();
        let Replay { mut ledger, header } = parse_journal(dir, &bytes)?;
        let (path, repository, temporary) = shared.open_to_read()?;
        let at = shared.seen(&repository)?;
        let intent = at.map(|at| intent::parse(&repository, at)).transpose()?.flatten();
        let applied = intent.as_ref().map_or(at, |intent| intent.applied);
        let (local, ours) = record_in(&dir.join("state.git"))?;
        let is_ours = match (&local, &ours, applied) {
            (Some(local), Some(ours), Some(applied)) => {
                ours.commit == applied
                    || refs::descends(ObjectReader::open(local)?.repository(), ours.commit, applied)?
            }
            (_, Some(_), None) => true,
            (_, _, applied) => applied.is_none(),
        };
        let pass = header.as_ref().and_then(|header| header.pass.as_ref());
        let foreign = intent.as_ref().filter(|intent| Some(&intent.pass) != pass);
        if !is_ours {
            ledger.doubt(|_| true);
            if pass.is_some() && (intent.is_none() || foreign.is_some()) {
                ledger.supersede();
            }
        }
        if let Some(intent) = foreign {
            for (id, entry) in intent::listed(&repository, intent.list)?.entries() {
                ledger.intend(id.clone(), entry.clone());
            }
        }
        let tip = match is_ours {
            true => ours,
            false => applied.map(|applied| tip_at(&repository, applied)).transpose()?,
        };
        let (repository, temporary) = match is_ours {
            true => (local, None),
            false => (Some(Arc::new(RepositoryPool::new(path))), temporary),
        };
        let mut view = Self::new(dir, repository, tip, Replay { ledger, header })?;
        view.temporary = temporary;
        Ok(view)
    }

    pub(crate) fn new(
        dir: &Path,
        repository: Option<Arc<RepositoryPool>>,
        tip: Option<Tip>,
        replay: Replay,
    ) -> Result<Self, Error> {
        let recorded = tip.as_ref().map(|tip| tip.base_url.clone());
        // A journal binds the state only while something in it may have been stored.
        let announced = replay.header.filter(|_| !replay.ledger.is_empty());
        let mut view = Self {
            repository,
            base_url: recorded.or(announced.map(|header| header.base_url)),
            tip,
            failures: memory::failures(dir),
            memory: memory::pass(dir),
            suspensions: orders::suspensions(dir)?,
            allowances: orders::allowances(dir),
            ..Self::default()
        };
        view.replace_ledger(&replay.ledger);
        Ok(view)
    }

    pub(crate) fn replace_ledger(&mut self, ledger: &Ledger) {
        let unknown = ledger.unknown();
        self.unknown = unknown
            .map(|(id, entry)| {
                (
                    id.clone(),
                    Unknown {
                        sent: entry.sent.clone(),
                        number: entry.number,
                    },
                )
            })
            .collect();
        self.settled = ledger
            .settled()
            .map(|(id, entry)| (id.clone(), entry.sent.clone()))
            .collect();
    }

    /// Lets go of what is open of the repository.
    pub(crate) fn close(&self) {
        if let Some(repository) = &self.repository {
            repository.close();
        }
    }

    pub(crate) fn replace_tip(&mut self, tip: Option<Tip>) {
        if let Some(tip) = &tip {
            self.base_url = Some(tip.base_url.clone());
        }
        self.tip = tip;
    }

    /// Takes in that a pass at `revision` found what the last clean pass left.
    pub(crate) fn see(&mut self, revision: CommitId) {
        if let Some(memory) = &mut self.memory {
            memory.revision = revision;
        }
    }

    pub(crate) fn replace_memory(&mut self, dir: &Path) -> Result<(), Error> {
        self.failures = memory::failures(dir);
        self.memory = memory::pass(dir);
        self.suspensions = orders::suspensions(dir)?;
        self.allowances = orders::allowances(dir);
        Ok(())
    }

    /// Returns what is recorded as applied, or nothing where nothing ever was.
    #[must_use]
    pub fn tip(&self) -> Option<&Tip> {
        self.tip.as_ref()
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

pub(crate) fn parse_journal(dir: &Path, bytes: &[u8]) -> Result<Replay, Error> {
    ledger::replay(bytes).map_err(|line| Error::BrokenJournal {
        path: dir.join("journal"),
        line,
    })
}

/// Returns the repository at `path`, if there is one, and what is recorded in it.
fn record_in(path: &Path) -> Result<(Option<Arc<RepositoryPool>>, Option<Tip>), Error> {
    if !path.exists() {
        return Ok((None, None));
    }
    let handles = Arc::new(RepositoryPool::new(path.to_owned()));
    let tip = tip(ObjectReader::open(&handles)?.repository(), APPLIED)?;
    Ok((Some(handles), tip))
}

/// Returns what the ref `name` says.
pub(crate) fn tip(repository: &git2::Repository, name: &str) -> Result<Option<Tip>, Error> {
    let Some(commit) = refs::look_up(repository, name)? else {
        return Ok(None);
    };
    tip_at(repository, commit).map(Some)
}

pub(crate) fn tip_at(repository: &git2::Repository, commit: CommitId) -> Result<Tip, Error> {
    let commit = repository.find_commit(oid(commit.0));
    record::tip(&commit.map_err(Error::repository(repository.path()))?)
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
