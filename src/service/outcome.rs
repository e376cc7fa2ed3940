//! The outcomes of a publish (DESIGN, section 6).

use std::fmt;
use std::time::Duration;

use crate::model::{Certainty, PublishOutcome};
use crate::transport::CertificateFault;

/// The outcome of one publish. `reason` is one sentence. The service's text in it is escaped and short, and never
/// contains the token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The service stored the document.
    Applied { status: u16 },
    /// The service could not be reached, is overloaded, or failed.
    Busy {
        /// The status of the response; `None` if no connection was made.
        status: Option<u16>,
        /// The `Retry-After` of the response.
        retry_after: Option<Duration>,
        /// Whether the service may have stored the document.
        certainty: Certainty,
        reason: String,
    },
    /// The token may not change this toggle.
    Forbidden {
        /// Whether the service may have stored the document.
        certainty: Certainty,
        reason: String,
    },
    /// The request was sent, but no complete response arrived.
    Lost { reason: String },
    /// The response is not from the service.
    Misrouted {
        status: u16,
        /// Whether the service may have stored the document.
        certainty: Certainty,
        /// The failure, and what to check.
        reason: String,
    },
    /// The service rejected this document.
    Refused {
        status: u16,
        /// The `code` of the response body, if it has one.
        code: Option<String>,
        /// Whether the service may have stored the document.
        certainty: Certainty,
        reason: String,
    },
    /// The service does not accept the token.
    Unauthorized {
        status: u16,
        /// Whether the service may have stored the document.
        certainty: Certainty,
        reason: String,
    },
    /// The server's certificate does not verify, so nothing was sent.
    Untrusted {
        /// What is wrong with the certificate.
        fault: CertificateFault,
        /// The failure, and how to fix it.
        reason: String,
    },
}

impl Outcome {
    /// Returns whether the service stored the document.
    pub const fn certainty(&self) -> Certainty {
        match self {
            Self::Applied { status: _ } => Certainty::Stored,
            Self::Lost { reason: _ } => Certainty::Unknown,
            // The handshake failed before the request was sent.
            Self::Untrusted { .. } => Certainty::NotStored,
            Self::Busy { certainty, .. }
            | Self::Forbidden { certainty, .. }
            | Self::Misrouted { certainty, .. }
            | Self::Refused { certainty, .. }
            | Self::Unauthorized { certainty, .. } => *certainty,
        }
    }

    /// Returns the outcome without its details.
    pub const fn kind(&self) -> PublishOutcome {
        match self {
            Self::Applied { .. } => PublishOutcome::Applied,
            Self::Busy { .. } => PublishOutcome::Busy,
            Self::Forbidden { .. } => PublishOutcome::Forbidden,
            Self::Lost { .. } => PublishOutcome::Lost,
            Self::Misrouted { .. } => PublishOutcome::Misrouted,
            Self::Refused { .. } => PublishOutcome::Refused,
            Self::Unauthorized { .. } => PublishOutcome::Unauthorized,
            Self::Untrusted { .. } => PublishOutcome::Untrusted,
        }
    }

    /// Returns the status of the response, if there was one and the outcome depends on it.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Applied { status }
            | Self::Misrouted { status, .. }
            | Self::Refused { status, .. }
            | Self::Unauthorized { status, .. } => Some(*status),
            Self::Busy { status, .. } => *status,
            Self::Forbidden { .. } => Some(403),
            Self::Lost { .. } | Self::Untrusted { .. } => None,
        }
    }

    /// Returns the outcome of a read that failed: the service certainly stored nothing, and nothing was lost.
    pub(super) fn of_read(self) -> Self {
        let stored_nothing = Certainty::NotStored;
        match self {
            Self::Lost { reason } => {
                Self::Busy { status: None, retry_after: None, certainty: stored_nothing, reason }
            }
            mut other => {
                match &mut other {
                    Self::Busy { certainty, .. }
                    | Self::Forbidden { certainty, .. }
                    | Self::Misrouted { certainty, .. }
                    | Self::Refused { certainty, .. }
                    | Self::Unauthorized { certainty, .. } => *certainty = stored_nothing,
                    Self::Applied { .. } | Self::Lost { .. } | Self::Untrusted { .. } => {}
                }
                other
            }
        }
    }
}

#[cfg(test)]
impl Outcome {
    pub(crate) const fn as_str(&self) -> &'static str {
        self.kind().as_str()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Applied { status } => write!(f, "the service responded with {status}"),
            Self::Busy { reason, .. }
            | Self::Forbidden { reason, .. }
            | Self::Lost { reason }
            | Self::Misrouted { reason, .. }
            | Self::Refused { reason, .. }
            | Self::Unauthorized { reason, .. }
            | Self::Untrusted { reason, .. } => f.write_str(reason),
        }
    }
}
