//! The cause that the operating system gave for an error of libgit2.

use std::io;

use crate::model::escaped;

/// An error of libgit2 in its own words, without its class and code.
#[derive(Debug, thiserror::Error)]
#[error("{}", escaped(.0.message()))]
pub struct Libgit2Error(pub git2::Error);

impl Libgit2Error {
    /// Returns the part of a repository that the error is about.
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

/// The highest number of an error on Linux.
const LAST: i32 = 133;

/// Returns the error of the operating system that `error` reports, if it reports one. libgit2 keeps only its text.
#[must_use]
pub fn os_error(error: &git2::Error) -> Option<io::Error> {
    if error.class() != git2::ErrorClass::Os {
        return None;
    }
    let (_, cause) = error.message().rsplit_once(": ")?;
    let is_cause = |error: &io::Error| {
        let text = error.to_string();
        text.split(" (os error").next() == Some(cause)
    };
    (1..=LAST).map(io::Error::from_raw_os_error).find(is_cause)
}

/// Returns the error of the operating system that kept libgit2 from reading or writing, whatever the repository is like: a
/// full disk, a missing permission, too many open files. A file that is missing or in the way is damage instead.
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

/// Returns whether the disk, a quota or a limit leaves no room.
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

    fn said(class: ErrorClass, text: &str) -> git2::Error {
        git2::Error::new(ErrorCode::GenericError, class, text)
    }

    #[test]
    fn the_cause_of_the_system_is_found_in_the_text() {
        let full = said(
            ErrorClass::Os,
            "could not write 'a: b/x': No space left on device",
        );
        let cause = io_fault(&full).unwrap();
        assert_eq!(cause.kind(), io::ErrorKind::StorageFull);
        assert!(is_full(&cause));
        let denied = said(ErrorClass::Os, "failed to open 'x': Permission denied");
        assert_eq!(io_fault(&denied).unwrap().kind(), io::ErrorKind::PermissionDenied);
        let gone = said(ErrorClass::Os, "failed to open 'x': No such file or directory");
        assert_eq!(os_error(&gone).unwrap().kind(), io::ErrorKind::NotFound);
        assert!(io_fault(&gone).is_none());
        let odb = said(ErrorClass::Odb, "object not found: No space left on device");
        assert!(os_error(&odb).is_none());
        assert_eq!(
            Libgit2Error(full).to_string(),
            "could not write 'a: b/x': No space left on device"
        );
    }
}
