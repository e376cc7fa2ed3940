//! Documents as they are written: every field is optional, every text is verbatim.
//!
//! A field that is absent or cannot be read is `None`. That lets one set of checks run on valid and on broken documents.

use std::collections::HashSet;

#[derive(Debug, Default, PartialEq)]
pub(super) struct RawDocument {
    pub(super) disabled: Option<bool>,
    pub(super) content: Option<RawContent>,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct RawContent {
    pub(super) rules: Option<Vec<RawRule>>,
    pub(super) disabled_serve: Option<RawServe>,
    pub(super) default_serve: Option<RawServe>,
    pub(super) variations: Option<Vec<RawVariation>>,
    pub(super) prerequisites: Option<Vec<RawPrerequisite>>,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct RawRule {
    pub(super) name: Option<String>,
    pub(super) serve: Option<RawServe>,
    pub(super) conditions: Option<Vec<RawCondition>>,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct RawCondition {
    pub(super) kind: Option<String>,
    pub(super) subject: Option<String>,
    pub(super) predicate: Option<String>,
    pub(super) objects: Option<Vec<Text>>,
    pub(super) left_predicate: Option<String>,
    pub(super) right_predicate: Option<String>,
    pub(super) right_objects: Option<Vec<Text>>,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct RawServe {
    pub(super) select: Option<u32>,
    pub(super) variation: Option<String>,
    pub(super) split: Option<RawSplit>,
}

/// The shares of a split as they are written.
#[derive(Debug, PartialEq)]
pub(super) enum RawSplit {
    /// Percentages by the name of the variation; no name is repeated.
    ByName(Vec<(String, Text)>),
    /// Hundredths of a percent by the index of the variation.
    ByIndex(Vec<Text>),
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct RawVariation {
    pub(super) value: Option<String>,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct RawPrerequisite {
    pub(super) key: Option<String>,
    pub(super) value: Option<String>,
    pub(super) kind: Option<String>,
}

/// A scalar as it is written: `1.10` stays `1.10`. An unquoted null is an error.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Text(pub(super) String);

pub(super) fn has_repeated_name(shares: &[(String, Text)]) -> bool {
    let mut names = HashSet::with_capacity(shares.len());
    !shares.iter().all(|(name, _)| names.insert(name))
}
