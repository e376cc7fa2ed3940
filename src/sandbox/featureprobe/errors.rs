//! What a request comes to: a value, or why it is refused.

use axum::http::StatusCode;
use serde_json::Value;

/// What a request to the API comes to. An empty success is null.
pub(super) type ApiAnswer = Result<Value, ApiRefusal>;

/// Why a request is not carried out.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ApiRefusal {
    /// The key or name is taken.
    Conflict,
    /// A status without a body.
    Empty(StatusCode),
    /// An error of the framework: a status without a code.
    Framework(StatusCode),
    /// An invalid request: the key of the message.
    Invalid(&'static str),
    /// An invalid request with a text of the platform.
    InvalidText(String),
    /// This kind of resource has nothing with this key.
    NotFound(&'static str, String),
}

impl ApiRefusal {
    /// An uncaught exception.
    pub(super) const INTERNAL: Self = Self::Framework(StatusCode::INTERNAL_SERVER_ERROR);
    /// A body or parameter that the framework cannot read.
    pub(super) const UNREADABLE: Self = Self::Framework(StatusCode::BAD_REQUEST);

    pub(super) fn not_found(kind: &'static str, key: impl Into<String>) -> Self {
        Self::NotFound(kind, key.into())
    }
}

impl From<super::shape::Misshapen> for ApiRefusal {
    fn from(_: super::shape::Misshapen) -> Self {
        Self::UNREADABLE
    }
}
