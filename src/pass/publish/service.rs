//! Sends requests to the service, or in tests to a simulated one.

#[cfg(test)]
use std::pin::Pin;

use bytes::Bytes;

use crate::model::ToggleId;
use crate::service::{Client, Outcome, Session, TokenChange};

/// The receiver of requests.
pub(crate) enum Service {
    /// The service behind a base URL.
    Http(Client, Session),
    /// A service that a test simulates.
    #[cfg(test)]
    Simulated(std::sync::Arc<dyn SimulatedService>),
}

/// A service that a test simulates.
#[cfg(test)]
pub(crate) trait SimulatedService: std::fmt::Debug + Send + Sync {
    /// Handles a request to store `body` for `toggle`.
    fn publish(&self, toggle: &ToggleId, body: Bytes) -> Pin<Box<dyn Future<Output = Outcome> + Send>>;
}

impl Service {
    pub(crate) fn http(client: Client) -> Self {
        Self::Http(client, Session::default())
    }

    pub(super) async fn publish(&self, toggle: &ToggleId, body: Bytes) -> Outcome {
        match self {
            Self::Http(client, session) => client.publish(toggle, body, session).await,
            #[cfg(test)]
            Self::Simulated(service) => service.publish(toggle, body).await,
        }
    }

    /// See [`Client::token_generation`].
    pub(super) fn token_generation(&self) -> u64 {
        match self {
            Self::Http(client, _) => client.token_generation(),
            #[cfg(test)]
            Self::Simulated(_) => 0,
        }
    }

    pub(super) fn reload_token(&self) -> TokenChange {
        match self {
            // The old token stays in use if the new one cannot be read.
            Self::Http(client, _) => client.reload_token().unwrap_or(TokenChange::Same),
            #[cfg(test)]
            Self::Simulated(_) => TokenChange::Same,
        }
    }
}
