//! Reads what a FeatureProbe service has (src/service/README.md, "Reading"). Sends only GET requests.
//!
//! A failed read is an [`Outcome`] whose certainty is that nothing was stored, so that one retry policy
//! serves reads and publishes. A read that got no response is *busy*, because there is nothing that could
//! have been lost.
//!
//! The service compares keys without regard to case, so lookups do, too ([`ByKey`]). Keys that are not valid
//! in a repository are kept aside ([`Listing`]).

mod answer;
mod by_key;
mod lists;
mod payload;
mod project;
mod session;
mod wire;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;
use url::Url;

use crate::model::{Key, ServiceKind};
use crate::service::connection::{Authorization, ServiceConnection};
use crate::service::received::Received;
use crate::service::{BaseUrl, ClientConfig, ClientError, Outcome};
use crate::transport::Secret;
use answer::{is_500, parse, refused};

pub use by_key::ByKey;
pub use lists::{EnvironmentInfo, InvalidKey, ListedToggle, Listing};
pub use payload::PayloadVersions;
pub use project::{EnvironmentReader, ProjectReader, ToggleDemand, ToggleIndex};
pub use session::ReadSession;

/// In bytes, before and after decompression. A page of 1,000 toggles is 0.4 MiB, a targeting up to 1 MiB, and
/// the history of a toggle and the payload of an environment have no limit.
const LARGEST_READ: usize = 64 << 20;

/// A client of the service that only reads. Clones share connections, the token and the SDK keys.
#[derive(Clone, Debug)]
pub struct LiveReader {
    connection: ServiceConnection,
    sdk_keys: SdkKeys,
}

/// The SDK keys of environments, which outlive the reader that looked them up. Clones share them.
// By project. Scans of several environments look up and replace SDK keys at the same time.
#[derive(Clone, Debug, Default)]
pub struct SdkKeys(Arc<Mutex<BTreeMap<Key, ByKey<Secret>>>>);

impl SdkKeys {
    /// Forgets the keys, so that the next reads look them up. A key that was reset is not rejected while the
    /// service has its payload in a cache, which no change reaches.
    pub fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, ByKey<Secret>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveReader {
    /// Builds a reader. Reads the CA file and the token, but opens no connection.
    pub fn new(config: ClientConfig) -> Result<Self, ClientError> {
        ServiceConnection::new(config).map(Self::with)
    }

    pub(super) fn with(connection: ServiceConnection) -> Self {
        Self { connection, sdk_keys: SdkKeys::default() }
    }

    /// Returns this reader with the SDK keys that another one looked up.
    #[must_use]
    pub fn with_sdk_keys(self, sdk_keys: SdkKeys) -> Self {
        Self { sdk_keys, ..self }
    }

    const fn kind(&self) -> ServiceKind {
        self.connection.kind()
    }

    /// Returns the address of the service.
    pub const fn base_url(&self) -> &BaseUrl {
        self.connection.base_url()
    }

    /// See [`super::Client::token_generation`].
    pub fn token_generation(&self) -> u64 {
        self.connection.token_generation()
    }

    /// Reads the token again.
    pub fn reload_token(&self) -> Result<(), ClientError> {
        self.connection.reload_token()
    }

    /// Returns the JSON at `url`. `expected` is a noun phrase for the message about any other JSON.
    async fn json<T: DeserializeOwned>(&self, url: Url, expected: &str) -> Result<T, Outcome> {
        let received = self.get(url, self.connection.authorization()).await?;
        parse(&received, expected)
    }

    async fn get(&self, url: Url, authorization: Authorization) -> Result<Received, Outcome> {
        let received = self.connection.get(url, authorization, LARGEST_READ);
        received.await.map_err(Outcome::of_read)
    }
}
