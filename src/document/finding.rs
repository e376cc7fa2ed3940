//! A finding on its way to becoming a diagnostic: a check, a spot and words.

use super::Severity;
use super::check::Check;
use super::node::{Span, Step};
use crate::model::escaped;

/// Something found in one file.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) check: &'static Check,
    pub(super) spot: Spot,
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// A second place that belongs to it, and what is there.
    pub(super) related: Option<(Spot, &'static str)>,
}

/// Where something was found.
#[derive(Clone, Debug)]
pub(super) enum Spot {
    /// At the value that this path leads to, or at its key.
    Path(Vec<Step>, Part),
    /// Here.
    Span(Span),
    /// The file as a whole.
    WholeFile,
}

/// Which part of an entry is meant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    Key,
    Value,
}

/// A path that costs nothing until it is needed.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) parent: Option<&'a At<'a>>,
    pub(super) step: Step,
}

impl At<'_> {
    pub(super) fn key(&self, name: &'static str) -> At<'_> {
        At {
            parent: Some(self),
            step: Step::Key(name),
        }
    }

    pub(super) fn item(&self, index: usize) -> At<'_> {
        At {
            parent: Some(self),
            step: Step::Item(index),
        }
    }

    pub(super) fn spot(&self, part: Part) -> Spot {
        let mut steps = vec![self.step];
        let mut parent = self.parent;
        while let Some(at) = parent {
            steps.push(at.step);
            parent = at.parent;
        }
        steps.reverse();
        Spot::Path(steps, part)
    }
}

impl Finding {
    pub(super) fn new(check: &'static Check, spot: Spot, message: impl Into<String>) -> Self {
        Self {
            check,
            spot,
            message: message.into(),
            help: None,
            related: None,
        }
    }

    pub(super) fn at(check: &'static Check, span: Span, message: impl Into<String>) -> Self {
        Self::new(check, Spot::Span(span), message)
    }

    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    pub(super) fn maybe_help(self, help: Option<String>) -> Self {
        Self { help, ..self }
    }

    pub(super) fn related(self, spot: Spot, label: &'static str) -> Self {
        Self {
            related: Some((spot, label)),
            ..self
        }
    }
}

/// The most findings kept of one file: a hostile megabyte could have hundreds of thousands.
pub(super) const MOST_KEPT: usize = 200;

/// Adds a finding, unless there are enough; the first error is always kept.
pub(super) fn add(findings: &mut Vec<Finding>, finding: Finding) {
    let is_error = |finding: &Finding| finding.check.severity == Severity::Error;
    if findings.len() < MOST_KEPT || (is_error(&finding) && !findings.iter().rev().any(is_error)) {
        findings.push(finding);
    }
}

/// Shows a text from a file within a sentence: harmless, and short.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        None => escaped(text).to_string(),
        Some((end, _)) => format!("{}…", escaped(&text[..end])),
    }
}

/// Returns the candidate that `text` was probably meant to be.
pub(super) fn suggestion<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer than any name worth a suggestion; the comparison is quadratic.
    const LONGEST: usize = 64;
    if text.chars().nth(LONGEST).is_some() {
        return None;
    }
    let folded = text.to_lowercase();
    candidates
        .into_iter()
        .take(100)
        .filter(|candidate| !candidate.is_empty() && candidate.len() <= 4 * LONGEST)
        .map(|candidate| {
            let lower = candidate.to_lowercase();
            let distance = strsim::damerau_levenshtein(&folded, &lower);
            (distance, other_letters(&folded, &lower), candidate)
        })
        .filter(|(distance, _, candidate)| *distance <= (candidate.chars().count() / 3).max(1))
        .min_by_key(|(distance, other_letters, _)| (*distance, *other_letters))
        .map(|(_, _, candidate)| candidate)
}

/// Returns how many letters only one of the two has: of several candidates at one distance, `=>` means the one with
/// the same letters (`>=`), and `==` the one that lacks a letter (`=`).
fn other_letters(a: &str, b: &str) -> usize {
    let mut left: Vec<char> = b.chars().collect();
    let mut missing = 0;
    for letter in a.chars() {
        match left.iter().position(|other| *other == letter) {
            Some(at) => drop(left.swap_remove(at)),
            None => missing += 1,
        }
    }
    missing + left.len()
}

/// Words a suggestion as a question.
pub(super) fn did_you_mean<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    suggestion(text, candidates).map(|candidate| format!("did you mean `{}`?", shown(candidate)))
}
