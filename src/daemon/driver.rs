//! The loop: a pass when it is due, when somebody asks, and when the source moved; one after the other, for ever.
//!
//! A trigger says nothing but "look": poll, webhook and `POST /reconcile` are the same thing. The driver owns
//! the reconciler, so that nobody else can write; it ends when asked and never because the world is bad.
//!
//! What is due when is decided in `Schedule`, a value; here it is only waited for.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tracing::Instrument as _;

use super::decisions::{self, reload};
use super::loop_state::{LoopState, outcome};
use super::pass_outcome::PassOutcome;
use super::probe::HeadProbe;
use super::status::{LastPass, PassResult, SourceStatus, Status, Success, ToggleStatus, Withheld, toggles};
use super::underway::Underway;
use super::{Command, Heartbeat, Metrics, Trigger};
use crate::model::{CommitId, Suspensions, chain};
use crate::pass::publish::tries;
use crate::pass::{Config, Error, Progress, Reconciler, Report, now};
use crate::state::Revisions;

/// How often a local ref is looked up, and how often a follower tries to become the writer.
pub(super) const TICK: Duration = Duration::from_secs(1);

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
    /// Asks for a lookup of a local ref, which starts a pass only if the ref has moved.
    pub lookup: Trigger,
    /// What operators say.
    pub commands: mpsc::Receiver<Command>,
    /// Where the status goes after every pass.
    pub status: watch::Sender<Status>,
    /// What is counted.
    pub metrics: Metrics,
    /// The sign of life.
    pub heartbeat: Heartbeat,
    /// The age from which on a source counts as stopped.
    pub stale_after: Duration,
}

/// What ended a wait.
enum Woken {
    /// The source elsewhere is to be looked up.
    Ask,
    Command(Command),
    /// The source elsewhere was looked up.
    Found(Option<CommitId>),
    Look,
    Stop,
    Tick,
}

impl Driver {
    /// Makes passes until `stop` is raised; then nothing new starts, and what is open ends or is given up after 25 s.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut memory = LoopState::new(self.poll_interval);
        let mut probe = HeadProbe::new(self.config.source.clone(), self.freshness());
        let mut reconciler = None;
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.status.send_modify(|status| {
            status.source.repo.clone_from(&self.config.rules.repo);
            status.service.clone_from(&self.config.rules.base_url);
        });
        while !*stop.borrow() {
            self.heartbeat.beat();
            self.expire();
            let writer = match reconciler.take() {
                Some(writer) => writer,
                None => match self.elected(&mut memory, &mut stop).await {
                    Ok(writer) => writer,
                    Err(until) => {
                        self.wait_for_turn(until, &mut stop).await;
                        continue;
                    }
                },
            };
            let woken = self.woken(&memory, &mut probe, &mut tick, &mut stop).await;
            let is_due = match woken {
                Woken::Stop => break,
                Woken::Look => true,
                Woken::Ask => {
                    memory.schedule.looked(Instant::now(), fastrand::f64());
                    probe.start();
                    false
                }
                Woken::Found(found) => memory.is_news(found),
                Woken::Tick => is_moved(&memory, &mut probe),
                Woken::Command(command) => {
                    reconciler = Some(self.obey(command, writer, &mut memory));
                    continue;
                }
            };
            if !is_due {
                reconciler = Some(writer);
                continue;
            }
            let now = Instant::now();
            if let Some(until) = self.held_until(&memory, now) {
                memory.schedule.defer(now, until);
                reconciler = Some(writer);
                continue;
            }
            if !is_usable(&writer) {
                continue;
            }
            let Some(writer) = self.pass(writer, &mut memory, &mut probe, &mut stop).await else {
                break;
            };
            reconciler = Some(writer);
        }
    }

    /// Returns until when no pass starts: the service asked for a wait, or refused the token.
    fn held_until(&self, memory: &LoopState, now: Instant) -> Option<Instant> {
        let held = memory.schedule.held_until(now);
        held.or_else(|| {
            memory
                .schedule
                .rejected_until(now, self.token_fingerprint().as_deref())
        })
    }

    async fn woken(
        &mut self,
        memory: &LoopState,
        probe: &mut HeadProbe,
        tick: &mut tokio::time::Interval,
        stop: &mut watch::Receiver<bool>,
    ) -> Woken {
        let due = memory.schedule.due();
        let look_due = memory.schedule.look_due().filter(|_| !probe.is_local());
        tokio::select! {
            biased;
            () = raised(stop) => Woken::Stop,
            Some(command) = self.commands.recv() => Woken::Command(command),
            () = self.trigger.fired() => Woken::Look,
            () = sleep_until(due) => Woken::Look,
            () = sleep_until(look_due.unwrap_or(due)), if look_due.is_some() => Woken::Ask,
            found = probe.finished() => Woken::Found(found),
            () = self.lookup.fired() => Woken::Tick,
            _ = tick.tick() => Woken::Tick,
        }
    }

    /// Makes a pass. Meanwhile the loop goes on turning: a newer commit, a suspension or the end stops what is not
    /// under way yet. Returns nothing where the pass had to be given up.
    async fn pass(
        &mut self,
        mut writer: Reconciler,
        memory: &mut LoopState,
        probe: &mut HeadProbe,
        stop: &mut watch::Receiver<bool>,
    ) -> Option<Reconciler> {
        let alone = tries::parked(writer.view().tries(), now());
        writer.parked = memory.schedule.parked(alone);
        writer.history = std::mem::take(&mut memory.history);
        let (mut underway, context) = Underway::new(self);
        let (began, started, asked) = (probe.local_head(), Instant::now(), SystemTime::now());
        let span = pass_span();
        let pass = writer.pass(&context).instrument(span.clone());
        let (mut writer, result) = self.attend(pass, &mut underway, probe, stop).await?;
        if underway.is_triggered {
            self.trigger.fire();
        }
        memory.seen = underway.about().or(began);
        if memory.seen.is_some() || result.is_ok() {
            probe.looked(asked);
        }
        memory.history = std::mem::take(&mut writer.history);
        if underway.is_ordered {
            reload(&mut writer);
            self.trigger.fire();
        }
        let ended = self.ended(writer, result, started.elapsed(), memory);
        let writer = ended.instrument(span).await;
        let obey = |writer, order| self.obey(order, writer, memory);
        Some(underway.orders.into_iter().fold(writer, obey))
    }

    /// Tells what came of a pass, and decides when the next one is due.
    async fn ended(
        &mut self,
        writer: Reconciler,
        result: Result<Report, Error>,
        took: Duration,
        memory: &mut LoopState,
    ) -> Reconciler {
        let at = now();
        if let Err(error) = &result
            && let Some(path) = self.awaited(error)
        {
            self.wait_for_checkout(path);
            memory.on_pass_finished(&PassOutcome::default(), self.token_fingerprint());
            return writer;
        }
        let refused = result.as_ref().err().and_then(Error::refused_revision);
        let result = result.map_err(|error| error.in_full());
        let outcome = outcome(&result);
        if let Ok(report) = &result {
            self.metrics.fetched(report.looked);
            memory.seen = Some(report.plan.source().revision);
            memory.note(&report.notes);
            memory.guesses(report);
        }
        memory.on_pass_finished(&PassOutcome::of(&result), self.token_fingerprint());
        if let Some(outcome) = &outcome {
            self.metrics.pass_ended(outcome, took);
            memory.tell(outcome);
        }
        let (writer, toggles) = self
            .toggles(writer, &mut memory.revisions, result.as_ref().ok())
            .await;
        let suspensions = crate::pass::planning::suspensions(writer.view(), at);
        schedule_next(&writer, &suspensions, memory, at);
        decisions::count(&self.metrics, &suspensions);
        if let Some(toggles) = &toggles {
            self.count(toggles, memory);
        }
        let is_success = outcome.as_ref().is_some_and(PassResult::is_success);
        if is_success {
            self.metrics.succeeded_at(at);
        }
        self.status.send_modify(|status| {
            status.source.refused = refused;
            if let Ok(report) = &result {
                status.source = source_after(report, status.source.clone());
            }
            status.source.awaited = None;
            if is_success {
                let when = Instant::now();
                status.last_success = Some(Success { at, when });
            }
            if let Some(result) = outcome {
                status.last_pass = Some(LastPass::new(at, result, took));
            }
            status.suspensions = suspensions;
            if let Some(toggles) = toggles {
                status.set_toggles(toggles);
            }
        });
        writer
    }

    /// Counts the toggles by state, and logs what is newly withheld or held.
    fn count(&self, toggles: &[ToggleStatus], memory: &mut LoopState) {
        let withheld = Withheld::of(toggles);
        self.metrics.toggles(toggles);
        self.metrics.withheld(&withheld);
        memory.withheld(&withheld);
        LoopState::held(&self.status.borrow().toggles, toggles);
    }

    /// Says where every toggle stands; nothing where all were in sync before the pass and nothing was to be done.
    async fn toggles(
        &self,
        writer: Reconciler,
        revisions: &mut Revisions,
        report: Option<&Report>,
    ) -> (Reconciler, Option<Vec<ToggleStatus>>) {
        let is_said = |report: &Report| report.is_nothing() && self.status.borrow().is_in_sync();
        let Some(report) = report.filter(|report| !is_said(report)) else {
            return (writer, None);
        };
        let report = report.clone();
        let mut known = std::mem::take(revisions);
        let done = tokio::task::spawn_blocking(move || {
            let scope = &writer.config().rules.policy.scope;
            let toggles = toggles::after(&report, writer.view(), &mut known, scope);
            (writer, known, toggles)
        });
        let (writer, known, toggles) = done
            .await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        *revisions = known;
        let toggles = toggles.map_err(
            |error| tracing::warn!(name: "status_unknown", reason = chain(&error), "the status is not known"),
        );
        (writer, toggles.ok())
    }

    /// What tells one token from another without keeping it; nothing where it cannot be read.
    pub(super) fn token_fingerprint(&self) -> Option<String> {
        use sha2::{Digest, Sha256};
        let secret = self.config.service.as_ref()?.token.read().ok()?;
        Some(crate::model::hex(&Sha256::digest(secret.expose())))
    }
}

/// Returns whether the ref on this machine leads elsewhere than at the last pass, or cannot be read.
fn is_moved(memory: &LoopState, probe: &mut HeadProbe) -> bool {
    let is_news = memory.is_news(probe.local_head());
    // The pass reports why the ref cannot be read.
    is_news || memory.seen.is_some() && probe.is_lost()
}

/// Returns whether the state is still where it was opened. Otherwise it is to be opened again.
fn is_usable(writer: &Reconciler) -> bool {
    if !writer.is_in_place() {
        tracing::error!(name: "state_folder_replaced", "the state folder is not the one that was opened; opening the new one");
        return false;
    }
    let is_same_remote = writer.is_same_remote();
    if !is_same_remote {
        tracing::info!(name: "origin_changed", "the source names another `origin`; opening the shared state there");
    }
    is_same_remote
}

/// Schedules the next retry of a toggle, and a pass for when the next suspension ends.
fn schedule_next(writer: &Reconciler, suspensions: &Suspensions, memory: &mut LoopState, at: i64) {
    if let Some(wait) = tries::next_retry(writer.view().tries(), at) {
        memory.schedule.retry_after(Instant::now(), wait);
    }
    if let Some(until) = suspensions.next_end() {
        let left = Duration::from_secs(u64::try_from(until.saturating_sub(at)).unwrap_or_default());
        memory.schedule.no_later_than(Instant::now() + left);
    }
}

/// Returns the status of the source after a pass with this report.
fn source_after(report: &Report, before: SourceStatus) -> SourceStatus {
    let source = report.plan.source();
    SourceStatus {
        repo: source.repo.clone(),
        reference: Some(source.reference.clone()),
        revision: Some(source.revision),
        history: report.plan.history(),
        ..before
    }
}

/// Gives the log lines of one pass the same short id. The level keeps it enabled whatever is logged.
fn pass_span() -> tracing::Span {
    tracing::error_span!("pass", pass = format!("{:08x}", fastrand::u32(..)))
}

/// Waits until `stop` is raised, or nobody is left to raise it; holds nothing of it afterwards.
pub(super) async fn raised(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}
