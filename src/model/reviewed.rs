//! A plan that was reviewed, as far as it is known afterwards.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::hex;

/// The digest of a plan: `sha256:` and 64 hexadecimal digits in lower case.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PlanDigest(String);

/// The reason why a text is not the digest of a plan.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a digest is `sha256:` and 64 digits `0`–`9` or `a`–`f`, as `gitoggle plan -o markdown` prints it")]
pub struct PlanDigestError;

impl FromStr for PlanDigest {
    type Err = PlanDigestError;

    fn from_str(text: &str) -> Result<Self, PlanDigestError> {
        let digits = text.strip_prefix("sha256:").ok_or(PlanDigestError)?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        match digits.len() == 64 && digits.bytes().all(is_digit) {
            true => Ok(Self(text.to_owned())),
            false => Err(PlanDigestError),
        }
    }
}

impl PlanDigest {
    /// Converts the SHA-256 of a plan.
    #[must_use]
    pub fn of_sha256(hash: &[u8; 32]) -> Self {
        Self(format!("sha256:{}", hex(hash)))
    }
}

impl fmt::Display for PlanDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The review that a pass needs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Review {
    /// There is none, for this reason.
    Missing(String),
    /// The plan that was reviewed.
    Plan(ReviewedPlan),
}

/// A reviewed plan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReviewedPlan {
    /// Its digest.
    pub digest: PlanDigest,
    /// The fingerprints of its changes; `None` if they are unknown.
    pub changes: Option<BTreeSet<String>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_sha256_and_64_digits() {
        let digits = "0123456789abcdef".repeat(4);
        let text = format!("sha256:{digits}");
        assert_eq!(text.parse::<PlanDigest>().unwrap().to_string(), text);
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
            assert_eq!(text.parse::<PlanDigest>(), Err(PlanDigestError), "{text}");
        }
    }
}
