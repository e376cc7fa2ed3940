//! What comes after an outcome: pure functions, from what happened to what is done next.
//!
//! [`decide`] is about one request and what it means for the rest of its pass. What several outcomes show together is
//! decided by the pass. No clock and no randomness: the jitter is a number that is passed in.

use std::time::Duration;

use super::Outcome;

/// How often a busy or lost publish is tried within one pass, the first try included.
pub const TRIES: u32 = 4;

/// The longest `Retry-After` that is waited for. A longer one ends the pass, and later passes wait for so long.
pub const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How long nothing is sent with a token that was not accepted, before one toggle probes it.
pub const PROBE_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// What [`decide`] needs to know besides the outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct World {
    /// How often this toggle was tried in this pass, this time included.
    pub tries: u32,
    /// A random number in `0.0..=1.0`.
    pub jitter: f64,
    /// What is known of the token.
    pub token: Token,
}

/// What is known of the token that a request was sent with. After a 401 or 403 its file is read again first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Token {
    /// It is still this one.
    Current,
    /// Another one has been read since.
    Outdated,
}

/// What is done next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Decision {
    /// With this toggle.
    pub toggle: Again,
    /// With the rest of the pass.
    pub pass: Pass,
}

/// When a toggle is tried again, with the same body and comment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Again {
    /// After a while, at the end of its lane.
    After(Duration),
    /// Not in this pass.
    Never,
    /// At once.
    Now,
}

/// What an outcome means for the other toggles of the pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pass {
    /// Nothing new is sent in this pass.
    End,
    /// Nothing new is sent in this pass, nor in another one for so long.
    EndFor(Duration),
    /// Nothing.
    GoOn,
    /// Nobody sends anything for so long.
    HoldBack(Duration),
}

/// Says what comes after `outcome`.
#[must_use]
pub fn decide(outcome: &Outcome, world: World) -> Decision {
    let World { tries, jitter, token } = world;
    match outcome {
        Outcome::Busy { retry_after, .. } => busy(tries, jitter, *retry_after),
        Outcome::Lost { reason: _ } => busy(tries, jitter, None),
        Outcome::Forbidden { .. } | Outcome::Unauthorised { .. } if token == Token::Outdated => Decision {
            toggle: Again::Now,
            pass: Pass::GoOn,
        },
        Outcome::Unauthorised { .. } | Outcome::Untrusted { .. } => never(Pass::End),
        Outcome::Applied { .. }
        | Outcome::Forbidden { .. }
        | Outcome::Misrouted { .. }
        | Outcome::Refused { .. } => never(Pass::GoOn),
    }
}

const fn never(pass: Pass) -> Decision {
    Decision {
        toggle: Again::Never,
        pass,
    }
}

fn busy(tries: u32, jitter: f64, retry_after: Option<Duration>) -> Decision {
    let pass = match retry_after {
        None => Pass::GoOn,
        Some(wait) if wait <= LONGEST_WAIT => Pass::HoldBack(wait),
        Some(wait) => return never(Pass::EndFor(wait.min(LONGEST_WAIT))),
    };
    if tries >= TRIES {
        return never(pass);
    }
    // The wish to wait is everyone's; the jitter on top keeps them from coming back all at once.
    let wait = retry_after.unwrap_or_default() + backoff(tries, jitter);
    Decision {
        toggle: Again::After(wait),
        pass,
    }
}

/// Returns how long to wait after the `tries`-th try of a toggle: up to half a second, doubling, at most 30 s,
/// times the jitter.
#[must_use]
pub fn backoff(tries: u32, jitter: f64) -> Duration {
    growing(Duration::from_millis(500), Duration::from_secs(30), tries, jitter)
}

/// Returns when the next pass is due after `failures` passes in a row that the breaker or the service ended: up
/// to two seconds, doubling, at most five minutes, times the jitter.
#[must_use]
pub fn pass_backoff(failures: u32, jitter: f64) -> Duration {
    growing(Duration::from_secs(2), Duration::from_secs(300), failures, jitter)
}

/// Returns when a toggle that alone keeps failing is tried again after `failures` passes: up to 30 s, doubling,
/// at most an hour, times the jitter.
#[must_use]
pub fn lone_backoff(failures: u32, jitter: f64) -> Duration {
    growing(
        Duration::from_secs(30),
        Duration::from_secs(3600),
        failures,
        jitter,
    )
}

/// Full jitter: anything between nothing and `first × 2^(count − 1)`, which is at most `longest`.
fn growing(first: Duration, longest: Duration, count: u32, jitter: f64) -> Duration {
    let factor = 1_u32.checked_shl(count.saturating_sub(1)).unwrap_or(u32::MAX);
    let jitter = if jitter.is_finite() {
        jitter.clamp(0.0, 1.0)
    } else {
        1.0
    };
    first.saturating_mul(factor).min(longest).mul_f64(jitter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Certainty;
    use super::*;

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
        Outcome::Lost {
            reason: String::new(),
        }
    }

    fn misrouted() -> Outcome {
        Outcome::Misrouted {
            certainty: Certainty::Unknown,
            reason: String::new(),
        }
    }

    fn forbidden() -> Outcome {
        Outcome::Forbidden {
            certainty: Certainty::NotStored,
            reason: String::new(),
        }
    }

    fn refused() -> Outcome {
        Outcome::Refused {
            status: 400,
            code: None,
            certainty: Certainty::NotStored,
            reason: String::new(),
        }
    }

    fn unauthorised() -> Outcome {
        Outcome::Unauthorised {
            status: 401,
            certainty: Certainty::NotStored,
            reason: String::new(),
        }
    }

    fn untrusted() -> Outcome {
        Outcome::Untrusted {
            reason: String::new(),
        }
    }

    #[test]
    fn the_table_of_what_comes_next() {
        let half = Again::After(Duration::from_millis(500));
        for (outcome, tries, token, toggle, pass) in [
            (applied(), 1, Token::Current, Again::Never, Pass::GoOn),
            (refused(), 1, Token::Current, Again::Never, Pass::GoOn),
            (forbidden(), 1, Token::Current, Again::Never, Pass::GoOn),
            (forbidden(), 1, Token::Outdated, Again::Now, Pass::GoOn),
            (misrouted(), 1, Token::Current, Again::Never, Pass::GoOn),
            (untrusted(), 1, Token::Current, Again::Never, Pass::End),
            (unauthorised(), 2, Token::Outdated, Again::Now, Pass::GoOn),
            (unauthorised(), 2, Token::Current, Again::Never, Pass::End),
            (busy(None), 1, Token::Current, half, Pass::GoOn),
            (busy(None), 2, Token::Current, Again::After(S(1)), Pass::GoOn),
            (busy(None), 3, Token::Current, Again::After(S(2)), Pass::GoOn),
            (busy(None), 4, Token::Current, Again::Never, Pass::GoOn),
            (lost(), 1, Token::Current, half, Pass::GoOn),
            (lost(), 3, Token::Current, Again::After(S(2)), Pass::GoOn),
            (lost(), 4, Token::Current, Again::Never, Pass::GoOn),
            (busy(Some(0)), 1, Token::Current, half, Pass::HoldBack(S(0))),
            (
                busy(Some(60)),
                2,
                Token::Current,
                Again::After(S(61)),
                Pass::HoldBack(S(60)),
            ),
            (
                busy(Some(60)),
                4,
                Token::Current,
                Again::Never,
                Pass::HoldBack(S(60)),
            ),
            (
                busy(Some(61)),
                1,
                Token::Current,
                Again::Never,
                Pass::EndFor(LONGEST_WAIT),
            ),
            (
                busy(Some(u64::MAX)),
                4,
                Token::Current,
                Again::Never,
                Pass::EndFor(LONGEST_WAIT),
            ),
        ] {
            let world = World {
                tries,
                jitter: 1.0,
                token,
            };
            assert_eq!(
                decide(&outcome, world),
                Decision { toggle, pass },
                "{outcome:?} {world:?}"
            );
        }
    }

    #[test]
    fn waits_double_up_to_their_bound() {
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
        fn a_wait_is_never_longer_than_its_bound(tries in any::<u32>(), jitter in any::<f64>()) {
            prop_assert!(backoff(tries, jitter) <= S(30));
        }

        #[test]
        fn a_toggle_is_never_tried_more_than_four_times(tries in 4_u32.., jitter in 0.0..1.0, wait in any::<Option<u64>>()) {
            for outcome in [busy(wait), lost()] {
                let world = World { tries, jitter, token: Token::Current };
                prop_assert_eq!(decide(&outcome, world).toggle, Again::Never);
            }
        }
    }
}
