//! The errors of reading and writing repositories.

use std::io;
use std::path::{Path, PathBuf};

use git2::{ErrorClass, ErrorCode};

use crate::model::{ObjectId, escaped};

/// Why an object could not be read.
#[derive(Debug, thiserror::Error)]
#[error("could not read the repository `{}`", .folder.display())]
pub struct ObjectError {
    pub folder: PathBuf,
    #[source]
    pub fault: ObjectFault,
}

#[derive(Debug, thiserror::Error)]
pub enum ObjectFault {
    #[error("{} is missing or damaged ({})", .0.part(), .0)]
    Git(Libgit2Error),
    #[error("the tree {0} is malformed")]
    Malformed(ObjectId),
    #[error("the object {0} is missing")]
    Missing(ObjectId),
    #[error("the object {0} is not a {1}")]
    WrongType(ObjectId, &'static str),
}

impl ObjectFault {
    /// Classifies an error of libgit2 about the object `id`.
    pub(crate) fn of(id: ObjectId, error: Libgit2Error) -> Self {
        if error.is_not_found() { Self::Missing(id) } else { Self::Git(error) }
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
    #[error("crashed at `{0}`")]
    Crashed(&'static str),
    #[error("could not {doing} `{}`", .path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
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
        // A full disk must never be reported as a broken repository (src/git/README.md, "Repositories").
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

/// An error of libgit2 that prints without its class and code.
#[derive(Debug, thiserror::Error)]
#[error("{}", escaped(.0.message()))]
pub struct Libgit2Error(pub git2::Error);

/// The highest error number on Linux.
const LAST: i32 = 133;

/// A format of repositories that libgit2 does not support.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
pub enum UnsupportedFormat {
    #[error("the repository uses Git's extension `{}`, which is not supported", escaped(.0))]
    Extension(String),
    #[error("the repository keeps its refs in the reftable format, which is not supported")]
    Reftable,
    #[error("the repository uses SHA-256 object ids, which are not supported")]
    Sha256,
}

impl Libgit2Error {
    /// Returns the message without escaping.
    pub(crate) fn message(&self) -> &str {
        self.0.message()
    }

    /// Returns whether the error reports that a repository, an object, a ref, or a value does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        self.0.code() == ErrorCode::NotFound
    }

    /// Returns the unsupported format because of which a repository could not be opened.
    pub(crate) fn unsupported_format(&self) -> Option<UnsupportedFormat> {
        let message = self.0.message();
        let Some((_, name)) = message.split_once("unsupported extension name ") else {
            return message.contains("object format").then_some(UnsupportedFormat::Sha256);
        };
        let name = name.trim_start_matches("extensions.");
        Some(match name.to_ascii_lowercase().as_str() {
            "refstorage" => UnsupportedFormat::Reftable,
            "objectformat" => UnsupportedFormat::Sha256,
            _ => UnsupportedFormat::Extension(name.to_owned()),
        })
    }

    /// Returns the part of a repository that the error concerns.
    pub(crate) fn part(&self) -> &'static str {
        use ErrorClass::{Config, Indexer, Object, Odb, Reference, Tree, Zlib};

        match self.0.class() {
            Config => "the configuration",
            Indexer | Object | Odb | Tree | Zlib => "an object",
            Reference => "a ref",
            _ => "a file",
        }
    }

    /// Returns the error of the operating system that this error reports, if any. libgit2 keeps only its
    /// text.
    fn os_error(&self) -> Option<io::Error> {
        if self.0.class() != ErrorClass::Os {
            return None;
        }
        let (_, cause) = self.0.message().rsplit_once(": ")?;
        // libgit2 ends its message with the text of `strerror`, which Rust prints with the number as a
        // suffix.
        let is_cause = |error: &io::Error| {
            let text = error.to_string();
            text.split(" (os error").next() == Some(cause)
        };
        (1..=LAST).map(io::Error::from_raw_os_error).find(is_cause)
    }

    /// Returns the error of the operating system if it does not depend on the repository: a full disk, a
    /// missing permission, too many open files. A file that is missing or in the way is damage instead.
    pub(crate) fn io_fault(&self) -> Option<io::Error> {
        self.os_error().filter(|error| {
            !matches!(
                error.kind(),
                io::ErrorKind::NotFound
                    | io::ErrorKind::AlreadyExists
                    | io::ErrorKind::NotADirectory
                    | io::ErrorKind::IsADirectory
                    | io::ErrorKind::DirectoryNotEmpty
            )
        })
    }
}

impl From<git2::Error> for Libgit2Error {
    fn from(error: git2::Error) -> Self {
        Self(error)
    }
}

/// Returns whether a disk, a quota, or a limit is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

#[cfg(test)]
mod libgit2_error_tests {
    use super::*;

    fn failed(class: ErrorClass, text: &str) -> Libgit2Error {
        git2::Error::new(ErrorCode::GenericError, class, text).into()
    }

    #[test]
    fn the_error_of_the_system_is_found_in_the_text() {
        let full = failed(ErrorClass::Os, "could not write 'a: b/x': No space left on device");
        let cause = full.io_fault().unwrap();
        assert_eq!(cause.kind(), io::ErrorKind::StorageFull);
        assert!(is_full(&cause));
        let denied = failed(ErrorClass::Os, "failed to open 'x': Permission denied");
        assert_eq!(denied.io_fault().unwrap().kind(), io::ErrorKind::PermissionDenied);
        let gone = failed(ErrorClass::Os, "failed to open 'x': No such file or directory");
        assert_eq!(gone.os_error().unwrap().kind(), io::ErrorKind::NotFound);
        assert!(gone.io_fault().is_none());
        let odb = failed(ErrorClass::Odb, "object not found: No space left on device");
        assert!(odb.os_error().is_none());
        assert_eq!(full.to_string(), "could not write 'a: b/x': No space left on device");
    }
}
