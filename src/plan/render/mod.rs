//! Renders a plan as text, Markdown, JSON and workflow commands.
//!
//! All foreign text is escaped. Complete outputs are defused in addition, because a CI system recognizes commands
//! after white space at the start of a line.

mod annotations;
mod fence;
mod fingerprints;
mod gitlab;
mod inline;
mod json;
mod junit;
mod links;
mod markdown;
mod paint;
mod preview;
mod sarif;
mod text;
mod users;

pub use annotations::{annotations, failed_annotation, github};
pub(super) use fence::block;
pub use fence::fitting;
pub use gitlab::{CodeQualityIssue, code_quality};
pub use inline::code;
pub use json::{PlanJson, json, json_for, page_pieces};
pub use junit::{JunitHolds, failed_suite, junit_documents, junit_plan, junit_results};
pub use links::{ForgePages, Links};
pub use markdown::{ANY_COMMENT, JOB_SUMMARY, failed, findings, markdown};
pub(super) use paint::{difference, paint, sign};
pub use preview::{Preview, findings_in};
pub use sarif::sarif;
pub use text::{MOST_SHOWN, rest, text, text_for};

use std::collections::BTreeMap;

use super::{Change, Plan, PublishAttempt, WithheldToggle, sentences};
use crate::document::{Diagnostic, Severity, print};
use crate::model::{
    Action, EnvironmentId, Payload, ServiceKind, Targeting, ToggleId, ToggleState, counted, escaped,
};

/// Returns the sentences about a change.
fn change_sentences(change: &Change) -> Vec<String> {
    let before = change.before.payload().map(Payload::targeting);
    in_words(change, before.as_ref(), &change.payload.targeting())
}

/// Returns the diff of a change, which is empty for a create.
fn change_diff(change: &Change) -> Vec<String> {
    diff(change.before.payload(), Some(&change.payload))
}

/// Describes a change in sentences.
fn in_words(change: &Change, before: Option<&Targeting>, after: &Targeting) -> Vec<String> {
    use super::Before;
    let mut out = Vec::new();
    match &change.before {
        Before::Unknown { sent, .. }
            if sent.announced.is_some() && change.attempt == PublishAttempt::Retry =>
        {
            out.push("announced by another process, which may have sent it".to_owned());
        }
        Before::Unknown { .. } if change.attempt == PublishAttempt::Retry => {
            out.push("sent before with an unknown outcome: retried unchanged".to_owned());
        }
        Before::Unknown { .. } => {
            out.push(
                "the outcome of the last publish is unknown; compared with the last request:".to_owned(),
            );
        }
        Before::Unreadable => out.push("the document that it replaces cannot be read".to_owned()),
        Before::Live(_) => {
            let over = change.overwrites.as_ref().map(|live| format!(" over {live}"));
            let over = over.unwrap_or_default();
            out.push(format!(
                "changed on the service; the document is published again{over}"
            ));
        }
        Before::Applied(_) | Before::Nothing => {}
    }
    if let Some(live) = change
        .overwrites
        .as_ref()
        .filter(|_| !matches!(change.before, Before::Live(_)))
    {
        out.push(format!("publishes over what was changed on the service: {live}"));
    }
    out.extend(sentences(before, after));
    out
}

/// Returns the diff of two documents; empty unless both are known.
pub(super) fn diff(before: Option<&Payload>, after: Option<&Payload>) -> Vec<String> {
    match (before, after) {
        (Some(before), Some(after)) => text_diff(&document_text(before), &document_text(after)),
        _ => Vec::new(),
    }
}

/// Returns the text of a document for readers: the shortest form, whichever the service.
fn document_text(payload: &Payload) -> String {
    print(&payload.targeting(), ServiceKind::FeatureProbe)
}

/// Returns the escaped lines of a unified diff, each with its sign.
#[must_use]
fn text_diff(before: &str, after: &str) -> Vec<String> {
    // A diff can take quadratic time, and a document may have a megabyte.
    const MOST_BYTES: usize = 256 * 1024;
    const MOST_LINES: usize = 80;
    if before.len() + after.len() > MOST_BYTES {
        return vec![" (too large for a diff)".to_owned()];
    }
    let diff = similar::TextDiff::from_lines(before, after);
    let text = diff.unified_diff().context_radius(3).to_string();
    let all: Vec<&str> = text.lines().collect();
    let mut lines: Vec<String> = all
        .iter()
        .take(MOST_LINES)
        .map(|line| escaped(line).to_string())
        .collect();
    if all.len() > MOST_LINES {
        lines.push(format!(" … and {} more lines", all.len() - MOST_LINES));
    }
    lines
}

/// The toggles of one environment that are held, failed, pending or orphans for one reason.
struct Note<'a> {
    environment: EnvironmentId,
    state: &'static str,
    /// One line of escaped text.
    reason: String,
    /// Empty if the note concerns the environment as a whole.
    toggles: Vec<&'a ToggleId>,
    /// The changes that would be published otherwise.
    changes: Vec<&'a Change>,
}

/// Groups withheld toggles and orphans by environment and reason.
fn notes(plan: &Plan) -> Vec<Note<'_>> {
    type Toggles<'a> = Vec<(&'a ToggleId, Option<&'a Change>)>;
    let mut notes: BTreeMap<(EnvironmentId, &'static str, String), Toggles<'_>> = BTreeMap::new();
    for (environment, hold) in plan.environment_holds() {
        let key = (environment.clone(), ToggleState::Held.as_str(), hold.text.clone());
        notes.entry(key).or_default();
    }
    for WithheldToggle { id, hold, change } in plan.withheld() {
        let key = (id.environment(), hold.state.as_str(), hold.text.clone());
        notes.entry(key).or_default().push((id, change.as_deref()));
    }
    for orphan in plan.orphans() {
        let key = (
            orphan.id.environment(),
            ToggleState::Orphan.as_str(),
            orphan.explanation(),
        );
        notes.entry(key).or_default().push((&orphan.id, None));
    }
    let notes = notes.into_iter();
    notes
        .map(|((environment, state, reason), toggles)| Note {
            environment,
            state,
            reason,
            changes: toggles.iter().filter_map(|(_, change)| *change).collect(),
            toggles: toggles.into_iter().map(|(id, _)| id).collect(),
        })
        .collect()
}

/// Returns the counts of a plan in one line.
#[must_use]
pub fn summary(plan: &Plan) -> String {
    let adopted = plan.adoptions();
    let changes = plan.counts().changes;
    let mut kinds = Vec::new();
    for action in [Action::Create, Action::Update, Action::Disable] {
        let number = plan.changes().iter();
        let number = number.filter(|change| change.action == action).count();
        if number > 0 {
            kinds.push(counted(number, action.as_str()));
        }
    }
    let mut parts = match changes {
        0 => vec!["nothing to publish".to_owned()],
        number => vec![format!("{number} to publish: {}", kinds.join(", "))],
    };
    if adopted > 0 {
        parts.push(format!(
            "{adopted} to record if the service has the same targeting"
        ));
    }
    let drift = plan.drift();
    let drifted = drift.map_or(0, |drift| drift.drifted.len() + drift.missing.len());
    for state in [
        ToggleState::Drifted,
        ToggleState::Held,
        ToggleState::Pending,
        ToggleState::Failed,
    ] {
        let number = plan
            .withheld()
            .iter()
            .filter(|withheld| withheld.hold.state == state)
            .count();
        // Those that a change of their documents is withheld for, and the others.
        let number = number + if state == ToggleState::Drifted { drifted } else { 0 };
        if number > 0 {
            parts.push(format!("{number} {}", state.as_str()));
        }
    }
    if !plan.orphans().is_empty() {
        parts.push(counted(plan.orphans().len(), "orphan"));
    }
    if !plan.state_edits().is_empty() {
        parts.push(format!(
            "{} to record without a publish",
            plan.state_edits().len()
        ));
    }
    if !plan.undecided().is_empty() {
        parts.push(format!(
            "{} to record once the first pass is decided",
            plan.undecided().len()
        ));
    }
    if !plan.waived().is_empty() {
        parts.push(format!("{} waived", plan.waived().len()));
    }
    parts.join(" · ")
}

/// Returns the message and the help of a finding on one line.
fn description(finding: &Diagnostic) -> String {
    let help = finding.help.as_ref();
    let help = help.map_or_else(String::new, |help| format!(" ({help})"));
    escaped(&format!("{}{help}", finding.message)).to_string()
}

/// Returns the errors, then the warnings.
fn errors_first(findings: &[Diagnostic]) -> impl Iterator<Item = &Diagnostic> {
    let of = |severity| {
        findings
            .iter()
            .filter(move |finding| finding.severity == severity)
    };
    of(Severity::Error).chain(of(Severity::Warning))
}

/// Defuses lines that begin with `::` after white space, which GitHub and its kin would execute as a command.
pub(super) fn defused(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("::") {
            out.push('\\');
        }
        out.push_str(line);
    }
    out
}
