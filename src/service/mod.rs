//! Sends one PATCH per toggle to the service, reads what the service has, and interprets the responses.
//!
//! [`Client`] publishes and [`LiveReader`] reads; a reader cannot publish. [`classify()`] turns a response into an
//! [`Outcome`], and [`retry`] decides on the next step; both are pure functions. The caller decides which toggle is sent
//! when. The client calls only the documented endpoint; the reader calls those of FeatureProbe.
//!
//! Invariants: a toggle counts as applied only if a response confirms it, and the token is sent only to the configured
//! host.

mod base_url;
mod classify;
mod connection;
mod outcome;
mod reader;
pub mod retry;

#[cfg(test)]
pub(crate) use crate::service::connection::untrusted;
pub use base_url::{BaseUrl, BaseUrlError, https};
pub(crate) use classify::CREATE_FIRST;
pub use classify::{Body, ServiceResponse};
pub use classify::{ServiceTrust, classify};
pub use connection::{ClientConfig, ClientError};
pub use outcome::Outcome;
pub use reader::{
    ByKey, EnvironmentInfo, EnvironmentReader, InvalidKey, ListedToggle, Listing, LiveReader,
    PayloadVersions, ProjectReader, ReadSession, ToggleDemand, ToggleIndex,
};

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use connection::{Received, ServiceConnection};
use retry::TokenState;

use crate::model::ToggleId;

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
    /// Builds a client. Reads the CA file and the token, but opens no connection.
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

    /// Returns the number of token changes. If it grew since a request was sent, a 401 for that request concerns an
    /// older token.
    pub fn token_generation(&self) -> u64 {
        self.connection.token_generation()
    }

    /// Returns the state of the token of a request with this outcome, which was sent when the number of changes was
    /// `generation`. Reads the token again after a 401 or 403.
    pub fn token_state(&self, outcome: &Outcome, generation: u64) -> TokenState {
        self.connection.token_state(outcome, generation)
    }

    /// Sends `body` for `toggle` once and returns the outcome. Records a success in `session`. Does not retry; see
    /// [`outcome()`].
    pub async fn publish(&self, toggle: &ToggleId, body: Bytes, session: &Session) -> Outcome {
        let received = self.connection.patch(self.base_url().targeting(toggle), body).await;
        outcome(received, session)
    }

    /// Creates `toggle` with `body` in its project and in each of its environments. Otherwise like [`Client::publish`].
    pub async fn create(&self, toggle: &ToggleId, body: Bytes, session: &Session) -> Outcome {
        let url = self.base_url().below(&["api", "projects", toggle.project(), "toggles"]);
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
