//! Connects a running pass to its caller: where it runs, the signal to stop, and an observer of its events.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::report::ChangeResult;
use super::runtime::Runtime;
use crate::model::{CommitId, LiveToggle, Sent, ToggleId};
use crate::plan::{Change, Plan};
use crate::service::Outcome;

/// Receives the events of a pass, on the threads that send.
pub type Observe = Arc<dyn Fn(&Event<'_>) + Send + Sync>;

/// Where the requests of a pass run, the signal that stops it, and its observer.
#[derive(Clone)]
pub struct PassContext {
    pub(crate) runtime: Runtime,
    /// Becomes true when no further request may start.
    pub stop: watch::Receiver<bool>,
    observe: Observe,
}

/// The end of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PublishAnswer {
    /// The status of the response; none without a response.
    pub status: Option<u16>,
    /// The time until the response or the failure.
    pub took: Duration,
}

/// An event of a running pass.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Another process publishes on the shared state, and the pass waits for it. Names that process.
    Queues(&'a str),
    /// The pass has read the source at this revision.
    Looked(CommitId),
    /// The first request of this plan is about to be sent.
    Begins(&'a Plan),
    /// This request is about to be recorded, and then sent.
    Sends(&'a ToggleId, &'a Sent),
    /// A request for this toggle ended after this time, with or without a response.
    Answered(&'a ToggleId, &'a Outcome, Duration),
    /// An attempt failed after this time before its publish: the toggle could not be read or created.
    Failed(&'a ToggleId, &'a Outcome, Duration),
    /// Publishing a change has ended, after this last request, if any was sent.
    Ended(&'a Change, &'a ChangeResult, Option<PublishAnswer>),
    /// The service is in doubt: this many different toggles in a row had no useful
    /// response, of which the last outcome is given. None once it is not in doubt anymore.
    Doubted(Option<(usize, &'a Outcome)>),
    /// The service asked for a pause of this length (`Retry-After`).
    HeldBack(Duration),
    /// A change is about to be sent over what someone changed on the service, which its plan does not list.
    Overwrites(&'a Change, &'a LiveToggle),
}

impl PassContext {
    /// Creates the context of a pass that `stop` ends early. The pass must not run on a thread of `runtime`.
    pub fn new(
        runtime: Runtime,
        stop: watch::Receiver<bool>,
        observe: impl Fn(&Event<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self { runtime, stop, observe: Arc::new(observe) }
    }

    /// Creates the context of a pass that nothing stops and nothing observes.
    pub fn unobserved(runtime: Runtime) -> Self {
        Self::new(runtime, watch::channel(false).1, |_| {})
    }

    pub(super) fn report(&self, event: Event<'_>) {
        (self.observe)(&event);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        *self.stop.borrow()
    }
}

impl fmt::Debug for PassContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PassContext").finish_non_exhaustive()
    }
}
