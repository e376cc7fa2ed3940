//! The outcomes of a publish (src/service/README.md, "Outcomes").

use std::fmt;
use std::time::Duration;

use crate::model::{Certainty, OutcomeKind};
use crate::transport::CertificateFault;

/// The outcome of one request. The service's text in `reason` is escaped and short, and never contains the
/// token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Outcome {
    pub kind: OutcomeKind,
    /// The status of the response; none if no complete response arrived.
    pub status: Option<u16>,
    /// Whether the service stored the document.
    pub certainty: Certainty,
    /// The `Retry-After` of the response.
    pub retry_after: Option<Duration>,
    /// What the code in the body of the response means, if it has one.
    pub code: Option<ErrorCode>,
    /// One sentence: what happened, and what to check.
    pub reason: String,
    /// What is wrong with the server's certificate.
    pub fault: Option<CertificateFault>,
    /// Whether no connection was made, so that it says nothing about the toggle of the request.
    pub is_unsent: bool,
}

/// What the code of an error says, whichever word the service has for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ErrorCode {
    /// The token may not do this.
    Forbidden,
    /// The request is not valid, or the version that it replaces is not the current one.
    Invalid,
    /// Something that the request names does not exist.
    Missing,
    /// Another code.
    Other,
    /// The key or the name is in use.
    Taken,
    /// The token is not valid.
    Unauthorized,
}

impl Outcome {
    /// Creates the outcome of a request without a complete response.
    pub(crate) fn new(kind: OutcomeKind, certainty: Certainty, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self {
            kind,
            status: None,
            certainty,
            retry_after: None,
            code: None,
            reason,
            fault: None,
            is_unsent: false,
        }
    }

    /// Creates the outcome of a request that the service confirms with this status.
    pub(crate) fn applied(status: u16) -> Self {
        let reason = format!("the service responded with {status}");
        Self { status: Some(status), ..Self::new(OutcomeKind::Applied, Certainty::Stored, reason) }
    }

    /// Returns whether the service refused the request with this code.
    pub(crate) fn is_refused_with(&self, code: ErrorCode) -> bool {
        self.kind == OutcomeKind::Refused && self.code == Some(code)
    }

    /// Returns the outcome of a read that failed: the service certainly stored nothing, and nothing was lost.
    pub(super) fn of_read(self) -> Self {
        let kind = match self.kind {
            OutcomeKind::Lost => OutcomeKind::Busy,
            kind => kind,
        };
        Self { kind, certainty: Certainty::NotStored, ..self }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}
