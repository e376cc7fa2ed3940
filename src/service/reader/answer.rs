//! Turns the response to a read into the JSON that was asked for, or into an outcome.

use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::LARGEST_READ;
use crate::model::Certainty;
use crate::service::classify::description;
use crate::service::connection::{Received, ReceivedBody};
use crate::service::response::{Length, decoded};
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
        Category::Data => unexpected(received, expected, &error),
        Category::Eof if !text.trim_ascii().is_empty() => cut_short(received.status, expected),
        Category::Eof | Category::Io | Category::Syntax => not_json(received, expected),
    })
}

/// Classifies a response that is not a success.
///
/// FeatureProbe responds with 400 if something does not exist, so a 404 always means a wrong base URL.
pub(super) fn failed(received: &Received) -> Outcome {
    let response = received.response();
    match classify(&response, ServiceTrust::Unproven).of_read() {
        // The reason for a publish also names a missing toggle.
        Outcome::Misrouted {
            status: status @ (404 | 405),
            certainty,
            ..
        } => Outcome::Misrouted {
            status,
            certainty,
            reason: format!(
                "{}; check `--base-url`",
                description(response.status, &response.body)
            ),
        },
        // The reason for a publish also advises to create what is missing. A refused list does not say what that is.
        Outcome::Refused {
            status,
            code,
            certainty,
            ..
        } => Outcome::Refused {
            status,
            code,
            certainty,
            reason: description(status, &response.body),
        },
        other => other,
    }
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
    Outcome::Refused {
        status,
        code: None,
        certainty: Certainty::NotStored,
        reason,
    }
}

fn cut_short(status: u16, expected: &str) -> Outcome {
    Outcome::Busy {
        status: Some(status),
        retry_after: None,
        certainty: Certainty::NotStored,
        reason: format!("the service responded with {status} and only the beginning of {expected}"),
    }
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
    Outcome::Misrouted {
        status,
        certainty: Certainty::NotStored,
        reason: format!(
            "the service responded with {status} and {what} instead of {expected}; check `--base-url`"
        ),
    }
}
