//! The permission of a pass to start requests, shared by the thread of the pass and the lanes that send.

use std::time::Duration;

use tokio::sync::watch;

use super::protocol::{Permission, Term};
#[cfg(test)]
use crate::git::simulated::{self, Mutation};
use crate::state::{Clock, Error};

/// Grants requests until the pass ends; on shared state, only within the term of the last successful push.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    clock: Clock,
    state: watch::Sender<Held>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    /// None if state is not shared.
    term: Option<Term>,
    is_over: bool,
}

impl Lease {
    pub(crate) fn new(clock: Clock, term: Option<Term>) -> Self {
        let (state, _) = watch::channel(Held { term, is_over: false });
        Self { clock, state }
    }

    /// Begins a new term, at the moment when a push that succeeded began.
    pub(crate) fn renew(&self, began: Duration) {
        self.state.send_modify(|held| {
            if let Some(term) = &mut held.term {
                term.began = began;
            }
        });
    }

    pub(crate) fn term(&self) -> Option<Term> {
        self.state.borrow().term
    }

    /// Grants nothing more.
    pub(crate) fn end(&self) {
        self.state.send_modify(|held| held.is_over = true);
    }

    /// Waits until nothing more is granted.
    pub(crate) async fn ended(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.state.subscribe().wait_for(|held| held.is_over).await;
    }

    /// Returns whether a request may start now.
    pub(crate) fn permission(&self) -> Permission {
        let held = *self.state.borrow();
        #[cfg(test)]
        if simulated::makes(Mutation::SkipCheck) && held.term.is_some() {
            return Permission::Granted;
        }
        match held.term {
            _ if held.is_over => Permission::Expired,
            None => Permission::Granted,
            Some(term) => term.permission(self.clock.elapsed()),
        }
    }

    /// Returns whether a request that ends now may have started after the term.
    pub(crate) fn is_late(&self) -> bool {
        self.term().is_some_and(|term| term.is_late(self.clock.elapsed()))
    }

    /// Waits until a request may start.
    ///
    /// # Errors
    /// [`Error::LeaseOver`] if none may start in this pass any more.
    pub(crate) async fn granted(&self) -> Result<(), Error> {
        let mut changes = self.state.subscribe();
        loop {
            changes.mark_unchanged();
            match self.permission() {
                Permission::Granted => return Ok(()),
                Permission::Expired => return Err(Error::LeaseOver),
                Permission::AfterPush => {}
            }
            // The thread of the pass renews the lease or ends it. The sender lives in `self`.
            let _ = changes.changed().await;
        }
    }
}
