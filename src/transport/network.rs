//! Creates HTTPS clients from one set of CA, proxy, and timeout settings, and describes why their requests
//! failed.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fmt, io};

use hyper_util::client::proxy::matcher::Matcher;

use super::read_limited;
use crate::model::{escaped, plain};

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
            Self::Tls(_) => None,
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
        Ok(certificates)
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

/// A variable that does not name a proxy. Its value is not shown, because it may contain a password.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{0}` is not the address of a proxy")]
pub struct ProxySettingError(&'static str);

/// Checks the first variable that is set, as the client looks for them. `variable` returns the value of a
/// variable.
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
    // The client takes what precedes such a character for the host, and prints it: a part of a password.
    let after_scheme = value.split_once("://").map_or(value, |(_, rest)| rest);
    let credentials = after_scheme.rsplit_once('@').map_or("", |(credentials, _)| credentials);
    let matcher = Matcher::builder().https(value.to_owned()).build();
    !credentials.contains(['/', '?', '#', '@']) && matcher.intercept(&target).is_some()
}

/// A proxy that did not connect to the target.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProxyFault {
    /// The address, without credentials.
    proxy: String,
    fault: TunnelFault,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum TunnelFault {
    /// It ended the connection without a response.
    Closed,
    /// Status 407.
    Credentials,
    /// Any other status or a malformed response.
    Refused,
    /// It is a SOCKS proxy, to which the client spoke HTTP.
    Socks,
    TimedOut,
    Unreachable(Reason),
}

impl fmt::Display for ProxyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proxy = escaped(&self.proxy);
        match &self.fault {
            TunnelFault::Closed => write!(f, "the proxy `{proxy}` closed the connection"),
            TunnelFault::Credentials => write!(f, "the proxy `{proxy}` requires credentials (407)"),
            TunnelFault::Refused => write!(f, "the proxy `{proxy}` refused to connect to it"),
            TunnelFault::Socks => {
                write!(f, "`{proxy}` is a SOCKS proxy, and only HTTP proxies are supported")
            }
            TunnelFault::TimedOut => write!(f, "the connection through the proxy `{proxy}` timed out"),
            TunnelFault::Unreachable(why) => write!(f, "the proxy `{proxy}` is unreachable: {why}"),
        }
    }
}

/// Returns why the proxy did not connect to the target, if the request failed there.
pub fn proxy_fault(error: &reqwest::Error) -> Option<ProxyFault> {
    if !error.is_connect() && !error.is_timeout() {
        return None;
    }
    // The client does not report the proxy that it used, so the same rules are applied again.
    let proxy = proxy_for(error.url()?)?;
    let fault = match chain(error).find_map(tunnel_fault) {
        _ if proxy.starts_with("socks") => TunnelFault::Socks,
        Some(fault) => fault,
        // The error of a timeout while connecting does not contain the error of the tunnel.
        None if error.is_connect() && error.is_timeout() => TunnelFault::TimedOut,
        None => return None,
    };
    Some(ProxyFault { proxy, fault })
}

/// Returns the address of the proxy that requests to `target` go through, without credentials.
fn proxy_for(target: &url::Url) -> Option<String> {
    let intercept = Matcher::from_env().intercept(&target.as_str().parse().ok()?)?;
    let uri = intercept.uri();
    Some(format!("{}://{}", uri.scheme_str()?, uri.authority()?))
}

/// Classifies the client's error for a tunnel by its text, because its type is private.
fn tunnel_fault(error: &(dyn Error + 'static)) -> Option<TunnelFault> {
    let text = error.to_string();
    let fault = match text.strip_prefix("tunnel error: ")? {
        "failed to create underlying connection" => TunnelFault::Unreachable(reason(error)),
        "proxy authorization required" => TunnelFault::Credentials,
        "unexpected end of file" | "io error establishing tunnel" => TunnelFault::Closed,
        _ => TunnelFault::Refused,
    };
    Some(fault)
}

/// The last cause of a failed request.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", escaped(.0))]
pub struct Reason(String);

/// Returns the last cause of `error`, which is the most specific one.
pub fn reason(error: &(dyn Error + 'static)) -> Reason {
    // rustls reports an early end of the connection with the URL of its manual, and hyper in the terms of its
    // parser.
    if chain(error).any(is_cut) {
        return Reason("the connection was closed before the response was complete".to_owned());
    }
    let text = chain(error).last().unwrap_or(error).to_string();
    Reason(match text.as_str() {
        "received corrupt message of type InvalidContentType" => "the server does not speak TLS".to_owned(),
        "invalid HTTP version parsed" => "the server does not speak HTTP without TLS".to_owned(),
        _ => plain(&text),
    })
}

/// Returns why a request got no response: the fault of the certificate or of the proxy, or the last cause.
pub(super) fn no_response(error: &reqwest::Error, network: &Network) -> Reason {
    if let Some(fault) = certificate_fault(error) {
        let hint = match fault {
            CertificateFault::Untrusted => format!("; {}", network.trust_advice()),
            _ => String::new(),
        };
        return Reason(format!("could not verify its certificate: {fault}{hint}"));
    }
    match proxy_fault(error) {
        Some(fault) => Reason(fault.to_string()),
        None if error.is_timeout() => Reason("no response arrived in time".to_owned()),
        None => reason(error),
    }
}

fn is_cut(error: &(dyn Error + 'static)) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    kind == Some(io::ErrorKind::UnexpectedEof)
        || error.to_string().starts_with("connection closed before message completed")
}

/// Returns `error` and its causes, including the error that an I/O error wraps, which its `source` skips.
pub(super) fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| cause(*error))
}

fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    match wrapped {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

/// What to do about a clock that makes a certificate look out of date.
pub(crate) const CORRECT_CLOCK: &str = "correct the clock of this machine";

/// Why a server's certificate was rejected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CertificateFault {
    /// A CA certificate, such as plain `openssl req -x509` makes.
    CaCertificate,
    /// Past the end of its validity.
    Expired,
    /// Before the start of its validity; usually a clock is wrong.
    NotYetValid,
    /// Another fault: malformed, revoked, or made for another purpose.
    Other,
    /// Not signed by a trusted CA.
    Untrusted,
    /// Made for another host.
    WrongName,
}

impl fmt::Display for CertificateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CaCertificate => "a CA certificate is used as the server's certificate",
            Self::Expired => "it has expired",
            Self::NotYetValid => "it is not valid yet",
            Self::Other => "it is not acceptable",
            Self::Untrusted => "unknown issuer",
            Self::WrongName => "it is for another name",
        })
    }
}

/// Returns the fault of the server's certificate if the request failed because of it.
pub fn certificate_fault(error: &reqwest::Error) -> Option<CertificateFault> {
    chain(error).find_map(|cause| match cause.downcast_ref() {
        Some(rustls::Error::InvalidCertificate(fault)) => Some(classify(fault)),
        _ => None,
    })
}

/// Returns whether the request failed because the server does not speak TLS.
pub fn is_without_tls(error: &reqwest::Error) -> bool {
    chain(error).any(|cause| matches!(cause.downcast_ref(), Some(rustls::Error::InvalidMessage(_))))
}

fn classify(fault: &rustls::CertificateError) -> CertificateFault {
    use rustls::CertificateError as E;
    match fault {
        E::Expired | E::ExpiredContext { .. } => CertificateFault::Expired,
        E::NotValidYet | E::NotValidYetContext { .. } => CertificateFault::NotYetValid,
        // A CA that was created again has the same name, so a certificate of the old one fails only at the
        // signature.
        E::UnknownIssuer | E::BadSignature => CertificateFault::Untrusted,
        E::NotValidForName | E::NotValidForNameContext { .. } => CertificateFault::WrongName,
        // The type of the wrapped error is private to rustls. It prints as its name.
        E::Other(other) if other.to_string() == "CaUsedAsEndEntity" => CertificateFault::CaCertificate,
        _ => CertificateFault::Other,
    }
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
            (&[("HTTPS_PROXY", "http://user:se#cret@proxy.example:3128")], "HTTPS_PROXY"),
            (&[("HTTPS_PROXY", "http://user:se/cret@proxy.example:3128")], "HTTPS_PROXY"),
            (&[("HTTPS_PROXY", "http://user:se@cret@proxy.example:3128")], "HTTPS_PROXY"),
            (&[("HTTPS_PROXY", "user:se?cret@proxy.example:3128")], "HTTPS_PROXY"),
        ] {
            assert_eq!(checked(unusable), Err(ProxySettingError(name)), "{unusable:?}");
        }
        let bytes = |name: &str| (name == "HTTPS_PROXY").then(|| OsString::from_vec(vec![0xff]));
        assert_eq!(check_proxies(bytes), Err(ProxySettingError("HTTPS_PROXY")));
    }

    #[test]
    fn a_cut_connection_is_described_without_a_manual() {
        let manual = "peer closed connection without sending TLS close_notify: https://docs.rs/rustls/…";
        let tls = io::Error::new(io::ErrorKind::UnexpectedEof, manual);
        let outer = io::Error::other(tls);
        assert_eq!(reason(&outer).to_string(), "the connection was closed before the response was complete");
    }

    #[test]
    fn a_mistaken_scheme_is_described_in_plain_words() {
        for (text, expected) in [
            ("received corrupt message of type InvalidContentType", "the server does not speak TLS"),
            ("invalid HTTP version parsed", "the server does not speak HTTP without TLS"),
        ] {
            let outer = io::Error::other(io::Error::other(text));
            assert_eq!(reason(&outer).to_string(), expected);
        }
    }

    #[test]
    fn the_last_cause_is_found_within_nested_io_errors() {
        let refused = io::Error::new(io::ErrorKind::ConnectionRefused, "refused");
        let outer = io::Error::other(io::Error::other(refused));
        assert_eq!(reason(&outer).to_string(), "refused");
    }
}

#[cfg(test)]
mod certificate_tests {
    use std::sync::Arc;

    use rustls::{CertificateError as E, OtherError};

    use super::*;

    #[test]
    fn each_fault_of_a_certificate_has_its_own_kind() {
        let other = |name: &str| E::Other(OtherError(Arc::new(io::Error::other(name.to_owned()))));
        for (fault, kind) in [
            (other("CaUsedAsEndEntity"), CertificateFault::CaCertificate),
            (other("PathLenConstraintViolated"), CertificateFault::Other),
            (E::Expired, CertificateFault::Expired),
            (E::NotValidYet, CertificateFault::NotYetValid),
            (E::UnknownIssuer, CertificateFault::Untrusted),
            (E::NotValidForName, CertificateFault::WrongName),
            (E::Revoked, CertificateFault::Other),
        ] {
            assert_eq!(classify(&fault), kind);
        }
    }
}
