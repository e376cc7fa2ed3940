//! A pass that is running: meanwhile, the driver answers operators and looks up the source. A newer commit, a suspension or
//! a shutdown stops what the pass has not started yet.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, interval_at};

use super::Command;
use super::decisions::Heard;
use super::driver::{Driver, TICK, stopped};
use super::probe::HeadProbe;
use super::status::{Status, Waiting};
use crate::model::CommitId;
use crate::pass::{Event, PassContext};

/// How long an open pass may take to end once the driver is asked to.
const GRACE: Duration = Duration::from_secs(25);

/// The driver's side of a pass under way.
pub(super) struct Underway {
    halt: watch::Sender<bool>,
    about: watch::Receiver<Option<CommitId>>,
    /// Commands that wait for the end of the pass.
    pub(super) orders: Vec<Command>,
    /// Whether an order was recorded that the pass was planned without.
    pub(super) is_ordered: bool,
    /// Whether another pass was asked for.
    pub(super) is_triggered: bool,
}

impl Underway {
    /// Makes both sides of a pass: the driver's, and what the pass needs around it.
    pub(super) fn new(driver: &Driver) -> (Self, PassContext) {
        let (halt, halted) = watch::channel(false);
        let (looked, about) = watch::channel(None);
        let (status, observe) = (driver.status.clone(), Arc::clone(&driver.observe));
        let context = PassContext::new(halted, move |event| {
            match event {
                Event::Looked(revision) => drop(looked.send_replace(Some(*revision))),
                Event::HeldBack(wait) => show_wait(&status, *wait),
                Event::Answered(..) | Event::Begins(_) | Event::Ended(..) => {}
            }
            observe(event);
        });
        let underway = Self {
            halt,
            about,
            orders: Vec::new(),
            is_ordered: false,
            is_triggered: false,
        };
        (underway, context)
    }

    /// Returns the revision that the pass is about, once it has looked.
    pub(super) fn about(&self) -> Option<CommitId> {
        *self.about.borrow()
    }

    /// Lets the pass start nothing more.
    fn halt(&self) {
        self.halt.send_replace(true);
    }

    /// Halts the pass if the ref leads to another revision than the one that the pass is about.
    fn compare(&self, found: Option<CommitId>) {
        let about = self.about();
        if about.is_some() && found.is_some() && found != about {
            self.halt();
        }
    }

    /// Notes what became of a command.
    fn note(&mut self, heard: Heard) {
        match heard {
            Heard::Recorded => {
                self.is_ordered = true;
                self.halt();
            }
            Heard::Refused => {}
            Heard::Waits(command) => self.orders.push(command),
        }
    }
}

impl Driver {
    /// Waits for the end of `pass`, and meanwhile hears commands and triggers, and looks where the ref leads. Returns
    /// nothing where the pass had to be given up.
    pub(super) async fn attend<P: Future>(
        &mut self,
        pass: P,
        underway: &mut Underway,
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
                    // A pass that only looks may take as long as a remote likes.
                    underway.about()?;
                    underway.halt();
                    return tokio::time::timeout(GRACE, &mut pass).await.ok();
                }
                Some(command) = self.commands.recv() => {
                    let heard = self.hear(command, underway.about());
                    underway.note(heard);
                }
                _ = tick.tick() => {
                    self.heartbeat.beat();
                    self.expire();
                    underway.compare(probe.local_head());
                }
                // A repository elsewhere may be ahead of this pass, which may be retrying for a while.
                () = self.trigger.fired(), if !probe.is_local() => {
                    underway.is_triggered = true;
                    probe.start();
                }
                _ = poll.tick() => probe.start(),
                found = probe.finished() => underway.compare(found),
            }
        }
    }
}

/// Shows for how long the service holds passes back, unless a longer wait is shown already.
fn show_wait(status: &watch::Sender<Status>, wait: Duration) {
    let waiting = Waiting::from_now(wait);
    status.send_if_modified(|status| {
        let is_longer = status.waiting.is_none_or(|before| before.until < waiting.until);
        if is_longer {
            status.waiting = Some(waiting);
        }
        is_longer
    });
}
