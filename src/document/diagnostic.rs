//! Diagnostics: findings with file, position and help.

use std::cmp::Ordering;
use std::ops::Range;

use serde::Serialize;

use super::check::{Check, Severity, TOO_MANY_FINDINGS};
use super::finding::{Finding, Part, Spot};
use super::help::remedy;
use super::node::{Node, Span};
use crate::model::escaped;

/// One finding in one file.
///
/// The message and the help are escaped; `path` is not.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnostic {
    /// The id of one of [`CHECKS`](super::CHECKS).
    pub id: &'static str,
    /// Whether it makes the document invalid.
    pub severity: Severity,
    /// The file.
    #[serde(rename = "file")]
    pub path: String,
    /// The line, from 1; 0 for the whole file.
    pub line: u32,
    /// The column in characters, from 1; 0 for the whole file.
    pub column: u32,
    /// The column after the last character; `None` for the rest of the line.
    #[serde(skip)]
    pub end_column: Option<u32>,
    /// The problem.
    pub message: String,
    /// The way to solve it.
    pub help: Option<String>,
    /// The reason of the waiver that accepts it, escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waived: Option<String>,
    #[serde(skip)]
    pub(super) excerpts: Vec<Excerpt>,
}

/// One line of a file, escaped and trimmed, with a marked range.
#[derive(Clone, Debug)]
pub(super) struct Excerpt {
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) text: String,
    /// In bytes of `text`.
    pub(super) marked: Range<usize>,
    pub(super) label: Option<&'static str>,
}

impl Diagnostic {
    /// Returns the file, with the line and the column unless the finding is about the whole file. The path is not escaped.
    pub fn place(&self) -> String {
        match self.line {
            0 => self.path.clone(),
            line => format!("{}:{line}:{}", self.path, self.column),
        }
    }

    /// Creates a diagnostic on a file as a whole.
    pub(super) fn whole_file(check: &Check, path: &str, message: impl Into<String>) -> Self {
        Self {
            id: check.id,
            severity: check.severity,
            path: path.to_owned(),
            line: 0,
            column: 0,
            end_column: None,
            message: message.into(),
            help: remedy(check).map(str::to_owned),
            waived: None,
            excerpts: Vec::new(),
        }
    }

    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Returns the fields that decide order and equality: all but the end and the excerpts, which follow from them.
    fn key(&self) -> (&str, u32, u32, &str, Severity, &str, Option<&str>, Option<&str>) {
        let Self { id, severity, path, line, column, message, help, waived, end_column: _, excerpts: _ } =
            self;
        (path, *line, *column, id, *severity, message, help.as_deref(), waived.as_deref())
    }
}

impl Ord for Diagnostic {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Diagnostic {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Diagnostic {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Diagnostic {}

/// The maximum number of findings shown for one file.
const MOST_FINDINGS: usize = 100;

/// Converts the findings of one file to diagnostics, sorted by position.
pub(super) fn diagnose(
    path: &str,
    text: &str,
    root: Option<&Node>,
    mut findings: Vec<Finding>,
) -> Vec<Diagnostic> {
    // Errors come first, so that an invalid file always shows one.
    findings.sort_by_key(|finding| finding.check.severity);
    let is_cut = findings.len() > MOST_FINDINGS;
    findings.truncate(MOST_FINDINGS);
    let lines = lines(text);
    let mut diagnostics: Vec<Diagnostic> =
        findings.into_iter().map(|finding| diagnostic(path, &lines, root, finding)).collect();
    diagnostics.sort();
    diagnostics.dedup();
    if is_cut {
        // Added after the sort, which would put a finding without a line first.
        let message = format!("only {MOST_FINDINGS} of the findings in this file are shown");
        diagnostics.push(Diagnostic::whole_file(&TOO_MANY_FINDINGS, path, message));
    }
    diagnostics
}

fn diagnostic(path: &str, lines: &[&str], root: Option<&Node>, finding: Finding) -> Diagnostic {
    let Finding { check, spot, message, help, related } = finding;
    let mut diagnostic = Diagnostic::whole_file(check, path, message);
    diagnostic.help = help.or(diagnostic.help);
    if let Some(span) = resolve(&spot, root) {
        diagnostic.line = span.start.line;
        diagnostic.column = span.start.column;
        // Of several lines, the first one is marked, as in an excerpt.
        let is_within = span.end.line == span.start.line && span.end.column > span.start.column;
        diagnostic.end_column = is_within.then_some(span.end.column);
        diagnostic.excerpts.extend(excerpt(lines, span, None));
        let related = related.and_then(|(spot, label)| Some((resolve(&spot, root)?, label)));
        if let Some((span, label)) = related {
            diagnostic.excerpts.extend(excerpt(lines, span, Some(label)));
        }
    }
    diagnostic
}

fn resolve(spot: &Spot, root: Option<&Node>) -> Option<Span> {
    match spot {
        Spot::Path(path, part) => {
            let located = root?.locate(path);
            Some(match part {
                Part::Key => located.key.unwrap_or(located.value),
                Part::Value => located.value,
            })
        }
        Spot::Span(span) => Some(*span),
        Spot::WholeFile => None,
    }
}

/// Splits `text` at `\n`, `\r\n` and `\r`, the line breaks of YAML.
pub(super) fn lines(text: &str) -> Vec<&str> {
    // `str::lines` does not split at a lone `\r`, so line numbers would differ from those of the parser.
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(end) = rest.find(['\n', '\r']) {
        lines.push(&rest[..end]);
        let width = if rest[end..].starts_with("\r\n") { 2 } else { 1 };
        rest = &rest[end + width..];
    }
    lines.push(rest);
    lines
}

/// Returns the first line of `span`, cut to a readable length around it.
fn excerpt(lines: &[&str], span: Span, label: Option<&'static str>) -> Option<Excerpt> {
    // One line can have a megabyte, so the excerpt is bounded on both sides of the mark.
    const AROUND: usize = 60;
    const LONGEST_MARK: usize = 60;
    let line = lines.get(usize::try_from(span.start.line).ok()?.checked_sub(1)?)?;
    let start = usize::try_from(span.start.column).ok()?.saturating_sub(1);
    let end = if span.end.line == span.start.line {
        usize::try_from(span.end.column).ok()?.saturating_sub(1)
    } else {
        line.chars().count()
    };
    let end = end.clamp(start, start + LONGEST_MARK);
    let first = if end <= 2 * AROUND { 0 } else { start.saturating_sub(AROUND) };
    let piece = |from: usize, to: usize| -> String {
        line.chars().skip(from).take(to.saturating_sub(from)).collect()
    };
    let after = piece(end, end + AROUND);
    let is_cut = line.chars().nth(end + AROUND).is_some();
    // Each piece is escaped separately, because the mark is a range of the escaped text.
    let before = format!("{}{}", if first > 0 { "…" } else { "" }, escaped(&piece(first, start)));
    let marked = escaped(piece(start, end).trim_end()).to_string();
    let range = before.len()..before.len() + marked.len();
    let trailing = piece(start, end).len() - piece(start, end).trim_end().len();
    let text = format!(
        "{before}{marked}{}{}{}",
        " ".repeat(trailing),
        escaped(&after),
        if is_cut { "…" } else { "" }
    );
    Some(Excerpt {
        line: span.start.line,
        column: span.start.column,
        text: text.trim_end().to_owned(),
        marked: range,
        label,
    })
}
