//! The source of a plan, and how much of its history is available.

use serde::Serialize;

use crate::model::CommitId;

/// The hint on fetching the missing part of a history.
pub const FETCH_ALL: &str = "fetch the whole history (`git fetch --unshallow`, `fetch-depth: 0` for actions/checkout, \
                             `--depth=0` for git-sync, a clone without `--filter`)";

/// The source of a plan's documents.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct SourceInfo {
    /// The repository as it was configured.
    pub repo: String,
    /// The resolved ref.
    #[serde(rename = "ref")]
    pub reference: String,
    pub revision: CommitId,
    /// The revision that the documents are compared with; none if it is the applied state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Base>,
    /// How much of its history is available.
    #[serde(skip)]
    pub history: History,
}

/// The revision whose documents a plan compares with.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Base {
    /// The branch or revision as it was given.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The commit. Version 1 of the JSON has a list.
    pub revisions: [CommitId; 1],
}

impl SourceInfo {
    /// Returns the ref, or both ends of a comparison of revisions, as `from..to`.
    pub fn references(&self) -> String {
        match &self.base {
            None => self.reference.clone(),
            Some(base) => format!("{}..{}", base.reference, self.reference),
        }
    }

    /// Returns the short id of the commit, or of both ends of a comparison of revisions.
    pub fn short_revisions(&self) -> String {
        let to = self.revision.short();
        match &self.base {
            None => to,
            Some(base) => format!("{}..{to}", base.revisions[0].short()),
        }
    }
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
