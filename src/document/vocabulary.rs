//! The conditions that a service knows (`featureprobe-behaviour.md`, 5.2 and 5.3).
//!
//! The documented API has no such list, so only the objects of `number` conditions are checked there.

use super::check::{self, Check};
use super::formats::{is_datetime, is_decimal};
use crate::model::{ServiceKind, is_semver};

pub(super) const COMPARISONS: &[&str] = &["=", "!=", ">", ">=", "<", "<="];

const REGEX: [&str; 2] = ["matches regex", "does not match regex"];

const CONDITIONS: &[(&str, &[&str])] = &[
    (
        "string",
        &[
            "is one of",
            "is not any of",
            "starts with",
            "does not start with",
            "ends with",
            "does not end with",
            "contains",
            "does not contain",
            REGEX[0],
            REGEX[1],
        ],
    ),
    ("number", &["=", "!=", ">", ">=", "<", "<=", "between"]),
    ("semver", COMPARISONS),
    ("datetime", &["after", "before"]),
    ("segment", &["is in", "is not in"]),
];

/// Returns the types of condition that FeatureProbe knows.
pub(super) fn types() -> impl Iterator<Item = &'static str> {
    CONDITIONS.iter().map(|(kind, _)| *kind)
}

/// Returns the predicates that FeatureProbe knows for a type; `None` for a type it does not know.
pub(super) fn predicates(kind: &str) -> Option<&'static [&'static str]> {
    CONDITIONS.iter().find(|(name, _)| *name == kind).map(|(_, predicates)| *predicates)
}

/// Returns whether the objects of such a condition are regular expressions.
pub(super) fn is_regex(kind: &str, predicate: Option<&str>) -> bool {
    kind == "string" && predicate.is_some_and(|predicate| REGEX.contains(&predicate))
}

/// Returns the failed check on an object of a condition of type `kind`, with what the object should be and the help.
pub(super) fn operand(
    service: ServiceKind,
    kind: &str,
    object: &str,
) -> Option<(&'static Check, &'static str, &'static str)> {
    match (kind, service) {
        // DESIGN, section 2, defines decimal numbers for every kind of service.
        ("number", _) if !is_decimal(object) => Some((
            &check::NOT_A_NUMBER,
            "a decimal number",
            "write digits, with an optional sign, fraction and exponent, such as `-1.5e3`",
        )),
        ("semver", ServiceKind::FeatureProbe) if !is_semver(object) => Some((
            &check::BAD_SEMVER,
            "a semantic version",
            "write three numbers without a leading `v`, such as `1.2.3`",
        )),
        ("datetime", ServiceKind::FeatureProbe) if !is_datetime(object) => Some((
            &check::BAD_DATETIME,
            "a time that the service can parse",
            "write it in UTC, such as `2024-12-31T23:59:59+00:00`",
        )),
        _ => None,
    }
}
