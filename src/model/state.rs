//! The states of a toggle and of a publish: closed sets with one spelling in text, JSON, metrics and on the page.

use std::fmt;

super::words! {
    /// The state of a toggle, in the order in which people see them.
    ToggleState {
        /// Refused by the service, or parked.
        Failed = "failed",
        /// Deliberately left alone: invalid, a rail, a first pass.
        Held = "held",
        /// Still to be sent: also unknown, busy or suspended.
        Pending = "pending",
        /// Applied, but its file is gone.
        Orphan = "orphan",
        /// What was last applied is what the repository asks for.
        InSync = "in_sync",
    }
    /// The kind of reason for which a toggle is withheld.
    WithheldKind {
        /// Its whole environment is held: all of its documents were removed.
        Environment = "environment",
        /// The service did not confirm it although it applied others.
        FailedAlone = "failed_alone",
        /// Nothing is applied in its environment, and no `--first-pass` decides.
        FirstPass = "first_pass",
        /// Its document is invalid.
        Invalid = "invalid",
        /// Its environment is over a limit.
        Rail = "rail",
        /// The service refused it.
        Refused = "refused",
        /// Another document is invalid, and `on_invalid: stop` holds everything.
        Stopped = "stopped",
        /// An operator suspended publishing.
        Suspended = "suspended",
        /// Its last outcome is unknown, and it cannot be sent again.
        Unknown = "unknown",
    }
    /// How one publish ended.
    PublishOutcome {
        /// The service confirmed it.
        Applied = "applied",
        /// The service had no time for it, or could not be reached.
        Busy = "busy",
        /// The token may not change the toggle.
        Forbidden = "forbidden",
        /// The request left and no answer came.
        Lost = "lost",
        /// The answer is not one of the service.
        Misrouted = "misrouted",
        /// The service refused the request.
        Refused = "refused",
        /// The service did not accept the token.
        Unauthorised = "unauthorised",
        /// The server's certificate does not verify.
        Untrusted = "untrusted",
    }
}

impl fmt::Display for WithheldKind {
    /// The same word with spaces.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_str().replace('_', " "))
    }
}
