#![doc = include_str!("README.md")]

pub(crate) mod folder;
mod history;
mod history_end;
mod mirror;
mod place;
mod reader;
mod revisions;
mod search;
mod snapshot;
mod uncommitted;
pub mod watch;
pub mod worktree;

/// The parents of a merge that the search for the commit of a change follows.
pub use crate::git::Parents;
pub(crate) use history_end::{HistoryEnd, KnownTips};
pub use place::{FetchProblem, Fetched};
pub use reader::Reader;
pub use revisions::{NamedCommit, RevisionError, RevisionLookup};
pub use snapshot::{Relation, Snapshot, subjects};
pub use uncommitted::uncommitted;

use std::path::{Path, PathBuf};
use std::time::Duration;

use place::RepositoryPlace;
use reader::ReaderCache;

use crate::git::{
    GitAccess, GitError, Libgit2Error, ObjectFault, RepoUrl, RepositoryPool, UnsupportedFormat, is_full,
};
use crate::model::{CommitId, ObjectId, Thresholds, escaped, listed, similar_names};

/// The pause before a local repository with an error is read again. Another process may be replacing it.
const REPLACEMENT_PAUSE: Duration = Duration::from_millis(200);

#[derive(Clone, Debug)]
pub struct SourceConfig {
    /// The address of the repository.
    pub location: RepoUrl,
    /// The branch, tag, commit, or full ref; by default the repository's `HEAD`.
    pub reference: Option<String>,
    /// The folder of the documents, relative to the top of the repository; empty for the top itself.
    pub root: String,
    /// The parents of a merge that the search for the commit of a change follows.
    pub parents: Parents,
    /// The settings of connections.
    pub access: GitAccess,
    /// The folder of a URL's mirror; by default a temporary folder. Clones for one command are made beside
    /// it.
    pub cache: Option<PathBuf>,
    /// Whether the mirror may be written.
    pub mode: CacheMode,
    /// Where functions take another path.
    pub thresholds: Thresholds,
}

/// The permitted use of a URL's mirror.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum CacheMode {
    /// It is created, fetched into, and repaired.
    #[default]
    Keep,
    /// It is only read; missing objects are fetched into a clone that is removed at the end.
    Untouched,
}

/// A repository that snapshots are taken of.
#[derive(Debug)]
pub struct Source {
    config: SourceConfig,
    mirror: mirror::Mirror,
    fetch_head: place::FetchHead,
    /// The full name of the ref that the wanted name was found to be first.
    followed: Option<String>,
}

impl Source {
    /// Creates a source without reading the repository.
    pub fn new(config: SourceConfig) -> Self {
        let (mirror, fetch_head) = (mirror::Mirror::default(), place::FetchHead::default());
        Self { config, mirror, fetch_head, followed: None }
    }

    /// Takes a snapshot of the ref's current commit. If the ref of a URL has not moved, this costs one
    /// lookup.
    pub fn snapshot(&mut self) -> Result<Snapshot, Error> {
        self.recall();
        let snapshot = self.take()?;
        self.follow(snapshot.reference())?;
        mirror::remember(&self.config, snapshot.reference())?;
        Ok(snapshot)
    }

    fn take(&mut self) -> Result<Snapshot, Error> {
        let config = &self.config;
        let Some(path) = config.location.local_path() else {
            return self.mirror.snapshot(config);
        };
        let place = RepositoryPlace::at(path);
        match local_snapshot(config, path, &place) {
            // Another process may be replacing the repository.
            Err(error) if place::is_suspect(&error) => {
                std::thread::sleep(REPLACEMENT_PAUSE);
                local_snapshot(config, path, &place).map_err(|error| place.explain(error))
            }
            found => found,
        }
    }

    /// Returns whether the repository is on this machine, where a lookup costs microseconds.
    pub(crate) fn is_local(&self) -> bool {
        self.config.location.local_path().is_some()
    }

    /// Returns the ref's current commit. This costs one lookup and no fetch.
    pub(crate) fn resolve(&mut self) -> Result<CommitId, Error> {
        self.recall();
        let config = &self.config;
        let resolved = match config.location.local_path() {
            None => self.mirror.resolve(config)?,
            Some(path) => {
                let reference = config.reference.as_deref();
                let (repository, resolved) = revisions::open_and_resolve(path, reference)?;
                self.fetch_head.update(&repository, reference, &resolved);
                resolved
            }
        };
        self.follow(&resolved.reference)?;
        Ok(resolved.commit)
    }

    /// Reads which ref the wanted name was to an earlier process, before a damaged clone is replaced.
    fn recall(&mut self) {
        if self.followed.is_none() {
            self.followed = mirror::remembered(&self.config);
        }
    }

    /// Refuses `found` if the wanted name was another ref before: a branch that was deleted is not replaced by a
    /// tag of its name.
    fn follow(&mut self, found: &str) -> Result<(), Error> {
        let Some(name) = self.config.reference.as_ref().filter(|name| *name != "HEAD") else {
            return Ok(());
        };
        let before = self.followed.get_or_insert_with(|| found.to_owned());
        if before == found {
            return Ok(());
        }
        Err(Error::OtherRef { name: name.clone(), before: before.clone(), found: found.to_owned() })
    }

    /// Returns when a checkout was last current, as of the last lookup; `None` for a URL and for a repository
    /// without a fetch.
    pub(crate) fn fetched(&self) -> Option<Fetched> {
        self.fetch_head.fetched()
    }

    /// Returns whether another snapshot may avoid `error`, which a reader of a snapshot returned. The next
    /// snapshot of a URL then clones the mirror again.
    pub(crate) fn repair(&mut self, error: &Error) -> bool {
        let may_help = error.is_damage();
        if may_help && !self.is_local() {
            tracing::warn!(name: "mirror_damaged", reason = %error, "the mirror of the source is damaged; cloning it again");
            self.mirror.distrust();
        }
        may_help
    }

    /// Returns the URL of the repository's `origin` as configured, or the URL of a URL source.
    pub(crate) fn origin_url(&self) -> Result<Option<String>, Error> {
        match self.config.location.local_path() {
            Some(path) => revisions::origin_url(path),
            None => Ok(Some(self.config.location.to_string())),
        }
    }

    /// Opens the repository, whose revisions are then looked up by name; `None` if it is behind a URL.
    pub(crate) fn revisions(&self) -> Result<Option<RevisionLookup>, Error> {
        let path = self.config.location.local_path();
        path.map(|path| RevisionLookup::open(&self.config, path)).transpose()
    }
}

fn local_snapshot(config: &SourceConfig, path: &Path, place: &RepositoryPlace) -> Result<Snapshot, Error> {
    let (repository, resolved) = revisions::open_and_resolve(path, config.reference.as_deref())?;
    let cache = ReaderCache::new(RepositoryPool::of(repository), Some(place.clone()), config.thresholds);
    Snapshot::take(cache, resolved, &config.root, config.parents, None)
}

#[cfg(test)]
mod history_end_tests;
#[cfg(test)]
mod history_tests;
#[cfg(test)]
mod mirror_tests;
#[cfg(test)]
mod simulation;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

/// Why a source could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("the commit id `{}` is ambiguous", escaped(.0))]
    AmbiguousId(String),
    #[error("`{}` is ambiguous: it is the short name of {}", escaped(name), listed(&quoted(full)))]
    AmbiguousRef { name: String, full: Vec<String> },
    #[error("`{}` was `{}` before, and is `{}` now", escaped(name), escaped(before), escaped(found))]
    OtherRef { name: String, before: String, found: String },
    #[error("{}", unborn(.0))]
    Unborn(String),
    #[error("the default branch of the repository does not exist; it has {}", listed(&quoted(branches)))]
    NoDefaultBranch { branches: Vec<String> },
    #[error("{0}")]
    Format(UnsupportedFormat),
    #[error("git: {0}")]
    Git(Libgit2Error),
    #[error("could not {what} `{}`", escaped(&path.to_string_lossy()))]
    Io { what: &'static str, path: PathBuf, source: std::io::Error },
    #[error("the object {0} is missing: the repository is damaged")]
    MissingObject(ObjectId),
    #[error("could not find a repository at `{}`", escaped(&.0.to_string_lossy()))]
    NoRepository(PathBuf),
    #[error("could not find the folder `{}`", escaped(&.0.to_string_lossy()))]
    NoFolder(PathBuf),
    #[error("the repository at `{}` is bare and has no work tree", escaped(&.0.to_string_lossy()))]
    NoWorkTree(PathBuf),
    #[error("the folder `{}` does not exist at {revision}", escaped(root))]
    NoRoot { root: String, revision: CommitId },
    #[error("`{}` does not name a commit", escaped(.0))]
    NotACommit(String),
    #[error("the object {0} is not a {1}")]
    WrongType(ObjectId, &'static str),
    #[error("the object {0} is not in this partial clone")]
    PartialClone(ObjectId),
    #[error(transparent)]
    Remote(#[from] GitError),
    #[error("`{}` is not a folder at {revision}", escaped(root))]
    RootNotFolder { root: String, revision: CommitId },
    #[error("the tree {0} is malformed")]
    MalformedTree(ObjectId),
    #[error("could not read {what} of the repository at `{}`: it is damaged", escaped(&path.to_string_lossy()))]
    Damaged { path: PathBuf, what: &'static str },
    #[error("could not read `{}`: permission denied{}", escaped(&path.to_string_lossy()), user(*uid))]
    Unreadable { path: PathBuf, uid: Option<u32> },
    #[error("could not find a branch, tag, or commit `{}`{}", escaped(reference), similar_names(near))]
    UnknownRef { reference: String, near: Vec<String>, head: HeadKind },
    #[error("the repository at `{}` vanished while it was read", escaped(&.0.to_string_lossy()))]
    Vanished(PathBuf),
}

/// The kind of a repository's `HEAD`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HeadKind {
    /// A branch, or unknown.
    Branch,
    /// A commit.
    Detached,
}

/// Returns what is wrong with a branch without a commit. A host names no branch where `HEAD` leads nowhere.
fn unborn(branch: &str) -> String {
    match branch {
        "HEAD" => "the repository has no branch".to_owned(),
        branch => format!("the branch `{}` has no commit yet", escaped(branch)),
    }
}

const FREE_SPACE: &str = "the disk is full: free some space";

/// The consequence of an error for a pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ErrorKind {
    /// The repository is readable, but the ref or the root is missing: the pass fails, and removes no toggle.
    Absent,
    /// The repository is unreadable: the pass fails.
    Failed,
    /// The repository was removed or replaced, as a sidecar does: the pass starts over at once.
    Vanished,
}

impl Error {
    /// Returns the consequence of the error for a pass.
    pub(crate) const fn kind(&self) -> ErrorKind {
        match self {
            Self::AmbiguousId(_)
            | Self::AmbiguousRef { .. }
            | Self::OtherRef { .. }
            | Self::NoRoot { .. }
            | Self::RootNotFolder { .. }
            | Self::Unborn(_)
            | Self::NoDefaultBranch { .. }
            | Self::UnknownRef { .. }
            | Self::NotACommit(_) => ErrorKind::Absent,
            Self::Vanished(_) => ErrorKind::Vanished,
            _ => ErrorKind::Failed,
        }
    }

    /// Returns whether only a person can end it, as opposed to an outage.
    pub(crate) fn needs_someone(&self) -> bool {
        match self {
            Self::Remote(error) => error.needs_someone(),
            _ => self.kind() == ErrorKind::Absent,
        }
    }

    /// Returns whether the repository itself is at fault, not the connection or the disk, so that a new clone
    /// may help.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Self::Git(error) => error.io_fault().is_none(),
            Self::Damaged { .. }
            | Self::MissingObject(_)
            | Self::MalformedTree(_)
            | Self::WrongType(..)
            | Self::Vanished(_) => true,
            _ => false,
        }
    }

    /// Returns advice for the operator.
    pub(crate) fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::AmbiguousId(_) => {
                "use more digits of the commit id, or pass the full name of the branch or tag that you mean"
            }
            Self::AmbiguousRef { .. } | Self::OtherRef { .. } => {
                "pass the full name of the one that you mean"
            }
            Self::NoRepository(_) => {
                "pass the top folder of a work tree, a bare repository, or a URL as `--repo`"
            }
            Self::NoRoot { .. } | Self::RootNotFolder { .. } => {
                "pass a folder relative to the top of the repository as `--root`"
            }
            Self::PartialClone(_) => "clone without `--filter`, or run `git fetch --refetch --no-filter`",
            Self::Format(UnsupportedFormat::Reftable) => {
                "convert it with `git refs migrate --ref-format=files`, or pass its URL as `--repo`"
            }
            Self::Format(UnsupportedFormat::Extension(_)) => "clone it again, or pass its URL as `--repo`",
            Self::NoDefaultBranch { .. } => {
                "restore it, name another default branch on the host, or pass a branch as `--ref`; a missing branch removes \
                 no toggle"
            }
            Self::Unborn(branch) if branch == "HEAD" => {
                "push a branch; if it has one, check `--repo`, because another server may have responded; a missing branch \
                 removes no toggle"
            }
            Self::Unborn(_) => "create a commit, or pass another branch as `--ref`",
            Self::UnknownRef { head: HeadKind::Detached, .. } => {
                "leave `--ref` out: `HEAD` is detached, as git-sync leaves it, and the default follows it"
            }
            Self::UnknownRef { .. } => "pass an existing ref as `--ref`; a missing branch removes no toggle",
            Self::NotACommit(_) => "pass a branch, a tag, or a commit as `--ref`",
            Self::Git(error) if error.io_fault().as_ref().is_some_and(is_full) => FREE_SPACE,
            Self::Damaged { .. }
            | Self::Git(_)
            | Self::MissingObject(_)
            | Self::WrongType(..)
            | Self::MalformedTree(_) => {
                "run `git fsck` in the repository as this user; if it is damaged, clone it again"
            }
            Self::Format(UnsupportedFormat::Sha256) => {
                "use a repository with SHA-1 ids, as created by `git init --object-format=sha1`"
            }
            Self::NoWorkTree(_) => {
                "check committed documents with `validate --ref HEAD`, or run `plan` without `--worktree`"
            }
            Self::Unreadable { .. } => {
                "give this user read access, or run this process as the user or in the group that owns the repository"
            }
            Self::NoFolder(_) => "check the path and `--root`",
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                "give this user read access"
            }
            Self::Io { source, .. } if is_full(source) => FREE_SPACE,
            Self::Vanished(_) => "try again when the repository is back",
            Self::Remote(error) => return error.hint(),
            Self::Io { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

impl From<Libgit2Error> for Error {
    fn from(error: Libgit2Error) -> Self {
        Self::Git(error)
    }
}

impl From<ObjectFault> for Error {
    fn from(fault: ObjectFault) -> Self {
        match fault {
            ObjectFault::Git(error) => Self::Git(error),
            ObjectFault::Malformed(id) => Self::MalformedTree(id),
            ObjectFault::Missing(id) => Self::MissingObject(id),
            ObjectFault::WrongType(id, kind) => Self::WrongType(id, kind),
        }
    }
}

fn quoted(names: &[String]) -> Vec<String> {
    names.iter().map(|name| format!("`{}`", escaped(name))).collect()
}

fn user(uid: Option<u32>) -> String {
    uid.map(|uid| format!(" for uid {uid}")).unwrap_or_default()
}

/// Classifies the error of opening `path` as a repository.
fn cannot_open(path: &Path, error: Libgit2Error) -> Error {
    match error.unsupported_format() {
        Some(format) => Error::Format(format),
        None if error.is_not_found() => Error::NoRepository(path.to_owned()),
        None => error.into(),
    }
}
