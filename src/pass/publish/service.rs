//! Sends requests to the service, or in tests to a simulated one.

#[cfg(test)]
use std::pin::Pin;

use bytes::Bytes;

use super::creation::creation;
use crate::model::{Live, LiveVersion, ReturnType, ToggleId};
use crate::plan::Change;
use crate::service::{Client, Outcome, Session, TokenChange};

/// The receiver of requests.
pub(crate) enum Service {
    /// The service behind a base URL.
    Http(Client, Session),
    /// A service that a test simulates.
    #[cfg(test)]
    Simulated(std::sync::Arc<dyn SimulatedService>),
}

/// The response of a simulated service.
#[cfg(test)]
pub(crate) type Simulated<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A service that a test simulates.
#[cfg(test)]
pub(crate) trait SimulatedService: std::fmt::Debug + Send + Sync {
    /// Handles a request to store `body` for `toggle`.
    fn publish(&self, toggle: &ToggleId, body: Bytes) -> Simulated<Outcome>;

    /// Handles a read of the live state of `toggle`.
    fn read(&self, toggle: &ToggleId) -> Simulated<Result<Live, Outcome>>;

    /// Handles a read of the versions of `toggle` from `first` on.
    fn versions_from(&self, toggle: &ToggleId, first: u64) -> Simulated<Result<Vec<LiveVersion>, Outcome>>;
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

    /// Returns the live state of a toggle.
    pub(super) async fn read(&self, toggle: &ToggleId) -> Result<Live, Outcome> {
        match self {
            Self::Http(..) => todo!(),
            #[cfg(test)]
            Self::Simulated(service) => service.read(toggle).await,
        }
    }

    /// Returns the versions of a toggle from `first` on, newest first.
    pub(super) async fn versions_from(
        &self,
        toggle: &ToggleId,
        first: u64,
    ) -> Result<Vec<LiveVersion>, Outcome> {
        match self {
            Self::Http(..) => todo!(),
            #[cfg(test)]
            Self::Simulated(service) => service.versions_from(toggle, first).await,
        }
    }

    /// Creates the toggle of `change` with values of this type.
    pub(super) async fn create(&self, change: &Change, return_type: ReturnType) -> Outcome {
        match self {
            Self::Http(client, session) => {
                let body = creation(change, return_type);
                client.create(&change.id, body, session).await
            }
            #[cfg(test)]
            Self::Simulated(_) => unreachable!("a simulated toggle exists"),
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
