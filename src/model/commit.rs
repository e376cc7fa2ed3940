//! A commit with the comment and the trailers of its message.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ObjectId, cut};

/// The id of a commit, shown in full.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct CommitId(pub ObjectId);

impl CommitId {
    /// Returns the first ten digits.
    pub(crate) fn short(&self) -> String {
        self.0.to_string()[..10].to_owned()
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Commit {
    pub id: CommitId,
    /// The complete message, decoded to UTF-8.
    pub message: String,
    /// The commit time, in seconds since 1970-01-01 UTC.
    pub committed_at: i64,
}

impl Commit {
    /// Returns the message as a comment of at most `max_chars` Unicode scalar values, ellipsis included: trimmed, with
    /// LF line breaks, and `(no message) <id>` if it is empty.
    pub(crate) fn comment(&self, max_chars: usize) -> String {
        let text = self.message.replace("\r\n", "\n");
        match text.trim() {
            "" => cut(&format!("(no message) {}", self.id), max_chars),
            text => cut(text, max_chars),
        }
    }

    /// Returns the first line of the message, trimmed; may be empty.
    pub(crate) fn subject(&self) -> &str {
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

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct AuthoredCommit {
    pub(crate) commit: Commit,
    pub(crate) author: String,
    pub(crate) email: String,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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

    proptest! {
        #[test]
        fn a_comment_is_never_empty_and_never_too_long(message in any::<String>(), max in 1_usize..40) {
            let comment = commit(&message).comment(max);
            prop_assert!(!comment.is_empty());
            prop_assert!(comment.chars().count() <= max);
        }
    }
}
