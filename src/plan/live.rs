//! Decides what the live state of a toggle means for a change (DESIGN, sections 8.4 to 8.6).
//!
//! The live state is read just before a publish, so that it is as new as possible. These functions are pure; the caller
//! reads, sends, and reads again after a response that leaves doubt.

use std::fmt;

use super::{Before, Change, OnApproval, OnMissing, Overwrite, Policy, PublishAttempt};
use crate::model::{
    Action, Live, LiveContent, LiveToggle, LiveVersion, Payload, ReturnType, ToggleState, WithheldKind,
    escaped, rfc3339, variation_fits,
};

/// What the live state of a toggle means for a change to it.
#[derive(Clone, Debug, PartialEq)]
pub enum LiveDecision {
    /// The service stored the earlier request, whose outcome was unknown: record it, and send nothing.
    Confirmed,
    /// The service has the desired targeting already: record it, and send nothing.
    Converged,
    /// Create the toggle, then read it again.
    Create(ReturnType),
    /// Do not send the change.
    Hold(LiveHold),
    /// Send it, on top of this version.
    Publish {
        /// The version that the service must still have.
        base_version: u64,
    },
    /// Read the versions after this one, and decide with [`decide_by_versions`].
    ReadVersions {
        /// The number of a version; 0 for all of them.
        after: u64,
    },
}

/// Why the live state of a toggle holds a change to it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LiveHold {
    /// The environment needs approvals, and a publish would bypass them.
    ApprovalRequired,
    /// The toggle is archived.
    Archived,
    /// A draft awaits approval; submitted by this account.
    AwaitsApproval(Option<String>),
    /// Nothing is applied, and the service has other targeting than the document.
    DiffersFromLive(LiveChange),
    /// The service has other targeting than was last applied.
    Drifted(LiveChange),
    /// The service has no such toggle.
    Missing,
    /// A variation is not of the toggle's return type, for this reason.
    ReturnType(String),
    /// The toggle has no targeting in this environment.
    Untargeted,
}

/// A change that was made on the service.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LiveChange {
    /// The number of the live version.
    pub version: u64,
    /// The account that made it.
    pub by: Option<String>,
    /// When, in seconds since 1970-01-01 UTC.
    pub at: Option<i64>,
    /// The live targeting.
    pub content: LiveContent,
}

impl LiveChange {
    /// Returns the newest change of `live`.
    #[must_use]
    pub fn of(live: &LiveToggle) -> Self {
        Self {
            version: live.version,
            by: live.modified_by.clone(),
            at: live.modified_at,
            content: live.content.clone(),
        }
    }
}

impl fmt::Display for LiveChange {
    /// Formats who changed what, without the targeting.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "version {}", self.version)?;
        if let Some(by) = &self.by {
            write!(f, " by {}", escaped(by))?;
        }
        if let Some(at) = self.at {
            write!(f, " at {}", rfc3339(at))?;
        }
        match &self.content {
            LiveContent::Known(_) => Ok(()),
            LiveContent::Inexpressible(reason) => {
                write!(f, ", which a document cannot express: {}", escaped(reason))
            }
        }
    }
}

impl LiveHold {
    /// Returns the state of the toggle.
    #[must_use]
    pub const fn state(&self) -> ToggleState {
        match self {
            Self::Drifted(_) => ToggleState::Drifted,
            _ => ToggleState::Held,
        }
    }

    /// Returns whether the permission to overwrite drift releases the change.
    #[must_use]
    pub const fn is_drift(&self) -> bool {
        matches!(self, Self::DiffersFromLive(_) | Self::Drifted(_))
    }

    /// Returns the kind of reason.
    #[must_use]
    pub const fn kind(&self) -> WithheldKind {
        match self {
            Self::ApprovalRequired => WithheldKind::ApprovalRequired,
            Self::Archived => WithheldKind::Archived,
            Self::AwaitsApproval(_) => WithheldKind::AwaitsApproval,
            Self::DiffersFromLive(_) => WithheldKind::DiffersFromLive,
            Self::Drifted(_) => WithheldKind::Drifted,
            Self::Missing | Self::Untargeted => WithheldKind::Missing,
            Self::ReturnType(_) => WithheldKind::ReturnType,
        }
    }
}

impl fmt::Display for LiveHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ApprovalRequired => f.write_str(
                "changes in this environment need an approval on the service, which a publish would bypass: make the \
                 change there, or allow it with `--on-approval bypass`",
            ),
            Self::Archived => f.write_str("the toggle is archived on the service: restore it there, or remove its file"),
            Self::AwaitsApproval(by) => {
                f.write_str("a draft")?;
                if let Some(by) = by {
                    write!(f, " by {}", escaped(by))?;
                }
                f.write_str(" awaits approval on the service: publish or cancel it there, or allow this publish with `--on-approval bypass`")
            }
            Self::DiffersFromLive(change) => write!(
                f,
                "the service has other targeting ({change}): import the toggle and commit, or publish over it with \
                 `--overwrite-drift` or the trailer `Gitoggle-Allow: overwrite-drift`"
            ),
            Self::Drifted(change) => write!(
                f,
                "changed on the service since it was last applied ({change}): import the toggle and commit, or publish \
                 over it with `--overwrite-drift` or the trailer `Gitoggle-Allow: overwrite-drift`"
            ),
            Self::Missing => f.write_str(
                "the service has no such toggle: create it there first, or have it created with `--on-missing create`",
            ),
            Self::ReturnType(reason) => escaped(reason).fmt(f),
            Self::Untargeted => f.write_str(
                "the toggle exists on the service, but has no targeting in this environment: the environment was archived \
                 when the toggle was created; restore the toggle's targeting there",
            ),
        }
    }
}

/// Decides on `change` before it is sent.
#[must_use]
pub fn decide_live(change: &Change, live: &Live, policy: &Policy) -> LiveDecision {
    let live = match live {
        // There is nothing left to disable.
        Live::Missing if change.action == Action::Disable => return LiveDecision::Converged,
        Live::Missing if policy.on_missing == OnMissing::Create && change.action != Action::Adopt => {
            return LiveDecision::Create(ReturnType::of(&change.payload.targeting().content.variations));
        }
        Live::Missing => return LiveDecision::Hold(LiveHold::Missing),
        Live::Untargeted => return LiveDecision::Hold(LiveHold::Untargeted),
        Live::Toggle(live) => live,
    };
    if live.content.payload() == Some(&change.payload) {
        return LiveDecision::Converged;
    }
    let of = || LiveChange::of(live);
    let is_live = |payload: &Payload| live.content.payload() == Some(payload);
    if change.action == Action::Adopt {
        return LiveDecision::Hold(LiveHold::DiffersFromLive(of()));
    }
    if let Some(hold) = hold(change, live, policy) {
        return LiveDecision::Hold(hold);
    }
    let publish = LiveDecision::Publish {
        base_version: live.version,
    };
    if change.overwrite == Overwrite::Allowed {
        return publish;
    }
    let drifted = LiveDecision::Hold(LiveHold::Drifted(of()));
    match &change.before {
        Before::Applied(before) | Before::Live(before) if is_live(before) => publish,
        // The first version is the one that the creation of the toggle makes, so nobody has configured it yet.
        Before::Nothing if live.version <= 1 => publish,
        Before::Nothing => LiveDecision::Hold(LiveHold::DiffersFromLive(of())),
        // The request was either the last one, or it has not arrived.
        Before::Unknown { sent, .. } if is_live(&sent.payload) || sent.base_version == Some(live.version) => {
            publish
        }
        Before::Unknown { sent, .. } => LiveDecision::ReadVersions {
            after: sent.base_version.unwrap_or(0),
        },
        // What was applied is not known, so it cannot be compared.
        Before::Applied(_) | Before::Live(_) | Before::Unreadable => drifted,
    }
}

/// Decides on `change` with the versions that [`LiveDecision::ReadVersions`] asks for: the service has neither the base
/// version of the earlier request nor its targeting.
#[must_use]
pub fn decide_by_versions(change: &Change, live: &LiveToggle, newer: &[LiveVersion]) -> LiveDecision {
    let drifted = LiveDecision::Hold(LiveHold::Drifted(LiveChange::of(live)));
    let Before::Unknown { sent, applied } = &change.before else {
        return drifted;
    };
    match resolve(&sent.payload, &sent.comment, newer) {
        // The change on top of it is drift, which concerns the next change.
        Resolution::Confirmed if change.attempt == PublishAttempt::Retry => LiveDecision::Confirmed,
        Resolution::Confirmed => drifted,
        // The request was planned, but the process died before it read the toggle.
        Resolution::Conflict | Resolution::NotStored if sent.base_version.is_none() => {
            let is_ours = match applied {
                Some(applied) => live.content.payload() == Some(applied),
                None => live.version <= 1,
            };
            match is_ours {
                true => LiveDecision::Publish {
                    base_version: live.version,
                },
                false => drifted,
            }
        }
        Resolution::Conflict | Resolution::NotStored => drifted,
    }
}

/// Returns why `change` may not be sent, whatever the toggle's targeting is.
fn hold(change: &Change, live: &LiveToggle, policy: &Policy) -> Option<LiveHold> {
    if live.is_archived {
        return Some(LiveHold::Archived);
    }
    if let Some(reason) = live.return_type.and_then(|kind| misfit(change, kind)) {
        return Some(LiveHold::ReturnType(reason));
    }
    // The service publishes over drafts and approvals without a question (`featureprobe-behaviour.md`, section 1.1).
    if policy.on_approval == OnApproval::Hold {
        if let Some(draft) = &live.draft {
            return Some(LiveHold::AwaitsApproval(draft.submitted_by.clone()));
        }
        if live.needs_approval {
            return Some(LiveHold::ApprovalRequired);
        }
    }
    None
}

/// Returns why a variation is not of the toggle's type.
fn misfit(change: &Change, kind: ReturnType) -> Option<String> {
    let variations = change.payload.targeting().content.variations;
    variations.into_iter().find_map(|variation| {
        let reason = variation_fits(kind, &variation.value).err()?;
        Some(format!(
            "the value of the variation `{}` {reason}",
            variation.name
        ))
    })
}

/// The fate of a request whose response does not say whether the service stored it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Resolution {
    /// The service stored it.
    Confirmed,
    /// Another version was published on top of the request's base version, so the request can never be stored.
    Conflict,
    /// The service still has the base version. The request may be sent again with the same base version: an earlier copy
    /// that is executed late then conflicts with it.
    NotStored,
}

/// Resolves a request with `payload` and `comment` by the versions of the toggle that are newer than its base version
/// (DESIGN, section 8.5).
#[must_use]
pub fn resolve(payload: &Payload, comment: &str, newer: &[LiveVersion]) -> Resolution {
    let is_ours =
        |version: &LiveVersion| version.content.payload() == Some(payload) && version.comment == comment;
    match newer {
        [] => Resolution::NotStored,
        newer if newer.iter().any(is_ours) => Resolution::Confirmed,
        _ => Resolution::Conflict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Attribution, CommitId, Format, LiveDraft, ObjectId, Sent, Version};
    use crate::plan::OnDrift;

    const SECOND: i64 = 1_795_274_755;

    fn payload(value: &str) -> Payload {
        Payload::from_json(&format!(
            r#"{{"disabled":true,"content":{{"rules":[],"disabledServe":{{"select":0}},"defaultServe":{{"select":0}},"variations":[{{"value":"{value}","name":"v","description":""}}]}}}}"#
        ))
        .unwrap()
    }

    fn change(before: Before) -> Change {
        Change {
            version: Version {
                id: "shop/prod/a".parse().unwrap(),
                path: "shop/prod/a.yaml".to_owned(),
                format: Format::Yaml,
                object: ObjectId([0; 20]),
                payload: payload("desired"),
            },
            action: Action::Update,
            before,
            attribution: Attribution::Uncommitted,
            comment: "c".to_owned(),
            attempt: PublishAttempt::First,
            overwrite: Overwrite::Held,
        }
    }

    fn live(version: u64, value: &str) -> LiveToggle {
        LiveToggle {
            version,
            content: LiveContent::Known(payload(value)),
            modified_by: Some("Eve\n".to_owned()),
            modified_at: Some(SECOND),
            draft: None,
            is_archived: false,
            needs_approval: false,
            return_type: Some(ReturnType::String),
        }
    }

    fn toggle(live: LiveToggle) -> Live {
        Live::Toggle(Box::new(live))
    }

    fn word(decision: &LiveDecision) -> String {
        match decision {
            LiveDecision::Converged => "converged".to_owned(),
            LiveDecision::Create(kind) => format!("create {}", kind.as_str()),
            LiveDecision::Hold(hold) => hold.kind().as_str().to_owned(),
            LiveDecision::Publish { base_version } => format!("publish on {base_version}"),
            LiveDecision::Confirmed => "confirmed".to_owned(),
            LiveDecision::ReadVersions { after } => format!("read versions after {after}"),
        }
    }

    #[test]
    fn a_change_is_sent_only_over_what_was_applied_or_never_configured() {
        let unknown = |base_version| unknown(base_version, None);
        for (before, version, value, expected) in [
            (Before::Applied(payload("old")), 7, "old", "publish on 7"),
            (Before::Applied(payload("old")), 7, "desired", "converged"),
            (Before::Applied(payload("old")), 7, "other", "drifted"),
            (Before::Nothing, 1, "other", "publish on 1"),
            (Before::Nothing, 2, "other", "differs_from_live"),
            (Before::Nothing, 2, "desired", "converged"),
            (unknown(Some(7)), 7, "old", "publish on 7"),
            (unknown(Some(7)), 8, "sent", "publish on 8"),
            (unknown(Some(7)), 8, "other", "read versions after 7"),
            (unknown(None), 8, "other", "read versions after 0"),
            (Before::Live(payload("other")), 8, "other", "publish on 8"),
            (Before::Live(payload("other")), 9, "newer", "drifted"),
            (Before::Unreadable, 3, "old", "drifted"),
            (Before::Unreadable, 3, "desired", "converged"),
        ] {
            let change = change(before);
            let decision = decide_live(&change, &toggle(live(version, value)), &Policy::default());
            assert_eq!(word(&decision), expected, "{:?} {version} {value}", change.before);
            let allowed = Change {
                overwrite: Overwrite::Allowed,
                ..change
            };
            let decision = decide_live(&allowed, &toggle(live(version, value)), &Policy::default());
            assert!(
                matches!(decision, LiveDecision::Publish { .. } | LiveDecision::Converged),
                "{decision:?}"
            );
        }
    }

    fn unknown(base_version: Option<u64>, applied: Option<&str>) -> Before {
        Before::Unknown {
            sent: Box::new(Sent {
                action: Action::Update,
                payload: payload("sent"),
                comment: "c".to_owned(),
                object: ObjectId([1; 20]),
                format: Format::Yaml,
                path: "shop/prod/a.yaml".to_owned(),
                revision: CommitId(ObjectId([2; 20])),
                base_version,
            }),
            applied: applied.map(payload),
        }
    }

    fn version(version: u64, value: &str, comment: &str) -> LiveVersion {
        LiveVersion {
            version,
            content: LiveContent::Known(payload(value)),
            comment: comment.to_owned(),
            created_by: None,
            created_at: None,
        }
    }

    #[test]
    fn an_unknown_request_is_found_among_the_versions() {
        let ours = || version(8, "sent", "c");
        let other = || version(9, "other", "d");
        for (base_version, applied, newer, live_value, retry, first) in [
            (
                Some(7),
                None,
                vec![other(), ours()],
                "other",
                "confirmed",
                "drifted",
            ),
            (Some(7), Some("old"), vec![other()], "old", "drifted", "drifted"),
            (
                None,
                Some("old"),
                vec![other()],
                "old",
                "publish on 9",
                "publish on 9",
            ),
            (
                None,
                Some("old"),
                vec![other(), ours()],
                "old",
                "confirmed",
                "drifted",
            ),
            (None, Some("old"), vec![other()], "other", "drifted", "drifted"),
            (None, None, vec![other()], "other", "drifted", "drifted"),
        ] {
            for (attempt, expected) in [(PublishAttempt::Retry, retry), (PublishAttempt::First, first)] {
                let change = Change {
                    attempt,
                    ..change(unknown(base_version, applied))
                };
                let decision = decide_by_versions(&change, &live(9, live_value), &newer);
                assert_eq!(
                    word(&decision),
                    expected,
                    "{base_version:?} {applied:?} {newer:?}"
                );
            }
        }
    }

    #[test]
    fn a_value_that_is_not_of_the_toggles_type_is_held_with_the_reason() {
        let typed = LiveToggle {
            return_type: Some(ReturnType::Number),
            ..live(7, "old")
        };
        let change = change(Before::Applied(payload("old")));
        let decision = decide_live(&change, &toggle(typed), &Policy::default());
        let LiveDecision::Hold(hold) = decision else {
            panic!("{decision:?}")
        };
        insta::assert_snapshot!(hold, @"the value of the variation `v` is not a decimal number, but the toggle's type is `number`");
    }

    #[test]
    fn an_adopted_document_is_recorded_or_held_but_never_sent() {
        let create = Policy {
            on_missing: OnMissing::Create,
            ..Policy::default()
        };
        let adopt = Change {
            action: Action::Adopt,
            overwrite: Overwrite::Allowed,
            ..change(Before::Nothing)
        };
        for (live, expected) in [
            (toggle(live(1, "desired")), "converged"),
            (toggle(live(1, "other")), "differs_from_live"),
            (Live::Missing, "missing"),
        ] {
            assert_eq!(word(&decide_live(&adopt, &live, &create)), expected);
        }
    }

    #[test]
    fn archived_toggles_drafts_and_approvals_hold_a_change_unless_it_has_no_effect() {
        let applied = || live(7, "old");
        let draft = || Some(LiveDraft { submitted_by: None });
        for (live, held, bypassed) in [
            (
                LiveToggle {
                    is_archived: true,
                    ..applied()
                },
                "archived",
                "archived",
            ),
            (
                LiveToggle {
                    draft: draft(),
                    ..applied()
                },
                "awaits_approval",
                "publish on 7",
            ),
            (
                LiveToggle {
                    needs_approval: true,
                    ..applied()
                },
                "approval_required",
                "publish on 7",
            ),
            (
                LiveToggle {
                    draft: draft(),
                    ..live(7, "desired")
                },
                "converged",
                "converged",
            ),
        ] {
            // The permission to overwrite drift is not one to bypass an approval.
            let change = Change {
                overwrite: Overwrite::Allowed,
                ..change(Before::Applied(payload("old")))
            };
            let bypass = Policy {
                on_approval: OnApproval::Bypass,
                on_drift: OnDrift::Overwrite,
                ..Policy::default()
            };
            let live = toggle(live);
            assert_eq!(word(&decide_live(&change, &live, &Policy::default())), held);
            assert_eq!(word(&decide_live(&change, &live, &bypass)), bypassed);
        }
    }

    #[test]
    fn a_missing_toggle_is_held_or_created_and_needs_no_disabling() {
        let create = Policy {
            on_missing: OnMissing::Create,
            ..Policy::default()
        };
        let update = change(Before::Nothing);
        let disable = Change {
            action: Action::Disable,
            ..update.clone()
        };
        for (change, live, policy, expected) in [
            (&update, Live::Missing, &Policy::default(), "missing"),
            (&update, Live::Missing, &create, "create string"),
            (&disable, Live::Missing, &create, "converged"),
            (&update, Live::Untargeted, &create, "missing"),
        ] {
            assert_eq!(word(&decide_live(change, &live, policy)), expected);
        }
    }

    #[test]
    fn a_hold_says_who_changed_what_and_what_to_do() {
        let text = LiveHold::Drifted(LiveChange::of(&live(7, "x"))).to_string();
        insta::assert_snapshot!(text, @r"changed on the service since it was last applied (version 7 by Eve\n at 2026-11-21T15:25:55Z): import the toggle and commit, or publish over it with `--overwrite-drift` or the trailer `Gitoggle-Allow: overwrite-drift`");
    }

    #[test]
    fn a_lost_request_is_resolved_by_the_newer_versions() {
        for (newer, expected) in [
            (vec![], Resolution::NotStored),
            (vec![version(8, "desired", "c")], Resolution::Confirmed),
            (
                vec![version(9, "other", "d"), version(8, "desired", "c")],
                Resolution::Confirmed,
            ),
            (vec![version(8, "desired", "d")], Resolution::Conflict),
            (vec![version(8, "other", "c")], Resolution::Conflict),
        ] {
            assert_eq!(resolve(&payload("desired"), "c", &newer), expected, "{newer:?}");
        }
    }
}
