//! Decides what follows an outcome, with pure functions: the caller passes the jitter.
//!
//! [`decide`] considers one outcome. The pass itself decides what several outcomes mean together.

pub use crate::transport::{LONGEST_RETRY_AFTER, REQUEST_TRIES, request_backoff};

use std::time::Duration;

use super::Outcome;
use crate::model::OutcomeKind;

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

/// What the kind of an outcome says about the service, and what follows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Effect {
    pub evidence: Evidence,
    pub repeat: Repeat,
    /// Whether the outcome concerns the service as a whole, so that the pass ends.
    pub ends_pass: bool,
}

/// What an outcome says about the service.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Evidence {
    /// It responds as it should.
    Useful,
    /// It failed, and may recover.
    Passing,
    /// It failed in a way that waiting does not change.
    Lasting,
    /// Nothing that a request for another toggle could confirm or refute.
    Nothing,
}

/// When the request is sent again in the same pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Repeat {
    Never,
    /// After a pause, a few times.
    AfterPause,
    /// Once, after all others, because the refusal may have been about what was not applied yet.
    AtTheEnd,
    /// At once, if the token has changed since.
    WithNewToken,
    /// At once, if the token has changed since; else as [`Repeat::AtTheEnd`], if the service has accepted the token for
    /// others in the same environment.
    WithNewTokenOrAtTheEnd,
}

/// Returns what follows from an outcome of this kind: a row of the table in src/service/README.md,
/// "Outcomes".
pub const fn effect(kind: OutcomeKind) -> Effect {
    let (evidence, repeat, ends_pass) = match kind {
        OutcomeKind::Applied => (Evidence::Useful, Repeat::Never, false),
        OutcomeKind::Busy | OutcomeKind::Lost => (Evidence::Passing, Repeat::AfterPause, false),
        OutcomeKind::Forbidden => (Evidence::Lasting, Repeat::WithNewTokenOrAtTheEnd, false),
        OutcomeKind::Misrouted => (Evidence::Lasting, Repeat::Never, false),
        OutcomeKind::Refused => (Evidence::Useful, Repeat::AtTheEnd, false),
        OutcomeKind::Unauthorized => (Evidence::Nothing, Repeat::WithNewToken, true),
        OutcomeKind::Untrusted => (Evidence::Nothing, Repeat::Never, true),
    };
    Effect { evidence, repeat, ends_pass }
}

/// Decides what follows `outcome`.
pub fn decide(outcome: &Outcome, context: RetryContext) -> RetryDecision {
    let RetryContext { tries, jitter, token } = context;
    let Effect { repeat, ends_pass, evidence: _ } = effect(outcome.kind);
    match repeat {
        // The same body is sent again, which is idempotent in content.
        Repeat::AfterPause => busy(tries, jitter, outcome.retry_after),
        // The rejection concerns a token that is no longer in use.
        Repeat::WithNewToken | Repeat::WithNewTokenOrAtTheEnd if token == TokenState::Outdated => {
            RetryDecision { toggle: Again::Now, pass: PassEffect::GoOn }
        }
        Repeat::AtTheEnd | Repeat::Never | Repeat::WithNewToken | Repeat::WithNewTokenOrAtTheEnd => {
            never(if ends_pass { PassEffect::End } else { PassEffect::GoOn })
        }
    }
}

const fn never(pass: PassEffect) -> RetryDecision {
    RetryDecision { toggle: Again::Never, pass }
}

fn busy(tries: u32, jitter: f64, retry_after: Option<Duration>) -> RetryDecision {
    let pass = match retry_after {
        None => PassEffect::GoOn,
        Some(wait) if wait <= LONGEST_RETRY_AFTER => PassEffect::HoldBack(wait),
        Some(wait) => return never(PassEffect::EndFor(wait.min(LONGEST_RETRY_AFTER))),
    };
    if tries >= REQUEST_TRIES {
        // The wait of `pass` still applies, because `Retry-After` holds back the other toggles as well.
        return never(pass);
    }
    // All toggles wait equally long; the jitter spreads their next attempts.
    let wait = retry_after.unwrap_or_default() + request_backoff(tries, jitter);
    RetryDecision { toggle: Again::After(wait), pass }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Certainty;

    const S: fn(u64) -> Duration = Duration::from_secs;

    fn outcome(kind: OutcomeKind) -> Outcome {
        Outcome::new(kind, Certainty::Unknown, "")
    }

    fn busy(retry_after: Option<u64>) -> Outcome {
        Outcome { retry_after: retry_after.map(S), ..outcome(OutcomeKind::Busy) }
    }

    fn lost() -> Outcome {
        outcome(OutcomeKind::Lost)
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
    fn the_table_of_outcomes_is_what_follows_from_them() {
        let page = include_str!("README.md");
        let (_, rows) = page.split_once("| outcome | when | sent again | the pass | then |\n").unwrap();
        let rows = rows.lines().skip(1).take_while(|line| line.starts_with('|'));
        let shown: Vec<String> = rows
            .map(|row| {
                let cells: Vec<&str> = row.split('|').map(str::trim).collect();
                [cells[1], cells[3], cells[4]].join(": ")
            })
            .collect();
        let mut expected = OutcomeKind::ALL.map(|kind| {
            let effect = effect(kind);
            let repeat = match effect.repeat {
                Repeat::Never => "never",
                Repeat::AfterPause => "after a pause",
                Repeat::AtTheEnd => "at the end",
                Repeat::WithNewToken => "with a new token",
                Repeat::WithNewTokenOrAtTheEnd => "with a new token, or at the end",
            };
            let pass = if effect.ends_pass { "ends" } else { "goes on" };
            [kind.as_str(), repeat, pass].join(": ")
        });
        let mut shown = shown;
        shown.sort();
        expected.sort();
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_final_outcome_is_tried_again_only_with_a_new_token() {
        use OutcomeKind::{Applied, Forbidden, Misrouted, Refused, Unauthorized, Untrusted};
        use TokenState::{Current, Outdated};

        decides(&[
            (outcome(Applied), 1, Current, Again::Never, PassEffect::GoOn),
            (outcome(Refused), 1, Current, Again::Never, PassEffect::GoOn),
            (outcome(Forbidden), 1, Current, Again::Never, PassEffect::GoOn),
            (outcome(Forbidden), 1, Outdated, Again::Now, PassEffect::GoOn),
            (outcome(Misrouted), 1, Current, Again::Never, PassEffect::GoOn),
            (outcome(Untrusted), 1, Current, Again::Never, PassEffect::End),
            (outcome(Unauthorized), 2, Outdated, Again::Now, PassEffect::GoOn),
            (outcome(Unauthorized), 2, Current, Again::Never, PassEffect::End),
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
            tried(61, 1, Again::Never, PassEffect::EndFor(LONGEST_RETRY_AFTER)),
            tried(u64::MAX, 4, Again::Never, PassEffect::EndFor(LONGEST_RETRY_AFTER)),
        ]);
    }

    proptest! {
        #[test]
        fn a_toggle_is_never_tried_more_than_four_times(tries in 4_u32.., jitter in 0.0..1.0, wait in any::<Option<u64>>()) {
            for outcome in [busy(wait), lost()] {
                let context = RetryContext { tries, jitter, token: TokenState::Current };
                prop_assert_eq!(decide(&outcome, context).toggle, Again::Never);
            }
        }
    }
}
