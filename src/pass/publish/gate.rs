//! Whether a request may start now. The thread of the pass decides it, and the sender asks before each request.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::state::Clock;

/// Whether a request may start now.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    clock: Clock,
    /// For how long requests may start after a successful renewal. Nothing where the state is not shared.
    term: Option<Duration>,
    state: Arc<watch::Sender<GateState>>,
}

#[derive(Debug)]
struct GateState {
    /// When the last successful renewal began, by [`Clock::elapsed`].
    renewed_at: Duration,
    is_closed: bool,
}

impl Gate {
    /// Opens a gate that was renewed just now.
    pub(crate) fn new(clock: Clock, term: Option<Duration>) -> Self {
        let state = GateState {
            renewed_at: clock.elapsed(),
            is_closed: false,
        };
        Self {
            clock,
            term,
            state: Arc::new(watch::Sender::new(state)),
        }
    }

    /// Notes a successful renewal that began at this moment.
    pub(crate) fn renew(&self, began: Duration) {
        self.state.send_modify(|state| state.renewed_at = began);
    }

    /// Lets no further request start in this pass.
    pub(crate) fn close(&self) {
        self.state.send_modify(|state| state.is_closed = true);
    }

    pub(super) fn may_start(&self) -> bool {
        let state = self.state.borrow();
        let is_over = |term| self.clock.elapsed() >= state.renewed_at + term;
        !state.is_closed && !self.term.is_some_and(is_over)
    }

    pub(super) async fn closed(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.state.subscribe().wait_for(|state| state.is_closed).await;
    }
}
