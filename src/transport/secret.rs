//! Holds tokens and passwords in values that do not print themselves.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use super::limited_file::read_limited_text;

/// The size limit of a secret file, in bytes. A larger file is another file by mistake, and would be held in
/// memory.
const LARGEST: u64 = 64 << 10;

/// A token or password. `Debug` shows `***`, and there is no `Display`.
#[derive(Clone, Eq, PartialEq)]
pub struct Secret(String);

impl Secret {
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the text, which is never printed.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SecretSource {
    /// A file, read again at every use, so that a rotated secret takes effect.
    File(PathBuf),
    Value(Secret),
}

/// Why a secret file is unusable.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("the secret file `{}` is empty", .0.display())]
    Empty(PathBuf),
    #[error("the secret file `{}` is not a regular file, which it has to be, because it is read at every use", .0.display())]
    NotRegular(PathBuf),
    #[error("the secret file `{}` is larger than 64 KiB", .0.display())]
    TooLarge(PathBuf),
    #[error("could not read the secret file `{}`", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

impl SecretError {
    /// Returns advice for the operator.
    pub fn hint(&self) -> String {
        match self {
            Self::NotRegular(_) => "write the secret to a file, or set it as a variable",
            Self::TooLarge(_) => "check the path; the file must contain the secret and nothing else",
            Self::Empty(_) | Self::Unreadable { .. } => {
                "write the secret to the file, and make the file readable for this user"
            }
        }
        .to_owned()
    }
}

impl SecretSource {
    /// Returns the secret without the line break that editors add at the end of a file.
    pub fn read(&self) -> Result<Secret, SecretError> {
        let path = match self {
            Self::Value(secret) => return Ok(secret.clone()),
            Self::File(path) => path,
        };
        let unreadable = |source| SecretError::Unreadable { path: path.clone(), source };
        // Checked before the file is opened, because opening a pipe waits for its writer.
        let found = std::fs::metadata(path).map_err(unreadable)?;
        // Reading a folder says that it is one.
        if !found.is_file() && !found.is_dir() {
            return Err(SecretError::NotRegular(path.clone()));
        }
        let text = read_limited_text(path, LARGEST).map_err(|error| match error.kind() {
            ErrorKind::FileTooLarge => SecretError::TooLarge(path.clone()),
            _ => unreadable(error),
        })?;
        // Only one line break goes, because spaces may be part of the secret.
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() {
            return Err(SecretError::Empty(path.clone()));
        }
        Ok(Secret::new(line.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_print_itself() {
        let source = SecretSource::Value(Secret::new("hunter2".to_owned()));
        assert_eq!(format!("{source:?}"), "Value(***)");
    }

    #[test]
    fn a_secret_file_is_read_again_at_every_use() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let source = SecretSource::File(path.clone());
        assert!(matches!(source.read(), Err(SecretError::Unreadable { .. })));
        for (content, secret) in
            [("one\n", "one"), ("two\r\n", "two"), ("\u{feff}bom\n", "bom"), (" three\n\n", " three\n")]
        {
            std::fs::write(&path, content).unwrap();
            assert_eq!(source.read().unwrap().expose(), secret);
        }
        for nothing in ["\n", "\u{feff}\r\n"] {
            std::fs::write(&path, nothing).unwrap();
            assert!(matches!(source.read(), Err(SecretError::Empty(_))));
        }
    }

    #[test]
    fn a_secret_file_is_a_regular_file_of_limited_size() {
        let read = |path: &str| SecretSource::File(path.into()).read();
        assert!(matches!(read("/dev/zero"), Err(SecretError::NotRegular(_))));
        assert!(matches!(read("/"), Err(SecretError::Unreadable { .. })));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let limit = usize::try_from(LARGEST).unwrap();
        for (size, fits) in [(limit, true), (limit + 1, false)] {
            std::fs::write(&path, "x".repeat(size)).unwrap();
            let result = read(path.to_str().unwrap());
            assert_eq!(result.is_ok(), fits, "{size}");
            assert!(fits || matches!(result, Err(SecretError::TooLarge(_))));
        }
    }
}
