//! Writes the documents of toggles, leaves those alone that exist, and reports what it did.

use std::collections::HashMap;

use super::existing::ExistingDocument;
use super::result::{ImportResult, ImportStop, SkipReason};
use super::{ImportConfig, ImportSource};
use crate::authoring::target_folder::{Existing, FolderError, TargetFolder, WriteResult};
use crate::document;
use crate::document::{PathKind, Severity};
use crate::git::is_full;
use crate::model::{Blob, FoldedId, Format, Payload, ToggleId, chain, escaped, listed};

/// Writes documents into a work tree.
#[derive(Debug)]
pub(super) struct DocumentWriter<'c> {
    pub(super) config: &'c ImportConfig,
    pub(super) folder: TargetFolder,
    /// The documents from before the import.
    pub(super) existing: HashMap<FoldedId, Vec<ExistingDocument>>,
    /// The toggles of this import.
    pub(super) seen: HashMap<FoldedId, Payload>,
}

impl DocumentWriter<'_> {
    /// Imports one toggle. Returns nothing if it was imported already.
    pub(super) fn import(
        &mut self,
        id: &ToggleId,
        payload: &Payload,
    ) -> Result<Option<ImportResult>, ImportStop> {
        let folded = id.folded();
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
        let is_earlier = match (&self.config.from, &read) {
            (ImportSource::Drifted(toggles), Some(read)) => {
                toggles.get(id).is_some_and(|drifted| drifted.earlier.contains(read))
            }
            _ => false,
        };
        if self.config.on_different == Existing::Keep && !is_earlier {
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
        // A file that was edited by hand has comments.
        let text = document::rewrite(&content, payload, self.config.kind).unwrap_or(text);
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
        // The path of the toggle `pay.test` would be `pay.test.yaml`, which is reserved
        // (src/document/README.md, "Paths").
        let layout = &self.config.layout;
        let is_document = |format: &Format| {
            let path = layout.path(id, *format);
            matches!(layout.classify(path.as_bytes()), PathKind::Document { .. })
        };
        let formats = [Format::Yaml, Format::Yml];
        formats.into_iter().find(is_document).unwrap_or(Format::Yaml)
    }
}

pub(super) fn clash(paths: impl Iterator<Item = String>) -> ImportResult {
    let paths: Vec<String> = paths.map(|path| format!("`{}`", escaped(&path))).collect();
    let reason = format!("{} claim it; keep one of them", listed(&paths));
    ImportResult::Skipped(SkipReason::Duplicate, reason)
}
