//! Configuration errors. One invocation reports all of them.

use std::fmt;

use super::OutputFormat;
use crate::model::escaped;

/// A configuration error and its place.
///
/// Its text never contains the value of a secret.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfigError {
    /// The flag, the variable or the position in the file.
    pub place: String,
    /// The problem and its correction.
    pub message: String,
}

impl ConfigError {
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The place and the message may quote a file that a pull request can change.
        write!(f, "{}: {}", escaped(&self.place), escaped(&self.message))
    }
}

/// All configuration errors of one invocation; never empty.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub struct ConfigErrors {
    pub(crate) errors: Vec<ConfigError>,
    /// The form of the output, as far as it is known: errors are printed in it, too.
    pub output: OutputFormat,
}

impl ConfigErrors {
    /// Returns the errors: flags first, then variables, then the file, then what is missing.
    pub fn all(&self) -> &[ConfigError] {
        &self.errors
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.errors.as_slice() {
            [one] => one.fmt(f),
            many => {
                write!(f, "{} configuration errors", many.len())?;
                many.iter().try_for_each(|error| write!(f, "\n  {error}"))
            }
        }
    }
}
