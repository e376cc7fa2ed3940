//! Virtual time: a queue of events, and one baton. Only the thread that holds the baton runs, so a history
//! depends on its seed alone.
//!
//! A thread that waits puts the moment at which it continues into the queue and carries out the events before
//! it. When the next event is another thread's turn, it hands the baton over.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fastrand::Rng;

/// The payload of the panic by which a simulated process dies.
pub(super) struct Killed;

/// Everything that happens in one history.
#[derive(Clone)]
pub(super) struct World(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    main: Baton,
}

struct State {
    now: Duration,
    next: u64,
    /// By time, and in the order in which they were pushed.
    queue: BTreeMap<(Duration, u64), Action>,
    rng: Rng,
    story: Vec<String>,
    fault: Option<String>,
    is_calm: bool,
    threads: Vec<JoinHandle<()>>,
}

enum Action {
    Do(Box<dyn FnOnce() + Send>),
    Resume(Baton),
}

/// The permission of one thread to run.
#[derive(Clone, Default)]
pub(super) struct Baton(Arc<(Mutex<bool>, Condvar)>);

impl Baton {
    fn give(&self) {
        *lock(&self.0.0) = true;
        self.0.1.notify_one();
    }

    fn take(&self) {
        let mut is_here = lock(&self.0.0);
        while !*is_here {
            is_here = self.0.1.wait(is_here).unwrap_or_else(PoisonError::into_inner);
        }
        *is_here = false;
    }
}

/// Locks a mutex that a process that was killed may have poisoned.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let state = State {
            now: Duration::ZERO,
            next: 0,
            queue: BTreeMap::new(),
            rng: Rng::with_seed(seed),
            story: Vec::new(),
            fault: None,
            is_calm: false,
            threads: Vec::new(),
        };
        Self(Arc::new(Shared { state: Mutex::new(state), main: Baton::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }

    pub(super) fn now(&self) -> Duration {
        self.state().now
    }

    pub(super) fn draw<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        draw(&mut self.state().rng)
    }

    /// Returns a number between `low` and `high`.
    pub(super) fn between(&self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.draw(Rng::f64)
    }

    /// Draws a fault with this probability. Returns `false` after the simulation has ended all faults.
    pub(super) fn trouble(&self, probability: f64) -> bool {
        let mut state = self.state();
        !state.is_calm && state.rng.f64() < probability
    }

    pub(super) fn is_calm(&self) -> bool {
        self.state().is_calm
    }

    pub(super) fn calm_down(&self) {
        self.state().is_calm = true;
    }

    pub(super) fn say(&self, who: &str, what: impl Display) {
        let mut state = self.state();
        let line = format!("{:9.2} {who:8} {what}", state.now.as_secs_f64());
        state.story.push(line);
    }

    /// Ends the history: a guarantee does not hold.
    pub(super) fn fault(&self, what: impl Display) {
        self.say("!!", &what);
        self.state().fault.get_or_insert_with(|| what.to_string());
    }

    pub(super) fn is_over(&self) -> bool {
        self.state().fault.is_some()
    }

    /// Returns the story, and what did not hold.
    pub(super) fn end(&self) -> (Vec<String>, Option<String>) {
        let mut state = self.state();
        (std::mem::take(&mut state.story), state.fault.clone())
    }

    /// Does something after this delay.
    pub(super) fn after(&self, delay: Duration, action: impl FnOnce() + Send + 'static) {
        self.push(delay, Action::Do(Box::new(action)));
    }

    fn push(&self, delay: Duration, action: Action) {
        let mut state = self.state();
        let key = (state.now + delay, state.next);
        state.next += 1;
        state.queue.insert(key, action);
    }

    /// Starts a thread, which runs `body` when it is its turn.
    pub(super) fn start(&self, baton: &Baton, body: impl FnOnce() + Send + 'static) {
        let (world, own) = (self.clone(), baton.clone());
        let seed = self.draw(|rng| rng.u64(..));
        let thread = thread::spawn(move || {
            own.take();
            fastrand::seed(seed);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(body))
                && !panic.is::<Killed>()
            {
                world.fault(format!("panic: {}", message(panic.as_ref())));
            }
            world.dispatch(None);
        });
        self.push(Duration::ZERO, Action::Resume(baton.clone()));
        self.state().threads.push(thread);
    }

    /// Lets time pass on the thread that holds `baton`.
    pub(super) fn pass(&self, baton: &Baton, delay: Duration) {
        self.push(delay, Action::Resume(baton.clone()));
        if !self.dispatch(Some(baton)) {
            baton.take();
        }
    }

    /// Carries out everything that is to happen.
    pub(super) fn run(&self) {
        self.dispatch(None);
        self.0.main.take();
        let threads = std::mem::take(&mut self.state().threads);
        for thread in threads {
            drop(thread.join());
        }
    }

    /// Carries out events until it is a thread's turn. Returns whether that is this thread.
    fn dispatch(&self, own: Option<&Baton>) -> bool {
        loop {
            let mut state = self.state();
            let Some(((at, _), action)) = state.queue.pop_first() else {
                drop(state);
                self.0.main.give();
                return false;
            };
            state.now = state.now.max(at);
            let is_over = state.fault.is_some();
            drop(state);
            match action {
                Action::Do(_) if is_over => {}
                Action::Do(action) => action(),
                Action::Resume(baton) if own.is_some_and(|own| Arc::ptr_eq(&own.0, &baton.0)) => return true,
                Action::Resume(baton) => {
                    baton.give();
                    return false;
                }
            }
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("of another type").to_owned()
}
