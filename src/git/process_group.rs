//! Runs a program in a process group of its own, which ends as a whole: by its caller, and with gitoggle.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How often the main thread looks at a process.
const STEP: Duration = Duration::from_millis(50);

/// The time that a process has to close its output after its end, and to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(1);

/// How long pushes may go on after a signal. What a pass has done must still be recorded.
const WIND_DOWN: Duration = Duration::from_secs(20);

/// The number of bytes of each output that are kept.
const MOST_KEPT: usize = 64 << 20;

#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum StepKind {
    Push,
    Read,
}

/// Has each process of this crate end soon, because gitoggle was told to end: reads at once, and pushes after 20 s.
pub(crate) fn wind_down() {
    PUSHES_END.get_or_init(|| Instant::now() + WIND_DOWN);
}

/// Kills all processes of this crate, before gitoggle ends without waiting for them.
pub(crate) fn kill_all() {
    for group in lock(&RUNNING).iter().filter_map(|id| Pid::from_raw(*id)) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Set once gitoggle is told to end.
static PUSHES_END: OnceLock<Instant> = OnceLock::new();

/// The running process groups. Contended by concurrent processes and by the end of gitoggle, each for one change.
static RUNNING: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether a process of this kind must end because gitoggle was told to.
pub(super) fn is_over(kind: StepKind) -> bool {
    PUSHES_END.get().is_some_and(|end| kind == StepKind::Read || Instant::now() >= *end)
}

/// A running process group, which ends on drop.
pub(super) struct ProcessGroup {
    child: Child,
    is_ended: bool,
    outputs: [Arc<Mutex<Vec<u8>>>; 2],
    /// Receives a message for each piece of output, and disconnects once both outputs are closed.
    news: Receiver<()>,
    last: Instant,
}

impl ProcessGroup {
    /// Starts `command` without input.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn()?;
        lock(&RUNNING).insert(group(&child));
        let (sender, news) = channel();
        let stdout = collect(child.stdout.take(), sender.clone());
        let stderr = collect(child.stderr.take(), sender);
        Ok(Self { child, is_ended: false, outputs: [stdout, stderr], news, last: Instant::now() })
    }

    /// Waits for a moment. Returns whether the process succeeded, if it has ended.
    pub(super) fn ended(&mut self) -> Option<bool> {
        let are_closed = self.wait(STEP);
        let status = match are_closed {
            // Both outputs are closed, so it is ending.
            true => self.child.wait().ok(),
            false => self.child.try_wait().ok().flatten(),
        };
        let status = status?;
        self.is_ended = true;
        // A process in the background may keep the outputs open, such as the master of a shared ssh connection.
        if !are_closed {
            let until = Instant::now() + GRACE;
            while !self.wait(STEP) && Instant::now() < until {}
        }
        Some(status.success())
    }

    /// Waits for output for a while. Returns whether both outputs are closed.
    fn wait(&mut self, limit: Duration) -> bool {
        match self.news.recv_timeout(limit) {
            Ok(()) => {
                self.last = Instant::now();
                while self.news.try_recv().is_ok() {}
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        }
    }

    pub(super) fn silence(&self) -> Duration {
        self.last.elapsed()
    }

    pub(super) fn output(&mut self) -> (Vec<u8>, Vec<u8>) {
        let [stdout, stderr] = &self.outputs;
        (std::mem::take(&mut lock(stdout)), std::mem::take(&mut lock(stderr)))
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let id = group(&self.child);
        // Before the child is reaped, its group exists, so that no other group can have its id.
        if let Some(group) = Pid::from_raw(id).filter(|_| !self.is_ended) {
            // Git removes its lock files at this signal.
            let _ = kill_process_group(group, Signal::TERM);
            let until = Instant::now() + GRACE;
            while !self.wait(STEP) && Instant::now() < until {}
            let _ = kill_process_group(group, Signal::KILL);
            let _ = self.child.wait();
        }
        lock(&RUNNING).remove(&id);
    }
}

fn group(child: &Child) -> i32 {
    i32::try_from(child.id()).expect("a process id is positive")
}

/// Collects an output in the background.
fn collect(output: Option<impl Read + Send + 'static>, news: Sender<()>) -> Arc<Mutex<Vec<u8>>> {
    let collected = Arc::new(Mutex::new(Vec::new()));
    let Some(mut output) = output else {
        return collected;
    };
    let kept = Arc::clone(&collected);
    std::thread::spawn(move || {
        let mut buffer = [0; 16 << 10];
        while let Ok(count @ 1..) = output.read(&mut buffer) {
            // Reading goes on beyond the limit, because the process would block at a full pipe.
            let mut kept = lock(&kept);
            let room = MOST_KEPT.saturating_sub(kept.len()).min(count);
            kept.extend_from_slice(&buffer[..room]);
            drop(kept);
            let _ = news.send(());
        }
    });
    collected
}
