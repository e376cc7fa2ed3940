//! Requests to the HTTP interface of a gitoggle daemon.
//!
//! The client sends the admin token only to the host of the URL: it follows no redirects, and plain HTTP,
//! which is meant for loopback and port forwarding, bypasses proxies.

use std::fmt;
use std::io::Read as _;
use std::str::FromStr;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use url::Url;

use super::certificate::{CertificateFault, certificate_fault};
use super::failure::{Reason, reason};
use super::network::Schemes;
use super::proxy::proxy_fault;
use super::{Network, NetworkError, Secret};

/// In bytes; more than the status of a million toggles.
const LARGEST_DAEMON_RESPONSE: u64 = 1 << 30;
/// For each read of a response.
const DAEMON_TIMEOUT: Duration = Duration::from_secs(30);

/// The address of a daemon: `http` or `https`, without user, query, and fragment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DaemonUrl(Url);

/// Why a text is not the address of a daemon.
#[derive(Debug, thiserror::Error)]
pub enum DaemonUrlError {
    #[error("the URL of a daemon must not have a user, password, query, or fragment")]
    Extra,
    #[error("this is not a URL: {0}; write `http://127.0.0.1:8077`")]
    NotUrl(#[from] url::ParseError),
    #[error("write `http://…` or `https://…`, not `{0}:`")]
    Scheme(String),
}

impl FromStr for DaemonUrl {
    type Err = DaemonUrlError;

    fn from_str(text: &str) -> Result<Self, DaemonUrlError> {
        let url = Url::parse(text)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(DaemonUrlError::Scheme(url.scheme().to_owned()));
        }
        let has_user = !url.username().is_empty() || url.password().is_some();
        if has_user || url.query().is_some() || url.fragment().is_some() {
            return Err(DaemonUrlError::Extra);
        }
        Ok(Self(url))
    }
}

impl fmt::Display for DaemonUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

impl DaemonUrl {
    /// Returns whether the token would be sent in the clear over a network.
    pub fn is_exposed(&self) -> bool {
        let is_loopback = match self.0.host() {
            Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        self.0.scheme() == "http" && !is_loopback
    }
}

#[derive(Debug)]
pub(crate) struct DaemonReply {
    pub(crate) status: u16,
    /// The target of a redirect.
    pub(crate) location: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// Why a request got no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DaemonError {
    #[error("could not read the response of `{0}`")]
    Incomplete(String, #[source] std::io::Error),
    #[error("could not reach the daemon at `{0}`")]
    Unreachable(String, #[source] Reason),
}

/// Sends requests to one daemon.
#[derive(Debug)]
pub(crate) struct DaemonClient {
    url: DaemonUrl,
    token: Secret,
    client: reqwest::blocking::Client,
    network: Network,
}

impl DaemonClient {
    pub(crate) fn new(url: DaemonUrl, token: Secret, network: &Network) -> Result<Self, NetworkError> {
        let schemes = match url.0.scheme() {
            // A proxy would read the token.
            "http" => Schemes::HttpWithoutProxy,
            _ => Schemes::HttpsOnly,
        };
        let client = network.blocking_client_for(DAEMON_TIMEOUT, schemes)?;
        Ok(Self { url, token, client, network: network.clone() })
    }

    pub(crate) fn url(&self) -> &DaemonUrl {
        &self.url
    }

    /// Requests `path` with the admin token.
    pub(crate) fn get(&self, path: &str) -> Result<DaemonReply, DaemonError> {
        // The read endpoints may require a token, too.
        self.send(self.client.get(self.at(path)))
    }

    /// Posts the JSON `body` to `path` with the admin token.
    pub(crate) fn post(&self, path: &str, body: &str) -> Result<DaemonReply, DaemonError> {
        let request = self.client.post(self.at(path));
        let request = request.header(CONTENT_TYPE, "application/json");
        self.send(request.body(body.to_owned()))
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    fn send(&self, request: reqwest::blocking::RequestBuilder) -> Result<DaemonReply, DaemonError> {
        let address = || self.url.to_string();
        let response = request
            .header(AUTHORIZATION, format!("Bearer {}", self.token.expose()))
            .send()
            .map_err(|error| DaemonError::Unreachable(address(), no_response(&error, &self.network)))?;
        let location = response.headers().get(LOCATION);
        let location = location.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let status = response.status().as_u16();
        let mut body = Vec::new();
        let read = response.take(LARGEST_DAEMON_RESPONSE).read_to_end(&mut body);
        read.map_err(|error| DaemonError::Incomplete(address(), error))?;
        Ok(DaemonReply { status, location, body })
    }
}

/// Returns why a request got no response: the fault of the certificate or of the proxy, or the last cause.
fn no_response(error: &reqwest::Error, network: &Network) -> Reason {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_daemon_has_an_address_and_nothing_else() {
        for (text, shown, is_exposed) in [
            ("http://127.0.0.1:8077", "http://127.0.0.1:8077", false),
            ("http://localhost:8077/", "http://localhost:8077", false),
            ("http://[::1]:8077", "http://[::1]:8077", false),
            ("http://gitoggle:8077", "http://gitoggle:8077", true),
            ("https://ops.example.com/gitoggle/", "https://ops.example.com/gitoggle", false),
        ] {
            let url: DaemonUrl = text.parse().unwrap();
            assert_eq!((url.to_string().as_str(), url.is_exposed()), (shown, is_exposed));
        }
        for text in ["", "127.0.0.1:8077", "ftp://a", "http://me:pass@a", "http://a/?b=c", "https://a/#b"] {
            let error = text.parse::<DaemonUrl>().unwrap_err().to_string();
            assert!(!error.contains("pass@"), "{error}");
        }
    }
}
