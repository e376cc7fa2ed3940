//! Writes the documents of toggles, leaves those alone that exist, and reports what it did.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use super::{ImportConfig, ImportError, ImportSource};
use crate::authoring::target_folder::{Existing, FolderError, TargetFolder, WriteResult};
use crate::document::{self, MOST_FILES, PathKind, Severity};
use crate::git::is_full;
use crate::model::{Blob, FoldedId, Format, OutcomeKind, Payload, ToggleId, chain, escaped, listed, words};
use crate::service::Outcome;
use crate::source;
use crate::source::worktree::WorkTree;

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

// The result of an import.

words! {
    /// Why a toggle was not imported although it could be read.
    SkipReason {
        /// Another id of the service differs from its id only in case.
        AmbiguousCase = "ambiguous_case",
        /// It is archived, so that no SDK gets it.
        Archived = "archived",
        /// Its live values are not known while a draft is pending.
        Draft = "draft",
        /// Several documents claim it.
        Duplicate = "duplicate",
        /// No document can have its content.
        Inexpressible = "inexpressible",
        /// Its key, or that of its project or environment, is not valid in a repository.
        InvalidKey = "invalid_key",
        /// It was deleted after it was listed.
        Missing = "missing",
        /// Its document is committed but not checked out.
        NotCheckedOut = "not_checked_out",
        /// It has no targeting in this environment.
        Untargeted = "untargeted",
    }
}

impl SkipReason {
    /// Returns a noun phrase for the counts.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::AmbiguousCase => "an id that differs only in case from another one",
            Self::Archived => "archived",
            Self::Draft => "a draft that hides the live values",
            Self::Duplicate => "several documents",
            Self::Inexpressible => "content that a document cannot express",
            Self::InvalidKey => "a key that is not valid here",
            Self::Missing => "deleted meanwhile",
            Self::NotCheckedOut => "a document that is not checked out",
            Self::Untargeted => "no targeting in the environment",
        }
    }
}

/// What an import did with one toggle. Paths are relative to the top of the work tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ImportResult {
    /// A document exists that means something else, and it stays.
    Different {
        path: String,
        /// How it differs.
        reason: &'static str,
        /// The spelling of the document if it differs from the service's in case.
        spelling: Option<ToggleId>,
    },
    /// The toggle could not be read, or its document could not be written.
    Failed(String),
    /// A document that meant something else was replaced.
    Replaced {
        path: String,
        /// See [`ImportResult::Different`].
        spelling: Option<ToggleId>,
    },
    /// The toggle was not imported, for this reason and with this explanation.
    Skipped(SkipReason, String),
    /// A document exists that means the same.
    Unchanged {
        path: String,
        /// See [`ImportResult::Different`].
        spelling: Option<ToggleId>,
    },
    Written {
        path: String,
    },
}

impl ImportResult {
    /// Returns the name of the variant.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            Self::Different { .. } => "different",
            Self::Failed(_) => "failed",
            Self::Replaced { .. } => "replaced",
            Self::Skipped(..) => "skipped",
            Self::Unchanged { .. } => "unchanged",
            Self::Written { .. } => "written",
        }
    }

    /// Returns the document, relative to the top of the work tree.
    pub(crate) fn path(&self) -> Option<&str> {
        match self {
            Self::Different { path, .. }
            | Self::Replaced { path, .. }
            | Self::Unchanged { path, .. }
            | Self::Written { path } => Some(path),
            Self::Failed(_) | Self::Skipped(..) => None,
        }
    }

    /// Returns the spelling of the document if it differs from the service's in case.
    pub(crate) const fn spelling(&self) -> Option<&ToggleId> {
        match self {
            Self::Different { spelling, .. }
            | Self::Replaced { spelling, .. }
            | Self::Unchanged { spelling, .. } => spelling.as_ref(),
            Self::Failed(_) | Self::Skipped(..) | Self::Written { .. } => None,
        }
    }

    /// Returns the explanation. It may contain text of the service.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Different { reason, .. } => Some(reason),
            Self::Failed(reason) | Self::Skipped(_, reason) => Some(reason),
            Self::Replaced { .. } | Self::Unchanged { .. } | Self::Written { .. } => None,
        }
    }
}

/// Why an import ended before it had tried every toggle.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ImportStop {
    Disk(String),
    /// The import itself failed.
    Fault,
    /// The input could not be read.
    Input(String),
    /// The process was asked to stop.
    Interrupted,
    /// The service rejects the token, is not the service, or is unavailable.
    Service(Outcome),
}

impl ImportStop {
    /// Returns the way out.
    pub(crate) const fn hint(&self) -> &'static str {
        match self {
            Self::Disk(_) => "free some space, then run the command again",
            Self::Fault => "this is a bug, please report it with the message above",
            Self::Input(_) => "check the argument of `--from`",
            Self::Interrupted => {
                "run the command again to continue; documents that were written count as unchanged"
            }
            Self::Service(failure) => match failure.kind {
                OutcomeKind::Unauthorized | OutcomeKind::Forbidden => {
                    "check that the token is valid and may read these projects"
                }
                OutcomeKind::Misrouted => "check the path of `--base-url`, and the proxy settings",
                OutcomeKind::Untrusted => "check `--base-url`, `--ca-file` and the proxy settings",
                OutcomeKind::Refused => {
                    "check `--base-url`, and that the service is a FeatureProbe (`--service-kind`)"
                }
                OutcomeKind::Applied | OutcomeKind::Busy | OutcomeKind::Lost => {
                    "run the command again when the service is available"
                }
            },
        }
    }
}

impl fmt::Display for ImportStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(reason) | Self::Input(reason) => f.write_str(reason),
            Self::Fault => f.write_str("reading failed inside gitoggle"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Service(outcome) => outcome.fmt(f),
        }
    }
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct ImportReport {
    /// The top of the work tree.
    pub top: PathBuf,
    /// The results by toggle. The name of a result that concerns several toggles is an environment, a project
    /// or a place of the input, and any name may contain text of the service.
    pub results: BTreeMap<String, ImportResult>,
    /// The globs of the command that match no toggle.
    pub unmatched: Vec<String>,
    /// The globs of `--only` that match no toggle.
    pub unmatched_only: Vec<String>,
    /// The written documents that Git ignores, so that they are not committed.
    pub ignored: Vec<String>,
    /// Why the import ended early, if it did.
    pub stopped: Option<ImportStop>,
}

impl ImportReport {
    /// Returns the number of results for which `test` is true.
    pub(crate) fn count(&self, test: impl Fn(&ImportResult) -> bool) -> usize {
        self.results.values().filter(|result| test(result)).count()
    }
}
