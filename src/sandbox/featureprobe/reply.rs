//! The service's answers as they are sent: successes, and errors in their two shapes.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::call::Call;
use super::dates;
use super::errors::{ApiAnswer, ApiRefusal};

/// An answer as it is sent.
#[derive(Debug)]
pub(super) struct ApiReply {
    pub(super) status: StatusCode,
    /// Application errors have none.
    pub(super) content_type: Option<&'static str>,
    pub(super) authenticate: Option<&'static str>,
    pub(super) body: String,
}

impl ApiReply {
    pub(super) fn new(answer: ApiAnswer, call: &Call) -> Self {
        match answer {
            Ok(Value::Null) => Self::empty(StatusCode::OK),
            Ok(value) => Self {
                content_type: Some("application/json"),
                body: value.to_string(),
                ..Self::empty(StatusCode::OK)
            },
            Err(refusal) => Self::refused(&refusal, call),
        }
    }

    pub(super) fn empty(status: StatusCode) -> Self {
        Self {
            status,
            content_type: None,
            authenticate: None,
            body: String::new(),
        }
    }

    /// An error of the security layer.
    pub(super) fn unauthorized(status: StatusCode, code: &str, message: &str) -> Self {
        Self {
            content_type: Some("application/json;charset=UTF-8"),
            body: json!({ "code": code, "message": message }).to_string(),
            ..Self::empty(status)
        }
    }

    fn refused(refusal: &ApiRefusal, call: &Call) -> Self {
        let bundle = Bundle::of(call);
        match refusal {
            ApiRefusal::Conflict => Self::business("conflict", &bundle.message("resource.error.conflict")),
            ApiRefusal::Empty(status) => Self::empty(*status),
            ApiRefusal::Framework(status) => Self::framework(*status, call),
            ApiRefusal::Invalid(key) => Self::business("invalid_request", &bundle.message(key)),
            ApiRefusal::InvalidText(text) => Self::business("invalid_request", text),
            ApiRefusal::NotFound(kind, key) => Self::business("not_found", &bundle.not_found(kind, key)),
        }
    }

    fn business(code: &str, message: &str) -> Self {
        Self {
            body: json!({ "code": code, "message": message }).to_string(),
            ..Self::empty(StatusCode::BAD_REQUEST)
        }
    }

    fn framework(status: StatusCode, call: &Call) -> Self {
        let body = json!({
            "timestamp": dates::written(call.at),
            "status": status.as_u16(),
            "error": status.canonical_reason().unwrap_or_default(),
            "path": call.path(),
        });
        Self {
            content_type: Some("application/json"),
            body: body.to_string(),
            ..Self::empty(status)
        }
    }
}

/// The texts for an `Accept-Language`.
enum Bundle {
    English,
    /// A language without texts: the service sends the keys of the messages.
    Keys,
}

impl Bundle {
    fn of(call: &Call) -> Self {
        match call.accept_language.as_deref() {
            None | Some("" | "*") => Self::English,
            Some(language) if language.to_ascii_lowercase().starts_with("en-us") => Self::English,
            Some(_) => Self::Keys,
        }
    }

    fn message(&self, key: &str) -> String {
        let text = match (self, key) {
            (Self::Keys, key) => key,
            (_, "resource.error.conflict") => "This resource already exists, please modify",
            (_, "validate.approval.disable") => "Approval is not enabled.",
            (_, "validate.approval.repeat") => {
                "This toggle is already under approval, please do not repeat approval again."
            }
            (_, "validate.conflict_request") => "Request conflict, please try again",
            (_, "validate.datetime_format_error") => "Invalid datetime",
            (_, "validate.number_format_error") => "Invalid number",
            (_, "validate.targeting_content_over_limit") => "Rule content length exceeded (<1M).",
            (_, "validate.version_format_error") => "Invalid version",
            (_, key) => key,
        };
        text.to_owned()
    }

    fn not_found(&self, kind: &str, key: &str) -> String {
        match self {
            Self::English => format!("{kind} {key} not found"),
            Self::Keys => "resource.error.not_found".to_owned(),
        }
    }
}
