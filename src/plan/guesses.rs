//! Guessed comments: the history that would show the true commit is missing.

use std::fmt;

use super::{Change, History, Plan, PublishAttempt};

/// The number of changes whose comment comes from a guessed commit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Guesses(pub usize);

impl fmt::Display for Guesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str(
                "the history is cut: the comment of 1 change is a guess, and trailers do not count for it",
            ),
            count => write!(
                f,
                "the history is cut: the comments of {count} changes are guesses, and trailers do not count for them"
            ),
        }
    }
}

impl Plan {
    /// Returns how much of the history that the plan needed is available.
    pub fn history(&self) -> History {
        match self.guesses() {
            Some(_) => History::Cut,
            None => self.source().history,
        }
    }

    /// Counts the guesses among all changes, including withheld ones; `None` for zero.
    pub fn guesses(&self) -> Option<Guesses> {
        let withheld = self.withheld().iter();
        let withheld = withheld.filter_map(|withheld| withheld.change.as_deref());
        count(self.changes().iter().chain(withheld))
    }

    /// Counts the guesses among the changes to publish; `None` for zero.
    pub fn sent_guesses(&self) -> Option<Guesses> {
        count(self.changes().iter())
    }
}

fn count<'a>(changes: impl Iterator<Item = &'a Change>) -> Option<Guesses> {
    // A retry keeps its journaled comment, whatever its commit is assumed to be now.
    let is_guess =
        |change: &&Change| change.attribution.is_guessed() && change.attempt == PublishAttempt::First;
    match changes.filter(is_guess).count() {
        0 => None,
        count => Some(Guesses(count)),
    }
}
