//! A document as written: scalars with their quotes, and comments at the parts that they belong to.

use std::borrow::Cow;

use crate::document::node::Position;

/// The index of a part in its tree.
pub(super) type PartId = usize;

/// A part of a document: a key, a scalar or a collection.
#[derive(Debug)]
pub(super) struct SourcePart<'t> {
    pub(super) kind: PartKind<'t>,
    /// The comments on the lines above it; an empty one is a blank line.
    pub(super) above: Vec<&'t str>,
    /// The comment that follows it on its line.
    pub(super) beside: Option<&'t str>,
    /// The comments after the last part of a collection, before its end.
    pub(super) below: Vec<&'t str>,
}

#[derive(Debug)]
pub(super) enum PartKind<'t> {
    Mapping(Vec<(PartId, PartId)>),
    Scalar(Cow<'t, str>),
    Sequence(Vec<PartId>),
}

/// A comment with its place.
#[derive(Clone, Copy, Debug)]
pub(in crate::document) struct SourceComment<'t> {
    /// The comment with its `#`, without white space at its end.
    pub(in crate::document) text: &'t str,
    pub(in crate::document) start: Position,
    /// Whether nothing is before it on its line.
    pub(in crate::document) is_alone: bool,
}

/// The parts of one document.
#[derive(Debug, Default)]
pub(super) struct SourceTree<'t> {
    pub(super) parts: Vec<SourcePart<'t>>,
    pub(super) root: PartId,
    /// All comments.
    pub(super) comments: Vec<SourceComment<'t>>,
}

impl<'t> SourcePart<'t> {
    pub(super) fn new(kind: PartKind<'t>) -> Self {
        Self { kind, above: Vec::new(), beside: None, below: Vec::new() }
    }

    pub(super) fn has_comments(&self) -> bool {
        self.beside.is_some() || self.above.iter().chain(&self.below).any(|one| !one.is_empty())
    }

    pub(super) fn is_empty_collection(&self) -> bool {
        match &self.kind {
            PartKind::Mapping(entries) => entries.is_empty(),
            PartKind::Scalar(_) => false,
            PartKind::Sequence(items) => items.is_empty(),
        }
    }
}

impl<'t> SourceTree<'t> {
    pub(super) fn add(&mut self, kind: PartKind<'t>) -> PartId {
        self.parts.push(SourcePart::new(kind));
        self.parts.len() - 1
    }

    /// Returns a key without its quotes.
    pub(super) fn name(&self, key: PartId) -> &str {
        match &self.parts[key].kind {
            PartKind::Scalar(raw) => raw.trim_matches(['"', '\'']),
            _ => "",
        }
    }
}
