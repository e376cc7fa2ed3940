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
mod outcome;
mod sender;
pub(crate) mod tries;

pub use outcome::PublishOutcome;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::Instrument as _;

use super::Error;
use super::progress::Progress;
use super::report::{ChangeResult, StopReason};
use crate::model::{CommitId, Sent};
use crate::plan::{Approved, Change};
use crate::service::Client;
use crate::state::Journal;
use order::Remembered;
use sender::Sender;

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
#[derive(Clone)]
pub(crate) struct PublishJob {
    pub(crate) plan: Approved,
    /// What is remembered of earlier tries.
    pub(crate) remembered: Remembered,
    pub(crate) client: Client,
    pub(crate) journal: Journal,
    pub(crate) limits: Limits,
    /// Becomes true when nothing new may start.
    pub(crate) stop: watch::Receiver<bool>,
    pub(crate) progress: Arc<dyn Progress>,
}

/// Publishes every change of an approved plan. An error of the journal ends publishing, because without a record there
/// is no publish; the open requests have ended by then, and the error is part of the result.
pub(crate) async fn publish(publishing: PublishJob) -> PublishSummary {
    let count = publishing.limits.in_flight.min(publishing.plan.changes().len());
    let mut stop = publishing.stop.clone();
    let sender = Arc::new(Sender::new(publishing));
    if *stop.borrow() {
        // Before any worker could be faster than the order to end.
        sender.end(StopReason::Interrupted);
    }
    let mut workers = JoinSet::new();
    for _ in 0..count {
        workers.spawn(Arc::clone(&sender).work().in_current_span());
    }
    let mut failure = None;
    loop {
        tokio::select! {
            ended = workers.join_next() => match ended {
                None => break,
                Some(Ok(Ok(()))) => {}
                Some(Ok(Err(error))) => { failure.get_or_insert(error); }
                Some(Err(panic)) => std::panic::resume_unwind(panic.into_panic()),
            },
            () = raised(&mut stop) => sender.end(StopReason::Interrupted),
        }
    }
    PublishSummary {
        error: failure.map(Error::from),
        ..sender.published()
    }
}

/// Waits until `stop` is raised, once. Never ends if `stop` can no longer be raised.
pub(super) async fn raised(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_ok() {
        let (_never, quiet) = watch::channel(false);
        *stop = quiet;
        return;
    }
    std::future::pending::<()>().await;
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
