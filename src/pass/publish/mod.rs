//! Publishes the changes of a plan: journals each intent, sends the request, journals the outcome, and
//! decides on retries.
//!
//! The plan decides what to send, the [`Dispatcher`](dispatch::Dispatcher) in which order, and
//! [`retry`](crate::service::retry) whether to try again. Invariant: no request is sent without an intent in
//! the journal, and the pass reports each outcome.

mod attempt;
#[cfg(test)]
mod delays_tests;
pub(super) mod dispatch;
#[cfg(test)]
mod dispatch_tests;
mod failure_row;
pub(crate) mod order;
mod publisher;
mod records;
mod service;
pub(crate) mod tries;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use order::Order;
use publisher::Publisher;
pub(crate) use records::Records;
#[cfg(test)]
pub(crate) use service::Pending;
pub(crate) use service::{HttpServices, Service, Services};
use tokio::sync::watch;

use super::event::PassContext;
use super::report::PublishSummary;
use crate::model::{Action, Hold, Sent, Thresholds, ToggleId};
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
    /// Why earlier passes held changes after reading their toggles.
    pub(crate) held: BTreeMap<ToggleId, Arc<Hold>>,
    /// The changes that earlier passes held because prerequisites would form a circle with what the service has.
    pub(crate) circles: BTreeSet<ToggleId>,
    pub(crate) service: Box<dyn Service>,
    /// The versions on the service that this folder has published or found equal last.
    pub(crate) versions: BTreeMap<ToggleId, u64>,
    pub(crate) records: Records,
    pub(crate) journal: Journal,
    pub(crate) limits: Limits,
    pub(crate) thresholds: Thresholds,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) context: PassContext,
}

/// Publishes every change of an approved plan. An error of the journal ends publishing and is part of the
/// result.
pub(crate) async fn publish(mut job: PublishJob) -> PublishSummary {
    let order = std::mem::take(&mut job.order);
    Publisher::new(&job, order).run().await
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
        Overwrite::Asserted | Overwrite::AssertedByCommit => {
            plan.asserted().get(&version.id.environment()).copied()
        }
        Overwrite::Allowed | Overwrite::AllowedByCommit | Overwrite::Held => None,
    };
    Sent {
        // An adopted document is an applied one from then on.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists all fields: a plan that is not approved cannot be among them unnoticed.
    fn plan_of(job: PublishJob) -> Approved {
        let PublishJob {
            plan,
            policy: Policy { .. },
            order: Order { .. },
            held: _,
            circles: _,
            service: _,
            versions: _,
            records: Records { .. },
            journal: Journal { .. },
            limits: Limits { .. },
            thresholds: _,
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
