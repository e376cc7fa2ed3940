//! Sends orders and triggers to the driver.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use super::release::{AllowRequest, Rejection, Released};
use crate::model::{Suspension, SuspensionScope};

/// A request for a pass, without data. Any number of them during a pass cause one more pass.
#[derive(Clone, Debug, Default)]
pub struct Trigger(Arc<Requests>);

#[derive(Debug, Default)]
struct Requests {
    any: Notify,
    /// The time of the last authentic webhook that the driver has not taken yet. Contended by webhooks and
    /// the driver, for an instant.
    delivered: Mutex<Option<Instant>>,
}

impl Trigger {
    /// Requests a pass.
    pub fn fire(&self) {
        self.0.any.notify_one();
    }

    /// Requests a pass because the Git host announced a push, which a lookup may not find yet.
    pub fn deliver(&self) {
        *self.delivered() = Some(Instant::now());
        self.fire();
    }

    /// Waits for the next request.
    pub async fn fired(&self) {
        self.0.any.notified().await;
    }

    /// Returns the time of the last announcement since the last call.
    pub(super) fn take_delivery(&self) -> Option<Instant> {
        self.delivered().take()
    }

    fn delivered(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.delivered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An order to a running driver, with the channel of its answer.
#[derive(Debug)]
pub enum DriverCommand {
    /// Release the toggles that wait for a decision. The answer lists them.
    Allow(AllowRequest, oneshot::Sender<Result<Released, ControlError>>),
    /// Resume publishing. The answer lists the suspensions that ended.
    Resume(SuspensionScope, oneshot::Sender<Result<Vec<SuspensionScope>, String>>),
    /// Publish nothing in the scope until resumed. The answer is sent once the suspension is recorded.
    Suspend(SuspensionScope, Suspension, oneshot::Sender<Result<(), String>>),
    /// Try parked toggles again at the next pass.
    RetryParked,
}

/// A handle on a running driver.
#[derive(Clone, Debug)]
pub struct Control {
    trigger: Trigger,
    commands: mpsc::Sender<DriverCommand>,
}

/// Why a process that waits for the end of another one carries out no order.
pub(crate) const NOT_THE_WRITER: &str = "this process is not the writer; send the order to the writer";

/// The reason why an order was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("the reconciler has stopped")]
    Stopped,
    #[error("{0}")]
    NotNow(String),
    #[error("{0}")]
    NotRecorded(String),
    #[error(transparent)]
    Rejected(#[from] Rejection),
}

impl Control {
    /// Creates a handle and the driver's receiving end.
    pub(crate) fn new(trigger: Trigger) -> (Self, mpsc::Receiver<DriverCommand>) {
        let (commands, receiver) = mpsc::channel(16);
        (Self { trigger, commands }, receiver)
    }

    /// Returns the trigger, for callers that may request a pass and nothing else.
    pub(crate) fn trigger(&self) -> &Trigger {
        &self.trigger
    }

    /// Requests a pass that tries parked toggles again.
    ///
    /// # Errors
    /// [`ControlError::Stopped`] if the driver has ended.
    pub async fn reconcile(&self) -> Result<(), ControlError> {
        // Before the trigger, so that the pass that it starts tries parked toggles.
        self.commands.send(DriverCommand::RetryParked).await.map_err(|_| ControlError::Stopped)?;
        self.trigger.fire();
        Ok(())
    }

    /// Stops publishing to `scope`; planning continues. Returns once the suspension is recorded.
    pub async fn suspend(&self, scope: SuspensionScope, suspension: Suspension) -> Result<(), ControlError> {
        self.send(|reply| DriverCommand::Suspend(scope, suspension, reply))
            .await?
            .map_err(ControlError::NotRecorded)
    }

    /// Resumes publishing to `scope`. Returns the suspensions that ended, once that is recorded.
    pub async fn resume(&self, scope: SuspensionScope) -> Result<Vec<SuspensionScope>, ControlError> {
        self.send(|reply| DriverCommand::Resume(scope, reply)).await?.map_err(ControlError::NotRecorded)
    }

    /// Releases the toggles that wait for a decision. Returns them once the decision is recorded.
    pub async fn allow(&self, request: AllowRequest) -> Result<Released, ControlError> {
        self.send(|reply| DriverCommand::Allow(request, reply)).await?
    }

    async fn send<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> DriverCommand,
    ) -> Result<T, ControlError> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| ControlError::Stopped)?;
        answer.await.map_err(|_| ControlError::Stopped)
    }
}
