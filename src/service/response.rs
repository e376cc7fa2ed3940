//! Reads a response of the service, with limits, and sanitizes its texts.

use std::borrow::Cow;
use std::io::Read as _;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::model::cut;
use crate::transport::sanitized;

/// In bytes, before and after decompression. A longer body is classified by its beginning.
pub(super) const LARGEST_BODY: usize = 64 * 1024;

/// In characters, for a body that is not JSON.
const LONGEST_BEGINNING: usize = 60;

/// A response of the service. Its texts are escaped, short and without the token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServiceResponse {
    /// The HTTP status.
    pub status: u16,
    /// The target of a redirect.
    pub location: Option<String>,
    /// `Retry-After`, relative to the arrival of the response.
    pub retry_after: Option<Duration>,
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
    /// Classifies `bytes`: a whole body, or the first 64 KiB of a longer one.
    pub fn new(bytes: &[u8], encoding: Option<&str>, secret: &str) -> Self {
        let Some((bytes, length)) = decoded(bytes, encoding, LARGEST_BODY) else {
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

/// Decodes a `Content-Encoding` that the client did not request, up to `limit` bytes. Returns `None` if it is unknown or
/// the data is broken.
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

    use super::*;

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
        let large = format!(r#"{{"content":"{}"#, "a".repeat(LARGEST_BODY));
        assert_eq!(Body::new(&large.as_bytes()[..LARGEST_BODY], None, ""), json(None, None));
        let html = "<p>".repeat(LARGEST_BODY);
        assert!(matches!(Body::new(&html.as_bytes()[..LARGEST_BODY], None, ""), Body::Other { .. }));
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
