//! What is wrong with the settings, all of it.

use std::fmt;

use crate::model::escaped;

/// One thing that is wrong, and where it was said.
///
/// Its text never holds the value of a secret.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mistake {
    /// The flag, the variable or the place in the file.
    pub place: String,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl Mistake {
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", escaped(&self.place), escaped(&self.message))
    }
}

/// Everything that is wrong with the settings of one invocation; never empty.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub struct Mistakes(pub(crate) Vec<Mistake>);

impl Mistakes {
    /// Returns the single mistakes, flags first, then variables, then the file, then what is missing.
    #[must_use]
    pub fn all(&self) -> &[Mistake] {
        &self.0
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => one.fmt(f),
            many => {
                write!(f, "{} mistakes in the settings", many.len())?;
                many.iter().try_for_each(|mistake| write!(f, "\n  {mistake}"))
            }
        }
    }
}
