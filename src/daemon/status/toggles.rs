//! Computes the status of every toggle, before and after a pass.

use std::collections::{BTreeMap, BTreeSet};

use super::{DocumentPaths, ToggleStatus};
use crate::document::Severity;
use crate::model::{Action, Scope, ToggleId, ToggleState, WithheldKind, escaped};
use crate::pass::{ChangeResult, Error, Report, Rules, applied_tree};
use crate::plan::{Change, Plan, WithheldReason};
use crate::state::{HeldRequest, Refusal, Revisions, StateSnapshot, Tried};

type Lines = BTreeMap<ToggleId, Line>;

#[derive(Clone, Debug)]
struct Line {
    state: ToggleState,
    reason: Option<String>,
    kind: Option<WithheldKind>,
    live_version: Option<u64>,
}

impl Line {
    fn new(state: ToggleState, reason: Option<String>) -> Self {
        Self {
            state,
            reason,
            kind: None,
            live_version: None,
        }
    }

    fn withheld(state: ToggleState, reason: String, kind: WithheldKind) -> Self {
        Self {
            state,
            reason: Some(reason),
            kind: Some(kind),
            live_version: None,
        }
    }
}

/// Returns the status of every toggle by a plan that was not carried out.
///
/// # Errors
/// If the state cannot be read.
pub(super) fn before(plan: &Plan, view: &StateSnapshot, scope: &Scope) -> Result<Vec<ToggleStatus>, Error> {
    let mut lines = planned(plan);
    for held in plan.withheld() {
        let refusal = view.failures().refusals.get(&held.id);
        let is_same = |refusal: &&Refusal| {
            held.change
                .as_ref()
                .is_none_or(|change| change.request() == refusal.request)
        };
        let refusal = refusal.filter(is_same);
        if let (
            Some(refusal),
            Some(Line {
                reason: Some(reason), ..
            }),
        ) = (refusal, lines.get_mut(&held.id))
        {
            *reason = format!("the service refused it last: {}; {reason}", refusal.reason);
        }
    }
    for change in plan.changes() {
        let line = match view.failures().refusals.get(&change.id) {
            // A refusal of another request does not concern this change (DESIGN, section 6).
            Some(refusal) if refusal.request == change.request() => Line::withheld(
                ToggleState::Failed,
                format!("refused by the service: {}", refusal.reason),
                WithheldKind::Refused,
            ),
            _ => held(change, plan, view).unwrap_or_else(|| unconfirmed(change, view)),
        };
        lines.insert(change.id.clone(), line);
    }
    complete(lines, view, &mut Revisions::default(), scope)
}

/// Describes a change that the last pass held because of the live state, unless it may overwrite that state now.
fn held(change: &Change, plan: &Plan, view: &StateSnapshot) -> Option<Line> {
    let HeldRequest {
        request,
        state,
        kind,
        reason,
    } = view.failures().holds.get(&change.id)?;
    let is_drift = matches!(kind, WithheldKind::DiffersFromLive | WithheldKind::Drifted);
    let is_allowed = change.overwrite.is_allowed() || plan.overrides().may_overwrite(&change.id);
    let is_same = *request == change.request() && !(is_drift && is_allowed);
    is_same.then(|| Line::withheld(*state, reason.clone(), *kind))
}

/// Describes a change that is to be sent, with the response to its last attempt. A change that failed alone is failed. A
/// change that was tried in a pass in which nothing was applied is pending.
fn unconfirmed(change: &Change, view: &StateSnapshot) -> Line {
    let tried = view.failures().tries.get(&change.id);
    let tried = tried.filter(|tried| tried.request == change.request());
    let pending = match view.unknown().contains_key(&change.id) {
        true => "the outcome of the last publish is unknown".to_owned(),
        false => format!("{} is due", change.action.as_str()),
    };
    match tried {
        Some(Tried {
            reason,
            alone: Some(_),
            ..
        }) => {
            let reason = WithheldReason::FailedAlone(reason.clone()).to_string();
            Line::withheld(ToggleState::Failed, reason, WithheldKind::FailedAlone)
        }
        Some(Tried { reason, .. }) => Line::new(
            ToggleState::Pending,
            Some(format!("{pending}; the last try: {reason}")),
        ),
        None => Line::new(ToggleState::Pending, Some(pending)),
    }
}

/// Returns the status of every toggle after a pass. `revisions` is kept from one pass to the next.
///
/// # Errors
/// If the state cannot be read.
pub(crate) fn after(
    report: &Report,
    view: &StateSnapshot,
    revisions: &mut Revisions,
    rules: &Rules,
) -> Result<Vec<ToggleStatus>, Error> {
    let mut lines = planned(&report.plan);
    name_findings(&mut lines, &report.plan, rules);
    for (change, result) in report.lines() {
        let line = match result {
            ChangeResult::Applied | ChangeResult::Converged => Line::new(ToggleState::InSync, None),
            ChangeResult::Held(hold) => Line {
                live_version: hold.live_version(),
                ..Line::withheld(hold.state(), hold.to_string(), hold.kind())
            },
            ChangeResult::Failed { reason } => {
                Line::withheld(ToggleState::Failed, reason.clone(), WithheldKind::Refused)
            }
            ChangeResult::FailedAlone { reason } => {
                Line::withheld(ToggleState::Failed, reason.clone(), WithheldKind::FailedAlone)
            }
            ChangeResult::NotSent => Line::new(
                ToggleState::Pending,
                Some("the pass ended before it was sent".to_owned()),
            ),
            ChangeResult::Pending { reason } => Line::new(ToggleState::Pending, Some(reason.clone())),
        };
        lines.insert(change.id.clone(), line);
    }
    complete(lines, view, revisions, &rules.policy.scope)
}

/// Adds the first error of each invalid document to its reason, with file, line and column.
fn name_findings(lines: &mut Lines, plan: &Plan, rules: &Rules) {
    let paths = DocumentPaths {
        root: rules.root.clone(),
        layout: rules.layout.clone(),
    };
    let errors = plan
        .findings()
        .iter()
        .filter(|finding| finding.severity == Severity::Error);
    let mut named = BTreeSet::new();
    for finding in errors {
        let Some(toggle) = paths.toggle(&finding.path) else {
            continue;
        };
        if let Some(Line {
            kind: Some(WithheldKind::Invalid),
            reason: Some(reason),
            ..
        }) = lines.get_mut(&toggle)
            && named.insert(toggle)
        {
            *reason = format!(
                "{}: {}; {reason}",
                escaped(&finding.place()),
                escaped(&finding.message)
            );
        }
    }
}

fn planned(plan: &Plan) -> Lines {
    let mut lines = Lines::new();
    for orphan in plan.orphans() {
        lines.insert(
            orphan.id.clone(),
            Line::new(ToggleState::Orphan, Some(orphan.explanation())),
        );
    }
    for held in plan.withheld().iter().chain(plan.undecided()) {
        let line = Line {
            state: held.reason.state(),
            reason: Some(held.reason.to_string()),
            kind: Some(held.reason.kind()),
            live_version: held.reason.live_version(),
        };
        lines.insert(held.id.clone(), line);
    }
    lines
}

/// Adds the toggles that are in sync, and the revisions. A change that the service confirmed counts as applied, recorded
/// or not.
fn complete(
    mut lines: Lines,
    view: &StateSnapshot,
    revisions: &mut Revisions,
    scope: &Scope,
) -> Result<Vec<ToggleStatus>, Error> {
    let documents = applied_tree(view, view.reader()?.as_ref())?;
    let mut applied: BTreeSet<ToggleId> = documents.keys().cloned().collect();
    // Before the confirmed changes are added, because no commit has recorded their revisions yet.
    revisions.update(view, &applied)?;
    for (id, sent) in view.settled() {
        match sent.action {
            Action::Adopt | Action::Create | Action::Update => applied.insert(id.clone()),
            Action::Disable => applied.remove(id),
        };
    }
    for id in applied.iter().filter(|id| scope.contains(id)) {
        let in_sync = || Line::new(ToggleState::InSync, None);
        lines.entry(id.clone()).or_insert_with(in_sync);
    }
    let status = |(toggle, line)| {
        let Line {
            state,
            reason,
            kind,
            live_version,
        } = line;
        let is_applied = applied.contains(&toggle);
        let settled = view.settled().get(&toggle).filter(|_| is_applied);
        let recorded = revisions.get(&toggle).filter(|_| is_applied && settled.is_none());
        ToggleStatus {
            revision: settled
                .map(|sent| sent.revision)
                .or(recorded.map(|applied| applied.revision)),
            applied_at: recorded.map(|applied| applied.at),
            format: documents.get(&toggle).map(|(_, format)| *format),
            toggle,
            state,
            reason,
            kind,
            live_version,
        }
    };
    Ok(lines.into_iter().map(status).collect())
}
