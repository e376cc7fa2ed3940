//! What becomes of one toggle, decided on its own: nothing here knows of another toggle, of commits or of rails.

use std::collections::BTreeMap;

use super::{
    Applied, Before, Candidate, Desired, HoldReason, Kept, LastOutcome, OnRemove, OrphanReason, Policy,
    Record,
};
use crate::model::{Action, EnvironmentId, Payload, ToggleId, Version};

/// What deciding needs to know besides the toggle.
#[derive(Clone, Copy, Debug)]
pub struct Deciding<'a> {
    /// The rules.
    pub policy: &'a Policy,
    /// How many toggles are applied per environment; absent or 0 makes it a first pass.
    pub applied_counts: &'a BTreeMap<EnvironmentId, usize>,
    /// Environments nothing may be done to, with the reason.
    pub environment_holds: &'a BTreeMap<EnvironmentId, String>,
}

impl Deciding<'_> {
    /// Decides about one toggle. Who decides about a first pass is known later, with the commits.
    #[must_use]
    pub fn decide(&self, candidate: Candidate) -> Decided {
        let id = candidate.id.clone();
        let environment = id.environment();
        let start = match self.applied_counts.get(&environment) {
            None | Some(0) => Start::FirstPass,
            Some(_) => Start::Known,
        };
        let mut decision = decide(candidate, start, self.policy);
        if let Some(reason) = self.environment_holds.get(&environment) {
            decision = held_with(decision, HoldReason::Environment(reason.clone()));
        }
        Decided { id, decision }
    }
}

/// What becomes of one toggle.
#[derive(Clone, Debug)]
pub struct Decided {
    pub(super) id: ToggleId,
    pub(super) decision: Decision,
}

#[derive(Clone, Debug)]
pub(super) enum Decision {
    Hold(HoldReason),
    Nothing,
    Orphan(String, OrphanReason, LastOutcome),
    Publish(Box<Wanted>),
    Record(Record),
}

/// Whether something is applied in the environment of a toggle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Start {
    /// Nothing is, and this toggle is to be created.
    FirstPass,
    Known,
}

/// A change without its commit.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) version: Version,
    pub(super) action: Action,
    pub(super) before: Before,
    /// The journalled comment of a re-send.
    pub(super) again: Option<String>,
    pub(super) start: Start,
    /// Why it is not published, where that is known without looking at another toggle.
    pub(super) held: Option<HoldReason>,
}

impl Wanted {
    /// Returns whether the decision about the first pass of its environment decides about this toggle.
    pub(super) fn awaits_first_pass(&self) -> bool {
        self.start == Start::FirstPass && !matches!(self.held, Some(HoldReason::Environment(_)))
    }
}

/// Holds what would be done, for a reason that lies with its environment.
fn held_with(decision: Decision, reason: HoldReason) -> Decision {
    match decision {
        Decision::Publish(wanted) => Decision::Publish(Box::new(Wanted {
            held: Some(reason),
            ..*wanted
        })),
        Decision::Orphan(..) | Decision::Record(_) => Decision::Hold(reason),
        Decision::Hold(_) | Decision::Nothing => decision,
    }
}

fn decide(candidate: Candidate, start: Start, policy: &Policy) -> Decision {
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
        Desired::Absent { path } => orphan(id, path, applied, policy.on_remove),
        Desired::Document(version) => wanted(version, applied, start),
    }
}

/// Decides about a valid document.
fn wanted(version: Version, applied: Applied, start: Start) -> Decision {
    // What was sent before was decided about then.
    let start = match applied {
        Applied::Nothing => start,
        Applied::Document { .. } | Applied::Unknown { .. } | Applied::Unreadable { .. } => Start::Known,
    };
    let publish = |version, action, before, again| {
        Decision::Publish(Box::new(Wanted {
            version,
            action,
            before,
            again,
            start,
            held: None,
        }))
    };
    match applied {
        Applied::Nothing => publish(version, Action::Create, Before::Nothing, None),
        Applied::Document { payload, .. } if payload == version.payload => {
            Decision::Record(Record::SameMeaning(version))
        }
        Applied::Document { payload, .. } => publish(version, Action::Update, Before::Applied(payload), None),
        Applied::Unreadable { .. } => publish(version, Action::Update, Before::Unreadable, None),
        Applied::Unknown { sent } => {
            let is_same = sent.object == version.object || sent.payload == version.payload;
            let before = Before::Unknown(sent.payload.clone());
            match sent.action {
                // What a `disable` sent is not the document of its blob, so a returning file is a newer one.
                Action::Disable => publish(version, Action::Update, before, None),
                action if is_same => {
                    let payload = sent.payload;
                    publish(Version { payload, ..version }, action, before, Some(sent.comment))
                }
                action => publish(version, action, before, None),
            }
        }
    }
}

/// Decides about a toggle that is applied, or unknown, and whose file is gone.
fn orphan(id: ToggleId, path: String, applied: Applied, on_remove: OnRemove) -> Decision {
    let outcome = match applied {
        Applied::Unknown { .. } => LastOutcome::Unknown,
        Applied::Document { .. } | Applied::Nothing | Applied::Unreadable { .. } => LastOutcome::Known,
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
            let again = (sent.action == Action::Disable).then_some(sent.comment);
            (sent.object, sent.format, Before::Unknown(sent.payload), again)
        }
    };
    let Some(payload) = before.payload().map(Payload::disabled) else {
        return Decision::Nothing;
    };
    Decision::Publish(Box::new(Wanted {
        version: Version {
            id,
            path,
            format,
            object,
            payload,
        },
        action: Action::Disable,
        before,
        again,
        start: Start::Known,
        held: None,
    }))
}
