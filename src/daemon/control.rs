//! How the outside asks the driver for something.

use std::sync::Arc;

use tokio::sync::{Notify, mpsc, oneshot};

use super::release::{AllowRequest, Rejection, Released};
use crate::model::{Suspension, SuspensionScope};

/// "Look now", without saying why. Any number of them during a pass cause one more pass.
#[derive(Clone, Debug, Default)]
pub struct Trigger(Arc<Notify>);

impl Trigger {
    /// Asks for a pass.
    pub fn fire(&self) {
        self.0.notify_one();
    }

    /// Waits until somebody asks.
    pub async fn fired(&self) {
        self.0.notified().await;
    }
}

/// What an operator can tell a running driver.
#[derive(Debug)]
pub enum Command {
    /// Release what waits for a decision. The answer says what that is.
    Allow(AllowRequest, oneshot::Sender<Result<Released, ControlError>>),
    /// Write again. The answer lists what was suspended.
    Resume(
        SuspensionScope,
        oneshot::Sender<Result<Vec<SuspensionScope>, String>>,
    ),
    /// Write nothing there until resumed. The answer says whether that is recorded.
    Suspend(SuspensionScope, Suspension, oneshot::Sender<Result<(), String>>),
    /// Try parked toggles again at the next pass.
    RetryParked,
}

/// A handle on a running driver.
#[derive(Clone, Debug)]
pub struct Control {
    trigger: Trigger,
    commands: mpsc::Sender<Command>,
}

/// Why an order was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The driver has ended.
    #[error("the reconciler has stopped")]
    Stopped,
    /// The order cannot be carried out now.
    #[error("{0}")]
    NotNow(String),
    /// The order could not be recorded.
    #[error("{0}")]
    NotRecorded(String),
    /// The order would change nothing.
    #[error(transparent)]
    Rejected(#[from] Rejection),
}

impl Control {
    /// Makes a handle and the receiving end that the driver keeps.
    #[must_use]
    pub fn new(trigger: Trigger) -> (Self, mpsc::Receiver<Command>) {
        let (commands, receiver) = mpsc::channel(16);
        (Self { trigger, commands }, receiver)
    }

    /// Returns the trigger, for those who may ask for a pass and for nothing else.
    #[must_use]
    pub fn trigger(&self) -> &Trigger {
        &self.trigger
    }

    /// Asks for a pass that tries parked toggles again.
    ///
    /// # Errors
    /// [`ControlError::Stopped`] when the driver has ended.
    pub async fn reconcile(&self) -> Result<(), ControlError> {
        self.commands
            .send(Command::RetryParked)
            .await
            .map_err(|_| ControlError::Stopped)?;
        self.trigger.fire();
        Ok(())
    }

    /// Stops publishing to `scope`; planning goes on. Returns when that is recorded.
    ///
    /// # Errors
    /// [`ControlError`] when it could not be.
    pub async fn suspend(&self, scope: SuspensionScope, suspension: Suspension) -> Result<(), ControlError> {
        self.ask(|reply| Command::Suspend(scope, suspension, reply))
            .await?
            .map_err(ControlError::NotRecorded)
    }

    /// Publishes again to `scope`. Returns what was suspended, when that is recorded.
    ///
    /// # Errors
    /// [`ControlError`] when it could not be.
    pub async fn resume(&self, scope: SuspensionScope) -> Result<Vec<SuspensionScope>, ControlError> {
        self.ask(|reply| Command::Resume(scope, reply))
            .await?
            .map_err(ControlError::NotRecorded)
    }

    /// Releases what waits for a decision. Returns what that is, when the decision is recorded.
    ///
    /// # Errors
    /// [`ControlError`] when nothing is released.
    pub async fn allow(&self, request: AllowRequest) -> Result<Released, ControlError> {
        self.ask(|reply| Command::Allow(request, reply)).await?
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, ControlError> {
        let (reply, answer) = oneshot::channel();
        self.commands
            .send(command(reply))
            .await
            .map_err(|_| ControlError::Stopped)?;
        answer.await.map_err(|_| ControlError::Stopped)
    }
}
