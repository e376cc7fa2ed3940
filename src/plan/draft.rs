//! From decisions to a plan, in two steps: commits are looked up only for what would be published.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::decide::{Decided, Decision, Start, Wanted};
use super::first_pass::{Choice, Deciders, by_operator};
use super::value::same_environment;
use super::{
    Before, Change, FirstPass, Held, HoldReason, Input, LastOutcome, MassChange, OnInvalid, Orphan,
    OrphanReason, Plan, Policy, Rail, Record, Resend, Stopped, Trailer,
};
use crate::model::{
    Action, Attribution, EnvironmentId, Evidence, ObjectId, Payload, Suspensions, ToggleId, Version,
};

/// A plan whose changes have no commits yet. Nothing is held by a rail so far, because a commit's trailer decides.
#[derive(Clone, Debug)]
pub struct Draft {
    policy: Policy,
    applied_counts: BTreeMap<EnvironmentId, usize>,
    suspensions: Suspensions,
    wanted: Vec<Wanted>,
    plan: Plan,
}

impl Draft {
    /// Puts together what was decided about every toggle on its own.
    #[must_use]
    pub fn new(input: Input, policy: &Policy) -> Self {
        let Input {
            source,
            base_url,
            mut decided,
            applied_counts,
            environment_holds,
            parked,
            suspensions,
            overrides,
            mut findings,
        } = input;
        decided.sort_by(|a, b| a.id.cmp(&b.id));
        findings.sort();
        let mut draft = Self {
            policy: policy.clone(),
            applied_counts,
            suspensions,
            wanted: Vec::new(),
            plan: Plan {
                source,
                base_url,
                changes: Vec::new(),
                held: Vec::new(),
                orphans: Vec::new(),
                records: Vec::new(),
                environment_holds,
                findings,
                overrides,
                stopped: None,
            },
        };
        for Decided { id, decision } in decided {
            match decision {
                Decision::Nothing => {}
                Decision::Hold(reason) => draft.hold(id, reason),
                Decision::Orphan(path, reason, outcome) => draft.plan.orphans.push(Orphan {
                    id,
                    path,
                    reason,
                    outcome,
                }),
                Decision::Record(record) => draft.plan.records.push(record),
                Decision::Publish(mut wanted) => {
                    if let Some(parked) = parked.get(&id).filter(|parked| parked.is_about(&wanted)) {
                        wanted.held.get_or_insert_with(|| parked.reason.clone());
                    }
                    draft.wanted.push(*wanted);
                }
            }
        }
        draft
    }

    fn hold(&mut self, id: ToggleId, reason: HoldReason) {
        let change = None;
        self.plan.held.push(Held { id, reason, change });
    }

    /// Returns the paths whose commits [`Draft::attribute`] needs, each with its payload, or without one if the file is
    /// gone. Of the toggles whose first pass is undecided, it returns the first `undecided` ones.
    #[must_use]
    pub fn documents(&self, mut undecided: usize) -> BTreeMap<&str, Option<&Payload>> {
        let mut documents = BTreeMap::new();
        for lane in self
            .wanted
            .chunk_by(|a, b| same_environment(&a.version.id, &b.version.id))
        {
            let operator = by_operator(
                &self.policy,
                &self.plan.overrides,
                &lane[0].version.id.environment(),
            );
            for wanted in lane {
                match operator {
                    Some(FirstPass::Adopt) if wanted.awaits_first_pass() => continue,
                    None if wanted.awaits_first_pass() => match undecided.checked_sub(1) {
                        Some(left) => undecided = left,
                        None => continue,
                    },
                    _ => {}
                }
                let payload = (wanted.action != Action::Disable).then_some(&wanted.version.payload);
                documents.insert(wanted.version.path.as_str(), payload);
            }
        }
        documents
    }

    /// Returns the orphans to disable, each with its path and the blob that has to be found there in the source's
    /// history: nothing is sent that no commit holds.
    #[must_use]
    pub fn orphans_to_disable(&self) -> Vec<(ToggleId, String, ObjectId)> {
        let disables = self
            .wanted
            .iter()
            .filter(|wanted| wanted.action == Action::Disable && wanted.held.is_none());
        disables
            .map(|wanted| {
                (
                    wanted.version.id.clone(),
                    wanted.version.path.clone(),
                    wanted.version.object,
                )
            })
            .collect()
    }

    /// Finishes the plan: gives each change its commit, keeps the orphans that were not found in the history, decides
    /// about first passes, and holds what is over a rail or suspended. A path without an attribution is uncommitted, or
    /// not among [`Draft::documents`].
    #[must_use]
    pub fn attribute(
        mut self,
        attributions: &BTreeMap<String, Attribution>,
        evidence: &BTreeMap<ToggleId, Evidence>,
    ) -> Plan {
        let wanted = std::mem::take(&mut self.wanted);
        let deciders = Deciders {
            policy: &self.policy,
            overrides: &self.plan.overrides,
            attributions,
        };
        let choices = deciders.choices(&wanted);
        let mut changes = Vec::with_capacity(wanted.len());
        for mut wanted in wanted {
            let reason = match self.fate(&mut wanted, &choices, evidence) {
                Fate::Hold(reason) => reason,
                Fate::List(reason, outcome) => {
                    let Version { id, path, .. } = wanted.version;
                    self.plan.orphans.push(Orphan {
                        id,
                        path,
                        reason,
                        outcome,
                    });
                    continue;
                }
                Fate::Publish => {
                    changes.push(self.change(wanted, attributions));
                    continue;
                }
                Fate::Record => {
                    self.plan.records.push(Record::Adopt(wanted.version));
                    continue;
                }
            };
            let change = self.change(wanted, attributions);
            self.plan.held.push(held(reason, change));
        }
        self.limit(changes);
        self.stop_if_invalid();
        self.plan.held.sort_by(|a, b| a.id.cmp(&b.id));
        self.plan.orphans.sort_by(|a, b| a.id.cmp(&b.id));
        self.plan.records.sort_by(|a, b| a.id().cmp(b.id()));
        self.plan
    }

    /// Decides what becomes of one toggle, before rails and suspensions.
    fn fate(
        &self,
        wanted: &mut Wanted,
        choices: &BTreeMap<EnvironmentId, Choice>,
        evidence: &BTreeMap<ToggleId, Evidence>,
    ) -> Fate {
        let reason = wanted.held.take();
        if let Some(reason @ HoldReason::Environment(_)) = reason {
            return Fate::Hold(reason);
        }
        if wanted.start == Start::FirstPass {
            match choices.get(&wanted.version.id.environment()) {
                Some(Choice::Decided(FirstPass::Adopt)) => return Fate::Record,
                Some(Choice::Undecided(undecided)) => {
                    return Fate::Hold(HoldReason::FirstPass(Arc::clone(undecided)));
                }
                Some(Choice::Decided(FirstPass::Assert)) | None => {}
            }
        }
        if let Some(reason) = reason {
            return Fate::Hold(reason);
        }
        match unseen(evidence.get(&wanted.version.id)).filter(|_| wanted.action == Action::Disable) {
            Some(reason) => Fate::List(reason, outcome(&wanted.before)),
            None => Fate::Publish,
        }
    }

    /// Puts the changes into the plan, except those that a rail or a suspension holds.
    fn limit(&mut self, changes: Vec<Change>) {
        let lanes = changes.chunk_by(|a, b| same_environment(&a.id, &b.id));
        let rails = lanes.filter_map(|lane| self.rail(lane));
        let rails: BTreeMap<EnvironmentId, Rail> =
            rails.map(|rail| (rail.environment.clone(), rail)).collect();
        for change in changes {
            // A re-send was let through before, so no rail counts or holds it.
            let rail = match change.resend {
                Resend::No => rails.get(&change.id.environment()),
                Resend::Same => None,
            };
            let rail = rail.map(|rail| HoldReason::Rail(Box::new(rail.clone())));
            match rail.or_else(|| self.suspended(&change.id)) {
                Some(reason) => self.plan.held.push(held(reason, change)),
                None => self.plan.changes.push(change),
            }
        }
    }

    fn suspended(&self, id: &ToggleId) -> Option<HoldReason> {
        let (scope, suspension) = self.suspensions.of(id)?;
        Some(HoldReason::Suspended {
            scope: scope.clone(),
            reason: suspension.reason.clone(),
        })
    }

    /// With `--on-invalid stop`, holds everything while a document is invalid.
    fn stop_if_invalid(&mut self) {
        if self.policy.on_invalid == OnInvalid::Stop && self.plan.has_invalid() {
            let invalid = self.plan.verdict().invalid;
            self.plan.stopped = Some(Stopped { invalid });
            let stopped = std::mem::take(&mut self.plan.changes).into_iter();
            let stopped = stopped.map(|change| held(HoldReason::Stopped, change));
            self.plan.held.extend(stopped);
            self.plan.records.clear();
        }
    }

    fn change(&self, wanted: Wanted, attributions: &BTreeMap<String, Attribution>) -> Change {
        let max = self.policy.comment_max_chars;
        let attribution = attributions.get(&wanted.version.path).cloned();
        let attribution = attribution.unwrap_or(Attribution::Uncommitted);
        let Wanted {
            version,
            action,
            before,
            again,
            start: _,
            held: _,
        } = wanted;
        let resend = if again.is_some() { Resend::Same } else { Resend::No };
        let comment = again.unwrap_or_else(|| match action {
            Action::Create | Action::Update => attribution.comment(max),
            Action::Disable => removal_comment(&attribution, max),
        });
        Change {
            version,
            action,
            before,
            attribution,
            comment,
            resend,
        }
    }

    fn rail(&self, lane: &[Change]) -> Option<Rail> {
        if self.policy.mass_change == MassChange::Allowed {
            return None;
        }
        let environment = lane.first()?.id.environment();
        if self.plan.overrides.mass_change.contains(&environment) {
            return None;
        }
        let (mut all, mut updates) = (0, 0);
        for change in lane {
            let is_allowed =
                self.policy.trailer == Trailer::Allowed && change.attribution.allows_mass_change();
            if change.resend == Resend::No && !is_allowed {
                all += 1;
                updates += usize::from(change.action != Action::Create);
            }
        }
        let applied = self.applied_counts.get(&environment).copied().unwrap_or(0);
        let ratio = self.policy.ratio_rail(&environment, updates, applied);
        ratio.or_else(|| self.policy.count_rail(&environment, all))
    }
}

/// Returns why an orphan is not disabled; nothing where the history has what was applied.
fn unseen(evidence: Option<&Evidence>) -> Option<OrphanReason> {
    match evidence {
        Some(Evidence::Found) => None,
        Some(Evidence::CannotTell) => Some(OrphanReason::HistoryCut),
        Some(Evidence::Nowhere) | None => Some(OrphanReason::NotInHistory),
    }
}

/// What becomes of one toggle, before rails and suspensions.
enum Fate {
    Hold(HoldReason),
    /// It is an orphan that stays as it is.
    List(OrphanReason, LastOutcome),
    Publish,
    /// It counts as applied.
    Record,
}

fn outcome(before: &Before) -> LastOutcome {
    match before {
        Before::Unknown(_) => LastOutcome::Unknown,
        Before::Applied(_) | Before::Nothing | Before::Unreadable => LastOutcome::Known,
    }
}

fn held(reason: HoldReason, change: Change) -> Held {
    Held {
        id: change.id.clone(),
        reason,
        change: Some(Box::new(change)),
    }
}

/// Returns the removing commit's message with ` (file removed)` behind it, both within `max` characters.
fn removal_comment(attribution: &Attribution, max: usize) -> String {
    const SUFFIX: &str = " (file removed)";
    match max.checked_sub(SUFFIX.len()) {
        Some(room) if room > 0 => attribution.comment(room) + SUFFIX,
        _ => attribution.comment(max),
    }
}
