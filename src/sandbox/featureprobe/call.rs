//! A request to the API: its path, parameters and body, and who sent it.

use axum::http::{HeaderMap, Method, StatusCode, header};
use bytes::Bytes;
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::errors::ApiRefusal;
use super::shape::Shape;

/// A request that arrived at a sandbox of kind `featureprobe`, whatever the response was.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ApiCall {
    /// Its method.
    pub method: String,
    /// Its path with the query, as sent.
    pub path: String,
    /// Its body, byte for byte.
    pub body: Bytes,
}

/// The account of the person who set the service up.
const ADMIN: &str = "Admin";

pub(super) struct Call {
    pub(super) sent: ApiCall,
    pub(super) method: Method,
    pub(super) authorization: String,
    pub(super) accept_language: Option<String>,
    content_type: Option<String>,
    pub(super) account: String,
    pub(super) at: Timestamp,
}

impl Call {
    pub(super) fn new(method: Method, path: String, headers: &HeaderMap, body: Bytes, at: Timestamp) -> Self {
        let header = |name| Some(headers.get(name)?.to_str().ok()?.trim().to_owned());
        Self {
            sent: ApiCall {
                method: method.to_string(),
                path,
                body,
            },
            method,
            authorization: header(header::AUTHORIZATION).unwrap_or_default(),
            accept_language: header(header::ACCEPT_LANGUAGE),
            content_type: header(header::CONTENT_TYPE),
            account: ADMIN.to_owned(),
            at,
        }
    }

    /// A request of the person who set the service up, with a body of JSON.
    pub(super) fn by_admin(method: Method, path: String, body: &Value, at: Timestamp) -> Self {
        let mut headers = HeaderMap::new();
        let json = header::HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        Self::new(method, path, &headers, body.to_string().into(), at)
    }

    /// Returns the path without its query.
    pub(super) fn path(&self) -> &str {
        self.sent.path.split('?').next().unwrap_or_default()
    }

    /// Returns the components of the path, without percent-encoding.
    pub(super) fn components(&self) -> Vec<String> {
        self.path()
            .split('/')
            .skip(1)
            .map(|one| percent_decode_str(one).decode_utf8_lossy().into_owned())
            .collect()
    }

    /// Returns a parameter of the query. Empty ones count as absent.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        let (_, query) = self.sent.path.split_once('?')?;
        url::form_urlencoded::parse(query.as_bytes())
            .find(|(known, value)| known == name && !value.is_empty())
            .map(|(_, value)| value.into_owned())
    }

    /// Returns a parameter that is not text.
    pub(super) fn typed<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, ApiRefusal> {
        let parsed = self.parameter(name).map(|text| text.parse());
        parsed.transpose().map_err(|_| ApiRefusal::UNREADABLE)
    }

    /// Reads the body, which must be there.
    pub(super) fn json(&self, shape: &Shape) -> Result<Value, ApiRefusal> {
        let is_json = self.content_type.as_deref().is_some_and(|kind| {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            kind.eq_ignore_ascii_case("application/json")
        });
        if !is_json && (self.content_type.is_some() || !self.sent.body.is_empty()) {
            return Err(ApiRefusal::Framework(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        // The service ignores what follows the first value.
        let mut values = serde_json::Deserializer::from_slice(&self.sent.body).into_iter();
        let value = values.next().and_then(Result::ok).ok_or(ApiRefusal::UNREADABLE)?;
        match shape.read(value)? {
            Value::Null => Err(ApiRefusal::UNREADABLE),
            value => Ok(value),
        }
    }
}

/// Returns the two members that a new resource needs.
pub(super) fn name_and_key(request: &Value) -> Result<(&str, &str), ApiRefusal> {
    let needed = |name: &str| {
        let text = request[name].as_str().unwrap_or_default();
        (!text.trim().is_empty())
            .then_some(text)
            .ok_or(ApiRefusal::UNREADABLE)
    };
    Ok((needed("name")?, needed("key")?))
}
