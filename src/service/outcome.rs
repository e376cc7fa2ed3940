//! What came of one publish, as DESIGN section 6 has it.

use crate::model::PublishOutcome;
use std::fmt;
use std::time::Duration;

/// What came of one publish. `reason` is one sentence for people: foreign text in it is escaped and short, and it
/// never holds the token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The service has stored it.
    Applied {
        /// The answer's status.
        status: u16,
    },
    /// The service could not be reached, or is too busy or too broken to do it now.
    Busy {
        /// The answer's status; `None` where no connection was made.
        status: Option<u16>,
        /// How long the service asks everyone to wait.
        retry_after: Option<Duration>,
        /// Whether it may have been stored all the same.
        certainty: Certainty,
        /// What happened.
        reason: String,
    },
    /// The token may not change this toggle.
    Forbidden {
        /// Whether it may have been stored all the same.
        certainty: Certainty,
        /// What happened.
        reason: String,
    },
    /// The request left and no answer came.
    Lost {
        /// What happened.
        reason: String,
    },
    /// What answers is not the service.
    Misrouted {
        /// Whether it may have been stored all the same.
        certainty: Certainty,
        /// What happened, and what to look at.
        reason: String,
    },
    /// The service will not store this document.
    Refused {
        /// The answer's status.
        status: u16,
        /// The `code` of the answer's body, where it has one.
        code: Option<String>,
        /// Whether it may have been stored all the same.
        certainty: Certainty,
        /// What happened.
        reason: String,
    },
    /// The service does not accept the token.
    Unauthorised {
        /// The answer's status.
        status: u16,
        /// Whether it may have been stored all the same.
        certainty: Certainty,
        /// What happened.
        reason: String,
    },
    /// The server's certificate does not verify, so nothing was sent.
    Untrusted {
        /// What happened, and what to do.
        reason: String,
    },
}

/// How sure it is what the service holds now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Certainty {
    /// It has certainly not stored the document.
    NotStored,
    /// It has stored the document.
    Stored,
    /// It may or may not have: the toggle is unknown.
    Unknown,
}

impl Outcome {
    /// Returns how sure it is whether the document was stored.
    #[must_use]
    pub const fn certainty(&self) -> Certainty {
        match self {
            Self::Applied { status: _ } => Certainty::Stored,
            Self::Lost { reason: _ } => Certainty::Unknown,
            Self::Untrusted { reason: _ } => Certainty::NotStored,
            Self::Busy { certainty, .. }
            | Self::Forbidden { certainty, .. }
            | Self::Misrouted { certainty, .. }
            | Self::Refused { certainty, .. }
            | Self::Unauthorised { certainty, .. } => *certainty,
        }
    }

    /// Returns the outcome without its details.
    #[must_use]
    pub const fn kind(&self) -> PublishOutcome {
        match self {
            Self::Applied { .. } => PublishOutcome::Applied,
            Self::Busy { .. } => PublishOutcome::Busy,
            Self::Forbidden { .. } => PublishOutcome::Forbidden,
            Self::Lost { .. } => PublishOutcome::Lost,
            Self::Misrouted { .. } => PublishOutcome::Misrouted,
            Self::Refused { .. } => PublishOutcome::Refused,
            Self::Unauthorised { .. } => PublishOutcome::Unauthorised,
            Self::Untrusted { .. } => PublishOutcome::Untrusted,
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
            Self::Applied { status } => write!(f, "the service answered {status}"),
            Self::Busy { reason, .. }
            | Self::Forbidden { reason, .. }
            | Self::Lost { reason }
            | Self::Misrouted { reason, .. }
            | Self::Refused { reason, .. }
            | Self::Unauthorised { reason, .. }
            | Self::Untrusted { reason } => f.write_str(reason),
        }
    }
}
