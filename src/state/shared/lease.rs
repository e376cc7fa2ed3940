//! Grants a pass the permission to start requests. The thread of the pass renews it; the lanes that send wait
//! for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::protocol::{Permission, Term};
use crate::state::{Clock, Error};

/// The permission to start requests until the pass ends; on shared state, only within the term of the last
/// push.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    clock: Arc<dyn Clock>,
    state: watch::Sender<LeaseState>,
}

#[derive(Clone, Copy, Debug)]
struct LeaseState {
    /// None if state is not shared.
    term: Option<Term>,
    is_over: bool,
    /// Whether the remote refused the last push, so that no request starts until a push succeeds.
    is_refused: bool,
}

impl Lease {
    pub(crate) fn new(clock: Arc<dyn Clock>, term: Option<Term>) -> Self {
        let (state, _) = watch::channel(LeaseState { term, is_over: false, is_refused: false });
        Self { clock, state }
    }

    /// Begins a new term at the start of a successful push.
    pub(crate) fn renew(&self, began: Duration) {
        self.state.send_modify(|state| {
            state.is_refused = false;
            if let Some(term) = &mut state.term {
                term.began = began;
            }
        });
    }

    /// Starts no request until a push succeeds.
    pub(crate) fn await_push(&self) {
        self.state.send_modify(|state| state.is_refused = true);
    }

    /// Returns whether the term passes `test` now; false if state is not shared.
    pub(crate) fn check(&self, test: fn(&Term, Duration) -> bool) -> bool {
        let term = self.state.borrow().term;
        term.is_some_and(|term| test(&term, self.clock.elapsed()))
    }

    /// Returns how long pushes may still fail before the pass ends; none if state is not shared.
    pub(crate) fn left(&self) -> Option<Duration> {
        let term = self.state.borrow().term;
        term.map(|term| term.left(self.clock.elapsed()))
    }

    /// Refuses all further requests.
    pub(crate) fn end(&self) {
        self.state.send_modify(|state| state.is_over = true);
    }

    /// Waits until the lease refuses all further requests.
    pub(crate) async fn ended(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.state.subscribe().wait_for(|state| state.is_over).await;
    }

    /// Returns whether a request may start now.
    pub(crate) fn permission(&self) -> Permission {
        let state = *self.state.borrow();
        match state.term {
            _ if state.is_over => Permission::Expired,
            None => Permission::Granted,
            Some(term) => match term.permission(self.clock.elapsed()) {
                Permission::Granted if state.is_refused => Permission::AfterPush,
                permission => permission,
            },
        }
    }

    /// Waits until a request may start.
    ///
    /// # Errors
    /// [`Error::LeaseOver`] if requests may no longer start in this pass.
    pub(crate) async fn granted(&self) -> Result<(), Error> {
        let mut changes = self.state.subscribe();
        loop {
            // Marked before the check, so that a change during the check ends the wait.
            changes.mark_unchanged();
            match self.permission() {
                Permission::Granted => return Ok(()),
                Permission::Expired => return Err(Error::LeaseOver),
                Permission::AfterPush => {}
            }
            // The thread of the pass renews or ends the lease. The sender lives in `self`, so waiting cannot
            // fail.
            let _ = changes.changed().await;
        }
    }
}
