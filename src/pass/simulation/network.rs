//! The network between a process and the repository that shares the state, and the end of a process at a
//! failpoint.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::machine::Machine;
use super::reference::SharedReference;
use super::repository::Revisions;
use super::service::ToggleService;
use super::world::{World, lock};
use crate::git::simulated::REFUSED;
use crate::state::Clock as _;

/// How many lookups find the same before the network gets slow, so that waiting for an hour does not take an
/// hour.
const FAST_LOOKUPS: u32 = 3;

/// The commit on the ref, and how often it was found in a row.
type Found = (Option<String>, u32);

/// The pushes of a process, by its clock.
#[derive(Clone, Copy, Default)]
struct Pushes {
    /// The start of the first one without a verdict: others may have seen what it left, so its term begins
    /// there.
    began: Option<Duration>,
    /// Whether that is the one under way.
    is_first: bool,
    /// The start of the last one that succeeded.
    succeeded: Duration,
    /// Whether that one was an announcement.
    is_announced: bool,
    /// The time of the last refusal since the start of the last one that had succeeded by then.
    refused_after: Duration,
}

#[derive(Clone)]
pub(super) struct Network {
    world: World,
    /// How often a step is slow.
    slow: f64,
    reference: Option<SharedReference>,
    /// How many more pushes the host refuses, as a hook does for some seconds.
    refusals: Arc<Mutex<u32>>,
    /// What each process found last.
    found: Arc<Mutex<BTreeMap<String, Found>>>,
    pushes: Arc<Mutex<BTreeMap<String, Pushes>>>,
    service: ToggleService,
    revisions: Arc<Revisions>,
}

impl Network {
    pub(super) fn new(
        world: &World,
        reference: Option<SharedReference>,
        service: &ToggleService,
        revisions: &Arc<Revisions>,
    ) -> Self {
        let slow = [0.02, 0.1, 0.4][world.draw(|rng| rng.usize(..3))];
        Self {
            world: world.clone(),
            slow,
            reference,
            refusals: Arc::default(),
            found: Arc::default(),
            pushes: Arc::default(),
            service: service.clone(),
            revisions: Arc::clone(revisions),
        }
    }

    /// Reaches a failpoint.
    pub(super) fn reach(&self, machine: &Machine, point: &'static str) -> Result<(), &'static str> {
        match point {
            "fetch" => {
                self.lag(machine);
                self.look_up(machine);
                self.fail(machine, 0.03, "the connection was reset before the fetch")
            }
            "push" => {
                self.pushes(machine, |pushes| {
                    pushes.is_first = pushes.began.is_none();
                    pushes.began.get_or_insert(machine.elapsed());
                });
                self.lag(machine);
                self.refuse(machine)?;
                self.fail(machine, 0.06, "the connection was reset before the push")
            }
            "pushed" | "raced" => {
                self.check(machine);
                self.lag(machine);
                self.fail(machine, 0.05, "no verdict on the push")?;
                if point == "pushed" {
                    let is_announced = self.reference.as_ref().is_some_and(SharedReference::is_announced);
                    self.pushes(machine, |pushes| {
                        pushes.succeeded = pushes.began.take().unwrap_or_default();
                        pushes.is_announced = is_announced;
                    });
                }
                Ok(())
            }
            point => {
                if point == "ref: moved" {
                    // The process may die before it gets the verdict.
                    self.check(machine);
                }
                machine.reach(point);
                Ok(())
            }
        }
    }

    /// Checks the content of the shared ref, whichever process wrote it.
    fn check(&self, machine: &Machine) {
        let Some(reference) = &self.reference else { return };
        if let Some(text) = reference.check(&self.world, &self.service, &self.revisions) {
            machine.say(text);
        }
    }

    /// Checks that a refusal ends a pass only after 90 s without a push while its announcement is on the ref:
    /// its outcomes must get there. A pass that starts over, after it has recorded everything, has nothing to
    /// lose.
    pub(super) fn check_refusal(&self, machine: &Machine) {
        let Pushes { refused_after, is_announced, .. } = self.pushes(machine, |pushes| *pushes);
        if is_announced && refused_after < Duration::from_secs(90) {
            machine.fault(format_args!("a refusal ends the pass {} s after a push", refused_after.as_secs()));
        }
    }

    fn pushes<T>(&self, machine: &Machine, act: impl FnOnce(&mut Pushes) -> T) -> T {
        act(lock(&self.pushes).entry(machine.name().to_owned()).or_default())
    }

    fn look_up(&self, machine: &Machine) {
        let Some(reference) = &self.reference else { return };
        let commit = reference.commit();
        let mut found = lock(&self.found);
        let (last, count) = found.entry(machine.name().to_owned()).or_default();
        *count = match *last == commit {
            true => *count + 1,
            false => 0,
        };
        *last = commit;
        let is_slow = *count > FAST_LOOKUPS;
        drop(found);
        if is_slow {
            machine.sleep(Duration::from_secs_f64(self.world.between(2.0, 6.0)));
        }
    }

    fn lag(&self, machine: &Machine) {
        let is_slow = self.world.trouble(self.slow);
        let seconds = match is_slow {
            true => self.world.between(0.3, 55.0),
            false => self.world.between(0.01, 0.3),
        };
        machine.sleep(Duration::from_secs_f64(seconds));
    }

    fn refuse(&self, machine: &Machine) -> Result<(), &'static str> {
        let begins = self.world.trouble(0.02);
        let mut left = lock(&self.refusals);
        if begins && *left == 0 {
            *left = self.world.draw(|rng| rng.u32(1..12));
        }
        if *left == 0 || self.world.is_calm() {
            return Ok(());
        }
        *left -= 1;
        drop(left);
        self.pushes(machine, |pushes| {
            pushes.refused_after = machine.elapsed().saturating_sub(pushes.succeeded);
            if pushes.is_first {
                pushes.began = None;
            }
        });
        machine.say("the host refuses the push");
        Err(REFUSED)
    }

    fn fail(&self, machine: &Machine, probability: f64, why: &'static str) -> Result<(), &'static str> {
        if !self.world.trouble(probability) {
            return Ok(());
        }
        machine.say(why);
        Err(why)
    }
}
