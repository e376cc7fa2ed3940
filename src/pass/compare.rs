//! The steps from files to a plan: compare, decide, hold, attribute. The other side is the recorded state or another revision;
//! everything else is the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::document::{Diagnostic, LARGEST_DOCUMENT};
use crate::git::ObjectReader;
use crate::model::{
    Action, Blob, CommitId, EnvironmentId, HeldRequest, Hold, ObjectId, RequestDigest, Sent, Suspensions,
    ToggleId, Tree, Trees,
};
use crate::pass::attribution::Attributions;
use crate::pass::config::{Config, Rules};
use crate::pass::planning::{Files, source_info};
use crate::pass::read::{ReadContext, read};
use crate::pass::{Error, check_scope};
use crate::plan::compare::{AppliedTree, Comparison, Difference, Places, Roots, has_document};
use crate::plan::{
    self, Base, DecisionContext, Draft, Input, LiveDifference, LiveDifferences, MassChange, OnDrift,
    OnMissing, Overrides, Plan, Policy, SourceInfo, compare as trees,
};
use crate::source::{self, Reader, Snapshot};
use crate::state::StateSnapshot;

/// The files of a plan. The plan is attributed to the commits of `snapshot` even if the files are not committed.
pub(super) struct PlanFiles<'a, F> {
    pub(super) files: Files,
    pub(super) snapshot: &'a Snapshot,
    pub(super) root_tree: ObjectId,
    /// Opens the files, once per thread.
    pub(super) open: F,
}

/// Returns the committed files of a snapshot.
pub(super) fn committed(snapshot: &Snapshot) -> PlanFiles<'_, impl Fn() -> Result<Reader, Error> + Sync> {
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
    attribute(hold(decided, &BTreeMap::new(), applied, config), files, applied, config)
}

/// The toggles that may have to be published, and what decides about them.
pub(super) struct Compared {
    comparison: Comparison,
    overrides: Overrides,
    overwritten: LiveDifferences,
}

/// Compares the files with the applied side by object id.
pub(super) fn compare<S, F>(
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
    Ok(Compared { comparison, overrides, overwritten })
}

/// Holds what is not sent whatever its commit says: suspended and parked changes, those of a first pass, and what a
/// document elsewhere stops.
pub(super) fn hold(
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
pub(super) fn attribute<S, F>(
    draft: Draft,
    files: &PlanFiles<'_, F>,
    applied: AppliedSide<'_>,
    config: &Config,
) -> Result<Plan, Error>
where
    S: Trees<Error = source::Error>,
    F: Fn() -> Result<S, Error> + Sync,
{
    let attributions = Attributions {
        snapshot: files.snapshot,
        files: files.files,
        rules: &config.rules,
        most_undecided: config.most_undecided,
    };
    let plan = attributions.complete(draft, |changes| match &config.reviews {
        Some(reviews) if !changes.is_empty() => {
            reviews.read(changes, files.snapshot, applied.revision()).map(Some)
        }
        _ => Ok(None),
    })?;
    with_files(plan, files, applied)
}

/// Adds the files of changes to a plan, as far as a page shows them.
pub(super) fn with_files<S, F>(
    mut plan: Plan,
    files: &PlanFiles<'_, F>,
    applied: AppliedSide<'_>,
) -> Result<Plan, Error>
where
    S: Trees<Error = source::Error>,
    F: Fn() -> Result<S, Error> + Sync,
{
    if let Some(trees) = applied.trees()? {
        let files = (files.open)()?;
        plan.read_files(|replaced, new| -> Result<_, Error> {
            let texts = (trees.blob(replaced, LARGEST_DOCUMENT)?, files.blob(new, LARGEST_DOCUMENT)?);
            Ok(text(texts.0).zip(text(texts.1)))
        })?;
    }
    Ok(plan)
}

/// Returns the text of a file that a plan has read before.
fn text(blob: Blob) -> Option<String> {
    match blob {
        Blob::Content(bytes) => String::from_utf8(bytes).ok(),
        Blob::Missing | Blob::TooLarge(_) => None,
    }
}

/// Returns what the service has of the drifted toggles that may be overwritten.
fn overwritten(drifted: &LiveDifferences, policy: &Policy, overrides: &Overrides) -> LiveDifferences {
    let is_allowed = |id: &ToggleId| policy.on_drift == OnDrift::Overwrite || overrides.may_overwrite(id);
    let may_create =
        |live: &LiveDifference| *live != LiveDifference::Missing || policy.on_missing == OnMissing::Create;
    let allowed =
        drifted.iter().filter(|(id, live)| is_allowed(id) && may_create(live) && policy.scope.contains(id));
    allowed.map(|(id, live)| (id.clone(), live.clone())).collect()
}

/// Reads the differing documents and decides about each toggle.
pub(super) fn decide<S, F>(
    files: &PlanFiles<'_, F>,
    applied: AppliedSide<'_>,
    rules: &Rules,
    compared: Compared,
) -> Result<Input, Error>
where
    S: Trees<Error = source::Error>,
    F: Fn() -> Result<S, Error> + Sync,
{
    let Compared { comparison, overrides, overwritten } = compared;
    let environment_holds = emptied(comparison.lost, &comparison.differences, rules, &overrides);
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
        source: SourceInfo { base: applied.base(), ..source_info(files.snapshot, rules) },
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
    Places { layout: &rules.layout, root: &rules.root, scope: &rules.policy.scope, side: applied.kind() }
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
    let roots = Roots { source: files.root_tree, applied: applied.tree() };
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

/// The documents that take the place of the applied ones.
#[derive(Clone, Copy, Debug)]
pub(super) enum AppliedSide<'a> {
    State(&'a StateSnapshot),
    Revision(&'a BaseRevision),
}

/// The documents of a revision.
#[derive(Clone, Debug)]
pub(super) struct BaseRevision {
    pub(super) base: Base,
    /// The repository.
    pub(super) snapshot: Snapshot,
    /// The tree of the root; none without a document.
    pub(super) tree: Option<ObjectId>,
}

impl<'a> AppliedSide<'a> {
    pub(super) fn tree(self) -> Option<ObjectId> {
        match self {
            Self::State(view) => view.tip().map(|tip| tip.tree),
            Self::Revision(base) => base.tree,
        }
    }

    /// Returns the revision that was applied last.
    pub(super) fn revision(self) -> Option<CommitId> {
        match self {
            Self::State(view) => view.tip().map(|tip| tip.revision),
            Self::Revision(_) => None,
        }
    }

    pub(super) fn kind(self) -> AppliedTree {
        match self {
            Self::State(_) => AppliedTree::State,
            Self::Revision(_) => AppliedTree::Revision,
        }
    }

    /// Opens the documents; none if there are none.
    pub(super) fn trees(self) -> Result<Option<AppliedTrees>, Error> {
        Ok(match self {
            Self::State(view) => view.reader()?.map(AppliedTrees::State),
            Self::Revision(base) => Some(AppliedTrees::Revision(base.snapshot.reader()?)),
        })
    }

    /// Returns the requests without a known outcome. A revision has none.
    pub(super) fn unknown(self) -> BTreeMap<ToggleId, Sent> {
        let Self::State(view) = self else {
            return BTreeMap::new();
        };
        view.unknown().clone()
    }

    /// Returns the confirmed requests that are not in the tree yet. A revision has none.
    pub(super) fn settled(self) -> &'a BTreeMap<ToggleId, Sent> {
        static NONE: BTreeMap<ToggleId, Sent> = BTreeMap::new();
        match self {
            Self::State(view) => view.settled(),
            Self::Revision(_) => &NONE,
        }
    }

    /// Returns the environments whose first pass was asserted and has not ended. A revision has none.
    pub(super) fn asserted(self) -> BTreeMap<EnvironmentId, CommitId> {
        match self {
            Self::State(view) => view.asserted(),
            Self::Revision(_) => BTreeMap::new(),
        }
    }

    /// Returns the unsent requests that the rails have let through. A revision has none.
    pub(super) fn let_through(self) -> BTreeMap<ToggleId, RequestDigest> {
        match self {
            Self::State(view) => view.let_through().clone(),
            Self::Revision(_) => BTreeMap::new(),
        }
    }

    /// Returns the decisions of operators that are valid at `revision`.
    pub(super) fn overrides(self, revision: CommitId) -> Overrides {
        match self {
            Self::State(view) => Overrides::at(revision, view.allowances()),
            Self::Revision(_) => Overrides::default(),
        }
    }

    /// Returns the suspensions at `now`. A revision has none.
    pub(super) fn suspensions(self, now: i64) -> Suspensions {
        match self {
            Self::State(view) => view.suspensions().at(now),
            Self::Revision(_) => Suspensions::default(),
        }
    }

    /// Returns the recorded base URL.
    pub(super) fn base_url(self) -> Option<String> {
        match self {
            Self::State(view) => view.tip().map(|tip| tip.base_url.clone()),
            Self::Revision(_) => None,
        }
    }

    /// Returns those of the findings about the trees that this comparison reports.
    pub(super) fn tree_findings(
        self,
        found: Vec<Diagnostic>,
        head: ObjectId,
        rules: &Rules,
    ) -> Result<Vec<Diagnostic>, source::Error> {
        match self {
            Self::Revision(base) => base.new_findings(found, head, rules),
            Self::State(_) => Ok(found),
        }
    }

    /// Returns the revision that takes the place of the state.
    pub(super) fn base(self) -> Option<Base> {
        match self {
            Self::State(_) => None,
            Self::Revision(base) => Some(base.base.clone()),
        }
    }
}

/// Reads the documents that take the place of the applied ones. Each thread needs its own.
#[derive(Debug)]
pub(super) enum AppliedTrees {
    State(ObjectReader),
    Revision(Reader),
}

impl Trees for AppliedTrees {
    type Error = Error;

    fn tree(&self, id: ObjectId) -> Result<Tree, Error> {
        Ok(match self {
            Self::State(trees) => trees.tree(id)?,
            Self::Revision(trees) => trees.tree(id)?,
        })
    }

    fn find_tree(&self, id: ObjectId) -> Option<Tree> {
        match self {
            Self::State(trees) => trees.find_tree(id),
            Self::Revision(trees) => trees.find_tree(id),
        }
    }

    fn blob(&self, id: ObjectId, limit: usize) -> Result<Blob, Error> {
        Ok(match self {
            Self::State(trees) => trees.blob(id, limit)?,
            Self::Revision(trees) => trees.blob(id, limit)?,
        })
    }
}

/// Returns the held environments with the reason.
fn emptied(
    lost: BTreeSet<EnvironmentId>,
    differences: &[Difference],
    rules: &Rules,
    overrides: &Overrides,
) -> BTreeMap<EnvironmentId, Arc<Hold>> {
    let scope = &rules.policy.scope;
    // A toggle outside `--only` is never an orphan (DESIGN, section 4), so nothing there needs a hold.
    let is_in_scope = |environment: &EnvironmentId| {
        let in_scope = |one: &Difference| scope.contains(&one.id) && one.id.environment() == *environment;
        scope.is_everything() || differences.iter().any(in_scope)
    };
    match rules.policy.mass_change {
        MassChange::Allowed => BTreeMap::new(),
        // An environment that loses all documents never means that everything was removed (DESIGN, section 5).
        MassChange::Held => lost
            .into_iter()
            .filter(|environment| is_in_scope(environment) && !overrides.mass_change.contains(environment))
            .map(|environment| (environment.clone(), Arc::new(emptied_hold(&environment))))
            .collect(),
    }
}

fn emptied_hold(environment: &EnvironmentId) -> Hold {
    plan::hold::environment(&format!(
        "every document in this environment was removed; if this is intended, pass `--allow-mass-change`, or run \
         `gitoggle allow mass-change {environment}` for a running daemon; `--on-remove` (`disable` or `forget`) \
         decides about its toggles"
    ))
}

/// Returns the toggles without an applied document that asserted first passes were to create.
pub(super) fn unfinished(
    snapshot: &Snapshot,
    applied: AppliedSide<'_>,
    rules: &Rules,
) -> Result<BTreeSet<ToggleId>, Error> {
    let mut all = BTreeSet::new();
    for (environment, revision) in applied.asserted() {
        let Some(source) = snapshot.known_root_tree(revision)? else {
            continue;
        };
        let (documents, trees) = (snapshot.reader()?, applied.trees()?);
        let roots = Roots { source, applied: applied.tree() };
        let places = places(applied, rules);
        let found: Comparison =
            trees::compare::<_, _, Error>(&documents, trees.as_ref(), roots, &places, &BTreeSet::new())?;
        let created = found.differences.into_iter();
        let created = created.filter(|one| one.applied.is_empty() && one.id.is_in(&environment));
        all.extend(created.map(|one| one.id));
    }
    Ok(all)
}
