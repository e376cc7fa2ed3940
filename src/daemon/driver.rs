//! The loop: a pass when it is due, when an operator asks, and when the source has moved; one after the other.
//!
//! A trigger carries no content: poll, webhook and `POST /reconcile` are the same thing. The driver owns the reconciler,
//! so nothing else writes while a pass runs. What is due when is decided in `Schedule`, a value; here it is only waited for.

use std::ops::ControlFlow;
use std::time::{Duration, SystemTime};

use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tracing::Span;

use super::decisions::reload;
use super::loop_state::LoopState;
use super::probe::HeadProbe;
use super::status::{Status, ToggleStatus, toggles};
use super::underway::Underway;
use super::{Command, Heartbeat, Metrics, Trigger};
use crate::model::{CommitId, chain};
use crate::pass::{Config, Error, Observe, PassContext, Reconciler, Report, Runtime};
use crate::state::Revisions;

/// How often a local ref is looked up, and how often a follower tries to become the writer.
pub(super) const TICK: Duration = Duration::from_secs(1);

/// What a driver needs.
pub struct Driver {
    /// What a pass needs to know.
    pub config: Config,
    /// How often the source is looked at.
    pub poll_interval: Duration,
    /// Observes every pass.
    pub observe: Observe,
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

/// A pass that has ended, with what it was given.
struct FinishedPass {
    writer: Reconciler,
    revisions: Revisions,
    result: Result<Report, Error>,
    /// Where every toggle stands; nothing where that has not changed, or is not known.
    toggles: Option<Vec<ToggleStatus>>,
}

impl Driver {
    /// Makes passes until `stop` becomes true. Then no request starts, and those that are open end or are given up after
    /// 25 s.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut memory = LoopState::new(self.poll_interval);
        let mut probe = HeadProbe::new(self.config.source.clone(), self.freshness());
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.status.send_modify(|status| {
            status.source.repo.clone_from(&self.config.rules.repo);
            status.service.clone_from(&self.config.rules.base_url);
        });
        let mut seat = None;
        while !*stop.borrow() {
            self.heartbeat.beat();
            self.expire();
            let writer = match &mut seat {
                Some(writer) => writer,
                None => match self.elected(&mut memory, &mut stop).await {
                    Ok(writer) => seat.insert(writer),
                    Err(until) => {
                        self.wait_for_turn(until, &mut stop).await;
                        continue;
                    }
                },
            };
            match self.woken(&memory, &mut probe, &mut tick, &mut stop).await {
                Woken::Stop => return,
                Woken::Command(command) => self.obey(command, writer, &mut memory),
                woken if self.is_due(&woken, &mut memory, &mut probe) => {
                    let ended = self.pass(&mut seat, &mut memory, &mut probe, &mut stop).await;
                    if ended.is_break() {
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns whether a pass is to start now.
    fn is_due(&self, woken: &Woken, memory: &mut LoopState, probe: &mut HeadProbe) -> bool {
        let now = Instant::now();
        let is_wanted = match woken {
            Woken::Look => true,
            Woken::Ask => {
                memory.schedule.looked(now, fastrand::f64());
                probe.start();
                false
            }
            Woken::Found(found) => memory.is_news(*found),
            Woken::Tick => is_moved(memory, probe),
            Woken::Command(_) | Woken::Stop => false,
        };
        let held_until = is_wanted.then(|| self.held_until(memory, now)).flatten();
        if let Some(until) = held_until {
            memory.schedule.defer(now, until);
        }
        is_wanted && held_until.is_none()
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
            () = stopped(stop) => Woken::Stop,
            Some(command) = self.commands.recv() => Woken::Command(command),
            () = self.trigger.fired() => Woken::Look,
            () = sleep_until(due) => Woken::Look,
            () = sleep_until(look_due.unwrap_or(due)), if look_due.is_some() => Woken::Ask,
            found = probe.finished() => Woken::Found(found),
            () = self.lookup.fired() => Woken::Tick,
            _ = tick.tick() => Woken::Tick,
        }
    }

    /// Makes a pass, and keeps the loop going meanwhile: a newer commit, a suspension or a shutdown stops what the pass has
    /// not started yet. Breaks if the pass was given up.
    async fn pass(
        &mut self,
        seat: &mut Option<Reconciler>,
        memory: &mut LoopState,
        probe: &mut HeadProbe,
        stop: &mut watch::Receiver<bool>,
    ) -> ControlFlow<()> {
        let Some(mut writer) = seat.take().filter(is_usable) else {
            return ControlFlow::Continue(());
        };
        memory.lend(&mut writer, self.config.clock.unix());
        let (mut underway, context) = Underway::new(self);
        let (began, started, asked) = (probe.local_head(), Instant::now(), SystemTime::now());
        let span = pass_span();
        let pass = self.spawn_pass(
            writer,
            std::mem::take(&mut memory.revisions),
            context,
            span.clone(),
        );
        let Some(finished) = self.attend(pass, &mut underway, probe, stop).await else {
            return ControlFlow::Break(());
        };
        let FinishedPass {
            writer,
            revisions,
            result,
            toggles,
        } = finished;
        let (took, writer) = (started.elapsed(), seat.insert(writer));
        memory.seen = underway.about().or(began);
        if memory.seen.is_some() || result.is_ok() {
            probe.looked(asked);
        }
        memory.take_back(writer, revisions);
        if underway.is_triggered || underway.is_ordered {
            self.trigger.fire();
        }
        if underway.is_ordered {
            reload(writer);
        }
        span.in_scope(|| self.conclude(writer, result, toggles, took, memory));
        for order in underway.orders {
            self.obey(order, writer, memory);
        }
        ControlFlow::Continue(())
    }

    /// Starts a pass on a thread of its own: the only place where the reconciler changes threads.
    fn spawn_pass(
        &self,
        mut writer: Reconciler,
        mut revisions: Revisions,
        context: PassContext,
        span: Span,
    ) -> impl Future<Output = FinishedPass> + use<> {
        let (status, runtime) = (self.status.clone(), Runtime::Tokio(Handle::current()));
        let pass = tokio::task::spawn_blocking(move || {
            let _entered = span.entered();
            let result = writer.pass(&context, &runtime);
            let is_known = |report: &&Report| report.is_nothing() && status.borrow().is_in_sync();
            let report = result.as_ref().ok().filter(|report| !is_known(report));
            let toggles = report.and_then(|report| toggles_after(report, &writer, &mut revisions));
            FinishedPass {
                writer,
                revisions,
                result,
                toggles,
            }
        });
        async {
            pass.await
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
        }
    }

    /// What tells one token from another without keeping it; nothing where it cannot be read.
    pub(super) fn token_fingerprint(&self) -> Option<String> {
        use sha2::{Digest, Sha256};
        let secret = self.config.service.as_ref()?.token.read().ok()?;
        Some(crate::model::hex(&Sha256::digest(secret.expose())))
    }
}

/// Returns where every toggle stands after a pass.
fn toggles_after(
    report: &Report,
    writer: &Reconciler,
    revisions: &mut Revisions,
) -> Option<Vec<ToggleStatus>> {
    let scope = &writer.config().rules.policy.scope;
    toggles::after(report, writer.view(), revisions, scope)
        .map_err(
            |error| tracing::warn!(name: "status_unknown", reason = chain(&error), "the status is not known"),
        )
        .ok()
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

/// Gives the log lines of one pass the same short id. The level keeps it enabled whatever is logged.
fn pass_span() -> Span {
    tracing::error_span!("pass", pass = format!("{:08x}", fastrand::u32(..)))
}

/// Waits until `stop` becomes true or its sender is gone. Can be called again.
pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}
