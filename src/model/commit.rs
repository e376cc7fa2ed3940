//! A commit with the comment and the trailers of its message.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ObjectId, Override, cut};

/// The id of a commit, shown in full.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct CommitId(pub ObjectId);

impl CommitId {
    /// Returns the first ten digits.
    pub fn short(&self) -> String {
        self.0.to_string()[..10].to_owned()
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A commit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Commit {
    /// The id.
    pub id: CommitId,
    /// The complete message, decoded to UTF-8.
    pub message: String,
    /// The commit time, in seconds since 1970-01-01 UTC.
    pub committed_at: i64,
}

impl Commit {
    /// Returns the message as a comment of at most `max_chars` Unicode scalar values, ellipsis included: trimmed, with
    /// LF line breaks, and `(no message) <id>` if it is empty.
    pub fn comment(&self, max_chars: usize) -> String {
        let text = self.message.replace("\r\n", "\n");
        match text.trim() {
            "" => cut(&format!("(no message) {}", self.id), max_chars),
            text => cut(text, max_chars),
        }
    }

    /// Returns the first line of the message, trimmed; may be empty.
    pub fn subject(&self) -> &str {
        self.message.trim().lines().next().unwrap_or_default().trim_end()
    }

    /// Returns the values of the trailers `key`. [`super::Attribution`] decides whether they count.
    pub(crate) fn trailers(&self, key: &str) -> Vec<String> {
        let text = self.message.replace("\r\n", "\n");
        // As in Git, trailers are in the last paragraph, and the subject is never one.
        let Some((_, last)) = text.trim().rsplit_once("\n\n") else {
            return Vec::new();
        };
        let fields = last.lines().filter_map(|line| line.split_once(':'));
        fields
            .filter(|(name, _)| name.trim_end().eq_ignore_ascii_case(key))
            .map(|(_, value)| value.trim().to_owned())
            .collect()
    }
}

/// A commit with its author.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct AuthoredCommit {
    pub(crate) commit: Commit,
    pub(crate) author: String,
    pub(crate) email: String,
}

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
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Guessed(_) => "guessed",
            Self::Known(_) => "known",
            Self::Uncommitted => "uncommitted",
        }
    }

    /// Returns the commit whose message is the comment.
    pub fn commit(&self) -> Option<&Commit> {
        match self {
            Self::Guessed(commit) | Self::Known(commit) => Some(commit),
            Self::Uncommitted => None,
        }
    }

    /// Returns whether the commit is a guess.
    pub const fn is_guessed(&self) -> bool {
        matches!(self, Self::Guessed(_))
    }

    /// Returns the comment of at most `max_chars` characters, as [`Commit::comment`] does.
    pub fn comment(&self, max_chars: usize) -> String {
        let comment = self.commit().map(|commit| commit.comment(max_chars));
        comment.unwrap_or_else(|| cut("(not committed)", max_chars))
    }

    /// Returns the commit on one line: short id, subject, and whether it is a guess. The subject is not escaped.
    pub fn label(&self) -> String {
        let line = |commit: &Commit| format!("{} {}", commit.id.short(), commit.subject());
        match self {
            Self::Guessed(commit) => format!("{} (guessed)", line(commit)),
            Self::Known(commit) => line(commit),
            Self::Uncommitted => self.as_str().to_owned(),
        }
    }

    /// Returns whether the commit's trailers contain `Gitoggle-Allow` with the name of `what`.
    pub fn allows(&self, what: Override) -> bool {
        self.trailers("Gitoggle-Allow").iter().any(|value| value == what.as_str())
    }

    /// Returns the values of the trailers `key` of a known commit. As with `git interpret-trailers`, only the last
    /// paragraph counts, unless it is the subject, and keys are case-insensitive.
    pub fn trailers(&self, key: &str) -> Vec<String> {
        match self {
            Self::Known(commit) => commit.trailers(key),
            // A guess may lend its words, never its permissions (DESIGN, section 5).
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
    use proptest::prelude::*;

    use super::*;
    use crate::model::Attribution;

    fn commit(message: &str) -> Commit {
        Commit { id: CommitId(ObjectId([0xab; 20])), message: message.to_owned(), committed_at: 0 }
    }

    #[test]
    fn a_message_becomes_a_comment() {
        for (message, comment) in [
            ("Enable it\n", "Enable it"),
            ("  Enable it\r\n\r\nFor all\r\n", "Enable it\n\nFor all"),
            ("\n \t\n", "(no message) abababababababababababababababababababab"),
        ] {
            assert_eq!(commit(message).comment(1024), comment);
        }
        assert_eq!(commit("naïveté").comment(5), "naïv…");
        assert_eq!(commit("naïveté").comment(7), "naïveté");
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

    proptest! {
        #[test]
        fn a_comment_is_never_empty_and_never_too_long(message in any::<String>(), max in 1_usize..40) {
            let comment = commit(&message).comment(max);
            prop_assert!(!comment.is_empty());
            prop_assert!(comment.chars().count() <= max);
        }
    }
}

#[cfg(test)]
mod attribution_tests {
    use super::*;
    use crate::model::{CommitId, ObjectId};

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
