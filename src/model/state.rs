//! States of toggles and outcomes of publishes, with one spelling in text, JSON, metrics and on the page.

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
