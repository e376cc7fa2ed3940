//! Finds the documents that a work tree has before an import.

use std::collections::HashMap;
use std::path::Path;

use super::ImportError;
use crate::document::{Layout, MOST_FILES, PathKind};
use crate::model::{Format, ServiceKind, ToggleId};
use crate::source;
use crate::source::worktree::WorkTree;

/// The documents of a work tree by toggle.
#[derive(Debug)]
pub(super) struct ExistingDocuments {
    kind: ServiceKind,
    documents: HashMap<String, Vec<ExistingDocument>>,
}

/// One document of a work tree.
#[derive(Clone, Debug)]
pub(super) struct ExistingDocument {
    pub(super) id: ToggleId,
    pub(super) format: Format,
    /// Relative to the root.
    pub(super) path: String,
}

impl ExistingDocuments {
    /// Lists the documents below the folder `root` of the work tree whose top is `top`. Files that Git ignores are not
    /// documents.
    pub(super) fn of(
        top: &Path,
        root: &str,
        layout: &Layout,
        kind: ServiceKind,
    ) -> Result<Self, ImportError> {
        let files = match WorkTree::open(top, root) {
            Ok(tree) => tree.files()?,
            // The import creates the folder.
            Err(source::Error::NoFolder(_)) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        if files.len() > MOST_FILES {
            return Err(ImportError::TooManyFiles);
        }
        let mut documents: HashMap<String, Vec<ExistingDocument>> = HashMap::new();
        for path in files {
            let PathKind::Document { id, format } = layout.classify(&path) else {
                continue;
            };
            let path = String::from_utf8_lossy(&path).into_owned();
            let document = ExistingDocument { id, format, path };
            documents
                .entry(folded(&document.id, kind))
                .or_default()
                .push(document);
        }
        Ok(Self { kind, documents })
    }

    /// Returns the documents of `id`: several if they clash.
    pub(super) fn of_toggle(&self, id: &ToggleId) -> &[ExistingDocument] {
        self.documents
            .get(&folded(id, self.kind))
            .map_or(&[], Vec::as_slice)
    }
}

/// Returns a text that is equal for ids that the service considers equal.
pub(super) fn folded(id: &ToggleId, kind: ServiceKind) -> String {
    match kind {
        ServiceKind::Documented => id.as_str().to_owned(),
        ServiceKind::FeatureProbe => id.as_str().to_ascii_lowercase(),
    }
}
