//! From a request that got no answer to an outcome: what counts is whether it can have left.

use std::error::Error as _;

use super::show::shown;
use super::{Certainty, Outcome};
use crate::transport::{CertificateFault, certificate_fault, proxy_fault, reason};

/// Why there is no answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Failure {
    /// The server's certificate was not accepted, so nothing was sent.
    Certificate(CertificateFault),
    /// No connection was made, so nothing was sent; why, in words.
    NotConnected(String),
    /// The connection ended after the request may have left; why, in words.
    Lost(String),
    /// No answer came in time, and the request may have left.
    TimedOut,
}

impl Failure {
    /// Reads the failure off a client's error. Texts are shown without `secret`.
    pub(super) fn new(error: &reqwest::Error, secret: &str) -> Self {
        if let Some(fault) = certificate_fault(error) {
            return Self::Certificate(fault);
        }
        if error.is_connect() || error.is_builder() {
            return Self::NotConnected(not_connected(error, secret));
        }
        if error.is_timeout() {
            return Self::TimedOut;
        }
        Self::Lost(shown(&reason(error).to_string(), secret))
    }
}

fn not_connected(error: &reqwest::Error, secret: &str) -> String {
    if let Some(fault) = proxy_fault(error) {
        return shown(&fault.to_string(), secret);
    }
    if error.is_timeout() {
        return "no connection was made in time".to_owned();
    }
    let mut cause = error.source();
    while let Some(current) = cause {
        if current.to_string() == "dns error" {
            return format!(
                "its host name cannot be looked up ({})",
                shown(&reason(error).to_string(), secret)
            );
        }
        cause = current.source();
    }
    shown(&reason(error).to_string(), secret)
}

/// Says what a missing answer means for a service at `host`.
#[must_use]
pub fn classify_failure(failure: &Failure, host: &str) -> Outcome {
    match failure {
        Failure::Certificate(fault) => Outcome::Untrusted {
            reason: certificate(*fault, host),
        },
        Failure::NotConnected(why) => Outcome::Busy {
            status: None,
            retry_after: None,
            certainty: Certainty::NotStored,
            reason: format!("cannot connect to `{host}`: {why}"),
        },
        Failure::Lost(why) => Outcome::Lost {
            reason: format!("the request was sent to `{host}` and no answer came: {why}"),
        },
        Failure::TimedOut => Outcome::Lost {
            reason: format!(
                "the request was sent to `{host}` and no whole answer came in time (`--timeout`)"
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
            format!("the certificate of `{host}` is not valid yet; is the clock of this machine right?")
        }
        CertificateFault::Other => format!("could not verify the certificate of `{host}`: {fault}"),
        CertificateFault::Untrusted => format!(
            "the certificate of `{host}` is signed by nobody who is trusted here; \
             if that is meant, name the authority's certificate with `--ca-file`"
        ),
        CertificateFault::WrongName => {
            format!("the certificate that `{host}` shows is for another name; is the base URL right?")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_have_left_is_unknown() {
        for (failure, word, certainty) in [
            (
                Failure::Certificate(CertificateFault::Untrusted),
                "untrusted",
                Certainty::NotStored,
            ),
            (
                Failure::Certificate(CertificateFault::Expired),
                "untrusted",
                Certainty::NotStored,
            ),
            (
                Failure::NotConnected("refused".into()),
                "busy",
                Certainty::NotStored,
            ),
            (Failure::Lost("reset".into()), "lost", Certainty::Unknown),
            (Failure::TimedOut, "lost", Certainty::Unknown),
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
    fn an_untrusted_certificate_says_what_to_do() {
        let failure = Failure::Certificate(CertificateFault::Untrusted);
        assert!(
            classify_failure(&failure, "t.example")
                .to_string()
                .contains("`--ca-file`")
        );
    }
}
