//! Keys, and ids of environments and toggles.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

/// The maximum length of a key in bytes (every allowed character is one byte).
pub(super) const LONGEST_KEY: usize = 128;

const ALLOWED: [bool; 256] = {
    let mut allowed = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        allowed[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        byte += 1;
    }
    allowed
};

/// A key: 1–128 characters of `A–Z a–z 0–9 . _ -`, beginning with a letter or digit.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Key(Arc<str>);

impl Key {
    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether a byte may be in a key, though perhaps not as its first one.
    pub(super) fn is_allowed(byte: u8) -> bool {
        ALLOWED[usize::from(byte)]
    }

    /// Returns whether bytes are a key. Takes a tenth of the time of [`Key::check`], which gives a reason.
    pub(crate) fn is_key(bytes: &[u8]) -> bool {
        bytes.len() <= LONGEST_KEY
            && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
            && bytes.iter().all(|byte| Self::is_allowed(*byte))
    }

    /// Checks that a text is a key, without allocating.
    pub(crate) fn check(text: &str) -> Result<(), KeyError> {
        let first = text.chars().next().ok_or(KeyError::Empty)?;
        if let Some(bad) = text.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')))
        {
            return Err(KeyError::BadCharacter(bad));
        }
        if !first.is_ascii_alphanumeric() {
            return Err(KeyError::BadStart(first));
        }
        // All characters are ASCII here, so the length in bytes is the number of characters.
        if text.len() > LONGEST_KEY {
            return Err(KeyError::TooLong(text.len()));
        }
        Ok(())
    }
}

/// Why a text is not a key.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum KeyError {
    #[error("a key must have at least one character")]
    Empty,
    #[error("a key has at most {LONGEST_KEY} characters, this one has {0}")]
    TooLong(usize),
    #[error("a key begins with a letter or digit, not `{}`", super::escaped(.0.encode_utf8(&mut [0; 4])))]
    BadStart(char),
    #[error("a key has only letters, digits, `.`, `_` and `-`, not `{}`", super::escaped(.0.encode_utf8(&mut [0; 4])))]
    BadCharacter(char),
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        Self::check(text)?;
        Ok(Self(text.into()))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text is not a `project/environment/toggle`.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum IdError {
    #[error("a toggle is written `project/environment/toggle`")]
    Shape,
    #[error("`{}` is not a key", super::escaped(.0))]
    Key(String, #[source] KeyError),
}

/// A toggle in an environment of a project, written `project/environment/toggle`.
///
/// One shared string, because a repository can have a hundred thousand ids.
#[derive(Clone, Eq, Hash, PartialEq)]
pub struct ToggleId {
    text: Arc<str>,
    environment_at: u16,
    toggle_at: u16,
}

impl ToggleId {
    /// Builds an id from three texts, each of which must be a key.
    ///
    /// # Errors
    /// [`IdError::Key`] contains the first component that is not a key.
    pub(crate) fn new(project: &str, environment: &str, toggle: &str) -> Result<Self, IdError> {
        for part in [project, environment, toggle] {
            Key::check(part).map_err(|error| IdError::Key(part.to_owned(), error))?;
        }
        let text = format!("{project}/{environment}/{toggle}");
        let environment_at = project.len() + 1;
        let toggle_at = environment_at + environment.len() + 1;
        Ok(Self {
            text: text.into(),
            environment_at: u16::try_from(environment_at).expect("a key has at most 128 characters"),
            toggle_at: u16::try_from(toggle_at).expect("two keys have at most 256 characters"),
        })
    }

    /// Returns the whole `project/environment/toggle`.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the project's key.
    pub(crate) fn project(&self) -> &str {
        &self.text[..usize::from(self.environment_at) - 1]
    }

    /// Returns the environment's key, which is unique only within the project.
    pub(crate) fn environment_key(&self) -> &str {
        &self.text[usize::from(self.environment_at)..usize::from(self.toggle_at) - 1]
    }

    /// Returns the toggle's key.
    pub(crate) fn toggle(&self) -> &str {
        &self.text[usize::from(self.toggle_at)..]
    }

    pub(crate) fn environment(&self) -> EnvironmentId {
        EnvironmentId { project: Key(self.project().into()), environment: Key(self.environment_key().into()) }
    }

    /// Returns whether the toggle belongs to `environment`, without allocating.
    pub(crate) fn is_in(&self, environment: &EnvironmentId) -> bool {
        self.parts().0 == environment.project.as_str() && self.parts().1 == environment.environment.as_str()
    }

    /// Returns the toggle without regard to case.
    pub(crate) fn folded(&self) -> FoldedId {
        FoldedId(self.clone())
    }

    fn parts(&self) -> (&str, &str, &str) {
        (self.project(), self.environment_key(), self.toggle())
    }
}

impl Ord for ToggleId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // Not the text: `-` sorts before `/`, so `a-b/x` would come before `a/z`.
        self.parts().cmp(&other.parts())
    }
}

impl PartialOrd for ToggleId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl FromStr for ToggleId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let mut parts = text.split('/');
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(project), Some(environment), Some(toggle), None) => Self::new(project, environment, toggle),
            _ => Err(IdError::Shape),
        }
    }
}

impl fmt::Display for ToggleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for ToggleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for ToggleId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for ToggleId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A toggle as services tell toggles apart: without regard to case (src/model/README.md, "Ids"). Equal, ordered
/// and hashed in lower case, shown as it is spelled.
///
/// Shares the text of the id, because a comparison can have a million of them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(transparent)]
pub struct FoldedId(ToggleId);

impl FoldedId {
    /// Returns the id as it is spelled.
    pub(crate) fn spelled(&self) -> &ToggleId {
        &self.0
    }

    fn lower(&self) -> impl Iterator<Item = u8> + '_ {
        self.0.as_str().bytes().map(|byte| byte.to_ascii_lowercase())
    }
}

impl Ord for FoldedId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.lower().cmp(other.lower())
    }
}

impl PartialOrd for FoldedId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for FoldedId {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str().eq_ignore_ascii_case(other.0.as_str())
    }
}

impl Eq for FoldedId {}

impl Hash for FoldedId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for part in self.0.as_str().as_bytes().chunks(8) {
            let mut lower = [0; 8];
            lower[..part.len()].copy_from_slice(part);
            lower.make_ascii_lowercase();
            state.write_u64(u64::from_ne_bytes(lower));
        }
    }
}

/// An environment of a project, written `project/environment`: the unit of rails, lanes and first passes.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct EnvironmentId {
    pub project: Key,
    /// The environment's key within the project.
    pub environment: Key,
}

impl EnvironmentId {
    /// Returns whether both are one environment: ids that differ only in case are one.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.to_string().eq_ignore_ascii_case(&other.to_string())
    }
}

impl fmt::Display for EnvironmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.project, self.environment)
    }
}

/// A text that is not `project/environment`.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum EnvironmentIdError {
    #[error("an environment is written `project/environment`")]
    Shape,
    #[error("`{}` is not a key", super::escaped(.0))]
    Key(String, #[source] KeyError),
}

impl FromStr for EnvironmentId {
    type Err = EnvironmentIdError;

    fn from_str(text: &str) -> Result<Self, EnvironmentIdError> {
        let key =
            |part: &str| part.parse::<Key>().map_err(|error| EnvironmentIdError::Key(part.to_owned(), error));
        match text.split_once('/') {
            Some((project, environment)) if !environment.contains('/') => {
                Ok(Self { project: key(project)?, environment: key(environment)? })
            }
            _ => Err(EnvironmentIdError::Shape),
        }
    }
}

impl<'de> Deserialize<'de> for EnvironmentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for EnvironmentId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The id of a Git blob, tree or commit (SHA-1, 20 bytes).
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ObjectId(pub [u8; 20]);

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every publish writes several ids, and the formatting machinery costs measurably more.
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 40];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.write_str(std::str::from_utf8(&text).expect("digits are text"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is not 40 hexadecimal digits.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("an object id is 40 hexadecimal digits")]
pub struct ObjectIdError;

impl FromStr for ObjectId {
    type Err = ObjectIdError;

    fn from_str(text: &str) -> Result<Self, ObjectIdError> {
        let digits = text.as_bytes();
        // `from_str_radix` accepts a sign, so the digits are checked first.
        if digits.len() != 40 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(ObjectIdError);
        }
        let mut id = [0; 20];
        for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| ObjectIdError)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| ObjectIdError)?;
        }
        Ok(Self(id))
    }
}

impl Serialize for ObjectId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ObjectId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

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

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};

    use super::*;

    #[test]
    fn an_id_is_three_keys() {
        let id: ToggleId = "checkout/production/new-payment".parse().unwrap();
        assert_eq!(
            (id.project(), id.environment_key(), id.toggle()),
            ("checkout", "production", "new-payment")
        );
        assert_eq!(id.environment().to_string(), "checkout/production");
        assert!(id.is_in(&id.environment()));
    }

    #[test]
    fn an_invalid_key_is_refused_with_the_reason() {
        let long = "a".repeat(129);
        for (text, reason) in [
            ("", KeyError::Empty),
            (".hidden", KeyError::BadStart('.')),
            ("a b", KeyError::BadCharacter(' ')),
            ("a\u{202e}", KeyError::BadCharacter('\u{202e}')),
            ("ключ", KeyError::BadCharacter('к')),
            (long.as_str(), KeyError::TooLong(129)),
        ] {
            assert_eq!(text.parse::<Key>(), Err(reason), "{text:?}");
        }
        for (text, shown) in [("für", "not `ü`"), ("a\u{202e}", "not `\\u{202e}`")] {
            let reason = text.parse::<Key>().unwrap_err().to_string();
            assert!(reason.ends_with(shown), "{reason}");
        }
        assert!("a".repeat(128).parse::<Key>().is_ok());
        assert_eq!("a/b".parse::<ToggleId>(), Err(IdError::Shape));
        assert_eq!("a/b/c/d".parse::<ToggleId>(), Err(IdError::Shape));
    }

    #[test]
    fn folded_ids_are_equal_if_they_differ_only_in_case() {
        let folded = |id: &str| id.parse::<ToggleId>().unwrap().folded();
        let ids = ["shop/prod/one-toggle", "shop/prod/other"].map(folded);
        let (hashed, sorted) = (HashSet::from(ids.clone()), BTreeSet::from(ids));
        let contains = |id: &str| {
            let found = sorted.get(&folded(id)).map(|id| id.spelled().to_string());
            assert_eq!(found.is_some(), hashed.contains(&folded(id)), "{id}");
            found
        };
        assert_eq!(contains("Shop/PROD/one-Toggle").as_deref(), Some("shop/prod/one-toggle"));
        assert_eq!(contains("shop/prod/OTHER").as_deref(), Some("shop/prod/other"));
        assert_eq!([contains("shop/prod/one-toggl"), contains("shop/prod-/other")], [None, None]);
    }

    #[test]
    fn an_environment_is_two_keys() {
        let environment: EnvironmentId = "shop/prod".parse().unwrap();
        assert_eq!(environment.to_string(), "shop/prod");
        for text in ["shop", "shop/prod/pay", ""] {
            assert_eq!(text.parse::<EnvironmentId>(), Err(EnvironmentIdError::Shape), "{text}");
        }
        assert!("shop/".parse::<EnvironmentId>().is_err());
    }

    #[test]
    fn ids_sort_by_project_then_environment_then_toggle() {
        let mut ids: Vec<ToggleId> =
            ["a-b/x/t", "a/z/t", "a/b/t", "a/b/s"].iter().map(|id| id.parse().unwrap()).collect();
        ids.sort();
        let ids: Vec<&str> = ids.iter().map(ToggleId::as_str).collect();
        assert_eq!(ids, ["a/b/s", "a/b/t", "a/z/t", "a-b/x/t"]);
    }
}
