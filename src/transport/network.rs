//! HTTPS clients: one set of CA, proxy and time-limit settings for everything that leaves this process.

use std::path::PathBuf;
use std::sync::Once;
use std::time::Duration;

/// The settings of every connection. Proxies come from the environment (`HTTPS_PROXY`, `NO_PROXY`).
#[derive(Clone, Debug)]
pub struct Network {
    /// PEM certificates that are trusted in addition to the system's; read anew for every client.
    pub ca_file: Option<PathBuf>,
    /// How long a connection, TLS included, may take to be made.
    pub connect_timeout: Duration,
    /// What is sent as `User-Agent`.
    pub user_agent: String,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            ca_file: None,
            connect_timeout: Duration::from_secs(10),
            user_agent: concat!("gitoggle/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// What a client may connect to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Schemes {
    /// Also http, which is sent to its host directly.
    HttpWithoutProxy,
    /// https.
    HttpsOnly,
}

/// A client that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// The CA file cannot be read.
    #[error("cannot read the CA file `{}`", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The CA file holds no certificate.
    #[error("the CA file `{}` holds no PEM certificate", .0.display())]
    NoCertificate(PathBuf),
    /// TLS cannot be set up: a broken certificate, or no trusted roots at all.
    #[error("cannot set up TLS")]
    Tls(#[source] reqwest::Error),
}

impl NetworkError {
    /// Returns what to do about it, where there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::CaFile { .. } | Self::NoCertificate(_) => {
                Some("`--ca-file` names a PEM file that this user can read".to_owned())
            }
            Self::Tls(_) => None,
        }
    }
}

impl Network {
    /// Returns a client for HTTPS only, which follows no redirect and gives up a request after `timeout`, from
    /// connect to the last byte.
    ///
    /// # Errors
    /// When the CA file cannot be used or TLS cannot be set up.
    pub fn client(&self, timeout: Duration) -> Result<reqwest::Client, NetworkError> {
        provider();
        reqwest::Client::builder()
            .https_only(true)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(&self.user_agent)
            .connect_timeout(self.connect_timeout)
            .timeout(timeout)
            .tls_certs_merge(self.certificates()?)
            .build()
            .map_err(NetworkError::Tls)
    }

    /// As [`Network::client`], without asynchrony: `timeout` is for the answer's head, then for each read.
    ///
    /// # Errors
    /// When the CA file cannot be used or TLS cannot be set up.
    pub(crate) fn blocking_client(
        &self,
        timeout: Duration,
    ) -> Result<reqwest::blocking::Client, NetworkError> {
        self.blocking_client_for(timeout, Schemes::HttpsOnly)
    }

    /// As [`Network::blocking_client`], for other schemes too.
    ///
    /// # Errors
    /// When the CA file cannot be used or TLS cannot be set up.
    pub(super) fn blocking_client_for(
        &self,
        timeout: Duration,
        schemes: Schemes,
    ) -> Result<reqwest::blocking::Client, NetworkError> {
        provider();
        let builder = reqwest::blocking::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(&self.user_agent)
            .connect_timeout(self.connect_timeout)
            .timeout(timeout)
            .tls_certs_merge(self.certificates()?);
        let builder = match schemes {
            Schemes::HttpWithoutProxy => builder.no_proxy(),
            Schemes::HttpsOnly => builder.https_only(true),
        };
        builder.build().map_err(NetworkError::Tls)
    }

    fn certificates(&self) -> Result<Vec<reqwest::Certificate>, NetworkError> {
        let Some(path) = &self.ca_file else {
            return Ok(Vec::new());
        };
        let pem = std::fs::read(path).map_err(|source| NetworkError::CaFile {
            path: path.clone(),
            source,
        })?;
        let certificates = reqwest::Certificate::from_pem_bundle(&pem).map_err(NetworkError::Tls)?;
        if certificates.is_empty() {
            return Err(NetworkError::NoCertificate(path.clone()));
        }
        Ok(certificates)
    }
}

/// Makes `ring` the process's provider of cryptography; once, and before any TLS.
pub fn provider() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        // An error says that somebody else has installed one already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_can_be_made() {
        let network = Network::default();
        network.client(Duration::from_secs(1)).unwrap();
        network.blocking_client(Duration::from_secs(1)).unwrap();
    }

    #[test]
    fn a_ca_file_without_a_certificate_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        let network = Network {
            ca_file: Some(path.clone()),
            ..Network::default()
        };
        let client = || network.client(Duration::from_secs(1));
        assert!(matches!(client(), Err(NetworkError::CaFile { .. })));
        std::fs::write(&path, "no certificate").unwrap();
        assert!(matches!(client(), Err(NetworkError::NoCertificate(_))));
    }

    #[tokio::test]
    async fn plain_http_is_refused() {
        let client = Network::default().client(Duration::from_secs(1)).unwrap();
        let error = client.get("http://127.0.0.1:9/").send().await.unwrap_err();
        assert!(error.is_builder(), "{error:?}");
    }
}
