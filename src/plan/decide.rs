//! Decides on one toggle at a time. Other toggles, commits and rails have no part in it.
//!
//! # A retry repeats the request, and needs its own permission
//!
//! A request that started is repeated as it was: the service may have stored it, and the same request again
//! changes nothing that was not permitted. A request that was only announced inherits nothing: its first pass
//! is decided, and the rails count it, as if nobody had announced it.
//!
//! Who can know? The journal of a folder has exactly the requests that started, so what else its process
//! announced is taken off the list of a shared state. To everybody else, an announced request may have
//! started or not. It stays on the list as unknown, so nothing that may be stored is forgotten, and without a
//! permission of this run it is held. What the rails themselves let through at this version needed no
//! permission ([`Sent::passed`](crate::model::Sent)), and is sent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{
    Before, FirstPass, LiveDifferences, OnRemove, Orphan, OrphanReason, Overrides, Policy, StateEdit,
    by_operator, hold,
};
use crate::model::{
    Action, EnvironmentId, Format, Hold, Live, ObjectId, Payload, Prerequisite, Sent, Targeting, ToggleId,
    Version,
};

/// The input of a decision besides the toggle.
#[derive(Clone, Copy, Debug)]
pub struct DecisionContext<'a> {
    pub policy: &'a Policy,
    /// The number of applied toggles per environment; absent or 0 makes the pass a first pass.
    pub applied_counts: &'a BTreeMap<EnvironmentId, usize>,
    /// The toggles whose documents belong to an asserted first pass that has not ended.
    pub asserted: &'a BTreeSet<ToggleId>,
    pub overrides: &'a Overrides,
    /// The environments that are held as a whole, with the reason.
    pub environment_holds: &'a BTreeMap<EnvironmentId, Arc<Hold>>,
    /// What the service has of the drifted toggles that may be overwritten.
    pub overwritten: &'a LiveDifferences,
}

impl DecisionContext<'_> {
    /// Decides on one toggle, except for a first pass: that decision may need the commits.
    pub fn decide(&self, candidate: Candidate) -> DecidedToggle {
        let id = candidate.id.clone();
        let environment = id.environment();
        let pass = self.pass(&candidate, &environment);
        let kept = Kept::of(&candidate, self.policy).map(Box::new);
        let mut decision = decide(candidate, pass, self.policy, self.overwritten.get(&id));
        // Comes after the decision, because an invalid document and a toggle outside `--only` keep theirs.
        if let (Some(hold), ToggleDecision::Orphan(_) | ToggleDecision::Edit(_)) =
            (self.environment_holds.get(&environment), &decision)
        {
            decision = ToggleDecision::Withhold(Arc::clone(hold));
        }
        DecidedToggle { id, decision, kept }
    }

    fn pass(&self, candidate: &Candidate, environment: &EnvironmentId) -> PassOrder {
        let is_asserted = self.asserted.contains(&candidate.id);
        let is_adopted = || by_operator(self.policy, self.overrides, environment) == Some(FirstPass::Adopt);
        let is_first = self.applied_counts.get(environment).is_none_or(|count| *count == 0);
        match &candidate.applied {
            // A decision to adopt ends an asserted first pass, so the rest of it is decided anew.
            AppliedVersion::Nothing if is_first || (is_asserted && is_adopted()) => PassOrder::First,
            AppliedVersion::Nothing if is_asserted => PassOrder::Asserted,
            AppliedVersion::Unknown { sent, .. }
                if sent.announced.is_some()
                    && sent.action == Action::Create
                    && (is_first || (sent.asserted.is_some() && is_adopted())) =>
            {
                PassOrder::First
            }
            // A request that has started had its first pass decided then.
            AppliedVersion::Unknown { sent, .. } if is_asserted && sent.asserted.is_some() => {
                PassOrder::Asserted
            }
            _ => PassOrder::Later,
        }
    }
}

#[derive(Clone, Debug)]
pub struct DecidedToggle {
    pub(super) id: ToggleId,
    pub(super) decision: ToggleDecision,
    pub(super) kept: Option<Box<Kept>>,
}

impl DecidedToggle {
    pub fn id(&self) -> &ToggleId {
        &self.id
    }

    /// Returns whether documents that need the toggle may have other findings than before.
    pub fn concerns_others(&self) -> bool {
        match &self.decision {
            ToggleDecision::Publish(change) => change.concerns_others(),
            ToggleDecision::Edit(edit) => matches!(**edit, StateEdit::Forget { .. }),
            ToggleDecision::Nothing | ToggleDecision::Outside | ToggleDecision::Withhold(_) => false,
            ToggleDecision::Invalid(_) | ToggleDecision::Orphan(_) => true,
        }
    }

    /// Decides again on a document that is invalid because of what others say.
    pub fn invalidate(&mut self) {
        let is_unknown = match &self.decision {
            // A toggle outside `--only` has no part in the plan.
            ToggleDecision::Nothing | ToggleDecision::Outside => return,
            ToggleDecision::Publish(change) => matches!(change.before, Before::Unknown { .. }),
            ToggleDecision::Edit(_)
            | ToggleDecision::Invalid(_)
            | ToggleDecision::Orphan(_)
            | ToggleDecision::Withhold(_) => false,
        };
        let is_new = matches!(
            &self.decision,
            ToggleDecision::Publish(change) if matches!(change.before, Before::Nothing)
        );
        let hold = if is_unknown { hold::unknown_invalid() } else { hold::invalid(!is_new) };
        let kept = match &self.decision {
            ToggleDecision::Publish(change) => Some(Kept::before(&change.before)),
            ToggleDecision::Edit(edit) => match &**edit {
                StateEdit::SameMeaning(version) => Some(Kept::version(&version.payload)),
                _ => None,
            },
            _ => None,
        };
        self.kept = kept.map(Box::new).or(self.kept.take());
        self.decision = ToggleDecision::Invalid(Arc::new(hold));
    }
}

/// What the service keeps of a toggle whose document is not published.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// Whether there is a document, which is invalid or out of scope.
    pub(super) has_document: bool,
    /// The keys of the toggles that it may need.
    pub(super) needs: Vec<String>,
    /// The targeting, as far as it is known.
    pub(super) payload: Option<Payload>,
}

impl Kept {
    fn of(candidate: &Candidate, policy: &Policy) -> Option<Self> {
        let is_in_scope = policy.scope.contains(&candidate.id);
        let has_document = match candidate.desired {
            _ if !is_in_scope => true,
            // Of ids that differ only in case, the other one has the document.
            Desired::Document(_) | Desired::Renamed => return None,
            Desired::Absent { .. } => false,
            Desired::Invalid | Desired::Unread { .. } => true,
        };
        let kept = match &candidate.applied {
            AppliedVersion::Document { payload, .. } => Self::version(payload),
            AppliedVersion::Nothing | AppliedVersion::Unreadable => Self::before(&Before::Nothing),
            AppliedVersion::Unknown { sent, applied } => {
                Self::before(&Before::Unknown { sent: sent.clone(), applied: applied.clone() })
            }
        };
        Some(Self { has_document, ..kept })
    }

    fn version(payload: &Payload) -> Self {
        Self { has_document: true, needs: keys(payload.prerequisites()), payload: Some(payload.clone()) }
    }

    fn before(before: &Before) -> Self {
        let (needs, payload) = (keys(before.prerequisites()), before.payload().cloned());
        Self { has_document: true, needs, payload }
    }
}

/// Boxed, because a first pass has one for each document.
#[derive(Clone, Debug)]
pub(super) enum ToggleDecision {
    Edit(Box<StateEdit>),
    /// The document is invalid, so the service keeps what it has.
    Invalid(Arc<Hold>),
    Nothing,
    Orphan(Box<Orphan>),
    /// The document is out of scope, so the service keeps what it has.
    Outside,
    Publish(Box<DraftChange>),
    Withhold(Arc<Hold>),
}

/// Whether a change belongs to the first pass of its environment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PassOrder {
    /// Nothing is applied in the environment, and the change creates a toggle.
    First,
    /// The first pass is asserted and has not ended, and the change creates a toggle that it was to create.
    Asserted,
    Later,
}

/// A change without its commit.
#[derive(Clone, Debug)]
pub(super) struct DraftChange {
    pub(super) version: Version,
    pub(super) action: Action,
    pub(super) before: Before,
    /// The file with another targeting that it replaces.
    pub(super) replaced: Option<Box<ObjectId>>,
    pub(super) is_retry: bool,
    /// Whether the document is applied, and only the service has something else.
    pub(super) is_applied: bool,
    pub(super) pass: PassOrder,
    /// The toggle that has the removed document now.
    pub(super) renamed_to: Option<Box<ToggleId>>,
}

impl DraftChange {
    /// Returns whether more changes than who gets which value.
    fn concerns_others(&self) -> bool {
        let what = |payload: &Payload| {
            let Targeting { disabled, content } = payload.targeting();
            (disabled, content.disabled_serve, content.variations, content.prerequisites)
        };
        let (Before::Applied(before) | Before::Live(before)) = &self.before else { return true };
        what(before) != what(&self.version.payload)
    }
}

fn decide(
    candidate: Candidate,
    pass: PassOrder,
    policy: &Policy,
    overwritten: Option<&Live>,
) -> ToggleDecision {
    let Candidate { id, desired, applied } = candidate;
    // Scope comes first: a toggle outside `--only` is never an orphan (src/plan/README.md, "Missing and
    // invalid documents").
    if !policy.scope.contains(&id) {
        return match applied {
            // An unknown toggle is always in the plan, even if its request is not retried
            // (src/plan/README.md, "Missing and invalid documents").
            AppliedVersion::Unknown { .. } => {
                ToggleDecision::Withhold(Arc::new(hold::unknown_outside_scope()))
            }
            AppliedVersion::Document { .. } => ToggleDecision::Outside,
            AppliedVersion::Nothing | AppliedVersion::Unreadable => ToggleDecision::Nothing,
        };
    }
    match desired {
        Desired::Invalid => invalid(&applied, hold::invalid),
        Desired::Unread { path } => invalid(&applied, |is_applied| hold::unread(&path, is_applied)),
        Desired::Absent { .. } | Desired::Renamed if matches!(applied, AppliedVersion::Nothing) => {
            ToggleDecision::Nothing
        }
        Desired::Absent { path, renamed_to } => orphan(id, path, renamed_to, applied, policy.on_remove),
        // Ids that differ only in case are one toggle, so to disable this one could disable that of the
        // document.
        Desired::Renamed => ToggleDecision::Edit(Box::new(StateEdit::Forget { id })),
        Desired::Document(version) => document(version, applied, pass, overwritten),
    }
}

/// Holds a toggle whose file says nothing valid. `why` gets whether something is applied.
fn invalid(applied: &AppliedVersion, why: impl Fn(bool) -> Hold) -> ToggleDecision {
    ToggleDecision::Invalid(Arc::new(match applied {
        AppliedVersion::Document { .. } | AppliedVersion::Unreadable => why(true),
        AppliedVersion::Nothing => why(false),
        AppliedVersion::Unknown { .. } => hold::unknown_invalid(),
    }))
}

fn keys(prerequisites: Vec<Prerequisite>) -> Vec<String> {
    prerequisites.into_iter().map(|one| one.key).collect()
}

fn document(
    version: Version,
    applied: AppliedVersion,
    pass: PassOrder,
    overwritten: Option<&Live>,
) -> ToggleDecision {
    let (replaced, is_retry) = (replaced(&applied, &version), is_retry(&applied, &version));
    let is_applied =
        matches!(&applied, AppliedVersion::Document { payload, .. } if *payload == version.payload);
    let publish = |version, action, before| {
        let renamed_to = None;
        let draft = DraftChange { version, replaced, action, before, is_retry, is_applied, pass, renamed_to };
        ToggleDecision::Publish(Box::new(draft))
    };
    match applied {
        AppliedVersion::Nothing => publish(version, Action::Create, Before::Nothing),
        AppliedVersion::Document { .. } if is_applied => match overwritten {
            Some(Live::Toggle(live)) => publish(version, Action::Update, Before::of_live(&live.content)),
            Some(Live::Missing { .. } | Live::Untargeted) => {
                publish(version, Action::Create, Before::Nothing)
            }
            // The new object is recorded, so that the next comparison by object id finds no difference.
            None => ToggleDecision::Edit(Box::new(StateEdit::SameMeaning(version))),
        },
        AppliedVersion::Document { payload, .. } => {
            publish(version, Action::Update, Before::Applied(payload))
        }
        // An unreadable document cannot be compared, so the desired one is published.
        AppliedVersion::Unreadable => publish(version, Action::Update, Before::Unreadable),
        AppliedVersion::Unknown { sent, applied } => {
            let action = match sent.action {
                Action::Disable => Action::Update,
                action => action,
            };
            // The journaled payload is sent even if the same bytes are read differently now: a retry changes
            // nothing.
            let payload = if is_retry { sent.payload.clone() } else { version.payload.clone() };
            publish(Version { payload, ..version }, action, Before::Unknown { sent, applied })
        }
    }
}

/// Returns whether `version` is that of the request with the unknown outcome.
fn is_retry(applied: &AppliedVersion, version: &Version) -> bool {
    let AppliedVersion::Unknown { sent, .. } = applied else {
        return false;
    };
    // A `disable` sends other targeting than its blob contains, so a file that returns is a newer one.
    sent.action != Action::Disable
        && !sent.overtaken
        && (sent.object == version.object || sent.payload == version.payload)
}

/// Returns the file with another targeting that the version replaces.
fn replaced(applied: &AppliedVersion, version: &Version) -> Option<Box<ObjectId>> {
    match applied {
        AppliedVersion::Document { object, format, payload }
            if *format == version.format && *payload != version.payload =>
        {
            Some(Box::new(*object))
        }
        _ => None,
    }
}

fn listed(
    id: ToggleId,
    path: String,
    renamed_to: Option<ToggleId>,
    reason: OrphanReason,
    applied: &AppliedVersion,
) -> ToggleDecision {
    ToggleDecision::Orphan(Box::new(Orphan {
        id,
        path,
        reason,
        is_unknown: matches!(applied, AppliedVersion::Unknown { .. }),
        renamed_to,
        needed_by: None,
    }))
}

/// Decides on a toggle that is applied or unknown and whose file was removed.
fn orphan(
    id: ToggleId,
    path: String,
    renamed_to: Option<ToggleId>,
    applied: AppliedVersion,
    on_remove: OnRemove,
) -> ToggleDecision {
    match on_remove {
        OnRemove::Keep => return listed(id, path, renamed_to, OrphanReason::Keep, &applied),
        OnRemove::Forget => return ToggleDecision::Edit(Box::new(StateEdit::Forget { id })),
        OnRemove::Disable => {}
    }
    let (object, format, before, is_retry) = match applied {
        AppliedVersion::Nothing => return ToggleDecision::Nothing,
        AppliedVersion::Unreadable => {
            return listed(id, path, renamed_to, OrphanReason::Unreadable, &applied);
        }
        // The toggle is disabled already, so there is nothing to publish.
        AppliedVersion::Document { payload, .. } if payload.is_disabled() => {
            return ToggleDecision::Edit(Box::new(StateEdit::Forget { id }));
        }
        AppliedVersion::Document { object, format, payload } => {
            (object, format, Before::Applied(payload), false)
        }
        AppliedVersion::Unknown { sent, applied } => {
            // Only a repeated disable is a retry; after any other request it is a new one.
            let is_retry = sent.action == Action::Disable;
            let (object, format) = (sent.object, sent.format);
            (object, format, Before::Unknown { sent, applied }, is_retry)
        }
    };
    let Some(payload) = before.payload().map(Payload::disabled) else {
        return ToggleDecision::Nothing;
    };
    ToggleDecision::Publish(Box::new(DraftChange {
        version: Version { id, path: path.into(), format, object, payload },
        replaced: None,
        action: Action::Disable,
        before,
        is_retry,
        is_applied: false,
        pass: PassOrder::Later,
        renamed_to: renamed_to.map(Box::new),
    }))
}

/// A toggle that a pass has to decide on.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub id: ToggleId,
    /// The repository's side.
    pub desired: Desired,
    /// The state's side.
    pub applied: AppliedVersion,
}

/// What the repository contains for a toggle.
#[derive(Clone, Debug)]
pub enum Desired {
    /// No file.
    Absent {
        /// The path that the applied document had.
        path: String,
        /// The toggle that has this document now.
        renamed_to: Option<ToggleId>,
    },
    Document(Version),
    /// No file, but a document whose id differs only in case.
    Renamed,
    /// A file that is not a valid document.
    Invalid,
    /// The path of a file that would be the document, and is not read.
    Unread {
        path: Box<str>,
    },
}

/// What the state records for a toggle.
#[derive(Clone, Debug)]
pub enum AppliedVersion {
    Document {
        object: ObjectId,
        format: Format,
        payload: Payload,
    },
    Nothing,
    /// A request whose outcome is unknown.
    Unknown {
        sent: Box<Sent>,
        /// The targeting that was applied before it, if the current rules can read it.
        applied: Option<Box<Payload>>,
    },
    /// A document that the current rules cannot read.
    Unreadable,
}
