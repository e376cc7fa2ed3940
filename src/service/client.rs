//! Sending one publish.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
    RETRY_AFTER,
};

use super::answer::LARGEST_BODY;
use super::retry_after::retry_after;
use super::show::shown;
use super::{Answer, BaseUrl, Body, Failure, Outcome, Standing, classify, classify_failure};
use crate::model::ToggleId;
use crate::transport::{Network, NetworkError, Secret, SecretError, SecretSource};

/// What a client needs to know.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Where the service is.
    pub base_url: BaseUrl,
    /// Where the token comes from.
    pub token: SecretSource,
    /// CA, proxy and connect settings.
    pub network: Network,
    /// How long one publish may take, from connect to the last byte.
    pub timeout: Duration,
}

/// A client that cannot be made, or a token that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// TLS cannot be set up.
    #[error("cannot set up the connection to the service")]
    Network(#[from] NetworkError),
    /// The token cannot be read.
    #[error("cannot read the service's token")]
    Token(#[from] SecretError),
    /// The token cannot stand in a header.
    #[error("the service's token holds a line break or another character that no HTTP header can carry")]
    Unsendable,
}

impl ClientError {
    /// Returns what to do about it, where there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Network(error) => error.hint(),
            Self::Token(error) => Some(error.hint()),
            Self::Unsendable => Some("give the token alone, on one line".to_owned()),
        }
    }
}

/// Whether reading the token again brought another one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TokenChange {
    /// Another one, which has not been tried yet.
    Changed,
    /// The same one.
    Same,
}

/// What one pass has learnt about the service: whether anything was accepted.
#[derive(Debug, Default)]
pub struct Session(AtomicBool);

impl Session {
    /// Returns what is known so far.
    #[must_use]
    pub fn standing(&self) -> Standing {
        if self.0.load(Ordering::Acquire) {
            Standing::Proven
        } else {
            Standing::Unproven
        }
    }

    fn note(&self, outcome: &Outcome) {
        if matches!(outcome, Outcome::Applied { .. }) {
            self.0.store(true, Ordering::Release);
        }
    }
}

/// The service's client. Cheap to clone; clones share connections and the token.
#[derive(Clone)]
pub struct Client {
    base_url: BaseUrl,
    source: SecretSource,
    http: reqwest::Client,
    /// Contended only by a reload, which replaces the whole value.
    token: Arc<RwLock<Arc<Token>>>,
}

/// A token, ready to be sent.
struct Token {
    secret: Secret,
    header: HeaderValue,
    generation: u64,
}

impl Client {
    /// Builds a client, reading the CA file and the token. Contacts nobody.
    ///
    /// # Errors
    /// When TLS cannot be set up, or the token cannot be read or sent.
    pub fn new(config: ClientConfig) -> Result<Self, ClientError> {
        let ClientConfig {
            base_url,
            token: source,
            mut network,
            timeout,
        } = config;
        // Shorter than the whole, so that a slow connect is told from a lost request: nothing has left yet.
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

    /// Returns where the service is.
    #[must_use]
    pub fn base_url(&self) -> &BaseUrl {
        &self.base_url
    }

    /// Returns a number that grows with every new token: one that is greater than it was when a request was sent
    /// says that its 401 is about an older token.
    #[must_use]
    pub fn token_generation(&self) -> u64 {
        self.token().generation
    }

    /// Reads the token again; for the beginning of a pass, and once after a 401 or 403.
    ///
    /// # Errors
    /// When it cannot be read or sent; the previous one stays.
    pub fn reload_token(&self) -> Result<TokenChange, ClientError> {
        let secret = self.source.read()?;
        let mut current = self.token.write().unwrap_or_else(PoisonError::into_inner);
        if current.secret == secret {
            return Ok(TokenChange::Same);
        }
        *current = Arc::new(Token::new(secret, current.generation + 1)?);
        Ok(TokenChange::Changed)
    }

    /// Asks the service to store `body` for `toggle`, once, and says what came of it.
    ///
    /// A success is noted in `session`. Nothing is tried again here; see [`super::retry`].
    pub async fn publish(&self, toggle: &ToggleId, body: Bytes, session: &Session) -> Outcome {
        let token = self.token();
        let outcome = match self.send(toggle, body, &token).await {
            Ok(answer) => classify(&answer, session.standing()),
            Err(error) => {
                let failure = Failure::new(&error, token.secret.expose());
                classify_failure(&failure, self.base_url.host())
            }
        };
        session.note(&outcome);
        outcome
    }

    async fn send(&self, toggle: &ToggleId, body: Bytes, token: &Token) -> Result<Answer, reqwest::Error> {
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
        header.set_sensitive(true);
        Ok(Self {
            secret,
            header,
            generation,
        })
    }
}

/// Logs an answer, with the id that the service or a proxy gives the request, so that their logs can be searched for it.
fn log(toggle: &ToggleId, response: &reqwest::Response, took: Duration, secret: &str) {
    const REQUEST_IDS: [&str; 3] = ["x-request-id", "x-correlation-id", "request-id"];
    let headers = response.headers();
    let ids = REQUEST_IDS
        .iter()
        .filter_map(|name| headers.get(*name)?.to_str().ok());
    let request_id = ids.map(|id| shown(id, secret)).next();
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let status = response.status().as_u16();
    tracing::debug!(name: "answered", %toggle, status, took_ms, request_id, "answered");
}

async fn read(mut response: reqwest::Response, secret: &str) -> Answer {
    let status = response.status().as_u16();
    let headers = std::mem::take(response.headers_mut());
    let body = match bounded(&mut response).await {
        Ok(bytes) => Body::new(&bytes, text(&headers, &CONTENT_ENCODING), secret),
        Err(_) => Body::Broken,
    };
    Answer {
        status,
        location: text(&headers, &LOCATION).map(|location| shown(location, secret)),
        retry_after: text(&headers, &RETRY_AFTER).and_then(|text| retry_after(text, jiff::Timestamp::now())),
        body,
    }
}

async fn bounded(response: &mut reqwest::Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut bytes = Vec::new();
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
    fn a_rotated_token_is_read_again_and_the_last_good_one_stays() {
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
