//! The keys of each part of a document.

pub(super) const DOCUMENT: &[&str] = &["disabled", "content"];
pub(super) const CONTENT: &[&str] =
    &["rules", "disabledServe", "defaultServe", "variations", "prerequisites"];
pub(super) const RULE: &[&str] = &["name", "serve", "conditions"];
pub(super) const CONDITION: &[&str] =
    &["type", "subject", "predicate", "objects", "leftPredicate", "rightPredicate", "rightObjects"];
/// The keys of a condition that is not a `between`.
pub(super) const SIMPLE_CONDITION: &[&str] = &["type", "subject", "predicate", "objects"];
pub(super) const SERVE: &[&str] = &["select", "variation", "split"];
pub(super) const VARIATION: &[&str] = &["value", "name", "description"];
pub(super) const PREREQUISITE: &[&str] = &["key", "value", "type"];
pub(super) const EXPECTATION: &[&str] = &["name", "given", "key", "at", "serves"];

/// Those of a document.
const ALL: [&[&str]; 7] = [DOCUMENT, CONTENT, RULE, CONDITION, SERVE, VARIATION, PREREQUISITE];

/// Returns whether a key occurs anywhere in a document.
pub(super) fn is_known_key(name: &str) -> bool {
    ALL.iter().any(|keys| keys.contains(&name))
}

/// Returns whether two keys belong into the same mapping.
pub(super) fn are_siblings(one: &str, other: &str) -> bool {
    one != other && ALL.iter().any(|keys| keys.contains(&one) && keys.contains(&other))
}
