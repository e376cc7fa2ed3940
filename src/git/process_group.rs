//! Runs a program in its own process group, which ends as a whole: by its caller, and with gitoggle.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, waitid, waitpgid,
};

use super::temporary_folder::remove_all;

/// How often the main thread looks at a process.
const STEP: Duration = Duration::from_millis(50);

/// How often it looks at a process that is ending.
const LAST_STEP: Duration = Duration::from_millis(2);

/// The time that a process has to close its output after its end, and to end after SIGTERM.
const END_GRACE: Duration = Duration::from_secs(1);

/// The longest time in which the output of a process that has ended is read.
const LONGEST_READ: Duration = Duration::from_secs(60);

/// How long processes that record may go on after a signal. What a pass has done must still be recorded.
const WIND_DOWN: Duration = Duration::from_secs(20);

/// The number of bytes of each output that are kept.
const MOST_KEPT: usize = 64 << 20;

/// What a process may do once gitoggle was told to end.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum StepKind {
    /// It records on a host what was sent, and may go on for a while.
    Push,
    /// Nothing is lost without it, so it ends at once.
    Read,
    /// It records here what is sent, and may go on as long as a push.
    Write,
}

/// Has each process of this crate end soon, because gitoggle was told to end: reads at once, and what records
/// after 20 s.
pub(crate) fn wind_down() {
    WRITES_END.get_or_init(|| Instant::now() + WIND_DOWN);
}

/// Kills all processes of this crate, before gitoggle ends without waiting for them, and removes its clones
/// for one command.
pub(crate) fn kill_all() {
    for group in lock(&RUNNING).iter().filter_map(|id| Pid::from_raw(*id)) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    remove_all();
}

/// Set once gitoggle is told to end.
static WRITES_END: OnceLock<Instant> = OnceLock::new();

/// The running process groups. Contended by concurrent processes and by the end of gitoggle, each for one
/// change.
static RUNNING: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether a process of this kind must end because gitoggle was told to.
pub(super) fn is_over(kind: StepKind) -> bool {
    WRITES_END.get().is_some_and(|end| kind == StepKind::Read || Instant::now() >= *end)
}

/// A running process group, which ends on drop.
pub(super) struct ProcessGroup {
    child: Child,
    is_ended: bool,
    outputs: [Arc<Mutex<Vec<u8>>>; 2],
    /// The pipes of the outputs.
    pipes: Vec<OwnedFd>,
    /// Receives a message for each piece of output, and disconnects once both outputs are closed.
    news: Receiver<()>,
    last: Instant,
}

impl ProcessGroup {
    /// Starts `command`, which reads `input`.
    pub(super) fn start(command: &mut Command, input: Stdio) -> io::Result<Self> {
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.process_group(0).spawn()?;
        lock(&RUNNING).insert(group(&child));
        let (sender, news) = channel();
        let mut started = Self {
            child,
            is_ended: false,
            outputs: Default::default(),
            pipes: Vec::new(),
            news,
            last: Instant::now(),
        };
        let stdout = started.child.stdout.as_ref().map(AsFd::as_fd);
        let pipes = stdout.into_iter().chain(started.child.stderr.as_ref().map(AsFd::as_fd));
        started.pipes = pipes.map(|pipe| pipe.try_clone_to_owned()).collect::<io::Result<_>>()?;
        let [stdout, stderr] = &started.outputs;
        // If one of them cannot start, the process ends with `started`.
        collect(started.child.stdout.take(), stdout, sender.clone())?;
        collect(started.child.stderr.take(), stderr, sender)?;
        Ok(started)
    }

    /// Waits for a moment. Returns the exit code of the process if it has ended; none of a process that a
    /// signal ended.
    pub(super) fn ended(&mut self) -> Option<Option<i32>> {
        let are_closed = self.wait(STEP);
        // It is reaped at the drop. Until then, no other group can have its id, so its group can be signaled.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status =
            Pid::from_raw(group(&self.child)).and_then(|id| waitid(WaitId::Pid(id), options).ok()?);
        let Some(status) = status else {
            if are_closed {
                std::thread::sleep(LAST_STEP);
            }
            return None;
        };
        self.is_ended = true;
        // A process in the background may keep the outputs open, such as the master of a shared ssh
        // connection.
        if !are_closed {
            let began = Instant::now();
            let mut until = began + END_GRACE;
            while !self.wait(STEP) && Instant::now() < until {
                // On a busy machine, the threads that read may wait for longer than the process ran.
                if self.has_unread() && began.elapsed() < LONGEST_READ {
                    until = Instant::now() + END_GRACE;
                }
            }
        }
        Some(status.exit_status())
    }

    /// Returns whether there is output that nobody has read yet.
    fn has_unread(&self) -> bool {
        self.pipes.iter().any(|pipe| ioctl_fionread(pipe).is_ok_and(|count| count > 0))
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

    /// Returns the time since the last output.
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
        let Some(group) = Pid::from_raw(id) else { return };
        if !self.is_ended {
            // Git removes its lock files at this signal.
            let _ = kill_process_group(group, Signal::TERM);
            let until = Instant::now() + END_GRACE;
            while !self.wait(STEP) && Instant::now() < until {}
        }
        // However the process ended, what it started ends with it, such as an ssh that still waits for its
        // host.
        let _ = kill_process_group(group, Signal::KILL);
        lock(&RUNNING).remove(&id);
        let _ = self.child.wait();
        reap(group);
    }
}

/// Reaps the other processes of a group, which are children of this process if it is the first one of a
/// container.
fn reap(group: Pid) {
    let until = Instant::now() + END_GRACE;
    loop {
        match waitpgid(group, WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) if Instant::now() < until => std::thread::sleep(LAST_STEP),
            // None is left, or none is a child of this process.
            _ => return,
        }
    }
}

fn group(child: &Child) -> i32 {
    i32::try_from(child.id()).expect("a process id is positive")
}

/// Collects an output in the background.
fn collect(
    output: Option<impl Read + Send + 'static>,
    into: &Arc<Mutex<Vec<u8>>>,
    news: Sender<()>,
) -> io::Result<()> {
    let Some(mut output) = output else { return Ok(()) };
    let kept = Arc::clone(into);
    let collector = Builder::new().spawn(move || {
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
    collector.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `script` to its end, and returns whether it succeeded and the number that it printed.
    fn ended(script: &str) -> (bool, u32) {
        let mut process =
            ProcessGroup::start(Command::new("sh").args(["-c", script]), Stdio::null()).unwrap();
        let code = loop {
            if let Some(code) = process.ended() {
                break code;
            }
        };
        let (stdout, _) = process.output();
        (code == Some(0), String::from_utf8(stdout).unwrap().trim().parse().unwrap())
    }

    /// Returns the state of a process, such as `Z` for a zombie; none if there is none.
    fn state(id: u32) -> Option<char> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        stat.rsplit(") ").next()?.chars().next()
    }

    #[test]
    fn the_output_of_a_process_that_has_ended_is_read_to_its_end() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 0.3; head -c 50000 /dev/zero"]);
        let mut process = ProcessGroup::start(&mut command, Stdio::null()).unwrap();
        let output = Arc::clone(&process.outputs[0]);
        std::thread::scope(|scope| {
            // What reads the output waits for longer than a process has to close it.
            scope.spawn(move || {
                let held = lock(&output);
                std::thread::sleep(2 * END_GRACE);
                drop(held);
            });
            while process.ended().is_none() {}
        });
        assert_eq!(process.output().0.len(), 50_000);
    }

    #[test]
    fn what_a_process_started_ends_with_it_and_is_reaped_however_it_ended() {
        // The first process of a container adopts the children of processes that end.
        rustix::process::set_child_subreaper(Some(Pid::INIT)).unwrap();
        for (end, is_success) in [("exit 0", true), ("exit 7", false), ("kill -9 $$", false)] {
            for output in ["</dev/null >/dev/null 2>&1", ""] {
                let (succeeded, left) = ended(&format!("sleep 600 {output} & echo $!; {end}"));
                assert_eq!(succeeded, is_success, "{end}");
                assert_eq!(state(left), None, "{end} {output}");
            }
        }
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & sleep 600"]);
        let process = ProcessGroup::start(&mut command, Stdio::null()).unwrap();
        let group = group(&process.child);
        drop(process);
        assert!(kill_process_group(Pid::from_raw(group).unwrap(), Signal::KILL).is_err());
    }
}
