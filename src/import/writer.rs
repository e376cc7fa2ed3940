//! Writes the documents of toggles, and leaves those alone that exist.

use std::collections::HashMap;
use std::path::Path;

use super::report::{ImportResult, ImportStop, SkipReason};
use super::{ImportConfig, ImportError, ImportSource};
use crate::authoring::target_folder::{Existing, FolderError, TargetFolder, WriteResult};
use crate::document::{self, MOST_FILES, PathKind, Severity};
use crate::git::is_full;
use crate::model::{Blob, Format, Payload, ToggleId, chain, escaped, listed};
use crate::source;
use crate::source::worktree::WorkTree;

/// Writes documents into a work tree.
#[derive(Debug)]
pub(super) struct DocumentWriter<'c> {
    pub(super) config: &'c ImportConfig,
    pub(super) folder: TargetFolder,
    /// The documents from before the import, by the folded id of their toggle.
    pub(super) existing: HashMap<String, Vec<ExistingDocument>>,
    /// The toggles of this import, by their folded id.
    pub(super) seen: HashMap<String, Payload>,
}

impl DocumentWriter<'_> {
    /// Imports one toggle. Returns nothing if it was imported already.
    pub(super) fn import(
        &mut self,
        id: &ToggleId,
        payload: &Payload,
    ) -> Result<Option<ImportResult>, ImportStop> {
        let folded = id.as_str().to_ascii_lowercase();
        match self.seen.get(&folded) {
            Some(earlier) if earlier == payload => return Ok(None),
            Some(_) => {
                let reason =
                    "the input has this toggle twice, with different contents; the first one was imported";
                return Ok(Some(ImportResult::Failed(reason.to_owned())));
            }
            None => {}
        }
        let done = match self.existing.get(&folded).map(Vec::as_slice) {
            None | Some([]) => self.create(id, payload),
            Some([one]) => self.compare(id, payload, one),
            Some(several) => Ok(clash(several.iter().map(|one| self.folder.shown(&one.path)))),
        };
        self.seen.insert(folded, payload.clone());
        match done {
            Ok(result) => Ok(Some(result)),
            Err(FolderError::Io { source, .. }) if is_full(&source) => {
                Err(ImportStop::Disk(source.to_string()))
            }
            Err(error) => Ok(Some(ImportResult::Failed(chain(&error)))),
        }
    }

    fn create(&self, id: &ToggleId, payload: &Payload) -> Result<ImportResult, FolderError> {
        let format = self.format(id);
        let path = self.config.layout.path(id, format);
        let text = match self.document(payload, &path) {
            Ok(text) => text,
            Err(skipped) => return Ok(skipped),
        };
        match self.folder.write(&path, &text, Existing::Keep)? {
            WriteResult::Written => Ok(ImportResult::Written { path: self.folder.shown(&path) }),
            // Git ignores the file, or another process created it.
            WriteResult::Exists => {
                let existing = ExistingDocument { id: id.clone(), path };
                self.compare(id, payload, &existing)
            }
        }
    }

    /// Compares a document with `payload`, and replaces it if that is wanted.
    fn compare(
        &self,
        id: &ToggleId,
        payload: &Payload,
        existing: &ExistingDocument,
    ) -> Result<ImportResult, FolderError> {
        let path = self.folder.shown(&existing.path);
        if self.folder.left_out().contains(&existing.path) {
            let reason = format!("`{}` is committed but not checked out", escaped(&path));
            return Ok(ImportResult::Skipped(SkipReason::NotCheckedOut, reason));
        }
        let content = self.folder.read(&existing.path)?;
        let read = document::read(&path, &content, self.config.kind).payload;
        let spelling = (existing.id != *id).then(|| existing.id.clone());
        if read.as_ref() == Some(payload) {
            return Ok(ImportResult::Unchanged { path, spelling });
        }
        // What nobody changed in the repository is what was applied.
        let is_applied = match &self.config.from {
            ImportSource::Drifted(toggles) => {
                read.is_some() && toggles.get(id).map(|(applied, _)| applied) == read.as_ref()
            }
            _ => false,
        };
        if self.config.on_different == Existing::Keep && !is_applied {
            let reason = match read {
                None => "the document is invalid",
                Some(_) => "the document has another meaning",
            };
            return Ok(ImportResult::Different { path, reason, spelling });
        }
        let text = match self.document(payload, &existing.path) {
            Ok(text) => text,
            Err(skipped) => return Ok(skipped),
        };
        self.folder.write(&existing.path, &text, Existing::Replace)?;
        Ok(ImportResult::Replaced { path, spelling })
    }

    /// Returns the text of the document of `payload`, which a pass reads as `payload`.
    fn document(&self, payload: &Payload, path: &str) -> Result<String, ImportResult> {
        let text = document::print(&payload.targeting(), self.config.kind);
        let content = Blob::Content(text.clone().into_bytes());
        let read = document::read(path, &content, self.config.kind);
        // An invalid document would be held by every pass, so that the import would only look complete.
        if read.payload.as_ref() == Some(payload) {
            return Ok(text);
        }
        let errors = read.diagnostics.iter();
        let mut errors = errors.filter(|finding| finding.severity == Severity::Error);
        let reason = match errors.next() {
            Some(error) => format!("its document would be invalid: {} ({})", error.message, error.id),
            None => "its document would have another meaning".to_owned(),
        };
        Err(ImportResult::Skipped(SkipReason::Inexpressible, reason))
    }

    fn format(&self, id: &ToggleId) -> Format {
        // The path of the toggle `pay.test` would be `pay.test.yaml`, which is reserved (DESIGN, section 2).
        let layout = &self.config.layout;
        let is_document = |format: &Format| {
            let path = layout.path(id, *format);
            matches!(layout.classify(path.as_bytes()), PathKind::Document { .. })
        };
        let formats = [Format::Yaml, Format::Yml];
        formats.into_iter().find(is_document).unwrap_or(Format::Yaml)
    }
}

fn clash(paths: impl Iterator<Item = String>) -> ImportResult {
    let paths: Vec<String> = paths.map(|path| format!("`{}`", escaped(&path))).collect();
    let reason = format!("{} claim it; keep one of them", listed(&paths));
    ImportResult::Skipped(SkipReason::Duplicate, reason)
}

// Finds the documents that a work tree has before an import, checked out or not.

/// One document of a work tree.
#[derive(Clone, Debug)]
pub(super) struct ExistingDocument {
    pub(super) id: ToggleId,
    /// Relative to the root.
    pub(super) path: String,
}

/// Returns the documents of the work tree whose top is `top`, by the folded id of their toggle: several if they clash.
/// Files that Git ignores are not documents.
pub(super) fn existing_documents(
    top: &Path,
    folder: &TargetFolder,
    config: &ImportConfig,
) -> Result<HashMap<String, Vec<ExistingDocument>>, ImportError> {
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
    let mut documents: HashMap<String, Vec<ExistingDocument>> = HashMap::new();
    for path in files {
        if let PathKind::Document { id, .. } = config.layout.classify(&path) {
            let path = String::from_utf8_lossy(&path).into_owned();
            let same = documents.entry(id.as_str().to_ascii_lowercase()).or_default();
            same.push(ExistingDocument { id, path });
        }
    }
    Ok(documents)
}
