//! What operators order a running driver to do: suspend, resume, allow, retry.
//!
//! An order is recorded before it is answered. During a pass, which may take as long as a remote or the service likes,
//! it is recorded and answered at once; the state reads it when the pass has ended.

use tokio::time::Instant;

use super::control::{Command, ControlError};
use super::driver::Driver;
use super::loop_state::LoopState;
use super::release::{AllowRequest, Rejection, Released, release};
use super::status::Waiting;
use super::{Metrics, Writing};
use crate::model::{CommitId, SuspensionScope, Suspensions, chain};
use crate::pass::Reconciler;
use crate::state::Orders;

/// What became of an order during a pass.
pub(super) enum Heard {
    /// It is recorded and answered. The running pass was planned without it.
    Recorded,
    /// It was answered, and nothing has changed.
    Refused,
    /// It waits for the end of the pass.
    Waits(Command),
}

impl Driver {
    /// Carries out an order between passes.
    pub(super) fn obey(&self, command: Command, writer: &mut Reconciler, memory: &mut LoopState) {
        match self.hear(command, None) {
            // The caller fires the trigger too, and once is enough.
            Heard::Waits(_) => memory.schedule.unpark_all(),
            Heard::Refused => {}
            Heard::Recorded => {
                reload(writer);
                self.trigger.fire();
            }
        }
    }

    /// Records and answers an order. `running` is the revision that a running pass is about.
    pub(super) fn hear(&self, command: Command, running: Option<CommitId>) -> Heard {
        let orders = Orders::new(&self.config.state_dir);
        let recorded = match command {
            Command::RetryParked => return Heard::Waits(command),
            Command::Allow(request, reply) => {
                let released = self.allow(&orders, &request, running);
                let is_recorded = released.is_ok();
                let _ = reply.send(released);
                is_recorded
            }
            Command::Resume(scope, reply) => {
                let resumed = orders.resume(&scope).map_err(|error| chain(&error));
                let is_recorded = resumed.is_ok();
                self.show_suspensions(&orders);
                let _ = reply.send(resumed);
                is_recorded
            }
            Command::Suspend(scope, suspension, reply) => {
                let done = orders.suspend(scope, suspension).map_err(|error| chain(&error));
                let is_recorded = done.is_ok();
                self.show_suspensions(&orders);
                let _ = reply.send(done);
                is_recorded
            }
        };
        match recorded {
            true => Heard::Recorded,
            false => Heard::Refused,
        }
    }

    fn allow(
        &self,
        orders: &Orders,
        request: &AllowRequest,
        running: Option<CommitId>,
    ) -> Result<Released, ControlError> {
        let released = release(request, &self.status.borrow())?;
        let planned = released.allowance.revision;
        if let Some(current) = running.filter(|current| *current != planned) {
            let given = request.revision.clone();
            return Err(Rejection::OtherRevision { given, current }.into());
        }
        let recorded = orders.allow(released.allowance.clone());
        recorded.map_err(|error| ControlError::NotRecorded(chain(&error)))?;
        Ok(released)
    }

    /// Ends what is over in the status, whether a pass ends then or not: suspensions, and a wait that the service asked
    /// for.
    pub(super) fn expire(&self) {
        let is_over = |waiting: &mut Waiting| waiting.until <= Instant::now();
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

    fn show_suspensions(&self, orders: &Orders) {
        match orders.suspensions() {
            Ok(suspensions) => self.show(suspensions.at(self.config.clock.unix())),
            Err(error) => {
                tracing::error!(name: "orders_unreadable", error = chain(&error), "could not read the suspensions");
            }
        }
    }

    /// Shows what is suspended now.
    pub(super) fn show(&self, suspensions: Suspensions) {
        count(&self.metrics, &suspensions);
        self.status.send_modify(|status| status.suspensions = suspensions);
    }
}

/// Sets the metric of suspensions.
pub(super) fn count(metrics: &Metrics, suspensions: &Suspensions) {
    metrics.writing(match suspensions.is_empty() {
        true => Writing::Active,
        false => Writing::Suspended,
    });
}

/// Makes the state read what was ordered.
pub(super) fn reload(writer: &mut Reconciler) {
    if let Err(error) = writer.store().reload() {
        tracing::error!(name: "orders_unreadable", error = chain(&error), "could not read what was ordered");
    }
}
