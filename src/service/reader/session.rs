//! Repeats reads that failed, and ends them when the service as a whole has failed.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use tracing::Instrument as _;

use super::LiveReader;
use crate::service::Outcome;
use crate::service::retry::{Again, Evidence, PassEffect, RetryContext, decide, effect};

/// The number of reads in a row that may fail before the others are not tried anymore, as in a pass whose
/// service is in doubt.
const MOST_FAILURES: u32 = 5;

/// After how long without a useful response the log says so, once two reads in a row had none.
const LOGGED_SILENCE: Duration = Duration::from_secs(5);

/// The reads of one scan or one import, of which some may run at the same time.
///
/// A `Retry-After` holds back all of them. When the service as a whole has failed, every further read fails
/// immediately with the same outcome.
#[derive(Debug)]
pub struct ReadSession {
    reader: LiveReader,
    // Concurrent reads record their outcomes. Held only for that.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    held_back_until: Option<Instant>,
    failures: u32,
    silence: Option<Silence>,
    ended: Option<Outcome>,
}

/// Reads in a row without a useful response, retries included.
#[derive(Debug)]
struct Silence {
    reads: u32,
    /// When the first of them began.
    since: Instant,
    is_logged: bool,
}

impl Silence {
    const fn new(since: Instant) -> Self {
        Self { reads: 0, since, is_logged: false }
    }

    /// Counts a read that ended at `now`. Returns whether the log has to say that the service is silent: once.
    fn lasts(&mut self, now: Instant) -> bool {
        self.reads += 1;
        let is_due = !self.is_logged && self.reads > 1 && now - self.since >= LOGGED_SILENCE;
        self.is_logged |= is_due;
        is_due
    }
}

impl ReadSession {
    pub fn new(reader: LiveReader) -> Self {
        Self { reader, state: Mutex::default() }
    }

    pub const fn reader(&self) -> &LiveReader {
        &self.reader
    }

    pub fn ended(&self) -> Option<Outcome> {
        self.state().ended.clone()
    }

    /// Calls `read` until it succeeds or the policy gives it up.
    ///
    /// # Errors
    /// The last outcome, or the outcome that ended the session.
    pub async fn read<T, F>(&self, read: impl Fn() -> F) -> Result<T, Outcome>
    where
        F: Future<Output = Result<T, Outcome>>,
    {
        let mut tries = 0;
        loop {
            tries += 1;
            self.permitted().await?;
            // Read before the request, so that a token that another read loads meanwhile is newer.
            let generation = self.reader.token_generation();
            let began = Instant::now();
            let failure = match read().instrument(tracing::debug_span!("read", attempt = tries)).await {
                Ok(value) => {
                    let mut state = self.state();
                    (state.failures, state.silence) = (0, None);
                    return Ok(value);
                }
                Err(failure) => failure,
            };
            self.unanswered(&failure, began);
            match self.next(&failure, tries, generation) {
                Again::After(wait) => {
                    let wait_s = wait.as_secs_f64();
                    tracing::debug!(name: "retry", attempt = tries, wait_s, reason = %failure, "will be tried again");
                    sleep(wait).await;
                }
                Again::Now => {}
                Again::Never => return Err(failure),
            }
        }
    }

    /// Logs that the service hangs. Otherwise the log has nothing of it until all retries have failed.
    fn unanswered(&self, failure: &Outcome, began: Instant) {
        let mut state = self.state();
        if effect(failure.kind).evidence != Evidence::Passing {
            state.silence = None;
            return;
        }
        if state.silence.get_or_insert(Silence::new(began)).lasts(Instant::now()) {
            tracing::warn!(name: "doubted", reason = %failure, "no useful response from the service");
        }
    }

    /// Waits while reads are held back.
    async fn permitted(&self) -> Result<(), Outcome> {
        loop {
            let until = {
                let state = self.state();
                if let Some(outcome) = &state.ended {
                    return Err(outcome.clone());
                }
                state.held_back_until.filter(|until| *until > Instant::now())
            };
            match until {
                Some(until) => sleep_until(until).await,
                None => return Ok(()),
            }
        }
    }

    fn next(&self, failure: &Outcome, tries: u32, generation: u64) -> Again {
        let decision = decide(
            failure,
            RetryContext {
                tries,
                jitter: fastrand::f64(),
                token: self.reader.connection.token_state(failure, generation),
            },
        );
        let mut state = self.state();
        match decision.pass {
            PassEffect::End | PassEffect::EndFor(_) => state.ended = Some(failure.clone()),
            PassEffect::GoOn => {}
            PassEffect::HoldBack(wait) => {
                state.held_back_until = state.held_back_until.max(Some(Instant::now() + wait));
            }
        }
        match (decision.toggle, effect(failure.kind).evidence) {
            // A refusal concerns one toggle or environment, and proves that the service works.
            (Again::Never, Evidence::Useful) => state.failures = 0,
            (Again::Never, _) => state.failures += 1,
            (Again::After(_) | Again::Now, _) => {}
        }
        if state.failures >= MOST_FAILURES {
            state.ended.get_or_insert_with(|| failure.clone());
        }
        decision.toggle
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_service_is_logged_once_before_all_retries_have_failed() {
        for (ends, logged) in [
            // Refused connections fail soon, and the error of the command follows.
            (&[0, 1, 2, 4][..], None),
            // One slow response is no silence.
            (&[9], None),
            (&[3, 7, 11, 15], Some(7)),
            (&[10, 21, 32, 43], Some(21)),
        ] {
            let since = Instant::now();
            let mut silence = Silence::new(since);
            let due = ends.iter().filter(|end| silence.lasts(since + Duration::from_secs(**end)));
            assert_eq!(due.copied().collect::<Vec<_>>(), Vec::from_iter(logged), "{ends:?}");
        }
    }
}
