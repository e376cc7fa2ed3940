//! Runs a pass when it is due, when an operator orders one, and when the source has moved; one at a time.
//!
//! Poll, webhook and `POST /reconcile` are the same trigger, without data. The driver owns the reconciler, so
//! nothing else writes while a pass runs.

mod conclude;
mod running_pass;
mod scan;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tracing::Span;

use super::schedule::PassOutcome;
use super::status::{LastPass, PassResult, Role};
use super::{ControlError, NOT_THE_WRITER};
use crate::daemon::driver::running_pass::{RunningPass, reload};
use crate::daemon::freshness::Freshness;
use crate::daemon::loop_state::LoopState;
use crate::daemon::probe::HeadProbe;
use crate::daemon::status::{Status, ToggleStatus, toggles};
use crate::daemon::{DriverCommand, Heartbeat, Metrics, Trigger};
use crate::model::{CommitId, Suspension, chain, counted, rfc3339};
use crate::pass::{Config, Error, Observe, PassContext, PassInputs, Reconciler, Report, applied_tree};
use crate::plan::hold::{STATE_LOST, state_lost_advice};
use crate::state;
use crate::state::{Revisions, StateSnapshot};

/// The interval at which a local ref is looked up, and at which a follower tries to become the writer.
const TICK: Duration = Duration::from_secs(1);

/// The daemon's loop around passes, and its connections to the rest of the process.
pub struct Driver {
    /// The settings of every pass.
    pub config: Config,
    /// The interval between passes if nothing triggers one.
    pub poll_interval: Duration,
    /// The interval between scans for drift; zero for none.
    pub drift_interval: Duration,
    /// Observes every pass.
    pub observe: Observe,
    /// Requests passes.
    pub trigger: Trigger,
    /// Requests a lookup of a local ref, which starts a pass only if the ref has moved.
    pub lookup: Trigger,
    /// Orders of operators.
    pub commands: mpsc::Receiver<DriverCommand>,
    /// Receives the status after every pass.
    pub status: watch::Sender<Status>,
    pub metrics: Metrics,
    /// Updated in every turn of the loop.
    pub heartbeat: Heartbeat,
    /// The age from which a source is out of date.
    pub stale_after: Duration,
}

/// The event that ended a wait.
enum Wakeup {
    Command(DriverCommand),
    /// A lookup of a remote source found this head.
    Found(Option<CommitId>),
    /// A lookup of a remote source is due.
    LookupDue,
    PassDue,
    ScanDue,
    Stop,
    /// A lookup of a local ref is due.
    Tick,
}

struct FinishedPass {
    reconciler: Reconciler,
    revisions: Revisions,
    result: Result<Report, Error>,
    /// The status of every toggle; none if it is unchanged or unknown.
    toggles: Option<Vec<ToggleStatus>>,
}

impl Driver {
    /// Runs passes until `stop` becomes true. Then no request starts, and open requests end or are abandoned
    /// after 25 s.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let freshness = Freshness {
            status: self.status.clone(),
            metrics: self.metrics.clone(),
            stale_after: self.stale_after,
        };
        let probe = HeadProbe::new(self.config.source.clone(), freshness);
        let mut state = LoopState::new(self.poll_interval, self.drift_interval, probe);
        let mut tick = interval(TICK);
        // Missed ticks are not made up for, because one lookup finds every move of the ref.
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.status.send_modify(|status| {
            status.source.repo.clone_from(&self.config.rules.repo);
            status.service.clone_from(&self.config.rules.base_url);
        });
        let mut leader = None;
        while !*stop.borrow() {
            self.heartbeat.beat();
            self.expire();
            let reconciler = match &mut leader {
                Some(reconciler) => reconciler,
                None => match self.open_state(&mut state, &mut stop).await {
                    Ok(reconciler) => leader.insert(reconciler),
                    Err(until) => {
                        self.wait_for_turn(until, &mut stop).await;
                        continue;
                    }
                },
            };
            match self.wakeup(&mut state, &mut tick, &mut stop).await {
                Wakeup::Stop => return,
                Wakeup::Command(command) => self.carry_out(command, reconciler, &mut state),
                Wakeup::ScanDue => match self.scan(reconciler, &mut state, &mut stop).await {
                    Some(()) => {}
                    None => return,
                },
                wakeup if self.is_due(&wakeup, &mut state) => {
                    // Another process may hold the lock of a folder that has replaced this one.
                    let Some(reconciler) = leader.take().filter(|leader| self.is_usable(leader, &mut state))
                    else {
                        continue;
                    };
                    leader = self.pass(reconciler, &mut state, &mut stop).await;
                    if leader.is_none() {
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns whether a pass is to start now.
    fn is_due(&self, wakeup: &Wakeup, state: &mut LoopState) -> bool {
        let now = Instant::now();
        if let Some(delivered) = self.trigger.take_delivery() {
            state.on_delivery(delivered);
        }
        let is_wanted = match wakeup {
            Wakeup::PassDue => true,
            Wakeup::LookupDue => {
                state.schedule.on_lookup(now, fastrand::f64());
                state.probe.look_again(now);
                false
            }
            Wakeup::Found(head) => state.on_found(*head),
            Wakeup::Tick => {
                // Taken, so that a pass that ends without a new time is not started again by every tick.
                let at = self.config.clock.unix();
                state.wakes_at.take_if(|wakes_at| *wakes_at <= at).is_some() || state.is_ref_moved()
            }
            Wakeup::Command(_) | Wakeup::ScanDue | Wakeup::Stop => false,
        };
        let paused_until = is_wanted.then(|| self.paused_until(state, now)).flatten();
        if let Some(until) = paused_until {
            // Otherwise the pass would stay due, and every wait of the loop would end immediately.
            state.schedule.defer(now, until);
        }
        is_wanted && paused_until.is_none()
    }

    /// Returns the time before which no pass may start: the service asked for a wait, or rejected the token.
    fn paused_until(&self, state: &LoopState, now: Instant) -> Option<Instant> {
        let schedule = &state.schedule;
        let held = schedule.held_until(now);
        held.or_else(|| schedule.rejected_until(now, self.token_fingerprint().as_deref()))
    }

    async fn wakeup(
        &mut self,
        state: &mut LoopState,
        tick: &mut tokio::time::Interval,
        stop: &mut watch::Receiver<bool>,
    ) -> Wakeup {
        let due = state.schedule.due();
        // Reads wait as long as the service asked for, and use no rejected token.
        let allowed = self.paused_until(state, Instant::now());
        let scan_due = state.drift.due().map(|due| allowed.map_or(due, |allowed| due.max(allowed)));
        let probe = &mut state.probe;
        // The tick looks up a local ref.
        let lookup_due = state.schedule.lookup_due().into_iter().chain(probe.second_look()).min();
        let lookup_due = lookup_due.filter(|_| !probe.is_local());
        tokio::select! {
            // In this order, so that a stop or an order never waits behind triggers.
            biased;
            () = stopped(stop) => Wakeup::Stop,
            Some(command) = self.commands.recv() => Wakeup::Command(command),
            () = self.trigger.fired() => Wakeup::PassDue,
            () = sleep_until(due) => Wakeup::PassDue,
            () = sleep_until(scan_due.unwrap_or(due)), if scan_due.is_some() => Wakeup::ScanDue,
            () = sleep_until(lookup_due.unwrap_or(due)), if lookup_due.is_some() => Wakeup::LookupDue,
            head = probe.finished() => Wakeup::Found(head),
            () = self.lookup.fired() => Wakeup::Tick,
            _ = tick.tick() => Wakeup::Tick,
        }
    }

    /// Runs a pass and keeps the loop responsive meanwhile. Returns nothing if a shutdown abandoned the pass.
    async fn pass(
        &mut self,
        reconciler: Reconciler,
        state: &mut LoopState,
        stop: &mut watch::Receiver<bool>,
    ) -> Option<Reconciler> {
        let inputs = state.inputs(&reconciler, self.config.clock.unix());
        let (mut running, context) = RunningPass::new(self);
        let head = state.probe.local_head();
        let (started, started_at) = (Instant::now(), SystemTime::now());
        let span = pass_span();
        let revisions = std::mem::take(&mut state.revisions);
        let pass = self.spawn_pass(reconciler, inputs, revisions, context, span.clone());
        let FinishedPass { mut reconciler, revisions, result, toggles } =
            self.attend(pass, &mut running, &mut state.probe, stop).await?;
        let took = started.elapsed();
        // If the pass did not read the source, only a move after its start is a reason for another pass.
        state.seen = running.revision().or(head);
        if state.seen.is_some() || result.is_ok() {
            // The start of the pass counts, because a commit that was pushed during the pass may be missing.
            state.probe.record_lookup(started_at);
        }
        state.revisions = revisions;
        self.follow_up(&running, &mut reconciler);
        span.in_scope(|| self.conclude(&reconciler, &result, toggles, took, state));
        if matches!(&result, Err(Error::Source(_))) {
            state.probe.rest(state.schedule.due());
        }
        // Last, because the pass itself parks toggles, and its token may have been rejected.
        running.clear_failures(state);
        Some(reconciler)
    }

    /// Requests another pass after one that was planned without an order, or may have read the source before
    /// a trigger.
    fn follow_up(&self, running: &RunningPass, reconciler: &mut Reconciler) {
        if running.is_triggered || running.has_orders {
            self.trigger.fire();
        }
        if running.has_orders {
            reload(reconciler);
        }
    }

    /// Starts a pass on a blocking thread.
    fn spawn_pass(
        &self,
        mut reconciler: Reconciler,
        inputs: PassInputs,
        mut revisions: Revisions,
        context: PassContext,
        span: Span,
    ) -> impl Future<Output = FinishedPass> + use<> {
        let status = self.status.clone();
        let pass = tokio::task::spawn_blocking(move || {
            let _entered = span.entered();
            let result = reconciler.pass(&context, inputs);
            // The status is computed from the whole applied tree, which an unchanged status does not need.
            let is_known = |report: &&Report| report.is_nothing() && status.borrow().is_in_sync();
            let report = result.as_ref().ok().filter(|report| !is_known(report));
            let toggles = report.and_then(|report| toggles_after(report, &reconciler, &mut revisions));
            FinishedPass { reconciler, revisions, result, toggles }
        });
        async { pass.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic())) }
    }

    /// Returns a digest that distinguishes tokens; none if the token cannot be read.
    fn token_fingerprint(&self) -> Option<String> {
        use sha2::{Digest, Sha256};
        // Only a digest leaves this function, so that the schedule does not hold the token.
        let secret = self.config.service.as_ref()?.token.read().ok()?;
        Some(crate::model::hex(&Sha256::digest(secret.expose())))
    }
}

/// Returns the status of every toggle after a pass.
fn toggles_after(
    report: &Report,
    reconciler: &Reconciler,
    revisions: &mut Revisions,
) -> Option<Vec<ToggleStatus>> {
    toggles::after(report, reconciler.view(), revisions, &reconciler.config().rules)
        .map_err(|error| {
            tracing::warn!(name: "status_unknown", reason = chain(&error), "could not compute the status");
        })
        .ok()
}

/// Returns a span that gives the log lines of one pass the same short id.
fn pass_span() -> Span {
    // The level keeps the span enabled at every log level.
    tracing::error_span!("pass", pass = format!("{:08x}", fastrand::u32(..)))
}

/// Has the runtime start a thread for work that found none: it tries only when work is added. Logs once that the
/// system has none.
fn retry_threads() {
    static IS_LOGGED: AtomicBool = AtomicBool::new(false);
    match std::thread::Builder::new().spawn(|| {}) {
        Ok(_) => IS_LOGGED.store(false, Relaxed),
        Err(error) if !IS_LOGGED.swap(true, Relaxed) => {
            tracing::warn!(name: "no_thread", reason = %error, "the system starts no further thread for this process; waiting for one");
        }
        Err(_) => {}
    }
    drop(tokio::task::spawn_blocking(|| {}));
}

/// Waits until `stop` becomes true or its sender is gone. Can be called again.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

impl Driver {
    /// Returns the path of the missing checkout if no repository has existed there since startup.
    pub(crate) fn awaited<'e>(&self, error: &'e Error) -> Option<&'e Path> {
        // A repository that vanishes later is an error, which the pass reports.
        let is_new = self.status.borrow().source.revision.is_none();
        error.missing_checkout().filter(|_| is_new)
    }

    /// Reports that no checkout exists at `path` yet; logs it once.
    pub(crate) fn wait_for_checkout(&self, path: &Path) {
        self.status.send_if_modified(|status| {
            let awaited = &mut status.source.awaited;
            let is_new = awaited.as_deref() != Some(path);
            if is_new {
                tracing::info!(name: "waiting_for_checkout", path = %path.display(), "waiting for a checkout at the path of the source");
                *awaited = Some(path.to_owned());
            }
            is_new
        });
    }
}

impl Driver {
    /// Opens the state.
    ///
    /// # Errors
    /// The time at which to try again.
    async fn open_state(
        &mut self,
        state: &mut LoopState,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<Reconciler, Instant> {
        let (config, began) = (self.config.clone(), Instant::now());
        // The loop waits for the lock instead, so that it answers operators and updates the heartbeat
        // meanwhile.
        let mut opening = tokio::task::spawn_blocking(move || Reconciler::open(config, Duration::ZERO));
        let mut tick = interval(TICK);
        let opened = loop {
            tokio::select! {
                opened = &mut opening => break opened,
                // The remote of shared state may hang. The next process finds whatever is unfinished.
                () = stopped(stop) => return Err(Instant::now()),
                Some(command) = self.commands.recv() => reject(command, "the state is being opened; try again"),
                _ = tick.tick() => {
                    self.heartbeat.beat();
                    retry_threads();
                }
            }
        };
        match opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic())) {
            Ok(mut reconciler) => {
                self.keep_suspensions(&mut reconciler, state);
                self.record_loss(&mut reconciler, state);
                tracing::info!(name: "writer", "this process is the writer");
                self.status.send_modify(|status| status.role = Role::Writer);
                self.metrics.writer(true);
                self.report_suspensions(&reconciler);
                self.show_applied(reconciler.view());
                state.schedule.no_later_than(Instant::now());
                Ok(reconciler)
            }
            // Another process applies the changes, so this is not a failed pass.
            Err(Error::State(state::Error::Locked { holder, .. })) => {
                let role = Role::Follower(holder.to_string());
                if self.status.borrow().role != role {
                    tracing::info!(name: "follower", %holder, "waiting: {}", role.waits().unwrap_or_default());
                }
                self.status.send_modify(|status| status.role = role);
                self.metrics.writer(false);
                Err(Instant::now() + TICK)
            }
            Err(error) => {
                if let Some(path) = self.awaited(&error) {
                    self.wait_for_checkout(path);
                    return Err(Instant::now() + TICK);
                }
                self.on_open_failed(&error, began.elapsed(), state);
                Err(state.schedule.due())
            }
        }
    }

    /// Returns whether the state is still at the place where it was opened; if not, it must be opened again.
    fn is_usable(&self, reconciler: &Reconciler, state: &mut LoopState) -> bool {
        if !reconciler.is_in_place() {
            self.lose(reconciler, state);
            return false;
        }
        let is_same_remote = reconciler.is_same_remote();
        if !is_same_remote {
            tracing::info!(name: "origin_changed", "`origin` of the source has changed; opening the shared state there");
        }
        is_same_remote
    }

    /// Notes what the state folder had that is no longer in its place. Whether it is lost shows once the one in
    /// its place is open: it may have been restored.
    fn lose(&self, reconciler: &Reconciler, state: &mut LoopState) {
        if !reconciler.view().suspensions().is_empty() {
            state.suspensions = reconciler.view().suspensions().clone();
        }
        let config = reconciler.config();
        if config.shared.is_some() {
            let dir = config.state_dir.display();
            tracing::error!(name: "state_folder_replaced", %dir, "the state folder is not the one that was opened; the shared state has the records");
            return;
        }
        let status = self.status.borrow();
        let applied = status.toggles.iter().filter(|toggle| toggle.revision.is_some());
        let applied = applied.map(|toggle| toggle.toggle.environment());
        let lost = state.lost.get_or_insert_default();
        lost.extend(applied.chain(reconciler.view().lost().iter().cloned()));
    }

    /// Records in a new state folder the suspensions that the one before it had: nobody ended them. A new
    /// folder that has suspensions was restored, so its own count.
    fn keep_suspensions(&self, reconciler: &mut Reconciler, state: &mut LoopState) {
        let kept = std::mem::take(&mut state.suspensions);
        if !reconciler.view().suspensions().is_empty() {
            return;
        }
        for (scope, suspension) in kept.iter() {
            let suspended = reconciler.store().orders().suspend(scope.clone(), suspension.clone());
            if let Err(error) = suspended {
                tracing::error!(name: "loss_unrecorded", %scope, reason = chain(&error), "could not record the suspension in the new state folder");
            }
        }
        reload(reconciler);
    }

    /// Records in a new state folder what the one before it had.
    fn record_loss(&self, reconciler: &mut Reconciler, state: &mut LoopState) {
        let Some(lost) = state.lost.take() else { return };
        let config = reconciler.config();
        let (dir, policy) = (config.state_dir.display(), &config.rules.policy);
        if lost.is_empty() || reconciler.view().has_applied() {
            tracing::warn!(name: "state_folder_replaced", %dir, "the state folder is not the one that was opened; going on with what the new one has");
            return;
        }
        tracing::error!(
            name: "state_folder_replaced",
            %dir,
            hint = state_lost_advice(policy),
            "{STATE_LOST}; the state folder is not the one that was opened; opened the new one"
        );
        if let Err(error) = reconciler.store().lose(lost) {
            tracing::warn!(name: "loss_unrecorded", reason = chain(&error), "could not record that the state folder was lost");
        }
    }

    /// Reports suspensions from before the start, without waiting for the end of the first pass.
    fn report_suspensions(&self, reconciler: &Reconciler) {
        let suspensions = reconciler.view().suspensions().at(self.config.clock.unix());
        for (scope, Suspension { reason, until }) in suspensions.iter() {
            tracing::warn!(
                name: "suspended",
                %scope,
                reason,
                until = until.map(rfc3339),
                "suspended since before the start; nothing is published there"
            );
        }
        self.show(suspensions);
    }

    /// Shows how many toggles are applied, because the first pass may fail.
    fn show_applied(&self, view: &StateSnapshot) {
        if self.status.borrow().toggles_at.is_some() {
            return;
        }
        let reader = view.reader().map_err(Error::from);
        let applied = reader.and_then(|reader| applied_tree(view, reader.as_ref()));
        // The first pass reports a state that cannot be read.
        let count = applied.map_or(0, |applied| applied.len());
        let at = view.last_clean_pass().map(|pass| format!(", as of the pass at {}", rfc3339(pass.at)));
        let recorded = (count > 0).then(|| {
            let (toggles, at) = (counted(count, "applied toggle"), at.unwrap_or_default());
            format!("the state has {toggles}{at}; no pass since the start has read them")
        });
        self.status.send_modify(|status| status.recorded = recorded);
    }

    /// Reports a failed pass, because no pass can run without the state.
    fn on_open_failed(&self, error: &Error, took: Duration, state: &mut LoopState) {
        let result = PassResult::of_error(error);
        self.metrics.pass_ended(&result, took);
        state.on_pass_finished(&PassOutcome::failed(), self.token_fingerprint());
        state.log_result(&result);
        self.status.send_modify(|status| {
            // Otherwise `/readyz` would report that the process is starting, not why the state cannot be
            // opened.
            status.role = Role::Writer;
            status.source.awaited = None;
            status.last_pass = Some(LastPass::new(self.config.clock.unix(), result, took));
        });
    }

    /// Waits until `until`, a trigger or a stop.
    async fn wait_for_turn(&mut self, mut until: Instant, stop: &mut watch::Receiver<bool>) {
        let mut tick = interval(TICK);
        let began = Instant::now();
        loop {
            tokio::select! {
                () = sleep_until(until) => return,
                () = stopped(stop) => return,
                // Not immediately, because one commit causes many file events.
                () = self.trigger.fired() => until = until.min(began + TICK),
                Some(command) = self.commands.recv() => {
                    let why = match self.status.borrow().role {
                        Role::Follower(_) => NOT_THE_WRITER,
                        Role::Starting | Role::Writer => "the state cannot be used; see `/readyz` for the reason",
                    };
                    reject(command, why);
                }
                _ = tick.tick() => self.heartbeat.beat(),
            }
        }
    }
}

/// Answers an order that cannot be carried out now.
fn reject(command: DriverCommand, why: &str) {
    match command {
        DriverCommand::Allow(_, reply) => drop(reply.send(Err(ControlError::NotNow(why.to_owned())))),
        DriverCommand::Resume(_, reply) => drop(reply.send(Err(why.to_owned()))),
        DriverCommand::Suspend(_, _, reply) => drop(reply.send(Err(why.to_owned()))),
        DriverCommand::RetryParked => {}
    }
}
