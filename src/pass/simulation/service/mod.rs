//! The simulated service, which checks what it is sent.
//!
//! With `featureprobe`, it has versions ([`LiveStore`]), which another writer changes, too.
//!
//! Answers get lost, requests arrive late or never, and there are outages. Two guarantees are checked with
//! each request: one request at a time for each toggle, and no older revision after a newer one.

mod connection;

pub(super) use connection::{Connection, meaning};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;

use super::live_store::{LiveStore, Patch, Stored};
use super::machine::Machine;
use super::world::{World, lock};
use crate::model::{Hold, Sent, ServiceKind, ToggleId};
use crate::pass::simulation::job::MOST_CHANGES;
use crate::plan::Plan;

/// How long a client waits for an answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// What is not guaranteed, and allowed in a history: then the order of requests is not checked, only the end.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Exceptions {
    /// A process is suspended between the check of its clock and the request.
    pub(super) frozen_requests: bool,
    /// The service carries out a request after its connection is gone.
    pub(super) late_requests: bool,
}

#[derive(Clone)]
pub(super) struct ToggleService {
    world: World,
    exceptions: Exceptions,
    /// Whether one state folder has everything that was confirmed.
    is_single: bool,
    pub(super) kind: ServiceKind,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    stored: BTreeMap<ToggleId, u8>,
    open: BTreeMap<ToggleId, Vec<Open>>,
    requests: u64,
    newest_sent: usize,
    newest_done: usize,
    has_late: bool,
    /// What the newest request of a toggle was confirmed with.
    confirmed: BTreeMap<ToggleId, u8>,
    is_down: bool,
    live: LiveStore,
    refused: BTreeSet<ToggleId>,
    /// The requests that were about to be journaled.
    started: BTreeSet<(ToggleId, u8)>,
    /// The requests that the rails let through.
    let_through: BTreeSet<(ToggleId, u8)>,
    /// The requests whose base version was stale.
    conflicts: BTreeSet<u64>,
}

struct Open {
    number: u64,
    sender: Machine,
    meaning: u8,
    patch: Patch,
    is_late: bool,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fate {
    Stored,
    /// It is stored, and the answer is lost.
    AnswerLost,
    /// The connection is made, and nothing arrives.
    RequestLost,
    /// The connection is gone before the service stores it.
    Late,
    /// No connection is made.
    Unreachable,
    Refused,
    /// A proxy answers 503, and the service stores it all the same.
    StoredBusy,
    Busy,
}

impl ToggleService {
    pub(super) fn new(world: &World, exceptions: Exceptions, is_single: bool, kind: ServiceKind) -> Self {
        Self { kind, world: world.clone(), exceptions, is_single, state: Arc::default() }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Returns whether the order of requests is guaranteed.
    pub(super) fn is_checked(&self) -> bool {
        self.exceptions == Exceptions::default()
    }

    /// Returns the meaning of what is stored.
    pub(super) fn stored(&self) -> BTreeMap<ToggleId, u8> {
        self.state().stored.clone()
    }

    pub(super) fn set_down(&self, is_down: bool) {
        self.state().is_down = is_down;
    }

    /// Records that a process has applied a revision completely.
    pub(super) fn done(&self, revision: usize) {
        let mut state = self.state();
        state.newest_done = state.newest_done.max(revision);
    }

    /// Checks that a change is held only if another writer has changed its toggle. A first pass does not
    /// return to a toggle that the service refused.
    pub(super) fn check_hold(&self, toggle: &ToggleId, hold: &Hold) {
        let is_refused = self.state().refused.contains(toggle);
        if self.is_checked() && !is_refused && !self.is_edited(toggle) {
            self.world.fault(format!("{toggle} is held, which nobody else changed: {}", hold.reason()));
        }
    }

    /// Returns whether the next process has `--first-pass` and `--allow-mass-change`.
    pub(super) fn permits(&self) -> bool {
        self.world.is_calm() || self.world.draw(Rng::bool)
    }

    /// Checks that the process is permitted to send the changes of its plan.
    pub(super) fn check_permission(&self, plan: &Plan, is_permitted: bool) {
        for lane in plan.lanes() {
            let requests = lane.changes.iter();
            let requests: Vec<_> =
                requests.map(|change| (change.id.clone(), meaning(&change.payload))).collect();
            let mut state = self.state();
            let mut fresh: Vec<_> = requests.iter().filter(|one| !state.started.contains(*one)).collect();
            // A newer document of a toggle whose request was started needs no new permission.
            let is_untouched = |id: &ToggleId| !state.started.iter().any(|(started, _)| started == id);
            let is_first = fresh.iter().any(|(id, _)| is_untouched(id))
                && !state.stored.keys().any(|id| id.is_in(&lane.environment));
            fresh.retain(|one| !state.let_through.contains(*one));
            let (count, environment) = (fresh.len(), &lane.environment);
            let is_over = count as u64 > MOST_CHANGES;
            if !is_over {
                state.let_through.extend(requests);
            }
            drop(state);
            if !is_permitted && is_first {
                self.world.fault(format!("the first pass of {environment} is not permitted"));
            }
            if !is_permitted && is_over {
                self.world.fault(format!("{count} changes of {environment} are sent without permission"));
            }
        }
    }

    /// Notes that a process is about to journal a request.
    pub(super) fn starts(&self, toggle: &ToggleId, sent: &Sent) {
        let request = (toggle.clone(), meaning(&sent.payload));
        self.state().started.insert(request);
    }

    /// Changes a toggle as another writer.
    pub(super) fn edit(&self, toggle: &ToggleId, value: u8) {
        let mut state = self.state();
        if let Some(value) = state.live.edit(toggle, value) {
            state.stored.insert(toggle.clone(), value);
            // The same document may follow again.
            state.confirmed.remove(toggle);
            drop(state);
            self.world.say("eve", format_args!("changes {toggle} to m{value}"));
        }
    }

    /// Permits that changes of the other writer are overwritten.
    pub(super) fn permit_overwrites(&self) {
        self.state().live.permit();
    }

    /// See [`LiveStore::lost_by_import`].
    pub(super) fn lost_by_import(&self) -> Option<ToggleId> {
        self.state().live.lost_by_import()
    }

    /// Returns whether another writer has changed the toggle.
    pub(super) fn is_edited(&self, toggle: &ToggleId) -> bool {
        self.state().live.is_edited(toggle)
    }

    /// Records that a disk has lost outcomes, so that confirmed requests may be sent again.
    pub(super) fn forget_confirmations(&self) {
        self.state().confirmed.clear();
    }

    /// Returns whether the service stored something after its connection was gone.
    pub(super) fn has_late(&self) -> bool {
        self.state().has_late
    }

    /// Returns whether a request for the toggle may still be carried out.
    pub(super) fn is_open(&self, toggle: &ToggleId) -> bool {
        self.state().open.get(toggle).is_some_and(|open| !open.is_empty())
    }

    fn fate(&self) -> Fate {
        if self.world.is_calm() {
            return Fate::Stored;
        }
        if self.state().is_down {
            return Fate::Unreachable;
        }
        match self.world.draw(Rng::f64) {
            ..0.02 => Fate::Unreachable,
            ..0.05 => Fate::RequestLost,
            ..0.08 => Fate::AnswerLost,
            ..0.09 => Fate::Busy,
            ..0.10 => Fate::StoredBusy,
            ..0.11 => Fate::Refused,
            ..0.13 if self.exceptions.late_requests => Fate::Late,
            _ => Fate::Stored,
        }
    }

    /// Accepts a request, and checks that it may be there. Returns its number.
    fn accept(&self, sender: &Machine, toggle: &ToggleId, sent: &Sent, revision: usize, fate: Fate) -> u64 {
        let meaning = meaning(&sent.payload);
        let mut state = self.state();
        let is_checked = self.is_checked();
        let other = state.open.get(toggle).and_then(|open| {
            let is_repeated = |open: &Open| open.meaning == meaning && !open.sender.is_alive();
            // The service refuses a request whose base version is stale.
            let is_harmless = |open: &&Open| is_repeated(open) || state.live.refuses(toggle, &open.patch);
            open.iter().find(|open| !is_harmless(open))
        });
        let other = other.map(|open| open.sender.name().to_owned());
        let newest = state.newest_sent.max(state.newest_done);
        // An announcement takes its revision with it if certainly nothing was stored.
        match fate {
            Fate::Refused => drop(state.refused.insert(toggle.clone())),
            _ => state.newest_sent = state.newest_sent.max(revision),
        }
        state.requests += 1;
        let number = state.requests;
        let is_repeated = state.confirmed.remove(toggle) == Some(meaning) && self.is_single;
        let open = Open {
            number,
            sender: sender.clone(),
            meaning,
            patch: Patch::new(sent),
            is_late: fate == Fate::Late,
        };
        state.open.entry(toggle.clone()).or_default().push(open);
        drop(state);
        sender.say(format_args!("sends {toggle} m{meaning} of revision {revision}"));
        if let Some(other) = other.filter(|_| is_checked) {
            self.world.fault(format!("{} sends {toggle} while {other} has a request open", sender.name()));
        }
        if is_repeated {
            let name = sender.name();
            self.world.fault(format!("{name} repeats {toggle} m{meaning}, which was confirmed"));
        }
        if revision < newest && is_checked {
            let name = sender.name();
            self.world.fault(format!(
                "{name} sends {toggle} of revision {revision} after one of revision {newest}"
            ));
        }
        number
    }

    /// Ends a request after this delay.
    fn conclude(&self, number: u64, toggle: &ToggleId, delay: Duration, is_stored: bool) {
        let (service, toggle) = (self.clone(), toggle.clone());
        self.world.after(delay, move || {
            let mut state = service.state();
            let Some(open) = state.open.get_mut(&toggle) else {
                return;
            };
            let Some(at) = open.iter().position(|open| open.number == number) else {
                return;
            };
            let Open { meaning, sender, patch, is_late, .. } = open.remove(at);
            if is_stored {
                let stored = state.live.patch(&toggle, patch);
                if stored == Stored::Conflict {
                    state.conflicts.insert(number);
                    return;
                }
                state.has_late |= is_late;
                state.stored.insert(toggle.clone(), meaning);
                drop(state);
                if let Stored::Fault(fault) = stored
                    && service.kind.can().read_live
                {
                    service.world.fault(fault);
                }
                service.world.say("service", format_args!("stores {toggle} m{meaning} of {}", sender.name()));
            }
        });
    }
}
