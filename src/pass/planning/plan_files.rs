//! Plans the files of a source: compares them with the applied side, decides about each toggle, and attributes the
//! changes. The side is the recorded state or another revision; everything else is the same.

use std::collections::{BTreeMap, BTreeSet};

use super::applied::AppliedSide;
use super::attribution::Attributions;
use super::read::{ReadContext, read};
use super::unfinished::unfinished;
use super::{Files, emptied, source_info};
use crate::model::{Action, EnvironmentId, HeldRequest, ObjectId, Sent, Suspensions, ToggleId, Trees};
use crate::pass::config::{Config, Rules};
use crate::pass::{Error, check_scope};
use crate::plan::compare::{self as trees, AppliedTree, Comparison, Difference, Places, Roots, has_document};
use crate::plan::{
    DecisionContext, Draft, Input, LiveDifference, LiveDifferences, OnDrift, OnMissing, Overrides, Plan,
    Policy, SourceInfo,
};
use crate::source::{self, Reader, Snapshot};

/// The files of a plan. The plan is attributed to the commits of `snapshot` even if the files are not committed.
pub(in crate::pass) struct PlanFiles<'a, F> {
    pub(super) files: Files,
    pub(super) snapshot: &'a Snapshot,
    pub(super) root_tree: ObjectId,
    /// Opens the files, once per thread.
    pub(super) open: F,
}

/// Returns the committed files of a snapshot.
pub(in crate::pass) fn committed(
    snapshot: &Snapshot,
) -> PlanFiles<'_, impl Fn() -> Result<Reader, Error> + Sync> {
    PlanFiles {
        files: Files::Committed,
        snapshot,
        root_tree: snapshot.root_tree(),
        open: || Ok(snapshot.reader()?),
    }
}

/// Compares, decides, and attributes.
pub(super) fn plan_files<S, F>(
    files: &PlanFiles<'_, F>,
    applied: AppliedSide<'_>,
    config: &Config,
    drifted: &LiveDifferences,
) -> Result<Plan, Error>
where
    S: Trees<Error = source::Error>,
    F: Fn() -> Result<S, Error> + Sync,
{
    let compared = compare(files, applied, &config.rules, drifted)?;
    let decided = decide(files, applied, &config.rules, compared)?;
    attribute(
        hold(decided, &BTreeMap::new(), applied, config),
        files,
        applied,
        config,
    )
}

/// The toggles that may have to be published, and what decides about them.
pub(in crate::pass) struct Compared {
    comparison: Comparison,
    overrides: Overrides,
    overwritten: LiveDifferences,
}

/// Compares the files with the applied side by object id.
///
/// # Errors
/// If the files contain no document, or the scope matches nothing.
pub(in crate::pass) fn compare<S, F>(
    files: &PlanFiles<'_, F>,
    applied: AppliedSide<'_>,
    rules: &Rules,
    drifted: &LiveDifferences,
) -> Result<Compared, Error>
where
    S: Trees<Error = source::Error>,
    F: Fn() -> Result<S, Error> + Sync,
{
    let overrides = applied.overrides(files.snapshot.revision());
    let overwritten = overwritten(drifted, &rules.policy, &overrides);
    let comparison = compared(files, applied, rules, &overwritten)?;
    check_source(&comparison, files.snapshot, rules)?;
    Ok(Compared {
        comparison,
        overrides,
        overwritten,
    })
}

/// Holds what is not sent whatever its commit says: suspended and parked changes, those of a first pass, and what a
/// document elsewhere stops.
pub(in crate::pass) fn hold(
    decided: Input,
    parked: &BTreeMap<ToggleId, HeldRequest>,
    applied: AppliedSide<'_>,
    config: &Config,
) -> Draft {
    let input = Input {
        parked: parked.clone(),
        suspensions: applied.suspensions(config.clock.unix()),
        now: applied.base().is_none().then(|| config.clock.unix()),
        ..decided
    };
    Draft::new(input, &config.rules.policy)
}

/// Finds the commits of the changes, whose trailers and reviews decide what the rails hold.
pub(in crate::pass) fn attribute<F>(
    draft: Draft,
    files: &PlanFiles<'_, F>,
    applied: AppliedSide<'_>,
    config: &Config,
) -> Result<Plan, Error> {
    let attributions = Attributions {
        snapshot: files.snapshot,
        files: files.files,
        rules: &config.rules,
        most_undecided: config.most_undecided,
    };
    attributions.complete(draft, |changes| match &config.reviews {
        Some(reviews) if !changes.is_empty() => reviews
            .read(changes, files.snapshot, applied.revision())
            .map(Some),
        _ => Ok(None),
    })
}

/// Returns what the service has of the drifted toggles that may be overwritten.
fn overwritten(drifted: &LiveDifferences, policy: &Policy, overrides: &Overrides) -> LiveDifferences {
    let is_allowed = |id: &ToggleId| policy.on_drift == OnDrift::Overwrite || overrides.may_overwrite(id);
    let may_create =
        |live: &LiveDifference| *live != LiveDifference::Missing || policy.on_missing == OnMissing::Create;
    let allowed = drifted
        .iter()
        .filter(|(id, live)| is_allowed(id) && may_create(live) && policy.scope.contains(id));
    allowed.map(|(id, live)| (id.clone(), live.clone())).collect()
}

/// Reads the differing documents and decides about each toggle.
pub(in crate::pass) fn decide<S, F>(
    files: &PlanFiles<'_, F>,
    applied: AppliedSide<'_>,
    rules: &Rules,
    compared: Compared,
) -> Result<Input, Error>
where
    S: Trees<Error = source::Error>,
    F: Fn() -> Result<S, Error> + Sync,
{
    let Compared {
        comparison,
        overrides,
        overwritten,
    } = compared;
    let environment_holds = emptied::holds(comparison.lost, &comparison.differences, rules, &overrides);
    let unfinished = unfinished(files.snapshot, applied, rules)?;
    let deciding = DecisionContext {
        policy: &rules.policy,
        applied_counts: &comparison.applied_counts,
        asserted: &unfinished,
        overrides: &overrides,
        environment_holds: &environment_holds,
        overwritten: &overwritten,
    };
    let open = || Ok(((files.open)()?, applied.trees()?));
    let unknown = applied.unknown();
    let context = ReadContext {
        kind: rules.kind,
        root: &rules.root,
        scope: &rules.policy.scope,
        on_remove: rules.policy.on_remove,
        layout: &rules.layout,
        unknown: &unknown,
        settled: applied.settled(),
        renamed: &comparison.renamed,
    };
    let (decided, mut findings) = read(comparison.differences, context, |one| deciding.decide(one), open)?;
    findings.extend(applied.tree_findings(comparison.findings, files.root_tree, rules)?);
    Ok(Input {
        source: SourceInfo {
            base: applied.base(),
            ..source_info(files.snapshot, rules)
        },
        base_url: rules.base_url.clone().or_else(|| applied.base_url()),
        decided,
        applied_counts: comparison.applied_counts,
        asserted: applied.asserted(),
        environment_holds,
        parked: BTreeMap::new(),
        let_through: applied.let_through(),
        overwritten,
        now: None,
        suspensions: Suspensions::default(),
        overrides,
        findings,
    })
}

pub(super) fn places<'a>(applied: AppliedSide<'_>, rules: &'a Rules) -> Places<'a> {
    Places {
        layout: &rules.layout,
        root: &rules.root,
        scope: &rules.policy.scope,
        side: applied.kind(),
    }
}

fn compared<S, F>(
    files: &PlanFiles<'_, F>,
    applied: AppliedSide<'_>,
    rules: &Rules,
    overwritten: &LiveDifferences,
) -> Result<Comparison, Error>
where
    S: Trees<Error = source::Error>,
    F: Fn() -> Result<S, Error> + Sync,
{
    let roots = Roots {
        source: files.root_tree,
        applied: applied.tree(),
    };
    let places = places(applied, rules);
    // The service may not have what the applied tree shows, so these are compared even if both trees are equal.
    let (unknown, settled) = (applied.unknown(), applied.settled());
    let always = unknown.keys().chain(settled.keys()).chain(overwritten.keys());
    let always: BTreeSet<ToggleId> = always.cloned().collect();
    let (source, trees) = ((files.open)()?, applied.trees()?);
    let mut found: Comparison =
        trees::compare::<_, _, Error>(&source, trees.as_ref(), roots, &places, &always)?;
    // Folders that are equal at both revisions are not read, and may contain no document.
    if applied.kind() == AppliedTree::Revision && !found.any_document {
        found.any_document = has_document(&source, files.root_tree, &rules.layout)?;
    }
    // The rails divide by the number of applied toggles, so a confirmed change counts before it is recorded.
    count_settled(settled, &found.differences, &mut found.applied_counts);
    Ok(found)
}

/// Adds the confirmed changes that are not in the applied tree yet to the numbers of applied toggles.
fn count_settled(
    settled: &BTreeMap<ToggleId, Sent>,
    differences: &[Difference],
    applied_counts: &mut BTreeMap<EnvironmentId, usize>,
) {
    for (id, sent) in settled {
        let found = differences.binary_search_by(|one| one.id.cmp(id));
        let is_applied = found.is_ok_and(|at| !differences[at].applied.is_empty());
        let count = applied_counts.entry(id.environment()).or_default();
        match (sent.action, is_applied) {
            (Action::Adopt | Action::Create | Action::Update, false) => *count += 1,
            (Action::Disable, true) => *count -= 1,
            _ => {}
        }
    }
}

/// Refuses a source without documents, and a scope that matches nothing.
fn check_source(comparison: &Comparison, snapshot: &Snapshot, rules: &Rules) -> Result<(), Error> {
    // A source without documents never means that everything was removed (DESIGN, section 5).
    if !comparison.any_document {
        let root = if rules.root.is_empty() { "." } else { &rules.root };
        return Err(Error::NoDocuments {
            revision: snapshot.revision(),
            root: root.to_owned(),
            files: comparison.files,
            findings: comparison.findings.clone(),
        });
    }
    check_scope(&rules.policy.scope, &comparison.unmatched)
}
