//! The source of a plan, and how much of its history is available.

use crate::model::CommitId;

/// The hint on fetching the missing part of a history.
pub const FETCH_ALL: &str = "fetch the whole history (`git fetch --unshallow`, `fetch-depth: 0` for actions/checkout, \
                             `--depth=0` for git-sync, a clone without `--filter`)";

/// The source of a plan's documents.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceInfo {
    /// The repository as it was configured.
    pub repo: String,
    /// The resolved ref.
    pub reference: String,
    /// The commit.
    pub revision: CommitId,
    /// How much of its history is available.
    pub history: History,
}

/// How much history a source has.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum History {
    /// All of it.
    #[default]
    Complete,
    /// Part of it: the clone is shallow or partial, so comments can be guesses.
    Cut,
}

impl History {
    /// The consequence of a cut history.
    pub const CUT: &str = "the history is cut: comments can be guesses, for which trailers do not count";
}
