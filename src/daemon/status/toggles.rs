//! Computes the status of every toggle, before and after a pass.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{DocumentPaths, ToggleStatus};
use crate::document::Severity;
use crate::model::{Action, Hold, HoldKind, Scope, ToggleId, ToggleState, escaped};
use crate::pass::{ChangeResult, Error, Report, Rules, applied_tree};
use crate::plan::{Change, Plan};
use crate::state::{Revisions, StateSnapshot};

/// Why toggles are not in sync; none if a toggle is.
type Lines = BTreeMap<ToggleId, Option<Arc<Hold>>>;

/// Returns the status of every toggle by a plan that was not carried out.
///
/// # Errors
/// If the state cannot be read.
pub(super) fn before(plan: &Plan, view: &StateSnapshot, scope: &Scope) -> Result<Vec<ToggleStatus>, Error> {
    let mut lines = planned(plan);
    let tries = &view.failures().tries;
    for held in plan.withheld() {
        let refused = tries.get(&held.id).filter(|tried| {
            let change = held.change.as_ref();
            tried.hold.kind == Some(HoldKind::Refused)
                && change.is_none_or(|change| change.request() == tried.request)
        });
        if let Some(refused) = refused {
            prefix(
                &mut lines,
                &held.id,
                &format!("the service refused it last: {}", refused.hold.text),
            );
        }
    }
    for change in plan.changes() {
        let hold = tries
            .get(&change.id)
            .and_then(|before| plan.held_before(change, before));
        let hold = hold.unwrap_or_else(|| due(change, view));
        lines.insert(change.id.clone(), Some(Arc::new(hold)));
    }
    complete(lines, view, &mut Revisions::default(), scope)
}

/// Describes a change that is to be sent, with the response to its last attempt.
fn due(change: &Change, view: &StateSnapshot) -> Hold {
    let pending = match view.unknown().contains_key(&change.id) {
        true => "the outcome of the last publish is unknown".to_owned(),
        false => format!("{} is due", change.action.as_str()),
    };
    let tried = view.failures().tries.get(&change.id);
    let tried = tried.filter(|tried| tried.hold.kind.is_none() && tried.request == change.request());
    let last = tried.map(|tried| format!("; the last try: {}", tried.hold.text));
    Hold::undecided(ToggleState::Pending, pending + &last.unwrap_or_default())
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
        let unsent = || Hold::undecided(ToggleState::Pending, "the pass ended before it was sent");
        let hold = match result {
            ChangeResult::Applied | ChangeResult::Converged => None,
            ChangeResult::Held(hold) => Some(Arc::clone(hold)),
            ChangeResult::NotSent => Some(Arc::new(unsent())),
        };
        lines.insert(change.id.clone(), hold);
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
        let hold = lines.get(&toggle).and_then(Option::as_ref);
        if hold.is_some_and(|hold| hold.kind == Some(HoldKind::Invalid)) && named.insert(toggle.clone()) {
            let (place, message) = (finding.place(), escaped(&finding.message));
            prefix(lines, &toggle, &format!("{}: {message}", escaped(&place)));
        }
    }
}

/// Puts a fact before the reason of a toggle.
fn prefix(lines: &mut Lines, toggle: &ToggleId, fact: &str) {
    if let Some(Some(hold)) = lines.get_mut(toggle) {
        let hold = Arc::make_mut(hold);
        hold.text = format!("{fact}; {}", hold.text);
    }
}

fn planned(plan: &Plan) -> Lines {
    let orphans = plan.orphans().iter();
    let orphans = orphans.map(|orphan| {
        let hold = Hold::undecided(ToggleState::Orphan, orphan.explanation());
        (orphan.id.clone(), Some(Arc::new(hold)))
    });
    let withheld = plan.withheld().iter().chain(plan.undecided());
    let withheld = withheld.map(|held| (held.id.clone(), Some(Arc::clone(&held.hold))));
    orphans.chain(withheld).collect()
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
        lines.entry(id.clone()).or_default();
    }
    let status = |(toggle, hold)| {
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
            hold,
        }
    };
    Ok(lines.into_iter().map(status).collect())
}
