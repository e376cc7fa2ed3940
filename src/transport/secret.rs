//! Holds tokens and passwords in values that do not print themselves.

use std::fmt;
use std::path::PathBuf;

/// A token or password. `Debug` shows `***`, and there is no `Display`.
#[derive(Clone, Eq, PartialEq)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text`.
    #[must_use]
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the text. Only code that sends the secret calls this.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The origin of a secret.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SecretSource {
    /// A file, read again at every use, so that a rotated secret takes effect.
    File(PathBuf),
    /// A constant value.
    Value(Secret),
}

/// Why a secret file is unusable.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// An empty file.
    #[error("the secret file `{}` is empty", .0.display())]
    Empty(PathBuf),
    /// An I/O error, or a file that is not UTF-8.
    #[error("could not read the secret file `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

impl SecretError {
    /// Returns advice for the operator.
    #[must_use]
    pub fn hint(&self) -> String {
        "write the secret to the file, and make the file readable for this user".to_owned()
    }
}

impl SecretSource {
    /// Returns the secret without the line break that editors add at the end of a file.
    ///
    /// # Errors
    /// If the file is unreadable, not UTF-8, or empty.
    pub fn read(&self) -> Result<Secret, SecretError> {
        let path = match self {
            Self::Value(secret) => return Ok(secret.clone()),
            Self::File(path) => path,
        };
        let text = std::fs::read_to_string(path).map_err(|source| SecretError::Unreadable {
            path: path.clone(),
            source,
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
        for (content, secret) in [("one\n", "one"), ("two\r\n", "two"), (" three\n\n", " three\n")] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(source.read().unwrap().expose(), secret);
        }
        std::fs::write(&path, "\n").unwrap();
        assert!(matches!(source.read(), Err(SecretError::Empty(_))));
    }
}
