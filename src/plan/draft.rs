//! Turns decisions into a plan in two steps, so that commits are looked up only for changes to publish.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::change::same_environment;
use super::decide::{DecidedToggle, DraftChange, PassOrder, ToggleDecision};
use super::first_pass::{FirstPassChoice, FirstPassRules, by_operator};
use super::{
    Before, Change, FirstPass, Input, LastOutcome, LiveDifference, LiveDifferences, MassChange, NotRetried,
    OnDrift, OnInvalid, Orphan, OrphanReason, Overwrite, Parked, Plan, Policy, PublishAttempt, Rail,
    StateEdit, Stopped, SuspensionHold, Trailer, WithheldReason, WithheldToggle,
};
use crate::model::{
    Action, Attribution, CommitId, EnvironmentId, HistoryEvidence, ObjectId, Override, Payload,
    RequestDigest, Reviews, Suspensions, ToggleId, Version,
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
    #[must_use]
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
            suspensions,
            overrides,
            mut findings,
        } = input;
        // The same input yields the same plan byte for byte, whatever its order is.
        decided.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        findings.sort();
        let (waived, findings): (Vec<_>, Vec<_>) =
            findings.into_iter().partition(|found| found.waived.is_some());
        let mut draft = Self {
            policy: policy.clone(),
            applied_counts,
            let_through,
            overwritten,
            suspensions,
            changes: Vec::new(),
            plan: Plan {
                asserted,
                environment_holds,
                findings,
                waived,
                overrides,
                ..Plan::nothing(source, base_url)
            },
        };
        for toggle in decided {
            draft.add(toggle, &parked);
        }
        draft
    }

    fn add(&mut self, toggle: DecidedToggle, parked: &BTreeMap<ToggleId, Parked>) {
        let DecidedToggle { id, decision } = toggle;
        match decision {
            ToggleDecision::Nothing => {}
            ToggleDecision::Inherited => self.plan.inherited.push(id),
            ToggleDecision::Withhold(reason) => self.plan.withheld.push(WithheldToggle {
                id,
                reason: *reason,
                change: None,
            }),
            ToggleDecision::Orphan(mut orphan) => {
                if orphan.reason == OrphanReason::Unreadable && self.plan.source.base.is_some() {
                    orphan.reason = OrphanReason::UnreadableBase;
                }
                self.plan.orphans.push(*orphan);
            }
            ToggleDecision::Edit(edit) => self.plan.state_edits.push(*edit),
            ToggleDecision::Publish(mut change) => {
                if let Some(parked) = parked.get(&id).filter(|parked| parked.matches(&change)) {
                    // The reason of a whole environment is more general, so it stays.
                    change
                        .withheld
                        .get_or_insert_with(|| Box::new(parked.reason.clone()));
                }
                self.changes.push(change);
            }
        }
    }

    /// Returns the paths whose commits [`Draft::attribute`] needs, with the desired targeting (`None` if the file was
    /// removed) and the object with another targeting that it replaces. Of the toggles whose first pass is undecided, it
    /// returns the first `undecided` ones, and the number of the others.
    #[must_use]
    pub fn documents(&self, mut undecided: usize) -> (BTreeMap<&str, WantedDocument<'_>>, usize) {
        let (mut documents, mut left_out) = (BTreeMap::new(), 0);
        // Changes are sorted by toggle, so each environment is one chunk.
        let lanes = self
            .changes
            .chunk_by(|a, b| same_environment(&a.version.id, &b.version.id));
        for lane in lanes {
            let environment = lane[0].version.id.environment();
            // An operator's decision needs no trailer, so the commits of its environment do not decide.
            let operator = by_operator(&self.policy, &self.plan.overrides, &environment);
            for change in lane {
                match operator {
                    // An adopted toggle is recorded without a comment, so it needs no commit.
                    Some(FirstPass::Adopt) if change.awaits_first_pass() => continue,
                    // The text shows only the first ones, and finding the commit of each took more than half of a cold
                    // plan.
                    None if change.awaits_first_pass() && self.plan.source.base.is_none() => {
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

    /// Returns the orphans to disable, each with its path and the blob that the source's history must contain there:
    /// every published targeting comes from a commit.
    #[must_use]
    pub fn orphans_to_disable(&self) -> Vec<(ToggleId, String, ObjectId)> {
        let changes = self.changes.iter();
        let disables = changes.filter(|change| change.action == Action::Disable && change.withheld.is_none());
        disables
            .map(|change| &change.version)
            .map(|version| (version.id.clone(), version.path.to_string(), version.object))
            .collect()
    }

    /// Finishes the plan: gives each change its commit, decides on first passes, lists the orphans that the history does
    /// not contain, and applies rails and suspensions. A path without an attribution is uncommitted, or
    /// not among [`Draft::documents`].
    ///
    /// `review` returns the reviews that count for the changes to publish; none if a change needs no review.
    ///
    /// # Errors
    /// That of `review`.
    pub fn attribute<E>(
        mut self,
        attributions: &BTreeMap<String, Attribution>,
        evidence: &BTreeMap<ToggleId, HistoryEvidence>,
        review: impl FnOnce(&[Change]) -> Result<Option<Reviews>, E>,
    ) -> Result<Plan, E> {
        let drafts = std::mem::take(&mut self.changes);
        let rules = FirstPassRules {
            policy: &self.policy,
            overrides: &self.plan.overrides,
            attributions,
            compares_revisions: self.plan.source.base.is_some(),
        };
        // A first pass is decided for a whole environment, so all decisions come before the first change.
        let choices = rules.choices(&drafts);
        self.plan
            .asserted
            .extend(asserted(&choices, self.plan.source.revision));
        let mut changes = Vec::with_capacity(drafts.len());
        for mut draft in drafts {
            match self.outcome(&mut draft, &choices, attributions, evidence) {
                // The live state decides, so the change goes through the lanes.
                DraftOutcome::Adopt if self.policy.reads_live() => {
                    draft.action = Action::Adopt;
                    let change = self.change(*draft, attributions);
                    self.plan.changes.push(change);
                }
                DraftOutcome::Adopt => self.plan.state_edits.push(StateEdit::Adopt(draft.version)),
                DraftOutcome::List(reason, outcome) => {
                    let Version { id, path, .. } = draft.version;
                    self.plan.orphans.push(Orphan {
                        id,
                        path: path.into(),
                        reason,
                        outcome,
                    });
                }
                DraftOutcome::Publish => changes.push(self.change(*draft, attributions)),
                DraftOutcome::Withhold(reason) => {
                    let change = self.change(*draft, attributions);
                    self.plan.withheld.push(WithheldToggle::of(reason, change));
                }
            }
        }
        let reviews = review(&changes)?;
        let changes = self.hold_unreviewed(changes, reviews.as_ref());
        // Rails come after first passes, because an adopted document changes nothing on the service.
        self.limit(changes);
        // Comes last, so that the plan still shows the changes that an invalid document stops.
        self.stop_if_invalid();
        self.plan.changes.sort_by(|a, b| a.id.cmp(&b.id));
        self.plan.withheld.sort_by(|a, b| a.id.cmp(&b.id));
        self.plan.orphans.sort_by(|a, b| a.id.cmp(&b.id));
        self.plan.state_edits.sort_by(|a, b| a.id().cmp(b.id()));
        Ok(self.plan)
    }

    /// Withholds the changes that no review lists, and returns the others. Comes before rails, because what nobody reviewed
    /// is not published and must not hold what was.
    fn hold_unreviewed(&mut self, changes: Vec<Change>, reviews: Option<&Reviews>) -> Vec<Change> {
        let Some(reviews) = reviews else {
            return changes;
        };
        let (reviewed, others): (Vec<_>, Vec<_>) = changes
            .into_iter()
            .partition(|change| reviews.list(change.digest()));
        self.plan.withheld.extend(others.into_iter().map(|change| {
            let origin = reviews.origin(change.attribution.commit());
            WithheldToggle::of(WithheldReason::NotReviewed(origin), change)
        }));
        reviewed
    }

    /// Decides on one change, before rails and suspensions.
    fn outcome(
        &self,
        draft: &mut DraftChange,
        choices: &BTreeMap<EnvironmentId, FirstPassChoice>,
        attributions: &BTreeMap<String, Attribution>,
        evidence: &BTreeMap<ToggleId, HistoryEvidence>,
    ) -> DraftOutcome {
        let reason = draft.withheld.take().map(|reason| *reason);
        // A held environment hides its first pass, because the operator has to resolve the more general reason first.
        if let Some(reason @ WithheldReason::Environment(_)) = reason {
            return DraftOutcome::Withhold(reason);
        }
        if draft.pass == PassOrder::First {
            match choices.get(&draft.version.id.environment()) {
                // The service may have what was announced, and only a comparison could show that.
                Some(FirstPassChoice::Decided(FirstPass::Adopt))
                    if draft.attempt == PublishAttempt::First
                        && matches!(draft.before, Before::Unknown { .. })
                        && !self.policy.reads_live() =>
                {
                    return DraftOutcome::Withhold(WithheldReason::Unknown(NotRetried::Adopted));
                }
                Some(FirstPassChoice::Decided(FirstPass::Adopt)) => return DraftOutcome::Adopt,
                Some(FirstPassChoice::Undecided(undecided)) => {
                    return DraftOutcome::Withhold(WithheldReason::FirstPass(Arc::clone(undecided)));
                }
                Some(FirstPassChoice::Decided(FirstPass::Assert)) | None => {}
            }
        }
        // A first pass hides a parked request for the same reason.
        if let Some(reason) = reason {
            let attribution = attributions.get(&*draft.version.path);
            let overwrite = self.overwrite(draft.pass, attribution);
            match reason {
                // The permission was given after the change was held.
                WithheldReason::Live(hold)
                    if hold.is_drift()
                        && (overwrite.is_allowed()
                            || self.plan.overrides.may_overwrite(&draft.version.id)) => {}
                reason => return DraftOutcome::Withhold(reason),
            }
        }
        // Every published targeting comes from a commit (DESIGN, section 4), and the file of a disabled toggle is gone.
        match OrphanReason::of(evidence.get(&draft.version.id)).filter(|_| draft.action == Action::Disable) {
            Some(reason) => DraftOutcome::List(reason, LastOutcome::of(&draft.before)),
            None => DraftOutcome::Publish,
        }
    }

    /// Adds the changes to the plan and withholds those over a rail or suspended.
    fn limit(&mut self, changes: Vec<Change>) {
        let lanes = changes.chunk_by(|a, b| same_environment(&a.id, &b.id));
        let rails = lanes.filter_map(|lane| self.policy.rail(lane, &self.applied_counts));
        let rails: BTreeMap<EnvironmentId, Rail> =
            rails.map(|rail| (rail.environment.clone(), rail)).collect();
        for mut change in changes {
            let environment = change.id.environment();
            let is_permitted = self.policy.mass_change == MassChange::Allowed
                || self.plan.overrides.mass_change.contains(&environment);
            let rail = rails.get(&environment).filter(|_| !change.is_let_through());
            let held = rail.filter(|_| !is_permitted);
            let held = held.map(|rail| WithheldReason::Rail(Box::new(rail.clone())));
            // Suspensions come after rails: a suspended change still counts, so resuming cannot publish more than a
            // rail allows.
            if let Some(reason) = held.or_else(|| self.suspended(&change.id)) {
                self.plan.withheld.push(WithheldToggle::of(reason, change));
                continue;
            }
            change.passed |= rail.is_none();
            self.plan.changes.push(change);
        }
    }

    fn suspended(&self, id: &ToggleId) -> Option<WithheldReason> {
        let (scope, suspension) = self.suspensions.of(id)?;
        Some(WithheldReason::Suspended(Box::new(SuspensionHold {
            scope: scope.clone(),
            reason: suspension.reason.clone(),
        })))
    }

    /// Applies `--on-invalid stop`: withholds everything while a document is invalid.
    fn stop_if_invalid(&mut self) {
        if self.policy.on_invalid == OnInvalid::Stop && self.plan.has_invalid() {
            let invalid = self.plan.counts().invalid;
            self.plan.stopped = Some(Stopped { invalid });
            let stopped = std::mem::take(&mut self.plan.changes).into_iter();
            let stopped = stopped.map(|change| WithheldToggle::of(WithheldReason::Stopped, change));
            self.plan.withheld.extend(stopped);
            // A stopped plan is never approved, so it must not promise to record anything.
            self.plan.state_edits.clear();
        }
    }

    fn change(&self, draft: DraftChange, attributions: &BTreeMap<String, Attribution>) -> Change {
        let attribution = attributions.get(&*draft.version.path).cloned();
        let attribution = attribution.unwrap_or(Attribution::Uncommitted);
        let request = RequestDigest::new(draft.action, &draft.version.payload);
        let passed = match &draft.before {
            Before::Unknown { sent, .. } if draft.attempt == PublishAttempt::Retry => sent.passed,
            // The document was applied, and is published over what someone changed since.
            Before::Live(_) => false,
            _ => self.let_through.get(&draft.version.id) == Some(&request),
        };
        let overwrites = match self.overwritten.get(&draft.version.id) {
            Some(LiveDifference::Other(live)) => Some(live.clone()),
            _ => None,
        };
        let DraftChange {
            version,
            action,
            before,
            attempt,
            replaced: _,
            pass,
            withheld: _,
        } = draft;
        Change {
            overwrite: self.overwrite(pass, Some(&attribution)),
            version,
            action,
            before,
            attribution,
            comment_max_chars: u32::try_from(self.policy.comment_max_chars).unwrap_or(u32::MAX),
            attempt,
            overwrites,
            passed,
        }
    }

    /// Returns whether a change may replace what someone else changed on the service.
    fn overwrite(&self, pass: PassOrder, attribution: Option<&Attribution>) -> Overwrite {
        let is_allowed = |attribution: &Attribution| attribution.allows(Override::OverwriteDrift);
        let by_trailer = || self.policy.trailer == Trailer::Allowed && attribution.is_some_and(is_allowed);
        if self.policy.on_drift == OnDrift::Overwrite || by_trailer() {
            return Overwrite::Allowed;
        }
        match pass {
            // It publishes only if it is asserted, which is a decision about what the service has.
            PassOrder::First | PassOrder::Asserted => Overwrite::Asserted,
            PassOrder::Later => Overwrite::Held,
        }
    }
}

/// Returns the environments whose first pass the choices assert.
fn asserted(
    choices: &BTreeMap<EnvironmentId, FirstPassChoice>,
    revision: CommitId,
) -> impl Iterator<Item = (EnvironmentId, CommitId)> {
    let is_asserted = |choice: &FirstPassChoice| *choice == FirstPassChoice::Decided(FirstPass::Assert);
    let asserted = choices.iter().filter(move |(_, choice)| is_asserted(choice));
    asserted.map(move |(environment, _)| (environment.clone(), revision))
}

/// The decision on one change, before rails and suspensions.
enum DraftOutcome {
    /// Record the document as applied.
    Adopt,
    /// List the toggle as an orphan.
    List(OrphanReason, LastOutcome),
    Publish,
    Withhold(WithheldReason),
}
