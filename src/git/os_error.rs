//! Recovers the error of the operating system from an error of libgit2.

use std::io;

use crate::model::escaped;

/// An error of libgit2 that prints without its class and code.
#[derive(Debug, thiserror::Error)]
#[error("{}", escaped(.0.message()))]
pub struct Libgit2Error(pub git2::Error);

impl Libgit2Error {
    /// Returns the part of a repository that the error concerns.
    #[must_use]
    pub fn part(&self) -> &'static str {
        use git2::ErrorClass::{Config, Indexer, Object, Odb, Reference, Tree, Zlib};

        match self.0.class() {
            Config => "the configuration",
            Indexer | Object | Odb | Tree | Zlib => "an object",
            Reference => "a ref",
            _ => "a file",
        }
    }
}

/// The highest error number on Linux.
const LAST: i32 = 133;

/// Returns the error of the operating system that `error` reports, if any. libgit2 keeps only its text.
#[must_use]
pub fn os_error(error: &git2::Error) -> Option<io::Error> {
    if error.class() != git2::ErrorClass::Os {
        return None;
    }
    let (_, cause) = error.message().rsplit_once(": ")?;
    // libgit2 ends its message with the text of `strerror`, which Rust prints with the number as a suffix.
    let is_cause = |error: &io::Error| {
        let text = error.to_string();
        text.split(" (os error").next() == Some(cause)
    };
    (1..=LAST).map(io::Error::from_raw_os_error).find(is_cause)
}

/// Returns the error of the operating system if it does not depend on the repository: a full disk, a missing permission,
/// too many open files. A file that is missing or in the way is damage instead.
#[must_use]
pub fn io_fault(error: &git2::Error) -> Option<io::Error> {
    os_error(error).filter(|error| {
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

/// Returns whether a disk, a quota, or a limit is full.
#[must_use]
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

#[cfg(test)]
mod tests {
    use git2::{ErrorClass, ErrorCode};

    use super::*;

    fn failed(class: ErrorClass, text: &str) -> git2::Error {
        git2::Error::new(ErrorCode::GenericError, class, text)
    }

    #[test]
    fn the_error_of_the_system_is_found_in_the_text() {
        let full = failed(
            ErrorClass::Os,
            "could not write 'a: b/x': No space left on device",
        );
        let cause = io_fault(&full).unwrap();
        assert_eq!(cause.kind(), io::ErrorKind::StorageFull);
        assert!(is_full(&cause));
        let denied = failed(ErrorClass::Os, "failed to open 'x': Permission denied");
        assert_eq!(io_fault(&denied).unwrap().kind(), io::ErrorKind::PermissionDenied);
        let gone = failed(ErrorClass::Os, "failed to open 'x': No such file or directory");
        assert_eq!(os_error(&gone).unwrap().kind(), io::ErrorKind::NotFound);
        assert!(io_fault(&gone).is_none());
        let odb = failed(ErrorClass::Odb, "object not found: No space left on device");
        assert!(os_error(&odb).is_none());
        assert_eq!(
            Libgit2Error(full).to_string(),
            "could not write 'a: b/x': No space left on device"
        );
    }
}
