#![doc = include_str!("README.md")]

mod difference;
mod drift;
mod explanation;
mod findings;
mod history;
mod links;
mod markdown;
mod markup;
mod stale;
mod test_run;
mod text;
mod users;
mod wrap;

pub(crate) use difference::{Preview, findings_in, paint};
pub(crate) use drift::{drift_left, drift_markdown, drift_message, drift_text};
pub(crate) use explanation::{Explanation, Subject, serve_label};
pub(crate) use findings::{
    JunitHolds, annotations, code_quality, failed_annotation, failed_suite, github, junit_documents,
    junit_plan, junit_results, sarif,
};
pub(crate) use history::{history_markdown, history_text};
pub(crate) use links::Links;
pub(crate) use markdown::{ANY_COMMENT, JOB_SUMMARY, PlanView, failed, finding_list, markdown, quoted_notes};
pub(crate) use markup::{code, fitting, spans};
pub(crate) use stale::{stale_json, stale_markdown, stale_text};
pub(crate) use test_run::{
    TestResult, TestRun, Unreached, UnreachedServe, test_json, test_suites, test_text,
};
pub use text::text;
pub(crate) use text::{MOST_SHOWN, rest, text_for};
pub(crate) use users::user_notes;
pub(crate) use wrap::{behind, wrap_at, wrapped};

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{Color, EnvironmentId, Hold, ToggleId, ToggleState, counted};
use crate::plan::compare::join;
use crate::plan::{Change, Plan, WithheldToggle};

/// The toggles of one environment that are held, failed, pending, orphans or missing for one reason.
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

impl Note<'_> {
    /// Names the toggle, or the environment and how many toggles of it are concerned.
    fn subject(&self) -> String {
        match self.toggles.as_slice() {
            [] => self.environment.to_string(),
            [one] => one.to_string(),
            some => format!("{}: {}", self.environment, counted(some.len(), "toggle")),
        }
    }

    fn text(&self, color: Color) -> String {
        let reason = wrapped(&self.reason, 4);
        format!("\n{} {}\n    {reason}\n", paint(self.state, "33", color), self.subject())
    }
}

/// What an output says whose rows are findings, and which is none.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Remark {
    /// The file that it is about, as a path from the root of the repository.
    pub(crate) path: Option<String>,
    pub(crate) text: String,
}

impl From<String> for Remark {
    fn from(text: String) -> Self {
        Self { path: None, text }
    }
}

/// Returns what a plan says besides changes and findings: guessed commits, the notes of the command, what is
/// withheld, orphans, and who needs the toggles that change. `root` is the folder of the documents.
pub(crate) fn remarks(plan: &Plan, of_command: &[String], root: &str) -> Vec<Remark> {
    let withheld = notes(plan).into_iter();
    let withheld = withheld.map(|note| format!("{} {}: {}", note.state, note.subject(), note.reason));
    let of_command = of_command.iter().cloned();
    let of_plan = plan.guess_note().into_iter().chain(of_command).chain(withheld);
    of_plan.map(Remark::from).chain(needed(plan, root)).collect()
}

/// Returns which toggles need those that a plan changes.
fn needed(plan: &Plan, root: &str) -> impl Iterator<Item = Remark> {
    plan.changes().iter().filter_map(move |change| {
        let needed = change.needed_by()?.sentence("it")?;
        let text = format!("{} changes: {needed}", change.id);
        Some(Remark { path: Some(join(root, &change.path)), text })
    })
}

/// Returns which toggles need those whose documents were removed.
fn needed_orphans(plan: &Plan, root: &str) -> impl Iterator<Item = Remark> {
    plan.orphans().iter().filter_map(move |orphan| {
        orphan.needed_by.as_ref()?.sentence("it")?;
        let text = format!("{} {}: {}", ToggleState::Orphan.as_str(), orphan.id, orphan.explanation());
        Some(Remark { path: Some(join(root, &orphan.path)), text })
    })
}

/// Groups withheld toggles and orphans by environment and reason.
fn notes(plan: &Plan) -> Vec<Note<'_>> {
    type Toggles<'a> = Vec<(&'a ToggleId, Option<&'a Change>)>;
    let mut notes: BTreeMap<(EnvironmentId, &'static str, String), Toggles<'_>> = BTreeMap::new();
    // Most toggles share the hold of their environment, of which there may be a hundred thousand.
    let mut last: Option<(&Arc<Hold>, String)> = None;
    let mut reason = |hold| match &last {
        Some((shown, reason)) if Arc::ptr_eq(shown, hold) => reason.clone(),
        _ => last.insert((hold, hold.reason())).1.clone(),
    };
    for (environment, hold) in plan.environment_holds() {
        let key = (environment.clone(), ToggleState::Held.as_str(), reason(hold));
        notes.entry(key).or_default();
    }
    for WithheldToggle { id, hold, change } in plan.withheld() {
        let key = (id.environment(), hold.state.as_str(), reason(hold));
        notes.entry(key).or_default().push((id, change.as_deref()));
    }
    for orphan in plan.orphans() {
        let key = (orphan.id.environment(), ToggleState::Orphan.as_str(), orphan.explanation());
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

/// Defuses lines that begin with `::` after white space, which GitHub and its kin would execute as a command.
fn defused(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("::") {
            out.push('\\');
        }
        out.push_str(line);
    }
    out
}
