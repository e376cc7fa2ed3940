//! Findings before they become diagnostics: a check, a position and a message.

use super::check::{Check, Severity};
use super::help::consequence;
use super::node::{PathStep, Span};
use crate::model::{closest, cut, escaped};

/// A finding in one file.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) check: &'static Check,
    pub(super) spot: Spot,
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// A second position that belongs to the finding, with its label.
    pub(super) related: Option<(Spot, &'static str)>,
}

/// The position of a finding.
#[derive(Clone, Debug)]
pub(super) enum Spot {
    /// The value at this path, or its key.
    Path(Vec<PathStep>, Part),
    Span(Span),
    WholeFile,
}

/// A part of an entry.
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
        Self { check, spot, message: message.into(), help: None, related: None }
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
    escaped(&cut(text, LONGEST + 1)).to_string()
}

/// Returns a suggestion as a question.
pub(super) fn did_you_mean<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(text, candidates).map(|candidate| format!("did you mean `{}`?", shown(candidate)))
}

/// Returns a suggestion unless `findings` is full.
pub(super) fn suggest<'a>(
    findings: &[Finding],
    text: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    // Comparing words is slow, and a hostile file could require it very often.
    (findings.len() < MOST_KEPT).then(|| did_you_mean(text, candidates)).flatten()
}
