//! Protects the page and the read endpoints with the page token, if one is set (DESIGN, section 9.3).
//!
//! A browser sends the token as the password of HTTP Basic, a program as a bearer token. The admin token opens the same
//! endpoints, because clients that may command the daemon may read it.

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::answer::problem_with_hint;
use super::operator::bearer;
use super::{AdminState, signature};

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
    let tokens = [
        Some((page_token, "page token")),
        admin.admin_token.as_ref().map(|token| (token, "admin token")),
    ];
    for (source, name) in tokens.into_iter().flatten() {
        let expected = signature::secret(source, name).await?;
        if given
            .as_deref()
            .is_some_and(|given| signature::same(given, expected.expose().as_bytes()))
        {
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
