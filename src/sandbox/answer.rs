//! The sandbox's responses, worded as FeatureProbe's.

use axum::RequestExt as _;
use axum::body::Body;
use axum::extract::DefaultBodyLimit;
use axum::http::{Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

#[derive(Serialize)]
struct ErrorBody<'a> {
    code: &'a str,
    message: &'a str,
}

/// An error with a `code` and a `message`.
pub(super) fn refusal(status: StatusCode, code: &str, message: &str) -> Response {
    let text = serde_json::to_string(&ErrorBody { code, message }).expect("text always has a JSON form");
    json(status, text)
}

pub(super) fn json(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// Ends the connection (over HTTP/2, the stream) without a response.
///
/// Over HTTP/1.1, the server writes no head if the body fails before its first byte. A body over its limit fails;
/// with a limit of 0 it would count as empty.
pub(super) fn nothing() -> Response {
    let mut larger = Request::new(Body::from("xx"));
    DefaultBodyLimit::max(1).apply(&mut larger);
    Response::new(larger.into_limited_body())
}
