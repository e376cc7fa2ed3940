//! How each kind of service is asked to change something, and what the codes of its errors mean: a row for each.
//!
//! What a kind of service can do is in `model/dialect.rs`.

mod featureprobe;

use bytes::Bytes;
use reqwest::Method;
use url::Url;

use super::BaseUrl;
use super::outcome::ErrorCode;
use crate::model::{Payload, ReturnType, Sent, ServiceKind, ToggleId};

/// What a kind of service expects of a request that writes, and of its token.
pub(super) struct Protocol {
    /// Returns the request that publishes a toggle.
    pub(super) publish: fn(&BaseUrl, &ToggleId, &Sent) -> WriteRequest,
    /// Returns the request that creates a toggle. Only a kind of service that can be read is asked to.
    pub(super) create: fn(&BaseUrl, &NewToggle<'_>) -> WriteRequest,
    /// The header of the token, and of the SDK key of an environment.
    pub(super) token_header: &'static str,
    /// What is sent before the token, which is configured without it: a scheme and a space, or nothing.
    pub(super) scheme: &'static str,
    /// The headers of a request that reads.
    pub(super) read_headers: &'static [(&'static str, &'static str)],
    /// Returns what the code of an error means.
    pub(super) error_code: fn(&str) -> ErrorCode,
}

/// A request that changes something. Its answer is classified by the table of outcomes, whatever the service.
pub(super) struct WriteRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) content_type: &'static str,
    pub(super) body: Bytes,
}

/// A toggle to create in its project and in each of its environments.
pub struct NewToggle<'a> {
    pub id: &'a ToggleId,
    /// What is published next. It has the values.
    pub payload: &'a Payload,
    /// The comment of that publish. Its first line describes the toggle.
    pub comment: &'a str,
    /// The type of the values.
    pub return_type: ReturnType,
}

/// Returns the row of this kind of service.
pub(super) const fn protocol(kind: ServiceKind) -> &'static Protocol {
    match kind {
        // FeatureProbe has the documented endpoint.
        ServiceKind::Documented | ServiceKind::FeatureProbe => &featureprobe::PROTOCOL,
    }
}
