//! The errors of reading and writing repositories.

use std::io;
use std::path::{Path, PathBuf};

use super::libgit2_error::Libgit2Error;
use crate::model::ObjectId;

/// Why an object could not be read.
#[derive(Debug, thiserror::Error)]
#[error("could not read the repository `{}`", .folder.display())]
pub struct ObjectError {
    /// The folder of the repository.
    pub folder: PathBuf,
    /// The cause.
    #[source]
    pub fault: ObjectFault,
}

/// A fault of a repository or of one of its objects.
#[derive(Debug, thiserror::Error)]
pub enum ObjectFault {
    /// An error of libgit2.
    #[error("{} is missing or damaged ({})", .0.part(), .0)]
    Git(Libgit2Error),
    /// A tree that violates Git's format.
    #[error("the tree {0} is malformed")]
    Malformed(ObjectId),
    /// An object that is not in the repository.
    #[error("the object {0} is missing")]
    Missing(ObjectId),
    /// An object of another type than the expected one.
    #[error("the object {0} is not a {1}")]
    WrongType(ObjectId, &'static str),
}

impl ObjectFault {
    /// Classifies an error of libgit2 about the object `id`.
    pub(crate) fn of(id: ObjectId, error: Libgit2Error) -> Self {
        match error.is_not_found() {
            true => Self::Missing(id),
            false => Self::Git(error),
        }
    }
}

impl From<Libgit2Error> for ObjectFault {
    fn from(error: Libgit2Error) -> Self {
        Self::Git(error)
    }
}

impl From<git2::Error> for ObjectFault {
    fn from(error: git2::Error) -> Self {
        Self::Git(error.into())
    }
}

/// Why a repository of the state could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// A test's failpoint.
    #[error("crashed at `{0}`")]
    Crashed(&'static str),
    /// An I/O error of a file or folder.
    #[error("could not {doing} `{}`", .path.display())]
    Io {
        /// The operation that failed, as a verb.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A damaged repository or object.
    #[error(transparent)]
    Object(#[from] ObjectError),
}

impl RepositoryError {
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }

    /// Makes an error of the repository in `folder`, or of its disk.
    pub(crate) fn git<E: Into<Libgit2Error>>(folder: &Path) -> impl FnOnce(E) -> Self + use<E> {
        let folder = folder.to_owned();
        move |error| {
            let fault = ObjectFault::Git(error.into());
            ObjectError { folder, fault }.or_io()
        }
    }
}

impl ObjectError {
    /// Converts the error to an I/O error if the operating system caused it.
    pub(crate) fn or_io(self) -> RepositoryError {
        // A full disk must never be reported as a broken repository (DESIGN section 3).
        let cause = match &self.fault {
            ObjectFault::Git(error) => error.io_fault(),
            _ => None,
        };
        match cause {
            Some(cause) => RepositoryError::io("read or write", &self.folder)(cause),
            None => self.into(),
        }
    }
}
