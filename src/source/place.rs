//! Knows a repository at a path that other processes change: why it could not be read, and when it was last
//! current.
//!
//! Another process may be replacing it, so the path is checked again before an error is reported. If the
//! repository was removed or replaced, the pass starts over. If it is unreadable, a permission is missing.
//! Any other error is damage.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Error;
use super::revisions::Resolved;
use crate::git::{Repository, commit, refs};
use crate::model::CommitId;

/// The number of files and folders that are checked for a missing permission.
const MOST_FILES: usize = 50_000;

/// The path of a repository, and its identity when reading began.
#[derive(Clone, Debug)]
pub(super) struct RepositoryPlace {
    path: PathBuf,
    identity: Option<Identity>,
}

/// The values that change when a repository is replaced: the target of the path, and its repository folder.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Identity {
    target: PathBuf,
    folders: [Option<Folder>; 2],
}

/// Device, inode, and creation time. A file system may reuse an inode, but not with the same creation time.
type Folder = (u64, u64, Option<SystemTime>);

impl RepositoryPlace {
    /// Records the identity of `path` before it is read.
    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), identity: identity(path) }
    }

    /// Checks the path again, and returns the cause of `error`.
    pub(super) fn explain(&self, error: Error) -> Error {
        if !is_suspect(&error) {
            return error;
        }
        if self.identity.is_some() && identity(&self.path) != self.identity {
            return Error::Vanished(self.path.clone());
        }
        // libgit2 reports files that it must not read as missing or malformed, so permissions come before
        // damage.
        if let Some(path) = unreadable(&self.path) {
            return Error::Unreadable { path, uid: user_id() };
        }
        let Error::Git(error) = error else { return error };
        let path = self.path.clone();
        match error.io_fault() {
            Some(source) => Error::Io { what: "read", path, source },
            None => {
                tracing::debug!(name: "source_damaged", reason = error.message(), "the source is damaged");
                let what = error.part();
                Error::Damaged { path, what }
            }
        }
    }
}

/// Returns whether a replaced or unreadable repository may be the cause of `error`.
pub(super) fn is_suspect(error: &Error) -> bool {
    matches!(
        error,
        Error::Damaged { .. }
            | Error::Git(_)
            | Error::MalformedTree(_)
            | Error::MissingObject(_)
            | Error::NoRepository(_)
            | Error::UnknownRef { .. }
            | Error::Unborn(_)
            | Error::WrongType(..)
    )
}

fn identity(path: &Path) -> Option<Identity> {
    let target = fs::canonicalize(path).ok()?;
    let folder = |path: &Path| {
        let found = fs::metadata(path).ok()?;
        Some((found.dev(), found.ino(), found.created().ok()))
    };
    let folders = [folder(&target), folder(&git_folder(&target))];
    Some(Identity { target, folders })
}

/// Returns the repository folder of `top`: `.git`, the target of a linked work tree's `.git`, or a bare
/// repository itself.
fn git_folder(top: &Path) -> PathBuf {
    let git = top.join(".git");
    let link = fs::read_to_string(&git).ok();
    let link = link.as_deref().and_then(|text| text.strip_prefix("gitdir: "));
    match link {
        Some(folder) => top.join(folder.trim_end()),
        None if git.symlink_metadata().is_ok() => git,
        None => top.to_owned(),
    }
}

/// Returns the first part of the repository at `path` that this process must not read.
fn unreadable(path: &Path) -> Option<PathBuf> {
    let git = git_folder(path);
    let common = match fs::read_to_string(git.join("commondir")) {
        Ok(folder) => git.join(folder.trim_end()),
        Err(_) => git.clone(),
    };
    let mut left = MOST_FILES;
    [path, &path.join(".git"), &git, &git.join("HEAD"), &common]
        .into_iter()
        .find(|part| is_denied(part))
        .map(Path::to_owned)
        .or_else(|| {
            ["HEAD", "config", "packed-refs", "refs", "objects"]
                .into_iter()
                .find_map(|name| denied_below(&common.join(name), &mut left))
        })
}

fn is_denied(path: &Path) -> bool {
    let Ok(found) = fs::metadata(path) else {
        return fs::metadata(path).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
    };
    let opened = match (found.is_dir(), found.is_file()) {
        // A folder that may be listed but not entered fails only for its content.
        (true, _) => fs::read_dir(path).and_then(|_| fs::metadata(path.join("."))).map(drop),
        (_, true) => File::open(path).map(drop),
        _ => Ok(()),
    };
    opened.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

fn denied_below(path: &Path, left: &mut usize) -> Option<PathBuf> {
    if is_denied(path) {
        return Some(path.to_owned());
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        *left = left.checked_sub(1)?;
        if let Some(denied) = denied_below(&entry.path(), left) {
            return Some(denied);
        }
    }
    None
}

/// Returns the user id for file access, if the system provides it.
fn user_id() -> Option<u32> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    // The last of the four ids is the one that the system checks for file access.
    line.split_whitespace().last()?.parse().ok()
}

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

/// The result of the lookups of `FETCH_HEAD` so far, for a checkout that another process updates.
///
/// `git fetch` empties the file before it contacts the remote, and fills it after it succeeds. A later fetch
/// that fails erases the time of the success, so this keeps that time from lookup to lookup.
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
    let contains = |id| !follows && commit::is_descendant(repository, checkout, id).unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use super::super::testing::Repo;
    use super::*;

    fn broken() -> Error {
        let error = git2::Error::new(git2::ErrorCode::GenericError, git2::ErrorClass::Os, "no such thing");
        Error::Git(error.into())
    }

    #[test]
    fn a_persistent_error_is_damage_and_a_replaced_or_removed_repository_vanished() {
        let (one, two) = (Repo::new(), Repo::new());
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("current");
        std::os::unix::fs::symlink(one.path(), &link).unwrap();
        let place = RepositoryPlace::at(&link);
        let damage = place.explain(broken());
        assert!(matches!(damage, Error::Damaged { .. }), "{damage:?}");
        let text = damage.to_string();
        assert!(text.contains("is damaged") && !text.contains("no such thing"), "{text}");
        fs::remove_file(&link).unwrap();
        assert!(matches!(place.explain(broken()), Error::Vanished(_)), "gone");
        std::os::unix::fs::symlink(two.path(), &link).unwrap();
        assert!(matches!(place.explain(broken()), Error::Vanished(_)), "replaced");
        let place = RepositoryPlace::at(one.path());
        fs::rename(one.join(".git"), one.join("old")).unwrap();
        one.git(&["init", "-q"]);
        assert!(matches!(place.explain(broken()), Error::Vanished(_)), "cloned again");
    }
}
