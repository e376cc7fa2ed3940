//! Sends publish requests.

use std::sync::atomic::{AtomicBool, Ordering};

use super::connection::ServiceConnection;
use super::kind::{NewToggle, Protocol, protocol};
use super::outcome::Outcome;
use super::received::Received;
use super::retry::TokenState;
use crate::model::{OutcomeKind, Sent, ToggleId};
use crate::service::{BaseUrl, ClientConfig, ClientError, LiveReader, ServiceTrust, classify};

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

    /// Publishes `toggle` with one request and returns the outcome. Records a success in `session`. Does not
    /// retry; see [`outcome()`].
    pub async fn publish(&self, toggle: &ToggleId, sent: &Sent, session: &Session) -> Outcome {
        let request = (self.protocol().publish)(self.base_url(), toggle, sent);
        outcome(self.connection.write(request).await, session)
    }

    /// Creates a toggle with one request. Otherwise like [`Client::publish`].
    pub async fn create(&self, new: &NewToggle<'_>, session: &Session) -> Outcome {
        let request = (self.protocol().create)(self.base_url(), new);
        outcome(self.connection.write(request).await, session)
    }

    const fn protocol(&self) -> &'static Protocol {
        protocol(self.connection.kind())
    }
}

fn outcome(received: Result<Received, Outcome>, session: &Session) -> Outcome {
    let outcome =
        received.map_or_else(|failure| failure, |received| classify(&received.response(), session.trust()));
    session.record(&outcome);
    outcome
}
