//! The simulated service, which checks what it is sent.
//!
//! With `featureprobe`, it has versions ([`LiveStore`]), which another writer changes, too.
//!
//! Answers get lost, requests arrive late or never, and there are outages. Two guarantees are checked with each request:
//! one request at a time for each toggle, and no older revision after a newer one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;

use super::live_store::{LiveStore, Patch, Stored};
use super::machine::Machine;
use super::world::{World, lock};
use crate::model::{Certainty, Live, LiveVersion, ServiceKind, ToggleId};
use crate::pass::publish::service::{Simulated, SimulatedService};
use crate::service::Outcome;
use crate::state::SimulatedClock as _;

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

/// The connection of one process.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) service: ToggleService,
    pub(super) machine: Machine,
    /// The revision that the process applies.
    pub(super) revision: Arc<AtomicUsize>,
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
        Self {
            kind,
            world: world.clone(),
            exceptions,
            is_single,
            state: Arc::default(),
        }
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

    /// Changes a toggle as another writer.
    pub(super) fn edit(&self, toggle: &ToggleId, value: u8) {
        let mut state = self.state();
        if let Some(value) = state.live.edit(toggle, value) {
            state.stored.insert(toggle.clone(), value);
            // The same document may follow again.
            state.confirmed.remove(toggle);
            drop(state);
            self.world
                .say("eve", format_args!("changes {toggle} to m{value}"));
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
    fn accept(&self, sender: &Machine, toggle: &ToggleId, body: &[u8], revision: usize, fate: Fate) -> u64 {
        let meaning = meaning(body);
        let mut state = self.state();
        let is_checked = self.is_checked();
        let other = state.open.get(toggle).and_then(|open| {
            let is_repeated = |open: &&Open| open.meaning == meaning && !open.sender.is_alive();
            open.iter().find(|open| !is_repeated(open))
        });
        let other = other.map(|open| open.sender.name().to_owned());
        let newest = state.newest_sent.max(state.newest_done);
        // An announcement takes its revision with it if certainly nothing was stored.
        if fate != Fate::Refused {
            state.newest_sent = state.newest_sent.max(revision);
        }
        state.requests += 1;
        let number = state.requests;
        let is_repeated = state.confirmed.remove(toggle) == Some(meaning) && self.is_single;
        let open = Open {
            number,
            sender: sender.clone(),
            meaning,
            patch: Patch::new(body),
            is_late: fate == Fate::Late,
        };
        state.open.entry(toggle.clone()).or_default().push(open);
        drop(state);
        sender.say(format_args!("sends {toggle} m{meaning} of revision {revision}"));
        if let Some(other) = other.filter(|_| is_checked) {
            self.world.fault(format!(
                "{} sends {toggle} while {other} has a request open",
                sender.name()
            ));
        }
        if is_repeated {
            let name = sender.name();
            self.world
                .fault(format!("{name} repeats {toggle} m{meaning}, which was confirmed"));
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
            let Open {
                meaning,
                sender,
                patch,
                is_late,
                ..
            } = open.remove(at);
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
                    && service.kind == ServiceKind::FeatureProbe
                {
                    service.world.fault(fault);
                }
                service.world.say(
                    "service",
                    format_args!("stores {toggle} m{meaning} of {}", sender.name()),
                );
            }
        });
    }
}

impl Connection {
    async fn request(&self, toggle: &ToggleId, body: &[u8]) -> Outcome {
        let Self {
            service,
            machine,
            revision,
        } = self;
        let world = &service.world;
        if service.exceptions.frozen_requests && world.trouble(0.03) {
            machine.freeze();
        }
        let fate = service.fate();
        if fate == Fate::Unreachable {
            // The process may die before it records that.
            service.state().confirmed.remove(toggle);
            self.wait(Duration::from_millis(50)).await;
            return busy(None, Certainty::NotStored);
        }
        let revision = revision.load(Ordering::SeqCst);
        let sent = meaning(body);
        let number = service.accept(machine, toggle, body, revision, fate);
        let is_slow = world.trouble(0.2);
        let seconds = match is_slow {
            true => world.between(0.4, 9.0),
            false => world.between(0.02, 0.4),
        };
        let away = Duration::from_secs_f64(seconds);
        let (concluded, is_stored) = match fate {
            Fate::Late => (away + Duration::from_secs_f64(world.between(10.0, 120.0)), true),
            fate => (
                away,
                matches!(fate, Fate::Stored | Fate::AnswerLost | Fate::StoredBusy),
            ),
        };
        service.conclude(number, toggle, concluded, is_stored);
        let outcome = match fate {
            Fate::AnswerLost | Fate::Late | Fate::RequestLost => {
                self.wait(TIMEOUT).await;
                let reason = "no answer came".to_owned();
                Outcome::Lost { reason }
            }
            fate => {
                // Longer on every clock, so that the request has been carried out by then.
                self.wait(away.mul_f64(1.05) + Duration::from_millis(1)).await;
                match service.state().conflicts.contains(&number) {
                    true => conflict(fate),
                    false => answer(fate),
                }
            }
        };
        machine.say(format_args!("{toggle}: {}", outcome.as_str()));
        if fate == Fate::Stored && !service.state().conflicts.contains(&number) {
            let mut state = service.state();
            if !state
                .open
                .get(toggle)
                .is_some_and(|open| open.iter().any(|open| open.number > number))
            {
                state.confirmed.insert(toggle.clone(), sent);
            }
        }
        outcome
    }

    /// Answers a read.
    fn look<T>(
        &self,
        read: impl FnOnce(&mut LiveStore) -> T + Send + 'static,
    ) -> Simulated<Result<T, Outcome>> {
        let connection = self.clone();
        Box::pin(async move {
            let Self { service, .. } = &connection;
            let seconds = service.world.between(0.01, 0.3);
            connection.wait(Duration::from_secs_f64(seconds)).await;
            let fails = service.state().is_down || service.world.trouble(0.03);
            match fails && !service.world.is_calm() {
                true => Err(busy(Some(503), Certainty::NotStored)),
                false => Ok(read(&mut service.state().live)),
            }
        })
    }

    async fn wait(&self, duration: Duration) {
        self.machine.sleep_until(self.machine.instant() + duration).await;
    }
}

impl SimulatedService for Connection {
    fn publish(&self, toggle: &ToggleId, body: Bytes) -> Simulated<Outcome> {
        let (connection, toggle) = (self.clone(), toggle.clone());
        Box::pin(async move { connection.request(&toggle, &body).await })
    }

    fn read(&self, toggle: &ToggleId) -> Simulated<Result<Live, Outcome>> {
        let toggle = toggle.clone();
        self.look(move |live| live.live(&toggle))
    }

    fn versions_from(&self, toggle: &ToggleId, first: u64) -> Simulated<Result<Vec<LiveVersion>, Outcome>> {
        let toggle = toggle.clone();
        self.look(move |live| live.from(&toggle, first))
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.machine.fmt(f)
    }
}

fn answer(fate: Fate) -> Outcome {
    match fate {
        Fate::Busy | Fate::StoredBusy => busy(Some(503), Certainty::Unknown),
        Fate::Refused => Outcome::Refused {
            status: 400,
            code: None,
            certainty: Certainty::NotStored,
            reason: "refused".to_owned(),
        },
        _ => Outcome::Applied { status: 200 },
    }
}

fn conflict(fate: Fate) -> Outcome {
    match fate {
        Fate::StoredBusy => answer(fate),
        _ => Outcome::Refused {
            status: 400,
            code: Some("invalid_request".to_owned()),
            certainty: Certainty::NotStored,
            reason: "Request conflict, please try again".to_owned(),
        },
    }
}

fn busy(status: Option<u16>, certainty: Certainty) -> Outcome {
    Outcome::Busy {
        status,
        retry_after: None,
        certainty,
        reason: "busy".to_owned(),
    }
}

/// Returns the meaning of a body.
pub(super) fn meaning(body: &[u8]) -> u8 {
    let body: serde_json::Value = serde_json::from_slice(body).expect("a JSON body");
    let value = body["content"]["variations"][0]["value"].as_str();
    let meaning = value.and_then(|value| value.strip_prefix('m')?.parse().ok());
    meaning.expect("a document of the simulation")
}
