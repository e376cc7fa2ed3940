//! Runs the lanes of a pass: on the threads of a runtime or, in a simulation, on the thread of the pass.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
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

/// Runs tasks.
pub trait Executor: std::fmt::Debug + Send + Sync {
    /// Accepts a task.
    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>);

    /// Blocks until `ended` receives or is disconnected, at most for `timeout`. It must not be called by a
    /// task.
    fn wait(&self, ended: &Receiver<()>, timeout: Duration) -> Result<(), RecvTimeoutError>;

    /// Awaits what another thread is about to finish. Virtual time does not pass meanwhile.
    fn recorded<'a>(
        &self,
        future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}

/// The threads of a Tokio runtime. A pass must not run on one of them.
impl Executor for Handle {
    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        drop(Handle::spawn(self, task));
    }

    fn wait(&self, ended: &Receiver<()>, timeout: Duration) -> Result<(), RecvTimeoutError> {
        ended.recv_timeout(timeout)
    }

    fn recorded<'a>(
        &self,
        future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        future
    }
}

/// Where the lanes of a pass run.
#[derive(Clone, Debug)]
pub struct Runtime(Arc<dyn Executor>);

/// A task that [`Runtime::wait`] waits for.
pub(crate) struct Task<T> {
    ended: Receiver<()>,
    result: Receiver<thread::Result<T>>,
}

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
    pub fn new(executor: impl Executor + 'static) -> Self {
        Self(Arc::new(executor))
    }

    /// Starts a task in the current tracing span.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        let ((end, ended), (sender, result)) = (mpsc::channel(), mpsc::channel());
        // Without this, a panic would drop the senders, and `wait` would take it for a shutdown.
        let future = AssertUnwindSafe(future).catch_unwind().in_current_span();
        self.0.spawn(Box::pin(async move {
            // The sends fail only if the pass no longer waits, so the errors do not matter.
            drop(sender.send(future.await));
            let _ = end.send(());
        }));
        Task { ended, result }
    }

    /// Awaits what another thread is about to finish. A simulation does not let time pass meanwhile.
    pub(crate) async fn recorded<T: Send>(&self, future: impl Future<Output = T> + Send) -> T {
        let mut value = None;
        self.0.recorded(Box::pin(async { value = Some(future.await) })).await;
        value.expect("the future has ended")
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
        if let Err(RecvTimeoutError::Timeout) = self.0.wait(&task.ended, timeout) {
            return Waited::Elapsed;
        }
        match task.result.try_recv() {
            Ok(Ok(value)) => Waited::Done(value),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => Waited::Cancelled,
        }
    }
}
