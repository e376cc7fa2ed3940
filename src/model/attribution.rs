//! Which commit a change is attributed to, and how certain that is.

use std::sync::Arc;

use super::Commit;

/// The commit of a change. A guess lends its words and never its permissions: trailers are read from known commits only.
///
/// The changes of one commit share it, because a first pass may have a hundred thousand of them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Attribution {
    /// The history that would show the commit is missing, so this one stands in for it.
    Guessed(Arc<Commit>),
    /// This commit changed the meaning of the document.
    Known(Arc<Commit>),
    /// The file is not committed.
    Uncommitted,
}

impl Attribution {
    /// Returns the word for the certainty, as in JSON: `guessed`, `known` or `uncommitted`.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Guessed(_) => "guessed",
            Self::Known(_) => "known",
            Self::Uncommitted => "uncommitted",
        }
    }

    /// Returns the commit whose message is the comment.
    #[must_use]
    pub fn commit(&self) -> Option<&Commit> {
        match self {
            Self::Guessed(commit) | Self::Known(commit) => Some(commit),
            Self::Uncommitted => None,
        }
    }

    /// Returns whether the commit is a guess.
    #[must_use]
    pub const fn is_guessed(&self) -> bool {
        matches!(self, Self::Guessed(_))
    }

    /// Returns the comment of at most `max_chars` characters, as [`Commit::comment`] does.
    #[must_use]
    pub fn comment(&self, max_chars: usize) -> String {
        let comment = self.commit().map(|commit| commit.comment(max_chars));
        comment.unwrap_or_else(|| super::commit::cut("(not committed)", max_chars))
    }

    /// Returns the commit on one line: short id, subject, and whether it is a guess. The subject is not escaped.
    #[must_use]
    pub fn label(&self) -> String {
        let line = |commit: &Commit| format!("{} {}", commit.id.short(), commit.subject());
        match self {
            Self::Guessed(commit) => format!("{} (guessed)", line(commit)),
            Self::Known(commit) => line(commit),
            Self::Uncommitted => self.as_str().to_owned(),
        }
    }

    /// Returns whether the commit's trailers hold `Gitoggle-Allow: mass-change`.
    #[must_use]
    pub fn allows_mass_change(&self) -> bool {
        self.trailers("Gitoggle-Allow")
            .iter()
            .any(|value| value == "mass-change")
    }

    /// Returns the values of the trailers `key` of a known commit. As with `git interpret-trailers`, only the last
    /// paragraph counts, and not where it is the subject; keys are compared without regard to case.
    #[must_use]
    pub fn trailers(&self, key: &str) -> Vec<String> {
        match self {
            Self::Known(commit) => commit.trailers(key),
            Self::Guessed(_) | Self::Uncommitted => Vec::new(),
        }
    }
}

/// Whether the history of the source shows a version of a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HistoryEvidence {
    /// The part of the history that is there does not show it, and a part is missing.
    Unknown,
    /// A commit has it.
    Found,
    /// No commit has it.
    Nowhere,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CommitId, ObjectId};

    #[test]
    fn only_a_known_commit_lends_its_trailers() {
        let commit = Commit {
            id: CommitId(ObjectId([0xab; 20])),
            message: "Change all\n\nGitoggle-Allow: mass-change\n".to_owned(),
            committed_at: 0,
        };
        for (attribution, is_allowed, label, comment) in [
            (
                Attribution::Known(Arc::new(commit.clone())),
                true,
                "ababababab Change all",
                "Change a…",
            ),
            (
                Attribution::Guessed(Arc::new(commit)),
                false,
                "ababababab Change all (guessed)",
                "Change a…",
            ),
            (Attribution::Uncommitted, false, "uncommitted", "(not com…"),
        ] {
            assert_eq!(attribution.allows_mass_change(), is_allowed, "{attribution:?}");
            assert_eq!(attribution.label(), label);
            assert_eq!(attribution.comment(9), comment);
        }
    }
}
