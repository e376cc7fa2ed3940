//! States of toggles and outcomes of publishes, with one spelling in text, JSON, metrics and on the page.

use std::fmt;

use serde::Deserialize;

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
    /// The kind of reason for which a toggle is withheld.
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    WithheldKind {
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
    }
    /// The outcome of a publish.
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

impl WithheldKind {
    /// Returns whether it is about the live state of the toggle.
    #[must_use]
    pub fn is_live(self) -> bool {
        match self {
            Self::ApprovalRequired
            | Self::Archived
            | Self::AwaitsApproval
            | Self::DiffersFromLive
            | Self::Drifted
            | Self::Missing
            | Self::ReturnType => true,
            Self::Environment
            | Self::FailedAlone
            | Self::FirstPass
            | Self::Invalid
            | Self::NotReviewed
            | Self::Rail
            | Self::Refused
            | Self::Stopped
            | Self::Suspended
            | Self::Unknown => false,
        }
    }
}

impl fmt::Display for WithheldKind {
    /// Formats the word with spaces.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_str().replace('_', " "))
    }
}
