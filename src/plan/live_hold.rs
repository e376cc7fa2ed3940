//! Why the live state of a toggle holds a change, with the way out.

use std::fmt;

use crate::model::{Action, LiveContent, LiveToggle, ToggleId, ToggleState, WithheldKind, escaped, rfc3339};

/// Why the live state of a toggle holds a change to it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LiveHold {
    /// The environment needs approvals, and a publish would bypass them.
    ApprovalRequired,
    /// The toggle is archived, and this was asked for.
    Archived(Action),
    /// A draft awaits approval; submitted by this account.
    AwaitsApproval(Option<String>),
    /// The service has another version than the one that an operator allowed to overwrite.
    ChangedAgain {
        /// The newest change.
        made: LiveChange,
        /// The version that may be overwritten; 0 if the service did not have the toggle.
        allowed: u64,
    },
    /// Nothing is applied, and the service has other targeting than the document.
    DiffersFromLive(LiveChange),
    /// The service has other targeting than was last applied.
    Drifted(LiveChange),
    /// The service has no such toggle, and this was asked for.
    Missing(Action),
    /// The service has other targeting than the document that a first pass is to adopt.
    NotAdopted(LiveChange),
    /// A variation is not of the toggle's return type, for this reason.
    ReturnType(String),
    /// The toggle has no targeting in this environment.
    Untargeted,
}

/// A change that was made on the service.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LiveChange {
    /// The toggle.
    pub id: ToggleId,
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
    pub fn of(id: &ToggleId, live: &LiveToggle) -> Self {
        Self {
            id: id.clone(),
            version: live.version,
            by: live.modified_by.clone(),
            at: live.modified_at,
            content: live.content.clone(),
        }
    }

    /// Returns the version, who made it, and when.
    pub(super) fn author(&self) -> String {
        let by = self.by.as_ref().map(|by| format!(" by {}", escaped(by)));
        let at = self.at.map(|at| format!(" at {}", rfc3339(at)));
        let (by, at) = (by.unwrap_or_default(), at.unwrap_or_default());
        format!("version {}{by}{at}", self.version)
    }

    /// Returns how to keep it, as a request.
    fn keep(&self) -> String {
        let toggle = &self.id;
        let import = format!("`gitoggle import {toggle} --overwrite` and commit");
        match self.content {
            LiveContent::Known(_) => format!("to keep that, {import}"),
            LiveContent::Inexpressible(_) => format!("to keep that, correct it there, then {import}"),
        }
    }
}

impl LiveChange {
    /// Formats why it holds a change, with the ways out.
    fn held(&self, f: &mut fmt::Formatter<'_>, why: &str) -> fmt::Result {
        write!(
            f,
            "{why} ({self}): {}; to publish over it, `gitoggle apply --overwrite-drift --only {}`, the trailer \
             `Gitoggle-Allow: overwrite-drift` on the commit, or `gitoggle allow overwrite-drift {}` for a running daemon",
            self.keep(),
            self.id,
            self.id
        )
    }

    /// Returns how to keep it and how to undo it.
    pub(super) fn ways_out(&self) -> String {
        let (keep, toggle) = (self.keep(), &self.id);
        format!(
            "{keep}; to undo it, `gitoggle apply --overwrite-drift --only {toggle}`, or `gitoggle allow overwrite-drift \
             {toggle}` for a running daemon"
        )
    }
}

impl fmt::Display for LiveChange {
    /// Formats who changed what, without the targeting.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.author())?;
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
            Self::ChangedAgain { .. } | Self::Drifted(_) => ToggleState::Drifted,
            _ => ToggleState::Held,
        }
    }

    /// Returns the change that the permission to overwrite drift covers.
    #[must_use]
    pub fn covered(&self) -> Option<&LiveChange> {
        match self {
            Self::ChangedAgain { made, .. } | Self::DiffersFromLive(made) | Self::Drifted(made) => Some(made),
            _ => None,
        }
    }

    /// Returns whether the permission to overwrite drift releases the change.
    #[must_use]
    pub const fn is_drift(&self) -> bool {
        self.live_version().is_some()
    }

    /// Returns the live version that the permission to overwrite drift concerns, if it releases the change.
    #[must_use]
    pub const fn live_version(&self) -> Option<u64> {
        match self {
            Self::ChangedAgain { made, .. }
            | Self::DiffersFromLive(made)
            | Self::Drifted(made)
            | Self::NotAdopted(made) => Some(made.version),
            Self::ApprovalRequired
            | Self::Archived(_)
            | Self::AwaitsApproval(_)
            | Self::Missing(_)
            | Self::ReturnType(_)
            | Self::Untargeted => None,
        }
    }

    /// Returns the kind of reason.
    #[must_use]
    pub const fn kind(&self) -> WithheldKind {
        match self {
            Self::ApprovalRequired => WithheldKind::ApprovalRequired,
            Self::Archived(_) => WithheldKind::Archived,
            Self::AwaitsApproval(_) => WithheldKind::AwaitsApproval,
            Self::DiffersFromLive(_) | Self::NotAdopted(_) => WithheldKind::DiffersFromLive,
            Self::ChangedAgain { .. } | Self::Drifted(_) => WithheldKind::Drifted,
            Self::Missing(_) | Self::Untargeted => WithheldKind::Missing,
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
            Self::Archived(Action::Disable) => f.write_str(
                "the toggle is archived on the service, so SDKs do not get it anymore: forget it with `--on-remove forget`, \
                 or restore it there to have it disabled",
            ),
            Self::Archived(_) => {
                f.write_str("the toggle is archived on the service: restore it there, or remove its file")
            }
            Self::AwaitsApproval(by) => {
                f.write_str("a draft")?;
                if let Some(by) = by {
                    write!(f, " by {}", escaped(by))?;
                }
                f.write_str(" awaits approval on the service: publish or cancel it there, or allow this publish with `--on-approval bypass`")
            }
            Self::ChangedAgain { made, allowed: 0 } => write!(
                f,
                "created on the service after it was allowed to be created again ({made}): {}; to publish over it, allow that \
                 again",
                made.keep()
            ),
            Self::ChangedAgain { made, allowed } => write!(
                f,
                "changed on the service again, after version {allowed} was allowed to be overwritten ({made}): {}; to publish \
                 over it, allow that again",
                made.keep()
            ),
            Self::DiffersFromLive(change) => change.held(f, "the service has other targeting"),
            Self::Drifted(change) => change.held(f, "changed on the service since it was last applied"),
            Self::Missing(Action::Adopt) => f.write_str(
                "the service has no such toggle, and a first pass that adopts creates none: create it there first, or have it \
                 created and published with `--on-missing create` in a later pass (or with `--first-pass assert`, while \
                 nothing is applied here)",
            ),
            Self::Missing(_) => f.write_str(
                "the service has no such toggle: create it there first, or have it created with `--on-missing create`",
            ),
            Self::NotAdopted(change) => write!(
                f,
                "not adopted, because the service has other targeting ({change}): {}; to publish the document instead, use \
                 `gitoggle apply --overwrite-drift --only {}` once something is adopted here, or `--first-pass assert` before",
                change.keep(),
                change.id
            ),
            Self::ReturnType(reason) => write!(
                f,
                "{}: correct the document, or use a toggle of another type",
                escaped(reason)
            ),
            Self::Untargeted => f.write_str(
                "the toggle exists on the service, but has no targeting in this environment: the environment was archived \
                 when the toggle was created; restore the toggle's targeting there",
            ),
        }
    }
}
