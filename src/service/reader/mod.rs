//! Reads what a FeatureProbe service has (DESIGN, section 8.2). Sends only GET requests.
//!
//! A failed read is an [`Outcome`] whose certainty is that nothing was stored, so that one retry policy serves reads and
//! publishes. A read that got no response is *busy*, because there is nothing that could have been lost.
//!
//! The service compares keys without regard to case, so lookups do, too ([`ByKey`]). Keys that are not valid in a
//! repository are kept aside ([`Listing`]).

mod answer;
mod by_key;
mod environment;
mod lists;
mod payload;
mod project;
mod session;
mod toggle;
mod wire;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde::de::DeserializeOwned;
use url::Url;

pub use by_key::ByKey;
pub use environment::{EnvironmentReader, ToggleIndex};
pub use lists::{EnvironmentInfo, InvalidKey, ListedToggle, Listing};
pub use payload::PayloadVersions;
pub use project::{ProjectReader, ToggleDemand};
pub use session::ReadSession;

use super::connection::{Authorization, Received, ServiceConnection};
use super::{BaseUrl, ClientConfig, ClientError, Outcome};
use crate::model::Key;
use crate::transport::Secret;

/// In bytes, before and after decompression. A page of 1,000 toggles is 0.4 MiB, a targeting up to 1 MiB, and the history
/// of a toggle and the payload of an environment have no limit.
const LARGEST_READ: usize = 64 << 20;

/// A client of the service that only reads. Clones share connections, the token and the SDK keys.
#[derive(Clone, Debug)]
pub struct LiveReader {
    connection: ServiceConnection,
    // By project. Scans of several environments look up and replace SDK keys at the same time.
    sdk_keys: Arc<Mutex<BTreeMap<Key, ByKey<Secret>>>>,
}

impl LiveReader {
    /// Builds a reader. Reads the CA file and the token, but opens no connection.
    ///
    /// # Errors
    /// If TLS cannot be set up, or the token cannot be read or is not valid in a header.
    pub fn new(config: ClientConfig) -> Result<Self, ClientError> {
        ServiceConnection::new(config).map(Self::with)
    }

    pub(super) fn with(connection: ServiceConnection) -> Self {
        Self {
            connection,
            sdk_keys: Arc::default(),
        }
    }

    /// Returns the address of the service.
    #[must_use]
    pub const fn base_url(&self) -> &BaseUrl {
        self.connection.base_url()
    }

    /// See [`super::Client::token_generation`].
    #[must_use]
    pub fn token_generation(&self) -> u64 {
        self.connection.token_generation()
    }

    /// Reads the token again.
    ///
    /// # Errors
    /// If it cannot be read or is not valid in a header; the reader keeps the previous token.
    pub fn reload_token(&self) -> Result<(), ClientError> {
        self.connection.reload_token()
    }

    /// Returns the JSON at `url`. `expected` is a noun phrase for the message about any other JSON.
    async fn json<T: DeserializeOwned>(&self, url: Url, expected: &str) -> Result<T, Outcome> {
        let received = self.get(url, self.connection.authorization()).await?;
        answer::parse(&received, expected)
    }

    async fn get(&self, url: Url, authorization: Authorization) -> Result<Received, Outcome> {
        let received = self.connection.get(url, authorization, LARGEST_READ);
        received.await.map_err(Outcome::of_read)
    }
}
