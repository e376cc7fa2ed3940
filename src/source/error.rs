//! What can go wrong with a source, and what to do about it.

use std::path::{Path, PathBuf};

use crate::git::{GitError, Libgit2Error, ObjectFault, io_fault, is_full};
use crate::model::{CommitId, ObjectId, escaped};

/// Why a source gives no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A short commit id that several objects share.
    #[error("`{}` is the beginning of more than one object's id", escaped(.0))]
    AmbiguousId(String),
    /// The repository has no commit on its branch yet.
    #[error("the branch `{}` has no commit yet", escaped(.0))]
    Unborn(String),
    /// The repository keeps something in a way that is not understood.
    #[error("the repository uses Git's extension `{}`, which is not supported", escaped(.0))]
    Extension(String),
    /// libgit2 says so.
    #[error("git: {}", escaped(error.message()))]
    Git {
        /// What it said.
        error: git2::Error,
    },
    /// A file or folder cannot be used.
    #[error("cannot {what} `{}`", escaped(&path.to_string_lossy()))]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An object that the repository should have is not there.
    #[error("the object {0} is missing: the repository is damaged")]
    MissingObject(ObjectId),
    /// There is nothing at the path.
    #[error("there is no repository at `{}`", escaped(&.0.to_string_lossy()))]
    NoRepository(PathBuf),
    /// There is no folder at the path.
    #[error("there is no folder `{}`", escaped(&.0.to_string_lossy()))]
    NoFolder(PathBuf),
    /// A bare repository has no files to look at.
    #[error("the repository at `{}` is bare and has no work tree", escaped(&.0.to_string_lossy()))]
    NoWorkTree(PathBuf),
    /// The root is not in the tree.
    #[error("the folder `{}` does not exist at {revision}", escaped(root))]
    NoRoot {
        /// The root as it was given.
        root: String,
        /// Where it was looked for.
        revision: CommitId,
    },
    /// What the ref names is no commit.
    #[error("`{}` does not name a commit", escaped(.0))]
    NotACommit(String),
    /// An object has another type than the one it is used as.
    #[error("the object {0} is not a {1}")]
    WrongType(ObjectId, &'static str),
    /// Some objects are only at the place it was cloned from.
    #[error("the object {0} is not in this partial clone")]
    PartialClone(ObjectId),
    /// The way to the repository.
    #[error(transparent)]
    Remote(#[from] GitError),
    /// Refs are kept in a format that libgit2 does not read.
    #[error("the repository keeps its refs in the reftable format, which is not supported")]
    Reftable,
    /// The root is a file, a symbolic link or a submodule.
    #[error("`{}` is not a folder at {revision}", escaped(root))]
    RootIsNoFolder {
        /// The root as it was given.
        root: String,
        /// Where it was looked for.
        revision: CommitId,
    },
    /// Object ids are SHA-256.
    #[error("the repository uses SHA-256 object ids, which are not supported")]
    Sha256,
    /// A tree that breaks Git's format.
    #[error("the tree {0} is malformed")]
    MalformedTree(ObjectId),
    /// The repository at a path is damaged.
    #[error("could not read {what} of the repository at `{}`: it is damaged", escaped(&path.to_string_lossy()))]
    Damaged {
        /// The path as it was given.
        path: PathBuf,
        /// The part that could not be read.
        what: &'static str,
    },
    /// This process may not read a part of the repository.
    #[error("could not read `{}`: permission denied{}", escaped(&path.to_string_lossy()), user(*uid))]
    Unreadable {
        /// The part of the repository.
        path: PathBuf,
        /// The user of this process.
        uid: Option<u32>,
    },
    /// The ref is not there.
    #[error(
        "there is no branch, tag or commit `{}`{}",
        escaped(reference),
        suggestion(near)
    )]
    UnknownRef {
        /// The ref as it was given.
        reference: String,
        /// Names that look like it.
        near: Vec<String>,
        /// What the repository's `HEAD` is.
        head: HeadKind,
    },
    /// The repository went away while it was read.
    #[error("the repository at `{}` vanished while it was read", escaped(&.0.to_string_lossy()))]
    Vanished(PathBuf),
}

/// What the `HEAD` of a repository is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HeadKind {
    /// A branch, or not known.
    Branch,
    /// A commit.
    Detached,
}

/// What an error means for a pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ErrorKind {
    /// The repository was read, and what is wanted is not in it: hold, never take it for "everything removed".
    Absent,
    /// It cannot be read.
    Failed,
    /// It went away meanwhile, as a sidecar's does when it is swapped: start over at once.
    Vanished,
}

impl Error {
    /// Returns what the error means for a pass.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::NoRoot { .. }
            | Self::RootIsNoFolder { .. }
            | Self::Unborn(_)
            | Self::UnknownRef { .. }
            | Self::NotACommit(_) => ErrorKind::Absent,
            Self::Vanished(_) => ErrorKind::Vanished,
            _ => ErrorKind::Failed,
        }
    }

    /// Returns whether the repository is at fault, rather than the way to it or the disk that it is on: a fresh clone may
    /// help.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Self::Remote(GitError::Git {
                source: Libgit2Error(error),
            })
            | Self::Git { error } => error.class() != git2::ErrorClass::Net && io_fault(error).is_none(),
            Self::Damaged { .. }
            | Self::MissingObject(_)
            | Self::MalformedTree(_)
            | Self::WrongType(..)
            | Self::Vanished(_) => true,
            _ => false,
        }
    }

    /// Returns what to do about it, where there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::AmbiguousId(_) => "give more digits of the commit id",
            Self::NoRepository(_) => {
                "give the top folder of a work tree, a bare repository or a URL as `--repo`"
            }
            Self::NoRoot { .. } | Self::RootIsNoFolder { .. } => {
                "`--root` is a folder of the repository, counted from its top"
            }
            Self::PartialClone(_) => "clone without `--filter`, or give the URL as `--repo`",
            Self::Reftable => {
                "convert it with `git refs migrate --ref-format=files`, or give its URL as `--repo`"
            }
            Self::Extension(_) => "clone it anew, or give its URL as `--repo`",
            Self::Unborn(_) => "commit something, or name another branch with `--ref`",
            Self::UnknownRef {
                head: HeadKind::Detached,
                ..
            } => {
                "leave `--ref` out: `HEAD` is detached, as git-sync leaves it, and without `--ref` it is followed"
            }
            Self::UnknownRef { .. } => {
                "name one that is there with `--ref`; a branch that is gone removes no toggle"
            }
            Self::NotACommit(_) => "name a branch, a tag or a commit with `--ref`",
            Self::Damaged { .. }
            | Self::Git { .. }
            | Self::MissingObject(_)
            | Self::WrongType(..)
            | Self::MalformedTree(_) => {
                "run `git fsck` in the repository as this user; clone it anew if it is damaged"
            }
            Self::Sha256 => "give a repository with SHA-1 ids, as `git init --object-format=sha1` makes one",
            Self::NoWorkTree(_) => {
                "look at what is committed: `validate --ref HEAD`, or `plan` without `--worktree`"
            }
            Self::Unreadable { .. } => {
                "give this user read access, or run this process as the user or in the group that owns the repository"
            }
            Self::NoFolder(_) => "check the path and `--root`",
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                "let this user read it"
            }
            Self::Io { source, .. } if is_full(source) => "the disk is full: free some space",
            Self::Vanished(_) => "run it again when it is back",
            Self::Remote(error) => return error.hint(),
            Self::Io { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

impl From<git2::Error> for Error {
    fn from(error: git2::Error) -> Self {
        Self::Git { error }
    }
}

impl From<ObjectFault> for Error {
    fn from(fault: ObjectFault) -> Self {
        match fault {
            ObjectFault::Git(Libgit2Error(error)) => Self::Git { error },
            ObjectFault::Malformed(id) => Self::MalformedTree(id),
            ObjectFault::Missing(id) => Self::MissingObject(id),
            ObjectFault::WrongType(id, kind) => Self::WrongType(id, kind),
        }
    }
}

fn user(uid: Option<u32>) -> String {
    uid.map(|uid| format!(" for uid {uid}")).unwrap_or_default()
}

fn suggestion(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{}`", escaped(name))).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!("; there is {}", names.join(", ")),
    }
}

/// Says why `path` could not be opened as a repository.
pub(super) fn cannot_open(path: &Path, error: git2::Error) -> Error {
    let extension = error
        .message()
        .split_once("unsupported extension name ")
        .map(|(_, name)| name);
    match extension.map(|name| name.trim_start_matches("extensions.")) {
        Some(name) if name.eq_ignore_ascii_case("refstorage") => Error::Reftable,
        Some(name) if name.eq_ignore_ascii_case("objectformat") => Error::Sha256,
        Some(name) => Error::Extension(name.to_owned()),
        None if error.message().contains("object format") => Error::Sha256,
        None if error.code() == git2::ErrorCode::NotFound => Error::NoRepository(path.to_owned()),
        None => error.into(),
    }
}
