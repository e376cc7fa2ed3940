//! Why two revisions cannot be compared.

use crate::model::{escaped, similar_names};

/// Why two revisions cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RangeError {
    /// A short id that matches several objects.
    #[error("the commit id `{}` of `{flag}` is ambiguous", escaped(revision))]
    Ambiguous {
        /// The flag.
        flag: &'static str,
        /// Its value.
        revision: String,
    },
    /// A clone that lacks the common ancestor of a branch and its target.
    #[error(
        "the history of this clone is cut before the common ancestor of `{}` and `{}`",
        escaped(target),
        escaped(head)
    )]
    Cut {
        /// The target branch.
        target: String,
        /// The branch of the pull request.
        head: String,
        /// How to fetch the rest.
        hint: String,
    },
    /// A clone that lacks the newest commit of a pull request.
    #[error("the commit `{}` of the pull request is not in this clone", escaped(head))]
    NoHead {
        /// The commit.
        head: String,
        /// How to fetch it.
        hint: String,
    },
    /// The name of another object than a commit.
    #[error("`{}` of `{flag}` names a {kind}, not a commit", escaped(revision))]
    NotARevision {
        /// The flag.
        flag: &'static str,
        /// Its value.
        revision: String,
        /// The kind of the object.
        kind: &'static str,
    },
    /// A clone without the target branch.
    #[error("the target branch `{}` is not in this clone", escaped(target))]
    NoTarget {
        /// The branch.
        target: String,
        /// How to fetch it.
        hint: String,
    },
    /// A repository behind a URL, of which only one ref is fetched.
    #[error("two revisions can be compared only in a repository on this machine")]
    Remote,
    /// A name that no commit has.
    #[error(
        "could not find the revision `{}` of `{flag}`{}",
        escaped(revision),
        similar_names(near)
    )]
    Unknown {
        /// The flag.
        flag: &'static str,
        /// Its value.
        revision: String,
        /// Similar names of existing refs, best first.
        near: Vec<String>,
        /// What to do.
        hint: String,
    },
    /// Branches without a common ancestor.
    #[error(
        "`{}` and `{}` have no common ancestor: their histories are unrelated",
        escaped(target),
        escaped(head)
    )]
    Unrelated {
        /// The target branch.
        target: String,
        /// The branch of the pull request.
        head: String,
    },
}

impl RangeError {
    /// Returns what to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Ambiguous { .. } => "use more digits of the commit id".to_owned(),
            Self::Cut { hint, .. }
            | Self::NoHead { hint, .. }
            | Self::NoTarget { hint, .. }
            | Self::Unknown { hint, .. } => hint.clone(),
            Self::NotARevision { .. } => {
                "pass a branch, a tag, a commit, or an expression such as `HEAD~2`".to_owned()
            }
            Self::Remote => "clone the repository, and pass the clone as `--repo`".to_owned(),
            Self::Unrelated { .. } => {
                "check `--target`; to compare any two revisions, pass `--from` and `--to`".to_owned()
            }
        }
    }
}
