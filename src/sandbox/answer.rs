//! The sandbox's answers.

use axum::RequestExt as _;
use axum::body::Body;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

/// What an error says, as FeatureProbe words it.
#[derive(Serialize)]
struct Said<'a> {
    code: &'a str,
    message: &'a str,
}

/// An error with a `code` and a `message`.
pub(super) fn refusal(status: StatusCode, code: &str, message: &str) -> Response {
    let text = serde_json::to_string(&Said { code, message }).expect("text always has a JSON form");
    json(status, text)
}

pub(super) fn json(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// An answer that a script dictates. A name or value that no HTTP header can have is left out.
pub(super) fn dictated(status: u16, headers: &[(String, String)], body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// The end of the connection (over HTTP/2, of the stream) instead of an answer.
///
/// A body that fails before its first byte makes the server give up before it has written the head over HTTP/1.1.
/// The only body within reach that fails is one that is larger than its limit; with a limit of 0 it would count
/// as empty and not fail.
pub(super) fn nothing() -> Response {
    let mut larger = Request::new(Body::from("xx"));
    DefaultBodyLimit::max(1).apply(&mut larger);
    Response::new(larger.into_limited_body())
}
