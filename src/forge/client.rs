//! Sends requests to the API of a forge, and repeats those that may succeed later.
//!
//! Invariant: the token is sent only to the configured host, over TLS. No redirect and no link of a response
//! is followed.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::blocking::{Client, Response};
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use serde_json::Value;

use super::error::{ForgeError, Limit};
use super::routes::{ForgeRequest, RequestedPage, Resource, Routes, TokenKind};
use crate::forge::ForgeTarget;
use crate::transport::{
    LONGEST_RETRY_AFTER, Network, REQUEST_TRIES, Secret, proxy_fault, reason, request_backoff, retry_after,
    sanitized,
};

/// For the head of a response and then for each read.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);

/// The longest time that one command waits for its forge, which must not delay its job much longer.
const RETRY_LIMIT: Duration = Duration::from_secs(120);

/// The longest plain text that is shown as the reason of a refusal, in bytes.
const LONGEST_TEXT: usize = 500;

/// In bytes. Gitea returns all comments at once, and each may have megabytes.
const LARGEST_FORGE_RESPONSE: u64 = 256 << 20;

/// Calls the API of a forge about one repository.
pub(crate) struct ForgeClient {
    client: Client,
    target: ForgeTarget,
    pub(super) routes: Box<dyn Routes>,
    pub(super) token_kind: TokenKind,
    token: Secret,
    retries: ForgeRetries,
}

/// A successful response.
pub(super) struct ForgeAnswer {
    pub(super) status: u16,
    pub(super) body: Value,
    pub(super) headers: HeaderMap,
}

/// What a page of a list had.
pub(super) struct ReadPage {
    /// The ids of its entries.
    pub(super) ids: Vec<u64>,
    /// Whether what follows is not asked for.
    pub(super) is_last: bool,
}

impl ForgeAnswer {
    /// Returns the error of an answer that is not as its API documents it.
    pub(super) fn foreign(&self, what: &str) -> ForgeError {
        ForgeError::Foreign { status: self.status, what: what.to_owned() }
    }
}

/// The retries of one command, which its clients share: a limit that one of them met is that of all.
#[derive(Clone, Debug, Default)]
pub(crate) struct ForgeRetries(Arc<Mutex<Retries>>);

/// The retries so far, whichever requests failed.
#[derive(Debug, Default)]
struct Retries {
    waited: Duration,
    count: u32,
    has_waited_for_limit: bool,
}

impl Retries {
    /// The wait for a limit whose end the forge does not name. GitHub documents at least a minute for its
    /// secondary limits.
    const UNTIL_ANY_LIMIT_ENDS: Duration = Duration::from_secs(60);

    /// Returns the wait before the next attempt; none if there is none.
    fn next(&mut self, error: &ForgeError, jitter: f64) -> Option<Duration> {
        let asked = match error {
            ForgeError::Limited(Limit { wait: None, .. }) if self.has_waited_for_limit => return None,
            ForgeError::Limited(limit) => {
                self.has_waited_for_limit |= limit.wait.is_none();
                limit.wait.unwrap_or(Self::UNTIL_ANY_LIMIT_ENDS)
            }
            error if error.may_pass() => Duration::ZERO,
            _ => return None,
        };
        self.count += 1;
        let wait = asked + request_backoff(self.count, jitter);
        let is_last = self.count >= REQUEST_TRIES || self.waited + wait > RETRY_LIMIT;
        let wait = (asked <= LONGEST_RETRY_AFTER && !is_last).then_some(wait)?;
        self.waited += wait;
        Some(wait)
    }
}

impl ForgeClient {
    pub(crate) fn new(
        target: ForgeTarget,
        network: &Network,
        retries: &ForgeRetries,
    ) -> Result<Self, ForgeError> {
        let (token, token_kind) = target.token()?;
        Ok(Self {
            client: network.blocking_client(REQUEST_TIMEOUT)?,
            routes: (target.api.row().routes)(&target.repository),
            target,
            token_kind,
            token,
            retries: retries.clone(),
        })
    }

    /// Sends a request that may be repeated without harm.
    pub(super) fn call(&self, request: &ForgeRequest) -> Result<ForgeAnswer, ForgeError> {
        loop {
            match self.once(request) {
                Err(error) if self.pause(&error) => {}
                answer => return answer,
            }
        }
    }

    /// Waits before the next attempt. Returns whether there is one.
    pub(super) fn pause(&self, error: &ForgeError) -> bool {
        let mut retries = self.retries.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = retries.next(error, fastrand::f64());
        drop(retries);
        wait.inspect(|wait| std::thread::sleep(*wait)).is_some()
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
        self.answer(response, request.resource == Resource::GraphQl)
    }

    /// Passes each page of a list to `read`, and returns the number of pages. A page with a successor that has only
    /// entries of earlier pages is an error, because such a list has no end.
    pub(super) fn list(
        &self,
        what: &'static str,
        request: impl Fn(&RequestedPage) -> ForgeRequest,
        read: &mut dyn FnMut(&ForgeAnswer) -> Result<ReadPage, ForgeError>,
    ) -> Result<u32, ForgeError> {
        let (mut known, mut page) = (BTreeSet::new(), RequestedPage::FIRST);
        loop {
            let answer = self.call(&request(&page))?;
            let ReadPage { ids, is_last } = read(&answer)?;
            let before = known.len();
            known.extend(ids);
            match self.routes.next_page(&answer, page.number).filter(|_| !is_last) {
                Some(_) if known.len() == before => {
                    return Err(ForgeError::Repeats { what, page: page.number });
                }
                Some(next) => page = next,
                None => return Ok(page.number),
            }
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> ForgeError {
        let text = match proxy_fault(error) {
            Some(fault) => fault.to_string(),
            None if error.is_timeout() => format!("no response within {} s", REQUEST_TIMEOUT.as_secs()),
            None => reason(error).to_string(),
        };
        ForgeError::Unreachable(sanitized(&text, self.token.expose()))
    }

    fn answer(&self, response: Response, is_graphql: bool) -> Result<ForgeAnswer, ForgeError> {
        let (status, headers) = (response.status(), response.headers().clone());
        let mut bytes = Vec::new();
        let read = response.take(LARGEST_FORGE_RESPONSE).read_to_end(&mut bytes);
        read.map_err(|error| {
            ForgeError::Unreachable(sanitized(&reason(&error).to_string(), self.token.expose()))
        })?;
        let body: Option<Value> = serde_json::from_slice(&bytes).ok();
        let refused = |status: u16, message: &str| {
            refused(status, &sanitized(message, self.token.expose()), &headers, Timestamp::now())
        };
        match (status.as_u16(), body) {
            (204, _) => Ok(Value::Null),
            (200..=299, Some(body)) if is_graphql && has_errors(&body) => {
                Err(refused(graphql_status(&body), &message(&body)))
            }
            (200..=299, Some(body)) => Ok(body),
            (status @ 200..=299, None) => {
                Err(ForgeError::Foreign { status, what: "the body is not JSON".to_owned() })
            }
            (status @ 300..=399, _) => Err(ForgeError::Foreign { status, what: self.redirect(&headers) }),
            (code, Some(body)) => Err(refused(code, &message(&body))),
            // GitLab and proxies say in plain text that there is a limit.
            (code, None) => match String::from_utf8(bytes) {
                Ok(text) if text.len() < LONGEST_TEXT && !text.contains('<') => {
                    Err(refused(code, text.trim()))
                }
                _ => Err(refused(code, "")),
            },
        }
        .map(|body| ForgeAnswer { status: status.as_u16(), body, headers })
    }

    fn redirect(&self, headers: &HeaderMap) -> String {
        let location = headers.get(LOCATION).map(HeaderValue::as_bytes).unwrap_or_default();
        let location = sanitized(&String::from_utf8_lossy(location), self.token.expose());
        format!("it redirects to `{location}`, which is not followed; check `--forge-url` and `--forge-repo`")
    }
}

/// Returns the message of an error response. GitLab has objects and lists in `message`, and `error` in place
/// of it. GitHub adds what is wrong in `errors`.
pub(super) fn message(body: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let own = [&body["message"], &body["error"]].into_iter().find(|value| !value.is_null());
    let own = own.map(text);
    let errors = body["errors"].as_array().into_iter().flatten();
    let details = errors.filter_map(|error| error["message"].as_str().or(error.as_str()).map(str::to_owned));
    let described = body["error_description"].as_str().map(str::to_owned);
    let mut parts: Vec<String> = own.into_iter().chain(described).chain(details).collect();
    parts.retain(|part| !part.is_empty());
    parts.dedup();
    parts.join(": ")
}

fn has_errors(body: &Value) -> bool {
    body["errors"].as_array().is_some_and(|errors| !errors.is_empty())
}

/// Returns the status that REST has for the errors of a GraphQL answer.
fn graphql_status(body: &Value) -> u16 {
    let first = &body["errors"][0];
    match first["type"].as_str().or(first["extensions"]["code"].as_str()) {
        Some("FORBIDDEN" | "INSUFFICIENT_SCOPES") => 403,
        Some("NOT_FOUND") => 404,
        Some("RATE_LIMITED") => 429,
        Some(_) => 422,
        // "Something went wrong while executing your query."
        None => 502,
    }
}

/// Returns the error of a refusal. One that carries a wait or speaks of a limit is a limit, whatever its
/// status is.
pub(super) fn refused(status: u16, message: &str, headers: &HeaderMap, now: Timestamp) -> ForgeError {
    const WORDS: [&str; 5] = ["rate limit", "too many requests", "abuse detection", "retry later", "quota"];
    let wait = wait(headers, now);
    let lower = message.to_lowercase();
    let message = message.to_owned();
    if wait.is_some() || status == 429 || WORDS.iter().any(|word| lower.contains(word)) {
        let until = wait.and_then(|wait| now.checked_add(wait).ok());
        ForgeError::Limited(Limit { status, message, wait, until })
    } else {
        ForgeError::Refused { status, message }
    }
}

/// Returns how long the forge asks to wait.
pub(super) fn wait(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(asked) = text(RETRY_AFTER.as_str()) {
        return retry_after(asked, text(DATE.as_str()), now);
    }
    // GitHub's primary limit and that of GitLab: no `Retry-After`, but the second at which requests are
    // accepted again.
    let reset = [("x-ratelimit-remaining", "x-ratelimit-reset"), ("ratelimit-remaining", "ratelimit-reset")];
    let reset = reset.iter().find(|(remaining, _)| text(remaining) == Some("0"))?;
    let reset: i64 = text(reset.1)?.parse().ok()?;
    Some(Duration::from_secs(reset.saturating_sub(now.as_second()).max(0).unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        pairs.collect::<Vec<(reqwest::header::HeaderName, HeaderValue)>>().into_iter().collect()
    }

    #[test]
    fn a_refusal_that_carries_a_wait_or_speaks_of_a_limit_is_a_limit() {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let reset = (now.as_second() + 600).to_string();
        for (status, message, pairs, shown) in [
            (403, "API rate limit exceeded", &[][..], "limits requests and does not say until when"),
            (200, "API rate limit already exceeded for user ID 1", &[], "does not say until when"),
            (
                403,
                "You have exceeded a secondary rate limit",
                &[("retry-after", "60")],
                "until 2026-01-02T03:05:05Z",
            ),
            (404, "Not Found", &[("retry-after", "60")], "until 2026-01-02T03:05:05Z"),
            (503, "", &[("retry-after", "0")], "until 2026-01-02T03:04:05Z"),
            (429, "", &[], "does not say until when"),
            (
                403,
                "no",
                &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", &reset)],
                "until 2026-01-02T03:14:05Z",
            ),
            (
                429,
                "Retry later",
                &[("ratelimit-remaining", "0"), ("ratelimit-reset", &reset)],
                "until 2026-01-02T03:14:05Z",
            ),
        ] {
            let error = refused(status, message, &headers(pairs), now);
            assert!(error.to_string().contains(shown) && !error.is_denied(), "{error}");
            assert!(matches!(error, ForgeError::Limited(_)), "{error}");
        }
        for (status, message, pairs) in [
            (403, "Resource not accessible by integration", &[][..]),
            (403, "", &[("x-ratelimit-remaining", "7"), ("x-ratelimit-reset", "1")]),
            (404, "Not Found", &[]),
        ] {
            assert!(refused(status, message, &headers(pairs), now).is_denied(), "{message}");
        }
    }

    #[test]
    fn one_command_waits_once_for_a_limit_and_a_few_times_for_the_rest() {
        let now = Timestamp::now();
        let limited = refused(429, "", &HeaderMap::new(), now);
        let mut retries = Retries::default();
        assert_eq!(retries.next(&limited, 0.0), Some(Duration::from_secs(60)));
        assert_eq!(retries.next(&limited, 0.0), None);
        let long = refused(429, "", &headers(&[("retry-after", "61")]), now);
        assert_eq!(Retries::default().next(&long, 0.0), None);
        let mut retries = Retries::default();
        let failed = refused(500, "", &HeaderMap::new(), now);
        let short = refused(429, "", &headers(&[("retry-after", "2")]), now);
        let waits: Vec<Option<Duration>> =
            [&failed, &short, &failed, &failed].map(|error| retries.next(error, 0.0)).into();
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(waits, [seconds(0), seconds(2), seconds(0), None]);
        assert_eq!(Retries::default().next(&refused(403, "no", &HeaderMap::new(), now), 0.0), None);
    }

    #[test]
    fn what_a_forge_says_is_shown_wherever_it_says_it() {
        for (body, shown) in [
            (json!({ "message": "no" }), "no"),
            (
                json!({ "error": "invalid_token", "error_description": "Token was revoked." }),
                "invalid_token: Token was revoked.",
            ),
            (
                json!({ "message": "Validation Failed", "errors": [{ "message": "body is too long" }, { "code": "x" }] }),
                "Validation Failed: body is too long",
            ),
            (
                json!({ "data": null, "errors": [{ "type": "NOT_FOUND", "message": "Could not resolve to a Repository" }] }),
                "Could not resolve to a Repository",
            ),
            (json!({ "message": { "note": ["can't be blank"] } }), r#"{"note":["can't be blank"]}"#),
            (json!([]), ""),
        ] {
            assert_eq!(message(&body), shown);
        }
    }
}
