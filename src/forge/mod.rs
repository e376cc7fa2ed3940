#![doc = include_str!("README.md")]

#[cfg(test)]
mod ci_tests;
mod comment;
mod github;
mod gitlab;
mod job;
#[cfg(test)]
mod job_tests;
mod reviews;
mod routes;

pub(crate) use comment::{CommentDraft, CommentKey, CommentPlan, CommentResult};
pub(crate) use job::{Forge, PullRequest};
pub(crate) use job::{ForgeSettings, ForgeTarget};
pub(crate) use reviews::ForgeReviews;
pub(crate) use routes::{ApiUrl, ForgeApi};

use std::io::Read as _;
use std::time::{Duration, Instant};

use github::GitHub;
use github::Gitea;
use gitlab::GitLab;
use reqwest::StatusCode;
use reqwest::blocking::{Client, Response};
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use routes::{ForgeRequest, Routes, TokenKind};
use serde_json::{Value, json};

use crate::model::{cut, escaped, words};
use crate::transport::{
    LONGEST_WAIT, Network, NetworkError, Secret, SecretError, TRIES, backoff, proxy_fault, reason,
    retry_after, sanitized,
};

// Sends requests to the API of a forge, and repeats those that may succeed later.
//
// Invariant: the token is sent only to the configured host, over TLS. No redirect and no link of a response is followed.

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
    routes: Box<dyn Routes>,
    token_kind: TokenKind,
    token: Secret,
    started: Instant,
}

/// A successful response.
struct ForgeAnswer {
    body: Value,
    has_next: bool,
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
    fn call(&self, request: &ForgeRequest) -> Result<ForgeAnswer, ForgeError> {
        let mut tries = 1;
        loop {
            match self.once(request) {
                Err(error) if self.pause(&error, tries) => tries += 1,
                answer => return answer,
            }
        }
    }

    /// Waits before the next attempt. Returns whether there is one.
    fn pause(&self, error: &ForgeError, tries: u32) -> bool {
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

    fn once(&self, request: &ForgeRequest) -> Result<ForgeAnswer, ForgeError> {
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
    fn foreign(what: &str) -> Self {
        Self::Foreign { status: 200, what: what.to_owned() }
    }

    fn refused(&self, expected: u16) -> bool {
        matches!(self, Self::Refused { status, .. } if *status == expected)
    }

    fn mentions(&self, text: &str) -> bool {
        matches!(self, Self::Refused { message, .. } if message.contains(text))
    }

    /// Returns whether the token lacks rights or does not reach the repository.
    fn is_denied(&self) -> bool {
        matches!(self, Self::NoToken(_)) || [401, 403, 404].iter().any(|status| self.refused(*status))
    }

    /// Returns the wait that the forge asks for; `None` if no later attempt can succeed.
    fn transient(&self) -> Option<Duration> {
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

// The status of a commit: the verdict of a pass.

words! {
    CommitVerdict {
        /// A change failed, or a document is invalid.
        Failure = "failure",
        /// Something is held until an operator decides.
        Pending = "pending",
        /// Everything is applied.
        Success = "success",
    }
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct CommitStatus {
    pub(crate) verdict: CommitVerdict,
    /// The name that distinguishes it from other statuses of the commit.
    pub(crate) context: String,
    /// One sentence, cut at the forge's limit.
    pub(crate) description: String,
    /// The page of the job.
    pub(crate) target_url: Option<String>,
}

impl CommitStatus {
    /// Returns the body of a request. `longest` is the maximum of the description, in characters.
    fn json(&self, state: &str, longest: usize) -> Value {
        const LONGEST_CONTEXT: usize = 100;
        let mut body = json!({
            "state": state,
            "context": cut(&escaped(&self.context).to_string(), LONGEST_CONTEXT),
            "description": cut(&escaped(&self.description).to_string(), longest),
        });
        if let Some(url) = &self.target_url {
            body["target_url"] = json!(url);
        }
        body
    }
}

impl ForgeClient {
    /// Sets a status of a commit. A status with the same context replaces an earlier one.
    pub(crate) fn set_status(&self, commit: &str, status: &CommitStatus) -> Result<(), ForgeError> {
        // Sent again without harm: the newest status of a context counts.
        match self.call(&self.routes.status(commit, status)) {
            // GitLab refuses to set the state that it has.
            Err(error) if error.refused(400) && error.mentions("Cannot transition status") => Ok(()),
            answer => answer.map(|_| ()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_description_is_cut_and_has_one_line() {
        let status = CommitStatus {
            verdict: CommitVerdict::Success,
            context: "gitoggle".to_owned(),
            description: format!("a\n{}", "é".repeat(400)),
            target_url: None,
        };
        let body = status.json("success", 140);
        let description = body["description"].as_str().unwrap();
        assert_eq!(description.chars().count(), 140);
        assert!(description.starts_with("a\\né"), "{description}");
        assert!(body.get("target_url").is_none());
    }
}
