//! Tokens and passwords: values that do not print themselves.

use std::fmt;
use std::path::PathBuf;

/// A token or password. `Debug` shows `***`, and there is no `Display`.
#[derive(Clone, Eq, PartialEq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text` from being shown.
    #[must_use]
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the secret itself, for the one place that sends it.
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

/// Where a secret comes from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SecretSource {
    /// A file, read anew at every use so that a rotated secret is noticed.
    File(PathBuf),
    /// A value that was given once.
    Value(Secret),
}

/// A secret that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file is empty.
    #[error("the secret file `{}` is empty", .0.display())]
    Empty(PathBuf),
    /// The file cannot be read, or is not UTF-8.
    #[error("cannot read the secret file `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl SecretError {
    /// Returns what to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        "write the secret into the file, and let this user read it".to_owned()
    }
}

impl SecretSource {
    /// Returns the secret, without the one line break that editors put at the end of a file.
    ///
    /// # Errors
    /// When the file cannot be read, is not UTF-8 or is empty.
    pub fn read(&self) -> Result<Secret, SecretError> {
        let path = match self {
            Self::Value(secret) => return Ok(secret.clone()),
            Self::File(path) => path,
        };
        let text = std::fs::read_to_string(path).map_err(|source| SecretError::Unreadable {
            path: path.clone(),
            source,
        })?;
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
    fn a_secret_file_is_read_anew_at_every_use() {
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
