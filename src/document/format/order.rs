//! The order of keys in the canonical layout.

use super::parts::{PartId, SourceTree};
use crate::document::parts as document_parts;
use crate::model::Format;

/// The place of a collection in a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Section {
    Condition,
    Conditions,
    Content,
    /// A scalar, or a list of them.
    Other,
    Prerequisite,
    Prerequisites,
    Root,
    Rule,
    Rules,
    Serve,
    Variation,
    Variations,
}

impl Section {
    /// Returns the shape of the value of `key`.
    pub(super) fn of_value(self, key: &str) -> Self {
        match (self, key) {
            (Self::Root, "content") => Self::Content,
            (Self::Content, "variations") => Self::Variations,
            (Self::Content, "prerequisites") => Self::Prerequisites,
            (Self::Content, "rules") => Self::Rules,
            (Self::Content, "disabledServe" | "defaultServe") | (Self::Rule, "serve") => Self::Serve,
            (Self::Rule, "conditions") => Self::Conditions,
            _ => Self::Other,
        }
    }

    pub(super) fn of_item(self) -> Self {
        match self {
            Self::Conditions => Self::Condition,
            Self::Prerequisites => Self::Prerequisite,
            Self::Rules => Self::Rule,
            Self::Variations => Self::Variation,
            _ => Self::Other,
        }
    }

    /// Returns the order of the keys: that of `document::print`, and in JSON that of the service.
    fn keys(self, format: Format) -> &'static [&'static str] {
        let is_json = format == Format::Json;
        match self {
            Self::Root => &["disabled", "content"],
            Self::Content if is_json => document_parts::CONTENT,
            Self::Content => &[
                "variations",
                "prerequisites",
                "rules",
                "disabledServe",
                "defaultServe",
            ],
            Self::Variation if is_json => document_parts::VARIATION,
            Self::Variation => &["name", "value", "description"],
            Self::Prerequisite => document_parts::PREREQUISITE,
            Self::Rule if is_json => document_parts::RULE,
            Self::Rule => &["name", "conditions", "serve"],
            Self::Condition if is_json => document_parts::CONDITION,
            Self::Condition => &[
                "type",
                "subject",
                "predicate",
                "leftPredicate",
                "objects",
                "rightPredicate",
                "rightObjects",
            ],
            Self::Conditions
            | Self::Other
            | Self::Prerequisites
            | Self::Rules
            | Self::Serve
            | Self::Variations => &[],
        }
    }
}

/// Returns `entries` in the canonical order. Keys without a place in it stay in their order, after the others.
pub(super) fn sorted(
    tree: &SourceTree<'_>,
    entries: &[(PartId, PartId)],
    shape: Section,
    format: Format,
) -> Vec<(PartId, PartId)> {
    let keys = shape.keys(format);
    let mut entries = entries.to_vec();
    entries.sort_by_key(|(key, _)| {
        let name = tree.name(*key);
        keys.iter().position(|known| *known == name).unwrap_or(keys.len())
    });
    entries
}
