//! The admin token, which each command carries in a header that a browser never adds by itself, and the page
//! token, which protects what only reads.

use std::net::SocketAddr;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::response::{problem, problem_with_hint};
use crate::admin::signature;
use crate::admin::state::AdminState;
use crate::daemon::Control;

/// The largest request of an operator, in bytes.
pub(super) const LARGEST_COMMAND: usize = 1 << 20;

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
        // Read even for a wrong token: a sender that is cut off in the middle of its body misses the
        // response.
        let body = Bytes::from_request(request, shared).await;
        let body = body.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                let reason = format!("at most {LARGEST_COMMAND} bytes are allowed");
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
    use super::*;

    #[test]
    fn a_bearer_token_is_found() {
        assert_eq!(bearer(b"Bearer abc"), Some(&b"abc"[..]));
        assert_eq!(bearer(b"bearer  abc "), Some(&b"abc"[..]));
        for value in [&b""[..], b"abc", b"Bearer", b"Basic abc", b"Bearerabc"] {
            assert_eq!(bearer(value), None);
        }
    }

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
