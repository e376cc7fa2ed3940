//! Comments that are guesses, because the history that would show the true commit is missing.

use std::fmt;

use super::{Change, History, Plan, Resend};

/// How to get the history that is missing.
pub const FETCH_ALL: &str = "fetch the whole history (`git fetch --unshallow`, `fetch-depth: 0` for actions/checkout, \
                             `--depth=0` for git-sync, a clone without `--filter`)";

/// How many changes of a plan have another commit's message as their comment.
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

impl History {
    /// What a history that is cut means.
    pub const CUT: &str = "the history is cut: comments can be guesses, for which trailers do not count";
}

impl Plan {
    /// Returns how much of the history is there, as far as it was needed.
    #[must_use]
    pub fn history(&self) -> History {
        match self.guesses() {
            Some(_) => History::Cut,
            None => self.source().history,
        }
    }

    /// Counts the guesses among everything that would be done, also what is held; nothing where there is none.
    #[must_use]
    pub fn guesses(&self) -> Option<Guesses> {
        let held = self.held().iter().filter_map(|held| held.change.as_deref());
        count(self.changes().iter().chain(held))
    }

    /// Counts the guesses among what is sent; nothing where there is none.
    #[must_use]
    pub fn sent_guesses(&self) -> Option<Guesses> {
        count(self.changes().iter())
    }
}

/// Counts the guesses. A re-send has its journaled comment, whatever its commit is taken for now.
fn count<'a>(changes: impl Iterator<Item = &'a Change>) -> Option<Guesses> {
    let is_guess = |change: &&Change| change.attribution.is_guessed() && change.resend == Resend::No;
    match changes.filter(is_guess).count() {
        0 => None,
        count => Some(Guesses(count)),
    }
}
