//! From candidates to a plan, in two steps: commits are looked up only for what would be published.

use std::collections::{BTreeMap, BTreeSet};

use super::value::same_environment;
use super::{
    Applied, Before, Candidate, Change, Desired, FirstPass, Held, HoldReason, Input, Kept, MassChange,
    OnRemove, Orphan, OrphanReason, Plan, Policy, Rail, Record, Recorded, Resend, Trailer,
};
use crate::model::{Action, Commit, EnvironmentId, ObjectId, Payload, Sent, ToggleId};

/// A plan whose changes have no commits yet. Nothing is held by a rail so far, because a commit's trailer decides.
#[derive(Clone, Debug)]
pub struct Draft {
    policy: Policy,
    applied_counts: BTreeMap<EnvironmentId, usize>,
    suspended: Option<HoldReason>,
    wanted: Vec<Wanted>,
    plan: Plan,
}

/// A change without its commit.
#[derive(Clone, Debug)]
struct Wanted {
    id: ToggleId,
    action: Action,
    payload: Payload,
    before: Before,
    path: String,
    format: String,
    object: ObjectId,
    /// The journalled comment of a re-send.
    again: Option<String>,
}

/// What becomes of one candidate.
enum Decision {
    Hold(HoldReason),
    Nothing,
    Orphan(String, OrphanReason, Outcome),
    Publish(Wanted),
    Record(Record),
}

/// Whether the outcome of the last publish is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Outcome {
    Known,
    Unknown,
}

impl Draft {
    /// Decides about every candidate on its own.
    #[must_use]
    pub fn new(input: Input, policy: &Policy) -> Self {
        let Input {
            source,
            base_url,
            mut candidates,
            applied_counts,
            environment_holds,
            refused,
            suspended,
            mut findings,
        } = input;
        candidates.sort_by(|a, b| a.id.cmp(&b.id));
        findings.sort();
        let mut draft = Self {
            policy: policy.clone(),
            applied_counts,
            suspended: suspended.map(|suspension| HoldReason::Suspended(suspension.reason)),
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
                on_invalid: policy.on_invalid,
            },
        };
        let mut environment: Option<EnvironmentId> = None;
        for candidate in candidates {
            let here = match environment.take() {
                Some(last) if candidate.id.is_in(&last) => last,
                _ => candidate.id.environment(),
            };
            draft.decide(candidate, &here, &refused);
            environment = Some(here);
        }
        draft
    }

    fn decide(
        &mut self,
        candidate: Candidate,
        environment: &EnvironmentId,
        refused: &BTreeMap<ToggleId, String>,
    ) {
        let id = candidate.id.clone();
        let held_with = self.plan.environment_holds.get(environment);
        let is_first_pass = self
            .applied_counts
            .get(environment)
            .is_none_or(|count| *count == 0);
        match decide(candidate, held_with, is_first_pass, &self.policy) {
            Decision::Nothing => {}
            Decision::Hold(reason) => self.hold(id, reason),
            Decision::Orphan(path, reason, outcome) => self.list(Orphan { id, path, reason }, outcome),
            Decision::Record(record) => self.plan.records.push(record),
            Decision::Publish(wanted) => match refused.get(&id) {
                Some(reason) => self.hold(id, HoldReason::Refused(reason.clone())),
                None => self.wanted.push(wanted),
            },
        }
    }

    fn hold(&mut self, id: ToggleId, reason: HoldReason) {
        self.plan.held.push(Held { id, reason });
    }

    /// Lists an orphan; one whose outcome is unknown is pending too.
    fn list(&mut self, orphan: Orphan, outcome: Outcome) {
        if outcome == Outcome::Unknown {
            self.hold(orphan.id.clone(), HoldReason::Unknown(Kept::Orphan));
        }
        self.plan.orphans.push(orphan);
    }

    /// Returns the paths whose last commits [`Draft::attribute`] needs.
    #[must_use]
    pub fn paths(&self) -> BTreeSet<String> {
        self.wanted.iter().map(|wanted| wanted.path.clone()).collect()
    }

    /// Returns the orphans to disable, each with its path and the blob that has to be found there in the source's
    /// history: nothing is sent that no commit holds.
    #[must_use]
    pub fn orphans_to_disable(&self) -> Vec<(ToggleId, String, ObjectId)> {
        let disables = self
            .wanted
            .iter()
            .filter(|wanted| wanted.action == Action::Disable);
        disables
            .map(|wanted| (wanted.id.clone(), wanted.path.clone(), wanted.object))
            .collect()
    }

    /// Finishes the plan: gives each change its commit, keeps the orphans that are not in `confirmed`, and holds
    /// what is over a rail or suspended. A path that is not in `commits` (an uncommitted file) is put down to the
    /// revision itself.
    #[must_use]
    pub fn attribute(mut self, commits: &BTreeMap<String, Commit>, confirmed: &BTreeSet<ToggleId>) -> Plan {
        let wanted = std::mem::take(&mut self.wanted);
        let mut changes = Vec::with_capacity(wanted.len());
        for wanted in wanted {
            if wanted.action == Action::Disable && !confirmed.contains(&wanted.id) {
                let outcome = match wanted.before {
                    Before::Unknown(_) => Outcome::Unknown,
                    Before::Applied(_) | Before::Nothing | Before::Unreadable => Outcome::Known,
                };
                let (id, path) = (wanted.id, wanted.path);
                let reason = OrphanReason::NotInHistory;
                self.list(Orphan { id, path, reason }, outcome);
            } else {
                changes.push(self.change(wanted, commits));
            }
        }
        for lane in changes.chunk_by(|a, b| same_environment(&a.id, &b.id)) {
            self.pass_rails(lane);
        }
        self.plan.held.sort_by(|a, b| a.id.cmp(&b.id));
        self.plan.orphans.sort_by(|a, b| a.id.cmp(&b.id));
        self.plan
    }

    fn change(&self, wanted: Wanted, commits: &BTreeMap<String, Commit>) -> Change {
        let max = self.policy.comment_max_chars;
        let commit = commits.get(&wanted.path).cloned().unwrap_or_else(|| Commit {
            id: self.plan.source.revision,
            message: String::new(),
            committed_at: 0,
        });
        let Wanted {
            id,
            action,
            payload,
            before,
            path,
            format,
            object,
            again,
        } = wanted;
        let resend = if again.is_some() { Resend::Same } else { Resend::No };
        let comment = again.unwrap_or_else(|| match action {
            Action::Create | Action::Update => commit.comment(max),
            Action::Disable => removal_comment(&commit, max),
        });
        Change {
            id,
            action,
            payload,
            before,
            path,
            format,
            object,
            commit,
            comment,
            resend,
        }
    }

    /// Lets the changes of one environment through, or holds them. A re-send was let through before, so no rail
    /// counts or holds it.
    fn pass_rails(&mut self, lane: &[Change]) {
        let rail = self.rail(lane);
        for change in lane {
            let reason = match (&rail, &self.suspended) {
                (Some(rail), _) if change.resend == Resend::No => HoldReason::Rail(Box::new(rail.clone())),
                (_, Some(suspended)) => suspended.clone(),
                _ => {
                    self.plan.changes.push(change.clone());
                    continue;
                }
            };
            self.hold(change.id.clone(), reason);
        }
    }

    fn rail(&self, lane: &[Change]) -> Option<Rail> {
        if self.policy.mass_change == MassChange::Allowed {
            return None;
        }
        let environment = lane.first()?.id.environment();
        let (mut all, mut updates) = (0, 0);
        for change in lane {
            let is_allowed = self.policy.trailer == Trailer::Allowed && change.commit.allows_mass_change();
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

/// Returns the removing commit's message with ` (file removed)` behind it, both within `max` characters.
fn removal_comment(commit: &Commit, max: usize) -> String {
    const SUFFIX: &str = " (file removed)";
    match max.checked_sub(SUFFIX.len()) {
        Some(room) if room > 0 => commit.comment(room) + SUFFIX,
        _ => commit.comment(max),
    }
}

fn decide(
    candidate: Candidate,
    held_with: Option<&String>,
    is_first_pass: bool,
    policy: &Policy,
) -> Decision {
    let Candidate { id, desired, applied } = candidate;
    let is_unknown = matches!(applied, Applied::Unknown { .. });
    if !policy.scope.contains(&id) {
        return if is_unknown {
            Decision::Hold(HoldReason::Unknown(Kept::OutsideScope))
        } else {
            Decision::Nothing
        };
    }
    match desired {
        Desired::Invalid { .. } if is_unknown => Decision::Hold(HoldReason::Unknown(Kept::Invalid)),
        Desired::Invalid { .. } => Decision::Hold(HoldReason::Invalid),
        Desired::Absent { .. } if matches!(applied, Applied::Nothing) => Decision::Nothing,
        _ if held_with.is_some() => {
            Decision::Hold(HoldReason::Environment(held_with.cloned().unwrap_or_default()))
        }
        Desired::Absent { path } => orphan(id, path, applied, policy.on_remove),
        Desired::Document {
            path,
            format,
            object,
            payload,
        } => {
            let recorded = Recorded {
                id,
                object,
                format,
                path,
            };
            wanted(recorded, payload, applied, is_first_pass, policy.first_pass)
        }
    }
}

/// Decides about a valid document.
fn wanted(
    recorded: Recorded,
    payload: Payload,
    applied: Applied,
    is_first_pass: bool,
    first_pass: Option<FirstPass>,
) -> Decision {
    let publish = |recorded: Recorded, action, payload, before, again| {
        let Recorded {
            id,
            object,
            format,
            path,
        } = recorded;
        Decision::Publish(Wanted {
            id,
            action,
            payload,
            before,
            path,
            format,
            object,
            again,
        })
    };
    match applied {
        Applied::Nothing => match first_pass {
            None if is_first_pass => Decision::Hold(HoldReason::FirstPass),
            Some(FirstPass::Adopt) if is_first_pass => Decision::Record(Record::Adopt(recorded)),
            _ => publish(recorded, Action::Create, payload, Before::Nothing, None),
        },
        Applied::Document { payload: before, .. } if before == payload => {
            Decision::Record(Record::SameMeaning(recorded))
        }
        Applied::Document { payload: before, .. } => {
            publish(recorded, Action::Update, payload, Before::Applied(before), None)
        }
        Applied::Unreadable { .. } => publish(recorded, Action::Update, payload, Before::Unreadable, None),
        Applied::Unknown { sent } => {
            let is_same = sent.object == recorded.object || sent.payload == payload;
            let before = Before::Unknown(sent.payload.clone());
            match sent.action {
                // What a `disable` sent is not the document of its blob, so a returning file is a newer one.
                Action::Disable => publish(recorded, Action::Update, payload, before, None),
                action if is_same => publish(recorded, action, sent.payload, before, Some(sent.comment)),
                action => publish(recorded, action, payload, before, None),
            }
        }
    }
}

/// Decides about a toggle that is applied, or unknown, and whose file is gone.
fn orphan(id: ToggleId, path: String, applied: Applied, on_remove: OnRemove) -> Decision {
    let outcome = match applied {
        Applied::Unknown { .. } => Outcome::Unknown,
        Applied::Document { .. } | Applied::Nothing | Applied::Unreadable { .. } => Outcome::Known,
    };
    match on_remove {
        OnRemove::Keep => return Decision::Orphan(path, OrphanReason::Keep, outcome),
        OnRemove::Forget => return Decision::Record(Record::Forget { id }),
        OnRemove::Disable => {}
    }
    let (object, format, before, again) = match applied {
        Applied::Nothing => return Decision::Nothing,
        Applied::Unreadable { .. } => return Decision::Orphan(path, OrphanReason::Unreadable, outcome),
        // There is nothing to say to the service: it is disabled.
        Applied::Document { payload, .. } if payload.is_disabled() => {
            return Decision::Record(Record::Forget { id });
        }
        Applied::Document {
            object,
            format,
            payload,
        } => (object, format, Before::Applied(payload), None),
        Applied::Unknown { sent } => {
            let Sent {
                action,
                payload,
                comment,
                object,
                format,
                path: _,
                revision: _,
            } = sent;
            let again = (action == Action::Disable).then_some(comment);
            (object, format, Before::Unknown(payload), again)
        }
    };
    let Some(payload) = before.payload().map(Payload::disabled) else {
        return Decision::Nothing;
    };
    Decision::Publish(Wanted {
        id,
        action: Action::Disable,
        payload,
        before,
        path,
        format,
        object,
        again,
    })
}
