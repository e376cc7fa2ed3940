//! Reads and compares the documents of environments in a work tree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::AuthoringError;
use crate::document::{self, Diagnostic, LARGEST_DOCUMENT, Layout, PathKind, Severity, tree};
use crate::model::{Blob, EnvironmentId, Format, ObjectId, Payload, ServiceKind, ToggleId};
use crate::plan::compare::join;
use crate::source;
use crate::source::worktree::{self, WorkTree};

/// The documents of a work tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DocumentPlace<'a> {
    /// The top of a work tree, or a folder outside of work trees.
    pub folder: &'a Path,
    /// The root of the documents, relative to the folder.
    pub root: &'a str,
    /// The layout below the root.
    pub layout: &'a Layout,
    /// The kind of service, which decides whether a document is valid.
    pub kind: ServiceKind,
}

/// The valid documents of one environment, by the key of the toggle.
#[derive(Debug, Default)]
pub(crate) struct EnvironmentDocuments {
    pub valid: BTreeMap<String, EnvironmentDocument>,
    /// The toggles whose document is invalid, with its paths relative to the root: several if they clash.
    pub invalid: BTreeMap<String, Vec<(String, Format)>>,
    /// The errors in the invalid documents.
    pub findings: Vec<Diagnostic>,
}

/// A valid document.
#[derive(Debug)]
pub(crate) struct EnvironmentDocument {
    /// Relative to the root.
    pub path: String,
    pub(super) format: Format,
    pub(super) content: Blob,
    /// Its meaning.
    pub payload: Payload,
}

impl DocumentPlace<'_> {
    /// Reads the documents of `environments`, in their order. Files that Git ignores are not documents. A document that is
    /// committed but not checked out counts as invalid, because its meaning is not known.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(crate) fn environments<const N: usize>(
        &self,
        environments: [&EnvironmentId; N],
    ) -> Result<[EnvironmentDocuments; N], AuthoringError> {
        let files = WorkTree::open(self.folder, self.root)?;
        let mut found = [const { BTreeMap::<ToggleId, Vec<(String, Format)>>::new() }; N];
        let left_out = worktree::not_checked_out(self.folder, self.root)?;
        for path in files.files()?.into_iter().chain(left_out.keys().cloned()) {
            let PathKind::Document { id, format } = self.layout.classify(&path) else {
                continue;
            };
            let at = environments.iter().position(|environment| id.is_in(environment));
            if let (Some(at), Ok(path)) = (at, String::from_utf8(path)) {
                found[at].entry(id).or_default().push((path, format));
            }
        }
        let mut all = [const { None }; N];
        for (at, toggles) in found.into_iter().enumerate() {
            all[at] = Some(self.read(&files, &left_out, toggles)?);
        }
        Ok(all.map(Option::unwrap_or_default))
    }

    pub(super) fn known(&self) -> Result<BTreeSet<EnvironmentId>, AuthoringError> {
        let files = WorkTree::open(self.folder, self.root)?.files()?;
        let environments = files.iter().filter_map(|path| match self.layout.classify(path) {
            PathKind::Document { id, .. } => Some(id.environment()),
            _ => None,
        });
        Ok(environments.collect())
    }

    fn read(
        &self,
        files: &WorkTree,
        left_out: &BTreeMap<Vec<u8>, ObjectId>,
        toggles: BTreeMap<ToggleId, Vec<(String, Format)>>,
    ) -> Result<EnvironmentDocuments, source::Error> {
        let mut all = EnvironmentDocuments::default();
        for (id, mut paths) in toggles {
            let key = id.toggle().to_owned();
            if paths.len() > 1 {
                let shown: Vec<String> = paths.iter().map(|(path, _)| join(self.root, path)).collect();
                all.findings.extend(tree::duplicate(&id, &shown, &[]));
                all.invalid.insert(key, paths);
                continue;
            }
            let Some((path, format)) = paths.pop() else {
                continue;
            };
            let content = if left_out.contains_key(path.as_bytes()) {
                Blob::Missing
            } else {
                files.content(path.as_bytes(), LARGEST_DOCUMENT)?
            };
            let read = document::read(&join(self.root, &path), &content, self.kind);
            let document = read.payload.map(|payload| EnvironmentDocument {
                path: path.clone(),
                format,
                content,
                payload,
            });
            match document {
                Some(document) => drop(all.valid.insert(key, document)),
                None => {
                    let errors = read.diagnostics.into_iter();
                    all.findings.extend(errors.filter(|found| found.severity == Severity::Error));
                    all.invalid.insert(key, vec![(path, format)]);
                }
            }
        }
        Ok(all)
    }
}

impl EnvironmentDocuments {
    /// Returns whether the environment has no document, valid or not.
    pub(crate) fn is_empty(&self) -> bool {
        self.valid.is_empty() && self.invalid.is_empty()
    }

    /// Returns the keys of all toggles.
    pub(crate) fn toggles(&self) -> BTreeSet<&str> {
        self.valid.keys().chain(self.invalid.keys()).map(String::as_str).collect()
    }
}
