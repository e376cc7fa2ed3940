//! Parses and checks documents.
//!
//! Pure: takes a path and a content, returns a [`Document`], and opens no file. A document has either a payload or at
//! least one error, never both. The same bytes always yield the same document.
//!
//! A valid YAML file is parsed once into typed values. An untyped value would lose `1.10` and let duplicate keys win
//! silently. Only a file with findings is parsed again with positions; `node`, `shape` and `scalar` serve that path.

mod check;
mod condition;
mod diagnostic;
mod events;
mod expectation;
mod finding;
mod foreign;
mod format;
mod formats;
mod help;
mod layout;
mod limits;
mod lines;
mod meaning;
mod mistake;
mod node;
mod parts;
mod pattern;
mod prerequisites;
mod print;
mod quick;
mod raw;
mod render;
mod resolve;
mod scalar;
mod schema;
mod serves;
mod service_json;
mod shape;
mod split;
#[cfg(test)]
mod tests;
pub mod tree;
mod variation_names;
mod vocabulary;
mod waiver;
mod yaml;

pub use check::{CHECKS, Check, Severity};
pub use diagnostic::Diagnostic;
pub use expectation::{Expectation, Expectations, expectations};
pub use format::{Formatting, format};
pub use layout::{Layout, LayoutError, PathKind, Unread};
pub use lines::{ServeLines, serve_lines};
pub use print::print;
pub use render::render;
pub use schema::schema;
pub use service_json::{Inexpressible, from_service};

use serde::de::IgnoredAny;

use self::finding::{Finding, LoadedFile, Spot};
use self::node::{Node, Position, Span};
use self::raw::RawDocument;
use crate::model::{Blob, Payload, ServiceKind, Targeting};

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
}

/// Reads one file. `path` is shown in messages.
///
/// Takes bounded time and memory for any content.
pub fn read(path: &str, content: &Blob, kind: ServiceKind) -> Document {
    let refused = |diagnostic| Document { payload: None, diagnostics: vec![diagnostic] };
    let text = match text(path, content) {
        Ok(text) => text,
        Err(diagnostic) => return refused(*diagnostic),
    };
    // A parser would report a pointer as a syntax error or as a file without keys, which hides the cause.
    if foreign::is_lfs_pointer(text) {
        return refused(lfs_pointer(path));
    }
    let mut document = File { path, text, kind }.yaml();
    waiver::apply(path, text, &mut document);
    document
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
pub fn missing_base(path: &str) -> Diagnostic {
    let message = "the older version of this file is not in the partial clone, so what changes is unknown";
    Diagnostic::whole_file(&check::MISSING_CONTENT, path, message)
        .help("clone without `--filter`, or run `git fetch --refetch --no-filter`")
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
}

impl File<'_> {
    /// Reads YAML: parses once if the file is valid, and again with positions if the bytes or the first parse require it.
    fn yaml(&self) -> Document {
        if has_surrogates(self.text) {
            return self.with_positions(yaml::load(self.text), None);
        }
        // The quick parser comes first: what it accepts is free of bombs, so only the rest needs the byte scan.
        let quick = quick::parse(self.text);
        // serde_yaml also accepts integers outside the core schema (DESIGN, section 2), which only the second parse
        // reports.
        let is_plain = quick.is_some() || yaml::has_core_integers(self.text);
        if quick.is_none() && !yaml::is_harmless(self.text) {
            let loaded = yaml::load(self.text);
            if loaded.root.is_none() || !loaded.findings.is_empty() {
                // serde_yaml must not get this text: it would expand the aliases or hang on the depth.
                return self.with_positions(loaded, None);
            }
        }
        let parsed = match quick {
            Some(document) => {
                // Debug builds, and so all tests, compare every result of the quick parser with serde_yaml's.
                debug_assert_eq!(
                    serde_yaml::from_str::<RawDocument>(self.text).as_ref().ok(),
                    Some(&document),
                    "the quick parser and serde_yaml disagree"
                );
                Ok(document)
            }
            None => serde_yaml::from_str(self.text),
        };
        let is_clean = |document: &RawDocument| meaning::check(document, self.kind).is_empty();
        match parsed {
            Ok(document) if is_plain && is_clean(&document) => match document.complete(self.kind) {
                Some(targeting) => self.valid(&targeting),
                // All fields are optional to serde_yaml, so only the second parse reports a missing one.
                None => self.with_positions(yaml::load(self.text), None),
            },
            parsed => self.with_positions(yaml::load(self.text), Some(parsed)),
        }
    }

    /// Returns the document of `targeting`, which has no findings except possibly its size as sent.
    fn valid(&self, targeting: &Targeting) -> Document {
        match self.payload(targeting) {
            Ok(payload) => Document { payload: Some(payload), diagnostics: Vec::new() },
            Err(finding) => Document {
                payload: None,
                diagnostics: diagnostic::diagnose(self.path, self.text, None, vec![*finding]),
            },
        }
    }

    fn payload(&self, targeting: &Targeting) -> Result<Payload, Box<Finding>> {
        let payload = Payload::new(targeting);
        match self.kind {
            ServiceKind::Documented => Ok(payload),
            ServiceKind::FeatureProbe => {
                limits::content(&payload).map_or(Ok(payload), |finding| Err(Box::new(finding)))
            }
        }
    }

    /// Reads the document at the positions of `loaded`. Returns the root, if its positions count, and all findings.
    fn shaped(
        &self,
        loaded: LoadedFile,
        parsed: Option<&serde_yaml::Result<RawDocument>>,
    ) -> (Option<Node>, RawDocument, Vec<Finding>) {
        let LoadedFile { root, mut findings, refused } = loaded;
        let is_refused = |_: &Finding| {
            matches!(parsed, Some(Err(_))) && serde_yaml::from_str::<IgnoredAny>(self.text).is_err()
        };
        if let Some(refused) = refused.filter(is_refused) {
            return (None, RawDocument::default(), vec![refused]);
        }
        let mut document = RawDocument::default();
        match root.as_ref().filter(|root| !is_empty(root)) {
            Some(root) => {
                document = shape::document(root, &mut findings);
                findings.extend(meaning::check(&document, self.kind));
            }
            None if findings.is_empty() => findings.push(empty_document()),
            None => {}
        }
        match parsed {
            // A file must not become invalid because it has a warning, so if the parser with positions reads something
            // else, the findings have no positions.
            Some(Ok(parsed)) if *parsed != document && yaml::has_core_integers(self.text) => {
                (None, document, meaning::check(parsed, self.kind))
            }
            _ => (root, document, findings),
        }
    }

    /// Collects all findings with positions. `parsed` is the result of the fast parser.
    fn with_positions(
        &self,
        loaded: LoadedFile,
        parsed: Option<serde_yaml::Result<RawDocument>>,
    ) -> Document {
        let (root, document, mut findings) = self.shaped(loaded, parsed.as_ref());
        let is_valid =
            |findings: &[Finding]| findings.iter().all(|finding| finding.check.severity == Severity::Warning);
        let mut payload = None;
        if is_valid(&findings) {
            // The fast parser's result counts, so that a document has one meaning.
            let read = match parsed.unwrap_or(Ok(document)).map(|document| document.complete(self.kind)) {
                Ok(Some(targeting)) => self.payload(&targeting),
                Ok(None) => Err(Box::new(unreadable(self.text, None))),
                Err(error) => Err(Box::new(unreadable(self.text, Some(&error)))),
            };
            match read {
                Ok(read) => payload = Some(read),
                Err(finding) => findings.push(*finding),
            }
        }
        mistake::name_comments(self.text, &mut findings);
        // The markers cause the other findings, so the conflict replaces them; valid text may contain a marker line.
        if let Some(conflict) = foreign::conflict_marker(self.text).filter(|_| payload.is_none()) {
            findings = vec![conflict];
        }
        if self.kind == ServiceKind::FeatureProbe {
            findings.iter_mut().for_each(Finding::explain);
        }
        Document { payload, diagnostics: diagnostic::diagnose(self.path, self.text, root.as_ref(), findings) }
    }
}

/// Returns whether a text may have the surrogate pairs of JSON, which serde_yaml does not read.
fn has_surrogates(text: &str) -> bool {
    text.contains("\\ud") || text.contains("\\uD")
}

fn is_empty(root: &Node) -> bool {
    root.is_null() && matches!(&root.kind, node::NodeKind::Scalar(text, _) if text.is_empty())
}

fn empty_document() -> Finding {
    Finding::new(&check::EMPTY_DOCUMENT, Spot::WholeFile, "this file contains no document")
        .help("remove the file to stop managing the toggle; write `disabled: true` to disable it")
}

/// Returns the error that only the fast parser rejects the file: the stricter parser wins.
fn unreadable(text: &str, error: Option<&serde_yaml::Error>) -> Finding {
    let location = error.and_then(serde_yaml::Error::location);
    let line = location.as_ref().map_or(0, |location| u32::try_from(location.line()).unwrap_or(u32::MAX));
    if let Some(mistake) = mistake::explain(&diagnostic::lines(text), line) {
        return mistake.finding();
    }
    let message = match error {
        Some(error) => format!("could not read the document: {}", finding::shown(&error.to_string())),
        None => "could not read the document".to_owned(),
    };
    let spot = location.map_or(Spot::WholeFile, |location| {
        Spot::Span(Span::at(Position::new(location.line(), location.column())))
    });
    Finding::new(&check::SYNTAX, spot, message)
}
