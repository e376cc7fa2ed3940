//! Starts the runtime of a command. If the system has no thread left, that is an error and not a panic.

use std::io;
use std::ops::Deref;
use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::watch;

use super::failure::Failure;
use super::signals::{limit_stop, stop_on_signal};
use crate::pass::{PassContext, Runtime};

/// A runtime that does not wait for its threads at the end.
pub(super) struct CommandRuntime(Option<tokio::runtime::Runtime>);

impl Deref for CommandRuntime {
    type Target = tokio::runtime::Runtime;

    fn deref(&self) -> &Self::Target {
        self.0.as_ref().expect("the runtime is present until the drop")
    }
}

impl Drop for CommandRuntime {
    fn drop(&mut self) {
        // A fetch that hangs only updates a cache.
        self.0.take().into_iter().for_each(tokio::runtime::Runtime::shutdown_background);
    }
}

pub(super) fn multi_threaded(threads: usize) -> Result<CommandRuntime, Failure> {
    start(tokio::runtime::Builder::new_multi_thread().worker_threads(threads), threads)
}

/// Starts a runtime. It has one thread for blocking work from the start: without one, it would panic if the
/// system has no thread left; with one, the work waits for a thread.
pub(super) fn start(
    runtime: &mut tokio::runtime::Builder,
    workers: usize,
) -> Result<CommandRuntime, Failure> {
    const DOING: &str = "start the threads of this process";
    try_threads(workers + 1).map_err(Failure::could_not(DOING))?;
    let built = quietly(|| {
        // Before the thread starts: the end of any other runtime would wait for a thread that never ends.
        let runtime = CommandRuntime(Some(runtime.enable_all().build()?));
        runtime.spawn_blocking(|| {
            loop {
                std::thread::park();
            }
        });
        Ok::<_, io::Error>(runtime)
    });
    built.map_err(Failure::could_not(DOING))?.map_err(Failure::failed)
}

/// Starts `count` threads at once, and ends them. A runtime of which only some threads can start would never
/// return.
fn try_threads(count: usize) -> io::Result<()> {
    let running = || std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    let (before, gate) = (running(), Mutex::new(()));
    std::thread::scope(|scope| {
        let _closed = gate.lock();
        let start = || std::thread::Builder::new().spawn_scoped(scope, || drop(gate.lock()));
        (0..count).try_for_each(|_| start().map(drop))
    })?;
    // For a moment, a thread that has ended counts for the limit of the system.
    for _ in 0..100 {
        if running() <= before {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Returns the message of a panic of `work`, which is not printed.
fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    std::panic::set_hook(hook);
    result.map_err(|panic| {
        panic.downcast::<String>().map_or_else(|_| "no thread is left".to_owned(), |text| *text)
    })
}

/// Starts the runtime of a command that sends requests from its main thread, and returns the flag that a
/// signal sets.
pub(super) fn stoppable() -> Result<(CommandRuntime, watch::Receiver<bool>), Failure> {
    let runtime = multi_threaded(1)?;
    let stop = {
        let _entered = runtime.enter();
        let stop = stop_on_signal().map_err(Failure::failed)?;
        limit_stop(stop.clone());
        stop
    };
    Ok((runtime, stop))
}

/// Starts the runtime of a command that only reads the service, and the context that a signal stops.
pub(super) fn for_reads() -> Result<(CommandRuntime, PassContext), Failure> {
    let (runtime, stop) = stoppable()?;
    let context = PassContext::new(Runtime::new(runtime.handle().clone()), stop, |_| {});
    Ok((runtime, context))
}
