//! Inline waivers: comments that accept a warning, with the reason.
//!
//! `# gitoggle: allow(check-id) reason` waives the warnings of that check on the next line, and in the entry
//! or item that begins there. Only warnings can be waived, because a document with an error cannot be
//! published. A waiver of `stale` concerns the whole document, and is read by `gitoggle stale`.

use std::collections::BTreeMap;

use super::Document;
use super::check::{self, BAD_WAIVER, CHECKS, Check, CheckSubject, Severity, UNUSED_WAIVER};
use super::finding;
use super::finding::Diagnostic;
use super::finding::{Finding, did_you_mean, shown};
use super::node::{Located, Node, NodeKind, PathStep, Position, Span};
use super::syntax::{self, Comment, Syntax};
use crate::model::{Blob, Payload, Sdks};

/// What a comment for this program begins with, after the `#`.
const MARK: &str = "gitoggle:";

const FORM: &str = "write `# gitoggle: allow(check-id) reason` on the line above";

/// Returns whether a document may have a comment for this program, in any spelling.
pub(super) fn is_marked(text: &str) -> bool {
    ["gitoggle", "Gitoggle", "GITOGGLE", "GitOggle", "GiToggle"].iter().any(|name| text.contains(name))
}

/// Returns whether a comment is a waiver but for its mark.
fn is_almost_one(comment: &str) -> bool {
    let text = comment.trim_start_matches('#').trim_start();
    let rest =
        text.split_at_checked("gitoggle".len()).filter(|(name, _)| name.eq_ignore_ascii_case("gitoggle"));
    let is_waiver = |rest: &str| rest.trim_start_matches([':', ' ', '\t', '-', '_']).starts_with("allow(");
    !text.starts_with(MARK) && rest.is_some_and(|(_, rest)| is_waiver(rest))
}

/// The id of the finding that a toggle decides nothing. Only `gitoggle stale` reports it, because it depends
/// on the history.
const STALE: &str = "stale";

/// Waives the findings of `document`, whose syntax is `tree`, and adds those on the waivers.
pub(super) fn apply(path: &str, tree: &Syntax<'_>, sdks: Sdks, document: &mut Document) {
    let Syntax { text, comments, .. } = tree;
    if !is_marked(text) {
        return;
    }
    // An error hides other checks, whose warnings return once it is corrected, and so does a flood of findings.
    let is_flood = document.diagnostics.iter().any(|found| found.id == check::TOO_MANY_FINDINGS.id);
    let is_checked = document.payload.is_some() && !is_flood;
    match (tree.is_printable, is_checked) {
        (true, _) => {}
        (false, true) => return unread(path, text, document),
        (false, false) => return,
    }
    let mut findings = Vec::new();
    let lines = Lines::of(tree);
    // Of the waivers of what SDKs do at prerequisites: whether each waives nothing here.
    let mut open = Vec::new();
    for comment in comments.iter().filter(|comment| is_almost_one(comment.text)) {
        let message = "this comment is not a waiver: it does not begin with `gitoggle:`";
        findings.push(Finding::at(&BAD_WAIVER, span(comment), message).help(FORM));
    }
    for (instruction, comment) in instructions(comments) {
        findings.extend(match parse(instruction, comment) {
            // It is applied once the other documents are known.
            Ok(waiver) if waiver.is_of_reference() => {
                document.outline.has_waiver = true;
                None
            }
            // Without SDKs, this was not checked.
            Ok(waiver) if waiver.id == check::SDK_DISAGREEMENT.id && sdks.is_empty() => None,
            Ok(waiver) if waiver.id == check::SDK_DISAGREEMENT.id => {
                let unused = waiver.apply(&lines, comment, is_checked, &mut document.diagnostics);
                // There, it may concern a finding about other documents.
                let is_at_others =
                    document.outline.has_prerequisites && is_at_prerequisites(tree, &lines, comment);
                if is_at_others {
                    open.push(unused.is_some());
                }
                unused.filter(|_| !is_at_others)
            }
            Ok(waiver) if waiver.id == STALE => is_in_use(document).then(|| waiver.unused(comment)),
            Ok(waiver) => waiver.apply(&lines, comment, is_checked, &mut document.diagnostics),
            Err((message, help)) => Some(Finding::at(&BAD_WAIVER, span(comment), message).maybe_help(help)),
        });
    }
    document.outline.has_waiver |= !open.is_empty();
    document.outline.has_open_waiver = !open.is_empty() && open.iter().all(|is_unused| *is_unused);
    let added = finding::diagnose(path, text, None, findings);
    document.diagnostics.extend(added);
    document.diagnostics.sort_unstable();
}

/// Waives the findings about other documents in the document whose syntax is `tree`, and adds those on such
/// waivers: one of `sdk-disagreement` has to waive one of these if `has_open_waiver`.
pub(super) fn apply_to_references(
    path: &str,
    tree: &Syntax<'_>,
    has_open_waiver: bool,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Syntax { text, comments, .. } = tree;
    let mut findings = Vec::new();
    let lines = Lines::of(tree);
    for (instruction, comment) in instructions(comments).filter(|_| tree.is_printable) {
        let Ok(waiver) = parse(instruction, comment) else { continue };
        let is_of_sdks = waiver.id == check::SDK_DISAGREEMENT.id;
        if waiver.is_of_reference() || is_of_sdks {
            let unused = waiver.apply(&lines, comment, true, diagnostics);
            // An error hides what SDKs do there.
            let has_error = || diagnostics.iter().any(|found| found.severity == Severity::Error);
            let is_told =
                !is_of_sdks || has_open_waiver && is_at_prerequisites(tree, &lines, comment) && !has_error();
            findings.extend(unused.filter(|_| is_told));
        }
    }
    diagnostics.extend(finding::diagnose(path, text, None, findings));
    diagnostics.sort_unstable();
}

/// Returns why a toggle is kept although it decides nothing: the reason of the waiver of `stale` in its
/// document.
pub(crate) fn kept(content: &Blob) -> Option<String> {
    let Blob::Content(bytes) = content else { return None };
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.contains(MARK))?;
    let tree = syntax::parse(text);
    let mut waivers = instructions(&tree.comments).filter_map(|(text, comment)| parse(text, comment).ok());
    let waiver = waivers.find(|waiver| waiver.id == STALE && tree.is_printable)?;
    Some(waiver.reason.to_owned())
}

/// Returns the comments that are instructions, each after its text behind the mark.
fn instructions<'c, 't>(comments: &'c [Comment<'t>]) -> impl Iterator<Item = (&'t str, &'c Comment<'t>)> {
    comments.iter().filter_map(|comment| {
        let text = comment.text.trim_start_matches('#').trim_start();
        Some((text.strip_prefix(MARK)?, comment))
    })
}

/// Returns whether the toggle decides something. That of an invalid document is not known.
fn is_in_use(document: &Document) -> bool {
    let targeting = document.payload.as_ref().map(Payload::targeting);
    // The time of a schedule passes without a change.
    targeting.is_some_and(|targeting| targeting.leftover().is_none() && !targeting.has_schedule())
}

/// Adds a finding if the comments of a document with a waiver are unknown. A waiver must not be ignored
/// silently.
fn unread(path: &str, text: &str, document: &mut Document) {
    let mut lines = text.lines().map(str::trim_start);
    if lines.any(|line| line.starts_with('#') && line.contains(MARK)) {
        let message = "the waivers of this document are ignored, because it contains unusual YAML";
        let finding = Diagnostic::whole_file(&BAD_WAIVER, path, message);
        let help = "simplify it, for example directives, until `gitoggle fmt` can rewrite it";
        document.diagnostics.push(finding.help(help));
        document.diagnostics.sort_unstable();
    }
}

/// A well-formed waiver.
struct Waiver<'a> {
    id: &'a str,
    reason: &'a str,
}

/// Why a comment is not a waiver, and the help.
type BadWaiver = (String, Option<String>);

fn parse<'a>(instruction: &'a str, comment: &Comment<'_>) -> Result<Waiver<'a>, BadWaiver> {
    let bad = |message: String, help: &str| Err((message, Some(help.to_owned())));
    let parts = instruction.trim().strip_prefix("allow(").and_then(|rest| rest.split_once(')'));
    let Some((id, reason)) = parts else {
        return bad("this comment for gitoggle is not a waiver".to_owned(), FORM);
    };
    let (id, reason) = (id.trim(), reason.trim());
    if id.contains(',') {
        let message = "this waiver names several checks".to_owned();
        return bad(message, "write a comment for each: they may stand above each other");
    }
    let named: Vec<_> = CHECKS.iter().filter(|check| check.id == id).collect();
    let is_stale = id == STALE;
    if named.is_empty() && !is_stale {
        let ids = CHECKS.iter().filter(|check| check.severity == Severity::Warning).map(|check| check.id);
        let ids = ids.chain([STALE]);
        let message = format!("`{}` is not a check", shown(id));
        return Err((message, did_you_mean(id, ids)));
    }
    if !is_stale && named.iter().all(|check| check.severity == Severity::Error) {
        let message = format!("`{id}` is an error, which cannot be waived");
        return bad(message, "correct the document: an invalid one cannot be published");
    }
    if !is_stale && named.iter().all(|check| check.subject == CheckSubject::Outside) {
        let message = format!("`{id}` cannot be waived: it does not concern a line of a document");
        return bad(message, "remove this comment");
    }
    if reason.is_empty() {
        let message = format!("this waiver of `{id}` has no reason");
        return bad(message, "write the reason behind the parenthesis");
    }
    if !comment.is_alone {
        return bad("this waiver is not on its own line".to_owned(), FORM);
    }
    Ok(Waiver { id, reason })
}

impl Waiver<'_> {
    fn is_of_reference(&self) -> bool {
        Check::is_about_others(self.id)
    }

    /// Marks the findings that it concerns. Returns a finding if there is none, and all warnings are known.
    fn apply(
        &self,
        lines: &Lines,
        comment: &Comment<'_>,
        is_checked: bool,
        diagnostics: &mut [Diagnostic],
    ) -> Option<Finding> {
        let (line, spans) = lines.below(comment);
        let concerns = |found: &Diagnostic| {
            let position = Position { line: found.line, column: found.column };
            let inside = |span: &Span| (span.start..span.end).contains(&position);
            found.id == self.id && (Some(found.line) == line || spans.iter().any(inside))
        };
        let mut is_error = false;
        let mut is_used = false;
        for found in diagnostics.iter_mut().filter(|found| concerns(found)) {
            match found.severity {
                Severity::Error => is_error = true,
                Severity::Warning => {
                    is_used = true;
                    // Of two waivers of one finding, the one closer to it counts.
                    found.waived = Some(shown(self.reason));
                }
            }
        }
        if is_used || !is_checked && !is_error {
            return None;
        }
        let finding = self.unused(comment);
        Some(match is_error {
            true => finding.help("the finding below is an error, which cannot be waived"),
            false => finding,
        })
    }

    fn unused(&self, comment: &Comment<'_>) -> Finding {
        let message = format!("this waiver of `{}` waives nothing", self.id);
        Finding::at(&UNUSED_WAIVER, span(comment), message).help(match self.id {
            STALE => "remove it: the toggle is in use",
            _ => "remove it, or write it directly above the line of the warning",
        })
    }
}

fn span(comment: &Comment<'_>) -> Span {
    let Comment { text, start, .. } = *comment;
    let end = Position::new(start.line as usize, start.column as usize + text.chars().count());
    Span { start, end }
}

/// Returns whether a waiver concerns a line of the prerequisites, where findings about other documents are.
fn is_at_prerequisites(tree: &Syntax<'_>, lines: &Lines, comment: &Comment<'_>) -> bool {
    let path = [PathStep::Key("content"), PathStep::Key("prerequisites")];
    let Some(root) = &tree.root else { return false };
    let Located { key, value } = root.locate(&path);
    let start = key.map_or(value.start, |key| key.start);
    let (_, spans) = lines.below(comment);
    spans.iter().any(|span| span.start < value.end && start < span.end)
}

/// What each line of a document begins, for any number of waivers. Lines count from 1.
struct Lines {
    /// The first line from each one on that is not a comment, unless it is blank.
    next: Vec<Option<u32>>,
    /// The spans of the outermost entries and items that begin on a line.
    spans: BTreeMap<u32, Vec<Span>>,
}

impl Lines {
    fn of(tree: &Syntax<'_>) -> Self {
        let mut next = Vec::new();
        let mut below = None;
        let lines: Vec<(u32, &str)> = (1..).zip(tree.text.lines()).collect();
        for (at, line) in lines.into_iter().rev() {
            let line = line.trim_start();
            if !line.starts_with('#') {
                below = (!line.is_empty()).then_some(at);
            }
            next.push(below);
        }
        next.reverse();
        let mut spans: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
        let mut open: Vec<(u32, &Node)> = tree.root.iter().map(|root| (0, root)).collect();
        while let Some((line, node)) = open.pop() {
            let inner: Vec<(Position, &Node)> = match &node.kind {
                NodeKind::Mapping(entries) => {
                    entries.iter().map(|(key, value)| (key.span.start, value)).collect()
                }
                NodeKind::Sequence(items) => items.iter().map(|item| (item.span.start, item)).collect(),
                NodeKind::Refused | NodeKind::Scalar(..) => Vec::new(),
            };
            for (start, value) in inner {
                if start.line != line {
                    spans.entry(start.line).or_default().push(Span { start, end: value.span.end });
                }
                open.push((start.line, value));
            }
        }
        Self { next, spans }
    }

    /// Returns the line that a comment is about, and the spans of what begins there.
    fn below(&self, comment: &Comment<'_>) -> (Option<u32>, &[Span]) {
        let line = usize::try_from(comment.start.line).ok().and_then(|at| *self.next.get(at)?);
        let spans = line.and_then(|line| self.spans.get(&line));
        (line, spans.map_or(&[], Vec::as_slice))
    }
}
