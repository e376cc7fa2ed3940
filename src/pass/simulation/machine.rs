//! A simulated process: a thread with its own clocks, on which the tasks of a pass run as well. It can be
//! suspended and killed whenever it waits.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use std::{fmt, fs};

use fastrand::Rng;
use tokio::time::Instant;

use super::world::{Baton, Killed, World, lock};
use crate::git::simulated;
use crate::pass::runtime::Executor;
use crate::state::Clock;

/// How often a process is suspended and killed: a probability for each wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hazards {
    pub(super) frost: f64,
    pub(super) death: f64,
}

#[derive(Clone)]
pub(super) struct Machine(Arc<Inner>);

struct Inner {
    name: String,
    world: World,
    baton: Baton,
    hazards: Hazards,
    /// Seconds of this machine's clocks in a second.
    rate: f64,
    wall: Wall,
    /// Whether the clock that deadlines are computed with stands still while the machine is suspended.
    stands_still: bool,
    epoch: Instant,
    state: Mutex<State>,
    is_alive: AtomicBool,
}

/// The clock on the wall, which anyone may set.
struct Wall {
    offset: i64,
    /// Whether its battery is empty.
    is_stopped: bool,
}

#[derive(Default)]
struct State {
    tasks: Vec<Task>,
    /// By time, and in the order in which they were set.
    timers: BTreeMap<(Instant, u64), Waker>,
    next: u64,
    suspended: Duration,
}

struct Task {
    future: Pin<Box<dyn Future<Output = ()> + Send>>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Machine {
    pub(super) fn new(world: &World, name: String, hazards: Hazards) -> Self {
        let rate = world.between(0.955, 1.045);
        let wall = Wall {
            offset: world.draw(|rng| rng.i64(-200_000..200_000)),
            is_stopped: world.draw(|rng| rng.u8(..10) == 0),
        };
        Self(Arc::new(Inner {
            name,
            world: world.clone(),
            baton: Baton::default(),
            hazards,
            rate,
            wall,
            stands_still: world.draw(Rng::bool),
            epoch: Instant::now(),
            state: Mutex::default(),
            is_alive: AtomicBool::new(true),
        }))
    }

    /// Runs `body` as this process. It ends when `body` does, or is killed.
    pub(super) fn start(&self, body: impl FnOnce() + Send + 'static, ended: impl FnOnce() + Send + 'static) {
        let machine = self.clone();
        self.0.world.start(&self.0.baton, move || {
            let ended = Ended { machine, ended: Some(ended) };
            body();
            drop(ended);
        });
    }

    pub(super) fn name(&self) -> &str {
        &self.0.name
    }

    pub(super) fn is_alive(&self) -> bool {
        self.0.is_alive.load(Ordering::SeqCst)
    }

    pub(super) fn is_calm(&self) -> bool {
        self.0.world.is_calm()
    }

    pub(super) fn say(&self, what: impl fmt::Display) {
        self.0.world.say(&self.0.name, what);
    }

    /// Ends the history: this process did something wrong.
    pub(super) fn fault(&self, what: impl fmt::Display) {
        self.0.world.fault(format_args!("{}: {what}", self.0.name));
    }

    /// Waits. The process may be suspended, or killed, meanwhile.
    pub(super) fn wait(&self, delay: Duration) {
        let Inner { world, hazards, baton, .. } = self.0.as_ref();
        if std::thread::panicking() {
            return;
        }
        world.pass(baton, delay);
        if world.trouble(hazards.frost) {
            self.freeze();
        }
        if world.trouble(hazards.death) {
            self.say("killed");
            self.die();
        }
        if world.is_over() {
            self.die();
        }
    }

    /// Suspends the process.
    pub(super) fn freeze(&self) {
        let seconds = self.0.world.between(20.0, 250.0);
        self.say(format_args!("suspended for {seconds:.0} s"));
        let duration = Duration::from_secs_f64(seconds);
        self.0.world.pass(&self.0.baton, duration);
        lock(&self.0.state).suspended += duration;
        if self.0.world.is_over() {
            self.die();
        }
    }

    fn die(&self) -> ! {
        self.0.is_alive.store(false, Ordering::SeqCst);
        resume_unwind(Box::new(Killed))
    }

    /// Dies at this failpoint, or not.
    pub(super) fn reach(&self, point: &'static str) {
        if !std::thread::panicking() && self.0.world.trouble(self.0.hazards.death / 10.0) {
            self.say(format_args!("killed at `{point}`"));
            self.die();
        }
    }

    /// Returns the time on the clock that never stands still.
    fn local(&self) -> Duration {
        self.0.world.now().mul_f64(self.0.rate)
    }

    fn wait_until(&self, at: Instant) {
        let left = at.saturating_duration_since(self.instant());
        self.wait(left.div_f64(self.0.rate) + Duration::from_nanos(100));
    }

    fn poll_woken(&self) {
        loop {
            let mut tasks = std::mem::take(&mut lock(&self.0.state).tasks);
            let mut is_idle = true;
            tasks.retain_mut(|task| {
                if !task.woken.0.swap(false, Ordering::SeqCst) {
                    return true;
                }
                is_idle = false;
                let waker = Waker::from(Arc::clone(&task.woken));
                task.future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending()
            });
            let mut state = lock(&self.0.state);
            tasks.append(&mut state.tasks);
            state.tasks = tasks;
            if is_idle {
                return;
            }
        }
    }

    fn fire_timers(&self) {
        let now = self.instant();
        let mut state = lock(&self.0.state);
        while let Some(timer) = state.timers.first_entry()
            && timer.key().0 <= now
        {
            timer.remove().wake();
        }
    }
}

/// Marks a process as dead, however it ended.
struct Ended<F: FnOnce()> {
    machine: Machine,
    ended: Option<F>,
}

impl<F: FnOnce()> Drop for Ended<F> {
    fn drop(&mut self) {
        simulated::leave();
        self.machine.0.is_alive.store(false, Ordering::SeqCst);
        let tasks = std::mem::take(&mut lock(&self.machine.0.state).tasks);
        drop(tasks);
        if let Some(ended) = self.ended.take() {
            ended();
        }
    }
}

impl Executor for Machine {
    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        lock(&self.0.state).tasks.push(Task { future: task, woken: Arc::new(Woken(AtomicBool::new(true))) });
    }

    fn wait(&self, ended: &Receiver<()>, timeout: Duration) -> Result<(), RecvTimeoutError> {
        let end = self.instant() + timeout;
        loop {
            self.poll_woken();
            // A process that was killed in a task ends here.
            match ended.try_recv() {
                Ok(()) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) if self.instant() >= end => return Err(RecvTimeoutError::Timeout),
                Err(TryRecvError::Empty) => {}
            }
            let timer = lock(&self.0.state).timers.keys().next().map(|(at, _)| *at);
            self.wait_until(timer.map_or(end, |at| at.min(end)));
            self.fire_timers();
        }
    }

    fn recorded<'a>(
        &self,
        future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        let threads = tokio::runtime::Builder::new_current_thread().build();
        threads.expect("a runtime").block_on(future);
        Box::pin(std::future::ready(()))
    }
}

impl Clock for Machine {
    fn elapsed(&self) -> Duration {
        self.local()
    }

    fn unix(&self) -> i64 {
        let seconds = if self.0.wall.is_stopped {
            0
        } else {
            i64::try_from(self.local().as_secs()).unwrap_or_default()
        };
        // Someone sets it now and then.
        let jump = if self.0.world.trouble(0.05) { self.0.world.draw(|rng| rng.i64(-4000..4000)) } else { 0 };
        1_700_000_000 + self.0.wall.offset + seconds + jump
    }

    fn instant(&self) -> Instant {
        let suspended = if self.0.stands_still {
            lock(&self.0.state).suspended.mul_f64(self.0.rate)
        } else {
            Duration::ZERO
        };
        self.0.epoch + self.local().saturating_sub(suspended)
    }

    fn sleep(&self, duration: Duration) {
        self.wait(duration.div_f64(self.0.rate));
    }

    fn sleep_until(&self, at: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let machine = self.clone();
        Box::pin(std::future::poll_fn(move |context| {
            if machine.instant() >= at {
                return Poll::Ready(());
            }
            let mut state = lock(&machine.0.state);
            let key = (at, state.next);
            state.next += 1;
            state.timers.insert(key, context.waker().clone());
            Poll::Pending
        }))
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}

/// Loses the end of the journal of a process that was killed: outcomes, which nothing waits for to be on the
/// disk. Returns whether it did.
pub(super) fn tear(world: &World, disk: &Path) -> bool {
    let path = disk.join("journal");
    let Ok(journal) = fs::read(&path) else {
        return false;
    };
    let lines: Vec<&[u8]> = journal.split_inclusive(|byte| *byte == b'\n').collect();
    let outcomes = lines.iter().rev().take_while(|line| line.starts_with(b"{\"outcome\"")).count();
    if outcomes == 0 || !world.trouble(0.3) {
        return false;
    }
    let kept = lines.len() - world.draw(|rng| rng.usize(1..=outcomes));
    fs::write(&path, lines[..kept].concat()).expect("a journal");
    world.say("", "the end of the journal is lost");
    true
}
