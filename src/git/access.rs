//! What a Git connection needs besides a URL.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::RepoUrl;
use crate::transport::{Network, SecretSource};

/// Everything a Git connection needs besides a URL.
#[derive(Clone, Debug)]
pub struct GitAccess {
    /// CA, proxy and connection settings.
    pub network: Network,
    /// The credentials for HTTPS, and the host that they belong to.
    pub credentials: Option<GitCredentials>,
    /// How long a connection may stay silent before it is given up.
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
    /// Returns the credentials where they belong to the host of `url`.
    #[must_use]
    pub fn credentials_for(&self, url: &RepoUrl) -> Option<&GitCredentials> {
        let host = url.host()?;
        self.credentials
            .as_ref()
            .filter(|own| own.host.eq_ignore_ascii_case(&host))
    }
}

/// A user name and a password (or token) for one Git host.
#[derive(Clone, Debug)]
pub struct GitCredentials {
    /// The only host that gets them, as [`RepoUrl::host`] gives it: with the port where it is not the usual one.
    pub host: String,
    /// The user name; hosts that take tokens accept any, so it may be left out.
    pub username: Option<String>,
    /// The password or token, read anew at every attempt.
    pub password: SecretSource,
}
