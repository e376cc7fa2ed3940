//! Who writes: the one that holds the state's lock. The others wait for it to end.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use crate::state;

use super::driver::{Driver, TICK, raised};
use super::memory::chain;
use super::pass::{Reconciler, now};
use super::status::{LastPass, PassResult, Role};
use super::{Command, Error};

impl Driver {
    /// Returns the reconciler, taking the state's lock where it is not held yet.
    pub(super) async fn writer(
        &mut self,
        held: Option<Reconciler>,
        stop: &mut watch::Receiver<bool>,
    ) -> Option<Reconciler> {
        if held.is_some() {
            return held;
        }
        let config = self.config.clone();
        let opening = tokio::task::spawn_blocking(move || Reconciler::open(config, Duration::ZERO));
        let opened = tokio::select! {
            opened = opening => opened,
            // Shared state may hang; nothing is lost that the next process does not find.
            () = raised(stop) => return None,
        };
        match opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic())) {
            Ok(reconciler) => {
                tracing::info!("this process is the writer");
                self.status.send_modify(|status| status.role = Role::Writer);
                Some(reconciler)
            }
            Err(Error::State(state::Error::Locked { holder, .. })) => {
                let role = Role::Follower(holder.to_string());
                if self.status.borrow().role != role {
                    tracing::info!(%holder, "another process is the writer; waiting for it to end");
                }
                self.status.send_modify(|status| status.role = role);
                None
            }
            Err(error) => {
                let reason = chain(&error);
                let is_news = match &self.status.borrow().last_pass {
                    Some(LastPass {
                        result: PassResult::Failed(before),
                        ..
                    }) => *before != reason,
                    _ => true,
                };
                if is_news {
                    tracing::error!(reason, "the state cannot be used");
                }
                let last_pass = LastPass {
                    at: now(),
                    result: PassResult::Failed(reason),
                    took_ms: 0,
                };
                self.status.send_modify(|status| {
                    status.role = Role::Writer;
                    status.last_pass = Some(last_pass);
                });
                None
            }
        }
    }

    pub(super) async fn wait_as_follower(&mut self, stop: &mut watch::Receiver<bool>) {
        tokio::select! {
            () = sleep(TICK) => {}
            () = raised(stop) => {}
            Some(command) = self.commands.recv() => match command {
                Command::Suspend(_, reply) | Command::Resume(reply) => {
                    let _ = reply.send(Err("this process is not the writer; ask the one that is".into()));
                }
                Command::RetryParked => {}
            }
        }
    }
}
