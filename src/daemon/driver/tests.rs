//! Tests the driver in virtual time: hours take no longer than the work that happens in them. Without a
//! service, every change fails. The source is a local repository.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{Driver, Freshness, HeadProbe, Heartbeat, LoopState, Metrics, Status, Trigger, Wakeup};
use crate::daemon::{Control, PassResult};
use crate::git::testing::{Answer, Server};
use crate::model::{HoldKind, ServiceKind, Suspension, SuspensionScope};
use crate::pass::{ChangeResult, Config, Event, PassContext, PassInputs, Reconciler, Runtime, StopReason};
use crate::plan::FirstPass;
use crate::service::ClientConfig;
use crate::source::testing::Repo;
use crate::state::{Clock, SystemClock};
use crate::transport::{Network, Secret, SecretSource};

const INTERVAL: Duration = Duration::from_secs(30);

const DOCUMENT: &str = "disabled: false\ncontent:\n  variations:\n    - { name: a, value: x }\n  rules: []\n  \
     disabledServe: { select: 0 }\n  defaultServe: { select: 0 }\n";

/// A running driver.
struct RunningDriver {
    repo: Repo,
    /// Removed at the end.
    state: Option<tempfile::TempDir>,
    control: Control,
    heartbeat: Heartbeat,
    status: watch::Receiver<Status>,
    stop: watch::Sender<bool>,
    running: JoinHandle<()>,
}

impl RunningDriver {
    /// Starts a driver that adopts the only document, so that it is in sync.
    fn adopted() -> Self {
        Self::start(FirstPass::Adopt)
    }

    /// Starts a driver whose passes fail.
    fn failing() -> Self {
        Self::start(FirstPass::Assert)
    }

    fn start(first_pass: FirstPass) -> Self {
        let state = tempfile::tempdir().unwrap();
        let mut driver = Self::on(state.path(), first_pass);
        driver.state = Some(state);
        driver
    }

    /// Starts a driver with its state in this folder.
    fn on(state: &Path, first_pass: FirstPass) -> Self {
        Self::with(state, first_pass, |_| {})
    }

    /// Starts a driver with other settings.
    fn with(state: &Path, first_pass: FirstPass, set: impl FnOnce(&mut Driver)) -> Self {
        let repo = Repo::new();
        repo.commit_file("shop/prod/pay.yaml", DOCUMENT);
        let (mut driver, control) = at_rest(settings(repo.path(), state, first_pass));
        let (heartbeat, status) = (driver.heartbeat.clone(), driver.status.subscribe());
        set(&mut driver);
        let (stop, stopped) = watch::channel(false);
        Self {
            repo,
            state: None,
            control,
            heartbeat,
            status,
            stop,
            running: tokio::spawn(driver.run(stopped)),
        }
    }

    /// Waits for the end of the next pass.
    async fn pass(&mut self) -> (Instant, PassResult) {
        loop {
            self.status.changed().await.expect("the driver runs");
            if let Some(pass) = self.status.borrow_and_update().last_pass.clone() {
                return (Instant::now(), pass.result);
            }
        }
    }

    /// Returns the number of passes that end within `time`.
    async fn passes_within(&mut self, time: Duration) -> usize {
        let end = Instant::now() + time;
        let mut count = 0;
        while tokio::time::timeout_at(end, self.pass()).await.is_ok() {
            count += 1;
        }
        count
    }

    async fn end(self) {
        self.stop.send_replace(true);
        self.running.await.unwrap();
    }
}

/// Returns a driver that does not run yet.
fn at_rest(config: Config) -> (Driver, Control) {
    let trigger = Trigger::default();
    let (control, commands) = Control::new(trigger.clone());
    let driver = Driver {
        config,
        poll_interval: INTERVAL,
        drift_interval: Duration::ZERO,
        observe: Arc::new(|_| {}),
        trigger,
        lookup: Trigger::default(),
        commands,
        status: watch::channel(Status::default()).0,
        metrics: Metrics::new(),
        heartbeat: Heartbeat::new(INTERVAL),
        stale_after: INTERVAL * 10,
    };
    (driver, control)
}

fn settings(repo: &Path, state: &Path, first_pass: FirstPass) -> Config {
    let mut config = Config::local(repo, state.to_owned());
    config.rules.base_url = Some("https://toggles.example.org".to_owned());
    config.rules.policy.first_pass = Some(first_pass);
    config
}

fn failed(result: &PassResult) -> bool {
    result.failure().is_some()
}

#[tokio::test(start_paused = true)]
async fn without_events_passes_run_at_the_interval_with_jitter() {
    let mut driver = RunningDriver::adopted();
    let (mut before, first) = driver.pass().await;
    assert!(!failed(&first), "{first:?}");
    for _ in 0..20 {
        let (now, result) = driver.pass().await;
        assert!(!failed(&result), "{result:?}");
        let waited = now - before;
        assert!(waited >= INTERVAL.mul_f64(0.9), "{waited:?}");
        assert!(waited <= INTERVAL.mul_f64(1.1) + Duration::from_secs(1), "{waited:?}");
        before = now;
    }
    driver.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_pass_is_retried_after_a_growing_backoff() {
    let mut driver = RunningDriver::failing();
    let (start, result) = driver.pass().await;
    assert!(failed(&result), "{result:?}");
    let (second, _) = driver.pass().await;
    assert!(second - start >= Duration::from_secs(1));
    // 2, 4, 8 … s, then five minutes: at most a dozen retries before, then up to twice that with the least
    // jitter.
    let passes = driver.passes_within(Duration::from_secs(3600)).await;
    assert!((12..=36).contains(&passes), "{passes} in an hour");
    assert_eq!(driver.heartbeat.stalled_for(), None, "the loop never stalled");
    driver.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_state_that_cannot_be_opened_is_tried_again_after_a_growing_backoff_or_on_a_trigger() {
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().join("state");
    std::fs::write(&folder, "a file").unwrap();
    let mut driver = RunningDriver::on(&folder, FirstPass::Adopt);
    let (_, result) = driver.pass().await;
    assert!(failed(&result), "{result:?}");
    let passes = driver.passes_within(Duration::from_secs(3600)).await;
    assert!((12..=36).contains(&passes), "{passes} in an hour");
    assert_eq!(driver.heartbeat.stalled_for(), None, "the loop never stalled");
    let order = Suspension { reason: None, until: None };
    let suspended = driver.control.suspend(SuspensionScope::everything(), order).await.unwrap_err();
    assert!(suspended.to_string().contains("cannot be used"), "{suspended}");

    driver.pass().await;
    let start = Instant::now();
    std::fs::remove_file(&folder).unwrap();
    driver.control.reconcile().await.unwrap();
    while failed(&driver.pass().await.1) {}
    assert!(start.elapsed() <= Duration::from_secs(2), "{:?}", start.elapsed());
    driver.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_newer_commit_ends_the_backoff_of_an_older_one() {
    let mut driver = RunningDriver::failing();
    driver.passes_within(Duration::from_secs(3600)).await;
    // The backoff to the next retry is two and a half to five minutes now.
    driver.pass().await;
    let start = Instant::now();
    driver.repo.commit_file("shop/prod/pay.yaml", &DOCUMENT.replace('x', "y"));
    driver.pass().await;
    assert!(start.elapsed() <= Duration::from_secs(2), "{:?}", start.elapsed());
    // The repeated failure does not restart the pass every second.
    assert!(driver.passes_within(Duration::from_secs(60)).await <= 1);
    driver.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_restored_source_starts_a_pass_immediately() {
    let mut driver = RunningDriver::adopted();
    driver.pass().await;
    let (git, away) = (driver.repo.join(".git"), driver.repo.join("away"));
    std::fs::rename(&git, &away).unwrap();
    while !failed(&driver.pass().await.1) {}
    driver.passes_within(Duration::from_secs(3600)).await;
    driver.pass().await;
    let start = Instant::now();
    std::fs::rename(&away, &git).unwrap();
    let (now, result) = driver.pass().await;
    assert!(!failed(&result), "{result:?}");
    assert!(now - start <= Duration::from_secs(2), "{:?}", now - start);
    driver.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_a_day_causes_one_pass_and_no_burst() {
    let mut driver = RunningDriver::adopted();
    driver.pass().await;
    tokio::time::advance(Duration::from_secs(86_400)).await;
    let start = Instant::now();
    let (now, _) = driver.pass().await;
    assert!(now - start <= Duration::from_secs(1), "{:?}", now - start);
    assert_eq!(driver.passes_within(INTERVAL.mul_f64(0.8)).await, 0);
    assert_eq!(driver.heartbeat.stalled_for(), None);
    driver.end().await;
}

/// A wall clock that stands still until a test sets it, beside a monotonic one in virtual time.
#[derive(Debug)]
struct WallClock(AtomicI64);

impl Clock for WallClock {
    fn elapsed(&self) -> Duration {
        SystemClock.elapsed()
    }
    fn unix(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
    fn instant(&self) -> Instant {
        Instant::now()
    }
    fn sleep(&self, duration: Duration) {
        SystemClock.sleep(duration);
    }
    fn sleep_until(&self, at: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep_until(at))
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_window_opens_when_the_wall_clock_says_so_however_it_jumps() {
    let state = tempfile::tempdir().unwrap();
    let clock = Arc::new(WallClock(AtomicI64::new(0)));
    let jump = |to: &str| clock.0.store(crate::model::seconds(to).unwrap(), Ordering::SeqCst);
    jump("2027-01-02T23:50:00Z");
    let mut driver = RunningDriver::with(state.path(), FirstPass::Adopt, |driver| {
        driver.poll_interval = Duration::from_secs(30 * 86_400);
        driver.config.clock = Arc::<WallClock>::clone(&clock);
        let windows = r#"[{ "deny": "**", "at": "2026-12-24 - 2027-01-02", "zone": "UTC" }]"#;
        driver.config.rules.policy.windows = windows.parse().unwrap();
    });
    driver.pass().await;
    let held = |driver: &RunningDriver| driver.status.borrow().toggles[0].kind() == Some(HoldKind::Window);
    for (meanwhile, then) in [
        // The clock stands still, or was set back by as much as has passed, and then goes on.
        (Duration::from_secs(900), "2027-01-03T00:00:00Z"),
        (Duration::ZERO, "2028-01-01T00:00:00Z"),
    ] {
        jump("2027-01-02T23:50:00Z");
        driver.repo.commit_file("shop/prod/pay.yaml", &DOCUMENT.replace('x', then));
        let (_, result) = driver.pass().await;
        assert!(!failed(&result) && held(&driver), "{result:?}");
        driver.passes_within(meanwhile).await;
        assert!(held(&driver));
        jump(then);
        let start = Instant::now();
        let (now, result) = driver.pass().await;
        assert!(now - start <= Duration::from_secs(2), "{:?}", now - start);
        // There is no service to send it to.
        assert!(failed(&result), "{result:?}");
    }
    driver.end().await;
}

#[test]
fn a_time_to_wake_starts_one_pass_and_not_one_for_each_tick() {
    let (repo, folder) = (Repo::new(), tempfile::tempdir().unwrap());
    repo.commit_file("shop/prod/pay.yaml", DOCUMENT);
    let (driver, _control) = at_rest(settings(repo.path(), folder.path(), FirstPass::Adopt));
    let freshness = Freshness {
        status: driver.status.clone(),
        metrics: driver.metrics.clone(),
        stale_after: driver.stale_after,
    };
    let probe = HeadProbe::new(driver.config.source.clone(), freshness);
    let mut state = LoopState::new(INTERVAL, Duration::ZERO, probe);
    state.seen = state.probe.local_head();
    let now = driver.config.clock.unix();
    for (wakes_at, expected) in [(None, false), (Some(now + 3600), false), (Some(now), true)] {
        state.wakes_at = wakes_at;
        assert_eq!(driver.is_due(&Wakeup::Tick, &mut state), expected, "{wakes_at:?}");
    }
    // Nothing computes the next time here, as after a pass that waits for a checkout.
    assert!(!driver.is_due(&Wakeup::Tick, &mut state));
}

#[tokio::test(start_paused = true)]
async fn two_hundred_simultaneous_triggers_cause_at_most_two_passes() {
    let mut driver = RunningDriver::adopted();
    driver.pass().await;
    for _ in 0..200 {
        driver.control.trigger().fire();
    }
    driver.pass().await;
    assert!(driver.passes_within(INTERVAL.mul_f64(0.8)).await <= 1);
    driver.control.reconcile().await.unwrap();
    driver.pass().await;
    assert_eq!(driver.passes_within(INTERVAL.mul_f64(0.8)).await, 0);
    driver.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_waiting_driver_stops_immediately_and_rejects_orders() {
    let mut driver = RunningDriver::failing();
    driver.passes_within(Duration::from_secs(3600)).await;
    let start = Instant::now();
    let control = driver.control.clone();
    driver.end().await;
    assert!(start.elapsed() <= Duration::from_secs(1), "{:?}", start.elapsed());
    let order = Suspension { reason: None, until: None };
    assert!(control.suspend(SuspensionScope::everything(), order).await.is_err());
    assert!(control.reconcile().await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pass_that_is_stopped_while_it_plans_sends_nothing() {
    let (repo, state) = (Repo::new(), tempfile::tempdir().unwrap());
    repo.commit_file("shop/prod/pay.yaml", DOCUMENT);
    let config = settings(repo.path(), state.path(), FirstPass::Assert).with_service(ClientConfig {
        kind: ServiceKind::Documented,
        base_url: "https://127.0.0.1:9".parse().unwrap(),
        token: SecretSource::Value(Secret::new("token".to_owned())),
        network: Network::default(),
        timeout: Duration::from_secs(1),
    });
    let runtime = Runtime::new(Handle::current());
    let context = PassContext::new(runtime, watch::channel(true).1, |event| {
        assert!(!matches!(event, Event::Answered(..)), "a request left: {event:?}");
    });
    let passes = tokio::task::spawn_blocking(move || {
        let mut reconciler = Reconciler::open(config, Duration::ZERO).unwrap();
        for _ in 0..50 {
            let report = reconciler.pass(&context, PassInputs::default()).unwrap();
            assert_eq!(report.stopped, Some(StopReason::Interrupted));
            assert_eq!(report.results, [ChangeResult::NotSent]);
        }
    });
    passes.await.unwrap();
}

/// Starts a driver whose source is a server that fails, and that looks it up every second.
fn with_failing_remote(server: &Server, state: &Path, set: impl FnOnce(&mut Driver)) -> RunningDriver {
    RunningDriver::with(state, FirstPass::Adopt, |driver| {
        let source = &mut driver.config.source;
        source.location = server.url("toggles").parse().unwrap();
        source.access.network = Network { ca_file: Some(server.ca_file()), ..Network::default() };
        source.cache = Some(state.join("source.git"));
        driver.poll_interval = Duration::from_secs(1);
        set(driver);
    })
}

#[tokio::test(start_paused = true)]
async fn a_remote_source_that_cannot_be_read_is_read_again_after_a_growing_backoff() {
    let server = Server::answering([Answer::status(500)]);
    let state = tempfile::tempdir().unwrap();
    let mut driver = with_failing_remote(&server, state.path(), |_| {});
    let passes = driver.passes_within(Duration::from_secs(45)).await;
    let attempts = server.take_requests().len();
    // 0, 2, 4, 8 and 16 s apart, or half as long with the least jitter.
    assert!((4..=8).contains(&passes), "{passes} passes");
    assert_eq!(attempts, passes, "a lookup does not repeat the transfer of a failed pass");
    driver.end().await;
}

#[tokio::test(start_paused = true)]
async fn after_an_order_the_backoff_begins_anew() {
    let server = Server::answering([Answer::status(500)]);
    let state = tempfile::tempdir().unwrap();
    for what in ["the source", "the service"] {
        let mut driver = match what {
            "the source" => with_failing_remote(&server, state.path(), |_| {}),
            _ => RunningDriver::failing(),
        };
        driver.passes_within(Duration::from_secs(3600)).await;
        for order in ["reconcile", "reconcile again"] {
            driver.control.reconcile().await.unwrap();
            // At once, and after 2, 4 and 8 s, or half as long with the least jitter.
            let passes = driver.passes_within(Duration::from_secs(16)).await;
            assert!((4..=7).contains(&passes), "{what}, {order}: {passes} passes");
            driver.passes_within(Duration::from_secs(600)).await;
        }
        driver.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_webhook_has_a_source_that_cannot_be_read_tried_once() {
    let server = Server::answering([Answer::status(500)]);
    let (state, mut trigger) = (tempfile::tempdir().unwrap(), Trigger::default());
    let mut driver = with_failing_remote(&server, state.path(), |driver| trigger = driver.trigger.clone());
    driver.passes_within(Duration::from_secs(120)).await;
    server.take_requests();
    trigger.deliver();
    // One at once, and what the backoff of half a minute and more allows.
    let passes = driver.passes_within(Duration::from_secs(40)).await;
    let attempts = server.take_requests().len();
    assert!((1..=3).contains(&passes), "{passes} passes");
    assert_eq!(attempts, passes, "a later look does not repeat the transfer of a failed pass");
    driver.end().await;
}
