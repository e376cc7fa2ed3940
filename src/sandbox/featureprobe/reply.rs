//! The service's answers as they are sent: successes, and errors in their two shapes.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};

use super::call::Call;
use super::dates;
use super::errors::{ApiAnswer, ApiRefusal};

/// An answer as it is sent.
#[derive(Debug)]
pub(super) struct ApiReply {
    pub(super) status: StatusCode,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: String,
}

impl ApiReply {
    pub(super) fn new(answer: ApiAnswer, call: &Call) -> Self {
        match answer {
            Ok(Value::Null) => Self::empty(StatusCode::OK),
            Ok(value) => Self::typed(StatusCode::OK, "application/json", value.to_string()),
            Err(refusal) => Self::refused(&refusal, call),
        }
    }

    pub(super) fn empty(status: StatusCode) -> Self {
        Self::untyped(status, String::new())
    }

    /// A page with the status 200.
    pub(super) fn page(html: String) -> Self {
        Self::typed(StatusCode::OK, "text/html;charset=utf-8", html)
    }

    /// An error of the security layer.
    pub(super) fn unauthorized(status: StatusCode, code: &str, message: &str) -> Self {
        let body = json!({ "code": code, "message": message });
        Self::typed(status, "application/json;charset=UTF-8", body.to_string())
    }

    fn typed(status: StatusCode, content_type: &'static str, body: String) -> Self {
        Self::untyped(status, body).with(header::CONTENT_TYPE, HeaderValue::from_static(content_type))
    }

    fn untyped(status: StatusCode, body: String) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body,
        }
    }

    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(super) fn response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        response.headers_mut().extend(self.headers);
        response
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
        let body = json!({ "code": code, "message": message });
        // Application errors have no content type.
        Self::untyped(StatusCode::BAD_REQUEST, body.to_string())
    }

    fn framework(status: StatusCode, call: &Call) -> Self {
        let body = json!({
            "timestamp": dates::written(call.at),
            "status": status.as_u16(),
            "error": status.canonical_reason().unwrap_or_default(),
            "path": call.path(),
        });
        Self::typed(status, "application/json", body.to_string())
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
