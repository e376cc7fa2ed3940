//! Determines when a checkout that another process updates was last known to be current.
//!
//! `git fetch` empties `FETCH_HEAD` before it contacts the remote, and fills it after it succeeds. A later fetch that fails
//! erases the time of the success, so [`FetchHead`] keeps that time from lookup to lookup.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use super::resolve::Resolved;
use crate::git::{Repository, commit, history, refs};
use crate::model::CommitId;

/// The number of bytes of the file that are read. The commit to be checked out comes first.
const MOST_BYTES: u64 = 1 << 20;

/// The number of its commits that are checked for being tags or ancestors of the checkout.
const MOST_CANDIDATES: usize = 16;

/// When a source was last known to be current.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Fetched {
    /// The time of the fetch or of the lookup.
    pub at: SystemTime,
    /// The reason that the last fetch did not make the source current.
    pub problem: Option<FetchProblem>,
}

/// Why a fetch did not make a checkout current.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FetchProblem {
    /// The fetch failed or is running.
    Failed,
    /// This commit was fetched, but another one is checked out.
    NotCheckedOut(CommitId),
}

/// The result of the lookups of `FETCH_HEAD` so far.
#[derive(Debug, Default)]
pub(super) struct FetchHead {
    seen: Option<Seen>,
    fetched: Option<Fetched>,
}

/// The file and the checkout at a lookup. While they are unchanged, so is the result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Seen {
    modified: SystemTime,
    length: u64,
    checkout: CommitId,
}

impl FetchHead {
    /// Returns when the checkout was last current; `None` for a repository without a fetch.
    pub(super) const fn fetched(&self) -> Option<Fetched> {
        self.fetched
    }

    /// Reads the file of `repository`, after `reference` was `resolved` in it.
    pub(super) fn update(&mut self, repository: &Repository, reference: Option<&str>, resolved: &Resolved) {
        let path = repository.commondir().join("FETCH_HEAD");
        let Some(seen) = Seen::of(&path, resolved.commit) else {
            *self = Self::default();
            return;
        };
        // The daemon looks up a local source every second, so an unchanged file is not read again.
        if self.seen == Some(seen) {
            return;
        }
        self.seen = Some(seen);
        let problem = match reference {
            None | Some("HEAD") => problem(repository, &path, seen.checkout),
            // A fetch moves the ref itself, so no checkout has to follow.
            Some(_) => (seen.length == 0).then_some(FetchProblem::Failed),
        };
        let at = match (problem, self.fetched) {
            (None, _) => seen.modified,
            (Some(_), Some(known)) => known.at,
            (Some(_), None) => checked_out(repository).map_or(seen.modified, |at| at.min(seen.modified)),
        };
        self.fetched = Some(Fetched { at, problem });
    }
}

impl Seen {
    fn of(path: &Path, checkout: CommitId) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        Some(Self { modified: found.modified().ok()?, length: found.len(), checkout })
    }
}

/// Returns why the last fetch did not make `checkout` current. An unreadable file counts only with its time.
fn problem(repository: &Repository, path: &Path, checkout: CommitId) -> Option<FetchProblem> {
    let fetched = commits(path)?;
    let Some(first) = fetched.first() else {
        return Some(FetchProblem::Failed);
    };
    // Local commits come after the fetched ones. A detached checkout has no local commits.
    let follows = refs::is_detached(repository);
    let contains = |id| !follows && history::is_descendant(repository, checkout, id).unwrap_or_default();
    let peel = |id: &CommitId| commit::peel(repository, *id);
    let is_current = |id: &CommitId| peel(id).is_some_and(|id| id == checkout || contains(id));
    if fetched.contains(&checkout) || fetched.iter().take(MOST_CANDIDATES).any(is_current) {
        return None;
    }
    Some(FetchProblem::NotCheckedOut(peel(first).unwrap_or(*first)))
}

/// Returns the ids in the file, which has one line for each fetched ref.
fn commits(path: &Path) -> Option<Vec<CommitId>> {
    let mut text = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MOST_BYTES).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    let id = |line: &str| line.split('\t').next()?.parse().ok().map(CommitId);
    Some(text.lines().filter_map(id).collect())
}

/// Returns when the checkout last moved. A fetch had succeeded by then.
fn checked_out(repository: &Repository) -> Option<SystemTime> {
    let files = ["HEAD", "logs/HEAD"].map(|name| repository.path().join(name));
    let modified = |path| fs::metadata(path).ok()?.modified().ok();
    files.into_iter().filter_map(modified).max()
}
