//! A toggle on the service: what it has, what was sent, and why something is not sent.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::text::hex;
use super::{CommitId, ObjectId, Override, Payload, ReturnType, ToggleId, escaped};

/// What the service has for a toggle in one environment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Live {
    /// The service has no such toggle.
    Missing {
        /// Whether changes in its environment need an approval.
        needs_approval: bool,
    },
    Toggle(Box<LiveToggle>),
    /// The toggle exists, but without a targeting in this environment.
    Untargeted,
}

/// The live state of a toggle. What the service does not report is absent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LiveToggle {
    pub id: ToggleId,
    /// The number of the live version. Never that of a draft.
    pub version: u64,
    /// The live targeting. Never that of a draft.
    pub content: LiveContent,
    /// The account that made this version.
    pub modified_by: Option<String>,
    /// When it did, in seconds since 1970-01-01 UTC. Only for display: the service's dates differ by a second.
    pub modified_at: Option<i64>,
    /// The change that awaits approval.
    pub draft: Option<LiveDraft>,
    pub is_archived: bool,
    /// Whether changes in this environment need an approval.
    pub needs_approval: bool,
    pub return_type: Option<ReturnType>,
}

/// A change on the service that awaits approval there.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LiveDraft {
    pub submitted_by: Option<String>,
}

/// The targeting that the service has.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LiveContent {
    /// A document cannot express it, for this reason.
    Inexpressible(String),
    Known(Payload),
}

impl LiveContent {
    /// Returns the targeting, if a document can express it.
    pub fn payload(&self) -> Option<&Payload> {
        match self {
            Self::Inexpressible(_) => None,
            Self::Known(payload) => Some(payload),
        }
    }
}

/// One entry of a toggle's history on the service.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LiveVersion {
    pub version: u64,
    pub content: LiveContent,
    pub comment: String,
    /// The account that published it.
    pub created_by: Option<String>,
    /// When it did, in seconds since 1970-01-01 UTC.
    pub created_at: Option<i64>,
}

super::words! {
    /// The extension of a document.
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    Format {
        /// `.json`: only in what earlier versions recorded.
        Json = "json",
        /// `.yaml`.
        Yaml = "yaml",
        /// `.yml`.
        Yml = "yml",
    }
}

/// A valid document and its path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Version {
    pub id: ToggleId,
    /// The path under the root.
    pub path: Box<str>,
    pub format: Format,
    /// The blob; for a `disable`, the applied one.
    pub object: ObjectId,
    /// The targeting; for a `disable`, the one that is sent.
    pub payload: Payload,
}

super::words! {
    /// The effect of a change on a toggle.
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    Action {
        /// The document is recorded as applied if the service has the same targeting, and held if not. Never sent.
        Adopt = "adopt",
        /// The toggle is not applied yet.
        Create = "create",
        /// Its file was removed, and `on_remove: disable` applies.
        Disable = "disable",
        /// Other targeting is applied.
        Update = "update",
    }

    /// Details of a request besides its action, for the deployment history.
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    SentNote {
        /// Nothing was sent, because the service had the targeting already.
        Converged = "converged",
        /// The service had other targeting than what was last applied.
        Overwrites = "overwrites",
    }
}

/// A request as it is journaled before it is sent, complete enough to repeat it byte for byte.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Sent {
    pub action: Action,
    /// The desired targeting.
    #[serde(serialize_with = "unparsed")]
    pub payload: Payload,
    /// The comment, within the length limit.
    pub comment: String,
    /// The blob of the document.
    pub object: ObjectId,
    /// The document's extension.
    pub format: Format,
    /// The document's path under the root.
    pub path: String,
    /// The source revision of the plan.
    pub revision: CommitId,
    /// The live version that the request replaces, if the service compares it (DESIGN, section 8.5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_version: Option<u64>,
    /// Details for the deployment history besides the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<SentNote>,
    /// The requests with an unknown outcome that this one replaced, oldest first. The service may have stored each of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<TargetingDigest>,
    /// Whether another process has recorded the outcome of a later request. Only a delayed execution can then have stored
    /// this one on top of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overtaken: bool,
    /// The revision at which the first pass of the environment was asserted, if the request belongs to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asserted: Option<CommitId>,
    /// Whether the rails let the change through without a permission of the run, so that it does not count again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passed: bool,
    /// The mark of the announcement that listed the request, unless it is known to have started. Only the process with this
    /// mark can know that it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced: Option<String>,
}

fn unparsed<S: serde::Serializer>(payload: &Payload, serializer: S) -> Result<S::Ok, S::Error> {
    // The payload is JSON already, and parsing it again for each journaled request would take long.
    let raw = RawValue::from_string(payload.json()).map_err(serde::ser::Error::custom)?;
    raw.serialize(serializer)
}

/// The number of replaced requests that a request remembers.
const MOST_EARLIER: usize = 16;

impl Sent {
    /// Returns [`Sent::earlier`] of a request with `next` that replaces this one.
    pub(crate) fn earlier_than(&self, next: &Payload) -> Vec<TargetingDigest> {
        let mut earlier = self.earlier.clone();
        let digest = TargetingDigest::new(&self.payload);
        if self.payload != *next && !earlier.contains(&digest) {
            earlier.push(digest);
        }
        let excess = earlier.len().saturating_sub(MOST_EARLIER);
        drop(earlier.drain(..excess));
        earlier
    }

    /// Adds what `other` may have stored, whose place this request takes on a list of unknown requests.
    pub(crate) fn remember(&mut self, other: &Self) {
        let mut earlier = other.earlier_than(&self.payload);
        earlier.retain(|digest| !self.earlier.contains(digest));
        self.earlier.splice(..0, earlier);
        let excess = self.earlier.len().saturating_sub(MOST_EARLIER);
        drop(self.earlier.drain(..excess));
    }

    /// Returns whether the service may have `live` because of this request or one that it replaced.
    pub(crate) fn may_have_stored(&self, live: &Payload) -> bool {
        self.payload == *live || self.earlier.contains(&TargetingDigest::new(live))
    }
}

/// The SHA-256 of targeting, in hexadecimal digits.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct TargetingDigest(String);

impl TargetingDigest {
    /// Returns the digest of `payload`.
    pub(crate) fn new(payload: &Payload) -> Self {
        Self(hex(&Sha256::digest(payload.json())))
    }
}

/// The SHA-256 of an action and its targeting, in hexadecimal digits. Identifies a request for a toggle. The comment is
/// not part of it.
#[derive(Clone, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct RequestDigest(String);

impl RequestDigest {
    pub(crate) fn new(action: Action, payload: &Payload) -> Self {
        let mut hash = Sha256::new();
        // A refused update must not also park the disable that replaces it. A create sends the same as an update.
        let is_disable = action == Action::Disable;
        hash.update(if is_disable { "disable" } else { "publish" });
        hash.update([0]);
        hash.update(payload.json());
        Self(hex(&hash.finalize()))
    }
}

/// What is known about whether the service stored a request.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Certainty {
    /// It did not.
    // The words are those of journals on disk, so they stay when a variant is renamed.
    #[serde(rename = "not_applied")]
    NotStored,
    /// It did.
    #[serde(rename = "applied")]
    Stored,
    /// Either is possible: the toggle is unknown.
    #[serde(rename = "unknown")]
    Unknown,
}

super::words! {
    /// The state of a toggle, in display order.
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    ToggleState {
        /// Refused by the service, or parked.
        Failed = "failed",
        /// The service has other targeting than was last applied.
        Drifted = "drifted",
        /// Withheld: invalid, a rail, a first pass.
        Held = "held",
        /// Not published yet: also unknown, busy or suspended.
        Pending = "pending",
        /// Applied, but its file was removed.
        Orphan = "orphan",
        /// The applied targeting is the desired one.
        InSync = "in_sync",
    }
    PublishOutcome {
        /// The service confirmed the request.
        Applied = "applied",
        /// The service was overloaded or unreachable.
        Busy = "busy",
        /// The token has no permission to change the toggle.
        Forbidden = "forbidden",
        /// The request was sent, and no response arrived.
        Lost = "lost",
        /// The response does not come from the service.
        Misrouted = "misrouted",
        /// The service refused the request.
        Refused = "refused",
        /// The service rejected the token.
        Unauthorized = "unauthorized",
        /// The server's certificate is not valid.
        Untrusted = "untrusted",
    }
}

super::words! {
    /// The kind of reason for which a toggle is withheld.
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    HoldKind {
        /// The environment needs approvals, and a publish would bypass them.
        ApprovalRequired = "approval_required",
        /// The toggle is archived on the service.
        Archived = "archived",
        /// A draft on the service awaits approval.
        AwaitsApproval = "awaits_approval",
        /// Nothing is applied for the toggle, and the service has other targeting than the document.
        DiffersFromLive = "differs_from_live",
        /// The toggle was changed on the service since it was last applied.
        Drifted = "drifted",
        /// The whole environment is held: all of its documents were removed.
        Environment = "environment",
        /// The publish failed although others succeeded.
        FailedAlone = "failed_alone",
        /// Nothing is applied in the environment, and nothing decides on the first pass.
        FirstPass = "first_pass",
        /// The document is invalid.
        Invalid = "invalid",
        /// The service has no such toggle.
        Missing = "missing",
        /// No review lists the change.
        NotReviewed = "not_reviewed",
        /// The environment is over a limit.
        Rail = "rail",
        /// The service refused the request.
        Refused = "refused",
        /// A variation is not of the toggle's return type.
        ReturnType = "return_type",
        /// Another document is invalid, and `on_invalid: stop` holds everything.
        Stopped = "stopped",
        /// An operator suspended publishing.
        Suspended = "suspended",
        /// The last outcome is unknown, and the request cannot be retried.
        Unknown = "unknown",
        /// No change window is open.
        Window = "window",
    }
}

/// Why a change is not sent, or is not confirmed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Hold {
    /// The kind of reason; none if nothing was decided against the change: the service has not confirmed it yet.
    pub kind: Option<HoldKind>,
    pub state: ToggleState,
    /// The reason in one line, with the ways out.
    #[serde(rename = "reason")]
    pub text: String,
    /// The decisions of operators that release the change.
    #[serde(default)]
    pub releases: Vec<Override>,
    /// The live version that a permission to overwrite drift covers, 0 if the service does not have the toggle; none if
    /// such a permission has no effect.
    #[serde(default, rename = "live_version")]
    pub version: Option<u64>,
    /// The time at which a change window opens, in seconds since 1970-01-01 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens: Option<i64>,
}

impl Hold {
    /// Creates a hold with what the kind of reason entails.
    pub(crate) fn new(kind: HoldKind, text: impl Into<String>) -> Self {
        let (state, releases) = kind.entails();
        Self {
            kind: Some(kind),
            state,
            text: text.into(),
            releases: releases.to_vec(),
            version: None,
            opens: None,
        }
    }

    /// Creates a hold because of what the service has: `version`.
    pub(crate) fn over(kind: HoldKind, version: u64, text: impl Into<String>) -> Self {
        Self { version: Some(version), ..Self::new(kind, text) }
    }

    /// Creates the reason for a state that nothing was decided about.
    pub(crate) fn undecided(state: ToggleState, text: impl Into<String>) -> Self {
        Self { kind: None, state, text: text.into(), releases: Vec::new(), version: None, opens: None }
    }

    /// Returns the hold of the same request in a later pass, which does not send it.
    pub(crate) fn later(&self) -> Self {
        let before = match self.kind {
            Some(HoldKind::FailedAlone) => "failed alone, tried again after a while: ",
            Some(HoldKind::Refused) => "refused by the service: ",
            _ => "",
        };
        Self { text: format!("{before}{}", escaped(&self.text)), ..self.clone() }
    }

    /// Returns whether it is about the live state of the toggle.
    pub(crate) fn is_live(&self) -> bool {
        self.kind.is_some_and(HoldKind::is_live)
    }

    /// Returns whether the change was not tried at this revision, neither on the service nor by reading its live state.
    pub(crate) fn is_untried(&self) -> bool {
        match self.kind {
            Some(HoldKind::Invalid | HoldKind::Refused | HoldKind::Unknown) => false,
            Some(kind) => !kind.is_live(),
            None => true,
        }
    }

    /// Returns whether an operator has to decide (exit code 4).
    pub(crate) fn needs_decision(&self) -> bool {
        match self.kind {
            // The invalid document behind `Stopped` has its own exit code (3), and what failed is tried again.
            Some(HoldKind::FailedAlone | HoldKind::Invalid | HoldKind::Refused | HoldKind::Stopped)
            | None => false,
            Some(HoldKind::Unknown) => !self.releases.is_empty(),
            Some(_) => true,
        }
    }
}

impl HoldKind {
    /// Returns the state of the toggle, and the decisions of operators that release it.
    fn entails(self) -> (ToggleState, &'static [Override]) {
        match self {
            Self::ApprovalRequired
            | Self::Archived
            | Self::AwaitsApproval
            | Self::Invalid
            | Self::Missing
            | Self::NotReviewed
            | Self::ReturnType
            | Self::Stopped => (ToggleState::Held, &[]),
            Self::DiffersFromLive => {
                (ToggleState::Held, &[Override::FirstPassAssert, Override::OverwriteDrift])
            }
            Self::Drifted => (ToggleState::Drifted, &[Override::OverwriteDrift]),
            Self::Environment | Self::Rail => (ToggleState::Held, &[Override::MassChange]),
            Self::FailedAlone | Self::Refused => (ToggleState::Failed, &[]),
            Self::FirstPass => (ToggleState::Held, &[Override::FirstPassAdopt, Override::FirstPassAssert]),
            Self::Window => (ToggleState::Held, &[Override::Window]),
            Self::Suspended | Self::Unknown => (ToggleState::Pending, &[]),
        }
    }

    /// Returns whether it is about the live state of the toggle.
    pub(crate) fn is_live(self) -> bool {
        matches!(
            self,
            Self::ApprovalRequired
                | Self::Archived
                | Self::AwaitsApproval
                | Self::DiffersFromLive
                | Self::Drifted
                | Self::Missing
                | Self::ReturnType
        )
    }
}

impl fmt::Display for HoldKind {
    /// Formats the word with spaces.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_str().replace('_', " "))
    }
}

/// A request that was held, or that the service has not confirmed. Any other request for the toggle is new (DESIGN,
/// section 6).
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct HeldRequest {
    pub request: RequestDigest,
    #[serde(flatten)]
    pub hold: Hold,
    /// The number of the pass that sent it last, 0 if none did. Grows with every pass that leaves an unconfirmed request.
    #[serde(default)]
    pub pass: u64,
    /// Present if the request failed alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<Alone>,
}

impl HeldRequest {
    /// Creates the entry of a request that was not sent.
    pub(crate) fn new(request: RequestDigest, hold: Hold) -> Self {
        Self { request, hold, pass: 0, alone: None }
    }
}

/// The backoff of a request that failed while others were applied.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Alone {
    pub failures: u32,
    /// The time of the next try, in seconds since 1970-01-01 UTC.
    pub retry_at: i64,
}
