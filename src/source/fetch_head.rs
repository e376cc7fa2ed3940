//! When a checkout that another process keeps up to date was last known to be current.
//!
//! `git fetch` empties `FETCH_HEAD` before it asks the remote, and fills it after it has succeeded. The file forgets a
//! success as soon as a later fetch fails, so the time of the success is kept here from lookup to lookup.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use git2::Oid;

use super::resolve::Resolved;
use crate::git::{Repository, object_id, oid};
use crate::model::CommitId;

/// How much of the file is read, in bytes. The commit to be checked out comes first.
const MOST_BYTES: u64 = 1 << 20;

/// How many of its commits may be tags, or ancestors of the checkout.
const MOST_CANDIDATES: usize = 16;

/// When a source was last known to be current.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Fetched {
    /// The time of the fetch or of the lookup.
    pub at: SystemTime,
    /// Why the last fetch did not make the source current.
    pub problem: Option<FetchProblem>,
}

/// Why a fetch did not make a checkout current.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FetchProblem {
    /// The fetch failed, or has not ended.
    Failed,
    /// This commit was fetched, and the checkout is at another one.
    NotCheckedOut(CommitId),
}

/// What `FETCH_HEAD` has shown so far.
#[derive(Debug, Default)]
pub(super) struct FetchHead {
    seen: Option<Seen>,
    fetched: Option<Fetched>,
}

/// The file and the checkout as of a lookup: while they stay the same, so does what they show.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Seen {
    modified: SystemTime,
    length: u64,
    checkout: Oid,
}

impl FetchHead {
    /// Returns when the checkout was last current; nothing for a repository that was never fetched into.
    pub(super) const fn fetched(&self) -> Option<Fetched> {
        self.fetched
    }

    /// Reads the file of `repository`, in which `reference` was `resolved`.
    pub(super) fn look(&mut self, repository: &Repository, reference: Option<&str>, resolved: &Resolved) {
        let path = repository.commondir().join("FETCH_HEAD");
        let Some(seen) = Seen::of(&path, oid(resolved.commit.0)) else {
            *self = Self::default();
            return;
        };
        if self.seen == Some(seen) {
            return;
        }
        self.seen = Some(seen);
        let problem = match reference {
            None | Some("HEAD") => problem(repository, &path, seen.checkout),
            // A fetch moves the ref itself, and nothing has to be checked out.
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
    fn of(path: &Path, checkout: Oid) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        Some(Self {
            modified: found.modified().ok()?,
            length: found.len(),
            checkout,
        })
    }
}

/// Returns why the last fetch did not make `checkout` current. A file that cannot be read shows its time only.
fn problem(repository: &Repository, path: &Path, checkout: Oid) -> Option<FetchProblem> {
    let fetched = commits(path)?;
    let Some(first) = fetched.first() else {
        return Some(FetchProblem::Failed);
    };
    let peel = |id: &Oid| {
        let object = repository.find_object(*id, None).ok()?;
        Some(object.peel_to_commit().ok()?.id())
    };
    // Commits that were made here come after what was fetched. A detached checkout only ever follows.
    let follows = repository.head_detached().unwrap_or_default();
    let contains = |id: Oid| !follows && repository.graph_descendant_of(checkout, id).unwrap_or_default();
    let is_current = |id: &Oid| peel(id).is_some_and(|id| id == checkout || contains(id));
    if fetched.contains(&checkout) || fetched.iter().take(MOST_CANDIDATES).any(is_current) {
        return None;
    }
    let first = object_id(peel(first).unwrap_or(*first));
    Some(FetchProblem::NotCheckedOut(CommitId(first)))
}

/// Returns the ids in the file, which has one line for each ref that was fetched.
fn commits(path: &Path) -> Option<Vec<Oid>> {
    let mut text = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MOST_BYTES).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    let id = |line: &str| Oid::from_str(line.split('\t').next()?).ok();
    Some(text.lines().filter_map(id).collect())
}

/// Returns when the checkout last moved: a fetch had succeeded by then.
fn checked_out(repository: &Repository) -> Option<SystemTime> {
    let files = ["HEAD", "logs/HEAD"].map(|name| repository.path().join(name));
    let modified = |path| fs::metadata(path).ok()?.modified().ok();
    files.into_iter().filter_map(modified).max()
}
