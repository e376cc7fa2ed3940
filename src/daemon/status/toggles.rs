//! Computes the status of every toggle, before and after a pass, and with what scans for drift have found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::daemon::status::{ScanFailure, ScanFailureExtent, SourceStatus, Status, ToggleStatus};
use crate::document::{Layout, PathKind, Severity};
use crate::drift::plan_live;
use crate::model::{Action, Format, HeldRequest, Hold, HoldKind, Scope, ToggleId, ToggleState, escaped};
use crate::pass::planning::{self, Planned};
use crate::pass::{ChangeResult, Config, Error, Files, PassContext, Report, Rules, applied_tree};
use crate::plan::{Change, LiveDifferences, Plan};
use crate::state::{Revisions, StateSnapshot};

/// Why toggles are not in sync; none if a toggle is.
type Lines = BTreeMap<ToggleId, Option<Arc<Hold>>>;

/// Returns the status of every toggle by a plan that was not carried out.
pub(super) fn before(plan: &Plan, view: &StateSnapshot, rules: &Rules) -> Result<Vec<ToggleStatus>, Error> {
    let mut lines = planned(plan);
    name_findings(&mut lines, plan, rules);
    let tries = &view.failures().tries;
    for held in plan.withheld() {
        let is_same = |tried: &&HeldRequest| {
            held.change.as_ref().is_none_or(|change| change.request() == tried.request)
        };
        let Some(tried) = tries.get(&held.id.folded()).filter(is_same) else { continue };
        let was_sent = matches!(tried.hold.state, ToggleState::Failed | ToggleState::Pending);
        let is_first_pass = held.hold.kind.is_some_and(HoldKind::is_first_pass);
        if tried.hold.is_refused() || (was_sent && is_first_pass) {
            prefix(&mut lines, &held.id, &tried.hold.fact);
        }
        // A run decided on the first pass, and `apply` has counted what came of it.
        if was_sent
            && is_first_pass
            && let Some(Some(hold)) = lines.get_mut(&held.id)
        {
            Arc::make_mut(hold).state = tried.hold.state;
        }
    }
    for change in plan.changes() {
        let hold = tries.get(&change.id.folded()).and_then(|before| plan.held_before(change, before));
        let hold = hold.unwrap_or_else(|| due(change, view));
        lines.insert(change.id.clone(), Some(Arc::new(hold)));
    }
    complete(lines, view, &mut Revisions::default(), &rules.policy.scope)
}

/// Describes a change that is to be sent, with the response to its last attempt.
fn due(change: &Change, view: &StateSnapshot) -> Hold {
    let pending = if view.unknown().contains_key(&change.id) {
        "the outcome of the last publish is unknown".to_owned()
    } else {
        format!("{} is due", change.action.as_str())
    };
    let tried = view.failures().tries.get(&change.id.folded());
    let tried = tried.filter(|tried| tried.hold.kind.is_none() && tried.request == change.request());
    let last = tried.map(|tried| format!("; the last try: {}", tried.hold.fact));
    Hold::undecided(ToggleState::Pending, pending + &last.unwrap_or_default())
}

/// Returns the status of every toggle after a pass. `revisions` is kept from one pass to the next.
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
        let still_held = report.still_held.get(&change.id).cloned();
        let hold = match result {
            _ if still_held.is_some() => still_held,
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
    let paths = DocumentPaths { root: rules.root.clone(), layout: rules.layout.clone() };
    let errors = plan.findings().iter().filter(|finding| finding.severity == Severity::Error);
    let mut named = BTreeSet::new();
    for finding in errors {
        let Some(toggle) = paths.toggle(&finding.path) else {
            continue;
        };
        let hold = lines.get(&toggle).and_then(Option::as_ref);
        if hold.is_some_and(|hold| hold.is_invalid()) && named.insert(toggle.clone()) {
            let (place, message) = (finding.place(), escaped(&finding.message));
            prefix(lines, &toggle, &format!("{}: {message}", escaped(&place)));
        }
    }
}

/// Puts a fact before the reason of a toggle.
fn prefix(lines: &mut Lines, toggle: &ToggleId, fact: &str) {
    if let Some(Some(hold)) = lines.get_mut(toggle) {
        let hold = Arc::make_mut(hold);
        hold.fact = format!("{fact}; {}", hold.fact);
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

/// Adds the toggles that are in sync, and the revisions. A change that the service confirmed is shown as
/// applied, recorded or not.
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
            revision: settled.map(|sent| sent.revision).or(recorded.map(|applied| applied.revision)),
            applied_at: recorded.map(|applied| applied.at),
            format: documents.get(&toggle).map(|(_, format)| *format),
            toggle,
            hold,
        }
    };
    Ok(lines.into_iter().map(status).collect())
}

/// Why toggles count as drifted.
pub(crate) type DriftFacts = BTreeMap<ToggleId, Hold>;

/// Marks the toggles in sync that have drifted. `shown` are the facts that the toggles show already.
pub(crate) fn show(toggles: &mut [ToggleStatus], shown: &DriftFacts, facts: &DriftFacts) {
    for toggle in toggles {
        // A toggle with a change that drift holds is drifted because of the pass.
        if shown.get(&toggle.toggle) == toggle.hold.as_deref() {
            toggle.hold = None;
        }
        if toggle.hold.is_none() {
            toggle.hold = facts.get(&toggle.toggle).map(|fact| Arc::new(fact.clone()));
        }
    }
}

/// The status and the plan that it follows from.
#[derive(Debug)]
pub struct StatusReport {
    pub planned: Planned,
    /// The status of the source and of every toggle.
    pub status: Status,
}

/// Returns the status of every toggle. Has no side effects, like [`plan`](crate::pass::plan).
pub fn status(config: &Config) -> Result<StatusReport, Error> {
    // State before source, as in a pass.
    let view = planning::view(config)?;
    planning::with_snapshot(&config.source, |snapshot| {
        let planned = planning::plan_read_only(snapshot, &view, &LiveDifferences::new(), config)?;
        let planned = Planned { plan: planned.plan.shown(), ..planned };
        let mut status = of(&planned, &view, config)?;
        status.source.set_head(snapshot.commit());
        Ok(StatusReport { planned, status })
    })
}

/// Returns the status of every toggle with what the service has now. Has no side effects.
pub fn status_live(config: &Config, context: &PassContext) -> Result<StatusReport, Error> {
    let view = planning::view(config)?;
    let planned = plan_live(config, Files::Committed, context)?;
    let mut status = of(&planned, &view, config)?;
    if let Some(drift) = planned.plan.drift() {
        let mut toggles = (*status.toggles).clone();
        show(&mut toggles, &DriftFacts::new(), &drift.facts(config.rules.policy.on_missing));
        status.set_toggles(toggles);
        let failure = |reason| ScanFailure { reason, extent: ScanFailureExtent::Toggles };
        status.drift_failure = drift.failure().map(failure);
    }
    Ok(StatusReport { planned, status })
}

fn of(planned: &Planned, view: &StateSnapshot, config: &Config) -> Result<Status, Error> {
    let (plan, source) = (&planned.plan, planned.plan.source());
    let mut status = Status {
        service: plan.base_url().map(str::to_owned),
        source: SourceStatus {
            repo: config.rules.repo.clone(),
            reference: Some(source.reference.clone()),
            revision: Some(source.revision),
            is_history_cut: plan.is_history_cut(),
            ..SourceStatus::default()
        },
        suspensions: view.suspensions().at(config.clock.unix()),
        ..Status::default()
    };
    status.set_toggles(before(plan, view, &config.rules)?);
    Ok(status)
}

/// Where documents are in the repository.
#[derive(Clone, Debug, Default)]
pub struct DocumentPaths {
    /// The folder of the documents; empty for the top.
    pub root: String,
    /// Their paths in it.
    pub layout: Layout,
}

impl DocumentPaths {
    /// Returns the path of the document that was applied for a toggle; none if nothing is applied.
    pub(crate) fn applied(&self, toggle: &ToggleStatus) -> Option<String> {
        let format = toggle.format?;
        Some(self.below_root(&self.layout.path(&toggle.toggle, format)))
    }

    pub(crate) fn candidates(&self, toggle: &ToggleStatus) -> Vec<String> {
        let path = |format| self.below_root(&self.layout.path(&toggle.toggle, format));
        Format::ALL.into_iter().map(path).collect()
    }

    /// Returns the toggle whose document is at a path in the repository.
    pub(crate) fn toggle(&self, path: &str) -> Option<ToggleId> {
        let below_root = match self.root.trim_matches('/') {
            "" => path,
            root => path.strip_prefix(root)?.strip_prefix('/')?,
        };
        match self.layout.classify(below_root.as_bytes()) {
            PathKind::Document { id, .. } => Some(id),
            _ => None,
        }
    }

    pub(crate) fn below_root(&self, path: &str) -> String {
        match self.root.trim_matches('/') {
            "" => path.to_owned(),
            root => format!("{root}/{path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    mod drift {
        use super::super::*;
        use crate::model::{HoldKind, ToggleState};

        fn facts(toggles: &[&str]) -> DriftFacts {
            let fact = || Hold::over(HoldKind::Drifted, 3, "changed by Eve");
            toggles.iter().map(|id| (id.parse().unwrap(), fact())).collect()
        }

        fn states(toggles: &[ToggleStatus]) -> Vec<&'static str> {
            toggles.iter().map(|toggle| toggle.state().as_str()).collect()
        }

        #[test]
        fn only_toggles_in_sync_become_drifted_and_they_return() {
            let mut toggles = [
                ToggleStatus::in_state("a/b/c", ToggleState::InSync),
                ToggleStatus::in_state("a/b/d", ToggleState::Held),
                ToggleStatus::in_state("a/b/e", ToggleState::Drifted),
                ToggleStatus::in_state("a/b/f", ToggleState::InSync),
            ];
            let before = facts(&["a/b/c", "a/b/d", "a/b/e"]);
            show(&mut toggles, &DriftFacts::new(), &before);
            assert_eq!(states(&toggles), ["drifted", "held", "drifted", "in_sync"]);
            show(&mut toggles, &before, &facts(&["a/b/f"]));
            assert_eq!(states(&toggles), ["in_sync", "held", "drifted", "drifted"]);
            let versions = toggles.each_ref().map(|toggle| toggle.hold.as_ref()?.version);
            assert_eq!(versions, [None, None, None, Some(3)]);
        }
    }

    mod paths {
        use super::super::*;
        use crate::daemon::ToggleState;

        #[test]
        fn the_path_has_the_root_the_layout_and_the_extension_that_was_applied() {
            let paths = DocumentPaths {
                root: "config/".to_owned(),
                layout: "toggles/{environment}/{project}/{toggle}.yaml".parse().unwrap(),
            };
            let mut toggle = ToggleStatus::in_state("shop/prod/pay", ToggleState::Held);
            assert_eq!(paths.applied(&toggle), None);
            toggle.format = Some(Format::Yml);
            assert_eq!(paths.applied(&toggle).as_deref(), Some("config/toggles/prod/shop/pay.yml"));
            for (path, id) in [
                ("config/toggles/prod/shop/pay.yml", Some("shop/prod/pay")),
                ("configtoggles/prod/shop/pay.yml", None),
                ("toggles/prod/shop/pay.yml", None),
                ("config/README.md", None),
            ] {
                assert_eq!(paths.toggle(path).as_ref().map(ToggleId::as_str), id, "{path}");
            }
            assert_eq!(DocumentPaths::default().below_root("a.yaml"), "a.yaml");
        }
    }
}
