//! One pass in virtual time: the clock, the runtime of the lanes and the service are played by the test.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::publish::service::SimulatedService;
use super::runtime::SimulatedRuntime;
use super::{Config, PassContext, Reconciler, Runtime};
use crate::model::{Certainty, ToggleId};
use crate::plan::FirstPass;
use crate::service::Outcome;
use crate::source::testing::Repo;
use crate::state::{Clock, SimulatedClock};

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A machine on which time passes only while everything waits.
#[derive(Clone, Debug)]
struct Machine(Arc<Parts>);

struct Parts {
    start: Instant,
    now: Mutex<Duration>,
    timers: Mutex<Vec<(Duration, Waker)>>,
    tasks: Mutex<Vec<BoxFuture<()>>>,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "machine at {:?}", self.now.lock().unwrap())
    }
}

impl Machine {
    fn new() -> Self {
        Self(Arc::new(Parts {
            start: Instant::now(),
            now: Mutex::default(),
            timers: Mutex::default(),
            tasks: Mutex::default(),
            woken: Arc::default(),
        }))
    }

    fn poll_tasks(&self) {
        let waker = Waker::from(Arc::clone(&self.0.woken));
        let mut context = Context::from_waker(&waker);
        let mut tasks = std::mem::take(&mut *self.0.tasks.lock().unwrap());
        tasks.retain_mut(|task| task.as_mut().poll(&mut context).is_pending());
        self.0.tasks.lock().unwrap().append(&mut tasks);
    }
}

impl Machine {
    /// Lets time pass until the next timer, at most until `end`.
    fn advance(&self, end: Duration) {
        let mut timers = self.0.timers.lock().unwrap();
        let next = timers.iter().map(|(at, _)| *at).min().unwrap_or(end);
        let now = next.clamp(self.elapsed(), end);
        *self.0.now.lock().unwrap() = now;
        timers
            .extract_if(.., |(at, _)| *at <= now)
            .for_each(|(_, waker)| waker.wake());
    }
}

impl SimulatedClock for Machine {
    fn elapsed(&self) -> Duration {
        *self.0.now.lock().unwrap()
    }

    fn unix(&self) -> i64 {
        1_700_000_000 + i64::try_from(self.elapsed().as_secs()).unwrap()
    }

    fn instant(&self) -> Instant {
        self.0.start + self.elapsed()
    }

    fn sleep(&self, duration: Duration) {
        *self.0.now.lock().unwrap() += duration;
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<()> {
        let (machine, at) = (self.clone(), at - self.0.start);
        Box::pin(std::future::poll_fn(move |context| {
            if machine.elapsed() >= at {
                return Poll::Ready(());
            }
            machine
                .0
                .timers
                .lock()
                .unwrap()
                .push((at, context.waker().clone()));
            Poll::Pending
        }))
    }
}

impl SimulatedRuntime for Machine {
    fn spawn(&self, task: BoxFuture<()>) {
        self.0.tasks.lock().unwrap().push(task);
    }

    fn run(&self, is_done: &mut dyn FnMut() -> bool, timeout: Duration) {
        let end = self.elapsed() + timeout;
        loop {
            self.poll_tasks();
            if is_done() || self.elapsed() >= end {
                return;
            }
            if !self.0.woken.0.swap(false, Ordering::SeqCst) {
                self.advance(end);
            }
        }
    }
}

/// A service that is slow, and that loses the first answer about one toggle.
#[derive(Debug)]
struct SlowService {
    clock: Clock,
    lost: &'static str,
    requests: Mutex<Vec<(Duration, String)>>,
}

impl SimulatedService for SlowService {
    fn publish(&self, toggle: &ToggleId, _: Bytes) -> BoxFuture<Outcome> {
        let mut requests = self.requests.lock().unwrap();
        let is_lost = toggle.as_str() == self.lost && !requests.iter().any(|(_, id)| id == self.lost);
        requests.push((self.clock.elapsed(), toggle.to_string()));
        let (clock, answer_at) = (self.clock.clone(), self.clock.instant() + Duration::from_secs(4));
        Box::pin(async move {
            clock.sleep_until(answer_at).await;
            match is_lost {
                true => Outcome::Busy {
                    status: Some(503),
                    retry_after: Some(Duration::from_secs(20)),
                    certainty: Certainty::NotStored,
                    reason: "the service answered 503".to_owned(),
                },
                false => Outcome::Applied { status: 200 },
            }
        })
    }
}

const DOCUMENT: &str = "disabled: false\ncontent:\n  variations:\n    - { name: a, value: x }\n  rules: []\n  \
     disabledServe: { select: 0 }\n  defaultServe: { select: 0 }\n";

/// Makes one pass, and returns when each request left.
fn requests_of_a_pass() -> Vec<(Duration, String)> {
    fastrand::seed(7);
    let (repo, state) = (Repo::new(), tempfile::tempdir().unwrap());
    for toggle in ["a", "b", "c"] {
        repo.write(&format!("shop/{toggle}/pay.yaml"), DOCUMENT);
    }
    repo.commit("add toggles");
    let machine = Machine::new();
    let mut config = Config::local(repo.path(), state.path().to_owned());
    config.rules.base_url = Some("https://toggles.example.org".to_owned());
    config.rules.policy.first_pass = Some(FirstPass::Assert);
    config.clock = Clock::Simulated(Arc::new(machine.clone()));
    let service = Arc::new(SlowService {
        clock: config.clock.clone(),
        lost: "shop/b/pay",
        requests: Mutex::default(),
    });
    let mut reconciler = Reconciler::open(config, Duration::ZERO).unwrap();
    let simulated = Arc::clone(&service);
    reconciler.simulated = Some(simulated);
    let runtime = Runtime::Simulated(Arc::new(machine.clone()));
    let report = reconciler.pass(&PassContext::default(), &runtime).unwrap();
    assert!(report.is_complete(), "{report:?}");
    assert!(reconciler.view().has_applied());
    service.requests.lock().unwrap().clone()
}

#[test]
fn a_pass_runs_in_virtual_time_and_is_repeatable() {
    let requests = requests_of_a_pass();
    assert_eq!(requests.len(), 4, "{requests:?}");
    assert!(
        requests[3].0 >= Duration::from_secs(24),
        "the wait was kept: {requests:?}"
    );
    assert_eq!(requests, requests_of_a_pass());
}
