//! The driver in time that does not pass by itself: hours of it take no longer than the work that is done in them.
//! There is no service, so that a change always fails, and the source is on this machine.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{Control, Driver, Heartbeat, Metrics, PassResult, Status, Trigger};
use crate::model::{Suspension, SuspensionScope};
use crate::pass::{ChangeResult, Config, Event, PassContext, Reconciler, Runtime, StopReason};
use crate::plan::FirstPass;
use crate::service::ClientConfig;
use crate::source::testing::Repo;
use crate::transport::{Network, Secret, SecretSource};

const INTERVAL: Duration = Duration::from_secs(30);

const DOCUMENT: &str = "disabled: false\ncontent:\n  variations:\n    - { name: a, value: x }\n  rules: []\n  \
     disabledServe: { select: 0 }\n  defaultServe: { select: 0 }\n";

/// A driver at work.
struct Work {
    repo: Repo,
    /// Kept for as long as there is work.
    state: Option<tempfile::TempDir>,
    control: Control,
    heartbeat: Heartbeat,
    status: watch::Receiver<Status>,
    stop: watch::Sender<bool>,
    running: JoinHandle<()>,
}

impl Work {
    /// Starts one on a repository with a document that is there already.
    fn adopted() -> Self {
        Self::start(FirstPass::Adopt)
    }

    /// Starts one that wants to publish, which fails.
    fn failing() -> Self {
        Self::start(FirstPass::Assert)
    }

    fn start(first_pass: FirstPass) -> Self {
        let state = tempfile::tempdir().unwrap();
        let mut work = Self::on(state.path(), first_pass);
        work.state = Some(state);
        work
    }

    /// Starts one whose state is in this folder.
    fn on(state: &Path, first_pass: FirstPass) -> Self {
        let repo = Repo::new();
        repo.commit_file("shop/prod/pay.yaml", DOCUMENT);
        let trigger = Trigger::default();
        let (control, commands) = Control::new(trigger.clone());
        let (sender, status) = watch::channel(Status::default());
        let heartbeat = Heartbeat::new(INTERVAL);
        let driver = Driver {
            config: settings(repo.path(), state, first_pass),
            poll_interval: INTERVAL,
            observe: Arc::new(|_| {}),
            trigger,
            lookup: Trigger::default(),
            commands,
            status: sender,
            metrics: Metrics::new(),
            heartbeat: heartbeat.clone(),
            stale_after: INTERVAL * 10,
        };
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

    /// Waits for the next pass to end, and returns when that was and how.
    async fn pass(&mut self) -> (Instant, PassResult) {
        loop {
            self.status.changed().await.expect("the driver runs");
            if let Some(pass) = self.status.borrow_and_update().last_pass.clone() {
                return (Instant::now(), pass.result);
            }
        }
    }

    /// Returns how many passes end within `time`.
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

fn settings(repo: &Path, state: &Path, first_pass: FirstPass) -> Config {
    let mut config = Config::local(repo, state.to_owned());
    config.rules.base_url = Some("https://toggles.example.org".to_owned());
    config.rules.policy.first_pass = Some(first_pass);
    config
}

fn failed(result: &PassResult) -> bool {
    matches!(result, PassResult::Failed(_))
}

#[tokio::test(start_paused = true)]
async fn while_nothing_happens_it_looks_at_its_interval_with_jitter() {
    let mut work = Work::adopted();
    let (mut before, first) = work.pass().await;
    assert!(!failed(&first), "{first:?}");
    for _ in 0..20 {
        let (now, result) = work.pass().await;
        assert!(!failed(&result), "{result:?}");
        let waited = now - before;
        assert!(waited >= INTERVAL.mul_f64(0.9), "{waited:?}");
        assert!(
            waited <= INTERVAL.mul_f64(1.1) + Duration::from_secs(1),
            "{waited:?}"
        );
        before = now;
    }
    work.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_fails_at_a_commit_is_retried_after_a_growing_wait_and_not_every_second() {
    let mut work = Work::failing();
    let (start, result) = work.pass().await;
    assert!(failed(&result), "{result:?}");
    let (second, _) = work.pass().await;
    assert!(second - start >= Duration::from_secs(1));
    // 2, 4, 8 … s, then five minutes: at most a dozen on the way there, then twice that where the jitter is least.
    let passes = work.passes_within(Duration::from_secs(3600)).await;
    assert!((12..=36).contains(&passes), "{passes} in an hour");
    assert_eq!(work.heartbeat.stopped_for(), None, "the loop turned all the time");
    work.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_state_that_cannot_be_opened_is_tried_again_after_a_growing_wait_and_when_somebody_asks() {
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().join("state");
    std::fs::write(&folder, "a file").unwrap();
    let mut work = Work::on(&folder, FirstPass::Adopt);
    let (_, result) = work.pass().await;
    assert!(failed(&result), "{result:?}");
    let passes = work.passes_within(Duration::from_secs(3600)).await;
    assert!((12..=36).contains(&passes), "{passes} in an hour");
    assert_eq!(work.heartbeat.stopped_for(), None, "the loop turned all the time");
    let order = Suspension {
        reason: None,
        until: None,
    };
    let suspended = work
        .control
        .suspend(SuspensionScope::everything(), order)
        .await
        .unwrap_err();
    assert!(suspended.to_string().contains("cannot be used"), "{suspended}");

    work.pass().await;
    let start = Instant::now();
    std::fs::remove_file(&folder).unwrap();
    work.control.reconcile().await.unwrap();
    while failed(&work.pass().await.1) {}
    assert!(start.elapsed() <= Duration::from_secs(2), "{:?}", start.elapsed());
    work.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_newer_commit_ends_the_wait_for_the_retry_of_an_older_one() {
    let mut work = Work::failing();
    work.passes_within(Duration::from_secs(3600)).await;
    // From here on five minutes pass, or half of them, until the next retry.
    work.pass().await;
    let start = Instant::now();
    work.repo
        .commit_file("shop/prod/pay.yaml", &DOCUMENT.replace('x', "y"));
    work.pass().await;
    assert!(start.elapsed() <= Duration::from_secs(2), "{:?}", start.elapsed());
    // And that it failed again does not make it start over every second.
    assert!(work.passes_within(Duration::from_secs(60)).await <= 1);
    work.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_back_is_looked_at_at_once() {
    let mut work = Work::adopted();
    work.pass().await;
    let (git, away) = (work.repo.join(".git"), work.repo.join("away"));
    std::fs::rename(&git, &away).unwrap();
    while !failed(&work.pass().await.1) {}
    work.passes_within(Duration::from_secs(3600)).await;
    work.pass().await;
    let start = Instant::now();
    std::fs::rename(&away, &git).unwrap();
    let (now, result) = work.pass().await;
    assert!(!failed(&result), "{result:?}");
    assert!(now - start <= Duration::from_secs(2), "{:?}", now - start);
    work.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_a_day_causes_one_pass_and_no_burst() {
    let mut work = Work::adopted();
    work.pass().await;
    tokio::time::advance(Duration::from_secs(86_400)).await;
    let start = Instant::now();
    let (now, _) = work.pass().await;
    assert!(now - start <= Duration::from_secs(1), "{:?}", now - start);
    assert_eq!(work.passes_within(INTERVAL.mul_f64(0.8)).await, 0);
    assert_eq!(work.heartbeat.stopped_for(), None);
    work.end().await;
}

#[tokio::test(start_paused = true)]
async fn two_hundred_triggers_at_once_are_one_pass_and_at_most_one_more() {
    let mut work = Work::adopted();
    work.pass().await;
    for _ in 0..200 {
        work.control.trigger().fire();
    }
    work.pass().await;
    assert!(work.passes_within(INTERVAL.mul_f64(0.8)).await <= 1);
    work.control.reconcile().await.unwrap();
    work.pass().await;
    assert_eq!(work.passes_within(INTERVAL.mul_f64(0.8)).await, 0);
    work.end().await;
}

#[tokio::test(start_paused = true)]
async fn it_ends_at_once_while_it_waits_and_answers_orders_no_more() {
    let mut work = Work::failing();
    work.passes_within(Duration::from_secs(3600)).await;
    let start = Instant::now();
    let control = work.control.clone();
    work.end().await;
    assert!(start.elapsed() <= Duration::from_secs(1), "{:?}", start.elapsed());
    let order = Suspension {
        reason: None,
        until: None,
    };
    assert!(
        control
            .suspend(SuspensionScope::everything(), order)
            .await
            .is_err()
    );
    assert!(control.reconcile().await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pass_that_is_asked_to_end_while_it_looks_sends_nothing() {
    let (repo, state) = (Repo::new(), tempfile::tempdir().unwrap());
    repo.commit_file("shop/prod/pay.yaml", DOCUMENT);
    let config = settings(repo.path(), state.path(), FirstPass::Assert).with_service(ClientConfig {
        base_url: "https://127.0.0.1:9".parse().unwrap(),
        token: SecretSource::Value(Secret::new("token".to_owned())),
        network: Network::default(),
        timeout: Duration::from_secs(1),
    });
    let context = PassContext::new(watch::channel(true).1, |event| {
        assert!(!matches!(event, Event::Answered(..)), "a request left: {event:?}");
    });
    let runtime = Runtime::Tokio(Handle::current());
    let passes = tokio::task::spawn_blocking(move || {
        let mut reconciler = Reconciler::open(config, Duration::ZERO).unwrap();
        for _ in 0..50 {
            let report = reconciler.pass(&context, &runtime).unwrap();
            assert_eq!(report.stopped, Some(StopReason::Interrupted));
            assert_eq!(report.results, [ChangeResult::NotSent]);
        }
    });
    passes.await.unwrap();
}
