//! Textual differences of documents.

use super::Change;
use crate::document::print;
use crate::model::{Payload, ServiceKind, escaped};

impl Change {
    /// Returns the diff of the document, which is empty for a create.
    pub fn diff(&self) -> Vec<String> {
        diff(self.before.payload(), Some(&self.payload))
    }
}

/// Returns the diff of two documents; empty unless both are known.
pub(super) fn diff(before: Option<&Payload>, after: Option<&Payload>) -> Vec<String> {
    match (before, after) {
        (Some(before), Some(after)) => text_diff(&document_text(before), &document_text(after)),
        _ => Vec::new(),
    }
}

/// Returns the text of a document for readers: the shortest form, whichever the service.
pub(crate) fn document_text(payload: &Payload) -> String {
    print(&payload.targeting(), ServiceKind::FeatureProbe)
}

/// Returns the escaped lines of a unified diff, each with its sign.
fn text_diff(before: &str, after: &str) -> Vec<String> {
    // A diff can take quadratic time, and a document may have a megabyte.
    const MOST_BYTES: usize = 256 * 1024;
    const MOST_LINES: usize = 80;
    if before.len() + after.len() > MOST_BYTES {
        return vec![" (too large for a diff)".to_owned()];
    }
    let diff = similar::TextDiff::from_lines(before, after);
    let text = diff.unified_diff().context_radius(3).to_string();
    let all: Vec<&str> = text.lines().collect();
    let mut lines: Vec<String> = all.iter().take(MOST_LINES).map(|line| escaped(line).to_string()).collect();
    if all.len() > MOST_LINES {
        lines.push(format!(" … and {} more lines", all.len() - MOST_LINES));
    }
    lines
}
