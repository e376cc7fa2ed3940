//! How certainly a commit is that of a change, and what follows: the comment of a guess, the permissions of a
//! known one.

use std::sync::Arc;

use super::{ALLOW_TRAILER, Commit, Override, cut};

/// The commit of a change. A guessed commit provides the comment only; trailers are read from known commits.
///
/// The changes of a commit share it, because a first pass may have a hundred thousand changes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Attribution {
    /// A substitute: the history that would show the commit is missing.
    Guessed(Arc<Commit>),
    /// The commit that changed the meaning of the document.
    Known(Arc<Commit>),
    /// No commit: the file is not committed.
    Uncommitted,
}

impl Attribution {
    /// Returns the certainty as in JSON: `guessed`, `known` or `uncommitted`.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            Self::Guessed(_) => "guessed",
            Self::Known(_) => "known",
            Self::Uncommitted => "uncommitted",
        }
    }

    /// Returns the commit whose message is the comment.
    pub(crate) fn commit(&self) -> Option<&Commit> {
        match self {
            Self::Guessed(commit) | Self::Known(commit) => Some(commit),
            Self::Uncommitted => None,
        }
    }

    /// Returns whether the commit is a guess.
    pub(crate) const fn is_guessed(&self) -> bool {
        matches!(self, Self::Guessed(_))
    }

    /// Returns the comment of at most `max_chars` characters, as [`Commit::comment`] does.
    pub(crate) fn comment(&self, max_chars: usize) -> String {
        let comment = self.commit().map(|commit| commit.comment(max_chars));
        comment.unwrap_or_else(|| cut("(not committed)", max_chars))
    }

    /// Returns the commit on one line: short id, subject, and whether it is a guess. The subject is not
    /// escaped.
    pub(crate) fn label(&self) -> String {
        let line = |commit: &Commit| format!("{} {}", commit.id.short(), commit.subject());
        match self {
            Self::Guessed(commit) => format!("{} (guessed)", line(commit)),
            Self::Known(commit) => line(commit),
            Self::Uncommitted => self.as_str().to_owned(),
        }
    }

    /// Returns whether the commit's trailers contain `Gitoggle-Allow` with the name of `what`. One that names
    /// an environment does not depend on the commit of a change, so [`Commit::named_decisions`]
    /// reads it.
    pub(crate) fn allows(&self, what: Override) -> bool {
        self.trailers(ALLOW_TRAILER).iter().any(|value| value == what.as_str())
    }

    /// Returns the values of the trailers `key` of a known commit. As with `git interpret-trailers`, only the
    /// last paragraph counts, unless it is the subject, and keys are case-insensitive.
    pub(crate) fn trailers(&self, key: &str) -> Vec<String> {
        match self {
            Self::Known(commit) => commit.trailers(key),
            // A guess may lend its words, never its permissions (src/model/README.md, "Commits").
            Self::Guessed(_) | Self::Uncommitted => Vec::new(),
        }
    }
}

/// Whether the history of the source contains a version of a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HistoryEvidence {
    /// The available part of the history does not contain it, and a part is missing.
    Unknown,
    /// A commit contains it.
    Found,
    /// No commit contains it.
    Nowhere,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CommitId, ObjectId};

    fn commit(message: &str) -> Commit {
        Commit { id: CommitId(ObjectId([0xab; 20])), message: message.to_owned(), committed_at: 0 }
    }

    #[test]
    fn only_a_trailer_allows_a_mass_change() {
        for (message, allowed) in [
            ("Subject\n\nBody\n\nGitoggle-Allow: mass-change\n", true),
            ("Subject\r\n\r\ngitoggle-allow:mass-change\r\nSigned-off-by: A\r\n", true),
            ("Gitoggle-Allow: mass-change", false),
            ("Subject\n\nGitoggle-Allow: mass-change\n\nMore text", false),
            ("Subject\n\nGitoggle-Allow: everything", false),
        ] {
            let attribution = Attribution::Known(Arc::new(commit(message)));
            assert_eq!(attribution.allows(Override::MassChange), allowed, "{message:?}");
        }
    }

    #[test]
    fn only_a_known_commit_has_trailers_that_count() {
        let commit = Commit {
            id: CommitId(ObjectId([0xab; 20])),
            message: "Change all\n\nGitoggle-Allow: mass-change\n".to_owned(),
            committed_at: 0,
        };
        for (attribution, is_allowed, label, comment) in [
            (Attribution::Known(Arc::new(commit.clone())), true, "ababababab Change all", "Change a…"),
            (Attribution::Guessed(Arc::new(commit)), false, "ababababab Change all (guessed)", "Change a…"),
            (Attribution::Uncommitted, false, "uncommitted", "(not com…"),
        ] {
            assert_eq!(attribution.allows(Override::MassChange), is_allowed, "{attribution:?}");
            assert!(!attribution.allows(Override::OverwriteDrift), "{attribution:?}");
            assert_eq!(attribution.label(), label);
            assert_eq!(attribution.comment(9), comment);
        }
    }
}
