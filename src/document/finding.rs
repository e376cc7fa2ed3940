//! Findings: first a check, a position and a message; then diagnostics with file, excerpts and help; then
//! text.

use std::cmp::Ordering;
use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use serde::Serialize;

use super::check::{
    Check, HIDDEN_CHARACTER, Severity, TOO_MANY_FINDINGS, TYPOGRAPHIC_QUOTES, YAML_TAG, consequence, remedy,
};
use super::node::{Node, PathStep, Span};
use crate::model::{Color, closest, cut, escaped, exact};

#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) check: &'static Check,
    pub(super) spot: Spot,
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// A second position that belongs to the finding, with its label.
    pub(super) related: Option<(Spot, &'static str)>,
    /// The keys of a circle of prerequisites that the message does not name whole.
    pub(super) circle: Vec<String>,
}

/// The position of a finding.
#[derive(Clone, Debug)]
pub(super) enum Spot {
    /// The value at this path, or its key.
    Path(Vec<PathStep>, Part),
    Span(Span),
    WholeFile,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    Key,
    Value,
}

/// A path as a linked list on the stack: allocates only when a finding needs it.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) parent: Option<&'a At<'a>>,
    pub(super) step: PathStep,
}

impl At<'_> {
    pub(super) fn key(&self, name: &'static str) -> At<'_> {
        At { parent: Some(self), step: PathStep::Key(name) }
    }

    pub(super) fn entry(&self, index: usize) -> At<'_> {
        At { parent: Some(self), step: PathStep::Entry(index) }
    }

    pub(super) fn item(&self, index: usize) -> At<'_> {
        At { parent: Some(self), step: PathStep::Item(index) }
    }

    pub(super) fn spot(&self, part: Part) -> Spot {
        // The list leads from the value to the root, and a path is read the other way.
        let mut steps = vec![self.step];
        let mut parent = self.parent;
        while let Some(at) = parent {
            steps.push(at.step);
            parent = at.parent;
        }
        steps.reverse();
        Spot::Path(steps, part)
    }

    pub(super) fn finding(&self, check: &'static Check, part: Part, message: impl Into<String>) -> Finding {
        Finding::new(check, self.spot(part), message)
    }
}

impl Finding {
    pub(super) fn new(check: &'static Check, spot: Spot, message: impl Into<String>) -> Self {
        Self { check, spot, message: message.into(), help: None, related: None, circle: Vec::new() }
    }

    pub(super) fn at(check: &'static Check, span: Span, message: impl Into<String>) -> Self {
        Self::new(check, Spot::Span(span), message)
    }

    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    pub(super) fn maybe_help(self, help: Option<String>) -> Self {
        Self { help, ..self }
    }

    /// Adds what callers would see to the help, if the service accepts such content.
    pub(super) fn explain(&mut self) {
        let help = [self.help.take(), consequence(self.check).map(str::to_owned)];
        self.help = help.into_iter().flatten().reduce(|help, consequence| match help.ends_with('?') {
            true => format!("{help} {consequence}"),
            false => format!("{help}; {consequence}"),
        });
    }

    pub(super) fn related(self, spot: Spot, label: &'static str) -> Self {
        Self { related: Some((spot, label)), ..self }
    }
}

/// The maximum number of findings kept for one file: a hostile megabyte could have hundreds of thousands.
const MOST_KEPT: usize = 200;

/// Adds a finding unless the limit is reached. The first error is always kept.
pub(super) fn add(findings: &mut Vec<Finding>, finding: Finding) {
    // Without its first error, a file with very many warnings would count as valid.
    let is_error = |finding: &Finding| finding.check.severity == Severity::Error;
    if findings.len() < MOST_KEPT || (is_error(&finding) && !findings.iter().rev().any(is_error)) {
        findings.push(finding);
    }
}

/// Returns a text from a file for a message, escaped and cut.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    // `cut` counts the ellipsis.
    exact(&cut(text, LONGEST + 1)).to_string()
}

/// Returns a suggestion as a question.
pub(super) fn did_you_mean<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(text, candidates).map(|candidate| format!("did you mean `{}`?", shown(candidate)))
}

/// Returns whether a suggestion may be looked for: `findings` is not full.
pub(super) fn is_affordable(findings: &[Finding]) -> bool {
    findings.len() < MOST_KEPT
}

/// Returns a suggestion unless `findings` is full.
pub(super) fn suggest<'a>(
    findings: &[Finding],
    text: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    // Comparing words is slow, and a hostile file could require it very often.
    is_affordable(findings).then(|| did_you_mean(text, candidates)).flatten()
}

/// One finding in one file.
///
/// The message and the help are escaped; `path` is not.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnostic {
    /// The id of one of [`CHECKS`](super::CHECKS).
    pub id: &'static str,
    /// Whether it makes the document invalid.
    pub severity: Severity,
    #[serde(rename = "file")]
    pub path: String,
    /// The line, from 1; 0 for the whole file.
    pub line: u32,
    /// The column in characters, from 1; 0 for the whole file.
    pub column: u32,
    /// The column after the last character; `None` for the rest of the line.
    #[serde(skip)]
    pub end_column: Option<u32>,
    pub message: String,
    /// The way to solve it.
    pub help: Option<String>,
    /// The reason of the waiver that accepts it, escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waived: Option<String>,
    /// The keys of a circle of prerequisites that the message does not name whole, the first one again at the end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub circle: Vec<String>,
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
    /// Returns the file, with the line and the column unless the finding is about the whole file. The path is
    /// not escaped.
    pub(crate) fn place(&self) -> String {
        match self.line {
            0 => self.path.clone(),
            line => format!("{}:{line}:{}", self.path, self.column),
        }
    }

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
            circle: Vec::new(),
            excerpts: Vec::new(),
        }
    }

    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Returns the fields that decide order and equality: all but the end and the excerpts, which follow from
    /// them.
    fn key(&self) -> (&str, u32, u32, &str, Severity, &str, Option<&str>, Option<&str>) {
        let Self {
            id,
            severity,
            path,
            line,
            column,
            message,
            help,
            waived,
            end_column: _,
            circle: _,
            excerpts: _,
        } = self;
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

/// Merges the finding on a value that YAML takes for a tag with the one on its text: who followed the first
/// would get the second.
pub(super) fn merge_tags(findings: &mut Vec<Finding>, root: Option<&Node>) {
    let is_tag = |one: &Finding| *one.check == YAML_TAG;
    if !findings.iter().any(is_tag) {
        return;
    }
    let start = |one: &Finding| resolve(&one.spot, root).map(|span| span.start);
    let starts: Vec<_> = findings.iter().map(start).collect();
    let mut merged = Vec::new();
    for tag in 0..findings.len() {
        let is_same = |other: &usize| {
            !is_tag(&findings[*other]) && starts[*other].is_some() && starts[*other] == starts[tag]
        };
        let other = (0..findings.len()).filter(|_| is_tag(&findings[tag])).find(is_same);
        if let Some(help) = other.and_then(|other| findings[other].help.clone()) {
            findings[tag].help = Some(help);
            merged.extend(other);
        }
    }
    let mut index = 0;
    findings.retain(|_| {
        index += 1;
        !merged.contains(&(index - 1))
    });
}

/// Merges the warning about the ends of a text with an error on the same text, which it causes.
pub(super) fn merge_ends(findings: &mut Vec<Finding>, root: Option<&Node>) {
    let is_of_ends = |one: &Finding| [&TYPOGRAPHIC_QUOTES, &HIDDEN_CHARACTER].contains(&one.check);
    let start = |one: &Finding| resolve(&one.spot, root).map(|span| span.start);
    let (ends, mut others): (Vec<_>, Vec<_>) = std::mem::take(findings).into_iter().partition(is_of_ends);
    for one in ends {
        let is_error = |other: &&mut Finding| other.check.severity == Severity::Error;
        match others.iter_mut().filter(is_error).find(|other| start(other) == start(&one)) {
            Some(other) => other.help = one.help,
            None => findings.push(one),
        }
    }
    findings.append(&mut others);
}

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
    diagnostics.sort_unstable();
    diagnostics.dedup();
    if is_cut {
        // Added after the sort, which would put a finding without a line first.
        let message = format!("only {MOST_FINDINGS} of the findings in this file are shown");
        diagnostics.push(Diagnostic::whole_file(&TOO_MANY_FINDINGS, path, message));
    }
    diagnostics
}

fn diagnostic(path: &str, lines: &[&str], root: Option<&Node>, finding: Finding) -> Diagnostic {
    let Finding { check, spot, message, help, related, circle } = finding;
    let mut diagnostic = Diagnostic { circle, ..Diagnostic::whole_file(check, path, message) };
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

/// Returns `diagnostics` as text in their order; it ends in a newline unless it is empty.
///
/// Text from files is escaped and never begins a line.
pub(crate) fn render(diagnostics: &[Diagnostic], color: Color) -> String {
    let renderer = match color {
        Color::Always => Renderer::styled(),
        Color::Never => Renderer::plain(),
    }
    .decor_style(DecorStyle::Ascii);
    diagnostics
        .iter()
        .map(|diagnostic| {
            let rendered = without_separators(&renderer.render(&[group(diagnostic)]));
            if diagnostic.line == 0 { indented(&rendered) } else { rendered }
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Indents the lines below the title as those of a finding that has a line of its file.
fn indented(rendered: &str) -> String {
    let mut lines = rendered.split_inclusive('\n');
    let title = lines.next().unwrap_or_default().to_owned();
    lines.fold(title, |text, line| text + " " + line)
}

fn group(diagnostic: &Diagnostic) -> Group<'_> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let path = escaped(&diagnostic.path).to_string();
    let mut group = Group::with_title(level.primary_title(diagnostic.message.as_str()).id(diagnostic.id));
    group = match diagnostic.line {
        0 => group.element(Origin::path(path)),
        line => group.element(Origin::path(path).line(line as usize).char_column(diagnostic.column as usize)),
    };
    group = group.elements(snippets(&diagnostic.excerpts));
    match &diagnostic.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

/// Returns one snippet per line, in the order of the file.
fn snippets(excerpts: &[Excerpt]) -> Vec<Snippet<'_, Annotation<'_>>> {
    let mut lines: Vec<&Excerpt> = excerpts.iter().collect();
    lines.sort_by_key(|excerpt| (excerpt.line, excerpt.column));
    lines
        // Two marks of one line share a snippet only if their excerpts were cut in the same way.
        .chunk_by(|one, other| one.line == other.line && one.text == other.text)
        .map(|same| {
            // A snippet has no path: the renderer would count columns in escaped and shortened text. The
            // origin has the position.
            Snippet::source(same[0].text.as_str())
                .line_start(same[0].line as usize)
                .annotations(same.iter().map(|excerpt| annotation(excerpt)))
        })
        .collect()
}

fn annotation(excerpt: &Excerpt) -> Annotation<'_> {
    // The excerpt is trimmed, so an empty mark at its end can be behind the text.
    let end = excerpt.marked.end.min(excerpt.text.len());
    let span = excerpt.marked.start.min(end)..end;
    match excerpt.label {
        Some(label) => AnnotationKind::Context.span(span).label(label),
        None => AnnotationKind::Primary.span(span),
    }
}

/// Removes the `:::` lines, which stand for the missing path of a snippet.
fn without_separators(rendered: &str) -> String {
    let is_separator = |line: &str| {
        let line = line.replace("\u{1b}[1m", "").replace("\u{1b}[94m", "").replace("\u{1b}[0m", "");
        line.trim() == ":::"
    };
    let kept = rendered.lines().filter(|line| !is_separator(line));
    kept.flat_map(|line| [line, "\n"]).collect()
}
