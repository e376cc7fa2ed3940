//! Publishing with checkpoints: while the requests of a long pass are sent, what was confirmed so far is recorded every
//! few seconds. On shared state, this also announces that the pass goes on.

use std::time::Duration;

use super::publish::{PublishJob, PublishSummary, publish};
use super::runtime::{Runtime, Waited};
use super::{Error, record};
use crate::state::{PassHead, Store};

/// How often a long pass records what it has done so far.
/// Well under the 20 s after which an announcement on shared state is to be renewed.
const CHECKPOINT: Duration = Duration::from_secs(5);

/// Sends the requests of `job`, and records every few seconds what was confirmed so far.
pub(super) fn publish_with_checkpoints(
    store: &mut Store,
    job: PublishJob,
    head: PassHead,
    runtime: &Runtime,
) -> Result<PublishSummary, Error> {
    let (gate, clock) = (job.gate.clone(), job.clock.clone());
    // The lanes run beside this thread, which may hang in a checkpoint: they watch `stop` and the gate themselves.
    let lanes = runtime.spawn(publish(job));
    let mut broken = None;
    let mut summary = loop {
        match runtime.wait(&lanes, CHECKPOINT) {
            Waited::Done(summary) => break summary,
            Waited::Cancelled => return Err(Error::Cancelled),
            Waited::Elapsed if broken.is_some() => {}
            Waited::Elapsed => {
                let (began, now) = (clock.elapsed(), clock.unix());
                match record::checkpoint(store, PassHead { now, ..head }) {
                    Ok(()) => gate.renew(began),
                    // The next checkpoint tries again. Until then, the gate's term limits what is sent.
                    Err(error) if error.is_remote_failure() => {
                        tracing::warn!(name: "checkpoint_failed", reason = error.in_full(), "could not record what was confirmed so far; trying again");
                    }
                    Err(error) => {
                        gate.close();
                        broken = Some(error);
                    }
                }
            }
        }
    };
    match broken.or_else(|| summary.error.take()) {
        None => Ok(summary),
        Some(error) => abandon(store, summary, error),
    }
}

/// Closes the journal of a pass that an error ended. The journal keeps every outcome for the next pass, and the report
/// keeps every result.
pub(super) fn abandon(
    store: &mut Store,
    summary: PublishSummary,
    error: Error,
) -> Result<PublishSummary, Error> {
    let failures = store.view().failures().clone();
    if let Err(error) = store.finish_pass(None, failures) {
        // The error that ended the pass is reported, and usually is the cause of this one.
        tracing::debug!(name: "journal_open", %error, "could not close the journal");
    }
    summary.ended_by(error)
}

/// For how long requests start after a renewal on shared state: other processes take over after a minute, and by then
/// what is open must have ended, which takes at most `timeout`.
pub(super) fn term(timeout: Duration) -> Duration {
    const LEAST: Duration = Duration::from_secs(10);
    Duration::from_secs(55).saturating_sub(timeout).max(LEAST)
}
