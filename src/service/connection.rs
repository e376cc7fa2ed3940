//! Sends the requests of the publisher and of the reader, with one set of connections and one token.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use reqwest::RequestBuilder;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use url::Url;

use super::classify::LARGEST_ANSWER;
use super::kind::{WriteRequest, protocol};
use super::received::Received;
use super::retry::TokenState;
use super::unanswered::unanswered;
use crate::model::{OutcomeKind, ServiceKind};
use crate::service::{BaseUrl, Outcome};
use crate::transport::{Network, NetworkError, Secret, SecretError, SecretSource};

/// The configuration of a [`super::Client`] or a [`super::LiveReader`].
#[derive(Clone, Debug)]
pub struct ClientConfig {
    pub kind: ServiceKind,
    /// The address of the service.
    pub base_url: BaseUrl,
    pub token: SecretSource,
    /// CA, proxy and connect settings.
    pub network: Network,
    /// The maximum duration of one request, from connecting to the last byte.
    pub timeout: Duration,
}

/// The client could not be built, or the token could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("could not set up the connection to the service")]
    Network(#[from] NetworkError),
    #[error("could not read the service's token")]
    Token(#[from] SecretError),
    #[error(
        "the service's token contains a line break or another character that is not allowed in an HTTP header"
    )]
    Unsendable,
}

impl ClientError {
    /// Returns the outcome that it counts as: a token that cannot be sent is accepted as little as one that the service
    /// rejects, and without CA certificates nothing is trusted.
    pub fn outcome(&self) -> Option<OutcomeKind> {
        match self {
            Self::Token(_) | Self::Unsendable => Some(OutcomeKind::Unauthorized),
            Self::Network(error) => error.is_bad_ca_file().then_some(OutcomeKind::Untrusted),
        }
    }

    /// Returns how to fix the error, if there is advice.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Network(error) => error.hint(),
            Self::Token(error) => Some(error.hint()),
            Self::Unsendable => Some("put only the token into the file or variable, on one line".to_owned()),
        }
    }
}

/// Connections to the service, with the token. Clones share both.
#[derive(Clone)]
pub(super) struct ServiceConnection {
    kind: ServiceKind,
    base_url: BaseUrl,
    source: SecretSource,
    http: reqwest::Client,
    network: Network,
    token: Arc<RwLock<Arc<Token>>>,
}

struct Token {
    authorization: Authorization,
    generation: u64,
}

/// A token or SDK key, as a header.
#[derive(Clone)]
pub(super) struct Authorization {
    secret: Secret,
    header: HeaderValue,
}

impl Authorization {
    /// `scheme` is what is sent before the secret, with a space at its end if it is not empty.
    pub(super) fn new(scheme: &str, secret: Secret) -> Result<Self, ClientError> {
        let text = format!("{scheme}{}", secret.expose());
        let mut header = HeaderValue::from_str(&text).map_err(|_| ClientError::Unsendable)?;
        // A sensitive header stays out of `Debug` output and of the compression tables of HTTP/2.
        header.set_sensitive(true);
        Ok(Self { secret, header })
    }
}

impl ServiceConnection {
    /// See [`super::Client::new`].
    pub(super) fn new(config: ClientConfig) -> Result<Self, ClientError> {
        let ClientConfig { kind, base_url, token: source, mut network, timeout } = config;
        // Shorter than the total, so that a slow connection fails before the request could have left.
        network.connect_timeout = network.connect_timeout.min(timeout - timeout / 10);
        let http = network.client(timeout)?;
        let token = Token {
            authorization: Authorization::new(protocol(kind).scheme, source.read()?)?,
            generation: 0,
        };
        Ok(Self { kind, base_url, source, http, network, token: Arc::new(RwLock::new(Arc::new(token))) })
    }

    pub(super) const fn kind(&self) -> ServiceKind {
        self.kind
    }

    pub(super) const fn base_url(&self) -> &BaseUrl {
        &self.base_url
    }

    /// See [`super::Client::token_generation`].
    pub(super) fn token_generation(&self) -> u64 {
        self.token().generation
    }

    /// See [`super::Client::token_state`].
    pub(super) fn token_state(&self, outcome: &Outcome, generation: u64) -> TokenState {
        // FeatureProbe also answers 403 for a revoked token (src/service/featureprobe.md, "Tokens").
        if matches!(outcome.kind, OutcomeKind::Forbidden | OutcomeKind::Unauthorized) {
            // The old token stays in use if the new one cannot be read.
            let _ = self.reload_token();
        }
        // Another request may have read the new token already.
        if self.token_generation() > generation { TokenState::Outdated } else { TokenState::Current }
    }

    /// See [`super::LiveReader::reload_token`].
    pub(super) fn reload_token(&self) -> Result<(), ClientError> {
        // The file is read before the lock is taken, so that a slow disk does not block requests.
        let secret = self.source.read()?;
        let mut current = self.token.write().unwrap_or_else(PoisonError::into_inner);
        if current.authorization.secret == secret {
            return Ok(());
        }
        *current = Arc::new(Token {
            authorization: Authorization::new(protocol(self.kind).scheme, secret)?,
            generation: current.generation + 1,
        });
        Ok(())
    }

    /// Sends a request that writes, with the token.
    pub(super) async fn write(&self, request: WriteRequest) -> Result<Received, Outcome> {
        let WriteRequest { method, url, content_type, body } = request;
        let request = self.http.request(method, url).header(CONTENT_TYPE, content_type).body(body);
        self.send(request, self.authorization(), LARGEST_ANSWER).await
    }

    /// Sends a GET and reads up to `limit` bytes of the body.
    pub(super) async fn get(
        &self,
        url: Url,
        authorization: Authorization,
        limit: usize,
    ) -> Result<Received, Outcome> {
        let headers = protocol(self.kind).read_headers.iter();
        let request = headers.fold(self.http.get(url), |get, (name, value)| get.header(*name, *value));
        self.send(request, authorization, limit).await
    }

    /// Returns the token, as a header.
    pub(super) fn authorization(&self) -> Authorization {
        self.token().authorization.clone()
    }

    async fn send(
        &self,
        request: RequestBuilder,
        Authorization { secret, header }: Authorization,
        limit: usize,
    ) -> Result<Received, Outcome> {
        let started = Instant::now();
        let request = request.header(protocol(self.kind).token_header, header);
        let request = request.header(ACCEPT, "application/json");
        let request = request.build();
        // Without the query. The path is percent-encoded, so it contains no control characters.
        let line = request.as_ref().ok().map(|request| {
            let path = request.url().path().to_owned();
            (request.method().clone(), path)
        });
        let (method, path) = line.unwrap_or_default();
        let sent = match request {
            Ok(request) => self.http.execute(request).await,
            Err(error) => Err(error),
        };
        match sent {
            Ok(response) => {
                let took = started.elapsed();
                let received = Received::read(self.kind, response, secret, took, limit).await;
                let (status, took_ms) = (received.status, received.took_ms());
                let request_id = received.request_id();
                tracing::debug!(name: "answered", %method, path, status, took_ms, request_id, "response received");
                Ok(received)
            }
            Err(error) => {
                let outcome = unanswered(&error, secret.expose(), self.base_url.authority(), &self.network);
                let took_ms = started.elapsed().as_millis();
                tracing::debug!(name: "unanswered", %method, path, took_ms = %took_ms, reason = %outcome, "no response");
                Err(outcome)
            }
        }
    }

    fn token(&self) -> Arc<Token> {
        Arc::clone(&self.token.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for ServiceConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceConnection")
            .field("base_url", &self.base_url)
            .field("token", &"***")
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotated_token_is_read_again_and_an_invalid_one_is_ignored() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let write = |token: &str| std::fs::write(file.path(), token).unwrap();
        write("api-old\n");
        let connection = ServiceConnection::new(ClientConfig {
            kind: ServiceKind::Documented,
            base_url: "https://toggles.example.org".parse().unwrap(),
            token: SecretSource::File(file.path().to_owned()),
            network: Network::default(),
            timeout: Duration::from_secs(1),
        })
        .unwrap();
        assert!(!format!("{connection:?}").contains("api-old"), "{connection:?}");
        connection.reload_token().unwrap();
        assert_eq!(connection.token_generation(), 0);
        write("api-new\n");
        connection.reload_token().unwrap();
        write("api\u{7f}\n");
        assert!(matches!(connection.reload_token(), Err(ClientError::Unsendable)));
        assert_eq!(connection.token().authorization.secret.expose(), "api-new");
        assert_eq!(connection.token_generation(), 1);
    }
}
