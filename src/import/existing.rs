//! The documents that a work tree has before an import, checked out or not.

use std::collections::HashMap;
use std::path::Path;

use super::{ImportConfig, ImportError};
use crate::authoring::target_folder::TargetFolder;
use crate::document::{MOST_FILES, PathKind};
use crate::model::{FoldedId, ToggleId};
use crate::source;
use crate::source::worktree::WorkTree;

/// One document of a work tree.
#[derive(Clone, Debug)]
pub(super) struct ExistingDocument {
    pub(super) id: ToggleId,
    /// Relative to the root.
    pub(super) path: String,
}

/// Returns the documents of the work tree whose top is `top`: several of one toggle if they clash. Files that
/// Git ignores are not documents.
pub(super) fn existing_documents(
    top: &Path,
    folder: &TargetFolder,
    config: &ImportConfig,
) -> Result<HashMap<FoldedId, Vec<ExistingDocument>>, ImportError> {
    let mut files = match WorkTree::open(top, &config.root) {
        Ok(tree) => tree.files()?,
        // The import creates the folder.
        Err(source::Error::NoFolder(_)) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    files.extend(folder.left_out().iter().map(|path| path.clone().into_bytes()));
    if files.len() > MOST_FILES {
        return Err(ImportError::TooManyFiles);
    }
    let mut documents: HashMap<FoldedId, Vec<ExistingDocument>> = HashMap::new();
    for path in files {
        if let PathKind::Document { id, .. } = config.layout.classify(&path) {
            let path = String::from_utf8_lossy(&path).into_owned();
            let same = documents.entry(id.folded()).or_default();
            same.push(ExistingDocument { id, path });
        }
    }
    Ok(documents)
}
