//! Rewrites a document in the layout that [`print`](super::print()) has, and keeps every comment.
//!
//! Unlike `print`, it works on the text: scalars stay as they are written, and comments stay at the part of the document
//! that they belong to. The order of keys, the indentation, and block or flow style are those of `print`. A blank line
//! between two parts stays; several become one.
//!
//! Invariant: the result is read as the same payload with the same findings, has the same comments, and is its own
//! result. Each result is checked before it is returned, so a construct that this module does not know leaves the file
//! as it is.

mod order;
mod parts;
mod print_yaml;
#[cfg(test)]
mod tests;
mod yaml;

pub(super) use parts::SourceComment;
use parts::SourceTree;

use super::{Diagnostic, Document, read, text};
use crate::model::{Blob, ServiceKind};

/// The result of formatting one document.
#[derive(Clone, Debug)]
pub enum Formatting {
    /// The document has the canonical layout.
    Canonical,
    /// The text of the document in the canonical layout.
    Changed(String),
    /// The document is invalid, with its findings.
    Invalid(Vec<Diagnostic>),
    /// The document contains something that cannot be rewritten without a change of its meaning or its comments.
    Unsupported,
}

/// Returns `content` in the canonical layout. `path` is shown in messages.
pub fn format(path: &str, content: &Blob, kind: ServiceKind) -> Formatting {
    let before = read(path, content, kind);
    if before.payload.is_none() {
        return Formatting::Invalid(before.diagnostics);
    }
    let (Ok(source), Blob::Content(bytes)) = (text(path, content), content) else {
        return Formatting::Invalid(before.diagnostics);
    };
    let Some(tree) = yaml::parse(source) else {
        return Formatting::Unsupported;
    };
    let formatted = print_yaml::print(&tree);
    if formatted.as_bytes() == bytes.as_slice() {
        return Formatting::Canonical;
    }
    let after = read(path, &Blob::Content(formatted.clone().into_bytes()), kind);
    let Some(again) = yaml::parse(&formatted) else {
        return Formatting::Unsupported;
    };
    let is_same = means_the_same(&before, &after)
        && has_the_same_comments(&tree, &again)
        && hashes(source) == hashes(&formatted)
        && print_yaml::print(&again) == formatted;
    match is_same {
        true => Formatting::Changed(formatted),
        false => Formatting::Unsupported,
    }
}

/// Returns the comments of a YAML document, or nothing if it has a construct that this module does not know.
pub(super) fn comments(text: &str) -> Option<Vec<SourceComment<'_>>> {
    yaml::parse(text).map(|tree| tree.comments)
}

/// Compares findings without their positions, which a new layout changes.
fn means_the_same(before: &Document, after: &Document) -> bool {
    let ids = |document: &Document| {
        let mut ids: Vec<_> = document.diagnostics.iter().map(|found| found.id).collect();
        ids.sort_unstable();
        ids
    };
    before.payload == after.payload && ids(before) == ids(after)
}

fn has_the_same_comments(before: &SourceTree<'_>, after: &SourceTree<'_>) -> bool {
    let sorted = |tree: &SourceTree<'_>| {
        let mut comments: Vec<String> = tree.comments.iter().map(|one| one.text.to_owned()).collect();
        comments.sort_unstable();
        comments
    };
    sorted(before) == sorted(after)
}

/// Counts the characters that begin a comment. This finds a lost comment even if the parser did not recognize it.
fn hashes(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'#').count()
}
