//! A commit with the comment and the trailers of its message.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{EnvironmentId, ObjectId, Payload, ToggleId, cut, hex};

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

    /// Returns the commit on one line: short id, subject, and whether it is a guess. The subject is not escaped.
    pub(crate) fn label(&self) -> String {
        let line = |commit: &Commit| format!("{} {}", commit.id.short(), commit.subject());
        match self {
            Self::Guessed(commit) => format!("{} (guessed)", line(commit)),
            Self::Known(commit) => line(commit),
            Self::Uncommitted => self.as_str().to_owned(),
        }
    }

    /// Returns whether the commit's trailers contain `Gitoggle-Allow` with the name of `what`.
    pub(crate) fn allows(&self, what: Override) -> bool {
        self.trailers("Gitoggle-Allow").iter().any(|value| value == what.as_str())
    }

    /// Returns the values of the trailers `key` of a known commit. As with `git interpret-trailers`, only the last
    /// paragraph counts, unless it is the subject, and keys are case-insensitive.
    pub(crate) fn trailers(&self, key: &str) -> Vec<String> {
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

/// The SHA-256 of a toggle and the targeting that would be sent for it. Commits, comments and actions are not part of it,
/// so that it survives a merge, and does not depend on what is applied.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct ChangeDigest([u8; 32]);

/// The reason why a text is not the digest of a change.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a digest is `sha256:` and 64 digits `0`–`9` or `a`–`f`")]
pub struct ChangeDigestError;

impl ChangeDigest {
    /// Returns the digest of the request that sends `payload` for a toggle.
    pub(crate) fn new(id: &ToggleId, payload: &Payload) -> Self {
        // Without a separator, two different requests could have the same bytes.
        let hash = Sha256::new().chain_update(id.as_str()).chain_update([0]);
        Self(hash.chain_update(payload.json()).finalize().into())
    }

    /// Returns the part of the digest that a review lists. 128 bits, so that a comment has room for thousands.
    fn listed(self) -> ListedDigest {
        *self.0.first_chunk().expect("the digest is longer")
    }
}

impl fmt::Display for ChangeDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", hex(&self.0))
    }
}

impl FromStr for ChangeDigest {
    type Err = ChangeDigestError;

    fn from_str(text: &str) -> Result<Self, ChangeDigestError> {
        let digits = text.strip_prefix("sha256:").ok_or(ChangeDigestError)?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != 64 || !digits.bytes().all(is_digit) {
            return Err(ChangeDigestError);
        }
        let mut digest = [0; 32];
        for (byte, at) in digest.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| ChangeDigestError)?;
        }
        Ok(Self(digest))
    }
}

type ListedDigest = [u8; LISTED];
const LISTED: usize = 16;

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ReviewedChanges(BTreeSet<ListedDigest>);

impl ReviewedChanges {
    /// Returns all digests as bytes, one after the other.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flatten().copied().collect()
    }

    /// Returns the digests that [`Self::to_bytes`] has returned; `None` if it has not returned these.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (digests, rest) = bytes.as_chunks::<LISTED>();
        rest.is_empty().then(|| Self(digests.iter().copied().collect()))
    }
}

impl FromIterator<ChangeDigest> for ReviewedChanges {
    fn from_iter<T: IntoIterator<Item = ChangeDigest>>(digests: T) -> Self {
        Self(digests.into_iter().map(ChangeDigest::listed).collect())
    }
}

/// The reviews that count for one pass.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reviews {
    changes: ReviewedChanges,
    /// For the commits of pull requests, which one each came from, and why its review does not list a change.
    requests: BTreeMap<CommitId, String>,
    /// The same for any other commit, after its id.
    others: String,
}

impl Reviews {
    /// Returns no reviews. `others` continues the sentence about a commit that is of no pull request.
    pub(crate) fn none(others: impl Into<String>) -> Self {
        Self { changes: ReviewedChanges::default(), requests: BTreeMap::new(), others: others.into() }
    }

    pub(crate) fn add(&mut self, review: ReviewedChanges) {
        self.changes.0.extend(review.0);
    }

    /// Names the pull request that `commits` came from, and why its review does not list a change.
    pub(crate) fn name(&mut self, commits: impl IntoIterator<Item = CommitId>, request: &str) {
        for commit in commits {
            self.requests.entry(commit).or_insert_with(|| request.to_owned());
        }
    }

    pub(crate) fn list(&self, change: ChangeDigest) -> bool {
        self.changes.0.contains(&change.listed())
    }

    /// Returns what an unlisted change of `commit` came from, and why no review lists it.
    pub(crate) fn origin(&self, commit: Option<&Commit>) -> String {
        match commit {
            None => format!("files that are not committed, {}", self.others),
            Some(commit) => match self.requests.get(&commit.id) {
                Some(request) => request.clone(),
                None => format!("commit {}, {}", commit.id.short(), self.others),
            },
        }
    }
}

/// A decision that an operator can make at run time (DESIGN, section 9.2).
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Override {
    /// Record the documents of an environment in which nothing is applied as applied.
    FirstPassAdopt,
    /// Publish every toggle of an environment in which nothing is applied.
    FirstPassAssert,
    /// Apply a revision that does not descend from the recorded one.
    History,
    /// Lift the rails of an environment, even if all of its documents were removed.
    MassChange,
    /// Overwrite changes that were made on the service.
    OverwriteDrift,
    /// Publish outside the change windows of an environment.
    Window,
}

impl Override {
    /// All overrides, in display order.
    pub const ALL: [Self; 6] = [
        Self::FirstPassAssert,
        Self::FirstPassAdopt,
        Self::MassChange,
        Self::History,
        Self::OverwriteDrift,
        Self::Window,
    ];

    /// Returns the name, such as `mass-change`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::FirstPassAdopt => "first-pass-adopt",
            Self::FirstPassAssert => "first-pass-assert",
            Self::History => "history",
            Self::MassChange => "mass-change",
            Self::OverwriteDrift => "overwrite-drift",
            Self::Window => "window",
        }
    }

    pub(crate) fn is_first_pass(self) -> bool {
        matches!(self, Self::FirstPassAdopt | Self::FirstPassAssert)
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that is not the name of an override.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` cannot be allowed; use one of {}", super::escaped(.0), Override::ALL.map(Override::as_str).join(", "))]
pub struct OverrideError(String);

impl FromStr for Override {
    type Err = OverrideError;

    fn from_str(text: &str) -> Result<Self, OverrideError> {
        let found = Self::ALL.into_iter().find(|what| what.as_str() == text);
        found.ok_or_else(|| OverrideError(text.to_owned()))
    }
}

/// An override that an operator gave to a daemon, or a run to itself. Valid as long as its revision is the one to apply.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Allowance {
    pub what: Override,
    /// The environment; `None` for `history`, which concerns the source.
    pub environment: Option<EnvironmentId>,
    pub revision: CommitId,
    /// The caller's address.
    pub by: String,
    /// The time, in seconds since 1970-01-01 UTC.
    pub at: i64,
    /// The live versions that `overwrite-drift` covers: those that the operator could see. None for the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<BTreeMap<ToggleId, u64>>,
}

impl Allowance {
    /// Returns whether both answer the same question, so that the later one replaces the earlier one.
    pub(crate) fn replaces(&self, other: &Self) -> bool {
        // The two decisions on a first pass contradict each other, so only the later one can be valid.
        let is_same = self.what == other.what || (self.what.is_first_pass() && other.what.is_first_pass());
        is_same && self.environment == other.environment && self.covers(other)
    }

    /// Returns whether this one covers every toggle of an earlier one that may still be valid.
    fn covers(&self, other: &Self) -> bool {
        match (&self.versions, &other.versions) {
            (Some(versions), Some(others)) if self.revision == other.revision => {
                others.keys().all(|id| versions.contains_key(id))
            }
            _ => true,
        }
    }
}

/// `mass-change shop/prod by 127.0.0.1:4711 at 2026-01-31T12:00:00Z`, the form of the trailers of applied commits.
impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, environment, revision: _, by, at, versions: _ } = self;
        write!(f, "{what}")?;
        if let Some(environment) = environment {
            write!(f, " {environment}")?;
        }
        write!(f, " by {} at {}", super::escaped(by), super::rfc3339(*at))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Attribution, ObjectId};

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

    #[test]
    fn a_digest_is_sha256_and_64_digits() {
        let digits = "0123456789abcdef".repeat(4);
        let text = format!("sha256:{digits}");
        assert_eq!(text.parse::<ChangeDigest>().unwrap().to_string(), text);
        for text in [
            "",
            "sha256:",
            &digits,
            &format!("SHA256:{digits}"),
            &format!("sha256:{}", digits.to_uppercase()),
            &format!("sha256:{digits}0"),
            &format!("sha256:{}", &digits[1..]),
            &format!("sha256:{}g", &digits[1..]),
            &format!("sha1:{digits}"),
        ] {
            assert_eq!(text.parse::<ChangeDigest>(), Err(ChangeDigestError), "{text}");
        }
    }

    #[test]
    fn the_digests_of_a_review_are_read_back_whole_or_not_at_all() {
        let digest = |byte| ChangeDigest([byte; 32]);
        let review: ReviewedChanges = [digest(1), digest(2), digest(1)].into_iter().collect();
        let bytes = review.to_bytes();
        assert_eq!((review.0.len(), bytes.len()), (2, 32));
        assert_eq!(ReviewedChanges::from_bytes(&bytes), Some(review.clone()));
        assert_eq!(ReviewedChanges::from_bytes(&bytes[1..]), None);
        let mut reviews = Reviews::none("");
        reviews.add(review);
        assert!(reviews.list(digest(2)) && !reviews.list(digest(3)));
    }

    #[test]
    fn an_override_has_one_spelling() {
        for what in Override::ALL {
            assert_eq!(what.as_str().parse(), Ok(what));
            assert_eq!(serde_json::to_value(what).unwrap(), what.as_str());
        }
        let error = "everything\n".parse::<Override>().unwrap_err().to_string();
        assert!(
            error.starts_with("`everything\\n` cannot be allowed; use one of first-pass-assert, "),
            "{error}"
        );
    }

    #[test]
    fn a_later_decision_about_the_same_question_replaces_the_earlier_one() {
        let allowance = |what, environment: &str| Allowance {
            what,
            environment: Some(environment.parse().unwrap()),
            revision: CommitId(ObjectId([1; 20])),
            by: "127.0.0.1:4711".to_owned(),
            at: 0,
            versions: None,
        };
        let assert = allowance(Override::FirstPassAssert, "shop/prod");
        assert!(allowance(Override::FirstPassAdopt, "shop/prod").replaces(&assert));
        assert!(!allowance(Override::FirstPassAdopt, "shop/test").replaces(&assert));
        assert!(!allowance(Override::MassChange, "shop/prod").replaces(&assert));
    }

    #[test]
    fn a_later_order_to_overwrite_replaces_an_earlier_one_only_if_it_covers_its_toggles() {
        let order = |revision, toggles: &[&str]| Allowance {
            what: Override::OverwriteDrift,
            environment: Some("shop/prod".parse().unwrap()),
            revision: CommitId(ObjectId([revision; 20])),
            by: "127.0.0.1:4711".to_owned(),
            at: 0,
            versions: Some(toggles.iter().map(|id| (id.parse().unwrap(), 3)).collect()),
        };
        let (pay, ship) = (["shop/prod/pay"], ["shop/prod/ship"]);
        let both = order(1, &[pay, ship].concat());
        assert!(both.replaces(&order(1, &pay)));
        assert!(!order(1, &ship).replaces(&both));
        assert!(order(2, &ship).replaces(&both));
        let older = Allowance { versions: None, ..both.clone() };
        assert!(order(1, &pay).replaces(&older));
        let text = serde_json::to_string(&older).unwrap();
        assert!(!text.contains("versions"), "{text}");
        assert_eq!(serde_json::from_str::<Allowance>(&text).unwrap(), older);
    }
}
