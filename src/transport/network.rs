//! Creates HTTPS clients from one set of CA, proxy, and timeout settings.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::failure::{NoThread, error_of_thread};
use super::proxy::{ProxySettingError, check_proxies};
use super::read_limited;
use super::resolver::Resolver;
use crate::model::escaped;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// In bytes; bundles of every public CA have less than 1 MiB.
const LARGEST_CA_FILE: u64 = 16 << 20;

/// Where systems keep the certificates that they trust.
const SYSTEM_BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

const USER_AGENT: &str = concat!("gitoggle/", env!("CARGO_PKG_VERSION"));

/// The settings of every connection.
#[derive(Clone, Debug)]
pub struct Network {
    /// PEM certificates that are trusted in addition to the system's; read again for every client.
    pub ca_file: Option<PathBuf>,
    /// The time limit for connecting, including the TLS handshake.
    pub connect_timeout: Duration,
    /// The proxies that connections go through.
    pub proxies: Proxies,
}

/// The proxies that connections go through.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Proxies {
    /// Those of `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    Environment,
    /// None, because the service is on loopback.
    Ignored,
}

impl Default for Network {
    fn default() -> Self {
        Self { ca_file: None, connect_timeout: Duration::from_secs(10), proxies: Proxies::Environment }
    }
}

/// The URL schemes that a client accepts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Schemes {
    /// `https`, and `http` without a proxy.
    HttpWithoutProxy,
    HttpsOnly,
}

/// Why a client could not be created.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    #[error("could not read the CA file `{}`", path.display())]
    CaFile { path: PathBuf, source: io::Error },
    #[error("the clock of this machine shows a time before 1970")]
    Clock,
    #[error("the CA file `{}` does not contain a PEM certificate", .0.display())]
    NoCertificate(PathBuf),
    #[error(transparent)]
    NoThread(#[from] NoThread),
    #[error(transparent)]
    Proxy(#[from] ProxySettingError),
    #[error("could not set up TLS")]
    Tls(#[source] reqwest::Error),
}

impl NetworkError {
    /// Returns whether the value of `--ca-file` is wrong.
    pub fn is_bad_ca_file(&self) -> bool {
        matches!(self, Self::CaFile { .. } | Self::NoCertificate(_))
    }

    /// Returns advice for the operator.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::CaFile { .. } | Self::NoCertificate(_) => {
                Some("pass a PEM file that this user can read as `--ca-file`".to_owned())
            }
            Self::Clock => {
                Some("set the clock, on which the verification of certificates depends".to_owned())
            }
            Self::Proxy(_) => Some(
                "write `http://HOST:PORT`, or unset the variable; in a user name or a password, write `#` as `%23`, `/` as `%2F` \
                 and `?` as `%3F`"
                    .to_owned(),
            ),
            Self::NoThread(_) | Self::Tls(_) => None,
        }
    }
}

impl Network {
    /// Returns a client that accepts only HTTPS and follows no redirects. `timeout` limits a whole request,
    /// from connecting to the last byte.
    pub fn client(&self, timeout: Duration) -> Result<reqwest::Client, NetworkError> {
        provider();
        let builder = match self.proxies {
            Proxies::Environment => reqwest::Client::builder(),
            Proxies::Ignored => reqwest::Client::builder().no_proxy(),
        };
        builder
            .https_only(true)
            // The service's redirects are never followed (src/source/README.md, "Reading a repository").
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(USER_AGENT)
            .dns_resolver(Arc::new(Resolver::IN_THREADS))
            .connect_timeout(self.connect_timeout)
            .timeout(timeout)
            .tls_certs_merge(self.checked()?)
            .build()
            .map_err(NetworkError::Tls)
    }

    /// Returns a blocking [`Network::client`]. `timeout` limits the head of the response and then each read.
    pub(crate) fn blocking_client(
        &self,
        timeout: Duration,
    ) -> Result<reqwest::blocking::Client, NetworkError> {
        self.blocking_client_for(timeout, Schemes::HttpsOnly)
    }

    pub(super) fn blocking_client_for(
        &self,
        timeout: Duration,
        schemes: Schemes,
    ) -> Result<reqwest::blocking::Client, NetworkError> {
        provider();
        let builder = reqwest::blocking::Client::builder()
            // No caller follows redirects.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(USER_AGENT)
            .dns_resolver(Arc::new(Resolver::IN_THREADS))
            .connect_timeout(self.connect_timeout)
            .timeout(timeout);
        let builder = match schemes {
            Schemes::HttpWithoutProxy => builder.no_proxy().tls_certs_merge(self.certificates()?),
            Schemes::HttpsOnly => builder.https_only(true).tls_certs_merge(self.checked()?),
        };
        builder.build().map_err(|error| match error_of_thread(&error) {
            Some(no_thread) => no_thread.into(),
            None => NetworkError::Tls(error),
        })
    }

    /// Reads the CA file and the proxies, so that a mistake is reported before a connection needs them.
    pub fn check(&self) -> Result<(), NetworkError> {
        self.checked().map(drop)
    }

    /// Returns the certificates of the CA file if the proxies are usable, too.
    fn checked(&self) -> Result<Vec<reqwest::Certificate>, NetworkError> {
        if self.proxies == Proxies::Environment {
            check_proxies(|name| std::env::var_os(name))?;
        }
        self.certificates()
    }

    /// Returns the CA file together with the certificates of the system, for programs that trust one file
    /// only.
    pub(crate) fn ca_bundle(&self) -> Result<Option<Vec<u8>>, NetworkError> {
        if self.certificates()?.is_empty() {
            return Ok(None);
        }
        let mut bundle = self.ca_file()?.map_or_else(Vec::new, |(_, pem)| pem);
        // A variable of the user names another bundle, as OpenSSL, curl, and Git read it.
        let named =
            ["GIT_SSL_CAINFO", "SSL_CERT_FILE"].iter().filter_map(std::env::var_os).map(PathBuf::from);
        let mut system = named.chain(SYSTEM_BUNDLES.iter().map(PathBuf::from));
        if let Some(system) = system.find_map(|path| read_limited(&path, LARGEST_CA_FILE).ok()) {
            bundle.push(b'\n');
            bundle.extend(system);
        }
        Ok(Some(bundle))
    }

    /// Returns how to trust the CA of a server whose certificate is signed by none that is trusted.
    pub(crate) fn trust_advice(&self) -> String {
        match &self.ca_file {
            None => "to trust its CA, pass the CA certificate with `--ca-file`".to_owned(),
            Some(path) => format!(
                "to trust its CA, add the CA certificate to `{}` (`--ca-file`), which does not have it",
                escaped(&path.display().to_string())
            ),
        }
    }

    fn ca_file(&self) -> Result<Option<(&Path, Vec<u8>)>, NetworkError> {
        let Some(path) = &self.ca_file else {
            return Ok(None);
        };
        match read_limited(path, LARGEST_CA_FILE) {
            Ok(mut pem) => {
                // The parser overlooks a first certificate after the mark that some editors write.
                if pem.starts_with(BYTE_ORDER_MARK) {
                    pem.drain(..BYTE_ORDER_MARK.len());
                }
                Ok(Some((path, pem)))
            }
            Err(source) => Err(NetworkError::CaFile { path: path.clone(), source }),
        }
    }

    fn certificates(&self) -> Result<Vec<reqwest::Certificate>, NetworkError> {
        check_clock(SystemTime::now())?;
        let Some((path, pem)) = self.ca_file()? else {
            return Ok(Vec::new());
        };
        let certificates = reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| {
            NetworkError::CaFile { path: path.to_owned(), source: io::Error::other(error) }
        })?;
        // The client accepts such a file, and connections would later fail with an unknown issuer.
        if certificates.is_empty() {
            return Err(NetworkError::NoCertificate(path.to_owned()));
        }
        // The client would say later that the certificate of its peer is malformed.
        let is_certificate = |found: Result<CertificateDer<'_>, _>| {
            found.is_ok_and(|found| RootCertStore::empty().add(found).is_ok())
        };
        match CertificateDer::pem_slice_iter(&pem).all(is_certificate) {
            true => Ok(certificates),
            false => Err(NetworkError::CaFile {
                path: path.to_owned(),
                source: io::Error::other(
                    "a certificate in it is malformed, as in a file that is half written",
                ),
            }),
        }
    }
}

/// rustls panics when it verifies a certificate at a time before 1970.
fn check_clock(now: SystemTime) -> Result<(), NetworkError> {
    if now < UNIX_EPOCH { Err(NetworkError::Clock) } else { Ok(()) }
}

/// Installs `ring` as the cryptography provider of the process. Every user of TLS calls this first.
pub fn provider() {
    // `ring` builds faster than `aws-lc-rs` and makes a smaller binary (src/transport/README.md, "Rules").
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        // An error means that a provider is installed already, which is sufficient.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_settings_make_clients() {
        let network = Network::default();
        network.client(Duration::from_secs(1)).unwrap();
        network.blocking_client(Duration::from_secs(1)).unwrap();
    }

    #[test]
    fn a_ca_file_without_a_certificate_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        let network = Network { ca_file: Some(path.clone()), ..Network::default() };
        let client = || network.client(Duration::from_secs(1));
        assert!(matches!(client(), Err(NetworkError::CaFile { .. })));
        std::fs::write(&path, "no certificate").unwrap();
        assert!(matches!(client(), Err(NetworkError::NoCertificate(_))));
        assert!(matches!(network.check(), Err(NetworkError::NoCertificate(_))));
    }

    #[test]
    fn a_clock_before_1970_is_an_error() {
        let second = Duration::from_secs(1);
        check_clock(UNIX_EPOCH + second).unwrap();
        let error = check_clock(UNIX_EPOCH - second).unwrap_err();
        assert!(matches!(error, NetworkError::Clock) && error.hint().is_some());
    }

    #[tokio::test]
    async fn plain_http_is_refused() {
        let client = Network::default().client(Duration::from_secs(1)).unwrap();
        let error = client.get("http://127.0.0.1:9/").send().await.unwrap_err();
        assert!(error.is_builder(), "{error:?}");
    }
}
