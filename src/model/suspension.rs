//! Suspensions, which pause publishing for all toggles or for a part of them.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::glob::unmatchable_advice;
use super::{Scope, ScopeError, ToggleId, escaped, shell_word};

/// The order to pause publishing.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Suspension {
    /// The operator's reason.
    pub reason: Option<String>,
    /// The time when it ends, in seconds since 1970-01-01 UTC.
    pub until: Option<i64>,
}

/// The suspended toggles: all of them, or those that match one of several globs, as in `--only`.
///
/// Two scopes are equal if their globs are.
#[derive(Clone, Debug, Default)]
pub struct SuspensionScope(Scope);

/// Why a text is not a scope.
#[derive(Debug, thiserror::Error)]
pub enum SuspensionScopeError {
    #[error("a scope needs a glob over `project/environment/toggle`; leave it out for everything")]
    Empty,
    #[error(transparent)]
    Glob(#[from] ScopeError),
    #[error("the scope `{}` matches no toggle: {}", escaped(.0), unmatchable_advice(.0))]
    Unmatchable(String),
}

impl SuspensionScope {
    pub(crate) fn everything() -> Self {
        Self::default()
    }

    /// Returns whether it contains all toggles.
    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_everything()
    }

    /// Returns whether it contains `toggle`.
    pub(crate) fn contains(&self, toggle: &ToggleId) -> bool {
        self.0.contains(toggle)
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.0
    }

    /// Returns the globs as arguments of a command, each after a space.
    pub(crate) fn arguments(&self) -> String {
        let globs = self.0.globs().iter();
        globs.map(|glob| format!(" {}", shell_word(glob))).collect()
    }

    /// Returns the globs, separated by spaces; `None` for everything.
    pub(crate) fn globs(&self) -> Option<String> {
        (!self.is_everything()).then(|| self.0.globs().join(" "))
    }
}

impl FromStr for SuspensionScope {
    type Err = SuspensionScopeError;

    fn from_str(text: &str) -> Result<Self, SuspensionScopeError> {
        let globs: Vec<&str> = text.split_whitespace().collect();
        if globs.is_empty() {
            return Err(SuspensionScopeError::Empty);
        }
        // Scopes are equal if their globs are, so everything needs one form.
        if globs.contains(&"**") {
            return Ok(Self::everything());
        }
        let scope = Scope::new(&globs)?;
        // A glob that cannot match would suspend nothing, and the operator would not notice.
        if let Some(glob) = scope.unmatchable().next() {
            return Err(SuspensionScopeError::Unmatchable(glob.to_owned()));
        }
        Ok(Self(scope))
    }
}

impl fmt::Display for SuspensionScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.globs().unwrap_or_else(|| "everything".to_owned()))
    }
}

impl Ord for SuspensionScope {
    /// Sorts everything first.
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.globs().cmp(other.0.globs())
    }
}

impl PartialOrd for SuspensionScope {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SuspensionScope {
    fn eq(&self, other: &Self) -> bool {
        self.0.globs() == other.0.globs()
    }
}

impl Eq for SuspensionScope {}

impl Serialize for SuspensionScope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.globs().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SuspensionScope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Option::<String>::deserialize(deserializer)? {
            None => Ok(Self::everything()),
            Some(globs) => globs.parse().map_err(serde::de::Error::custom),
        }
    }
}

/// All suspensions, by scope. As JSON, a list of `{scope, reason, until}`.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "Vec<Scoped>", into = "Vec<Scoped>")]
pub struct Suspensions(BTreeMap<SuspensionScope, Suspension>);

#[derive(Clone, Deserialize, Serialize)]
struct Scoped {
    scope: SuspensionScope,
    #[serde(flatten)]
    suspension: Suspension,
}

impl From<Vec<Scoped>> for Suspensions {
    fn from(list: Vec<Scoped>) -> Self {
        let each = list.into_iter();
        Self(each.map(|Scoped { scope, suspension }| (scope, suspension)).collect())
    }
}

impl From<Suspensions> for Vec<Scoped> {
    fn from(suspensions: Suspensions) -> Self {
        let each = suspensions.0.into_iter();
        each.map(|(scope, suspension)| Scoped { scope, suspension }).collect()
    }
}

impl Suspensions {
    /// Adds a suspension, or replaces the one with the same scope.
    pub(crate) fn add(&mut self, scope: SuspensionScope, suspension: Suspension) {
        self.0.insert(scope, suspension);
    }

    /// Removes the suspension of `scope`, or all suspensions for everything. Returns the removed scopes.
    pub(crate) fn remove(&mut self, scope: &SuspensionScope) -> Vec<SuspensionScope> {
        if scope.is_everything() {
            // Resuming everything must not leave a part suspended.
            return std::mem::take(&mut self.0).into_keys().collect();
        }
        let removed = self.0.remove_entry(scope);
        removed.into_iter().map(|(scope, _)| scope).collect()
    }

    /// Returns the suspensions that are active at `now`.
    pub(crate) fn at(&self, now: i64) -> Self {
        let is_active = |suspension: &Suspension| suspension.until.is_none_or(|until| now < until);
        let active = self.0.iter().filter(|(_, suspension)| is_active(suspension));
        Self(active.map(|(scope, suspension)| (scope.clone(), suspension.clone())).collect())
    }

    pub(crate) fn everything(&self) -> Option<&Suspension> {
        self.0.get(&SuspensionScope::everything())
    }

    /// Returns the suspension of `toggle` with its scope.
    pub(crate) fn of(&self, toggle: &ToggleId) -> Option<(&SuspensionScope, &Suspension)> {
        // The suspension of everything comes first, so the most general reason is shown.
        self.iter().find(|(scope, _)| scope.contains(toggle))
    }

    /// Returns all suspensions with their scopes, that of everything first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&SuspensionScope, &Suspension)> {
        self.0.iter()
    }

    /// Returns whether nothing is suspended.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the time when the next suspension ends.
    pub(crate) fn next_end(&self) -> Option<i64> {
        self.0.values().filter_map(|suspension| suspension.until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspension(reason: &str, until: Option<i64>) -> Suspension {
        Suspension { reason: Some(reason.to_owned()), until }
    }

    fn scope(globs: &str) -> SuspensionScope {
        globs.parse().unwrap()
    }

    #[test]
    fn a_scope_is_globs_or_everything() {
        let toggle: ToggleId = "shop/prod/pay".parse().unwrap();
        for (globs, contains) in [("shop/prod/**", true), ("a/** shop/**", true), ("shop/test/**", false)] {
            assert_eq!(scope(globs).contains(&toggle), contains, "{globs}");
        }
        assert!(scope("a/** **").is_everything());
        for (globs, reason) in
            [("", "needs a glob"), ("shop/prod", "matches no toggle"), ("shop/{", "is not a valid glob")]
        {
            let error = globs.parse::<SuspensionScope>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn parts_are_suspended_and_resumed_on_their_own() {
        let mut all = Suspensions::default();
        all.add(scope("shop/**"), suspension("sale", Some(10)));
        all.add(scope("web/**"), suspension("incident", None));
        let toggle = "shop/prod/pay".parse().unwrap();
        let reason = |all: &Suspensions| all.of(&toggle).and_then(|(_, one)| one.reason.clone());
        assert_eq!(reason(&all).as_deref(), Some("sale"));
        assert_eq!(all.next_end(), Some(10));
        assert!(all.everything().is_none());
        assert_eq!(reason(&all.at(10)), None);
        let json = serde_json::to_value(&all).unwrap();
        assert_eq!(json[0], serde_json::json!({"scope": "shop/**", "reason": "sale", "until": 10}));
        assert_eq!(serde_json::from_value::<Suspensions>(json).unwrap(), all);
        assert_eq!(all.remove(&scope("shop/*/*")), []);
        assert_eq!(all.remove(&scope("shop/**")), [scope("shop/**")]);
        all.add(SuspensionScope::everything(), suspension("freeze", None));
        assert_eq!(reason(&all).as_deref(), Some("freeze"));
        let resumed = all.remove(&SuspensionScope::everything());
        assert_eq!(resumed, [SuspensionScope::everything(), scope("web/**")]);
        assert!(all.is_empty());
    }
}
