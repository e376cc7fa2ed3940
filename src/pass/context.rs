//! Connects a running pass to its caller: where it runs, the signal to stop, and an observer.

#[cfg(test)]
use std::pin::Pin;

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{fmt, thread};

use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tracing::Instrument as _;

use crate::model::CommitId;
use crate::pass::Error;
use crate::pass::report::ChangeResult;
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
    /// The pass has read the source at this revision.
    Looked(CommitId),
    /// The first request of this plan is about to be sent.
    Begins(&'a Plan),
    /// A request ended after this time, with or without a response.
    Answered(&'a Outcome, Duration),
    /// Publishing a change has ended, after this last request, if any was sent.
    Ended(&'a Change, &'a ChangeResult, Option<PublishAnswer>),
    /// The service is in doubt: so many different toggles in a row had no useful response, the last one this. None once it
    /// is not anymore.
    Doubted(Option<(usize, &'a Outcome)>),
    /// The service asked for a pause of this length (`Retry-After`).
    HeldBack(Duration),
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

/// Returns the number of threads that can run at once.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Where the lanes of a pass run.
#[derive(Clone, Debug)]
pub enum Runtime {
    /// On the threads of a Tokio runtime. A pass must not run on one of them.
    Tokio(Handle),
    /// On the thread of the pass, whenever it waits.
    #[cfg(test)]
    Simulated(Arc<dyn SimulatedRuntime>),
}

/// A runtime without threads, in which a test decides what runs when.
#[cfg(test)]
pub trait SimulatedRuntime: fmt::Debug + Send + Sync {
    /// Accepts a task. Runs nothing yet.
    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>);
    /// Runs the tasks until `is_done` returns true, or for `timeout` of simulated time.
    fn run(&self, is_done: &mut dyn FnMut() -> bool, timeout: Duration);
}

/// A task that [`Runtime::wait`] waits for.
pub(crate) struct Task<T>(mpsc::Receiver<thread::Result<T>>);

/// How waiting for a task ended.
#[derive(Debug)]
pub(crate) enum Waited<T> {
    Done(T),
    /// The time is over, and the task is still running.
    Elapsed,
    /// The runtime was shut down before the task ended.
    Cancelled,
}

impl Runtime {
    /// Starts a task in the current tracing span.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        let (sender, receiver) = mpsc::channel();
        // Without this, a panic would drop the sender, and `wait` would take it for a shutdown.
        let future = AssertUnwindSafe(future).catch_unwind().in_current_span();
        // The send fails only if the pass no longer waits, so the error does not matter.
        let task = async move { drop(sender.send(future.await)) };
        match self {
            Self::Tokio(handle) => drop(handle.spawn(task)),
            #[cfg(test)]
            Self::Simulated(runtime) => runtime.spawn(Box::pin(task)),
        }
        Task(receiver)
    }

    /// Awaits what another thread is about to finish. A simulation does not let time pass meanwhile.
    pub(crate) async fn recorded<T>(&self, future: impl Future<Output = T>) -> T {
        match self {
            Self::Tokio(_) => future.await,
            #[cfg(test)]
            Self::Simulated(_) => {
                let (mut future, mut context) =
                    (std::pin::pin!(future), std::task::Context::from_waker(std::task::Waker::noop()));
                loop {
                    if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut context) {
                        return value;
                    }
                    thread::yield_now();
                }
            }
        }
    }

    /// Blocks until the task ends.
    ///
    /// # Errors
    /// [`Error::Cancelled`]
    pub(crate) fn finish<T>(&self, task: &Task<T>) -> Result<T, Error> {
        loop {
            match self.wait(task, Duration::from_secs(60)) {
                Waited::Done(value) => return Ok(value),
                Waited::Elapsed => {}
                Waited::Cancelled => return Err(Error::Cancelled),
            }
        }
    }

    /// Blocks until the task ends, at most for `timeout`. A panic of the task continues here.
    pub(crate) fn wait<T>(&self, task: &Task<T>, timeout: Duration) -> Waited<T> {
        let received = match self {
            Self::Tokio(_) => task.0.recv_timeout(timeout),
            #[cfg(test)]
            Self::Simulated(runtime) => simulated(runtime.as_ref(), task, timeout),
        };
        match received {
            Ok(Ok(value)) => Waited::Done(value),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Timeout) => Waited::Elapsed,
            Err(RecvTimeoutError::Disconnected) => Waited::Cancelled,
        }
    }
}

#[cfg(test)]
fn simulated<T>(
    runtime: &dyn SimulatedRuntime,
    task: &Task<T>,
    timeout: Duration,
) -> Result<thread::Result<T>, RecvTimeoutError> {
    let mut received = Err(RecvTimeoutError::Timeout);
    let mut is_done = || {
        received = task.0.try_recv().map_err(|error| match error {
            mpsc::TryRecvError::Empty => RecvTimeoutError::Timeout,
            mpsc::TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        });
        !matches!(received, Err(RecvTimeoutError::Timeout))
    };
    runtime.run(&mut is_done, timeout);
    received
}
