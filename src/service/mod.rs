#![doc = include_str!("README.md")]

mod base_url;
mod classify;
mod connection;
mod reader;
pub mod retry;
mod routes;

#[cfg(test)]
pub(crate) use crate::service::connection::untrusted;
pub use base_url::{BaseUrl, BaseUrlError, https};
pub(crate) use classify::CREATE_FIRST;
pub use classify::{Body, ServiceResponse};
pub use classify::{ServiceTrust, classify};
pub use connection::{ClientConfig, ClientError};
pub use reader::{
    ByKey, EnvironmentInfo, EnvironmentReader, InvalidKey, ListedToggle, Listing, LiveReader,
    PayloadVersions, ProjectReader, ReadSession, SdkKeys, ToggleDemand, ToggleIndex,
};

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use connection::{Received, ServiceConnection};
use retry::TokenState;

use crate::model::{Certainty, PublishOutcome, ToggleId};
use crate::transport::CertificateFault;

// Sends publish requests.

/// Records whether the service accepted a request in this pass.
#[derive(Debug, Default)]
pub struct Session(AtomicBool);

impl Session {
    /// Returns whether the service accepted a request.
    pub fn trust(&self) -> ServiceTrust {
        if self.0.load(Ordering::Acquire) { ServiceTrust::Proven } else { ServiceTrust::Unproven }
    }

    fn record(&self, outcome: &Outcome) {
        if matches!(outcome, Outcome::Applied { .. }) {
            self.0.store(true, Ordering::Release);
        }
    }
}

/// A client of the service that publishes. Clones share connections and the token.
#[derive(Clone, Debug)]
pub struct Client {
    connection: ServiceConnection,
}

impl Client {
    /// Builds a client. Reads the CA file and the token, but opens no connection. Each pass and each scan
    /// builds its own, so that files that were replaced meanwhile count.
    pub fn new(config: ClientConfig) -> Result<Self, ClientError> {
        ServiceConnection::new(config).map(|connection| Self { connection })
    }

    /// Returns a reader of the same service. Both share connections and the token.
    pub fn reader(&self) -> LiveReader {
        LiveReader::with(self.connection.clone())
    }

    /// Returns the address of the service.
    pub fn base_url(&self) -> &BaseUrl {
        self.connection.base_url()
    }

    /// Returns the number of token changes. If it grew since a request was sent, a 401 for that request
    /// concerns an older token.
    pub fn token_generation(&self) -> u64 {
        self.connection.token_generation()
    }

    /// Returns the state of the token of a request with this outcome, which was sent when the number of
    /// changes was `generation`. Reads the token again after a 401 or 403.
    pub fn token_state(&self, outcome: &Outcome, generation: u64) -> TokenState {
        self.connection.token_state(outcome, generation)
    }

    /// Sends `body` for `toggle` once and returns the outcome. Records a success in `session`. Does not
    /// retry; see [`outcome()`].
    pub async fn publish(&self, toggle: &ToggleId, body: Bytes, session: &Session) -> Outcome {
        let received = self.connection.patch(self.base_url().targeting(toggle), body).await;
        outcome(received, session)
    }

    /// Creates `toggle` with `body` in its project and in each of its environments. Otherwise like
    /// [`Client::publish`].
    pub async fn create(&self, toggle: &ToggleId, body: Bytes, session: &Session) -> Outcome {
        let url = self.base_url().toggles(toggle.project());
        let received = self.connection.post(url, body).await;
        outcome(received, session)
    }
}

fn outcome(received: Result<Received, Outcome>, session: &Session) -> Outcome {
    let outcome =
        received.map_or_else(|failure| failure, |received| classify(&received.response(), session.trust()));
    session.record(&outcome);
    outcome
}

// The outcomes of a publish (src/service/README.md, "Outcomes").

/// The outcome of one publish. `reason` is one sentence. The service's text in it is escaped and short, and
/// never contains the token.
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
    fn of_read(self) -> Self {
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
