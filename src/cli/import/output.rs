//! Formats the result of an import. Every format has the counts and each toggle that needs attention.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::cli::failure::JsonError;
use crate::import::{ImportReport, ImportResult, SkipReason};
use crate::model::{ToggleId, escaped};
use crate::plan::render::{code, fitting};

/// Returns one line per toggle that needs attention, and the counts.
pub(in crate::cli) fn text(report: &ImportReport) -> String {
    let mut text = String::new();
    for (name, result) in notable(report) {
        let _ = writeln!(text, "{} {}{}", result.as_str(), escaped(name), details(result));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text + &counts(report) + "\n"
}

/// Formats the result as Markdown of at most `limit` bytes.
pub(super) fn markdown(report: &ImportReport, limit: usize) -> String {
    let end = if notable(report).next().is_some() {
        "\n"
    } else {
        ""
    };
    let head = format!("### gitoggle import\n\n{}\n{end}", counts(report));
    let rows = notable(report).map(|(name, result)| {
        let mut row = format!("* **{}** {}", result.as_str(), code(name));
        for part in [result.path(), result.reason()].into_iter().flatten() {
            let _ = write!(row, ": {}", code(part));
        }
        row + "\n"
    });
    fitting([head].into_iter().chain(rows), limit)
}

/// Returns the results that the counts do not explain.
fn notable(report: &ImportReport) -> impl Iterator<Item = (&String, &ImportResult)> {
    report.results.iter().filter(|(_, result)| match result {
        ImportResult::Written { .. } => false,
        ImportResult::Unchanged { spelling, .. } => spelling.is_some(),
        _ => true,
    })
}

fn details(result: &ImportResult) -> String {
    let mut text = String::new();
    if let ImportResult::Skipped(reason, _) = result {
        let _ = write!(text, " ({})", reason.label());
    }
    if let Some(reason) = result.reason() {
        let _ = write!(text, ": {}", escaped(reason));
    }
    if let Some(path) = result.path() {
        let _ = write!(text, " ({})", escaped(path));
    }
    if let Some(spelling) = result.spelling() {
        let _ = write!(text, "\n  the document spells it `{spelling}`: rename its file");
    }
    text
}

fn counts(report: &ImportReport) -> String {
    let Counts {
        written,
        replaced,
        unchanged,
        different,
        skipped,
        failed,
    } = Counts::of(report);
    let mut text = format!("{written} written, {unchanged} unchanged, {different} different");
    if replaced > 0 {
        let _ = write!(text, ", {replaced} replaced");
    }
    if skipped > 0 {
        let reasons = SkipReason::ALL.into_iter().filter_map(|reason| {
            let count =
                report.count(|result| matches!(result, ImportResult::Skipped(other, _) if *other == reason));
            (count > 0).then(|| format!("{}: {count}", reason.label()))
        });
        let reasons: Vec<String> = reasons.collect();
        let _ = write!(text, ", {skipped} skipped ({})", reasons.join(", "));
    }
    if failed > 0 {
        let _ = write!(text, ", {failed} failed");
    }
    text
}

/// The result of an import as JSON.
#[derive(Serialize)]
pub(super) struct ImportJson<'a> {
    version: u32,
    summary: Counts,
    skipped: BTreeMap<&'static str, usize>,
    toggles: Vec<ToggleLine<'a>>,
    error: Option<JsonError>,
}

#[derive(Serialize)]
struct Counts {
    written: usize,
    replaced: usize,
    unchanged: usize,
    different: usize,
    skipped: usize,
    failed: usize,
}

impl Counts {
    fn of(report: &ImportReport) -> Self {
        let count = |word: &str| report.count(|result| result.as_str() == word);
        Self {
            written: count("written"),
            replaced: count("replaced"),
            unchanged: count("unchanged"),
            different: count("different"),
            skipped: count("skipped"),
            failed: count("failed"),
        }
    }
}

/// One toggle, unless its document is unchanged.
#[derive(Serialize)]
struct ToggleLine<'a> {
    toggle: &'a str,
    result: &'static str,
    skipped: Option<SkipReason>,
    path: Option<&'a str>,
    reason: Option<&'a str>,
    spelling: Option<&'a ToggleId>,
}

impl<'a> ImportJson<'a> {
    pub(super) fn of(report: &'a ImportReport, error: Option<JsonError>) -> Self {
        let mut skipped = BTreeMap::new();
        let mut toggles = Vec::new();
        for (name, result) in &report.results {
            let reason = match result {
                ImportResult::Skipped(reason, _) => Some(*reason),
                _ => None,
            };
            if let Some(reason) = reason {
                *skipped.entry(reason.as_str()).or_default() += 1;
            }
            if matches!(result, ImportResult::Unchanged { spelling: None, .. }) {
                continue;
            }
            toggles.push(ToggleLine {
                toggle: name,
                result: result.as_str(),
                skipped: reason,
                path: result.path(),
                reason: result.reason(),
                spelling: result.spelling(),
            });
        }
        Self {
            version: 1,
            summary: Counts::of(report),
            skipped,
            toggles,
            error,
        }
    }
}
