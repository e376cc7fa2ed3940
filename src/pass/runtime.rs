//! Runs the lanes of a pass: on the threads of a runtime or, in a simulation, on the thread of the pass.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, resume_unwind};
#[cfg(test)]
use std::pin::Pin;
#[cfg(test)]
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tracing::Instrument as _;

use crate::pass::Error;

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
pub trait SimulatedRuntime: std::fmt::Debug + Send + Sync {
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
