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

use crate::model::{Certainty, OutcomeKind, ToggleId};
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
        if outcome.kind == OutcomeKind::Applied {
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
    /// The `code` of the response body, if it has one.
    pub code: Option<String>,
    /// One sentence: what happened, and what to check.
    pub reason: String,
    /// What is wrong with the server's certificate.
    pub fault: Option<CertificateFault>,
}

impl Outcome {
    /// Creates the outcome of a request without a complete response.
    pub(crate) fn new(kind: OutcomeKind, certainty: Certainty, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { kind, status: None, certainty, retry_after: None, code: None, reason, fault: None }
    }

    /// Creates the outcome of a request that the service confirms with this status.
    pub(crate) fn applied(status: u16) -> Self {
        let reason = format!("the service responded with {status}");
        Self { status: Some(status), ..Self::new(OutcomeKind::Applied, Certainty::Stored, reason) }
    }

    /// Returns whether the service refused the request with this code.
    pub(crate) fn is_refused_with(&self, code: &str) -> bool {
        self.kind == OutcomeKind::Refused && self.code.as_deref() == Some(code)
    }

    /// Returns the outcome of a read that failed: the service certainly stored nothing, and nothing was lost.
    fn of_read(self) -> Self {
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
