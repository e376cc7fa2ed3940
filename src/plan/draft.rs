//! Turns decisions into a plan in two steps, so that commits are looked up only for changes to publish.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::change::same_environment;
use super::decide::{DecidedToggle, DraftChange, PassOrder, ToggleDecision};
use super::first_pass::{DecidedBy, FirstPassChoice, FirstPassRules, by_operator};
use super::hold::{self, Holds};
use super::order;
use super::waits::note_needs;
use super::{
    Before, Change, FirstPass, LiveDifferences, Mixed, Needs, OnDrift, OnInvalid, Orphan, OrphanReason,
    Overrides, Overwrite, Plan, Policy, Replaced, ReplacedFile, SourceInfo, StateEdit, Stopped,
    WithheldToggle,
};
use crate::document::Diagnostic;
use crate::model::{
    ALLOW_TRAILER, Action, Attribution, CommitId, EnvironmentId, HeldRequests, HistoryEvidence, Hold, Live,
    ObjectId, Override, Payload, Prerequisite, RequestDigest, Suspensions, ToggleId, Unlisted, counted,
};

/// The desired targeting of a document (`None` if the file was removed), and an object that has another one.
pub type WantedDocument<'a> = (Option<&'a Payload>, Option<ObjectId>);

/// A plan whose changes have no commits yet. The rails apply later, because a commit's trailer can lift them.
#[derive(Clone, Debug)]
pub struct Draft {
    policy: Policy,
    applied_counts: BTreeMap<EnvironmentId, usize>,
    let_through: BTreeMap<ToggleId, RequestDigest>,
    overwritten: LiveDifferences,
    parked: HeldRequests,
    now: Option<i64>,
    suspensions: Suspensions,
    #[expect(
        clippy::vec_box,
        reason = "each is freed before its change is made, so a large plan is in memory once"
    )]
    changes: Vec<Box<DraftChange>>,
    plan: Plan,
}

impl Draft {
    /// Collects the decisions on single toggles.
    pub fn new(input: Input, policy: &Policy) -> Self {
        let Input {
            source,
            base_url,
            mut decided,
            applied_counts,
            asserted,
            environment_holds,
            parked,
            let_through,
            overwritten,
            now,
            suspensions,
            overrides,
            mut findings,
            needs,
            mixed,
            broken,
            dependents,
            longest_chain,
        } = input;
        // The same input yields the same plan byte for byte, whatever its order is. It comes in sorted parts,
        // which the stable sort only merges.
        decided.sort_by(|a, b| a.id.cmp(&b.id));
        findings.sort_unstable();
        let (waived, findings): (Vec<_>, Vec<_>) =
            findings.into_iter().partition(|found| found.waived.is_some());
        let mut draft = Self {
            policy: policy.clone(),
            applied_counts,
            let_through,
            overwritten,
            parked,
            now,
            suspensions,
            changes: Vec::new(),
            plan: Plan {
                asserted,
                environment_holds,
                findings,
                waived,
                overrides,
                needs,
                mixed,
                broken,
                dependents,
                longest_chain,
                ..Plan::nothing(source, base_url)
            },
        };
        for toggle in decided {
            draft.add(toggle);
        }
        draft
    }

    fn add(&mut self, toggle: DecidedToggle) {
        let DecidedToggle { id, decision, kept } = toggle;
        if let Some(kept) = kept {
            note_needs(&mut self.plan.needs, &id, kept.needs.clone());
            self.plan.kept.insert(id.clone(), *kept);
        }
        match decision {
            ToggleDecision::Nothing => {}
            ToggleDecision::Outside => {
                self.plan.outside.insert(id);
            }
            ToggleDecision::Invalid(hold) | ToggleDecision::Withhold(hold) => {
                self.plan.withheld.push(WithheldToggle { id, hold, change: None });
            }
            ToggleDecision::Orphan(mut orphan) => {
                if orphan.reason == OrphanReason::Unreadable && self.plan.source.base.is_some() {
                    orphan.reason = OrphanReason::UnreadableBase;
                }
                self.plan.orphans.push(*orphan);
            }
            ToggleDecision::Edit(edit) => self.plan.state_edits.push(*edit),
            ToggleDecision::Publish(change) => self.changes.push(change),
        }
    }

    /// Returns the paths whose commits [`Draft::attribute`] needs, with the desired targeting (`None` if the
    /// file was removed) and the object with another targeting that it replaces. Of the toggles whose first
    /// pass is undecided, it returns the first `undecided` ones, and the number of the others.
    pub fn documents(&self, mut undecided: usize) -> (BTreeMap<&str, WantedDocument<'_>>, usize) {
        let (mut documents, mut left_out) = (BTreeMap::new(), 0);
        // Changes are sorted by toggle, so each environment is one chunk.
        let lanes = self.changes.chunk_by(|a, b| same_environment(&a.version.id, &b.version.id));
        for lane in lanes {
            let environment = lane[0].version.id.environment();
            // An operator's decision needs no trailer, so the commits of its environment do not decide.
            let operator = by_operator(&self.policy, &self.plan.overrides, &environment);
            let is_held = self.plan.environment_holds.contains_key(&environment);
            let awaits_first_pass = |change: &DraftChange| !is_held && change.pass == PassOrder::First;
            for change in lane {
                match operator {
                    // An adopted toggle is recorded without a comment, so it needs no commit.
                    Some(FirstPass::Adopt) if awaits_first_pass(change) => continue,
                    // The text shows only the first ones, and finding the commit of each took more than half
                    // of a cold plan.
                    None if awaits_first_pass(change) && self.plan.source.base.is_none() => {
                        match undecided.checked_sub(1) {
                            Some(left) => undecided = left,
                            None => {
                                left_out += 1;
                                continue;
                            }
                        }
                    }
                    _ => {}
                }
                let payload = (change.action != Action::Disable).then_some(&change.version.payload);
                let replaced = change.replaced.as_deref().copied();
                documents.insert(&*change.version.path, (payload, replaced));
            }
        }
        (documents, left_out)
    }

    /// Returns the orphans to disable, each with its path and the blob that the source's history must contain
    /// there: every published targeting comes from a commit.
    pub fn orphans_to_disable(&self) -> Vec<(ToggleId, String, ObjectId)> {
        let changes = self.changes.iter();
        let holds = &self.plan.environment_holds;
        let disables = changes.filter(|change| change.action == Action::Disable);
        let disables = disables.filter(|change| !holds.contains_key(&change.version.id.environment()));
        disables
            .map(|change| &change.version)
            .map(|version| (version.id.clone(), version.path.to_string(), version.object))
            .collect()
    }

    /// Finishes the plan: gives each change its commit, decides on first passes, lists the orphans that the
    /// history does not contain, and applies rails and suspensions. A path without an attribution is
    /// uncommitted, or not among [`Draft::documents`].
    ///
    /// `review` returns the changes that no review lists. Where the service can be read, they are recorded if
    /// it has them. `decided` returns those of the commits for which a trailer permits a mass change in the
    /// environment.
    pub fn attribute<E>(
        mut self,
        attributions: &BTreeMap<String, Attribution>,
        evidence: &BTreeMap<ToggleId, HistoryEvidence>,
        review: impl FnOnce(&[Change]) -> Result<Unlisted, E>,
        decided: impl Fn(Override, &EnvironmentId, &BTreeSet<CommitId>) -> Result<BTreeSet<CommitId>, E>,
    ) -> Result<Plan, E> {
        let drafts = std::mem::take(&mut self.changes);
        let nothing = Plan::nothing(self.plan.source.clone(), None);
        let mut plan = std::mem::replace(&mut self.plan, nothing);
        let rules = FirstPassRules {
            policy: &self.policy,
            overrides: &plan.overrides,
            attributions,
            compares_revisions: plan.source.base.is_some(),
        };
        // A first pass is decided for a whole environment, so all decisions come before the first change.
        let choices = rules.choices(&drafts);
        plan.asserted.extend(asserted(&choices, plan.source.revision));
        let (environments, overrides) = (plan.environment_holds.clone(), plan.overrides.clone());
        let mut holds = Holds {
            policy: &self.policy,
            overrides: &overrides,
            environments: &environments,
            first_passes: &choices,
            parked: &self.parked,
            suspensions: &self.suspensions,
            now: self.now,
            rails: BTreeMap::new(),
        };
        let renamed = |draft: &DraftChange| Some((draft.version.id.clone(), *draft.renamed_to.clone()?));
        let renamed: BTreeMap<_, _> = drafts.iter().filter_map(|draft| renamed(draft)).collect();
        let mut changes = self.sort_out(drafts, &holds, attributions, evidence, &mut plan);
        // Comes before rails as well: what is only renamed is not switched off.
        self.hold_renamed(&mut changes, &renamed, &overrides, &decided, &mut plan)?;
        let refused = take_refused(&mut plan);
        let unlisted = match refused.as_slice() {
            [] => review(&changes)?,
            refused => review(&with_refused(&changes, refused))?,
        };
        // Comes before rails, because what nobody reviewed is not published and must not hold what was.
        for change in changes.extract_if(.., |change| unlisted.contains_key(&change.id)) {
            let hold = Arc::new(hold::not_reviewed(&unlisted[&change.id], change.action));
            self.hold(change, hold, &mut plan);
        }
        // Rails come after first passes, because an adopted document changes nothing on the service.
        self.pass_decided(&mut changes, &overrides, &decided)?;
        holds.rails = self.rails(&changes, &overrides);
        for environment in holds.rails.keys() {
            let released = self.released_by_earlier(environment, &changes, &overrides, &decided)?;
            plan.overrides.released.extend(released);
        }
        self.hold_after_rails(changes, &holds, &mut plan);
        try_again(refused, &mut plan, &holds, |change| !unlisted.contains_key(&change.id));
        plan.hold_for_others(&BTreeMap::new(), |_, _, _| None);
        // Comes last, so that the plan still shows the changes that an invalid document stops.
        self.stop_if_invalid(&mut plan);
        sort(&mut plan);
        Ok(plan)
    }

    /// Adds what is held, adopted or only listed to the plan. Returns the other changes.
    #[expect(
        clippy::vec_box,
        reason = "each is freed before its change is made, so a large plan is in memory once"
    )]
    fn sort_out(
        &self,
        drafts: Vec<Box<DraftChange>>,
        holds: &Holds<'_>,
        attributions: &BTreeMap<String, Attribution>,
        evidence: &BTreeMap<ToggleId, HistoryEvidence>,
        plan: &mut Plan,
    ) -> Vec<Change> {
        let mut changes = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let pass = draft.pass;
            let mut change = self.change(*draft, attributions, holds);
            let unproven = OrphanReason::of(evidence.get(&change.id));
            let unproven = unproven.filter(|_| change.action == Action::Disable);
            if let Some(hold) = holds.before_rails(&change, pass) {
                plan.withheld.push(WithheldToggle::of(hold, change));
            } else if holds.is_adopted(&change, pass) && self.policy.reads_live() {
                // The live state decides, so the change goes through the lanes.
                change.action = Action::Adopt;
                plan.changes.push(change);
            } else if holds.is_adopted(&change, pass) {
                plan.state_edits.push(StateEdit::Adopt(change.version));
            } else if let Some(reason) = unproven {
                // Every published targeting comes from a commit (src/plan/README.md, "Missing and invalid
                // documents"), and the file of a disabled toggle is gone.
                plan.orphans.push(Orphan {
                    is_unknown: matches!(change.before, Before::Unknown { .. }),
                    id: change.version.id,
                    path: change.version.path.into(),
                    reason,
                    renamed_to: None,
                    needed_by: None,
                });
            } else {
                changes.push(change);
            }
        }
        changes
    }

    /// Adds the changes to the plan, in their order: those that the reasons after the rails hold, and the others.
    fn hold_after_rails(&self, changes: Vec<Change>, holds: &Holds<'_>, plan: &mut Plan) {
        for mut change in changes {
            match holds.after_rails(&change) {
                Some(hold) => self.hold(change, hold, plan),
                None => {
                    change.passed |= !holds.is_over_rail(&change);
                    plan.changes.push(change);
                }
            }
        }
        plan.changes.sort_by(|a, b| a.id.cmp(&b.id));
    }

    /// Holds a change. Recording sends nothing, so a reason that only protects against sending does not hold
    /// what the service has already.
    fn hold(&self, change: Change, hold: Arc<Hold>, plan: &mut Plan) {
        if hold.is_recordable() && self.reads_again(&change) {
            plan.unless_equal.insert(change.id.clone(), hold);
            plan.changes.push(change);
        } else {
            plan.withheld.push(WithheldToggle::of(hold, change));
        }
    }

    /// Returns whether a change that is held is compared with the service: not again if an earlier pass has,
    /// and no scan since.
    fn reads_again(&self, change: &Change) -> bool {
        let parked = self.parked.get(&change.id.folded());
        self.policy.reads_live() && parked.is_none_or(|parked| parked.request != change.request())
    }

    /// Holds the changes that switch off a toggle whose document was only renamed, unless somebody decided that
    /// it was removed as well.
    fn hold_renamed<E>(
        &self,
        changes: &mut Vec<Change>,
        renamed: &BTreeMap<ToggleId, ToggleId>,
        overrides: &Overrides,
        decided: &impl Fn(Override, &EnvironmentId, &BTreeSet<CommitId>) -> Result<BTreeSet<CommitId>, E>,
        plan: &mut Plan,
    ) -> Result<(), E> {
        let is_renamed = |change: &Change| renamed.contains_key(&change.id) && !change.has_started();
        let environments: BTreeSet<_> = changes
            .iter()
            .filter(|change| is_renamed(change))
            .map(|change| change.id.environment())
            .collect();
        for environment in environments.into_iter().filter(|place| !overrides.allows_renames(place)) {
            let decided = self.decided_by_name(Override::Rename, &environment, changes, decided)?;
            let allows_trailers = self.policy.allows_trailers;
            let is_allowed = |change: &Change| {
                decided.contains(&change.id)
                    || (allows_trailers && change.attribution.allows(Override::Rename))
            };
            let is_held = |change: &mut Change| {
                change.id.is_in(&environment) && is_renamed(change) && !is_allowed(change)
            };
            for change in changes.extract_if(.., is_held) {
                let hold = hold::renamed(&change, &renamed[&change.id], allows_trailers);
                let commit = std::iter::once(&change.attribution);
                let hold = overrides.explained(hold, commit, &environment, allows_trailers);
                self.hold(change, Arc::new(hold), plan);
            }
        }
        Ok(())
    }

    /// Lets through what a commit decided on before a pass that applied something else, or that was interrupted.
    fn pass_decided<E>(
        &self,
        changes: &mut [Change],
        overrides: &Overrides,
        decided: &impl Fn(Override, &EnvironmentId, &BTreeSet<CommitId>) -> Result<BTreeSet<CommitId>, E>,
    ) -> Result<(), E> {
        let rails = self.rails(changes, overrides).into_keys();
        for environment in rails.filter(|environment| !overrides.lifts_rails(environment)) {
            let decided = self.decided_by_name(Override::MassChange, &environment, changes, decided)?;
            for change in changes.iter_mut() {
                change.passed |= decided.contains(&change.id);
            }
        }
        Ok(())
    }

    /// Returns a note if a trailer lifts the rails of `environment` for changes that came after its commit, and that
    /// exceed a rail.
    fn released_by_earlier<E>(
        &self,
        environment: &EnvironmentId,
        changes: &[Change],
        overrides: &Overrides,
        decided: &impl Fn(Override, &EnvironmentId, &BTreeSet<CommitId>) -> Result<BTreeSet<CommitId>, E>,
    ) -> Result<Option<String>, E> {
        let Some(commit) = overrides.lifting_commit(environment) else { return Ok(None) };
        let decided = self.decided_by_name(Override::MassChange, environment, changes, decided)?;
        let is_later = |change: &&Change| change.id.is_in(environment) && !decided.contains(&change.id);
        let later: Vec<Change> = changes.iter().filter(is_later).cloned().collect();
        Ok(self.policy.rail(&later, &self.applied_counts).map(|_| {
            format!(
                "`{ALLOW_TRAILER}: {} {environment}` of commit {} lets {} through that came after it: it counts until a pass \
                 records a change",
                Override::MassChange,
                commit.short(),
                counted(later.len(), "change")
            )
        }))
    }

    /// Returns the changes of an environment whose commits a later one decides on, which names it.
    fn decided_by_name<E>(
        &self,
        what: Override,
        environment: &EnvironmentId,
        changes: &[Change],
        decided: &impl Fn(Override, &EnvironmentId, &BTreeSet<CommitId>) -> Result<BTreeSet<CommitId>, E>,
    ) -> Result<BTreeSet<ToggleId>, E> {
        if !self.policy.allows_trailers {
            return Ok(BTreeSet::new());
        }
        let known = |change: &Change| match &change.attribution {
            Attribution::Known(commit) if change.id.is_in(environment) => Some(commit.id),
            _ => None,
        };
        let decided = decided(what, environment, &changes.iter().filter_map(known).collect())?;
        let is_decided = |change: &&Change| known(change).is_some_and(|commit| decided.contains(&commit));
        Ok(changes.iter().filter(is_decided).map(|change| change.id.clone()).collect())
    }

    /// Returns the rails that the changes exceed, whatever a run or an operator permits.
    fn rails(&self, changes: &[Change], overrides: &Overrides) -> BTreeMap<EnvironmentId, Arc<Hold>> {
        let lanes = changes.chunk_by(|a, b| same_environment(&a.id, &b.id));
        let rail = |lane: &[Change]| {
            let (rail, environment) =
                (self.policy.rail(lane, &self.applied_counts)?, lane[0].id.environment());
            let commits = lane.iter().map(|change| &change.attribution);
            let rail = overrides.explained(rail, commits, &environment, self.policy.allows_trailers);
            Some((environment, Arc::new(rail)))
        };
        lanes.filter_map(rail).collect()
    }

    /// Applies `--on-invalid stop`: withholds everything while a document is invalid.
    fn stop_if_invalid(&self, plan: &mut Plan) {
        if self.policy.on_invalid == OnInvalid::Stop && plan.has_invalid() {
            let invalid = plan.counts().invalid;
            plan.stopped = Some(Stopped { invalid });
            let hold = Arc::new(hold::stopped());
            let stopped = std::mem::take(&mut plan.changes).into_iter();
            let stopped = stopped.map(|change| WithheldToggle::of(Arc::clone(&hold), change));
            plan.withheld.extend(stopped);
            // A stopped plan is never approved, so it must not promise to record anything.
            plan.state_edits.clear();
        }
    }

    fn change(
        &self,
        draft: DraftChange,
        attributions: &BTreeMap<String, Attribution>,
        holds: &Holds<'_>,
    ) -> Change {
        let attribution = attributions.get(&*draft.version.path).cloned();
        let attribution = attribution.unwrap_or(Attribution::Uncommitted);
        let request = || RequestDigest::new(draft.action, &draft.version.payload);
        let passed = match &draft.before {
            Before::Unknown { sent, .. } if draft.is_retry => sent.passed,
            // The document was applied, and is published over what someone changed since.
            Before::Live(_) => false,
            _ => {
                let let_through = self.let_through.get(&draft.version.id);
                let_through.is_some_and(|let_through| *let_through == request())
            }
        };
        let live = match self.overwritten.get(&draft.version.id) {
            Some(Live::Toggle(live)) => Some((**live).clone()),
            _ => None,
        };
        let file = draft.replaced.as_deref().copied().map(ReplacedFile::new);
        let first_pass = holds.first_pass_by(&draft.version.id, draft.pass);
        let DraftChange { version, action, before, is_retry, is_applied, replaced: _, pass, renamed_to: _ } =
            draft;
        let replaces = (live.is_some() || file.is_some() || is_applied)
            .then(|| Box::new(Replaced { live, file, needed_by: None, is_applied }));
        Change {
            overwrite: self.overwrite(pass, &attribution, first_pass),
            version,
            action,
            before,
            attribution,
            comment_max_chars: u32::try_from(self.policy.comment_max_chars).unwrap_or(u32::MAX),
            is_retry,
            replaces,
            passed,
        }
    }

    /// Returns whether a change may replace what someone else changed on the service. The first pass of its
    /// environment is decided `by`.
    fn overwrite(&self, pass: PassOrder, attribution: &Attribution, by: DecidedBy) -> Overwrite {
        if self.policy.on_drift == OnDrift::Overwrite {
            return Overwrite::Allowed;
        }
        if self.policy.allows_trailers && attribution.allows(Override::OverwriteDrift) {
            return Overwrite::AllowedByCommit;
        }
        match (pass, by) {
            (PassOrder::Later, _) => Overwrite::Held,
            // It publishes only if it is asserted, which is a decision about what the service has.
            (PassOrder::First | PassOrder::Asserted, DecidedBy::Commit) => Overwrite::AssertedByCommit,
            (PassOrder::First | PassOrder::Asserted, DecidedBy::Operator) => Overwrite::Asserted,
        }
    }
}

/// Takes the changes from the withheld ones that the service refused before and that need other toggles.
fn take_refused(plan: &mut Plan) -> Vec<(Arc<Hold>, Change)> {
    let may_depend = |held: &mut WithheldToggle| {
        let change = held.change.as_deref().filter(|_| held.hold.is_refused());
        change.is_some_and(|change| !change.payload.prerequisites().is_empty())
    };
    let refused = plan.withheld.extract_if(.., may_depend);
    refused.filter_map(|held| Some((held.hold, *held.change?))).collect()
}

fn with_refused(changes: &[Change], refused: &[(Arc<Hold>, Change)]) -> Vec<Change> {
    changes.iter().chain(refused.iter().map(|(_, change)| change)).cloned().collect()
}

/// Sorts all lists by toggle.
fn sort(plan: &mut Plan) {
    plan.changes.sort_by(|a, b| a.id.cmp(&b.id));
    plan.withheld.sort_by(|a, b| a.id.cmp(&b.id));
    plan.orphans.sort_by(|a, b| a.id.cmp(&b.id));
    plan.state_edits.sort_by(|a, b| a.id().cmp(b.id()));
}

/// Publishes what the service refused before if something changes that it needs: the refusal may have been
/// about that.
fn try_again(
    mut refused: Vec<(Arc<Hold>, Change)>,
    plan: &mut Plan,
    holds: &Holds<'_>,
    is_reviewed: impl Fn(&Change) -> bool,
) {
    if refused.is_empty() {
        return;
    }
    refused.sort_by(|a, b| a.1.id.cmp(&b.1.id));
    let mut again = Vec::new();
    let environments: BTreeSet<EnvironmentId> =
        refused.iter().map(|(_, change)| change.id.environment()).collect();
    for environment in environments {
        let mine = refused.extract_if(.., |(_, change)| change.id.is_in(&environment));
        let (reasons, mine): (Vec<_>, Vec<_>) = mine.unzip();
        let first = plan.changes.partition_point(|change| change.id.environment() < environment);
        let count = plan.changes[first..].partition_point(|change| change.id.is_in(&environment));
        let is_due = order::need_any(&mine, &plan.changes[first..first + count], &plan.needs);
        for ((hold, change), is_due) in reasons.into_iter().zip(mine).zip(is_due) {
            match (is_due && is_reviewed(&change)).then(|| holds.after_rails(&change)) {
                Some(None) => again.push(change),
                Some(Some(hold)) => plan.withheld.push(WithheldToggle::of(hold, change)),
                None => plan.withheld.push(WithheldToggle::of(hold, change)),
            }
        }
    }
    plan.changes.append(&mut again);
}

/// Returns the environments whose first pass the choices assert.
fn asserted(
    choices: &BTreeMap<EnvironmentId, FirstPassChoice>,
    revision: CommitId,
) -> impl Iterator<Item = (EnvironmentId, CommitId)> {
    let is_asserted = |choice: &FirstPassChoice| choice.is(FirstPass::Assert);
    let asserted = choices.iter().filter(move |(_, choice)| is_asserted(choice));
    asserted.map(move |(environment, _)| (environment.clone(), revision))
}

/// Everything a plan depends on besides the policy.
#[derive(Clone, Debug)]
pub struct Input {
    pub source: SourceInfo,
    /// The service's URL, if it is configured.
    pub base_url: Option<String>,
    /// The decisions on the toggles whose object differs from the applied one, on the unknown ones, and on
    /// the drifted ones that may be overwritten, one per toggle.
    pub decided: Vec<DecidedToggle>,
    /// The number of applied toggles per environment; absent or 0 makes the pass a first pass.
    pub applied_counts: BTreeMap<EnvironmentId, usize>,
    /// The environments whose first pass was asserted and has not ended, with the revision at which it was.
    pub asserted: BTreeMap<EnvironmentId, CommitId>,
    /// The environments that are held as a whole, with the reason.
    pub environment_holds: BTreeMap<EnvironmentId, Arc<Hold>>,
    /// The toggles that are not retried yet.
    pub parked: HeldRequests,
    /// The requests that the rails have let through and that no process has sent, as far as this folder
    /// knows.
    pub let_through: BTreeMap<ToggleId, RequestDigest>,
    /// What the service has of the toggles that may be overwritten.
    pub overwritten: LiveDifferences,
    /// The time for change windows, in seconds since 1970-01-01 UTC; none if they do not apply, as in a
    /// comparison of revisions.
    pub now: Option<i64>,
    pub suspensions: Suspensions,
    /// What operators allowed for this revision.
    pub overrides: Overrides,
    /// The findings in the documents in scope.
    pub findings: Vec<Diagnostic>,
    /// What the documents need that the changed ones lead to.
    pub(crate) needs: Needs,
    /// The toggles whose documents do not give them one type and one key.
    pub(crate) mixed: BTreeMap<ToggleId, Mixed>,
    /// What the documents need that do not change and that are invalid because of a change.
    pub(crate) broken: BTreeMap<ToggleId, Vec<Prerequisite>>,
    /// What those documents need, and what that needs.
    pub(crate) dependents: Needs,
    /// The most steps of a chain of prerequisites that the service accepts.
    pub(crate) longest_chain: usize,
}
