//! Gives the documents of a work tree the canonical layout.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;

use super::AuthoringError;
use super::target_folder::{Existing, TargetFolder};
use crate::document::{Diagnostic, Formatting, LARGEST_DOCUMENT, Layout, PathKind, Unread, layout};
use crate::model::{Scope, ServiceKind, chain};
use crate::plan::compare::{is_within, join};
use crate::source::worktree::WorkTree;
use crate::{document, source};

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
    let (documents, mut report) = select(&tree, request)?;
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

/// Returns the paths of the documents to format, and a report about the files that are left alone.
fn select(
    tree: &WorkTree,
    request: FormatRequest<'_>,
) -> Result<(Vec<String>, FormatReport), AuthoringError> {
    let mut report = FormatReport::default();
    let mut documents = Vec::new();
    let mut unmatched = request.scope.unmatched();
    let (files, links) = tree
        .files_and_links(|folder| request.leads_to(&join(request.root, &String::from_utf8_lossy(folder))))?;
    for path in files {
        let Ok(path) = String::from_utf8(path) else { continue };
        let shown = join(request.root, &path);
        if !is_within(&shown, request.within) {
            continue;
        }
        match request.layout.classify(path.as_bytes()) {
            PathKind::Document { id, .. } => {
                unmatched.remove_matching(id.as_str());
                if request.scope.contains(&id) {
                    documents.push(path);
                }
            }
            other => request.explain(other, &path, &mut report),
        }
    }
    for path in links {
        let Ok(path) = String::from_utf8(path) else { continue };
        let shown = join(request.root, &path);
        let is_document = matches!(request.layout.classify(path.as_bytes()), PathKind::Document { .. });
        if is_document && is_within(&shown, request.within) {
            report.findings.push(layout::not_read(&shown, Unread::Link, None));
        }
    }
    let unmatched = unmatched.globs();
    let globs = request.scope.globs().iter();
    report.matched = globs.filter(|glob| !unmatched.contains(glob)).cloned().collect();
    report.documents = documents.len();
    Ok((documents, report))
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
    /// Adds to `report` why a file that is not a document is left alone, if a person may have expected
    /// otherwise. A file that is only inside a folder to format has its reason in `validate`.
    fn explain(&self, kind: PathKind, path: &str, report: &mut FormatReport) {
        let shown = join(self.root, path);
        let is_named = self.within.contains(&shown);
        match kind {
            PathKind::Unread { why, .. } => report.findings.push(layout::not_read(&shown, why, None)),
            PathKind::Elsewhere if is_named => {
                report.findings.push(layout::elsewhere(&shown, self.layout.pattern()));
            }
            PathKind::BadKey { component, error, .. } if is_named => {
                report.findings.push(layout::bad_key(&shown, &component, &error));
            }
            PathKind::Test { .. } if is_named => {
                report.unsupported.push((shown, "expectations have no canonical layout"));
            }
            PathKind::Document { .. }
            | PathKind::Test { .. }
            | PathKind::BadKey { .. }
            | PathKind::Elsewhere
            | PathKind::Ignored => {}
        }
    }

    /// Returns whether a folder is above or below a path to format.
    fn leads_to(&self, folder: &str) -> bool {
        let is_above = |path: &String| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        is_within(folder, self.within) || self.within.iter().any(is_above)
    }
}
