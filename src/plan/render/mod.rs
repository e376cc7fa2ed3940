//! A plan for people and for machines.
//!
//! All foreign text is escaped, and whole outputs are defused once more: a CI system finds commands anywhere in
//! a line or behind white space at its start.

mod json;
mod markdown;
mod text;

pub use json::json;
pub use markdown::{annotations, github, markdown};
pub use text::{rest, text};

use std::collections::BTreeMap;

use super::{Change, Plan, Resend, sentences};
use crate::document::print;
use crate::model::{Action, EnvironmentId, escaped};

/// Returns what a change does, in words.
fn told(change: &Change) -> Vec<String> {
    use super::Before;
    let mut out = Vec::new();
    let before = change
        .before
        .payload()
        .map(super::super::model::Payload::targeting);
    match &change.before {
        Before::Unknown(_) if change.resend == Resend::Same => {
            out.push("sent before with an unknown outcome: the same again".to_owned());
        }
        Before::Unknown(_) => {
            out.push("the outcome of the last publish is unknown; against what was sent:".to_owned());
        }
        Before::Unreadable => out.push("what was applied can no longer be read".to_owned()),
        Before::Applied(_) | Before::Nothing => {}
    }
    out.extend(sentences(before.as_ref(), &change.payload.targeting()));
    out
}

/// Returns the lines of a unified diff, harmless, each with its sign; empty for a create.
fn diff(change: &Change) -> Vec<String> {
    const MOST_BYTES: usize = 256 * 1024;
    const MOST_LINES: usize = 80;
    let Some(before) = change.before.payload() else {
        return Vec::new();
    };
    let (before, after) = (print(&before.targeting()), print(&change.payload.targeting()));
    if before.len() + after.len() > MOST_BYTES {
        return vec![" (too large for a diff)".to_owned()];
    }
    let diff = similar::TextDiff::from_lines(&before, &after);
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

/// Returns held toggles and orphans grouped by environment and reason: reason, how many, the first of them.
fn notes(plan: &Plan) -> BTreeMap<(EnvironmentId, &'static str, String), (usize, String)> {
    let mut notes = BTreeMap::new();
    for (environment, reason) in plan.environment_holds() {
        let key = (environment.clone(), "held", escaped(reason).to_string());
        notes.insert(key, (0, String::new()));
    }
    let held = plan
        .held()
        .iter()
        .map(|held| (&held.id, held.reason.state(), held.reason.to_string()));
    let orphans = plan
        .orphans()
        .iter()
        .map(|orphan| (&orphan.id, "orphan", orphan.reason.to_string()));
    for (id, state, reason) in held.chain(orphans) {
        let note = notes
            .entry((id.environment(), state, reason))
            .or_insert((0, String::new()));
        note.0 += 1;
        if note.0 == 1 {
            note.1 = id.to_string();
        }
    }
    notes
}

/// Returns `1 toggle` with the right plural.
fn count(number: usize, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

/// Returns the one line that says it all.
fn summary(plan: &Plan) -> String {
    let changes = plan.changes();
    let mut kinds = Vec::new();
    for action in [Action::Create, Action::Update, Action::Disable] {
        let number = changes.iter().filter(|change| change.action == action).count();
        if number > 0 {
            kinds.push(count(number, action.as_str()));
        }
    }
    let mut parts = match changes.len() {
        0 => vec!["nothing to publish".to_owned()],
        number => vec![format!("{number} to publish: {}", kinds.join(", "))],
    };
    for state in ["held", "pending", "failed"] {
        let number = plan
            .held()
            .iter()
            .filter(|held| held.reason.state() == state)
            .count();
        if number > 0 {
            parts.push(format!("{number} {state}"));
        }
    }
    if !plan.orphans().is_empty() {
        parts.push(count(plan.orphans().len(), "orphan"));
    }
    if !plan.records().is_empty() {
        parts.push(format!("{} to record without a publish", plan.records().len()));
    }
    parts.join(" · ")
}

/// Takes the force out of what a CI system would read as a command.
fn defused(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("::") {
            out.push('\\');
        }
        out.push_str(&line.replace("##[", "#\\#["));
    }
    out
}
