//! Formats the results of a pass for `apply`.
//!
//! Text has one line per change, printed when the change ends. The other formats are printed at the end. Every format
//! includes an error that ended the pass after it had sent requests.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::cli::failure::JsonError;
use crate::model::{
    Color, HoldKind, JunitKind, JunitProblem, ServiceKind, ToggleId, chain, counted, escaped,
};
use crate::pass::{ChangeResult, Report};
use crate::plan::{self, Change, PlanJson, StateEdit};
use crate::report::{self, JunitHolds, Links, PlanView, code};

/// Formats changes with their results, one after the other. A reason that several share is printed with the first.
#[derive(Debug, Default)]
pub(crate) struct ResultLines {
    /// The first change with each reason.
    reasons: BTreeMap<String, ToggleId>,
}

impl ResultLines {
    /// Returns the lines about the next change.
    pub(crate) fn next(&mut self, change: &Change, result: &ChangeResult) -> String {
        let word = result.as_str().replace('_', " ");
        let (id, action) = (&change.id, change.action.as_str());
        let mut text = format!("{word} {id} ({action})");
        if let Some(attribution) = change.known_attribution() {
            let _ = write!(text, " {}", escaped(&attribution.label()));
        }
        text.push('\n');
        if let Some(reason) = result.reason() {
            let _ = match self.reasons.get(reason) {
                Some(first) => writeln!(text, "  for the same reason as {first}"),
                None => writeln!(text, "  {}", escaped(reason)),
            };
            let first = self.reasons.entry(reason.to_owned());
            first.or_insert_with(|| id.clone());
        }
        text
    }
}

/// Returns the text after the lines about the changes: holds, findings and totals. If no change was tried, returns the
/// whole plan.
pub(super) fn rest(report: &Report, kind: ServiceKind, color: Color) -> String {
    let mut text = match (report.results.is_empty(), report.plan.stopped()) {
        (true, None) => report::text(&report.plan, color),
        (true, Some(stopped)) => format!("{}{stopped}\n", report::text(&report.plan, color)),
        (false, _) => report::rest(&report.plan, color),
    };
    let total = total(report, kind);
    if !text.is_empty() && !total.is_empty() {
        text.push('\n');
    }
    text + &total
}

/// Returns the totals in one line.
pub(super) fn one_line(report: &Report) -> String {
    let counts = report.plan.counts();
    let mut parts = match report.lines().count() {
        0 => vec!["nothing to publish".to_owned()],
        changes => vec![format!("applied {} of {}", report.applied(), counted(changes, "change"))],
    };
    if counts.held > 0 {
        parts.push(format!("{} held", counts.held));
    }
    if counts.invalid > 0 {
        parts.push(counted(counts.invalid, "invalid document"));
    }
    parts.join(" · ")
}

fn total(report: &Report, kind: ServiceKind) -> String {
    let mut text = String::new();
    let converged = report.count(|result| *result == ChangeResult::Converged);
    let recorded = report.plan.state_edits().len() + converged;
    if recorded > 0 && report.plan.stopped().is_none() && report.error.is_none() {
        let toggles = counted(recorded, "toggle");
        let _ = writeln!(text, "recorded without publishing: {toggles}");
        let is_adopted = |edit: &StateEdit| matches!(edit, StateEdit::Adopt(_));
        if report.plan.state_edits().iter().any(is_adopted) {
            let comparing = match kind {
                ServiceKind::Documented => "--service-kind featureprobe",
                ServiceKind::FeatureProbe => "--on-drift hold",
            };
            let _ = writeln!(
                text,
                "the adopted documents were not compared with the service (`{comparing}` does that)"
            );
        }
    }
    let changes = report.lines().count() - converged;
    if changes > 0 {
        let _ = write!(text, "applied {} of {}", report.applied(), counted(changes, "change"));
        let held = report.count(ChangeResult::is_held);
        if held > 0 {
            let _ = write!(text, ", {held} held");
        }
        text.push('\n');
    }
    text
}

/// Formats the results as Markdown of at most `limit` bytes, unapplied changes first, then the plan.
pub(super) fn markdown(report: &Report, kind: ServiceKind, limit: usize, links: Option<&Links>) -> String {
    const MOST: usize = 200;
    let view = PlanView { notes: &report.notes, links, ..PlanView::of(&report.plan) };
    let total = total(report, kind);
    if total.is_empty() {
        return report::markdown(view, limit);
    }
    let mut text = format!("### gitoggle apply\n\n{total}\n");
    if let Some(error) = &report.error {
        let _ = writeln!(text, "**error**: {}\n", code(&chain(error.as_ref())));
    }
    let is_applied = |line: &(&Change, &ChangeResult)| matches!(line.1, ChangeResult::Applied);
    let others = report.lines().filter(|line| !is_applied(line));
    let lines = others.chain(report.lines().filter(is_applied));
    let mut shown = 0;
    for (change, result) in lines.take(MOST) {
        let word = result.as_str().replace('_', " ");
        let commit = change.attribution.commit().map(|commit| commit.id.short());
        let (toggle, commit) = (code(change.id.as_str()), code(&commit.unwrap_or_default()));
        let action = change.action.as_str();
        let mut line = format!("* **{word}** {toggle} ({action}) {commit}");
        if let Some(reason) = result.reason() {
            let _ = write!(line, ": {}", code(reason));
        }
        // The plan needs room, too.
        if text.len() + line.len() > limit / 2 {
            break;
        }
        let _ = writeln!(text, "{line}");
        shown += 1;
    }
    let more = report.lines().count() - shown;
    if more > 0 {
        let more = counted(more, "more change");
        let _ = writeln!(text, "\n{more} omitted; `-o json` lists every change.");
    }
    text.push('\n');
    let plan = report::markdown(view, limit.saturating_sub(text.len()));
    text + &plan
}

/// Formats the results as JUnit XML: one test per change, which fails if the change was not applied. `held` is the kind of
/// a test whose change is held.
pub(super) fn junit(report: &Report, held: JunitKind) -> String {
    let problem = |kind, text: &str| Some(JunitProblem::new(kind, &escaped(text).to_string()));
    let of = |result: &ChangeResult| {
        let reason = result.reason().unwrap_or_default();
        match result {
            ChangeResult::Applied | ChangeResult::Converged => None,
            ChangeResult::Held(_) if result.is_held() => problem(held, reason),
            ChangeResult::Held(_) => problem(JunitKind::Failure, reason),
            ChangeResult::NotSent => problem(JunitKind::Error, "the pass ended before it was sent"),
        }
    };
    let lines = report.lines().map(|(change, result)| (change, of(result)));
    // A plan that was not approved has changes without results.
    let left = report.plan.changes().iter().skip(report.results.len());
    let stopped = report.plan.stopped().map(|stopped| stopped.to_string());
    let left = left.map(|change| {
        let why = stopped.as_deref().unwrap_or("nothing was sent");
        (change, problem(JunitKind::Skipped, why))
    });
    let error = report.error.as_ref().map(|error| chain(error.as_ref()));
    let error = error.or_else(|| report.stopped.as_ref().map(ToString::to_string));
    let error = error.map(|error| escaped(&error).to_string());
    let holds = JunitHolds { first_pass: held, other: held };
    report::junit_results(&report.plan, lines.chain(left), holds, error.as_deref(), &report.notes)
}

/// The plan as JSON, with the result of each change.
#[derive(Serialize)]
pub(super) struct ReportJson<'a> {
    #[serde(flatten)]
    plan: PlanJson<'a>,
    results: Vec<ResultLine<'a>>,
    stopped: Option<String>,
    error: Option<JsonError>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct ResultLine<'a> {
    toggle: &'a ToggleId,
    result: &'static str,
    /// The kind of reason of a held change.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<HoldKind>,
    reason: Option<&'a str>,
}

impl<'a> ReportJson<'a> {
    pub(super) fn of(report: &'a Report) -> Self {
        let results = report.lines().map(|(change, result)| ResultLine {
            toggle: &change.id,
            result: result.as_str(),
            kind: result.hold().filter(|_| result.is_held()).and_then(|hold| hold.kind),
            reason: result.reason(),
        });
        Self {
            plan: plan::json(&report.plan),
            results: results.collect(),
            stopped: report.stopped.as_ref().map(ToString::to_string),
            error: report.error.as_deref().map(|error| JsonError::new(error, error.hint())),
            notes: &report.notes,
        }
    }
}
