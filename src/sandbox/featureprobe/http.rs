//! The API over HTTP.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::Response;
use bytes::Bytes;

use super::api::{Api, ApiOutcome};
use super::call::Call;
use super::control;
use super::errors::ApiRefusal;
use super::reply::ApiReply;
use crate::model::escaped;
use crate::sandbox::answer::nothing;
use crate::sandbox::body::LARGEST_BODY;

pub(in crate::sandbox) fn router(api: Arc<Api>) -> Router {
    Router::new()
        .fallback(handle)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .with_state(api)
}

async fn handle(
    State(api): State<Arc<Api>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let path = uri
        .path_and_query()
        .map_or_else(|| uri.path().to_owned(), ToString::to_string);
    let is_too_large = body.is_err();
    let call = Call::new(method, path, &headers, body.unwrap_or_default(), api.now());
    if let Some(reply) = control::answer(&api, &call) {
        return response(reply);
    }
    let (nth, _open) = api.arrive(&call);
    tokio::time::sleep(api.shared.faults.latency).await;
    let (method, path) = (call.method.clone(), call.sent.path.clone());
    let outcome = match is_too_large {
        true => ApiOutcome::Reply(ApiReply::new(
            Err(ApiRefusal::Framework(StatusCode::PAYLOAD_TOO_LARGE)),
            &call,
        )),
        false => api.carry_out(call, nth),
    };
    let response = match outcome {
        ApiOutcome::Nothing => nothing(),
        ApiOutcome::Page(html) => page(html),
        ApiOutcome::Reply(reply) => response(reply),
        ApiOutcome::TooMany(reply) => {
            let mut response = response(reply);
            let seconds = api.shared.faults.retry_after.as_secs();
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
            response
        }
    };
    let status = response.status().as_u16();
    tracing::debug!(name: "answered", %method, path = %escaped(&path), status, "answered");
    response
}

fn response(reply: ApiReply) -> Response {
    let ApiReply {
        status,
        content_type,
        authenticate,
        body,
    } = reply;
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let mut insert = |name, value: Option<&'static str>| {
        if let Some(value) = value {
            response
                .headers_mut()
                .insert(name, HeaderValue::from_static(value));
        }
    };
    insert(header::CONTENT_TYPE, content_type);
    insert(header::WWW_AUTHENTICATE, authenticate);
    response
}

fn page(html: String) -> Response {
    response(ApiReply {
        content_type: Some("text/html;charset=utf-8"),
        body: html,
        ..ApiReply::empty(StatusCode::OK)
    })
}
