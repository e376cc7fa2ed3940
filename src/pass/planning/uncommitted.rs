//! Counts the documents of a work tree that a plan leaves out because they are not committed.

use crate::document::PathKind;
use crate::pass::config::{Config, Rules};
use crate::source::{self, Snapshot, SourceConfig};

/// Returns a note about uncommitted documents.
pub(super) fn note(config: &Config, snapshot: &Snapshot) -> Option<String> {
    match count(&config.source, &config.rules, snapshot)? {
        0 => None,
        1 => Some(
            "1 document in the work tree differs from the committed version; `--worktree` plans it"
                .to_owned(),
        ),
        count => Some(format!(
            "{count} documents in the work tree differ from the committed versions; `--worktree` plans them"
        )),
    }
}

/// Returns a note about uncommitted documents, which a comparison of revisions leaves out.
pub(super) fn range_note(source: &SourceConfig, rules: &Rules, snapshot: &Snapshot) -> Option<String> {
    let count = count(source, rules, snapshot).filter(|count| *count > 0)?;
    let documents = match count {
        1 => "1 document in the work tree is".to_owned(),
        count => format!("{count} documents in the work tree are"),
    };
    Some(format!("{documents} not committed: only commits are compared"))
}

/// Returns the number of documents that differ between the work tree and the snapshot.
fn count(source: &SourceConfig, rules: &Rules, snapshot: &Snapshot) -> Option<usize> {
    let folder = source.location.local_path()?;
    // Errors are ignored, because the plan does not depend on the note.
    let differing = source::uncommitted(folder, snapshot.revision(), &source.root).ok()?;
    let root = match source.root.as_str() {
        "" => String::new(),
        root => format!("{root}/"),
    };
    let is_document = |path: &&Vec<u8>| {
        let inner = path.strip_prefix(root.as_bytes());
        inner.is_some_and(|inner| matches!(rules.layout.classify(inner), PathKind::Document { .. }))
    };
    Some(differing.iter().filter(is_document).count())
}
