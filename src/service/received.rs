//! A response of the service whose body has been read.

use std::time::Duration;

use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, DATE, HeaderMap, HeaderName, LOCATION, RETRY_AFTER};

use super::classify::LARGEST_ANSWER;
use super::kind::protocol;
use crate::model::ServiceKind;
use crate::service::{Body, ServiceResponse};
use crate::transport::{Secret, retry_after, sanitized};

/// A response whose body has been read.
pub(super) struct Received {
    kind: ServiceKind,
    pub(super) status: u16,
    headers: HeaderMap,
    body: ReceivedBody,
    secret: Secret,
    took: Duration,
}

/// The bytes of a body as they came.
pub(super) enum ReceivedBody {
    /// The connection ended before the body did.
    Broken,
    /// The first bytes of a body that is longer than the limit.
    Cut(Vec<u8>),
    Whole(Vec<u8>),
}

impl Received {
    pub(super) async fn read(
        kind: ServiceKind,
        mut response: Response,
        secret: Secret,
        took: Duration,
        limit: usize,
    ) -> Self {
        let status = response.status().as_u16();
        let headers = std::mem::take(response.headers_mut());
        let body = bounded(&mut response, limit)
            .await
            // Without the whole response, even a 2xx does not prove that the service stored the document.
            .unwrap_or(ReceivedBody::Broken);
        Self { kind, status, headers, body, secret, took }
    }

    /// Returns the response with its body classified.
    pub(super) fn response(&self) -> ServiceResponse {
        let body = match &self.body {
            ReceivedBody::Broken => Body::Broken,
            ReceivedBody::Cut(bytes) | ReceivedBody::Whole(bytes) => {
                let beginning = &bytes[..bytes.len().min(LARGEST_ANSWER)];
                Body::new(beginning, self.encoding(), self.secret.expose())
            }
        };
        ServiceResponse {
            status: self.status,
            location: text(&self.headers, &LOCATION).map(|location| self.sanitized(location)),
            retry_after: text(&self.headers, &RETRY_AFTER)
                .and_then(|wait| retry_after(wait, text(&self.headers, &DATE), jiff::Timestamp::now())),
            code: body.code(self.status).map(protocol(self.kind).error_code),
            body,
        }
    }

    pub(super) const fn body(&self) -> &ReceivedBody {
        &self.body
    }

    /// Returns the `Content-Encoding`.
    pub(super) fn encoding(&self) -> Option<&str> {
        text(&self.headers, &CONTENT_ENCODING)
    }

    /// Returns `text` for a message, without the secret of the request.
    pub(super) fn sanitized(&self, text: &str) -> String {
        sanitized(text, self.secret.expose())
    }

    /// Returns the request id of the service or a proxy, so that operators can find the request in their
    /// logs.
    pub(super) fn request_id(&self) -> Option<String> {
        const REQUEST_IDS: [&str; 3] = ["x-request-id", "x-correlation-id", "request-id"];
        let mut ids = REQUEST_IDS.iter().filter_map(|name| self.headers.get(*name)?.to_str().ok());
        ids.next().map(|id| self.sanitized(id))
    }

    /// Returns the milliseconds until the response began.
    pub(super) fn took_ms(&self) -> u64 {
        u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX)
    }
}

async fn bounded(response: &mut Response, limit: usize) -> Result<ReceivedBody, reqwest::Error> {
    let mut bytes = Vec::new();
    // A service must not fill the memory.
    while let Some(chunk) = response.chunk().await? {
        let free = limit - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(free)]);
        if chunk.len() > free {
            return Ok(ReceivedBody::Cut(bytes));
        }
    }
    Ok(ReceivedBody::Whole(bytes))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
