//! Sends requests to the API of a forge, and repeats those that may succeed later.
//!
//! Invariant: the token is sent only to the configured host, over TLS. No redirect and no link of a response is followed.

use std::io::Read as _;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::blocking::{Client, Response};
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use serde_json::Value;

use super::gitea::Gitea;
use super::github::GitHub;
use super::gitlab::GitLab;
use super::job::ForgeTarget;
use super::routes::{ForgeApi, ForgeRequest, Routes, TokenKind};
use crate::transport::{
    LONGEST_WAIT, Network, NetworkError, Secret, SecretError, TRIES, backoff, proxy_fault, reason,
    retry_after, sanitized,
};

/// For the head of a response and then for each read.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The longest time for all requests of one command, which must not delay its job much longer than that.
const PATIENCE: Duration = Duration::from_secs(120);

/// In bytes. Gitea returns all comments at once, and each may have megabytes.
const LARGEST_RESPONSE: u64 = 256 << 20;

/// Calls the API of a forge about one repository.
pub(crate) struct ForgeClient {
    client: Client,
    target: ForgeTarget,
    pub(super) routes: Box<dyn Routes>,
    pub(super) token_kind: TokenKind,
    token: Secret,
    started: Instant,
}

/// A successful response.
pub(super) struct ForgeAnswer {
    pub(super) body: Value,
    pub(super) has_next: bool,
}

impl ForgeClient {
    pub(crate) fn new(target: ForgeTarget, network: &Network) -> Result<Self, ForgeError> {
        let (token, token_kind) = target.token()?;
        Ok(Self {
            client: network.blocking_client(TIMEOUT)?,
            routes: routes(target.api, &target.repository),
            target,
            token_kind,
            token,
            started: Instant::now(),
        })
    }

    /// Sends a request that may be repeated without harm.
    pub(super) fn call(&self, request: &ForgeRequest) -> Result<ForgeAnswer, ForgeError> {
        let mut tries = 1;
        loop {
            match self.once(request) {
                Err(error) if self.pause(&error, tries) => tries += 1,
                answer => return answer,
            }
        }
    }

    /// Waits before the next attempt. Returns whether there is one.
    pub(super) fn pause(&self, error: &ForgeError, tries: u32) -> bool {
        let Some(asked) = error.transient().filter(|asked| *asked <= LONGEST_WAIT) else {
            return false;
        };
        let wait = asked + backoff(tries, fastrand::f64());
        if tries >= TRIES || self.started.elapsed() + wait > PATIENCE {
            return false;
        }
        std::thread::sleep(wait);
        true
    }

    pub(super) fn once(&self, request: &ForgeRequest) -> Result<ForgeAnswer, ForgeError> {
        let url = self.target.url.at(&request.resource);
        let mut builder = self.client.request(request.method.clone(), url);
        for (name, value) in self.routes.headers() {
            builder = builder.header(*name, *value);
        }
        let (name, value) = self.routes.authorization(self.token_kind, &self.token);
        let mut value = HeaderValue::try_from(value).map_err(|_| {
            ForgeError::NoToken("the token contains characters that a header cannot have".to_owned())
        })?;
        // The libraries for HTTP and TLS do not log such a header.
        value.set_sensitive(true);
        builder = builder.header(name, value);
        if let Some(body) = &request.body {
            builder = builder.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let response = builder.send().map_err(|error| self.unreachable(&error))?;
        self.answer(response)
    }

    fn unreachable(&self, error: &reqwest::Error) -> ForgeError {
        let text = match proxy_fault(error) {
            Some(fault) => fault.to_string(),
            None if error.is_timeout() => format!("no response within {} s", TIMEOUT.as_secs()),
            None => reason(error).to_string(),
        };
        ForgeError::Unreachable(sanitized(&text, self.token.expose()))
    }

    fn answer(&self, response: Response) -> Result<ForgeAnswer, ForgeError> {
        let (status, headers) = (response.status(), response.headers().clone());
        let mut bytes = Vec::new();
        let read = response.take(LARGEST_RESPONSE).read_to_end(&mut bytes);
        read.map_err(|error| {
            ForgeError::Unreachable(sanitized(&reason(&error).to_string(), self.token.expose()))
        })?;
        let body: Option<Value> = serde_json::from_slice(&bytes).ok();
        match (status.as_u16(), body) {
            (204, _) => Ok(Value::Null),
            (200..=299, Some(body)) => Ok(body),
            (status @ 200..=299, None) => {
                Err(ForgeError::Foreign { status, what: "the body is not JSON".to_owned() })
            }
            (status @ 300..=399, _) => Err(ForgeError::Foreign { status, what: self.redirect(&headers) }),
            (code, body) => Err(ForgeError::Refused {
                status: code,
                message: sanitized(&message(&body.unwrap_or_default()), self.token.expose()),
                wait: wait(status, &headers),
            }),
        }
        .map(|body| ForgeAnswer { body, has_next: self.routes.has_next(&headers) })
    }

    fn redirect(&self, headers: &HeaderMap) -> String {
        let location = headers.get(LOCATION).map(HeaderValue::as_bytes).unwrap_or_default();
        let location = sanitized(&String::from_utf8_lossy(location), self.token.expose());
        format!("it redirects to `{location}`, which is not followed; check `--forge-url` and `--forge-repo`")
    }
}

fn routes(api: ForgeApi, repository: &str) -> Box<dyn Routes> {
    match api {
        ForgeApi::GitHub => Box::new(GitHub::new(repository)),
        ForgeApi::GitLab => Box::new(GitLab::new(repository)),
        ForgeApi::Gitea => Box::new(Gitea::new(repository)),
    }
}

/// Returns the message of an error response. GitLab has objects and lists in `message`, and `error` in place of it.
fn message(body: &Value) -> String {
    match (&body["message"], &body["error"]) {
        (Value::String(text), _) | (Value::Null, Value::String(text)) => text.clone(),
        (Value::Null, _) => String::new(),
        (other, _) => other.to_string(),
    }
}

/// Returns how long the forge asks to wait.
fn wait(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    if !matches!(status.as_u16(), 403 | 429 | 503) {
        return None;
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let now = jiff::Timestamp::now();
    if let Some(asked) = text(RETRY_AFTER.as_str()) {
        return retry_after(asked, text(DATE.as_str()), now);
    }
    // GitHub's primary limit: no `Retry-After`, but the second at which requests are accepted again.
    if text("x-ratelimit-remaining") != Some("0") {
        return None;
    }
    let reset: i64 = text("x-ratelimit-reset")?.parse().ok()?;
    let seconds = reset.saturating_sub(now.as_second()).max(0);
    Some(Duration::from_secs(seconds.unsigned_abs()))
}

/// Why a forge did not do what was asked of it. Never contains the token; text of the forge is escaped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForgeError {
    #[error("the forge responded with {status}, but not as its API does: {what}")]
    Foreign { status: u16, what: String },
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error("{0}")]
    NoToken(String),
    #[error("{}", refusal(*status, message))]
    Refused { status: u16, message: String, wait: Option<Duration> },
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("the forge is unreachable: {0}")]
    Unreachable(String),
}

fn refusal(status: u16, message: &str) -> String {
    match message {
        // Gitea answers so for a pull request or a commit that does not exist.
        "" if status >= 500 => {
            format!("the forge responded with {status} without a reason; it may not have this object")
        }
        "" => format!("the forge responded with {status}"),
        message => format!("the forge responded with {status}: {message}"),
    }
}

impl ForgeError {
    pub(super) fn foreign(what: &str) -> Self {
        Self::Foreign { status: 200, what: what.to_owned() }
    }

    pub(super) fn refused(&self, expected: u16) -> bool {
        matches!(self, Self::Refused { status, .. } if *status == expected)
    }

    pub(super) fn mentions(&self, text: &str) -> bool {
        matches!(self, Self::Refused { message, .. } if message.contains(text))
    }

    /// Returns whether the token lacks rights or does not reach the repository.
    pub(super) fn is_denied(&self) -> bool {
        matches!(self, Self::NoToken(_)) || [401, 403, 404].iter().any(|status| self.refused(*status))
    }

    /// Returns the wait that the forge asks for; `None` if no later attempt can succeed.
    pub(super) fn transient(&self) -> Option<Duration> {
        match self {
            Self::Refused { wait: Some(wait), .. } => Some(*wait),
            Self::Refused { status: 408 | 409 | 425 | 429 | 500.., .. } | Self::Unreachable(_) => {
                Some(Duration::ZERO)
            }
            _ => None,
        }
    }

    /// Returns advice for the operator.
    pub(crate) fn hint(&self, api: ForgeApi) -> Option<&'static str> {
        self.is_denied().then(|| api.permissions())
    }
}
