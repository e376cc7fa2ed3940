//! The order of keys in the canonical layout.

use super::parts::{PartId, SourceTree};

/// The place of a mapping, or of the mappings in a list, in a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Section {
    Condition,
    Content,
    /// A scalar, or a list of them.
    Other,
    Prerequisite,
    Root,
    Rule,
    Serve,
    Variation,
}

impl Section {
    /// Returns the place of the value of `key`.
    pub(super) fn of_value(self, key: &str) -> Self {
        match (self, key) {
            (Self::Root, "content") => Self::Content,
            (Self::Content, "variations") => Self::Variation,
            (Self::Content, "prerequisites") => Self::Prerequisite,
            (Self::Content, "rules") => Self::Rule,
            (Self::Content, "disabledServe" | "defaultServe") | (Self::Rule, "serve") => Self::Serve,
            (Self::Rule, "conditions") => Self::Condition,
            _ => Self::Other,
        }
    }

    /// Returns the order of the keys: that of `document::print`.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Root => &["disabled", "content"],
            Self::Content => &["variations", "prerequisites", "rules", "disabledServe", "defaultServe"],
            Self::Variation => &["name", "value", "description"],
            Self::Prerequisite => &["key", "value", "type"],
            Self::Rule => &["name", "conditions", "serve"],
            Self::Condition => &[
                "type",
                "subject",
                "predicate",
                "leftPredicate",
                "objects",
                "rightPredicate",
                "rightObjects",
            ],
            Self::Other | Self::Serve => &[],
        }
    }
}

/// Returns `entries` in the canonical order. Keys without a place in it stay in their order, after the others.
pub(super) fn sorted(
    tree: &SourceTree<'_>,
    entries: &[(PartId, PartId)],
    shape: Section,
) -> Vec<(PartId, PartId)> {
    let keys = shape.keys();
    let mut entries = entries.to_vec();
    entries.sort_by_key(|(key, _)| {
        let name = tree.name(*key);
        keys.iter().position(|known| *known == name).unwrap_or(keys.len())
    });
    entries
}
