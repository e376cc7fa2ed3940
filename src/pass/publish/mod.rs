//! The only place that publishes: journal the intent, send, journal the outcome, decide what is next.
//!
//! What to send is the plan's decision, who is next the [`Dispatcher`](dispatch::Dispatcher)'s, whether to try again
//! is decided in [`retry`](crate::service::retry). Invariant: no request leaves without a journalled intent, and none is
//! forgotten.

mod breaker;
mod delays;
#[cfg(test)]
mod delays_tests;
mod dispatch;
#[cfg(test)]
mod dispatch_tests;
mod evidence;
pub(super) mod inherited;
mod lanes;
#[cfg(test)]
mod lanes_tests;
pub(super) mod order;
mod sender;
pub(super) mod service;
pub(crate) mod tries;

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::watch;

use super::Error;
use super::context::PassContext;
use super::report::{ChangeResult, StopReason};
use super::runtime::Runtime;
use crate::model::{CommitId, Sent};
use crate::plan::{Approved, Change};
use crate::state::{Clock, Journal};
use order::Remembered;
use sender::Sender;
use service::Service;

/// How many requests may be open, and how long a pass waits for a service that gives no useful response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Over everything.
    pub in_flight: usize,
    /// Within one environment.
    pub in_flight_per_environment: usize,
    /// The longest pause of a pass in which nothing succeeds.
    pub give_up_after: Duration,
}

/// What came of publishing: one entry per change of the plan, in its order, and why it ended early if it did.
#[derive(Debug)]
pub(crate) struct PublishSummary {
    pub(crate) results: Vec<ChangeResult>,
    pub(crate) stopped: Option<StopReason>,
    /// For how long from now on the service asks to be left alone.
    pub(crate) held_back: Option<Duration>,
    /// The error that ended publishing or recording, if one did.
    pub(crate) error: Option<Error>,
}

impl PublishSummary {
    /// Nothing was to be published.
    pub(crate) fn nothing() -> Self {
        Self {
            results: Vec::new(),
            stopped: None,
            held_back: None,
            error: None,
        }
    }

    /// Adds an error that ended the pass. The first one counts: later ones follow from it. If no request has left, the
    /// error is all there is to report.
    ///
    /// # Errors
    /// The first error, if no change was tried.
    pub(crate) fn ended_by(mut self, error: impl Into<Error>) -> Result<Self, Error> {
        let error = self.error.take().unwrap_or_else(|| error.into());
        if self
            .results
            .iter()
            .all(|sending| *sending == ChangeResult::NotSent)
        {
            return Err(error);
        }
        self.error = Some(error);
        Ok(self)
    }
}

/// What publishing needs.
pub(crate) struct PublishJob {
    pub(crate) plan: Approved,
    /// What is remembered of earlier tries.
    pub(crate) remembered: Remembered,
    pub(crate) service: Service,
    pub(crate) journal: Journal,
    pub(crate) limits: Limits,
    pub(crate) runtime: Runtime,
    pub(crate) clock: Clock,
    pub(crate) context: PassContext,
}

/// Publishes every change of an approved plan. An error of the journal ends publishing, because without a record there
/// is no publish; the open requests have ended by then, and the error is part of the result.
pub(crate) async fn publish(job: PublishJob) -> PublishSummary {
    let count = job.limits.in_flight.min(job.plan.changes().len());
    let (stop, journal) = (job.context.stop.clone(), job.journal.clone());
    let mut halted = pin!(async {
        tokio::select! {
            () = stopped(stop) => {}
            () = journal.ended() => {}
        }
    });
    let sender = Sender::new(job);
    let mut workers: FuturesUnordered<_> = (0..count).map(|_| sender.work()).collect();
    let (mut is_halted, mut failure) = (false, None);
    loop {
        tokio::select! {
            // First, so that no worker is faster than a stop that is there already.
            biased;
            () = &mut halted, if !is_halted => {
                is_halted = true;
                sender.end(StopReason::Interrupted);
            }
            ended = workers.next() => match ended {
                None => break,
                Some(Ok(())) => {}
                Some(Err(error)) => { failure.get_or_insert(error); }
            },
        }
    }
    drop(workers);
    PublishSummary {
        error: failure.map(Error::from),
        ..sender.summary()
    }
}

/// Waits until `stop` becomes true. Never ends if nothing is left that could stop the pass.
async fn stopped(mut stop: watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Returns what is journalled for a change before it is sent.
pub(crate) fn sent(change: &Change, revision: CommitId) -> Sent {
    let version = change.version.clone();
    Sent {
        action: change.action,
        payload: version.payload,
        comment: change.comment.clone(),
        object: version.object,
        format: version.format,
        path: version.path,
        revision,
    }
}

pub(super) fn body(sent: &Sent) -> Bytes {
    sent.payload.body(&sent.comment).into()
}
