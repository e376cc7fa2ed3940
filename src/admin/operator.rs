//! Requests of operators: each carries the admin token, in a header that a browser never adds by itself.

use std::net::SocketAddr;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;

use super::answer::{problem, problem_with_hint};
use super::{AdminState, signature};
use crate::daemon::{Control, ControlError, Rejection};
use crate::model::escaped;

/// The largest request of an operator, in bytes.
pub(super) const LARGEST_BODY: usize = 1 << 20;

/// An authorized request of an operator.
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
        Ok(Self {
            shared: shared.clone(),
            caller,
            body,
        })
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
        let mut refusal = problem(
            StatusCode::UNAUTHORIZED,
            "this needs `Authorization: Bearer <admin token>`",
        );
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
}
