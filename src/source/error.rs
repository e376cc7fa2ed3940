//! The errors of sources, with their hints.

use std::path::{Path, PathBuf};

use crate::git::{GitError, GitFault, Libgit2Error, ObjectFault, UnsupportedFormat, is_full};
use crate::model::{CommitId, ObjectId, escaped, similar_names};

/// Why a source could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A short id that matches several objects.
    #[error("the commit id `{}` is ambiguous", escaped(.0))]
    AmbiguousId(String),
    /// The branch of `HEAD` without a commit.
    #[error("the branch `{}` has no commit yet", escaped(.0))]
    Unborn(String),
    /// A repository in a format that libgit2 does not support.
    #[error("{0}")]
    Format(UnsupportedFormat),
    /// Another error of libgit2.
    #[error("git: {0}")]
    Git(Libgit2Error),
    /// An I/O error of a file or folder.
    #[error("could not {what} `{}`", escaped(&path.to_string_lossy()))]
    Io {
        /// The operation that failed, as a verb.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// An object that is not in the repository.
    #[error("the object {0} is missing: the repository is damaged")]
    MissingObject(ObjectId),
    /// A path without a repository.
    #[error("could not find a repository at `{}`", escaped(&.0.to_string_lossy()))]
    NoRepository(PathBuf),
    /// A path without a folder.
    #[error("could not find the folder `{}`", escaped(&.0.to_string_lossy()))]
    NoFolder(PathBuf),
    /// A bare repository, which has no files.
    #[error("the repository at `{}` is bare and has no work tree", escaped(&.0.to_string_lossy()))]
    NoWorkTree(PathBuf),
    /// A root that is not in the tree.
    #[error("the folder `{}` does not exist at {revision}", escaped(root))]
    NoRoot {
        /// The root as configured.
        root: String,
        /// The commit that was searched.
        revision: CommitId,
    },
    /// A ref that does not point at a commit.
    #[error("`{}` does not name a commit", escaped(.0))]
    NotACommit(String),
    /// An object of another type than the expected one.
    #[error("the object {0} is not a {1}")]
    WrongType(ObjectId, &'static str),
    /// An object that a partial clone lacks.
    #[error("the object {0} is not in this partial clone")]
    PartialClone(ObjectId),
    /// An error of the connection to the repository.
    #[error(transparent)]
    Remote(#[from] GitError),
    /// A root that is a file, a symbolic link, or a submodule.
    #[error("`{}` is not a folder at {revision}", escaped(root))]
    RootNotFolder {
        /// The root as configured.
        root: String,
        /// The commit that was searched.
        revision: CommitId,
    },
    /// A tree that violates Git's format.
    #[error("the tree {0} is malformed")]
    MalformedTree(ObjectId),
    /// A damaged repository at a path.
    #[error("could not read {what} of the repository at `{}`: it is damaged", escaped(&path.to_string_lossy()))]
    Damaged {
        /// The path as configured.
        path: PathBuf,
        /// The part that could not be read.
        what: &'static str,
    },
    /// A part of the repository without read permission.
    #[error("could not read `{}`: permission denied{}", escaped(&path.to_string_lossy()), user(*uid))]
    Unreadable {
        /// The part of the repository.
        path: PathBuf,
        /// The user of this process, if known.
        uid: Option<u32>,
    },
    /// A ref that does not exist.
    #[error("could not find a branch, tag, or commit `{}`{}", escaped(reference), similar_names(near))]
    UnknownRef {
        /// The ref as configured.
        reference: String,
        /// Similar names of existing refs, best first.
        near: Vec<String>,
        /// The kind of the repository's `HEAD`.
        head: HeadKind,
    },
    /// A repository that was removed or replaced while it was read.
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
    pub const fn kind(&self) -> ErrorKind {
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
    pub fn hint(&self) -> Option<String> {
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
