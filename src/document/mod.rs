#![doc = include_str!("README.md")]

mod check;
mod compared;
mod condition;
mod dialects;
mod evident;
mod exclusion;
mod expectation;
mod facts;
mod finding;
mod foreign;
mod json_text;
mod keys;
pub(crate) mod layout;
mod meaning;
mod meant;
mod mistake;
mod modifier;
mod node;
mod owners;
mod plain;
mod portable;
mod print;
mod references;
mod resolve;
mod rewrite;
mod schema;
mod sdks;
mod service_json;
mod shape;
mod syntax;
#[cfg(test)]
mod tests;
mod versions;
mod waiver;

pub use check::{CHECKS, Check, Severity};
pub(crate) use expectation::{Expectation, ServeLines, evaluation_time, expectations, serve_lines};
pub use finding::Diagnostic;
pub(crate) use finding::render;
pub use layout::{Layout, LayoutError, PathKind, Unread};
pub(crate) use owners::{CodeOwners, OWNER_FILES};
pub(crate) use print::{Formatting, format, print};
pub(crate) use references::{
    Fragment, Others, Outline, ReferenceProblem, References, diagnose as diagnose_references, disagreement,
    other_spelling,
};
pub(crate) use rewrite::rewrite;
pub(crate) use schema::{schema, test_schema};
pub(crate) use sdks::{MayDiffer, is_large_number, may_differ};
pub use service_json::Inexpressible;
pub(crate) use service_json::from_service;
pub(crate) use waiver::kept;

use self::finding::{Finding, Spot};
use self::node::{Node, Position, Span};
use self::resolve::RawDocument;
use self::syntax::Syntax;
use crate::model::{Blob, Payload, Sdks, ServiceKind, Targeting};

/// The maximum size of a document in bytes: long allow lists are common.
pub const LARGEST_DOCUMENT: usize = 1024 * 1024;

/// The maximum number of files, and of folders, in one tree.
pub const MOST_FILES: usize = 1_000_000;

/// The result of reading one file.
#[derive(Clone, Debug)]
pub struct Document {
    /// The targeting; `None` exactly if `diagnostics` has an error.
    pub payload: Option<Payload>,
    /// The findings, sorted by position.
    pub diagnostics: Vec<Diagnostic>,
    /// What other documents need to know of this one.
    pub(crate) outline: Outline,
    /// The same of an invalid document, as far as it can be read.
    pub(crate) fragment: Option<Box<Fragment>>,
}

impl Document {
    pub(crate) fn invalid(diagnostics: Vec<Diagnostic>) -> Self {
        Self { payload: None, diagnostics, outline: Outline::default(), fragment: None }
    }
}

/// Reads one file. `path` is shown in messages.
///
/// Takes bounded time and memory for any content.
pub fn read(path: &str, content: &Blob, kind: ServiceKind) -> Document {
    read_for(path, content, kind, Sdks::NONE)
}

/// Does the same as [`read`], and warns about what these SDKs do not agree about.
pub(crate) fn read_for(path: &str, content: &Blob, kind: ServiceKind, sdks: Sdks) -> Document {
    let refused = |diagnostic| Document::invalid(vec![diagnostic]);
    let text = match text(path, content) {
        Ok(text) => text,
        Err(diagnostic) => return refused(*diagnostic),
    };
    // A parser would report a pointer as a syntax error or as a file without keys, which hides the cause.
    if is_lfs_pointer(text) {
        return refused(lfs_pointer(path));
    }
    File { path, text, kind, sdks, most_work: plain::MOST_WORK }.read()
}

/// Returns whether a file that has the name of a document is a list of expectations.
pub(crate) fn is_expectations(path: &str, content: &Blob) -> bool {
    let Ok(text) = text(path, content) else { return false };
    // Only a list is parsed, because most files are documents.
    let mut lines = text.lines().map(str::trim_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| line.starts_with(['-', '[']))
        && syntax::parse(text).root.is_some_and(|root| foreign::expectations(path, &root).is_some())
}

/// Returns the content as text without its byte order mark if it is UTF-8 and small enough.
fn text<'a>(path: &str, content: &'a Blob) -> Result<&'a str, Box<Diagnostic>> {
    let bytes = match content {
        Blob::Content(bytes) if bytes.len() <= LARGEST_DOCUMENT => bytes,
        Blob::Content(bytes) => return Err(Box::new(too_large(path, bytes.len() as u64))),
        Blob::Missing => return Err(Box::new(missing(path))),
        Blob::TooLarge(size) => return Err(Box::new(too_large(path, *size))),
    };
    match std::str::from_utf8(bytes) {
        // Some editors write the mark.
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => Err(Box::new(not_utf8(path, &bytes[..error.valid_up_to()]))),
    }
}

fn too_large(path: &str, size: u64) -> Diagnostic {
    let message = format!("this file has {size} bytes, over the limit of {LARGEST_DOCUMENT}");
    Diagnostic::whole_file(&check::TOO_LARGE, path, message)
        .help("split a long list into several rules or, better, several attributes")
}

fn lfs_pointer(path: &str) -> Diagnostic {
    let message = "this file is a Git LFS pointer, not a document";
    Diagnostic::whole_file(&check::LFS_POINTER, path, message).help(
        "keep documents in Git itself: remove the pattern from `.gitattributes`, then add the file with its content again",
    )
}

fn missing(path: &str) -> Diagnostic {
    let message = "this file is not in the partial clone or sparse checkout";
    Diagnostic::whole_file(&check::MISSING_CONTENT, path, message)
        .help("clone without `--filter`, or check the file out (`git sparse-checkout add FOLDER`)")
}

/// Returns the finding about a document whose version at the older of two revisions a partial clone lacks.
pub(crate) fn missing_base(path: &str) -> Diagnostic {
    let message = "the older version of this file is not in the partial clone, so what changes is unknown";
    Diagnostic::whole_file(&check::MISSING_CONTENT, path, message)
        .help("clone without `--filter`, or run `git fetch --refetch --no-filter`")
}

impl Diagnostic {
    /// Returns the finding that Git cannot merge this file.
    pub(crate) fn conflict(path: &str, message: String) -> Self {
        Self::whole_file(&check::CONFLICT_MARKER, path, message)
    }

    /// Returns whether the file has a merge conflict.
    pub(crate) fn is_conflict(&self) -> bool {
        self.id == check::CONFLICT_MARKER.id
    }
}

fn not_utf8(path: &str, valid: &[u8]) -> Diagnostic {
    let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
    let before = valid.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let column = String::from_utf8_lossy(before).chars().count() + 1;
    let Position { line, column } = Position::new(line, column);
    Diagnostic {
        line,
        column,
        ..Diagnostic::whole_file(&check::NOT_UTF8, path, "this file is not UTF-8 from here on")
            .help("save it as UTF-8")
    }
}

struct File<'a> {
    path: &'a str,
    text: &'a str,
    kind: ServiceKind,
    sdks: Sdks,
    /// See [`plain::parse`].
    most_work: usize,
}

impl File<'_> {
    fn read(&self) -> Document {
        if let Some(targeting) = self.clean() {
            return self.valid(&targeting);
        }
        let tree = syntax::parse(self.text);
        let mut document = self.checked(&tree);
        waiver::apply(self.path, &tree, self.sdks, &mut document);
        document
    }

    /// Returns the targeting of a document that serde_yaml reads, and that has neither findings nor waivers.
    fn clean(&self) -> Option<Targeting> {
        let document = plain::parse(self.text, self.most_work).filter(|_| !waiver::is_marked(self.text))?;
        let is_clean = meaning::check(&document, self.kind, self.sdks).is_empty();
        let targeting = is_clean.then(|| document.complete(self.kind)).flatten();
        targeting.filter(|targeting| self.disagreements(targeting).is_empty())
    }

    fn disagreements(&self, targeting: &Targeting) -> Vec<Finding> {
        match self.kind.can().evaluate {
            true => sdks::check(targeting, self.sdks),
            false => Vec::new(),
        }
    }

    /// Returns the document of `targeting`, which has no findings except possibly its size as sent.
    fn valid(&self, targeting: &Targeting) -> Document {
        match self.payload(targeting) {
            Ok(payload) => Document {
                payload: Some(payload),
                diagnostics: Vec::new(),
                outline: Outline::of(targeting),
                fragment: None,
            },
            Err(finding) => Document::invalid(finding::diagnose(self.path, self.text, None, vec![*finding])),
        }
    }

    fn payload(&self, targeting: &Targeting) -> Result<Payload, Box<Finding>> {
        let payload = Payload::new(targeting);
        let limits = self.kind.dialect().limits.as_ref();
        match limits.and_then(|limits| meaning::size_as_sent(&payload, limits)) {
            Some(finding) => Err(Box::new(finding)),
            None => Ok(payload),
        }
    }

    /// Collects all findings.
    fn checked(&self, tree: &Syntax<'_>) -> Document {
        let mut findings = tree.findings.clone();
        let mut document = RawDocument::default();
        let evident = tree.root.as_ref().and_then(|root| evident::evident(root, self.kind, &mut findings));
        let root = evident.as_ref().or(tree.root.as_ref());
        match root.filter(|root| !is_empty(root)) {
            Some(root) => {
                document = shape::document(self.path, root, &mut findings);
                findings.extend(meaning::check(&document, self.kind, self.sdks));
            }
            None if findings.is_empty() => findings.push(empty_document()),
            None => {}
        }
        let (mut payload, mut outline, mut fragment) = (None, Outline::default(), None);
        if findings.iter().all(|finding| finding.check.severity == Severity::Warning) {
            let read = document.complete(self.kind).map(|targeting| (self.payload(&targeting), targeting));
            match read {
                Some((Ok(read), targeting)) => {
                    (payload, outline) = (Some(read), Outline::of(&targeting));
                    self.disagreements(&targeting)
                        .into_iter()
                        .for_each(|found| finding::add(&mut findings, found));
                }
                Some((Err(finding), _)) => findings.push(*finding),
                None => findings.push(Finding::new(
                    &check::SYNTAX,
                    Spot::WholeFile,
                    "could not read the document",
                )),
            }
        } else {
            fragment = Fragment::of(&document);
        }
        mistake::name_comments(self.text, &mut findings);
        finding::merge_tags(&mut findings, root);
        finding::merge_ends(&mut findings, root);
        // The markers cause the other findings, so the conflict replaces them; valid text may contain a
        // marker line.
        if let Some(conflict) = conflict_marker(self.text).filter(|_| payload.is_none()) {
            (findings, fragment) = (vec![conflict], None);
        }
        if self.kind.can().evaluate {
            findings.iter_mut().for_each(Finding::explain);
        }
        let diagnostics = finding::diagnose(self.path, self.text, root, findings);
        Document { payload, diagnostics, outline, fragment }
    }
}

fn is_empty(root: &Node) -> bool {
    root.is_null() && matches!(&root.kind, node::NodeKind::Scalar(text, _) if text.is_empty())
}

fn empty_document() -> Finding {
    Finding::new(&check::EMPTY_DOCUMENT, Spot::WholeFile, "this file contains no document")
        .help("remove the file to stop managing the toggle; write `disabled: true` to disable it")
}

/// Returns whether `text` is the pointer that Git LFS leaves in place of a file.
fn is_lfs_pointer(text: &str) -> bool {
    // `hawser` was the name of Git LFS before its first release.
    text.starts_with("version https://git-lfs.github.com/spec/")
        || text.starts_with("version https://hawser.github")
}

/// Returns the error at the first conflict marker in `text`. Call it only for a file that cannot be read: a
/// line of a multi-line text may begin with a marker.
fn conflict_marker(text: &str) -> Option<Finding> {
    let (index, line) = text.lines().enumerate().find(|(_, line)| is_marker(line))?;
    let span =
        Span { start: Position::new(index + 1, 1), end: Position::new(index + 1, line.chars().count() + 1) };
    let message = "this file contains an unresolved merge conflict";
    let finding = Finding::at(&check::CONFLICT_MARKER, span, message);
    Some(finding.help("resolve the conflict, then commit the file again"))
}

fn is_marker(line: &str) -> bool {
    let has_name = ["<<<<<<<", "|||||||", ">>>>>>>"]
        .iter()
        .filter_map(|marker| line.strip_prefix(marker))
        .any(|rest| rest.is_empty() || rest.starts_with(' '));
    // Git writes no name after this marker, so a longer line is ordinary text.
    has_name || line == "======="
}
