//! The parameters of requests and the JSON responses that all endpoints share.

use std::num::NonZeroUsize;

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
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

/// The most entries of a response. Not zero, because a response without entries cannot say where the next page begins.
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
        limit
            .map(Self)
            .map_err(|_| format!("`{text}` is not a number from 1 on"))
    }
}

pub(super) fn json(status: StatusCode, value: &Value) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    let body = format!("{}\n", harmless_json(&value.to_string()));
    (status, headers, body).into_response()
}
