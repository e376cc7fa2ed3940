//! Repeats failed reads by the retry policy of publishes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::{Instant, sleep, sleep_until};
use tracing::Instrument as _;

use super::LiveReader;
use crate::service::Outcome;
use crate::service::retry::{Again, PassEffect, RetryContext, decide};

/// The number of reads in a row that may fail before the others are not tried anymore, like the breaker of a pass.
const MOST_FAILURES: u32 = 5;

/// The reads of one scan or one import, of which some may run at the same time.
///
/// A `Retry-After` holds back all of them. When the service as a whole has failed, every further read fails immediately
/// with the same outcome.
#[derive(Debug)]
pub struct ReadSession {
    reader: LiveReader,
    // Concurrent reads record their outcomes. Held only for that.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    held_until: Option<Instant>,
    failures: u32,
    ended: Option<Outcome>,
}

impl ReadSession {
    /// Begins a session.
    #[must_use]
    pub fn new(reader: LiveReader) -> Self {
        Self {
            reader,
            state: Mutex::default(),
        }
    }

    /// Returns the reader.
    #[must_use]
    pub const fn reader(&self) -> &LiveReader {
        &self.reader
    }

    /// Returns the outcome that ended the session, if it has ended.
    #[must_use]
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
            // Read before the request, so that a token that another read loads meanwhile counts as newer.
            let generation = self.reader.token_generation();
            let failure = match read()
                .instrument(tracing::debug_span!("read", attempt = tries))
                .await
            {
                Ok(value) => {
                    self.state().failures = 0;
                    return Ok(value);
                }
                Err(failure) => failure,
            };
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

    /// Waits while reads are held back.
    async fn permitted(&self) -> Result<(), Outcome> {
        loop {
            let until = {
                let state = self.state();
                if let Some(outcome) = &state.ended {
                    return Err(outcome.clone());
                }
                state.held_until.filter(|until| *until > Instant::now())
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
                state.held_until = state.held_until.max(Some(Instant::now() + wait));
            }
        }
        // A refusal concerns one toggle or environment, and proves that the service works.
        match (decision.toggle, failure) {
            (Again::Never, Outcome::Refused { .. }) => state.failures = 0,
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
