//! Answers operators and looks up the source while a pass runs. After an order or a shutdown, or a newer
//! commit once each environment had its turn, the pass starts no further request.
//!
//! An order is on disk before it is answered. During a pass, which may take long, the driver records and
//! answers an order immediately; the state reads it after the pass.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, interval_at, sleep_until};

use crate::daemon::Metrics;
use crate::daemon::control::{ControlError, DriverCommand};
use crate::daemon::driver::{Driver, TICK, retry_threads, stopped};
use crate::daemon::loop_state::LoopState;
use crate::daemon::probe::HeadProbe;
use crate::daemon::release::{AllowRequest, Rejection, Released, release};
use crate::daemon::status::{ServiceWait, Status, ToggleStatus};
use crate::model::{
    Action, CommitId, EnvironmentId, Hold, SuspensionScope, Suspensions, ToggleId, ToggleState, chain,
    counted,
};
use crate::pass::{Event, PassContext, Reconciler, Runtime};
use crate::plan::{Change, Plan};
use crate::service::Outcome;
use crate::state::Orders;

/// The time that a pass has to end after a shutdown was requested.
// The process must exit within this time of a signal (src/daemon/README.md, "What the daemon promises").
const SHUTDOWN_GRACE: Duration = Duration::from_secs(25);

/// The driver's side of a running pass.
pub(super) struct RunningPass {
    stop: watch::Sender<bool>,
    revision: watch::Receiver<Option<CommitId>>,
    first_round: Arc<FirstRound>,
    /// The newest commit that a lookup has found.
    head: Option<CommitId>,
    /// Whether an order was recorded that the pass was planned without.
    pub(super) has_orders: bool,
    /// Whether another pass was requested.
    pub(super) is_triggered: bool,
    /// Whether a webhook was among the requests.
    pub(super) is_delivered: bool,
    /// Whether the next pass tries parked toggles again.
    pub(super) retries_parked: bool,
}

/// The environments that had no turn in this pass yet. Before the pass begins to publish, they are not known.
#[derive(Debug, Default)]
struct FirstRound(Mutex<Option<Vec<EnvironmentId>>>);

impl FirstRound {
    fn begin(&self, plan: &Plan) {
        *self.waiting() = Some(plan.lanes().into_iter().map(|lane| lane.environment).collect());
    }

    /// A request for this toggle, or the read before it, has ended, or its change has.
    fn had_turn(&self, toggle: &ToggleId) {
        let environment = toggle.environment();
        if let Some(waiting) = &mut *self.waiting() {
            waiting.retain(|one| !one.is_same(&environment));
        }
    }

    /// The other environments are not waited for.
    fn end(&self) {
        *self.waiting() = Some(Vec::new());
    }

    fn is_over(&self) -> bool {
        self.waiting().as_ref().is_some_and(Vec::is_empty)
    }

    fn waiting(&self) -> MutexGuard<'_, Option<Vec<EnvironmentId>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningPass {
    /// Creates the driver's side of a pass and its context.
    pub(super) fn new(driver: &Driver) -> (Self, PassContext) {
        let (stop, stopped) = watch::channel(false);
        let (found, revision) = watch::channel(None);
        let (status, observe) = (driver.status.clone(), Arc::clone(&driver.observe));
        let first_round = Arc::new(FirstRound::default());
        let round = Arc::clone(&first_round);
        let (metrics, open) = (driver.metrics.clone(), Mutex::new(OpenChanges::default()));
        let runtime = Runtime::new(Handle::current());
        let context = PassContext::new(runtime, stopped, move |event| {
            let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
            match event {
                Event::Queues(holder) => show_queue(&status, &metrics, Some(holder)),
                Event::Looked(revision) => {
                    show_queue(&status, &metrics, None);
                    found.send_replace(Some(*revision));
                }
                Event::Doubted(doubt) => {
                    // Nothing gets through, so no environment misses its turn.
                    if doubt.is_some() {
                        round.end();
                    }
                    show_doubt(&status, *doubt);
                    open.show_once(&status, &metrics);
                }
                Event::HeldBack(wait) => {
                    round.end();
                    show_wait(&status, *wait);
                    open.show_once(&status, &metrics);
                }
                Event::Begins(plan) => {
                    round.begin(plan);
                    *open = OpenChanges::of(plan);
                    // A toggle that is held or failed stays so until the pass knows better.
                    open.show(&status, &metrics, |state| {
                        !matches!(state, ToggleState::Failed | ToggleState::Drifted | ToggleState::Held)
                    });
                }
                Event::Ended(change, ..) => {
                    open.changes.remove(&change.id);
                    round.had_turn(&change.id);
                }
                Event::Answered(toggle, ..) | Event::Failed(toggle, ..) => round.had_turn(toggle),
                Event::Overwrites(..) | Event::Sends(..) => {}
            }
            drop(open);
            observe(event);
        });
        let running = Self {
            stop,
            revision,
            first_round,
            head: None,
            has_orders: false,
            is_triggered: false,
            is_delivered: false,
            retries_parked: false,
        };
        (running, context)
    }

    /// Creates the driver's side of a scan, which any other revision than `seen` interrupts.
    pub(super) fn at(driver: &Driver, seen: Option<CommitId>) -> (Self, PassContext) {
        let (mut running, context) = Self::new(driver);
        // A scan changes nothing, so a shutdown does not have to wait for it.
        running.revision = watch::channel(seen).1;
        running.first_round.end();
        (running, context)
    }

    /// Returns the source revision of the pass, once the pass has read it.
    pub(super) fn revision(&self) -> Option<CommitId> {
        *self.revision.borrow()
    }

    fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Stops the pass if `head` is another revision than its own, and the first round was sent: otherwise, a
    /// source that moves all the time would keep every pass from sending anything (src/pass/README.md, "One
    /// toggle is not evidence").
    fn compare(&mut self, head: Option<CommitId>) {
        let revision = self.revision();
        // A lookup that failed has found no head, which is not a reason to stop.
        self.head = head.or(self.head);
        let is_other = revision.is_some() && self.head.is_some() && self.head != revision;
        if is_other && self.first_round.is_over() {
            self.stop();
        }
    }

    /// Makes the orders of this pass count for the next one, whatever this one failed with.
    pub(super) fn clear_failures(&self, state: &mut LoopState) {
        if self.retries_parked {
            state.retry_parked();
        } else if self.has_orders {
            state.forget_failures();
        } else if self.is_delivered {
            state.schedule.forget_rejection();
        }
    }

    fn on_order(&mut self, effect: &OrderEffect) {
        match effect {
            OrderEffect::Recorded => {
                self.has_orders = true;
                // The pass was planned without the order, and the next pass follows immediately.
                self.stop();
            }
            OrderEffect::Rejected => {}
            OrderEffect::RetryParked => self.retries_parked = true,
        }
    }
}

impl Driver {
    /// Waits for the end of `pass`. Returns nothing if a shutdown abandoned it.
    pub(super) async fn attend<P: Future>(
        &mut self,
        pass: P,
        running: &mut RunningPass,
        probe: &mut HeadProbe,
        stop: &mut watch::Receiver<bool>,
    ) -> Option<P::Output> {
        let mut tick = interval(TICK);
        let mut poll = interval_at(Instant::now() + self.poll_interval, self.poll_interval);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tokio::pin!(pass);
        loop {
            tokio::select! {
                done = &mut pass => return Some(done),
                () = stopped(stop) => {
                    // Before it has read the source, a pass may wait for a remote without a limit, and has
                    // sent nothing.
                    running.revision()?;
                    running.stop();
                    return tokio::time::timeout(SHUTDOWN_GRACE, &mut pass).await.ok();
                }
                Some(command) = self.commands.recv() => {
                    let effect = self.record(command, running.revision());
                    running.on_order(&effect);
                }
                _ = tick.tick() => {
                    self.heartbeat.beat();
                    self.expire();
                    if running.revision().is_none() {
                        retry_threads();
                    }
                    running.compare(probe.local_head());
                }
                // A remote repository may be ahead of this pass, which may be retrying for a while.
                () = self.trigger.fired(), if !probe.is_local() => {
                    running.is_triggered = true;
                    if let Some(delivered) = self.trigger.take_delivery() {
                        running.is_delivered = true;
                        probe.expect(delivered);
                    }
                    probe.start();
                }
                // A newer commit takes precedence over the retries of this pass (src/pass/README.md, "One
                // toggle is not evidence").
                _ = poll.tick() => probe.poll(),
                () = sleep_until(probe.second_look().unwrap_or_else(Instant::now)), if probe.second_look().is_some() => {
                    probe.look_again(Instant::now());
                }
                head = probe.finished() => running.compare(head),
            }
        }
    }
}

/// The changes of a running pass that have not ended.
#[derive(Debug, Default)]
struct OpenChanges {
    /// What each does, and what holds it whatever the service has.
    changes: BTreeMap<ToggleId, (Action, Option<Arc<Hold>>)>,
    is_shown: bool,
}

impl OpenChanges {
    fn of(plan: &Plan) -> Self {
        let open = |change: &Change| (change.action, plan.unless_equal(&change.id).cloned());
        let changes = plan.changes().iter().map(|change| (change.id.clone(), open(change)));
        Self { changes: changes.collect(), is_shown: false }
    }

    /// Shows the changes as pending while the pass waits for the service, once.
    fn show_once(&mut self, status: &watch::Sender<Status>, metrics: &Metrics) {
        if !std::mem::replace(&mut self.is_shown, true) {
            self.show(status, metrics, |_| true);
        }
    }

    /// Shows the changes of toggles in `states` as pending: until the pass ends, the status has its toggles as
    /// they were before it. What was held stays so if a read alone could end that, or if the plan holds it as well.
    fn show(&self, status: &watch::Sender<Status>, metrics: &Metrics, states: impl Fn(ToggleState) -> bool) {
        if self.changes.is_empty() {
            return;
        }
        status.send_modify(|status| {
            let mut toggles = (*status.toggles).clone();
            for (id, (action, known)) in &self.changes {
                let hold = Hold::undecided(ToggleState::Pending, format!("{} is due", action.as_str()));
                let hold = Some(Arc::new(hold));
                let stays = |shown: &Arc<Hold>| {
                    shown.is_live() || known.as_ref().is_some_and(|known| known.kind == shown.kind)
                };
                match toggles.binary_search_by(|toggle| toggle.toggle.cmp(id)) {
                    Ok(place) if !states(toggles[place].state()) => {}
                    Ok(place) if toggles[place].hold.as_ref().is_some_and(stays) => {}
                    Ok(place) => toggles[place].hold = hold,
                    Err(place) => toggles.insert(place, ToggleStatus::new(id.clone(), hold)),
                }
            }
            metrics.toggles(&toggles);
            status.set_toggles(toggles);
        });
    }
}

/// Shows for whom the pass waits before it may publish on the shared state.
fn show_queue(status: &watch::Sender<Status>, metrics: &Metrics, holder: Option<&str>) {
    metrics.writer(holder.is_none());
    status.send_if_modified(|status| {
        let is_new = status.queued.as_deref() != holder;
        status.queued = holder.map(str::to_owned);
        is_new
    });
}

/// Shows the wait that the service asked for, unless a longer one is shown already.
fn show_wait(status: &watch::Sender<Status>, wait: Duration) {
    let wait = ServiceWait::from_now(wait);
    status.send_if_modified(|status| {
        let is_longer = status.waiting.is_none_or(|shown| shown.until < wait.until);
        if status.waiting.is_none() {
            tracing::warn!(name: "held_back", reason = %wait, "the service asked for a wait");
        }
        if is_longer {
            status.waiting = Some(wait);
        }
        is_longer
    });
}

/// Shows that the service gives no useful response, until it gives one or the pass ends.
fn show_doubt(status: &watch::Sender<Status>, doubt: Option<(usize, &Outcome)>) {
    let doubt = doubt.map(|(toggles, last)| {
        let toggles = counted(toggles, "toggle");
        format!("no useful response from the service to {toggles} in a row; the last: {last}")
    });
    status.send_modify(|status| status.doubt = doubt);
}

pub(super) enum OrderEffect {
    /// It is on disk. A running pass was planned without it.
    Recorded,
    Rejected,
    /// The next pass tries parked toggles again. Nothing is recorded.
    RetryParked,
}

impl Driver {
    /// Carries out an order between passes.
    pub(super) fn carry_out(
        &self,
        command: DriverCommand,
        reconciler: &mut Reconciler,
        state: &mut LoopState,
    ) {
        match self.record(command, None) {
            // The caller fires the trigger as well.
            OrderEffect::RetryParked => state.retry_parked(),
            OrderEffect::Rejected => {}
            OrderEffect::Recorded => {
                reload(reconciler);
                state.forget_failures();
                self.trigger.fire();
            }
        }
    }

    /// Records and answers an order. `running` is the revision of the running pass.
    pub(super) fn record(&self, command: DriverCommand, running: Option<CommitId>) -> OrderEffect {
        let orders = Orders::new(&self.config.state_dir);
        let is_recorded = match command {
            DriverCommand::RetryParked => {
                self.status.borrow().log_wait();
                return OrderEffect::RetryParked;
            }
            DriverCommand::Allow(request, reply) => {
                let released = self.allow(&orders, &request, running);
                let is_recorded = released.is_ok();
                let _ = reply.send(released);
                is_recorded
            }
            DriverCommand::Resume(scope, reply) => {
                let resumed = orders.resume(&scope).map_err(|error| chain(&error));
                let is_recorded = resumed.is_ok();
                // Before the answer, so that the caller finds the order in the status.
                self.show_recorded(&orders);
                let _ = reply.send(resumed);
                is_recorded
            }
            DriverCommand::Suspend(scope, suspension, reply) => {
                let suspended = orders.suspend(scope, suspension).map_err(|error| chain(&error));
                let is_recorded = suspended.is_ok();
                self.show_recorded(&orders);
                let _ = reply.send(suspended);
                is_recorded
            }
        };
        if is_recorded { OrderEffect::Recorded } else { OrderEffect::Rejected }
    }

    fn allow(
        &self,
        orders: &Orders,
        request: &AllowRequest,
        running: Option<CommitId>,
    ) -> Result<Released, ControlError> {
        let released = release(request, &self.status.borrow(), self.config.rules.kind)?;
        let planned = released.allowance.revision;
        // The status shows the pass before, and a decision must not release a plan that the operator has not
        // seen.
        if let Some(current) = running.filter(|current| *current != planned) {
            let given = request.revision.clone();
            return Err(Rejection::OtherRevision { given, current }.into());
        }
        let recorded = orders.allow(released.allowance.clone());
        recorded.map_err(|error| ControlError::NotRecorded(chain(&error)))?;
        Ok(released)
    }

    /// Removes ended suspensions and an ended wait for the service from the status, also between passes.
    pub(super) fn expire(&self) {
        let is_over = |wait: &mut ServiceWait| wait.until <= Instant::now();
        self.status.send_if_modified(|status| status.waiting.take_if(is_over).is_some());
        let shown = self.status.borrow().suspensions.clone();
        let active = shown.at(self.config.clock.unix());
        if active != shown {
            let is_over = |scope: &&SuspensionScope| !active.iter().any(|(other, _)| other == *scope);
            for scope in shown.iter().map(|(scope, _)| scope).filter(is_over) {
                tracing::info!(name: "suspension_ended", %scope, "suspension ended");
            }
            self.show(active);
        }
    }

    fn show_recorded(&self, orders: &Orders) {
        match orders.suspensions() {
            Ok(suspensions) => self.show(suspensions.at(self.config.clock.unix())),
            Err(error) => {
                tracing::error!(name: "orders_unreadable", error = chain(&error), "could not read the suspensions");
            }
        }
    }

    pub(super) fn show(&self, suspensions: Suspensions) {
        self.metrics.suspensions(&suspensions);
        self.status.send_modify(|status| status.suspensions = suspensions);
    }
}

/// Makes the state read the recorded orders.
pub(super) fn reload(reconciler: &mut Reconciler) {
    if let Err(error) = reconciler.store().reload() {
        tracing::error!(name: "orders_unreadable", error = chain(&error), "could not read the orders");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ObjectId;

    #[test]
    fn a_newer_commit_stops_a_pass_once_each_environment_had_its_turn() {
        let [own, newer] = [1, 2].map(|number| CommitId(ObjectId([number; 20])));
        let (stop, stopped) = watch::channel(false);
        let mut running = RunningPass {
            stop,
            revision: watch::channel(Some(own)).1,
            first_round: Arc::default(),
            head: None,
            has_orders: false,
            is_triggered: false,
            is_delivered: false,
            retries_parked: false,
        };
        running.compare(Some(newer));
        assert!(!*stopped.borrow(), "it is not planned yet");
        *running.first_round.waiting() = Some(["shop/prod", "web/prod"].map(|id| id.parse().unwrap()).into());
        for toggle in ["shop/prod/pay", "Shop/prod/ship"] {
            running.first_round.had_turn(&toggle.parse().unwrap());
            running.compare(Some(newer));
            assert!(!*stopped.borrow(), "{toggle}");
        }
        running.first_round.had_turn(&"web/prod/pay".parse().unwrap());
        running.compare(None);
        assert!(*stopped.borrow(), "the newer commit is remembered");
    }
}
