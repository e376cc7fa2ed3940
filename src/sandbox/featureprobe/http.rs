//! The API over HTTP.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::Response;
use bytes::Bytes;

use super::api::Api;
use super::call::Call;
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
    let (nth, _open) = api.arrive(&call);
    tokio::time::sleep(api.shared.faults.latency).await;
    let (method, path) = (call.method.clone(), call.sent.path.clone());
    let reply = match is_too_large {
        true => {
            let refusal = ApiRefusal::Framework(StatusCode::PAYLOAD_TOO_LARGE);
            Some(ApiReply::new(Err(refusal), &call))
        }
        false => api.carry_out(call, nth),
    };
    let response = reply.map_or_else(nothing, ApiReply::response);
    let status = response.status().as_u16();
    tracing::debug!(name: "answered", %method, path = %escaped(&path), status, "answered");
    response
}
