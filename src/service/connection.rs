//! Sends the requests of the publisher and of the reader, with one set of connections and one token.

use std::error::Error as _;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use reqwest::header::{
    ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER,
};
use reqwest::{RequestBuilder, Response};
use url::Url;

use super::classify::LARGEST_ANSWER;
use super::kind::{WriteRequest, protocol};
use super::retry::TokenState;
use crate::model::{Certainty, OutcomeKind, ServiceKind};
use crate::service::{BaseUrl, Body, Outcome, ServiceResponse};
use crate::transport::{
    CORRECT_CLOCK, CertificateFault, Network, NetworkError, Secret, SecretError, SecretSource,
    certificate_fault, is_without_tls, proxy_fault, reason, retry_after, sanitized,
};

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

/// A response whose body has been read.
pub(super) struct Received {
    kind: ServiceKind,
    pub(super) status: u16,
    headers: HeaderMap,
    body: ReceivedBody,
    secret: Secret,
    took: Duration,
}

/// The bytes of a body as they came.
pub(super) enum ReceivedBody {
    /// The connection ended before the body did.
    Broken,
    /// The first bytes of a body that is longer than the limit.
    Cut(Vec<u8>),
    Whole(Vec<u8>),
}

impl Received {
    async fn read(
        kind: ServiceKind,
        mut response: Response,
        secret: Secret,
        took: Duration,
        limit: usize,
    ) -> Self {
        let status = response.status().as_u16();
        let headers = std::mem::take(response.headers_mut());
        let body = bounded(&mut response, limit)
            .await
            // Without the whole response, even a 2xx does not prove that the service stored the document.
            .unwrap_or(ReceivedBody::Broken);
        Self { kind, status, headers, body, secret, took }
    }

    /// Returns the response with its body classified.
    pub(super) fn response(&self) -> ServiceResponse {
        let body = match &self.body {
            ReceivedBody::Broken => Body::Broken,
            ReceivedBody::Cut(bytes) | ReceivedBody::Whole(bytes) => {
                let beginning = &bytes[..bytes.len().min(LARGEST_ANSWER)];
                Body::new(beginning, self.encoding(), self.secret.expose())
            }
        };
        ServiceResponse {
            status: self.status,
            location: text(&self.headers, &LOCATION).map(|location| self.sanitized(location)),
            retry_after: text(&self.headers, &RETRY_AFTER)
                .and_then(|wait| retry_after(wait, text(&self.headers, &DATE), jiff::Timestamp::now())),
            code: body.code(self.status).map(protocol(self.kind).error_code),
            body,
        }
    }

    pub(super) const fn body(&self) -> &ReceivedBody {
        &self.body
    }

    /// Returns the `Content-Encoding`.
    pub(super) fn encoding(&self) -> Option<&str> {
        text(&self.headers, &CONTENT_ENCODING)
    }

    /// Returns `text` for a message, without the secret of the request.
    pub(super) fn sanitized(&self, text: &str) -> String {
        sanitized(text, self.secret.expose())
    }

    /// Returns the request id of the service or a proxy, so that operators can find the request in their
    /// logs.
    pub(super) fn request_id(&self) -> Option<String> {
        const REQUEST_IDS: [&str; 3] = ["x-request-id", "x-correlation-id", "request-id"];
        let mut ids = REQUEST_IDS.iter().filter_map(|name| self.headers.get(*name)?.to_str().ok());
        ids.next().map(|id| self.sanitized(id))
    }

    /// Returns the milliseconds until the response began.
    pub(super) fn took_ms(&self) -> u64 {
        u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX)
    }
}

async fn bounded(response: &mut Response, limit: usize) -> Result<ReceivedBody, reqwest::Error> {
    let mut bytes = Vec::new();
    // A service must not fill the memory.
    while let Some(chunk) = response.chunk().await? {
        let free = limit - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(free)]);
        if chunk.len() > free {
            return Ok(ReceivedBody::Cut(bytes));
        }
    }
    Ok(ReceivedBody::Whole(bytes))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Returns the outcome of a request to the service at `host` that failed without a response. Removes `secret`
/// from its texts.
pub(super) fn unanswered(error: &reqwest::Error, secret: &str, host: &str, network: &Network) -> Outcome {
    // A rejected certificate is also a failed connection, so it comes first.
    if let Some(fault) = certificate_fault(error) {
        return untrusted(fault, host, network);
    }
    if is_without_tls(error) {
        let reason = format!("`{host}` does not speak TLS, so nothing was sent");
        return unsent(CertificateFault::Other, reason);
    }
    // A timeout while connecting has sent nothing, so this comes before the check for timeouts.
    if error.is_connect() || error.is_builder() {
        let reason = format!("could not connect to `{host}`: {}", not_connected(error, secret));
        return Outcome::new(OutcomeKind::Busy, Certainty::NotStored, reason);
    }
    let why = if error.is_timeout() {
        "no complete response arrived within `--timeout`".to_owned()
    } else {
        format!("no response arrived: {}", sanitized(&reason(error).to_string(), secret))
    };
    let reason = format!("the request was sent to `{host}`, but {why}");
    Outcome::new(OutcomeKind::Lost, Certainty::Unknown, reason)
}

fn not_connected(error: &reqwest::Error, secret: &str) -> String {
    if let Some(fault) = proxy_fault(error) {
        return sanitized(&fault.to_string(), secret);
    }
    if error.is_timeout() {
        return "no connection was made in time".to_owned();
    }
    let mut cause = error.source();
    while let Some(current) = cause {
        // The type of this error is private to the client, so only its text identifies it.
        if current.to_string() == "dns error" {
            return format!(
                "its host name could not be resolved ({}); check `--base-url` and the name servers of this machine",
                sanitized(&reason(error).to_string(), secret)
            );
        }
        cause = current.source();
    }
    sanitized(&reason(error).to_string(), secret)
}

/// Returns the outcome of a request to a `host` whose certificate was rejected.
pub(crate) fn untrusted(fault: CertificateFault, host: &str, network: &Network) -> Outcome {
    unsent(fault, certificate(fault, host, network))
}

/// Returns the outcome of a handshake that failed before the request was sent.
fn unsent(fault: CertificateFault, reason: String) -> Outcome {
    Outcome { fault: Some(fault), ..Outcome::new(OutcomeKind::Untrusted, Certainty::NotStored, reason) }
}

fn certificate(fault: CertificateFault, host: &str, network: &Network) -> String {
    match fault {
        CertificateFault::CaCertificate => format!(
            "could not verify the certificate of `{host}`: {fault}; create a server certificate with the basic \
             constraint `CA:FALSE`"
        ),
        CertificateFault::Expired => {
            format!("the certificate of `{host}` has expired; renew it there, or {CORRECT_CLOCK}")
        }
        CertificateFault::NotYetValid => {
            format!("the certificate of `{host}` is not valid yet; check the clock of this machine")
        }
        CertificateFault::Other => format!("could not verify the certificate of `{host}`: {fault}"),
        CertificateFault::Untrusted => {
            let advice = network.trust_advice();
            format!("the certificate of `{host}` is not signed by a trusted CA; {advice}")
        }
        CertificateFault::WrongName => {
            format!("the certificate of `{host}` is for another name; check `--base-url`")
        }
    }
}

#[cfg(test)]
mod tests {
    mod connection {
        use super::super::*;

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

    mod failure {
        use std::net::TcpListener;
        use std::time::Duration;

        use super::super::*;

        /// Sends a request to `address`, where nothing responds.
        async fn sent_to(address: std::net::SocketAddr) -> Outcome {
            crate::transport::provider();
            let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_millis(200));
            let sent = client.build().unwrap().get(format!("http://{address}/")).send().await;
            unanswered(&sent.unwrap_err(), "", "t.example", &Network::default())
        }

        #[tokio::test]
        async fn only_a_request_that_may_have_left_is_unknown() {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            // The system accepts the connection, and nobody reads the request.
            let silent = sent_to(address).await;
            drop(listener.accept().unwrap());
            let cutting = std::thread::spawn(move || drop(listener.accept().unwrap().0));
            let cut = sent_to(address).await;
            cutting.join().unwrap();
            // Another test could listen at the port that is free again.
            let refused = sent_to(std::net::SocketAddr::from(([127, 0, 0, 1], 1))).await;
            for (outcome, word, certainty, reason) in [
                (silent, "lost", Certainty::Unknown, "within `--timeout`"),
                (cut, "lost", Certainty::Unknown, "no response arrived: "),
                (refused, "busy", Certainty::NotStored, "could not connect to `t.example`: "),
                (
                    untrusted(CertificateFault::Expired, "t.example", &Network::default()),
                    "untrusted",
                    Certainty::NotStored,
                    "has expired",
                ),
            ] {
                assert_eq!((outcome.kind.as_str(), outcome.certainty), (word, certainty), "{outcome}");
                assert!(outcome.to_string().contains(reason), "{outcome}");
            }
        }

        #[test]
        fn the_reason_of_an_untrusted_certificate_names_the_flag() {
            for (ca_file, advice) in [
                (None, "pass the CA certificate with `--ca-file`"),
                (Some("/etc/ca.pem".into()), "add the CA certificate to `/etc/ca.pem` (`--ca-file`)"),
            ] {
                let network = Network { ca_file, ..Network::default() };
                let outcome = untrusted(CertificateFault::Untrusted, "t.example", &network);
                assert!(outcome.to_string().contains(advice), "{outcome}");
            }
        }
    }
}
