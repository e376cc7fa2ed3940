//! The outcomes of a publish (DESIGN, section 6).

pub use crate::transport::{LONGEST_WAIT, TRIES, backoff};

use std::fmt;
use std::time::Duration;

use crate::model::{Certainty, PublishOutcome};
use crate::transport::{CertificateFault, growing};

/// The outcome of one publish. `reason` is one sentence. The service's text in it is escaped and short, and never
/// contains the token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The service stored the document.
    Applied {
        /// The status of the response.
        status: u16,
    },
    /// The service could not be reached, is overloaded, or failed.
    Busy {
        /// The status of the response; `None` if no connection was made.
        status: Option<u16>,
        /// The `Retry-After` of the response.
        retry_after: Option<Duration>,
        /// Whether the service may have stored the document.
        certainty: Certainty,
        /// The failure.
        reason: String,
    },
    /// The token may not change this toggle.
    Forbidden {
        /// Whether the service may have stored the document.
        certainty: Certainty,
        /// The failure.
        reason: String,
    },
    /// The request was sent, but no complete response arrived.
    Lost {
        /// The failure.
        reason: String,
    },
    /// The response is not from the service.
    Misrouted {
        /// The status of the response.
        status: u16,
        /// Whether the service may have stored the document.
        certainty: Certainty,
        /// The failure, and what to check.
        reason: String,
    },
    /// The service rejected this document.
    Refused {
        /// The status of the response.
        status: u16,
        /// The `code` of the response body, if it has one.
        code: Option<String>,
        /// Whether the service may have stored the document.
        certainty: Certainty,
        /// The failure.
        reason: String,
    },
    /// The service does not accept the token.
    Unauthorized {
        /// The status of the response.
        status: u16,
        /// Whether the service may have stored the document.
        certainty: Certainty,
        /// The failure.
        reason: String,
    },
    /// The server's certificate does not verify, so nothing was sent.
    Untrusted {
        /// What is wrong with the certificate.
        fault: CertificateFault,
        /// The failure, and how to fix it.
        reason: String,
    },
}

impl Outcome {
    /// Returns whether the service stored the document.
    pub const fn certainty(&self) -> Certainty {
        match self {
            Self::Applied { status: _ } => Certainty::Stored,
            Self::Lost { reason: _ } => Certainty::Unknown,
            // The handshake failed before the request was sent.
            Self::Untrusted { .. } => Certainty::NotStored,
            Self::Busy { certainty, .. }
            | Self::Forbidden { certainty, .. }
            | Self::Misrouted { certainty, .. }
            | Self::Refused { certainty, .. }
            | Self::Unauthorized { certainty, .. } => *certainty,
        }
    }

    /// Returns the outcome without its details.
    pub const fn kind(&self) -> PublishOutcome {
        match self {
            Self::Applied { .. } => PublishOutcome::Applied,
            Self::Busy { .. } => PublishOutcome::Busy,
            Self::Forbidden { .. } => PublishOutcome::Forbidden,
            Self::Lost { .. } => PublishOutcome::Lost,
            Self::Misrouted { .. } => PublishOutcome::Misrouted,
            Self::Refused { .. } => PublishOutcome::Refused,
            Self::Unauthorized { .. } => PublishOutcome::Unauthorized,
            Self::Untrusted { .. } => PublishOutcome::Untrusted,
        }
    }

    /// Returns the status of the response, if there was one and the outcome depends on it.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Applied { status }
            | Self::Misrouted { status, .. }
            | Self::Refused { status, .. }
            | Self::Unauthorized { status, .. } => Some(*status),
            Self::Busy { status, .. } => *status,
            Self::Forbidden { .. } => Some(403),
            Self::Lost { .. } | Self::Untrusted { .. } => None,
        }
    }

    /// Returns the outcome of a read that failed: the service certainly stored nothing, and nothing was lost.
    pub(super) fn of_read(self) -> Self {
        let stored_nothing = Certainty::NotStored;
        match self {
            Self::Lost { reason } => {
                Self::Busy { status: None, retry_after: None, certainty: stored_nothing, reason }
            }
            mut other => {
                match &mut other {
                    Self::Busy { certainty, .. }
                    | Self::Forbidden { certainty, .. }
                    | Self::Misrouted { certainty, .. }
                    | Self::Refused { certainty, .. }
                    | Self::Unauthorized { certainty, .. } => *certainty = stored_nothing,
                    Self::Applied { .. } | Self::Lost { .. } | Self::Untrusted { .. } => {}
                }
                other
            }
        }
    }
}

#[cfg(test)]
impl Outcome {
    pub(crate) const fn as_str(&self) -> &'static str {
        self.kind().as_str()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Applied { status } => write!(f, "the service responded with {status}"),
            Self::Busy { reason, .. }
            | Self::Forbidden { reason, .. }
            | Self::Lost { reason }
            | Self::Misrouted { reason, .. }
            | Self::Refused { reason, .. }
            | Self::Unauthorized { reason, .. }
            | Self::Untrusted { reason, .. } => f.write_str(reason),
        }
    }
}

// Decides what follows an outcome, with pure functions: the caller passes the jitter.
//
// [`decide`] considers one outcome. The pass itself decides what several outcomes mean together.

/// The time without requests after the service rejects a token, before one toggle probes it.
pub const PROBE_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// The input of [`decide`] besides the outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryContext {
    /// The number of attempts for this toggle in this pass, including this one.
    pub tries: u32,
    /// A random number in `0.0..=1.0`.
    pub jitter: f64,
    /// Whether the token changed since the request.
    pub token: TokenState,
}

/// The state of the token that a request used, after its file was read again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TokenState {
    /// It is still the current token.
    Current,
    /// A newer token has been read since.
    Outdated,
}

/// The consequences of an outcome.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RetryDecision {
    pub toggle: Again,
    /// For the rest of the pass.
    pub pass: PassEffect,
}

/// The next attempt for a toggle, with the same body and comment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Again {
    /// After this duration, at the end of its lane.
    After(Duration),
    /// Not in this pass.
    Never,
    /// Immediately.
    Now,
}

/// The effect of an outcome on the other toggles of the pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PassEffect {
    /// The pass sends no new requests.
    End,
    /// The pass sends no new requests, and the next pass waits for this duration.
    EndFor(Duration),
    /// None.
    GoOn,
    /// All lanes wait for this duration.
    HoldBack(Duration),
}

/// Decides what follows `outcome`.
pub fn decide(outcome: &Outcome, context: RetryContext) -> RetryDecision {
    let RetryContext { tries, jitter, token } = context;
    match outcome {
        Outcome::Busy { retry_after, .. } => busy(tries, jitter, *retry_after),
        // The same body is sent again, which is idempotent in content.
        Outcome::Lost { reason: _ } => busy(tries, jitter, None),
        // The rejection concerns a token that is no longer in use.
        Outcome::Forbidden { .. } | Outcome::Unauthorized { .. } if token == TokenState::Outdated => {
            RetryDecision { toggle: Again::Now, pass: PassEffect::GoOn }
        }
        // These concern the service as a whole; every other outcome is charged to its toggle (DESIGN section 6).
        Outcome::Unauthorized { .. } | Outcome::Untrusted { .. } => never(PassEffect::End),
        Outcome::Applied { .. }
        | Outcome::Forbidden { .. }
        | Outcome::Misrouted { .. }
        | Outcome::Refused { .. } => never(PassEffect::GoOn),
    }
}

const fn never(pass: PassEffect) -> RetryDecision {
    RetryDecision { toggle: Again::Never, pass }
}

fn busy(tries: u32, jitter: f64, retry_after: Option<Duration>) -> RetryDecision {
    let pass = match retry_after {
        None => PassEffect::GoOn,
        Some(wait) if wait <= LONGEST_WAIT => PassEffect::HoldBack(wait),
        Some(wait) => return never(PassEffect::EndFor(wait.min(LONGEST_WAIT))),
    };
    if tries >= TRIES {
        // The wait of `pass` still applies, because `Retry-After` holds back the other toggles as well.
        return never(pass);
    }
    // All toggles wait equally long; the jitter spreads their next attempts.
    let wait = retry_after.unwrap_or_default() + backoff(tries, jitter);
    RetryDecision { toggle: Again::After(wait), pass }
}

/// Returns the delay of the next pass after `failures` consecutive passes that the breaker or the service ended: two
/// seconds, doubling up to five minutes, times the jitter.
pub fn pass_backoff(failures: u32, jitter: f64) -> Duration {
    growing(Duration::from_secs(2), Duration::from_secs(300), failures, jitter)
}

/// Returns the delay of the next attempt for a toggle that was the only one to fail in `failures` passes: 30 s, doubling up
/// to an hour, times the jitter.
pub fn lone_backoff(failures: u32, jitter: f64) -> Duration {
    growing(Duration::from_secs(30), Duration::from_secs(3600), failures, jitter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Certainty;
    use crate::transport::CertificateFault;

    const S: fn(u64) -> Duration = Duration::from_secs;

    fn applied() -> Outcome {
        Outcome::Applied { status: 200 }
    }

    fn busy(retry_after: Option<u64>) -> Outcome {
        Outcome::Busy {
            status: Some(503),
            retry_after: retry_after.map(S),
            certainty: Certainty::Unknown,
            reason: String::new(),
        }
    }

    fn lost() -> Outcome {
        Outcome::Lost { reason: String::new() }
    }

    fn misrouted() -> Outcome {
        Outcome::Misrouted { status: 404, certainty: Certainty::Unknown, reason: String::new() }
    }

    fn forbidden() -> Outcome {
        Outcome::Forbidden { certainty: Certainty::NotStored, reason: String::new() }
    }

    fn refused() -> Outcome {
        Outcome::Refused { status: 400, code: None, certainty: Certainty::NotStored, reason: String::new() }
    }

    fn unauthorized() -> Outcome {
        Outcome::Unauthorized { status: 401, certainty: Certainty::NotStored, reason: String::new() }
    }

    fn untrusted() -> Outcome {
        Outcome::Untrusted { fault: CertificateFault::Untrusted, reason: String::new() }
    }

    /// The decision about each outcome of a toggle that was tried this many times.
    fn decides(cases: &[(Outcome, u32, TokenState, Again, PassEffect)]) {
        for (outcome, tries, token, toggle, pass) in cases {
            let context = RetryContext { tries: *tries, jitter: 1.0, token: *token };
            let (toggle, pass) = (*toggle, *pass);
            assert_eq!(decide(outcome, context), RetryDecision { toggle, pass }, "{outcome:?} {context:?}");
        }
    }

    #[test]
    fn a_final_outcome_is_tried_again_only_with_a_new_token() {
        use TokenState::{Current, Outdated};

        decides(&[
            (applied(), 1, Current, Again::Never, PassEffect::GoOn),
            (refused(), 1, Current, Again::Never, PassEffect::GoOn),
            (forbidden(), 1, Current, Again::Never, PassEffect::GoOn),
            (forbidden(), 1, Outdated, Again::Now, PassEffect::GoOn),
            (misrouted(), 1, Current, Again::Never, PassEffect::GoOn),
            (untrusted(), 1, Current, Again::Never, PassEffect::End),
            (unauthorized(), 2, Outdated, Again::Now, PassEffect::GoOn),
            (unauthorized(), 2, Current, Again::Never, PassEffect::End),
        ]);
    }

    #[test]
    fn a_passing_outcome_is_tried_again_with_growing_pauses() {
        let half = Again::After(Duration::from_millis(500));
        let tried = |outcome, tries, again| (outcome, tries, TokenState::Current, again, PassEffect::GoOn);
        decides(&[
            tried(busy(None), 1, half),
            tried(busy(None), 2, Again::After(S(1))),
            tried(busy(None), 3, Again::After(S(2))),
            tried(busy(None), 4, Again::Never),
            tried(lost(), 1, half),
            tried(lost(), 3, Again::After(S(2))),
            tried(lost(), 4, Again::Never),
        ]);
    }

    #[test]
    fn a_requested_pause_holds_back_the_pass_or_ends_it() {
        let half = Again::After(Duration::from_millis(500));
        let tried =
            |seconds, tries, again, pass| (busy(Some(seconds)), tries, TokenState::Current, again, pass);
        decides(&[
            tried(0, 1, half, PassEffect::HoldBack(S(0))),
            tried(60, 2, Again::After(S(61)), PassEffect::HoldBack(S(60))),
            tried(60, 4, Again::Never, PassEffect::HoldBack(S(60))),
            tried(61, 1, Again::Never, PassEffect::EndFor(LONGEST_WAIT)),
            tried(u64::MAX, 4, Again::Never, PassEffect::EndFor(LONGEST_WAIT)),
        ]);
    }

    #[test]
    fn waits_double_up_to_a_maximum() {
        for (wait, seconds) in [
            (backoff(1, 0.0), 0.0),
            (backoff(1, 0.5), 0.25),
            (backoff(7, 1.0), 30.0),
            (backoff(u32::MAX, 1.0), 30.0),
            (pass_backoff(1, 1.0), 2.0),
            (pass_backoff(3, 1.0), 8.0),
            (pass_backoff(40, 1.0), 300.0),
            (lone_backoff(1, 1.0), 30.0),
            (lone_backoff(9, 1.0), 3600.0),
        ] {
            assert_eq!(wait, Duration::from_secs_f64(seconds));
        }
    }

    proptest! {
        #[test]
        fn a_wait_never_exceeds_its_maximum(tries in any::<u32>(), jitter in any::<f64>()) {
            prop_assert!(backoff(tries, jitter) <= S(30));
        }

        #[test]
        fn a_toggle_is_never_tried_more_than_four_times(tries in 4_u32.., jitter in 0.0..1.0, wait in any::<Option<u64>>()) {
            for outcome in [busy(wait), lost()] {
                let context = RetryContext { tries, jitter, token: TokenState::Current };
                prop_assert_eq!(decide(&outcome, context).toggle, Again::Never);
            }
        }
    }
}
