//! Classifies a request without a response by whether the request may have left.

use std::error::Error as _;

use super::Outcome;
use crate::model::Certainty;
use crate::transport::sanitized;
use crate::transport::{CertificateFault, certificate_fault, proxy_fault, reason};

/// The reason why there is no response.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SendFailure {
    /// The server's certificate was rejected, so nothing was sent.
    Certificate(CertificateFault),
    /// No connection was made, so nothing was sent; with the cause.
    NotConnected(String),
    /// The connection ended after the request may have left; with the cause.
    Lost(String),
    /// No response came in time, and the request may have left.
    TimedOut,
}

impl SendFailure {
    /// Classifies an error of the HTTP client. Removes `secret` from its texts.
    pub(super) fn new(error: &reqwest::Error, secret: &str) -> Self {
        // A rejected certificate also counts as a failed connection, so it comes first.
        if let Some(fault) = certificate_fault(error) {
            return Self::Certificate(fault);
        }
        // A timeout while connecting has sent nothing, so this comes before the check for timeouts.
        if error.is_connect() || error.is_builder() {
            return Self::NotConnected(not_connected(error, secret));
        }
        if error.is_timeout() {
            return Self::TimedOut;
        }
        Self::Lost(sanitized(&reason(error).to_string(), secret))
    }
}

fn not_connected(error: &reqwest::Error, secret: &str) -> String {
    if let Some(fault) = proxy_fault(error) {
        return sanitized(&fault.to_string(), secret);
    }
    if error.is_timeout() {
        return "no connection was made in time".to_owned();
    }
    let mut cause = error.source();
    while let Some(current) = cause {
        // The type of this error is private to the client, so only its text identifies it.
        if current.to_string() == "dns error" {
            return format!(
                "its host name could not be resolved ({})",
                sanitized(&reason(error).to_string(), secret)
            );
        }
        cause = current.source();
    }
    sanitized(&reason(error).to_string(), secret)
}

/// Classifies a missing response of a service at `host`.
#[must_use]
pub fn classify_failure(failure: &SendFailure, host: &str) -> Outcome {
    match failure {
        SendFailure::Certificate(fault) => Outcome::Untrusted {
            fault: *fault,
            reason: certificate(*fault, host),
        },
        SendFailure::NotConnected(why) => Outcome::Busy {
            status: None,
            retry_after: None,
            certainty: Certainty::NotStored,
            reason: format!("could not connect to `{host}`: {why}"),
        },
        SendFailure::Lost(why) => Outcome::Lost {
            reason: format!("the request was sent to `{host}`, but no response arrived: {why}"),
        },
        SendFailure::TimedOut => Outcome::Lost {
            reason: format!(
                "the request was sent to `{host}`, but no complete response arrived within `--timeout`"
            ),
        },
    }
}

fn certificate(fault: CertificateFault, host: &str) -> String {
    match fault {
        CertificateFault::CaCertificate => format!(
            "could not verify the certificate of `{host}`: {fault}; create a server certificate with the basic \
             constraint `CA:FALSE`"
        ),
        CertificateFault::Expired => format!("the certificate of `{host}` has expired"),
        CertificateFault::NotYetValid => {
            format!("the certificate of `{host}` is not valid yet; check the clock of this machine")
        }
        CertificateFault::Other => format!("could not verify the certificate of `{host}`: {fault}"),
        CertificateFault::Untrusted => format!(
            "the certificate of `{host}` is not signed by a trusted CA; to trust its CA, pass the CA certificate with \
             `--ca-file`"
        ),
        CertificateFault::WrongName => {
            format!("the certificate of `{host}` is for another name; check `--base-url`")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_that_may_have_left_is_unknown() {
        for (failure, word, certainty) in [
            (
                SendFailure::Certificate(CertificateFault::Untrusted),
                "untrusted",
                Certainty::NotStored,
            ),
            (
                SendFailure::Certificate(CertificateFault::Expired),
                "untrusted",
                Certainty::NotStored,
            ),
            (
                SendFailure::NotConnected("refused".into()),
                "busy",
                Certainty::NotStored,
            ),
            (SendFailure::Lost("reset".into()), "lost", Certainty::Unknown),
            (SendFailure::TimedOut, "lost", Certainty::Unknown),
        ] {
            let outcome = classify_failure(&failure, "t.example");
            assert_eq!(
                (outcome.as_str(), outcome.certainty()),
                (word, certainty),
                "{failure:?}"
            );
        }
    }

    #[test]
    fn the_reason_of_an_untrusted_certificate_names_the_flag() {
        let failure = SendFailure::Certificate(CertificateFault::Untrusted);
        assert!(
            classify_failure(&failure, "t.example")
                .to_string()
                .contains("`--ca-file`")
        );
    }
}
