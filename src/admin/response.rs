//! The responses that all endpoints share, and the reading of parameters and commands.

use std::num::NonZeroUsize;

use axum::body::Body;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::model::{escaped, harmless_json};

pub(super) fn problem(status: StatusCode, reason: &str) -> Response {
    json(status, &json!({ "error": reason }))
}

/// Returns a refusal with a way out.
pub(super) fn problem_with_hint(status: StatusCode, reason: &str, hint: &str) -> Response {
    json(status, &json!({ "error": reason, "hint": hint }))
}

/// Returns the refusal of a parameter or a body, with an example of a valid request.
pub(super) fn invalid(reason: &str, example: &str) -> Response {
    problem_with_hint(StatusCode::BAD_REQUEST, &escaped(reason).to_string(), example)
}

pub(super) fn shutting_down() -> Response {
    problem(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down")
}

/// Parameters that may not be valid.
pub(super) type Parameters<T> = Result<Query<T>, QueryRejection>;

/// Returns the parameters of a request.
///
/// # Errors
/// The first parameter that is not valid, with the reason.
pub(super) fn valid<T>(parameters: Parameters<T>) -> Result<T, String> {
    let reason = |rejection: QueryRejection| {
        let text = rejection.body_text();
        // The parameter follows the words of a library.
        let reason = text.strip_prefix("Failed to deserialize query string: ");
        reason.map_or_else(|| text.clone(), str::to_owned)
    };
    parameters.map(|Query(parameters)| parameters).map_err(reason)
}

/// The most entries of a response. Not zero, because a response without entries cannot say where the next
/// page begins.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(try_from = "String")]
pub(super) struct PageLimit(NonZeroUsize);

impl PageLimit {
    pub(super) fn get(self) -> usize {
        self.0.get()
    }
}

impl TryFrom<String> for PageLimit {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let limit = text.parse();
        limit.map(Self).map_err(|_| format!("`{text}` is not a number from 1 on"))
    }
}

pub(super) fn json(status: StatusCode, value: &Value) -> Response {
    let body = format!("{}\n", harmless_json(&value.to_string()));
    (status, json_body(body)).into_response()
}

/// Returns a success whose body is JSON.
pub(super) fn json_body(body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.into()).into_response()
}

/// Reads the body of a command, a JSON object.
pub(super) fn command<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    // As a list, a command would be accepted without the names of its fields.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err("could not read the command: the body is not a JSON object".to_owned());
    }
    serde_json::from_slice(body).map_err(|error| format!("could not read the command: {error}"))
}

pub(super) fn text(status: StatusCode, lines: &[String]) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    let lines: String = lines.iter().map(|line| format!("{}\n", escaped(line))).collect();
    (status, headers, lines).into_response()
}
