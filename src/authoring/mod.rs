#![doc = include_str!("README.md")]

mod promotion;
pub(crate) mod target_folder;
#[cfg(test)]
mod target_folder_tests;

pub(crate) use promotion::{DocumentPlace, EnvironmentDocuments, PromotionReport, PromotionResult, promote};
pub(crate) use target_folder::{Existing, WriteResult, create_files};

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;

use target_folder::TargetFolder;

use crate::authoring::target_folder::FolderError;
use crate::document::{Diagnostic, Formatting, LARGEST_DOCUMENT, Layout, PathKind, Unread, layout};
use crate::model::{EnvironmentId, Scope, ServiceKind, chain};
use crate::plan::compare::{is_within, join};
use crate::source::worktree::WorkTree;
use crate::{document, source};

/// Why documents could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthoringError {
    #[error("`{0}` has no document")]
    NoDocuments(EnvironmentId, Option<EnvironmentId>),
    #[error("`{0}` has no document yet")]
    NewEnvironment(EnvironmentId, Option<EnvironmentId>),
    #[error(transparent)]
    Source(#[from] source::Error),
    #[error("{0}")]
    WorkTree(String),
}

impl From<FolderError> for AuthoringError {
    fn from(error: FolderError) -> Self {
        Self::WorkTree(chain(&error))
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FormatRequest<'a> {
    /// The top of a work tree, or a folder outside of work trees.
    pub folder: &'a Path,
    /// The root of the documents, relative to the folder.
    pub root: &'a str,
    /// The files and folders to format, relative to the folder; empty means all.
    pub within: &'a [String],
    /// The layout below the root.
    pub layout: &'a Layout,
    /// The toggles whose documents are formatted.
    pub scope: &'a Scope,
    /// The kind of service, which decides whether a document is valid.
    pub kind: ServiceKind,
    /// Whether files with another layout are rewritten, and not only listed.
    pub writes: bool,
}

/// The result of formatting. All paths are relative to the folder and sorted.
#[derive(Debug, Default)]
pub(crate) struct FormatReport {
    /// The globs of the scope that match some document.
    pub matched: BTreeSet<String>,
    /// The number of documents that were read.
    pub documents: usize,
    /// The documents that have another layout, or had it before.
    pub changed: Vec<String>,
    /// The documents that stay as they are, because they contain something that cannot be rewritten safely.
    pub unsupported: Vec<(String, &'static str)>,
    /// The findings in the invalid documents, and about files that are not read. All stay as they are.
    pub findings: Vec<Diagnostic>,
    /// The number of invalid documents.
    pub invalid: usize,
    /// The documents that could not be written, with the reasons.
    pub failed: Vec<(String, String)>,
}

pub(crate) fn format(request: FormatRequest<'_>) -> Result<FormatReport, AuthoringError> {
    let tree = WorkTree::open(request.folder, request.root)?;
    let mut unmatched = request.scope.unmatched();
    let (mut documents, mut unread, mut unsupported) = (Vec::new(), Vec::new(), Vec::new());
    let (files, links) = tree
        .files_and_links(|folder| request.leads_to(&join(request.root, &String::from_utf8_lossy(folder))))?;
    for path in files {
        let Ok(path) = String::from_utf8(path) else { continue };
        let shown = join(request.root, &path);
        if !is_within(&shown, request.within) {
            continue;
        }
        let is_named = request.within.contains(&shown);
        match request.layout.classify(path.as_bytes()) {
            PathKind::Document { id, .. } => {
                unmatched.remove_matching(id.as_str());
                if request.scope.contains(&id) {
                    documents.push(path);
                }
            }
            // What is left alone has its reason: `validate` has it for all files.
            PathKind::Unread { why, .. } => unread.push(layout::not_read(&shown, why, None)),
            PathKind::Elsewhere if is_named => {
                unread.push(layout::elsewhere(&shown, request.layout.pattern()));
            }
            PathKind::BadKey { component, error, .. } if is_named => {
                unread.push(layout::bad_key(&shown, &component, &error));
            }
            PathKind::Ignored if is_named && path.contains(".test.") => {
                unsupported.push((shown, "expectations have no canonical layout"));
            }
            PathKind::BadKey { .. } | PathKind::Elsewhere | PathKind::Ignored => {}
        }
    }
    for path in links {
        let Ok(path) = String::from_utf8(path) else { continue };
        let shown = join(request.root, &path);
        let is_document = matches!(request.layout.classify(path.as_bytes()), PathKind::Document { .. });
        if is_document && is_within(&shown, request.within) {
            unread.push(layout::not_read(&shown, Unread::Link, None));
        }
    }
    let unmatched = unmatched.globs();
    let globs = request.scope.globs().iter();
    let mut report = FormatReport {
        documents: documents.len(),
        matched: globs.filter(|glob| !unmatched.contains(glob)).cloned().collect(),
        findings: unread,
        unsupported,
        ..FormatReport::default()
    };
    let mut target = None;
    for (path, formatting) in documents.iter().zip(formatted(&tree, &documents, request)?) {
        let shown = join(request.root, path);
        match formatting {
            Formatting::Canonical => {}
            Formatting::Invalid(findings) => {
                report.invalid += 1;
                report.findings.extend(findings);
            }
            Formatting::Unsupported(reason) => report.unsupported.push((shown, reason)),
            Formatting::Changed(_) if !request.writes => report.changed.push(shown),
            Formatting::Changed(text) => {
                let folder = match &mut target {
                    Some(folder) => folder,
                    // Opened late, because the lock is for writing.
                    none => none.insert(TargetFolder::open(request.folder, request.root)?),
                };
                match folder.write(path, &text, Existing::Replace) {
                    Ok(_) => report.changed.push(shown),
                    Err(error) => report.failed.push((shown, chain(&error))),
                }
            }
        }
    }
    report.findings.sort_unstable();
    Ok(report)
}

/// Formats all `documents` on all cores, in their order.
fn formatted(
    tree: &WorkTree,
    documents: &[String],
    request: FormatRequest<'_>,
) -> Result<Vec<Formatting>, source::Error> {
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let folder = tree.folder();
    let one = |path: &String| {
        let content = source::worktree::content(folder, path.as_bytes(), LARGEST_DOCUMENT)?;
        let shown = join(request.root, path);
        Ok::<_, source::Error>(document::format(&shown, &content, request.kind))
    };
    let all_of = |part: &[String]| part.iter().map(one).collect::<Result<Vec<_>, _>>();
    thread::scope(|scope| {
        let parts = documents.chunks(documents.len().div_ceil(threads).max(1));
        let workers: Vec<_> = parts
            .map(|part| thread::Builder::new().spawn_scoped(scope, move || all_of(part)).map_err(|_| part))
            .collect();
        let mut all = Vec::with_capacity(documents.len());
        for worker in workers {
            let part = match worker {
                Ok(worker) => worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                // The system had no thread left.
                Err(part) => all_of(part),
            };
            all.extend(part?);
        }
        Ok(all)
    })
}

impl FormatRequest<'_> {
    /// Returns whether a folder is above or below a path to format.
    fn leads_to(&self, folder: &str) -> bool {
        let is_above = |path: &String| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        is_within(folder, self.within) || self.within.iter().any(is_above)
    }
}
