//! Creates HTTPS clients from one set of CA, proxy, and timeout settings.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper_util::client::proxy::matcher::Matcher;

use super::read_limited;

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
    CaFile { path: PathBuf, source: std::io::Error },
    #[error("the clock of this machine shows a time before 1970")]
    Clock,
    #[error("the CA file `{}` does not contain a PEM certificate", .0.display())]
    NoCertificate(PathBuf),
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
            Self::Proxy(_) => Some("write `http://HOST:PORT`, or unset the variable".to_owned()),
            Self::Tls(_) => None,
        }
    }
}

impl Network {
    /// Returns a client that accepts only HTTPS and follows no redirects. `timeout` limits a whole request, from connecting
    /// to the last byte.
    ///
    /// # Errors
    /// If the CA file is unusable or TLS setup fails.
    pub fn client(&self, timeout: Duration) -> Result<reqwest::Client, NetworkError> {
        provider();
        let builder = match self.proxies {
            Proxies::Environment => reqwest::Client::builder(),
            Proxies::Ignored => reqwest::Client::builder().no_proxy(),
        };
        builder
            .https_only(true)
            // The service's redirects are never followed (DESIGN section 6).
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(USER_AGENT)
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
            .connect_timeout(self.connect_timeout)
            .timeout(timeout);
        let builder = match schemes {
            Schemes::HttpWithoutProxy => builder.no_proxy().tls_certs_merge(self.certificates()?),
            Schemes::HttpsOnly => builder.https_only(true).tls_certs_merge(self.checked()?),
        };
        builder.build().map_err(NetworkError::Tls)
    }

    /// Reads the CA file and the proxies, so that a mistake is reported before a connection needs them.
    ///
    /// # Errors
    /// If the CA file, a proxy, or the clock is unusable.
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

    /// Returns the CA file together with the certificates of the system, for programs that trust one file only.
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

    fn ca_file(&self) -> Result<Option<(&Path, Vec<u8>)>, NetworkError> {
        let Some(path) = &self.ca_file else {
            return Ok(None);
        };
        match read_limited(path, LARGEST_CA_FILE) {
            Ok(pem) => Ok(Some((path, pem))),
            Err(source) => Err(NetworkError::CaFile { path: path.clone(), source }),
        }
    }

    fn certificates(&self) -> Result<Vec<reqwest::Certificate>, NetworkError> {
        check_clock(SystemTime::now())?;
        let Some((path, pem)) = self.ca_file()? else {
            return Ok(Vec::new());
        };
        let certificates = reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| {
            NetworkError::CaFile { path: path.to_owned(), source: std::io::Error::other(error) }
        })?;
        // The client accepts such a file, and connections would later fail with an unknown issuer.
        if certificates.is_empty() {
            return Err(NetworkError::NoCertificate(path.to_owned()));
        }
        Ok(certificates)
    }
}

/// rustls panics when it verifies a certificate at a time before 1970.
fn check_clock(now: SystemTime) -> Result<(), NetworkError> {
    if now < UNIX_EPOCH { Err(NetworkError::Clock) } else { Ok(()) }
}

/// Installs `ring` as the cryptography provider of the process. Every user of TLS calls this first.
pub fn provider() {
    // `ring` builds faster than `aws-lc-rs` and makes a smaller binary (measurements, section 7).
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        // An error means that a provider is installed already, which is sufficient.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// A variable that does not name a proxy. Its value is not shown, because it may contain a password.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{0}` is not the address of a proxy")]
pub struct ProxySettingError(&'static str);

/// Checks the first variable that is set, as the client looks for them. `variable` returns the value of a variable.
fn check_proxies(variable: impl Fn(&str) -> Option<OsString>) -> Result<(), ProxySettingError> {
    // In a CGI program, a request sets such variables, so the client ignores all of them.
    if variable("REQUEST_METHOD").is_some() {
        return Ok(());
    }
    for names in [["HTTPS_PROXY", "https_proxy"], ["ALL_PROXY", "all_proxy"]] {
        let first = names.into_iter().find_map(|name| Some((name, variable(name)?)));
        match first {
            Some((_, value)) if value.is_empty() => {}
            Some((name, value)) => return is_proxy(&value).then_some(()).ok_or(ProxySettingError(name)),
            None => {}
        }
    }
    Ok(())
}

fn is_proxy(value: &OsString) -> bool {
    let (Some(value), Ok(target)) = (value.to_str(), "https://host.example".parse()) else {
        return false;
    };
    let matcher = Matcher::builder().https(value.to_owned()).build();
    matcher.intercept(&target).is_some()
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

#[cfg(test)]
mod proxy_setting_tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn checked(variables: &[(&str, &str)]) -> Result<(), ProxySettingError> {
        check_proxies(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.into())
        })
    }

    #[test]
    fn the_variable_that_the_client_uses_names_a_proxy() {
        for usable in [
            &[][..],
            &[("HTTPS_PROXY", "")],
            &[("HTTPS_PROXY", "http://proxy.example:3128")],
            &[("https_proxy", "proxy.example:3128")],
            &[("HTTPS_PROXY", "http://user:secret@proxy.example:3128/")],
            &[("ALL_PROXY", "socks5h://proxy.example:1080")],
            &[("HTTPS_PROXY", "proxy.example"), ("ALL_PROXY", "%%")],
            &[("HTTPS_PROXY", "proxy.example"), ("https_proxy", "%%")],
            &[("HTTPS_PROXY", "%%"), ("REQUEST_METHOD", "GET")],
            &[("HTTP_PROXY", "%%")],
        ] {
            assert_eq!(checked(usable), Ok(()), "{usable:?}");
        }
        for (unusable, name) in [
            (&[("HTTPS_PROXY", "http://")][..], "HTTPS_PROXY"),
            (&[("https_proxy", "proxy example")], "https_proxy"),
            (&[("HTTPS_PROXY", "ftp://proxy.example")], "HTTPS_PROXY"),
            (&[("HTTPS_PROXY", ""), ("all_proxy", "/proxy")], "all_proxy"),
        ] {
            assert_eq!(checked(unusable), Err(ProxySettingError(name)), "{unusable:?}");
        }
        let bytes = |name: &str| (name == "HTTPS_PROXY").then(|| OsString::from_vec(vec![0xff]));
        assert_eq!(check_proxies(bytes), Err(ProxySettingError("HTTPS_PROXY")));
    }
}
