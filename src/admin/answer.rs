//! The JSON responses that all endpoints share.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use crate::model::harmless_json;

/// Returns a refusal: a status and its reason.
pub(super) fn problem(status: StatusCode, reason: &str) -> Response {
    json(status, &json!({ "error": reason }))
}

/// Returns a refusal with a way out.
pub(super) fn problem_with_hint(status: StatusCode, reason: &str, hint: &str) -> Response {
    json(status, &json!({ "error": reason, "hint": hint }))
}

pub(super) fn json(status: StatusCode, value: &Value) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    let body = format!("{}\n", harmless_json(&value.to_string()));
    (status, headers, body).into_response()
}
