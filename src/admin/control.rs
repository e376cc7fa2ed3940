//! Commands of operators, each of which carries the admin token in a header that a browser never adds by itself, and the page
//! token that protects what only reads.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json as value;

use super::{command, json, problem, problem_with_hint};
use crate::admin::{AdminState, signature};
use crate::daemon::{AllowRequest, Control, ControlError, Rejection, Released, ScopedSuspensionJson};
use crate::model::{
    Allowance, EnvironmentId, Override, Suspension, SuspensionScope, SuspensionScopeError, ToggleId,
    duration, escaped, rfc3339,
};

/// In characters.
const LONGEST_REASON: usize = 1000;
/// In seconds: ten years. A longer one is a mistake.
const LONGEST_SUSPENSION: u64 = 10 * 366 * 86_400;

pub(super) async fn reconcile(request: OperatorRequest) -> Result<Response, Response> {
    request.control().reconcile().await?;
    tracing::info!(name: "command", command = "reconcile", caller = %request.caller, "operator command carried out");
    Ok(json(StatusCode::ACCEPTED, &value!({ "accepted": true })))
}

pub(super) async fn suspend(request: OperatorRequest) -> Result<Response, Response> {
    let (scope, suspension) =
        parse(&request.body, super::now()).map_err(|reason| problem(StatusCode::BAD_REQUEST, &reason))?;
    let control = request.control();
    control.suspend(scope.clone(), suspension.clone()).await?;
    tracing::info!(
        name: "command",
        command = "suspend",
        caller = %request.caller,
        %scope,
        reason = suspension.reason,
        until = suspension.until.map(rfc3339),
        "operator command carried out"
    );
    let suspended = ScopedSuspensionJson::from((&scope, &suspension));
    let status = request.shared.0.admin.status.borrow();
    // A mistyped scope must not look like a success. It is no error, because a scope may precede its first toggle.
    let toggles = status.last_pass.as_ref().map(|_| {
        let toggles = status.toggles.iter();
        toggles.filter(|one| scope.contains(&one.toggle)).count()
    });
    let answer = value!({ "suspended": suspended, "toggles": toggles });
    Ok(json(StatusCode::OK, &answer))
}

pub(super) async fn resume(request: OperatorRequest) -> Result<Response, Response> {
    let scope = read::<Resumption>(&request.body)
        .and_then(|resumption| part(resumption.scope.as_deref()))
        .map_err(|reason| problem(StatusCode::BAD_REQUEST, &reason))?;
    let resumed = request.control().resume(scope.clone()).await?;
    // A mistyped scope must not look like a success.
    if resumed.is_empty() && !scope.is_everything() {
        return Err(request.shared.not_suspended(&scope));
    }
    tracing::info!(name: "command", command = "resume", caller = %request.caller, %scope, "operator command carried out");
    Ok(json(StatusCode::OK, &value!({ "suspended": null, "resumed": resumed })))
}

impl AdminState {
    /// Returns the refusal to resume a scope that is not suspended.
    fn not_suspended(&self, scope: &SuspensionScope) -> Response {
        let status = self.0.admin.status.borrow();
        let scopes = status.suspensions.iter();
        let scopes: Vec<_> = scopes.map(|(scope, _)| format!("`{scope}`")).collect();
        let hint = match scopes.as_slice() {
            [] => "nothing is suspended".to_owned(),
            scopes => format!("suspended: {}", scopes.join(", ")),
        };
        let reason = format!("`{}` is not suspended", escaped(&scope.to_string()));
        problem_with_hint(StatusCode::NOT_FOUND, &reason, &escaped(&hint).to_string())
    }
}

#[derive(Default, Deserialize)]
// A misspelled `scope` must not suspend everything.
#[serde(deny_unknown_fields)]
struct Order {
    scope: Option<String>,
    reason: Option<String>,
    #[serde(rename = "for")]
    lasts: Option<String>,
}

#[derive(Default, Deserialize)]
// A misspelled `scope` must not resume everything.
#[serde(deny_unknown_fields)]
struct Resumption {
    scope: Option<String>,
}

/// Reads a body, which may be empty.
fn read<T: Default + DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    match body.trim_ascii() {
        b"" => Ok(T::default()),
        text => command(text),
    }
}

/// Parses the scope of an order; the default is everything.
fn part(scope: Option<&str>) -> Result<SuspensionScope, String> {
    match scope {
        None => Ok(SuspensionScope::everything()),
        Some(globs) => globs.parse().map_err(|error: SuspensionScopeError| error.to_string()),
    }
}

fn parse(body: &[u8], now: i64) -> Result<(SuspensionScope, Suspension), String> {
    let order: Order = read(body)?;
    let scope = part(order.scope.as_deref())?;
    let reason = order.reason.filter(|reason| !reason.trim().is_empty());
    if reason.as_ref().is_some_and(|reason| reason.chars().count() > LONGEST_REASON) {
        return Err(format!("a `reason` has at most {LONGEST_REASON} characters"));
    }
    let lasts = order.lasts.as_deref().map(seconds).transpose()?;
    let until = lasts.map(|lasts| now.saturating_add(lasts));
    Ok((scope, Suspension { reason, until }))
}

/// Parses `for` and returns seconds.
fn seconds(text: &str) -> Result<i64, String> {
    let lasts = duration(text).map_err(|error| format!("`for`: {}", escaped(&error)))?;
    match lasts.as_secs() {
        0 => Err("`for` must be at least one second".to_owned()),
        seconds if seconds > LONGEST_SUSPENSION => {
            Err("`for` is more than ten years; leave it out to suspend until resumed".to_owned())
        }
        seconds => Ok(i64::try_from(seconds).unwrap_or(i64::MAX)),
    }
}

/// The number of released toggles that the response names; it counts all of them.
const MOST_NAMED: usize = 1000;

const EXAMPLE: &str =
    r#"send for example {"environment": "shop/production", "what": "first-pass-assert", "revision": "…"}"#;

pub(super) async fn allow(request: OperatorRequest) -> Result<Response, Response> {
    let caller = request.caller;
    let order = parse_allow(&request.body, caller, crate::admin::now())
        .map_err(|reason| problem_with_hint(StatusCode::BAD_REQUEST, &reason, EXAMPLE))?;
    let released = request.control().allow(order).await?;
    log(&released, caller);
    Ok(json(StatusCode::OK, &shown(&released)))
}

fn log(released: &Released, caller: SocketAddr) {
    let Released { allowance, toggles } = released;
    let Allowance {
        what,
        environment,
        revision,
        // The caller is a field of the log line already.
        by: _,
        at: _,
        versions: _,
    } = allowance;
    tracing::info!(
        name: "command",
        command = "allow",
        %caller,
        %what,
        environment = environment.as_ref().map(tracing::field::display),
        %revision,
        toggles = toggles.len(),
        "operator command carried out"
    );
}

fn shown(released: &Released) -> serde_json::Value {
    let Released { allowance, toggles } = released;
    let Allowance { what, environment, revision, by, at, versions } = allowance;
    let named: Vec<_> = toggles.iter().take(MOST_NAMED).collect();
    let mut releases = serde_json::json!({ "count": toggles.len(), "toggles": named });
    if let Some(versions) = versions {
        let named: BTreeMap<_, _> = versions.iter().take(MOST_NAMED).collect();
        releases["versions"] = serde_json::json!(named);
    }
    serde_json::json!({
        "what": what,
        "environment": environment,
        "revision": revision,
        "by": by,
        "at": rfc3339(*at),
        "releases": releases,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    environment: Option<String>,
    toggle: Option<ToggleId>,
    what: String,
    revision: String,
}

fn parse_allow(body: &[u8], caller: SocketAddr, now: i64) -> Result<AllowRequest, String> {
    let Body { environment, toggle, what, revision } = command(body)?;
    let environment = environment.map(|text| {
        text.parse::<EnvironmentId>()
            .map_err(|error| format!("`{}` is not an environment: {error}", escaped(&text)))
    });
    let what = what.parse::<Override>().map_err(|error| error.to_string())?;
    if toggle.is_some() && what != Override::OverwriteDrift {
        return Err(format!("`{what}` is about an environment, not about one toggle"));
    }
    Ok(AllowRequest {
        what,
        environment: environment.transpose()?,
        toggle,
        revision,
        by: caller.to_string(),
        at: now,
    })
}

/// The largest request of an operator, in bytes.
pub(super) const LARGEST_BODY: usize = 1 << 20;

pub(super) struct OperatorRequest {
    pub(super) shared: AdminState,
    /// The address of its client, for the log.
    pub(super) caller: SocketAddr,
    pub(super) body: Bytes,
}

impl OperatorRequest {
    pub(super) fn control(&self) -> &Control {
        &self.shared.0.admin.control
    }
}

impl FromRequest<AdminState> for OperatorRequest {
    type Rejection = Response;

    async fn from_request(request: Request, shared: &AdminState) -> Result<Self, Response> {
        let caller = request.extensions().get::<SocketAddr>();
        let caller = *caller.expect("the server adds the caller to every request");
        let headers = request.headers().clone();
        // Read even for a wrong token: a sender that is cut off in the middle of its body misses the response.
        let body = Bytes::from_request(request, shared).await;
        let body = body.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                let reason = format!("at most {LARGEST_BODY} bytes are allowed");
                problem(StatusCode::PAYLOAD_TOO_LARGE, &reason)
            }
            status => problem(status, "the body is incomplete"),
        })?;
        shared.authorize(&headers, caller).await?;
        Ok(Self { shared: shared.clone(), caller, body })
    }
}

impl AdminState {
    async fn authorize(&self, headers: &HeaderMap, caller: SocketAddr) -> Result<(), Response> {
        let Some(source) = &self.0.admin.admin_token else {
            return Err(problem_with_hint(
                StatusCode::FORBIDDEN,
                "no admin token is set",
                "start the daemon with `--admin-token-file` or GITOGGLE_ADMIN_TOKEN",
            ));
        };
        let token = signature::secret(source, "admin token").await?;
        let given = headers.get(header::AUTHORIZATION);
        let given = given.and_then(|value| bearer(value.as_bytes()));
        if given.is_some_and(|given| signature::same(given, token.expose().as_bytes())) {
            return Ok(());
        }
        tracing::warn!(name: "command_refused", %caller, "operator command without the admin token refused");
        let mut refusal =
            problem(StatusCode::UNAUTHORIZED, "this needs `Authorization: Bearer <admin token>`");
        let scheme = HeaderValue::from_static("Bearer");
        // A 401 must name the scheme (RFC 9110, section 15.5.2).
        refusal.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        Err(refusal)
    }
}

/// Returns the token after `Bearer`, in any case.
pub(super) fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme
        // The scheme is case-insensitive (RFC 9110, section 11.1).
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}

/// The refusal of a command that the driver did not carry out.
impl From<ControlError> for Response {
    fn from(error: ControlError) -> Self {
        let reason = escaped(&error.to_string()).to_string();
        let rejection = match error {
            ControlError::Rejected(rejection) => rejection,
            ControlError::NotNow(_) | ControlError::Stopped => {
                return problem(StatusCode::SERVICE_UNAVAILABLE, &reason);
            }
            ControlError::NotRecorded(_) => return problem(StatusCode::INTERNAL_SERVER_ERROR, &reason),
        };
        let status = match rejection {
            Rejection::NoEnvironment(_) => StatusCode::BAD_REQUEST,
            Rejection::NotSupported(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Rejection::NothingPlanned => StatusCode::SERVICE_UNAVAILABLE,
            Rejection::NothingToRelease { .. } | Rejection::OtherRevision { .. } => StatusCode::CONFLICT,
            Rejection::UnknownEnvironment { .. } => StatusCode::NOT_FOUND,
        };
        match rejection.hint() {
            Some(hint) => problem_with_hint(status, &reason, &hint),
            None => problem(status, &reason),
        }
    }
}

/// Passes on requests that carry the page token or the admin token, and all requests if no page token is set.
pub(super) async fn authorize(
    State(shared): State<AdminState>,
    request: Request,
    next: Next,
) -> Result<Response, Response> {
    let admin = &shared.0.admin;
    let Some(page_token) = &admin.page_token else {
        return Ok(next.run(request).await);
    };
    let given = request.headers().get(header::AUTHORIZATION);
    let given = given.and_then(|value| token(value.as_bytes()));
    // Both are read again for each request, so that a replaced token takes effect at once.
    let tokens =
        [Some((page_token, "page token")), admin.admin_token.as_ref().map(|token| (token, "admin token"))];
    for (source, name) in tokens.into_iter().flatten() {
        let expected = signature::secret(source, name).await?;
        if given.as_deref().is_some_and(|given| signature::same(given, expected.expose().as_bytes())) {
            return Ok(next.run(request).await);
        }
    }
    let mut refusal = problem_with_hint(
        StatusCode::UNAUTHORIZED,
        "this needs the page token",
        "in a browser, enter it as the password with any user name; elsewhere, send `Authorization: Bearer <page token>`",
    );
    // Basic, because that is the scheme for which a browser asks.
    let scheme = HeaderValue::from_static("Basic realm=\"gitoggle\", charset=\"UTF-8\"");
    refusal.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    Err(refusal)
}

/// Returns the token in an `Authorization` header: a bearer token, or the password of a user with any name.
fn token(value: &[u8]) -> Option<Vec<u8>> {
    if let Some(token) = bearer(value) {
        return Some(token.to_vec());
    }
    let (scheme, credentials) = value.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let credentials = BASE64_STANDARD.decode(credentials.trim_ascii()).ok()?;
    // A user name has no colon, but a password may have some (RFC 7617, section 2).
    let colon = credentials.iter().position(|byte| *byte == b':')?;
    Some(credentials[colon + 1..].to_vec())
}

#[cfg(test)]
mod tests {
    mod control {
        use super::super::*;

        #[test]
        fn a_suspension_may_have_a_reason_and_an_end() {
            let suspension =
                |reason: Option<&str>, until| Suspension { reason: reason.map(str::to_owned), until };
            for (body, expected) in [
                ("", suspension(None, None)),
                (" \n", suspension(None, None)),
                ("{}", suspension(None, None)),
                (r#"{"reason":null,"for":null}"#, suspension(None, None)),
                (r#"{"reason":" "}"#, suspension(None, None)),
                (r#"{"reason":"freeze"}"#, suspension(Some("freeze"), None)),
                (r#"{"reason":"x","for":"2h"}"#, suspension(Some("x"), Some(1000 + 7200))),
            ] {
                let expected = (SuspensionScope::everything(), expected);
                assert_eq!(parse(body.as_bytes(), 1000), Ok(expected), "{body}");
            }
            for body in [
                "[]",
                "{",
                r#"{"for":7200}"#,
                r#"{"until":"2h"}"#,
                r#"{"reason":1}"#,
                r#"{"scope":"shop/prod"}"#,
                r#"{"scope":""}"#,
                &format!(r#"{{"reason":"{}"}}"#, "x".repeat(1001)),
            ] {
                assert!(parse(body.as_bytes(), 1000).is_err(), "{body}");
            }
        }

        #[test]
        fn a_suspension_lasts_between_a_second_and_ten_years() {
            for (text, expected) in [("90s", 90), ("1h30m", 5400), ("3660d", 3660 * 86_400)] {
                assert_eq!(seconds(text), Ok(expected), "{text}");
            }
            for text in ["", "2", "0s", "999ms", "1w", "15min", "1d 2h", "3661d"] {
                assert!(seconds(text).is_err(), "{text}");
            }
        }
    }

    mod operator {
        use super::super::*;

        #[test]
        fn a_bearer_token_is_found() {
            assert_eq!(bearer(b"Bearer abc"), Some(&b"abc"[..]));
            assert_eq!(bearer(b"bearer  abc "), Some(&b"abc"[..]));
            for value in [&b""[..], b"abc", b"Bearer", b"Basic abc", b"Bearerabc"] {
                assert_eq!(bearer(value), None);
            }
        }
    }

    mod reader {
        use super::super::*;

        #[test]
        fn a_token_is_a_bearer_token_or_a_password() {
            let basic = |text: &str| format!("Basic {}", BASE64_STANDARD.encode(text));
            for (value, expected) in [
                ("Bearer abc".to_owned(), Some("abc")),
                ("bearer  abc ".to_owned(), Some("abc")),
                (basic("ada:abc"), Some("abc")),
                (basic(":abc"), Some("abc")),
                (basic("ada:a:b:c").replace("Basic", "basic "), Some("a:b:c")),
                (basic("ada:"), Some("")),
                (basic("abc"), None),
                ("Basic %%%".to_owned(), None),
                ("Basic".to_owned(), None),
                ("Digest abc".to_owned(), None),
                (String::new(), None),
            ] {
                let found = token(value.as_bytes());
                assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{value}");
            }
        }
    }
}
