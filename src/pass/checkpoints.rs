//! PublishJob with checkpoints: while the requests of a long pass are sent, what was confirmed so far is recorded every
//! few seconds. On shared state, this also announces that the pass goes on.

use std::pin::pin;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::publish::{PublishJob, PublishSummary, publish, raised};
use super::reconciler::{Reconciler, blocking, now};
use super::{Error, record};
use crate::state::PassHead;

/// How often a long pass records what it has done so far.
/// Well under the 20 s after which an announcement on shared state is to be renewed.
const CHECKPOINT: Duration = Duration::from_secs(5);

impl Reconciler {
    /// Publishes, and records every few seconds what was confirmed so far. Recording runs beside the lanes, so that they can
    /// be stopped while a remote hangs. If the announcement on shared state could not be renewed for too long, nothing
    /// more is sent, because another process takes over then.
    pub(super) async fn publish_and_fold(
        self,
        publishing: PublishJob,
        head: PassHead,
    ) -> (Self, Result<PublishSummary, Error>) {
        let is_shared = self.config().shared.is_some();
        let service = self.config().service.as_ref();
        let patience = renewal_patience(service.map(|service| service.timeout).unwrap_or_default());
        let mut asked = publishing.stop.clone();
        let (halt, stop) = watch::channel(*asked.borrow());
        let mut published = pin!(publish(PublishJob { stop, ..publishing }));
        let mut checkpoint = tokio::time::interval_at(tokio::time::Instant::now() + CHECKPOINT, CHECKPOINT);
        checkpoint.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told_at = tokio::time::Instant::now();
        let (mut idle, mut folding) = (Some(self), None);
        let (mut done, mut broken) = (None, None);
        let reconciler = loop {
            if done.is_some()
                && let Some(reconciler) = idle.take()
            {
                break reconciler;
            }
            tokio::select! {
                published = &mut published, if done.is_none() => done = Some(published),
                () = raised(&mut asked) => drop(halt.send_replace(true)),
                _ = checkpoint.tick(), if idle.is_some() && broken.is_none() => {
                    let began = tokio::time::Instant::now();
                    folding = idle.take().map(|reconciler| {
                        let work = blocking(reconciler, move |reconciler| {
                            record::checkpoint(reconciler.store(), PassHead { now: now(), ..head })
                        });
                        Box::pin(async move { (began, work.await) })
                    });
                }
                Some((began, (back, folded))) = ended(&mut folding) => {
                    (idle, folding) = (Some(back), None);
                    match folded {
                        Ok(()) => told_at = began,
                        Err(error) => {
                            broken = Some(error);
                            halt.send_replace(true);
                        }
                    }
                }
                () = tokio::time::sleep_until(told_at + patience), if is_shared && !*halt.borrow() => {
                    tracing::error!(name: "shared_state_lost", "the shared state does not answer; nothing more is sent in this pass");
                    halt.send_replace(true);
                }
            }
        };
        let mut published = done.expect("the loop ends only once publishing has ended");
        match broken.or_else(|| published.error.take()) {
            None => (reconciler, Ok(published)),
            Some(error) => reconciler.abandon(published, error).await,
        }
    }
}

/// Waits for what is under way, where something is.
async fn ended<F: Future + Unpin>(work: &mut Option<F>) -> Option<F::Output> {
    match work {
        Some(work) => Some(work.await),
        None => None,
    }
}

/// For how long a pass goes on that could not say so to the others: they take over after a minute, and by then what is
/// open has ended, which takes at most `timeout`.
fn renewal_patience(timeout: Duration) -> Duration {
    const LEAST: Duration = Duration::from_secs(10);
    Duration::from_secs(55).saturating_sub(timeout).max(LEAST)
}
