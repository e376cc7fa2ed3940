//! Holds the settings of Git connections.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::RepoUrl;
use crate::transport::{Network, SecretSource};

/// The settings of a Git connection besides its URL.
#[derive(Clone, Debug)]
pub struct GitAccess {
    /// CA, proxy, and connection settings.
    pub network: Network,
    /// The credentials for HTTPS and the host that they belong to.
    pub credentials: Option<GitCredentials>,
    /// The longest silence of a connection before it counts as failed.
    pub timeout: Duration,
    /// The client that several exchanges share, so that they need one TLS connection; none: each has its own.
    pub client: Option<SharedClient>,
}

/// An HTTPS client, made at its first use.
#[derive(Clone, Default)]
pub struct SharedClient(pub(super) Arc<Mutex<Option<reqwest::blocking::Client>>>);

impl fmt::Debug for SharedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedClient")
    }
}

impl GitAccess {
    /// Returns the credentials if they belong to the host of `url`.
    #[must_use]
    pub fn credentials_for(&self, url: &RepoUrl) -> Option<&GitCredentials> {
        let host = url.host()?;
        // The credentials go only to the host that they were set for (DESIGN section 5).
        self.credentials
            .as_ref()
            .filter(|own| own.host.eq_ignore_ascii_case(&host))
    }
}

/// A user name and a password (or token) for one Git host.
#[derive(Clone, Debug)]
pub struct GitCredentials {
    /// The only host that receives them, in the form of [`RepoUrl::host`].
    pub host: String,
    /// The user name, which is optional because hosts that take tokens accept any.
    pub username: Option<String>,
    /// The password or token, read again for every request.
    pub password: SecretSource,
}
