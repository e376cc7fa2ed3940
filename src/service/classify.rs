//! Reads a response, and classifies it as an outcome by the table in src/service/README.md, "Outcomes".

use std::borrow::Cow;
use std::io::Read as _;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::{ErrorCode, Outcome};
use crate::model::{Certainty, OutcomeKind, cut};
use crate::transport::{is_passing, sanitized};

/// Whether the service has accepted a request in this pass. Until then, a 404 or 405 may mean a wrong base
/// URL.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ServiceTrust {
    Proven,
    /// It has not accepted one yet.
    Unproven,
}

pub fn classify(response: &ServiceResponse, trust: ServiceTrust) -> Outcome {
    let ServiceResponse { status, location, retry_after, code, body } = response;
    let (status, code) = (*status, *code);
    // An error that names a time after which to ask again is about the moment, whatever its status.
    let is_passing = is_passing(status) || (status >= 400 && retry_after.is_some());
    let (kind, reason) = match (status, code) {
        (200..=299, _) => success(status, body),
        _ if is_passing => (OutcomeKind::Busy, description(status, body)),
        // The code counts where the body has one (src/service/README.md, "Outcomes").
        (401, _) | (400..=499, Some(ErrorCode::Unauthorized)) => (
            OutcomeKind::Unauthorized,
            format!("the service rejected the token: {}", description(status, body)),
        ),
        (403, _) | (400..=499, Some(ErrorCode::Forbidden)) => {
            (OutcomeKind::Forbidden, description(status, body))
        }
        (404 | 405, None) if is_of_another_server(body, trust) => (
            OutcomeKind::Misrouted,
            format!(
                "{}; check `--base-url`, and that the toggle exists on the service",
                description(status, body)
            ),
        ),
        // No service says so of a toggle: the proxy, or a server that this name does not belong to.
        (400 | 407 | 421, None) if status != 400 || matches!(body, Body::Other { .. }) => (
            OutcomeKind::Misrouted,
            format!("{}; check `--base-url` and the proxy", description(status, body)),
        ),
        (400.., code) => (OutcomeKind::Refused, refused(status, code, body, trust)),
        (..=399, _) => (OutcomeKind::Misrouted, redirected(status, location.as_deref())),
    };
    Outcome {
        status: Some(status).filter(|_| kind != OutcomeKind::Lost),
        retry_after: retry_after.filter(|_| is_passing),
        code,
        ..Outcome::new(kind, certainty(status, body), reason)
    }
}

/// Returns whether a 404 or 405 without a code of the service may be that of a proxy, or of a server at a wrong
/// address. One whose body is not JSON is, whatever came before.
fn is_of_another_server(body: &Body, trust: ServiceTrust) -> bool {
    trust == ServiceTrust::Unproven || matches!(body, Body::Other { .. })
}

/// What to do about a publish to something that the service does not have, after the reason.
pub(crate) const CREATE_FIRST: &str = "; create it on the service first";

fn refused(status: u16, code: Option<ErrorCode>, body: &Body, trust: ServiceTrust) -> String {
    match (status, code) {
        // A server at another address may have the same code for a path that it does not know.
        (404, _) if trust == ServiceTrust::Unproven => {
            description(status, body) + CREATE_FIRST + ", or correct `--base-url`"
        }
        (404, _) | (_, Some(ErrorCode::Missing)) => description(status, body) + CREATE_FIRST,
        _ => description(status, body),
    }
}

fn success(status: u16, body: &Body) -> (OutcomeKind, String) {
    match body {
        Body::Empty | Body::Json { .. } => {
            (OutcomeKind::Applied, format!("the service responded with {status}"))
        }
        Body::Broken => (OutcomeKind::Lost, description(status, body)),
        // A login page or a portal responds with 200 as well, so this proves nothing.
        Body::Other { .. } => {
            (OutcomeKind::Misrouted, format!("{}; check `--base-url`", description(status, body)))
        }
    }
}

/// Returns what the response proves. Only a 2xx or 4xx whose body is empty or JSON, and a 429, prove
/// anything: a proxy may have sent the others after the service stored the document.
fn certainty(status: u16, body: &Body) -> Certainty {
    let clear = matches!(body, Body::Empty | Body::Json { .. });
    match status {
        200..=299 if clear => Certainty::Stored,
        // A rate limit applies before the request is processed, so the body does not matter.
        429 => Certainty::NotStored,
        400..=499 if clear => Certainty::NotStored,
        _ => Certainty::Unknown,
    }
}

/// Describes the response in one sentence.
pub(super) fn description(status: u16, body: &Body) -> String {
    match body {
        Body::Json { code: Some(code), message: Some(message) } => {
            format!("the service responded with {status} `{code}`: {message}")
        }
        Body::Json { code: Some(text), message: None } | Body::Json { code: None, message: Some(text) } => {
            format!("the service responded with {status}: {text}")
        }
        Body::Json { code: None, message: None } | Body::Empty => {
            format!("the service responded with {status}")
        }
        Body::Broken => {
            format!("the service responded with {status}, but its body did not arrive completely")
        }
        Body::Other { begins } => {
            format!("the service responded with {status} and a body that is not JSON (`{begins}`)")
        }
    }
}

fn redirected(status: u16, location: Option<&str>) -> String {
    match location {
        Some(location) => format!(
            "the service responded with {status} and redirects to `{location}`, which is not followed; check `--base-url`"
        ),
        None => {
            format!("the service responded with {status}, which is not a valid response; check `--base-url`")
        }
    }
}

/// In bytes, before and after decompression. A longer body is classified by its beginning.
pub(super) const LARGEST_ANSWER: usize = 64 * 1024;

/// In characters, for a body that is not JSON.
const LONGEST_BEGINNING: usize = 60;

/// A response of the service. Its texts are escaped, short and without the token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServiceResponse {
    pub status: u16,
    /// The target of a redirect.
    pub location: Option<String>,
    /// `Retry-After`, relative to the arrival of the response.
    pub retry_after: Option<Duration>,
    /// What the code in its body means.
    pub code: Option<ErrorCode>,
    /// The kind of body, with its message.
    pub body: Body,
}

/// The kind of a body. `Content-Type` is ignored, because services often omit it on errors.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Body {
    /// The connection ended before the body did.
    Broken,
    /// No bytes, or only white space.
    Empty,
    Json {
        /// Its `code`.
        code: Option<String>,
        /// Its `message`, or else its `error`.
        message: Option<String>,
    },
    /// Anything that is not JSON.
    Other {
        /// The first characters.
        begins: String,
    },
}

impl Body {
    /// Returns the code in a body. One that repeats the status is that of any web server, and says nothing about
    /// a toggle.
    pub(super) fn code(&self, status: u16) -> Option<&str> {
        match self {
            Self::Json { code, message: _ } => code.as_deref().filter(|code| *code != status.to_string()),
            Self::Broken | Self::Empty | Self::Other { .. } => None,
        }
    }

    /// Classifies `bytes`: a whole body, or the first 64 KiB of a longer one.
    pub fn new(bytes: &[u8], encoding: Option<&str>, secret: &str) -> Self {
        let Some((bytes, length)) = decoded(bytes, encoding, LARGEST_ANSWER) else {
            return Self::Other {
                begins: format!("(compressed as `{}`)", sanitized(encoding.unwrap_or_default(), secret)),
            };
        };
        if bytes.trim_ascii().is_empty() {
            return Self::Empty;
        }
        // Only objects: serde would fill the fields from a list in order.
        if bytes.trim_ascii_start().starts_with(b"{")
            && let Ok(error) = serde_json::from_slice::<ErrorBody>(&bytes)
        {
            return error.body(secret);
        }
        if is_json(&bytes, length) {
            Self::Json { code: None, message: None }
        } else {
            Self::Other { begins: beginning(&bytes, secret) }
        }
    }
}

/// Whether a decoded body is complete.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Length {
    Cut,
    Whole,
}

/// The fields that services use in the body of an error.
#[derive(Deserialize)]
struct ErrorBody {
    #[serde(default)]
    code: Value,
    #[serde(default)]
    message: Value,
    #[serde(default)]
    error: Value,
}

impl ErrorBody {
    fn body(self, secret: &str) -> Body {
        let Self { code, message, error } = self;
        let text = |value: &Value| match value {
            Value::String(text) if !text.trim().is_empty() => Some(sanitized(text, secret)),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let nested = error.get("message").and_then(text);
        Body::Json {
            code: text(&code).or_else(|| error.get("code").and_then(text)),
            message: text(&message).or_else(|| text(&error)).or(nested),
        }
    }
}

/// Returns whether `bytes` are JSON, or the beginning of JSON if the body was cut.
fn is_json(bytes: &[u8], length: Length) -> bool {
    match serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
        Ok(_) => true,
        Err(error) => length == Length::Cut && error.is_eof(),
    }
}

/// Decodes a `Content-Encoding` that the client did not request, up to `limit` bytes. Returns `None` if it is
/// unknown or the data is broken.
pub(super) fn decoded<'a>(
    bytes: &'a [u8],
    encoding: Option<&str>,
    limit: usize,
) -> Option<(Cow<'a, [u8]>, Length)> {
    let read_to_bound = if bytes.len() >= limit { Length::Cut } else { Length::Whole };
    match encoding.map(str::trim).filter(|text| !text.is_empty()) {
        None => Some((bytes.into(), read_to_bound)),
        Some(name) if name.eq_ignore_ascii_case("identity") => Some((bytes.into(), read_to_bound)),
        Some(name) if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") => {
            inflated(flate2::read::MultiGzDecoder::new(bytes), read_to_bound, limit)
        }
        Some(name) if name.eq_ignore_ascii_case("deflate") => {
            inflated(flate2::read::ZlibDecoder::new(bytes), read_to_bound, limit)
        }
        Some(_) => None,
    }
}

fn inflated<'a>(
    decoder: impl std::io::Read,
    compressed: Length,
    limit: usize,
) -> Option<(Cow<'a, [u8]>, Length)> {
    let mut text = Vec::new();
    // A small compressed body may expand to gigabytes.
    let read = decoder.take(limit as u64).read_to_end(&mut text);
    match (read, compressed) {
        (Ok(_), _) if text.len() >= limit => Some((text.into(), Length::Cut)),
        (Ok(_), _) => Some((text.into(), Length::Whole)),
        // The end of the compressed body was not read, so the error proves nothing.
        (Err(_), Length::Cut) => Some((text.into(), Length::Cut)),
        (Err(_), Length::Whole) => None,
    }
}

fn beginning(bytes: &[u8], secret: &str) -> String {
    cut(&sanitized(&String::from_utf8_lossy(bytes), secret), LONGEST_BEGINNING + 1)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use super::Certainty::{NotStored, Stored, Unknown};
    use super::ServiceTrust::{Proven, Unproven};
    use super::*;
    use crate::model::ServiceKind;
    use crate::service::kind::protocol;

    fn response(status: u16, body: &str) -> ServiceResponse {
        let body = Body::new(body.as_bytes(), None, "token");
        let code = body.code(status).map(protocol(ServiceKind::Documented).error_code);
        ServiceResponse { status, location: None, retry_after: None, code, body }
    }

    const NOTHING: &str = "";
    const JSON: &str = r#"{"code":"invalid_request","message":"no"}"#;
    const SILENT: &str = r#"{"message":"no"}"#;
    const HTML: &str = "<html>";
    const GATEWAY: &str = r#"{"error":{"code":404,"message":"no route"}}"#;

    /// Classifies each response, which is trusted to be the service's or not, as the outcome with the
    /// certainty.
    fn classified(cases: &[(u16, &str, ServiceTrust, &str, Certainty)]) {
        for (status, body, trust, word, certainty) in cases {
            let outcome = classify(&response(*status, body), *trust);
            assert_eq!(
                (outcome.kind.as_str(), outcome.certainty),
                (*word, *certainty),
                "{status} {body:?} {trust:?}"
            );
        }
    }

    #[test]
    fn a_success_is_applied_and_a_redirect_is_misrouted() {
        classified(&[
            (200, NOTHING, Unproven, "applied", Stored),
            (200, JSON, Unproven, "applied", Stored),
            (204, NOTHING, Proven, "applied", Stored),
            (299, "[]", Proven, "applied", Stored),
            (200, HTML, Unproven, "misrouted", Unknown),
            (200, HTML, Proven, "misrouted", Unknown),
            (300, NOTHING, Proven, "misrouted", Unknown),
            (302, HTML, Unproven, "misrouted", Unknown),
            (304, NOTHING, Proven, "misrouted", Unknown),
            (308, JSON, Proven, "misrouted", Unknown),
        ]);
    }

    #[test]
    fn a_client_error_is_refused_unless_another_service_may_have_responded() {
        classified(&[
            (404, NOTHING, Unproven, "misrouted", NotStored),
            (404, HTML, Unproven, "misrouted", Unknown),
            (404, JSON, Unproven, "refused", NotStored),
            (404, SILENT, Unproven, "misrouted", NotStored),
            (404, GATEWAY, Unproven, "misrouted", NotStored),
            (404, GATEWAY, Proven, "refused", NotStored),
            (404, SILENT, Proven, "refused", NotStored),
            (404, NOTHING, Proven, "refused", NotStored),
            (404, HTML, Proven, "misrouted", Unknown),
            (405, NOTHING, Unproven, "misrouted", NotStored),
            (405, JSON, Unproven, "refused", NotStored),
            (405, SILENT, Unproven, "misrouted", NotStored),
            (405, HTML, Proven, "misrouted", Unknown),
            (400, JSON, Unproven, "refused", NotStored),
            (400, NOTHING, Unproven, "refused", NotStored),
            (400, HTML, Unproven, "misrouted", Unknown),
            (400, HTML, Proven, "misrouted", Unknown),
            (407, HTML, Proven, "misrouted", Unknown),
            (407, JSON, Proven, "refused", NotStored),
            (421, NOTHING, Proven, "misrouted", NotStored),
            (409, JSON, Proven, "refused", NotStored),
            (410, JSON, Proven, "refused", NotStored),
            (413, HTML, Unproven, "refused", Unknown),
            (415, JSON, Proven, "refused", NotStored),
            (422, JSON, Proven, "refused", NotStored),
            (451, JSON, Proven, "refused", NotStored),
        ]);
    }

    #[test]
    fn a_rejected_token_is_unauthorized_or_forbidden() {
        classified(&[
            (401, NOTHING, Unproven, "unauthorized", NotStored),
            (401, JSON, Proven, "unauthorized", NotStored),
            (401, HTML, Proven, "unauthorized", Unknown),
            (400, r#"{"code":"unauthorized"}"#, Proven, "unauthorized", NotStored),
            (403, NOTHING, Unproven, "forbidden", NotStored),
            (403, JSON, Proven, "forbidden", NotStored),
            (403, HTML, Proven, "forbidden", Unknown),
            (400, r#"{"code":"forbidden"}"#, Proven, "forbidden", NotStored),
            (400, r#"{"code":"forbidden"}"#, Unproven, "forbidden", NotStored),
        ]);
    }

    #[test]
    fn a_server_error_or_a_request_to_wait_is_busy() {
        classified(&[
            (408, NOTHING, Proven, "busy", NotStored),
            (408, HTML, Proven, "busy", Unknown),
            (425, JSON, Proven, "busy", NotStored),
            (429, NOTHING, Proven, "busy", NotStored),
            (429, HTML, Proven, "busy", NotStored),
            (500, JSON, Proven, "busy", Unknown),
            (503, NOTHING, Unproven, "busy", Unknown),
            (599, HTML, Proven, "busy", Unknown),
        ]);
    }

    #[test]
    fn an_incomplete_response_proves_nothing() {
        for (status, word) in [(200, "lost"), (400, "refused"), (503, "busy"), (401, "unauthorized")] {
            let outcome = classify(&ServiceResponse { body: Body::Broken, ..response(status, "") }, Proven);
            assert_eq!((outcome.kind.as_str(), outcome.certainty), (word, Unknown), "{status}");
        }
    }

    #[test]
    fn the_reason_contains_the_services_message() {
        for (status, body, sentence) in [
            (400, JSON, "the service responded with 400 `invalid_request`: no"),
            (422, r#"{"message":"bad\u001b[2J"}"#, "the service responded with 422: bad\\u{1b}[2J"),
            (400, r#"{"message":"token token"}"#, "the service responded with 400: *** ***"),
            (
                404,
                r#"{"code":"not_found","message":"Toggle pay not found"}"#,
                "the service responded with 404 `not_found`: Toggle pay not found; create it on the service first",
            ),
            (404, "", "the service responded with 404; create it on the service first"),
            (503, "", "the service responded with 503"),
            (
                200,
                HTML,
                "the service responded with 200 and a body that is not JSON (`<html>`); check `--base-url`",
            ),
        ] {
            assert_eq!(classify(&response(status, body), Proven).to_string(), sentence);
        }
    }

    #[test]
    fn the_reason_of_a_redirect_contains_its_target() {
        let response =
            ServiceResponse { location: Some("https://elsewhere.example/".into()), ..response(302, "") };
        let sentence = classify(&response, Proven).to_string();
        assert!(sentence.contains("`https://elsewhere.example/`"), "{sentence}");
    }

    #[test]
    fn an_error_of_any_status_with_a_retry_after_is_busy_for_that_time() {
        let wait = Some(Duration::from_secs(7));
        for status in 400..=599 {
            for body in [NOTHING, JSON, HTML, r#"{"code":"forbidden"}"#] {
                for trust in [Proven, Unproven] {
                    let response = ServiceResponse { retry_after: wait, ..response(status, body) };
                    let outcome = classify(&response, trust);
                    let (kind, after) = (outcome.kind, outcome.retry_after);
                    assert_eq!((kind, after), (OutcomeKind::Busy, wait), "{status} {body:?}: {outcome:?}");
                }
            }
        }
        let moved = ServiceResponse { retry_after: wait, ..response(302, "") };
        assert_eq!(classify(&moved, Proven).kind.as_str(), "misrouted");
    }

    fn json(code: Option<&str>, message: Option<&str>) -> Body {
        Body::Json { code: code.map(Into::into), message: message.map(Into::into) }
    }

    #[test]
    fn a_body_is_classified_by_its_content() {
        for (text, body) in [
            ("", Body::Empty),
            (" \r\n", Body::Empty),
            ("{}", json(None, None)),
            ("[1]", json(None, None)),
            ("true", json(None, None)),
            (r#"{"code":"not_found","message":"no\n::x"}"#, json(Some("not_found"), Some("no\\n::x"))),
            (r#"{"status":500,"error":"Internal"}"#, json(None, Some("Internal"))),
            (r#"{"error":{"code":7,"message":"m"}}"#, json(Some("7"), Some("m"))),
            (r#"{"message":"token api-1"}"#, json(None, Some("token ***"))),
            (r#"{"message":null,"code":{}}"#, json(None, None)),
            ("<html>", Body::Other { begins: "<html>".into() }),
            (r#"{"a":1"#, Body::Other { begins: r#"{"a":1"#.into() }),
            ("{} trailing", Body::Other { begins: "{} trailing".into() }),
        ] {
            assert_eq!(Body::new(text.as_bytes(), None, "api-1"), body, "{text}");
        }
    }

    #[test]
    fn a_large_body_is_classified_by_its_beginning() {
        let large = format!(r#"{{"content":"{}"#, "a".repeat(LARGEST_ANSWER));
        assert_eq!(Body::new(&large.as_bytes()[..LARGEST_ANSWER], None, ""), json(None, None));
        let html = "<p>".repeat(LARGEST_ANSWER);
        assert!(matches!(Body::new(&html.as_bytes()[..LARGEST_ANSWER], None, ""), Body::Other { .. }));
    }

    #[test]
    fn a_compressed_body_is_decoded_up_to_the_limit() {
        let gzip = |text: &[u8]| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        };
        let compressed = gzip(br#"{"code":"conflict"}"#);
        assert_eq!(Body::new(&compressed, Some("gzip"), ""), json(Some("conflict"), None));
        assert!(matches!(Body::new(&compressed[..10], Some("gzip"), ""), Body::Other { .. } | Body::Empty));
        assert!(matches!(Body::new(b"x", Some("br"), ""), Body::Other { .. }));
        let bomb = gzip(&vec![b' '; 64 << 20]);
        assert_eq!(Body::new(&bomb, Some("gzip"), ""), Body::Empty);
    }
}
