//! The errors of sources, with their hints.

use std::path::{Path, PathBuf};

use crate::git::{GitError, GitFault, Libgit2Error, ObjectFault, UnsupportedFormat, is_full};
use crate::model::{CommitId, ObjectId, escaped, similar_names};

/// Why a source could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("the commit id `{}` is ambiguous", escaped(.0))]
    AmbiguousId(String),
    #[error("the branch `{}` has no commit yet", escaped(.0))]
    Unborn(String),
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
            Self::NoRoot { .. }
            | Self::RootNotFolder { .. }
            | Self::Unborn(_)
            | Self::UnknownRef { .. }
            | Self::NotACommit(_) => ErrorKind::Absent,
            Self::Vanished(_) => ErrorKind::Vanished,
            _ => ErrorKind::Failed,
        }
    }

    /// Returns whether the repository itself is at fault, not the connection or the disk, so that a new clone may help.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Self::Git(error) => error.io_fault().is_none(),
            Self::Remote(error) => error.fault() == Some(GitFault::Other),
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
            Self::AmbiguousId(_) => "use more digits of the commit id",
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
            Self::Unborn(_) => "create a commit, or pass another branch as `--ref`",
            Self::UnknownRef { head: HeadKind::Detached, .. } => {
                "leave `--ref` out: `HEAD` is detached, as git-sync leaves it, and the default follows it"
            }
            Self::UnknownRef { .. } => "pass an existing ref as `--ref`; a missing branch removes no toggle",
            Self::NotACommit(_) => "pass a branch, a tag, or a commit as `--ref`",
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
            Self::Io { source, .. } if is_full(source) => "the disk is full: free some space",
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

fn user(uid: Option<u32>) -> String {
    uid.map(|uid| format!(" for uid {uid}")).unwrap_or_default()
}

/// Classifies the error of opening `path` as a repository.
pub(super) fn cannot_open(path: &Path, error: Libgit2Error) -> Error {
    match error.unsupported_format() {
        Some(format) => Error::Format(format),
        None if error.is_not_found() => Error::NoRepository(path.to_owned()),
        None => error.into(),
    }
}
