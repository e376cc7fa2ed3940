//! Renders a drift report for a terminal.

use std::fmt::Write as _;

use super::{DriftReport, DriftedToggle, Groups, grouped};
use crate::model::{Color, ToggleId, counted, escaped, rfc3339};
use crate::plan::render::{defused, diff, difference, paint};

/// The number of drifted toggles that are shown with a diff.
const IN_FULL: usize = 50;
/// The number of toggles of one list that are shown at all.
const MOST_SHOWN: usize = 500;
/// The number of toggles of one group that are named.
const MOST_NAMED: usize = 20;

/// Returns the report as lines of text.
#[must_use]
pub fn drift_text(report: &DriftReport, color: Color) -> String {
    let mut text = format!("Drift on {} · {}\n", escaped(&report.service), compared(report));
    text.push_str(&body(report, color));
    let _ = writeln!(text, "\n{}\n{}", summary(report), valid(report));
    defused(&text)
}

/// Returns the lists of the report as lines of text.
pub(in crate::plan) fn body(report: &DriftReport, color: Color) -> String {
    let mut text = String::new();
    let lanes = report
        .drifted
        .chunk_by(|a, b| a.applied.id.environment() == b.applied.id.environment());
    let mut shown = 0;
    for lane in lanes {
        if shown >= MOST_SHOWN {
            break;
        }
        let environment = lane[0].applied.id.environment().to_string();
        let _ = writeln!(text, "\n{}", paint(&environment, "1", color));
        for toggle in lane.iter().take(MOST_SHOWN - shown) {
            shown += 1;
            drifted(&mut text, toggle, shown <= IN_FULL, color);
        }
    }
    if report.drifted.len() > shown {
        let more = counted(report.drifted.len() - shown, "more drifted toggle");
        let _ = writeln!(text, "  … and {more}: `-o json` has them all");
    }
    groups(&mut text, report, color);
    text
}

/// Returns what was compared, as a noun phrase.
pub(super) fn compared(report: &DriftReport) -> String {
    format!(
        "{} in {}",
        counted(report.applied, "applied toggle"),
        counted(report.environments.len(), "environment")
    )
}

/// Returns since when the report is valid.
pub(super) fn valid(report: &DriftReport) -> String {
    format!(
        "Changes on the service after {} may be missing.",
        rfc3339(report.as_of)
    )
}

/// Returns the numbers of all lists that are not empty.
pub(super) fn summary(report: &DriftReport) -> String {
    let counts = [
        (report.drifted.len(), "drifted"),
        (report.missing.len(), "missing"),
        (report.unread.len(), "not compared"),
        (report.drafts.len(), "awaiting approval"),
        (report.archived.len(), "archived"),
        (report.undocumented.len(), "without a document"),
        (report.in_sync, "in sync"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<_> = counts.map(|(count, what)| format!("{count} {what}")).collect();
    // What was not compared may have drifted.
    match report.has_drift() || !report.unread.is_empty() {
        true => counts.join(" · "),
        false => format!("no drift: {}", counts.join(" · ")),
    }
}

impl DriftedToggle {
    /// Returns the lines of the diff from what was applied to what is live, if a document can express that.
    pub(in crate::plan) fn diff(&self) -> Vec<String> {
        diff(Some(&self.applied.payload), self.live.content.payload())
    }
}

fn drifted(text: &mut String, toggle: &DriftedToggle, is_full: bool, color: Color) {
    let head = format!("~ drifted {}", toggle.applied.id);
    let _ = writeln!(
        text,
        "  {}  {}",
        paint(&head, "33", color),
        paint(&toggle.live.author(), "2", color)
    );
    if let Some(comment) = toggle.shown_comment() {
        let _ = writeln!(text, "      comment: {}", escaped(comment));
    }
    if is_full {
        difference(text, "      ", (toggle.sentences(), toggle.diff()), color);
    }
}

/// Returns the lists besides that of drifted toggles, with a word for each, by environment and reason.
pub(super) fn others(report: &DriftReport) -> Vec<(&'static str, Groups<'_>)> {
    let missing = report.missing.iter().map(|missing| {
        let rest = match missing.applied {
            Some(_) => "",
            None => "; its document was not applied yet",
        };
        (&missing.id, format!("{}{rest}", missing.lack))
    });
    let unread = report.unread.iter();
    let unread = unread.map(|unread| (&unread.id, escaped(&unread.reason).to_string()));
    let drafts = report.drafts.iter().map(|draft| {
        let by = draft.by.as_ref().map(|by| format!(" by {}", escaped(by)));
        let text = format!("a draft{} awaits approval on the service", by.unwrap_or_default());
        (&draft.id, text)
    });
    let archived = report.archived.iter();
    let archived = archived.map(|id| (id, "SDKs do not get an archived toggle".to_owned()));
    let undocumented = report.undocumented.iter();
    let undocumented = undocumented.map(|id| (id, "on the service without a document".to_owned()));
    vec![
        ("missing", grouped(missing)),
        ("not compared", grouped(unread)),
        ("draft", grouped(drafts)),
        ("archived", grouped(archived)),
        ("no document", grouped(undocumented)),
    ]
}

fn groups(text: &mut String, report: &DriftReport, color: Color) {
    for (word, groups) in others(report) {
        for ((environment, reason), toggles) in groups {
            let subject = match toggles.as_slice() {
                [one] => one.to_string(),
                some => format!("{environment}: {}", counted(some.len(), "toggle")),
            };
            let _ = writeln!(text, "\n{} {subject}\n    {reason}", paint(word, "33", color));
            if toggles.len() > 1 {
                let _ = writeln!(text, "    {}", names(&toggles));
            }
        }
    }
}

/// Returns the keys of the first toggles, and the number of the others.
pub(super) fn names(toggles: &[&ToggleId]) -> String {
    let first: Vec<_> = toggles.iter().take(MOST_NAMED).map(|id| id.toggle()).collect();
    match toggles.len().saturating_sub(MOST_NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
