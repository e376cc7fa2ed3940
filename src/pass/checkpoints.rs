//! Publishing with checkpoints: while the requests of a long pass are sent, what was confirmed so far is recorded every
//! few seconds. On shared state, this also renews the announcement of the pass.

use std::time::Duration;

use super::Error;
use super::publish::{PublishJob, publish};
use super::report::PublishSummary;
use super::runtime::Waited;
use crate::state::{self, PassHead, Stop, Store};

/// How often a long pass records what it has done so far, and renews its announcement on shared state if that is due.
// Well below the 20 s within which an announcement must be renewed (DESIGN, section 4, *Announcing*).
const CHECKPOINT: Duration = Duration::from_secs(5);

/// Sends the requests of `job`, and records every few seconds what was confirmed so far.
pub(super) fn publish_with_checkpoints(
    store: &mut Store,
    job: PublishJob,
    head: PassHead,
) -> Result<PublishSummary, Error> {
    let (clock, context) = (job.clock.clone(), job.context.clone());
    // The lanes run beside this thread, which may hang in a checkpoint: they watch `stop` and the lease themselves.
    let lanes = context.runtime.spawn(publish(job));
    let mut broken = None;
    let mut summary = loop {
        match context.runtime.wait(&lanes, CHECKPOINT) {
            Waited::Done(summary) => break summary,
            // The journal has every outcome, so the next process records them.
            Waited::Cancelled => return Err(Error::Cancelled),
            // A push that fails for a moment is not an error, and the next checkpoint repeats it. After any other failure,
            // the journal keeps the outcomes for the next pass.
            Waited::Elapsed if broken.is_some() => {}
            Waited::Elapsed => {
                let now = clock.unix();
                broken = store.checkpoint(&PassHead { now, ..head }).err();
            }
        }
    };
    let failed = summary.error.take();
    // Lanes that may send no more requests do not know the cause.
    match broken.map(Error::from).or(failed) {
        None => Ok(summary),
        Some(error) => abandon(store, &head, summary, error, &|| context.is_stopped()),
    }
}

/// Closes the journal of a pass that an error ended. The journal keeps every outcome for the next pass, and the report
/// keeps every result.
pub(super) fn abandon(
    store: &mut Store,
    head: &PassHead,
    summary: PublishSummary,
    error: Error,
    stop: Stop<'_>,
) -> Result<PublishSummary, Error> {
    let error = match store.abandon(head, stop) {
        Ok(()) => error,
        Err(cause) if matches!(error, Error::State(state::Error::LeaseOver)) => cause.into(),
        Err(other) => {
            // The error that ended the pass is reported, and usually is the cause of this one.
            tracing::debug!(name: "journal_open", error = %other, "could not close the journal");
            error
        }
    };
    summary.ended_by(error)
}
