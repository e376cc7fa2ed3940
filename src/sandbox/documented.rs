//! The documented endpoint: token, body, faults, and answers worded as FeatureProbe's.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::patch;
use axum::{RequestExt as _, Router, extract};
use serde::Serialize;

use super::store::{Fault, LARGEST_REQUEST, OpenRequest, SandboxState, StoredDocument, check};
use crate::model::{Content, ToggleId};
use subtle::ConstantTimeEq as _;

pub(super) fn router(state: Arc<SandboxState>) -> Router {
    Router::new()
        .route(
            "/api/projects/{project}/environments/{environment}/toggles/{toggle}/targeting",
            patch(publish).get(read),
        )
        .method_not_allowed_fallback(async || {
            refusal(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "Method Not Allowed")
        })
        .fallback(async || refusal(StatusCode::NOT_FOUND, "not_found", "Not Found"))
        .layer(DefaultBodyLimit::max(LARGEST_REQUEST))
        .with_state(state)
}

pub(super) async fn publish(
    State(state): State<Arc<SandboxState>>,
    extract::Path((project, environment, toggle)): extract::Path<(String, String, String)>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let Ok(id) = ToggleId::new(&project, &environment, &toggle) else {
        return refusal(StatusCode::BAD_REQUEST, "not_found", &format!("Toggle {toggle} not found"));
    };
    // Recorded before the token and the body are checked, because refused requests count as received.
    let request = state.request_log.arrive(id, body.as_deref().unwrap_or_default());
    tokio::time::sleep(state.faults.latency).await;
    let response = match body {
        Ok(body) => match authenticated(&headers, state.token.expose()).and_then(|()| is_json(&headers)) {
            Ok(()) => store(&state, &request, &body),
            Err(refusal) => *refusal,
        },
        Err(rejection) => unreadable(&rejection),
    };
    tracing::debug!(name: "answered", toggle = %request.toggle, status = response.status().as_u16(), "answered");
    response
}

/// Answers with what was stored last.
pub(super) async fn read(
    State(state): State<Arc<SandboxState>>,
    extract::Path((project, environment, toggle)): extract::Path<(String, String, String)>,
    headers: HeaderMap,
) -> Response {
    if let Err(refusal) = authenticated(&headers, state.token.expose()) {
        return *refusal;
    }
    let id = ToggleId::new(&project, &environment, &toggle).ok();
    match id.and_then(|id| state.request_log.newest(&id)) {
        Some(document) => published(&document),
        None => refusal(
            StatusCode::BAD_REQUEST,
            "not_found",
            &format!("Targeting {project}-{environment}-{toggle} not found"),
        ),
    }
}

/// Answers as FeatureProbe does: 401 without a token or with an unknown scheme, 403 with an unknown token.
fn authenticated(headers: &HeaderMap, token: &str) -> Result<(), Box<Response>> {
    let given = headers.get(header::AUTHORIZATION).map_or(&b""[..], |value| value.as_bytes().trim_ascii());
    if given.ct_eq(token.as_bytes()).into() {
        return Ok(());
    }
    Err(Box::new(if given.starts_with(b"Bearer ") {
        (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer error=\"invalid_token\"")])
            .into_response()
    } else if given.is_empty() || given.contains(&b' ') {
        refusal(StatusCode::UNAUTHORIZED, "unauthorized", "Unauthorized")
    } else {
        refusal(StatusCode::FORBIDDEN, "forbidden", "Forbidden")
    }))
}

fn is_json(headers: &HeaderMap) -> Result<(), Box<Response>> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Box::new(refusal(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        "Content-Type must be application/json",
    )))
}

fn unreadable(rejection: &BytesRejection) -> Response {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => refusal(
            StatusCode::PAYLOAD_TOO_LARGE,
            "payload_too_large",
            &format!("a body has at most {LARGEST_REQUEST} bytes"),
        ),
        _ => refusal(StatusCode::BAD_REQUEST, "invalid_request", "the body cannot be read"),
    }
}

pub(super) fn store(state: &SandboxState, request: &OpenRequest, body: &[u8]) -> Response {
    let fault = state.strike(request);
    match fault {
        Fault::Internal => {
            return refusal(StatusCode::INTERNAL_SERVER_ERROR, "fault", "a fault as asked for");
        }
        Fault::Unavailable => {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "fault", "a fault as asked for");
        }
        Fault::TooMany => return too_many(state.faults.retry_after),
        Fault::DropAfterStore | Fault::None => {}
    }
    let accepted = match check(body) {
        Ok(accepted) => accepted,
        Err(reason) => return refusal(StatusCode::BAD_REQUEST, "invalid_request", &reason),
    };
    match request.store(accepted) {
        Err(error) => broken_history(&error),
        // The client sees a lost response although the service stored the document.
        Ok(_) if fault == Fault::DropAfterStore => nothing(),
        Ok(document) => published(&document),
    }
}

fn published(document: &StoredDocument) -> Response {
    #[derive(Serialize)]
    struct Published<'a> {
        status: &'static str,
        version: u64,
        disabled: bool,
        content: &'a Content,
    }
    let answer = serde_json::to_string(&Published {
        status: "RELEASE",
        version: document.version,
        disabled: document.body.disabled,
        content: &document.body.content,
    });
    json(StatusCode::OK, answer.expect("text and numbers always have a JSON form"))
}

fn too_many(retry_after: Duration) -> Response {
    let mut response = refusal(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", "a fault as asked for");
    response.headers_mut().insert(header::RETRY_AFTER, retry_after.as_secs().into());
    response
}

fn broken_history(error: &std::io::Error) -> Response {
    refusal(StatusCode::INTERNAL_SERVER_ERROR, "history", &format!("cannot write the history file: {error}"))
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    code: &'a str,
    message: &'a str,
}

/// An error with a `code` and a `message`.
fn refusal(status: StatusCode, code: &str, message: &str) -> Response {
    let text = serde_json::to_string(&ErrorBody { code, message }).expect("text always has a JSON form");
    json(status, text)
}

fn json(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// Ends the connection without a response.
///
/// The server writes no head if the body fails before its first byte. A body over its limit fails;
/// with a limit of 0 it would count as empty.
pub(super) fn nothing() -> Response {
    let mut larger = Request::new(Body::from("xx"));
    DefaultBodyLimit::max(1).apply(&mut larger);
    Response::new(larger.into_limited_body())
}
