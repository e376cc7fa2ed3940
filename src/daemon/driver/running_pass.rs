//! Answers operators and looks up the source while a pass runs. After an order or a shutdown, or a newer commit
//! once each environment had its turn, the pass starts no further request.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, interval_at};

use super::orders::OrderEffect;
use super::{Driver, TICK, stopped};
use crate::daemon::probe::HeadProbe;
use crate::daemon::status::{ServiceWait, Status};
use crate::model::{CommitId, counted};
use crate::pass::{Event, PassContext, Runtime};
use crate::service::Outcome;

/// The time that a pass has to end after a shutdown was requested.
// The process must exit within this time of a signal (DESIGN, section 9).
const GRACE: Duration = Duration::from_secs(25);

/// The driver's side of a running pass.
pub(super) struct RunningPass {
    stop: watch::Sender<bool>,
    revision: watch::Receiver<Option<CommitId>>,
    /// The responses that are missing from the first round: one for each environment. Before the pass begins to publish, the
    /// number is not known yet.
    missing: Arc<AtomicUsize>,
    /// The newest commit that a lookup has found.
    head: Option<CommitId>,
    /// Whether an order was recorded that the pass was planned without.
    pub(super) has_orders: bool,
    /// Whether another pass was requested.
    pub(super) is_triggered: bool,
    /// Whether the next pass tries parked toggles again.
    pub(super) retries_parked: bool,
}

impl RunningPass {
    /// Creates the driver's side of a pass and its context.
    pub(super) fn new(driver: &Driver) -> (Self, PassContext) {
        let (stop, stopped) = watch::channel(false);
        let (found, revision) = watch::channel(None);
        let (status, observe) = (driver.status.clone(), Arc::clone(&driver.observe));
        let missing = Arc::new(AtomicUsize::new(usize::MAX));
        let answered = Arc::clone(&missing);
        let count = move || {
            answered
                .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1))
                .is_ok()
        };
        let begun = Arc::clone(&missing);
        let runtime = Runtime::Tokio(Handle::current());
        let context = PassContext::new(runtime, stopped, move |event| {
            match event {
                Event::Looked(revision) => drop(found.send_replace(Some(*revision))),
                Event::Doubted(doubt) => show_doubt(&status, *doubt),
                Event::HeldBack(wait) => show_wait(&status, *wait),
                Event::Begins(plan) => begun.store(plan.lanes().len(), Relaxed),
                Event::Answered(..) | Event::Ended(_, _, None) => {
                    count();
                }
                Event::Ended(..) => {}
            }
            observe(event);
        });
        let running = Self {
            stop,
            revision,
            missing,
            head: None,
            has_orders: false,
            is_triggered: false,
            retries_parked: false,
        };
        (running, context)
    }

    /// Creates the driver's side of a scan, which any other revision than `seen` interrupts.
    pub(super) fn at(driver: &Driver, seen: Option<CommitId>) -> (Self, PassContext) {
        let (mut running, context) = Self::new(driver);
        // A scan changes nothing, so a shutdown does not have to wait for it.
        running.revision = watch::channel(seen).1;
        running.missing.store(0, Relaxed);
        (running, context)
    }

    /// Returns the source revision of the pass, once the pass has read it.
    pub(super) fn revision(&self) -> Option<CommitId> {
        *self.revision.borrow()
    }

    fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Stops the pass if `head` is another revision than its own, and the first round was sent: otherwise, a source that
    /// moves all the time would keep every pass from sending anything (DESIGN, section 6).
    fn compare(&mut self, head: Option<CommitId>) {
        let revision = self.revision();
        // A lookup that failed has found no head, which is not a reason to stop.
        self.head = head.or(self.head);
        let is_other = revision.is_some() && self.head.is_some() && self.head != revision;
        if is_other && self.missing.load(Relaxed) == 0 {
            self.stop();
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
                    // Before it has read the source, a pass may wait for a remote without a limit, and has sent nothing.
                    running.revision()?;
                    running.stop();
                    return tokio::time::timeout(GRACE, &mut pass).await.ok();
                }
                Some(command) = self.commands.recv() => {
                    let effect = self.record(command, running.revision());
                    running.on_order(&effect);
                }
                _ = tick.tick() => {
                    self.heartbeat.beat();
                    self.expire();
                    running.compare(probe.local_head());
                }
                // A remote repository may be ahead of this pass, which may be retrying for a while.
                () = self.trigger.fired(), if !probe.is_local() => {
                    running.is_triggered = true;
                    probe.start();
                }
                // A newer commit takes precedence over the retries of this pass (DESIGN, section 6).
                _ = poll.tick() => probe.start(),
                head = probe.finished() => running.compare(head),
            }
        }
    }
}

/// Shows the wait that the service asked for, unless a longer one is shown already.
fn show_wait(status: &watch::Sender<Status>, wait: Duration) {
    let wait = ServiceWait::from_now(wait);
    status.send_if_modified(|status| {
        let is_longer = status.waiting.is_none_or(|shown| shown.until < wait.until);
        if is_longer {
            status.waiting = Some(wait);
        }
        is_longer
    });
}

/// Shows that the service is in doubt, until it gives a useful response or the pass ends.
fn show_doubt(status: &watch::Sender<Status>, doubt: Option<(usize, &Outcome)>) {
    let doubt = doubt.map(|(toggles, last)| {
        let toggles = counted(toggles, "toggle");
        format!("the service is in doubt: no useful response to {toggles} in a row; the last: {last}")
    });
    status.send_modify(|status| status.doubt = doubt);
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
            missing: Arc::new(AtomicUsize::new(usize::MAX)),
            head: None,
            has_orders: false,
            is_triggered: false,
            retries_parked: false,
        };
        for missing in [usize::MAX, 2, 1] {
            running.missing.store(missing, Relaxed);
            running.compare(Some(newer));
            assert!(!*stopped.borrow(), "{missing}");
        }
        running.missing.store(0, Relaxed);
        running.compare(None);
        assert!(*stopped.borrow(), "the newer commit is remembered");
    }
}
