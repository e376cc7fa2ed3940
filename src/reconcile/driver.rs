//! The loop: a pass when it is due, when somebody asks, and when the source moved; one after the other, for ever.
//!
//! A trigger says nothing but "look": poll, file event, webhook and `POST /reconcile` are the same thing. The driver owns
//! the reconciler, so that nobody else can write; it ends when asked and never because the world is bad.
//!
//! What is due when is decided in [`Schedule`], a value; here it is only waited for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::model::{CommitId, Suspension};
use crate::source::Source;
use crate::state;

use super::pass::{Around, Config, Reconciler, now};
use super::publish::Progress;
use super::report::{Report, StopReason};
use super::schedule::{Ended, Schedule};
use super::standing;
use super::status::{LastPass, PassResult, Role, SourceStatus, Status};
use super::{Command, Error, Heartbeat, Metrics, Trigger, Writing};

/// How often a local ref is looked up, and how often a follower tries to become the writer.
const TICK: Duration = Duration::from_secs(1);

/// How long an open pass may take to end once the driver is asked to.
const GRACE: Duration = Duration::from_secs(25);

/// What a driver needs.
pub struct Driver {
    /// What a pass needs to know.
    pub config: Config,
    /// How often the source is looked at.
    pub poll_interval: Duration,
    /// Is told of every request.
    pub progress: Arc<dyn Progress>,
    /// Asks for passes.
    pub trigger: Trigger,
    /// What operators say.
    pub commands: mpsc::Receiver<Command>,
    /// Where the status goes after every pass.
    pub status: watch::Sender<Status>,
    /// What is counted.
    pub metrics: Metrics,
    /// The sign of life.
    pub heartbeat: Heartbeat,
}

/// What the loop remembers between passes.
struct Memory {
    schedule: Schedule,
    /// The revision that the last pass looked at.
    seen: Option<CommitId>,
    /// Why the last pass failed, to say once that it did and once that it is over.
    trouble: Option<String>,
}

/// What ended a wait.
enum Woken {
    Command(Command),
    Look,
    Stop,
    Tick,
}

impl Driver {
    /// Makes passes until `stop` is raised; then nothing new starts, and what is open ends or is given up after 25 s.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut memory = Memory {
            schedule: Schedule::new(self.poll_interval),
            seen: None,
            trouble: None,
        };
        let mut scout = Source::new(self.config.source.clone());
        let mut reconciler = None;
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.status
            .send_modify(|status| status.source.repo.clone_from(&self.config.rules.repo));
        while !*stop.borrow() {
            self.heartbeat.beat();
            let Some(writer) = self.writer(reconciler.take()).await else {
                self.wait_as_follower(&mut stop).await;
                continue;
            };
            let woken = self.woken(&memory, &mut tick, &mut stop).await;
            let is_due = match woken {
                Woken::Stop => break,
                Woken::Look => true,
                Woken::Tick => memory.moved(&mut scout),
                Woken::Command(command) => {
                    reconciler = Some(self.obey(command, writer, &mut memory));
                    continue;
                }
            };
            if !is_due {
                reconciler = Some(writer);
            } else if memory
                .schedule
                .allows(Instant::now(), self.token_mark().as_deref())
            {
                let Some(writer) = self.pass(writer, &mut memory, &mut scout, &mut stop).await else {
                    break;
                };
                reconciler = Some(writer);
            } else {
                memory.schedule.postpone(Instant::now(), fastrand::f64());
                reconciler = Some(writer);
            }
        }
    }

    /// Returns the reconciler, taking the state's lock where it is not held yet.
    async fn writer(&mut self, held: Option<Reconciler>) -> Option<Reconciler> {
        if held.is_some() {
            return held;
        }
        let config = self.config.clone();
        let opened = tokio::task::spawn_blocking(move || Reconciler::open(config, Duration::ZERO)).await;
        match opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic())) {
            Ok(reconciler) => {
                tracing::info!("this process is the writer");
                self.status.send_modify(|status| status.role = Role::Writer);
                Some(reconciler)
            }
            Err(Error::State(state::Error::Locked { holder, .. })) => {
                let role = Role::Follower(holder.to_string());
                if self.status.borrow().role != role {
                    tracing::info!(%holder, "another process is the writer; waiting for it to end");
                }
                self.status.send_modify(|status| status.role = role);
                None
            }
            Err(error) => {
                let reason = chain(&error);
                let is_news = match &self.status.borrow().last_pass {
                    Some(LastPass {
                        result: PassResult::Failed(before),
                        ..
                    }) => *before != reason,
                    _ => true,
                };
                if is_news {
                    tracing::error!(reason, "the state cannot be used");
                }
                let last_pass = LastPass {
                    at: now(),
                    result: PassResult::Failed(reason),
                    took_ms: 0,
                };
                self.status.send_modify(|status| {
                    status.role = Role::Writer;
                    status.last_pass = Some(last_pass);
                });
                None
            }
        }
    }

    async fn wait_as_follower(&mut self, stop: &mut watch::Receiver<bool>) {
        tokio::select! {
            () = sleep(TICK) => {}
            _ = stop.wait_for(|stop| *stop) => {}
            Some(command) = self.commands.recv() => match command {
                Command::Suspend(_, reply) | Command::Resume(reply) => {
                    let _ = reply.send(Err("this process is not the writer; ask the one that is".into()));
                }
                Command::RetryParked => {}
            }
        }
    }

    async fn woken(
        &mut self,
        memory: &Memory,
        tick: &mut tokio::time::Interval,
        stop: &mut watch::Receiver<bool>,
    ) -> Woken {
        let due = memory.schedule.due().into();
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => Woken::Stop,
            Some(command) = self.commands.recv() => Woken::Command(command),
            () = self.trigger.fired() => Woken::Look,
            () = tokio::time::sleep_until(due) => Woken::Look,
            _ = tick.tick() => Woken::Tick,
        }
    }

    /// Carries out what an operator said, between passes.
    fn obey(&self, command: Command, mut writer: Reconciler, memory: &mut Memory) -> Reconciler {
        match command {
            Command::RetryParked => memory.schedule.forgive(),
            Command::Suspend(suspension, reply) => {
                let done = writer
                    .store()
                    .suspend(suspension.clone())
                    .map_err(|error| chain(&error));
                self.suspended(&done, Some(suspension));
                let _ = reply.send(done);
            }
            Command::Resume(reply) => {
                let done = writer.store().resume().map_err(|error| chain(&error));
                self.suspended(&done, None);
                let _ = reply.send(done);
            }
        }
        self.trigger.fire();
        writer
    }

    fn suspended(&self, done: &Result<(), String>, suspension: Option<Suspension>) {
        if done.is_ok() {
            self.metrics.writing(if suspension.is_some() {
                Writing::Suspended
            } else {
                Writing::Active
            });
            self.status.send_modify(|status| status.suspended = suspension);
        }
    }

    /// Makes a pass. Meanwhile the loop goes on turning: a newer commit, a suspension or the end stops what is not
    /// under way yet. Returns nothing where the pass had to be given up.
    async fn pass(
        &mut self,
        mut writer: Reconciler,
        memory: &mut Memory,
        scout: &mut Source,
        stop: &mut watch::Receiver<bool>,
    ) -> Option<Reconciler> {
        writer.parked = memory.schedule.parked(Instant::now());
        let (halt, halted) = watch::channel(false);
        let around = Around {
            stop: halted,
            progress: Arc::clone(&self.progress),
        };
        let began = memory.look(scout);
        let mut orders = Vec::new();
        let mut tick = interval(TICK);
        let pass = writer.pass(&around);
        tokio::pin!(pass);
        let (writer, result) = loop {
            tokio::select! {
                done = &mut pass => break done,
                _ = stop.wait_for(|stop| *stop), if !*halt.borrow() => {
                    let _ = halt.send(true);
                    match tokio::time::timeout(GRACE, &mut pass).await {
                        Ok(done) => break done,
                        Err(_) => return None,
                    }
                }
                Some(command) = self.commands.recv() => {
                    if matches!(command, Command::Suspend(..)) {
                        let _ = halt.send(true);
                    }
                    orders.push(command);
                }
                _ = tick.tick() => {
                    self.heartbeat.beat();
                    let found = memory.look(scout);
                    if found.is_some() && found != began {
                        let _ = halt.send(true);
                    }
                }
            }
        };
        let mut writer = self.ended(writer, result, memory).await;
        for order in orders {
            writer = self.obey(order, writer, memory);
        }
        Some(writer)
    }

    /// Tells what came of a pass, and decides when the next one is due.
    async fn ended(
        &mut self,
        writer: Reconciler,
        result: Result<Report, Error>,
        memory: &mut Memory,
    ) -> Reconciler {
        let at = now();
        let result = result.map_err(|error| chain(&error));
        let outcome = outcome(&result);
        let took = result.as_ref().map(|report| report.took).unwrap_or_default();
        self.metrics.pass_ended(&outcome, took);
        if let Ok(report) = &result {
            self.metrics.fetched(report.looked);
            memory.seen = Some(report.plan.source().revision);
            for note in &report.notes {
                tracing::warn!(note, "noticed");
            }
        }
        let mark = self.token_mark();
        memory
            .schedule
            .ended(&Ended::of(&result), mark, Instant::now(), fastrand::f64());
        memory.tell(&outcome);
        let (writer, toggles) = self.toggles(writer, result.as_ref().ok()).await;
        let suspended = super::look::suspension(writer.view(), at);
        self.metrics.writing(if suspended.is_some() {
            Writing::Suspended
        } else {
            Writing::Active
        });
        if let Some(toggles) = &toggles {
            self.metrics.toggles(toggles);
        }
        if !matches!(outcome, PassResult::Failed(_)) {
            self.metrics.succeeded_at(at);
        }
        self.status.send_modify(|status| {
            if let Ok(report) = &result {
                let source = report.plan.source();
                status.source = SourceStatus {
                    repo: source.repo.clone(),
                    reference: Some(source.reference.clone()),
                    revision: Some(source.revision),
                };
            }
            if !matches!(outcome, PassResult::Failed(_)) {
                status.last_success = Some(at);
            }
            let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            status.last_pass = Some(LastPass {
                at,
                result: outcome,
                took_ms,
            });
            status.suspended = suspended;
            if let Some(toggles) = toggles {
                status.toggles = Arc::new(toggles);
            }
        });
        writer
    }

    /// Says where every toggle stands; nothing where the pass changed nothing about it.
    async fn toggles(
        &self,
        writer: Reconciler,
        report: Option<&Report>,
    ) -> (Reconciler, Option<Vec<super::ToggleStatus>>) {
        let known = !self.status.borrow().toggles.is_empty();
        let Some(report) = report.filter(|report| !(known && report.is_nothing())) else {
            return (writer, None);
        };
        let report = report.clone();
        let done = tokio::task::spawn_blocking(move || {
            let scope = writer.config().rules.policy.scope.clone();
            let toggles = standing::after(&report, writer.view(), &scope);
            (writer, toggles)
        });
        let (writer, toggles) = done
            .await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        let toggles =
            toggles.map_err(|error| tracing::warn!(reason = chain(&error), "the status is not known"));
        (writer, toggles.ok())
    }

    /// What tells one token from another without keeping it; nothing where it cannot be read.
    fn token_mark(&self) -> Option<String> {
        use sha2::{Digest, Sha256};
        let secret = self.config.service.as_ref()?.token.read().ok()?;
        Some(
            Sha256::digest(secret.expose())
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        )
    }
}

impl Memory {
    /// Looks up a local ref; a remote one is looked up by the pass, at its interval.
    fn look(&self, scout: &mut Source) -> Option<CommitId> {
        scout.is_local().then(|| scout.look_up().ok()).flatten()
    }

    fn moved(&self, scout: &mut Source) -> bool {
        let found = self.look(scout);
        found.is_some() && found != self.seen
    }

    /// Says once that passes fail, and once that they do not any more.
    fn tell(&mut self, outcome: &PassResult) {
        match outcome {
            PassResult::Failed(reason) if self.trouble.as_ref() != Some(reason) => {
                tracing::error!(reason, "the pass failed");
                self.trouble = Some(reason.clone());
            }
            PassResult::Failed(_) => {}
            PassResult::Noop | PassResult::Success => {
                if self.trouble.take().is_some() {
                    tracing::info!("recovered");
                }
            }
        }
    }
}

fn outcome(result: &Result<Report, String>) -> PassResult {
    match result {
        Err(reason) => PassResult::Failed(reason.clone()),
        Ok(report) => match &report.stopped {
            Some(StopReason::Interrupted) => PassResult::Success,
            Some(reason) => PassResult::Failed(reason.to_string()),
            None if report.is_nothing() => PassResult::Noop,
            None => PassResult::Success,
        },
    }
}

/// An error with its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
