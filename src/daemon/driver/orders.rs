//! Carries out the orders of operators: suspend, resume, allow, retry.
//!
//! An order is on disk before it is answered. During a pass, which may take long, the driver records and answers an
//! order immediately; the state reads it after the pass.

use tokio::time::Instant;

use super::Driver;
use crate::daemon::control::{ControlError, DriverCommand};
use crate::daemon::loop_state::LoopState;
use crate::daemon::release::{AllowRequest, Rejection, Released, release};
use crate::daemon::status::ServiceWait;
use crate::model::{CommitId, SuspensionScope, Suspensions, chain};
use crate::pass::Reconciler;
use crate::state::Orders;

pub(super) enum OrderEffect {
    /// It is on disk. A running pass was planned without it.
    Recorded,
    Rejected,
    /// The next pass tries parked toggles again. Nothing is recorded.
    RetryParked,
}

impl Driver {
    /// Carries out an order between passes.
    pub(super) fn carry_out(
        &self,
        command: DriverCommand,
        reconciler: &mut Reconciler,
        state: &mut LoopState,
    ) {
        match self.record(command, None) {
            // The caller fires the trigger as well.
            OrderEffect::RetryParked => state.retry_parked(),
            OrderEffect::Rejected => {}
            OrderEffect::Recorded => {
                reload(reconciler);
                self.trigger.fire();
            }
        }
    }

    /// Records and answers an order. `running` is the revision of the running pass.
    pub(super) fn record(&self, command: DriverCommand, running: Option<CommitId>) -> OrderEffect {
        let orders = Orders::new(&self.config.state_dir);
        let is_recorded = match command {
            DriverCommand::RetryParked => return OrderEffect::RetryParked,
            DriverCommand::Allow(request, reply) => {
                let released = self.allow(&orders, &request, running);
                let is_recorded = released.is_ok();
                let _ = reply.send(released);
                is_recorded
            }
            DriverCommand::Resume(scope, reply) => {
                let resumed = orders.resume(&scope).map_err(|error| chain(&error));
                let is_recorded = resumed.is_ok();
                // Before the answer, so that the caller finds the order in the status.
                self.show_recorded(&orders);
                let _ = reply.send(resumed);
                is_recorded
            }
            DriverCommand::Suspend(scope, suspension, reply) => {
                let suspended = orders.suspend(scope, suspension).map_err(|error| chain(&error));
                let is_recorded = suspended.is_ok();
                self.show_recorded(&orders);
                let _ = reply.send(suspended);
                is_recorded
            }
        };
        match is_recorded {
            true => OrderEffect::Recorded,
            false => OrderEffect::Rejected,
        }
    }

    fn allow(
        &self,
        orders: &Orders,
        request: &AllowRequest,
        running: Option<CommitId>,
    ) -> Result<Released, ControlError> {
        let released = release(request, &self.status.borrow(), self.config.rules.kind)?;
        let planned = released.allowance.revision;
        // The status shows the pass before, and a decision must not release a plan that the operator has not seen.
        if let Some(current) = running.filter(|current| *current != planned) {
            let given = request.revision.clone();
            return Err(Rejection::OtherRevision { given, current }.into());
        }
        let recorded = orders.allow(released.allowance.clone());
        recorded.map_err(|error| ControlError::NotRecorded(chain(&error)))?;
        Ok(released)
    }

    /// Removes ended suspensions and an ended wait for the service from the status, also between passes.
    pub(super) fn expire(&self) {
        let is_over = |wait: &mut ServiceWait| wait.until <= Instant::now();
        self.status
            .send_if_modified(|status| status.waiting.take_if(is_over).is_some());
        let shown = self.status.borrow().suspensions.clone();
        let active = shown.at(self.config.clock.unix());
        if active != shown {
            let is_over = |scope: &&SuspensionScope| !active.iter().any(|(other, _)| other == *scope);
            for scope in shown.iter().map(|(scope, _)| scope).filter(is_over) {
                tracing::info!(name: "suspension_ended", %scope, "suspension ended");
            }
            self.show(active);
        }
    }

    fn show_recorded(&self, orders: &Orders) {
        match orders.suspensions() {
            Ok(suspensions) => self.show(suspensions.at(self.config.clock.unix())),
            Err(error) => {
                tracing::error!(name: "orders_unreadable", error = chain(&error), "could not read the suspensions");
            }
        }
    }

    pub(super) fn show(&self, suspensions: Suspensions) {
        self.metrics.suspensions(&suspensions);
        self.status.send_modify(|status| status.suspensions = suspensions);
    }
}

/// Makes the state read the recorded orders.
pub(super) fn reload(reconciler: &mut Reconciler) {
    if let Err(error) = reconciler.store().reload() {
        tracing::error!(name: "orders_unreadable", error = chain(&error), "could not read the orders");
    }
}
