//! The reasons for which a pass ends early.

use std::time::Duration;

use crate::model::counted;
use crate::service::Outcome;
use crate::transport::CertificateFault;

/// Why a pass ended before it had tried every change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StopReason {
    /// Nothing succeeded for `--give-up-after`.
    Breaker {
        /// The value of `--give-up-after`.
        after: Duration,
        /// The number of different toggles in a row that failed.
        toggles: usize,
        /// The outcome of the last request.
        last: String,
    },
    /// The token may not change any of the tried toggles.
    Forbidden(String),
    /// The process is stopping, or a newer commit was found.
    Interrupted,
    /// The server that responds is not the service. The text names `--base-url`.
    Misrouted(String),
    /// The service asked for a longer wait than a pass allows.
    Patience {
        /// The outcome of the last request.
        last: String,
        /// The wait, if the service named it.
        wait: Option<Duration>,
    },
    /// The service rejected the token.
    Unauthorized(String),
    /// The certificate of the server could not be verified.
    Untrusted {
        /// What is wrong with it.
        fault: CertificateFault,
        /// The failure.
        reason: String,
    },
}

impl StopReason {
    pub(crate) fn from_outcome(outcome: &Outcome) -> Self {
        let reason = outcome.to_string();
        match outcome {
            Outcome::Unauthorized { .. } => Self::Unauthorized(reason),
            Outcome::Untrusted { fault, .. } => Self::Untrusted {
                fault: *fault,
                reason,
            },
            Outcome::Busy { retry_after, .. } => Self::Patience {
                last: reason,
                wait: *retry_after,
            },
            _ => Self::Patience {
                last: reason,
                wait: None,
            },
        }
    }

    /// Returns the outcome of the last request, which the line of its toggle has as well.
    pub(crate) fn last(&self) -> Option<&str> {
        match self {
            Self::Interrupted => None,
            Self::Breaker { last, .. }
            | Self::Forbidden(last)
            | Self::Misrouted(last)
            | Self::Patience { last, .. }
            | Self::Unauthorized(last)
            | Self::Untrusted { reason: last, .. } => Some(last),
        }
    }

    /// Returns what the outcome means for the pass, for readers who have the outcome already.
    pub(crate) fn verdict(&self) -> String {
        let verdict = match self {
            Self::Breaker { after, toggles, .. } => {
                return format!(
                    "the service gave no useful response for {} s (`--give-up-after`), to {} in a row",
                    after.as_secs_f64(),
                    counted(*toggles, "toggle")
                );
            }
            Self::Patience { wait: Some(wait), .. } => {
                return format!(
                    "the service asked for a wait of {} s (Retry-After), longer than a pass waits",
                    wait.as_secs()
                );
            }
            Self::Forbidden(_) => "the token may be revoked, or may lack access to these environments",
            Self::Interrupted => "interrupted",
            Self::Misrouted(_) => "the server that responds may not be the service",
            Self::Patience { wait: None, .. } => "the service is not available",
            Self::Unauthorized(_) => "the service rejected the token",
            Self::Untrusted { .. } => "the certificate of the service could not be verified",
        };
        verdict.to_owned()
    }

    /// Returns the reason and the way out on one line.
    pub(crate) fn in_full(&self) -> String {
        match self.hint() {
            Some(hint) => format!("{self}; {hint}"),
            None => self.to_string(),
        }
    }

    /// Returns the way out, if one exists.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Breaker { .. } | Self::Patience { .. } => {
                Some("check the service; the next pass sends the unconfirmed changes")
            }
            Self::Interrupted => Some("run it again; the confirmed changes are recorded"),
            Self::Forbidden(_) => Some(
                "let the account of the token publish to these environments, or replace the token; its file is read again at \
                 every pass",
            ),
            // Its text names what to check.
            Self::Misrouted(_) => None,
            Self::Untrusted { fault, .. } => match fault {
                CertificateFault::CaCertificate
                | CertificateFault::NotYetValid
                | CertificateFault::Untrusted
                | CertificateFault::WrongName => None,
                CertificateFault::Expired | CertificateFault::Other => {
                    Some("check `--base-url`, `--ca-file` and the proxy settings")
                }
            },
            Self::Unauthorized(_) => {
                Some("check the token; its file is read again at every pass and after every refusal")
            }
        }
    }
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Breaker { last, .. } => write!(f, "{}; the last: {last}", self.verdict()),
            Self::Forbidden(last) => write!(f, "{last}; {}", self.verdict()),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Patience {
                last,
                wait: Some(wait),
            } => write!(
                f,
                "{last} and asked for a wait of {} s (Retry-After), longer than a pass waits",
                wait.as_secs()
            ),
            Self::Misrouted(last)
            | Self::Patience { last, wait: None }
            | Self::Unauthorized(last)
            | Self::Untrusted { reason: last, .. } => f.write_str(last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::untrusted;

    #[test]
    fn an_error_that_names_the_flag_to_check_has_no_hint_about_it() {
        let text = || "the body contains `--base-url`".to_owned();
        assert_eq!(StopReason::Misrouted(text()).hint(), None);
        for (fault, has_hint) in [
            (CertificateFault::CaCertificate, false),
            (CertificateFault::Expired, true),
            (CertificateFault::NotYetValid, false),
            (CertificateFault::Other, true),
            (CertificateFault::Untrusted, false),
            (CertificateFault::WrongName, false),
        ] {
            let outcome = untrusted(fault, "t.example");
            let stop = StopReason::from_outcome(&outcome);
            assert_eq!(stop.hint().is_some(), has_hint, "{stop}");
        }
    }
}
