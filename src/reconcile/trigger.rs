//! How the outside asks the driver for something.

use std::sync::Arc;

use tokio::sync::{Notify, mpsc, oneshot};

use crate::model::Suspension;

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
    /// Write nothing until resumed. The answer says whether that is recorded.
    Suspend(Suspension, oneshot::Sender<Result<(), String>>),
    /// Write again.
    Resume(oneshot::Sender<Result<(), String>>),
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
    /// The order could not be recorded.
    #[error("{0}")]
    NotRecorded(String),
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

    /// Stops publishing; planning goes on. Returns when that is recorded.
    ///
    /// # Errors
    /// [`ControlError`] when it could not be.
    pub async fn suspend(&self, suspension: Suspension) -> Result<(), ControlError> {
        self.ask(|reply| Command::Suspend(suspension, reply)).await
    }

    /// Publishes again. Returns when that is recorded.
    ///
    /// # Errors
    /// [`ControlError`] when it could not be.
    pub async fn resume(&self) -> Result<(), ControlError> {
        self.ask(Command::Resume).await
    }

    async fn ask(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<(), String>>) -> Command,
    ) -> Result<(), ControlError> {
        let (reply, answer) = oneshot::channel();
        self.commands
            .send(command(reply))
            .await
            .map_err(|_| ControlError::Stopped)?;
        answer
            .await
            .map_err(|_| ControlError::Stopped)?
            .map_err(ControlError::NotRecorded)
    }
}
