//! The versioned form for machines.
//!
//! It is written as it is read from the plan, one change after the other: a plan may hold a hundred thousand.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::in_words;
use crate::document::Diagnostic;
use crate::model::{Action, CommitId, Content, EnvironmentId, Payload, ToggleId};
use crate::plan::{self, FETCH_ALL, Held, History, Orphan, Plan};

/// Returns `{version, digest, source, summary, changes, held, orphans, findings}`, to be serialised; unchanged toggles
/// are not listed.
#[must_use]
pub fn json(plan: &Plan) -> Json<'_> {
    let verdict = plan.verdict();
    let source = plan.source();
    Json {
        version: Plan::VERSION,
        digest: plan.digest(),
        source: Source {
            repo: &source.repo,
            reference: &source.reference,
            revision: source.revision,
            shallow: source.history == History::Cut,
            history_note: plan.guesses().map(|guesses| format!("{guesses}; {FETCH_ALL}")),
            base_url: plan.base_url(),
        },
        summary: Summary {
            text: super::summary(plan),
            changes: verdict.changes,
            held: plan.held().len(),
            first_pass: verdict.first_pass,
            orphans: plan.orphans().len(),
            invalid: verdict.invalid,
            failed: verdict.failed,
            records: plan.records().len(),
            guessed: plan.guesses().map_or(0, |guesses| guesses.0),
            held_environments: plan.environment_holds(),
        },
        changes: Each(plan.changes(), Change::of),
        held: Each(plan.held(), HeldToggle::of),
        orphans: Each(plan.orphans(), OrphanToggle::of),
        findings: plan.findings(),
    }
}

/// A plan as JSON. Made by [`json`].
#[derive(Debug, Serialize)]
pub struct Json<'a> {
    version: u32,
    digest: String,
    source: Source<'a>,
    summary: Summary<'a>,
    changes: Each<'a, plan::Change, Change<'a>>,
    held: Each<'a, Held, HeldToggle<'a>>,
    orphans: Each<'a, Orphan, OrphanToggle<'a>>,
    findings: &'a [Diagnostic],
}

#[derive(Debug, Serialize)]
struct Source<'a> {
    repo: &'a str,
    #[serde(rename = "ref")]
    reference: &'a str,
    revision: CommitId,
    shallow: bool,
    /// What a history that is cut means for the comments, where it means anything.
    history_note: Option<String>,
    base_url: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Summary<'a> {
    text: String,
    changes: usize,
    held: usize,
    /// Those of the held ones that wait for a decision about a first pass.
    first_pass: usize,
    orphans: usize,
    invalid: usize,
    failed: usize,
    records: usize,
    guessed: usize,
    held_environments: &'a BTreeMap<EnvironmentId, String>,
}

/// A list whose items are made when they are written.
#[derive(Debug)]
struct Each<'a, T, S>(&'a [T], fn(&'a T) -> S);

impl<T, S: Serialize> Serialize for Each<'_, T, S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        serializer.collect_seq(self.0.iter().map(self.1))
    }
}

#[derive(Debug, Serialize)]
struct Change<'a> {
    toggle: &'a ToggleId,
    action: Action,
    sentences: Vec<String>,
    commit: Option<Commit<'a>>,
    attribution: &'static str,
    comment: &'a str,
    path: &'a str,
    disabled: bool,
    content: Content,
    before: Option<&'a Payload>,
}

#[derive(Debug, Serialize)]
struct Commit<'a> {
    id: CommitId,
    subject: &'a str,
}

impl<'a> Change<'a> {
    fn of(change: &'a plan::Change) -> Self {
        let before = change.before.payload();
        let after = change.payload.targeting();
        Self {
            toggle: &change.id,
            action: change.action,
            sentences: in_words(change, before.map(Payload::targeting).as_ref(), &after),
            commit: change.attribution.commit().map(|commit| Commit {
                id: commit.id,
                subject: commit.subject(),
            }),
            attribution: change.attribution.as_str(),
            comment: &change.comment,
            path: &change.path,
            disabled: after.disabled,
            content: after.content,
            before,
        }
    }
}

#[derive(Debug, Serialize)]
struct HeldToggle<'a> {
    toggle: &'a ToggleId,
    state: &'static str,
    kind: &'static str,
    reason: String,
    change: Option<Change<'a>>,
}

impl<'a> HeldToggle<'a> {
    fn of(held: &'a Held) -> Self {
        Self {
            toggle: &held.id,
            state: held.reason.state().as_str(),
            kind: held.reason.kind().as_str(),
            reason: held.reason.to_string(),
            change: held.change.as_deref().map(Change::of),
        }
    }
}

#[derive(Debug, Serialize)]
struct OrphanToggle<'a> {
    toggle: &'a ToggleId,
    path: &'a str,
    reason: String,
}

impl<'a> OrphanToggle<'a> {
    fn of(orphan: &'a Orphan) -> Self {
        Self {
            toggle: &orphan.id,
            path: &orphan.path,
            reason: orphan.explanation(),
        }
    }
}
