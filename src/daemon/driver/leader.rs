//! Elects the writer: the process that holds the lock of the state. The other processes wait for its end.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, interval, sleep_until};

use super::{Driver, TICK, stopped};
use crate::daemon::loop_state::LoopState;
use crate::daemon::schedule::PassOutcome;
use crate::daemon::status::{LastPass, PassResult, Role};
use crate::daemon::{ControlError, DriverCommand};
use crate::model::{Suspension, rfc3339};
use crate::pass::{Error, Reconciler, planning};
use crate::state;

impl Driver {
    /// Opens the state.
    ///
    /// # Errors
    /// The time at which to try again.
    pub(super) async fn open_state(
        &mut self,
        state: &mut LoopState,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<Reconciler, Instant> {
        let (config, began) = (self.config.clone(), Instant::now());
        // The loop waits for the lock instead, so that it answers operators and updates the heartbeat meanwhile.
        let mut opening = tokio::task::spawn_blocking(move || Reconciler::open(config, Duration::ZERO));
        let mut tick = interval(TICK);
        let opened = loop {
            tokio::select! {
                opened = &mut opening => break opened,
                // The remote of shared state may hang. The next process finds whatever is unfinished.
                () = stopped(stop) => return Err(Instant::now()),
                Some(command) = self.commands.recv() => reject(command, "the state is being opened; try again"),
                _ = tick.tick() => self.heartbeat.beat(),
            }
        };
        match opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic())) {
            Ok(reconciler) => {
                tracing::info!(name: "writer", "this process is the writer");
                self.status.send_modify(|status| status.role = Role::Writer);
                self.metrics.writer(true);
                self.report_suspensions(&reconciler);
                state.schedule.no_later_than(Instant::now());
                Ok(reconciler)
            }
            // Another process applies the changes, so this is not a failed pass.
            Err(Error::State(state::Error::Locked { holder, .. })) => {
                let role = Role::Follower(holder.to_string());
                if self.status.borrow().role != role {
                    tracing::info!(name: "follower", %holder, "another process is the writer; waiting for it to end");
                }
                self.status.send_modify(|status| status.role = role);
                self.metrics.writer(false);
                Err(Instant::now() + TICK)
            }
            Err(error) => {
                if let Some(path) = self.awaited(&error) {
                    self.wait_for_checkout(path);
                    return Err(Instant::now() + TICK);
                }
                self.on_open_failed(&error, began.elapsed(), state);
                Err(state.schedule.due())
            }
        }
    }

    /// Reports suspensions from before the start, without waiting for the end of the first pass.
    fn report_suspensions(&self, reconciler: &Reconciler) {
        let suspensions = planning::suspensions(reconciler.view(), self.config.clock.unix());
        for (scope, Suspension { reason, until }) in suspensions.iter() {
            tracing::warn!(
                name: "suspended",
                %scope,
                reason,
                until = until.map(rfc3339),
                "suspended since before the start; nothing is published there"
            );
        }
        self.show(suspensions);
    }

    /// Reports a failed pass, because no pass can run without the state.
    fn on_open_failed(&self, error: &Error, took: Duration, state: &mut LoopState) {
        let result = PassResult::of_error(error);
        self.metrics.pass_ended(&result, took);
        state.on_pass_finished(&PassOutcome::failed(), self.token_fingerprint());
        state.log_result(&result);
        self.status.send_modify(|status| {
            // Otherwise `/readyz` would report that the process is starting, not why the state cannot be opened.
            status.role = Role::Writer;
            status.source.awaited = None;
            status.last_pass = Some(LastPass::new(self.config.clock.unix(), result, took));
        });
    }

    /// Waits until `until`, a trigger or a stop.
    pub(super) async fn wait_for_turn(&mut self, mut until: Instant, stop: &mut watch::Receiver<bool>) {
        let mut tick = interval(TICK);
        let began = Instant::now();
        loop {
            tokio::select! {
                () = sleep_until(until) => return,
                () = stopped(stop) => return,
                // Not immediately, because one commit causes many file events.
                () = self.trigger.fired() => until = until.min(began + TICK),
                Some(command) = self.commands.recv() => {
                    let why = match self.status.borrow().role {
                        Role::Follower(_) => "this process is not the writer; send the order to the writer",
                        Role::Starting | Role::Writer => "the state cannot be used; see `/readyz` for the reason",
                    };
                    reject(command, why);
                }
                _ = tick.tick() => self.heartbeat.beat(),
            }
        }
    }
}

/// Answers an order that cannot be carried out now.
fn reject(command: DriverCommand, why: &str) {
    match command {
        DriverCommand::Allow(_, reply) => drop(reply.send(Err(ControlError::NotNow(why.to_owned())))),
        DriverCommand::Resume(_, reply) => drop(reply.send(Err(why.to_owned()))),
        DriverCommand::Suspend(_, _, reply) => drop(reply.send(Err(why.to_owned()))),
        DriverCommand::RetryParked => {}
    }
}
