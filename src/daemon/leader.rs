//! Who writes: the one that holds the state's lock. The others wait for it to end.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, interval, sleep_until};

use super::driver::{Driver, TICK, stopped};
use super::loop_state::LoopState;
use super::pass_outcome::PassOutcome;
use super::status::{LastPass, PassResult, Role};
use super::{Command, ControlError};
use crate::model::{Suspension, chain, rfc3339};
use crate::pass::{Error, Reconciler, planning};
use crate::state;

impl Driver {
    /// Tries to take the state's lock, and says when to try again where that cannot be had.
    pub(super) async fn elected(
        &mut self,
        memory: &mut LoopState,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<Reconciler, Instant> {
        let (config, began) = (self.config.clone(), Instant::now());
        let mut opening = tokio::task::spawn_blocking(move || Reconciler::open(config, Duration::ZERO));
        let mut tick = interval(TICK);
        // Shared state may hang; nothing is lost then that the next process does not find.
        let opened = loop {
            tokio::select! {
                opened = &mut opening => break opened,
                () = stopped(stop) => return Err(Instant::now()),
                Some(command) = self.commands.recv() => refuse(command, "the state is being opened; ask again"),
                _ = tick.tick() => self.heartbeat.beat(),
            }
        };
        match opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic())) {
            Ok(reconciler) => {
                tracing::info!(name: "writer", "this process is the writer");
                self.status.send_modify(|status| status.role = Role::Writer);
                self.found_suspended(&reconciler);
                memory.schedule.no_later_than(Instant::now());
                Ok(reconciler)
            }
            Err(Error::State(state::Error::Locked { holder, .. })) => {
                let role = Role::Follower(holder.to_string());
                if self.status.borrow().role != role {
                    tracing::info!(name: "follower", %holder, "another process is the writer; waiting for it to end");
                }
                self.status.send_modify(|status| status.role = role);
                Err(Instant::now() + TICK)
            }
            Err(error) => {
                if let Some(path) = self.awaited(&error) {
                    self.wait_for_checkout(path);
                    return Err(Instant::now() + TICK);
                }
                self.no_pass(&error, began.elapsed(), memory);
                Err(memory.schedule.due())
            }
        }
    }

    /// Reports a suspension that an earlier process left behind before the first pass ends.
    fn found_suspended(&self, reconciler: &Reconciler) {
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

    /// Without state there is no pass: tells that, and decides when the next one is due.
    fn no_pass(&self, error: &Error, took: Duration, memory: &mut LoopState) {
        let outcome = PassResult::Failed(error.in_full());
        self.metrics.pass_ended(&outcome, took);
        memory.on_pass_finished(&PassOutcome::of(&Err(chain(error))), self.token_fingerprint());
        memory.tell(&outcome);
        self.status.send_modify(|status| {
            status.role = Role::Writer;
            status.source.awaited = None;
            status.last_pass = Some(LastPass::new(self.config.clock.unix(), outcome, took));
        });
    }

    /// Waits until it is time to try again, or somebody asks.
    pub(super) async fn wait_for_turn(&mut self, until: Instant, stop: &mut watch::Receiver<bool>) {
        let mut tick = interval(TICK);
        let (began, mut until) = (Instant::now(), until);
        loop {
            tokio::select! {
                () = sleep_until(until) => return,
                () = stopped(stop) => return,
                // Not at once, because one commit is many file events.
                () = self.trigger.fired() => until = until.min(began + TICK),
                Some(command) = self.commands.recv() => {
                    let why = match self.status.borrow().role {
                        Role::Follower(_) => "this process is not the writer; ask the one that is",
                        Role::Starting | Role::Writer => "the state cannot be used; `/readyz` says why",
                    };
                    refuse(command, why);
                }
                _ = tick.tick() => self.heartbeat.beat(),
            }
        }
    }
}

/// Answers an order that nobody can carry out now.
fn refuse(command: Command, why: &str) {
    match command {
        Command::Allow(_, reply) => drop(reply.send(Err(ControlError::NotNow(why.to_owned())))),
        Command::Resume(_, reply) => drop(reply.send(Err(why.to_owned()))),
        Command::Suspend(_, _, reply) => drop(reply.send(Err(why.to_owned()))),
        Command::RetryParked => {}
    }
}
