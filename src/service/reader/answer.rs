//! Turns the response to a read into what it contains, or into the outcome of a read that failed.

use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::LARGEST_READ;
use crate::model::{Certainty, OutcomeKind};
use crate::service::classify::{Length, decoded, description};
use crate::service::received::{Received, ReceivedBody};
use crate::service::{Body, Outcome, ServiceTrust, classify};

/// Parses the body of a 2xx as `expected`, a noun phrase for messages. Every other response is a failed read.
pub(super) fn parse<T: DeserializeOwned>(received: &Received, expected: &str) -> Result<T, Outcome> {
    if !matches!(received.status, 200..=299) {
        return Err(failed(received));
    }
    let bytes = match received.body() {
        ReceivedBody::Broken => return Err(cut_short(received.status, expected)),
        ReceivedBody::Cut(_) => return Err(too_long(received.status, expected)),
        ReceivedBody::Whole(bytes) => bytes,
    };
    let text = match decoded(bytes, received.encoding(), LARGEST_READ) {
        None => return Err(not_json(received, expected)),
        Some((_, Length::Cut)) => return Err(too_long(received.status, expected)),
        Some((text, Length::Whole)) => text,
    };
    serde_json::from_slice(&text).map_err(|error| match error.classify() {
        // That of a gateway in place of the service, which says nothing about what was read.
        Category::Data if is_blank(&text) => {
            Outcome { kind: OutcomeKind::Misrouted, ..unexpected(received, expected, &error) }
        }
        Category::Data => unexpected(received, expected, &error),
        Category::Eof if !text.trim_ascii().is_empty() => cut_short(received.status, expected),
        Category::Eof | Category::Io | Category::Syntax => not_json(received, expected),
    })
}

/// Returns whether JSON contains nothing.
fn is_blank(text: &[u8]) -> bool {
    matches!(text.trim_ascii(), b"{}" | b"[]" | b"null")
}

/// Classifies a response that is not a success.
///
/// FeatureProbe responds with 400 if something does not exist, so a 404 or 405 always means a wrong base URL, whatever
/// its body.
pub(super) fn failed(received: &Received) -> Outcome {
    let response = received.response();
    let outcome = classify(&response, ServiceTrust::Unproven).of_read();
    let description = || description(response.status, &response.body);
    match (outcome.kind, outcome.status) {
        (OutcomeKind::Misrouted | OutcomeKind::Refused, Some(404 | 405)) => {
            // The reason for a publish also names a missing toggle.
            let reason = format!("{}; check `--base-url`", description());
            Outcome { kind: OutcomeKind::Misrouted, reason, ..outcome }
        }
        // The reason for a publish also advises to create what is missing. A refused list does not say what
        // that is.
        (OutcomeKind::Refused, _) => Outcome { reason: description(), ..outcome },
        _ => outcome,
    }
}

/// Returns whether the service failed, which FeatureProbe also does for what does not exist
/// (src/service/featureprobe.md).
pub(super) fn is_500(failure: &Outcome) -> bool {
    failure.kind == OutcomeKind::Busy && failure.status == Some(500)
}

fn unexpected(received: &Received, expected: &str, error: &serde_json::Error) -> Outcome {
    let (status, error) = (received.status, error.to_string());
    // The part before it may quote the body, in which SDK keys may be.
    let shape = match error.rsplit_once(", expected ") {
        Some((_, wanted)) => match wanted.split_once(" at line ") {
            // The names of types in Rust mean nothing to a user.
            Some(("usize" | "u64", place)) => format!("expected a whole number at line {place}"),
            Some((wanted, place)) if wanted.starts_with("struct ") => {
                format!("expected an object at line {place}")
            }
            _ => format!("expected {wanted}"),
        },
        None => error,
    };
    refused(
        status,
        format!(
            "the service responded with {status} and JSON that is not {expected}: {}",
            received.sanitized(&shape)
        ),
    )
}

fn too_long(status: u16, expected: &str) -> Outcome {
    let limit = LARGEST_READ >> 20;
    refused(
        status,
        format!(
            "the service responded with {status} and a body of more than {limit} MiB, the limit for {expected}"
        ),
    )
}

pub(super) fn refused(status: u16, reason: String) -> Outcome {
    unread(OutcomeKind::Refused, status, reason)
}

fn cut_short(status: u16, expected: &str) -> Outcome {
    let reason = format!("the service responded with {status} and only the beginning of {expected}");
    unread(OutcomeKind::Busy, status, reason)
}

fn unread(kind: OutcomeKind, status: u16, reason: String) -> Outcome {
    Outcome { status: Some(status), ..Outcome::new(kind, Certainty::NotStored, reason) }
}

fn not_json(received: &Received, expected: &str) -> Outcome {
    let status = received.status;
    let what = match received.response().body {
        Body::Empty => "an empty body".to_owned(),
        // The beginning of broken JSON may contain SDK keys.
        Body::Other { begins } if !begins.starts_with(['{', '[']) => {
            format!("a body that is not JSON (`{begins}`)")
        }
        Body::Broken | Body::Json { .. } | Body::Other { .. } => "a body that is not JSON".to_owned(),
    };
    let reason =
        format!("the service responded with {status} and {what} instead of {expected}; check `--base-url`");
    unread(OutcomeKind::Misrouted, status, reason)
}
