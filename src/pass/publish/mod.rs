//! Publishes the changes of a plan: journals each intent, sends the request, journals the outcome, and decides on retries.
//!
//! The plan decides what to send, the [`Dispatcher`](dispatch::Dispatcher) in which order, and
//! [`retry`](crate::service::retry) whether to try again. Invariant: no request is sent without an intent in the journal,
//! and the pass reports each outcome.

mod attempt;
#[cfg(test)]
mod delays_tests;
pub(super) mod dispatch;
#[cfg(test)]
mod dispatch_tests;
pub(crate) mod order;
mod sender;
pub(super) mod service;

use std::fmt::Write as _;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use order::Order;
use sender::Sender;
use service::Service;
use tokio::sync::watch;

use super::Error;
use super::context::PassContext;
use super::report::PublishSummary;
use crate::model::{Action, Sent};
use crate::pass::report::StopReason;
use crate::plan::{Approved, Before, Change, Overwrite, Plan, Policy};
use crate::state::{Clock, Journal};

/// Limits on open requests, and on the wait for a service that gives no useful response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// The number of open requests.
    pub in_flight: usize,
    /// The number of open requests in one environment.
    pub in_flight_per_environment: usize,
    /// The longest pause of a pass without a success.
    pub give_up_after: Duration,
}

/// The plan to publish and the services that publishing uses.
pub(crate) struct PublishJob {
    pub(crate) plan: Approved,
    pub(crate) policy: Policy,
    pub(crate) order: Order,
    pub(crate) service: Service,
    pub(crate) journal: Journal,
    pub(crate) limits: Limits,
    pub(crate) clock: Clock,
    pub(crate) context: PassContext,
}

/// Publishes every change of an approved plan. An error of the journal ends publishing and is part of the result.
pub(crate) async fn publish(job: PublishJob) -> PublishSummary {
    let count = job.limits.in_flight.min(job.plan.changes().len());
    let (stop, journal) = (job.context.stop.clone(), job.journal.clone());
    let mut halted = pin!(async {
        tokio::select! {
            () = stopped(stop) => Some(StopReason::Interrupted),
            // The checkpoint that ended it reports the cause.
            () = journal.ended() => None,
        }
    });
    let sender = Sender::new(job);
    let mut workers: FuturesUnordered<_> = (0..count).map(|_| sender.work()).collect();
    let (mut is_halted, mut failure) = (false, None);
    loop {
        tokio::select! {
            // First, so that a stop that is already requested precedes every request.
            biased;
            // A future that has ended must not be polled again.
            reason = &mut halted, if !is_halted => {
                is_halted = true;
                sender.end(reason);
            }
            ended = workers.next() => match ended {
                None => break,
                Some(Ok(())) => {}
                // Not returned here, so that the open requests of the other workers end first.
                Some(Err(error)) => { failure.get_or_insert(error); }
            },
        }
    }
    drop(workers);
    PublishSummary { error: failure.map(Error::from), ..sender.summary() }
}

/// Waits until `stop` becomes true. Never returns if its sender is gone.
pub(crate) async fn stopped(mut stop: watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        // A caller that never stops the pass may have dropped the sender.
        std::future::pending::<()>().await;
    }
}

/// Returns the intent to journal for a change of `plan`.
pub(crate) fn sent(change: &Change, plan: &Plan) -> Sent {
    let version = change.version.clone();
    let (base_version, earlier) = match &change.before {
        Before::Unknown { sent, .. } => (sent.base_version, sent.earlier_than(&version.payload)),
        _ => (None, Vec::new()),
    };
    let asserted = match change.overwrite {
        Overwrite::Asserted => plan.asserted().get(&version.id.environment()).copied(),
        Overwrite::Allowed | Overwrite::Held => None,
    };
    Sent {
        // An adopted document counts as applied from then on.
        action: match change.action {
            Action::Adopt => Action::Create,
            action => action,
        },
        payload: version.payload,
        comment: change.comment(),
        object: version.object,
        format: version.format,
        path: version.path.into(),
        revision: plan.source().revision,
        base_version,
        note: None,
        earlier,
        overtaken: false,
        asserted,
        passed: change.passed,
        announced: None,
    }
}

pub(super) fn body(sent: &Sent) -> Bytes {
    let mut body = sent.payload.body(&sent.comment);
    if let Some(version) = sent.base_version {
        body.truncate(body.len() - 1);
        let _ = write!(body, r#","baseVersion":{version}}}"#);
    }
    body.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists all fields: a plan that is not approved cannot be among them unnoticed.
    fn plan_of(job: PublishJob) -> Approved {
        let PublishJob {
            plan,
            policy: Policy { .. },
            order: Order { .. },
            service: _,
            journal: Journal { .. },
            limits: Limits { .. },
            clock: _,
            context: PassContext { .. },
        } = job;
        plan
    }

    #[test]
    fn only_an_approved_plan_can_be_published() {
        let _: fn(PublishJob) -> Approved = plan_of;
    }
}
