//! The changes that a review lists: without a review that lists it, `apply --reviewed` publishes no change.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use super::{Payload, ToggleId, hex};

/// The SHA-256 of a toggle and the meaning of the targeting that would be sent for it. Commits, comments,
/// actions and the kind of the service are not part of it, so that it survives a merge, and does not depend
/// on what is applied.
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
        let json = payload.json();
        // The documented API does not have the member, which means the same as an empty one. It is the last
        // one, and its quotes would be escaped within a text.
        let meaning =
            json.strip_suffix(r#","prerequisites":[]}}"#).or(json.strip_suffix("}}")).unwrap_or(json);
        Self(hash.chain_update(meaning).chain_update("}}").finalize().into())
    }

    /// Returns the digest of the request that switches a toggle off because its document was removed. It sends what
    /// was applied last, which a plan of a pull request does not know.
    pub(crate) fn of_removal(id: &ToggleId) -> Self {
        let hash = Sha256::new().chain_update(id.as_str()).chain_update([0]);
        Self(hash.chain_update("removed").finalize().into())
    }

    /// Returns the part of the digest that a review lists. 128 bits, so that a comment has room for
    /// thousands.
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

    /// Returns the changes that either of two reviews lists.
    pub(crate) fn or(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(crate) fn list(&self, change: ChangeDigest) -> bool {
        self.0.contains(&change.listed())
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

/// A change that no review lists.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnlistedChange {
    /// Where it came from, and why no review lists it: continues the sentence "it …".
    pub(crate) why: String,
    /// The pull request whose plan job lists it when it is run again.
    pub(crate) request: Option<u64>,
}

/// The changes of one pass that no review lists, so that they are not published.
pub type Unlisted = BTreeMap<ToggleId, UnlistedChange>;

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_digest_does_not_depend_on_the_kind_of_the_service() {
        let id = "shop/prod/pay".parse().unwrap();
        let content = |members: &str| -> ChangeDigest {
            let text = format!(
                r#"{{"disabled":true,"content":{{"rules":[],"disabledServe":{{"select":0}},"defaultServe":{{"select":0}},"variations":[]{members}}}}}"#
            );
            ChangeDigest::new(&id, &serde_json::from_str(&text).unwrap())
        };
        let one = r#","prerequisites":[{"key":"a","value":"true","type":"boolean"}]"#;
        assert_eq!(content(""), content(r#","prerequisites":[]"#));
        assert_ne!(content(""), content(one));
    }

    #[test]
    fn the_digests_of_a_review_are_read_back_whole_or_not_at_all() {
        let digest = |byte| ChangeDigest([byte; 32]);
        let review: ReviewedChanges = [digest(1), digest(2), digest(1)].into_iter().collect();
        let bytes = review.to_bytes();
        assert_eq!((review.0.len(), bytes.len()), (2, 32));
        assert_eq!(ReviewedChanges::from_bytes(&bytes), Some(review.clone()));
        assert_eq!(ReviewedChanges::from_bytes(&bytes[1..]), None);
        assert!(review.list(digest(2)) && !review.list(digest(3)));
    }
}
