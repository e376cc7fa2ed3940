//! Counts the documents of a work tree that a plan leaves out because they are not committed.

use crate::document::PathKind;
use crate::pass::config::Config;
use crate::source::{self, Snapshot};

/// Returns a note about uncommitted documents.
pub(super) fn note(config: &Config, snapshot: &Snapshot) -> Option<String> {
    let source = &config.source;
    let folder = source.location.local_path()?;
    // Errors are ignored, because the plan does not depend on the note.
    let differing = source::uncommitted(folder, snapshot.revision(), &source.root).ok()?;
    let root = match source.root.as_str() {
        "" => String::new(),
        root => format!("{root}/"),
    };
    let is_document = |path: &&Vec<u8>| {
        let inner = path.strip_prefix(root.as_bytes());
        inner.is_some_and(|inner| matches!(config.rules.layout.classify(inner), PathKind::Document { .. }))
    };
    match differing.iter().filter(is_document).count() {
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
