//! The documented endpoint: token, body, faults, answer.

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, patch};
use subtle::ConstantTimeEq as _;

use super::answer::{dictated, json, nothing, refusal};
use super::body::{LARGEST_BODY, check};
use super::faults::Fault;
use super::ledger::Open;
use super::page;
use super::script::{Effect, Reply, Script};
use super::server::Shared;
use crate::model::{Payload, ToggleId};

/// Everything the sandbox answers to.
pub(super) fn router(shared: Shared) -> Router {
    Router::new()
        .route(
            "/api/projects/{project}/environments/{environment}/toggles/{toggle}/targeting",
            patch(publish),
        )
        .route("/api/sandbox/history", get(page::history))
        .route("/", get(page::page))
        .method_not_allowed_fallback(async || {
            refusal(
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "Method Not Allowed",
            )
        })
        .fallback(async || refusal(StatusCode::NOT_FOUND, "not_found", "Not Found"))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .with_state(shared)
}

async fn publish(
    State(shared): State<Shared>,
    Path((project, environment, toggle)): Path<(String, String, String)>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let Ok(id) = ToggleId::new(&project, &environment, &toggle) else {
        return refusal(
            StatusCode::BAD_REQUEST,
            "not_found",
            &format!("Toggle {toggle} not found"),
        );
    };
    let open = shared.ledger.arrive(id, body.as_deref().unwrap_or_default());
    shared.gate(open.toggle()).await;
    let faults = shared.faults();
    if !faults.latency.is_zero() {
        tokio::time::sleep(faults.latency).await;
    }
    if let Some(script) = shared.script(open.toggle()) {
        return scripted(&open, script).await;
    }
    let response = match body {
        Ok(body) => match authenticated(&headers, shared.token()).and_then(|()| is_json(&headers)) {
            Ok(()) => store(
                &open,
                &body,
                faults.strike(open.toggle(), open.nth),
                faults.retry_after,
            ),
            Err(refusal) => *refusal,
        },
        Err(rejection) => unreadable(&rejection),
    };
    finish(&open, response)
}

/// Records what is answered, unless that is nothing.
fn finish(open: &Open, response: Response) -> Response {
    if response.extensions().get::<Dropped>().is_none() {
        open.answered(response.status().as_u16());
        tracing::debug!(name: "answered", toggle = %open.toggle(), status = response.status().as_u16(), "answered");
    }
    response
}

/// Marks what is not an answer but the end of the connection.
#[derive(Clone)]
struct Dropped;

fn dropped() -> Response {
    let mut response = nothing();
    response.extensions_mut().insert(Dropped);
    response
}

async fn scripted(open: &Open, script: Script) -> Response {
    let Script { effect, delay, reply } = script;
    tokio::time::sleep(delay).await;
    if effect == Effect::Stored
        && let Err(error) = open.store()
    {
        return finish(open, broken_history(&error));
    }
    match reply {
        Reply::Answer {
            status,
            headers,
            body,
        } => finish(open, dictated(status, &headers, body)),
        Reply::Drop => finish(open, dropped()),
        Reply::Silence => std::future::pending().await,
    }
}

/// FeatureProbe's ways: no token and a scheme it does not know are 401, a token it does not know is 403.
fn authenticated(headers: &HeaderMap, token: &str) -> Result<(), Box<Response>> {
    let given = headers
        .get(header::AUTHORIZATION)
        .map_or(&b""[..], |value| value.as_bytes().trim_ascii());
    if given.ct_eq(token.as_bytes()).into() {
        return Ok(());
    }
    Err(Box::new(if given.starts_with(b"Bearer ") {
        (
            StatusCode::UNAUTHORIZED,
            [(header::WWW_AUTHENTICATE, "Bearer error=\"invalid_token\"")],
        )
            .into_response()
    } else if given.is_empty() || given.contains(&b' ') {
        refusal(StatusCode::UNAUTHORIZED, "unauthorized", "Unauthorized")
    } else {
        refusal(StatusCode::FORBIDDEN, "forbidden", "Forbidden")
    }))
}

fn is_json(headers: &HeaderMap) -> Result<(), Box<Response>> {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
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
            &format!("a body has at most {LARGEST_BODY} bytes"),
        ),
        _ => refusal(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            "the body cannot be read",
        ),
    }
}

fn store(open: &Open, body: &[u8], fault: Fault, retry_after: std::time::Duration) -> Response {
    match fault {
        Fault::Internal => {
            return refusal(StatusCode::INTERNAL_SERVER_ERROR, "fault", "a fault as asked for");
        }
        Fault::Unavailable => {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "fault", "a fault as asked for");
        }
        Fault::TooMany => return too_many(retry_after),
        Fault::DropAfterStore | Fault::None => {}
    }
    let accepted = match check(body) {
        Ok(accepted) => accepted,
        Err(reason) => return refusal(StatusCode::BAD_REQUEST, "invalid_request", &reason),
    };
    match open.store() {
        Err(error) => broken_history(&error),
        Ok(_) if fault == Fault::DropAfterStore => dropped(),
        Ok(version) => stored(&Payload::new(&accepted.targeting), version),
    }
}

fn stored(payload: &Payload, version: u64) -> Response {
    let targeting = &payload.as_json()[1..];
    json(
        StatusCode::OK,
        format!(r#"{{"status":"RELEASE","version":{version},{targeting}"#),
    )
}

fn too_many(retry_after: std::time::Duration) -> Response {
    let mut response = refusal(
        StatusCode::TOO_MANY_REQUESTS,
        "too_many_requests",
        "a fault as asked for",
    );
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, retry_after.as_secs().into());
    response
}

fn broken_history(error: &std::io::Error) -> Response {
    refusal(
        StatusCode::INTERNAL_SERVER_ERROR,
        "history",
        &format!("cannot write the history file: {error}"),
    )
}
