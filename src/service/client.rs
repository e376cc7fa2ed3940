//! Sends publish requests.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
    RETRY_AFTER,
};

use super::response::LARGEST_BODY;
use super::retry_after::retry_after;
use super::sanitize::sanitized;
use super::{BaseUrl, Body, Outcome, SendFailure, ServiceResponse, ServiceTrust, classify, classify_failure};
use crate::model::ToggleId;
use crate::transport::{Network, NetworkError, Secret, SecretError, SecretSource};

/// The configuration of a client.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The address of the service.
    pub base_url: BaseUrl,
    /// The source of the token.
    pub token: SecretSource,
    /// CA, proxy and connect settings.
    pub network: Network,
    /// The maximum duration of one publish, from connecting to the last byte.
    pub timeout: Duration,
}

/// The client could not be built, or the token could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// TLS could not be set up.
    #[error("could not set up the connection to the service")]
    Network(#[from] NetworkError),
    /// The token could not be read.
    #[error("could not read the service's token")]
    Token(#[from] SecretError),
    /// The token is not valid in an HTTP header.
    #[error(
        "the service's token contains a line break or another character that is not allowed in an HTTP header"
    )]
    Unsendable,
}

impl ClientError {
    /// Returns how to fix the error, if there is advice.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Network(error) => error.hint(),
            Self::Token(error) => Some(error.hint()),
            Self::Unsendable => Some("put only the token into the file or variable, on one line".to_owned()),
        }
    }
}

/// The result of reading the token again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TokenChange {
    /// The token is new.
    Changed,
    /// The token is the same.
    Same,
}

/// Records whether the service accepted a request in this pass.
#[derive(Debug, Default)]
pub struct Session(AtomicBool);

impl Session {
    /// Returns whether the service accepted a request.
    #[must_use]
    pub fn trust(&self) -> ServiceTrust {
        if self.0.load(Ordering::Acquire) {
            ServiceTrust::Proven
        } else {
            ServiceTrust::Unproven
        }
    }

    fn record(&self, outcome: &Outcome) {
        if matches!(outcome, Outcome::Applied { .. }) {
            self.0.store(true, Ordering::Release);
        }
    }
}

/// A client of the service. Clones share connections and the token.
#[derive(Clone)]
pub struct Client {
    base_url: BaseUrl,
    source: SecretSource,
    http: reqwest::Client,
    token: Arc<RwLock<Arc<Token>>>,
}

struct Token {
    secret: Secret,
    header: HeaderValue,
    generation: u64,
}

impl Client {
    /// Builds a client. Reads the CA file and the token, but opens no connection.
    ///
    /// # Errors
    /// If TLS cannot be set up, or the token cannot be read or is not valid in a header.
    pub fn new(config: ClientConfig) -> Result<Self, ClientError> {
        let ClientConfig {
            base_url,
            token: source,
            mut network,
            timeout,
        } = config;
        // Shorter than the total, so that a slow connection fails before the request could have left.
        network.connect_timeout = network.connect_timeout.min(timeout - timeout / 10);
        let http = network.client(timeout)?;
        let token = Token::new(source.read()?, 0)?;
        Ok(Self {
            base_url,
            source,
            http,
            token: Arc::new(RwLock::new(Arc::new(token))),
        })
    }

    /// Returns the address of the service.
    #[must_use]
    pub fn base_url(&self) -> &BaseUrl {
        &self.base_url
    }

    /// Returns the number of token changes. If it grew since a request was sent, a 401 for that request concerns an
    /// older token.
    #[must_use]
    pub fn token_generation(&self) -> u64 {
        self.token().generation
    }

    /// Reads the token again: at the beginning of a pass, and once after a 401 or 403.
    ///
    /// # Errors
    /// If it cannot be read or is not valid in a header; the client keeps the previous token.
    pub fn reload_token(&self) -> Result<TokenChange, ClientError> {
        // The file is read before the lock is taken, so that a slow disk does not block requests.
        let secret = self.source.read()?;
        let mut current = self.token.write().unwrap_or_else(PoisonError::into_inner);
        if current.secret == secret {
            return Ok(TokenChange::Same);
        }
        *current = Arc::new(Token::new(secret, current.generation + 1)?);
        Ok(TokenChange::Changed)
    }

    /// Sends `body` for `toggle` once and returns the outcome. Records a success in `session`. Does not retry; see
    /// [`super::retry`].
    pub async fn publish(&self, toggle: &ToggleId, body: Bytes, session: &Session) -> Outcome {
        let token = self.token();
        let outcome = match self.send(toggle, body, &token).await {
            Ok(response) => classify(&response, session.trust()),
            Err(error) => {
                let failure = SendFailure::new(&error, token.secret.expose());
                classify_failure(&failure, self.base_url.host())
            }
        };
        session.record(&outcome);
        outcome
    }

    async fn send(
        &self,
        toggle: &ToggleId,
        body: Bytes,
        token: &Token,
    ) -> Result<ServiceResponse, reqwest::Error> {
        let started = Instant::now();
        let response = self
            .http
            .patch(self.base_url.targeting(toggle))
            .header(AUTHORIZATION, token.header.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .body(body)
            .send()
            .await?;
        log(toggle, &response, started.elapsed(), token.secret.expose());
        Ok(read(response, token.secret.expose()).await)
    }

    fn token(&self) -> Arc<Token> {
        Arc::clone(&self.token.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base_url", &self.base_url)
            .field("token", &"***")
            .finish_non_exhaustive()
    }
}

impl Token {
    fn new(secret: Secret, generation: u64) -> Result<Self, ClientError> {
        let mut header = HeaderValue::from_str(secret.expose()).map_err(|_| ClientError::Unsendable)?;
        // A sensitive header stays out of `Debug` output and of the compression tables of HTTP/2.
        header.set_sensitive(true);
        Ok(Self {
            secret,
            header,
            generation,
        })
    }
}

/// Logs a response with the request id of the service or a proxy, so that operators can find it in their logs.
fn log(toggle: &ToggleId, response: &reqwest::Response, took: Duration, secret: &str) {
    const REQUEST_IDS: [&str; 3] = ["x-request-id", "x-correlation-id", "request-id"];
    let headers = response.headers();
    let ids = REQUEST_IDS
        .iter()
        .filter_map(|name| headers.get(*name)?.to_str().ok());
    let request_id = ids.map(|id| sanitized(id, secret)).next();
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let status = response.status().as_u16();
    tracing::debug!(name: "answered", %toggle, status, took_ms, request_id, "response received");
}

async fn read(mut response: reqwest::Response, secret: &str) -> ServiceResponse {
    let status = response.status().as_u16();
    let headers = std::mem::take(response.headers_mut());
    let body = match bounded(&mut response).await {
        Ok(bytes) => Body::new(&bytes, text(&headers, &CONTENT_ENCODING), secret),
        // Without the whole response, even a 2xx does not prove that the service stored the document.
        Err(_) => Body::Broken,
    };
    ServiceResponse {
        status,
        location: text(&headers, &LOCATION).map(|location| sanitized(location, secret)),
        retry_after: text(&headers, &RETRY_AFTER).and_then(|text| retry_after(text, jiff::Timestamp::now())),
        body,
    }
}

async fn bounded(response: &mut reqwest::Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut bytes = Vec::new();
    // The beginning suffices for the classification, and a service must not fill the memory.
    while bytes.len() < LARGEST_BODY
        && let Some(chunk) = response.chunk().await?
    {
        bytes.extend_from_slice(&chunk[..chunk.len().min(LARGEST_BODY - bytes.len())]);
    }
    Ok(bytes)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotated_token_is_read_again_and_an_invalid_one_is_ignored() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let write = |token: &str| std::fs::write(file.path(), token).unwrap();
        write("api-old\n");
        let client = Client::new(ClientConfig {
            base_url: "https://toggles.example.org".parse().unwrap(),
            token: SecretSource::File(file.path().to_owned()),
            network: Network::default(),
            timeout: Duration::from_secs(1),
        })
        .unwrap();
        assert!(!format!("{client:?}").contains("api-old"), "{client:?}");
        assert_eq!(client.reload_token().unwrap(), TokenChange::Same);
        write("api-new\n");
        assert_eq!(client.reload_token().unwrap(), TokenChange::Changed);
        write("api\u{7f}\n");
        assert!(matches!(client.reload_token(), Err(ClientError::Unsendable)));
        assert_eq!(client.token().secret.expose(), "api-new");
        assert_eq!(client.token_generation(), 1);
    }
}
