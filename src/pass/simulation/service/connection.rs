//! The connection of one client, whose requests may be late, lost, or refused.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::{Fate, TIMEOUT, ToggleService};
use crate::model::{Certainty, Live, LiveVersion, OutcomeKind, Payload, ReturnType, Sent, ToggleId};
use crate::pass::publish::{Pending, Service, Services};
use crate::pass::simulation::live_store::LiveStore;
use crate::pass::simulation::machine::Machine;
use crate::pass::{Config, Error};
use crate::plan::{Approved, Change, ListedType};
use crate::service::retry::TokenState;
use crate::service::{ErrorCode, Outcome};
use crate::state::Clock as _;

/// The connection of one process.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) service: ToggleService,
    pub(crate) machine: Machine,
    /// The revision that the process applies.
    pub(crate) revision: Arc<AtomicUsize>,
    /// Whether the process has `--first-pass` and `--allow-mass-change`.
    pub(crate) is_permitted: bool,
}

impl Connection {
    async fn request(&self, toggle: &ToggleId, sent: &Sent) -> Outcome {
        let Self { service, machine, revision, .. } = self;
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
        let number = service.accept(machine, toggle, sent, revision, fate);
        let is_slow = world.trouble(0.2);
        let seconds = if is_slow { world.between(0.4, 9.0) } else { world.between(0.02, 0.4) };
        let away = Duration::from_secs_f64(seconds);
        let (concluded, is_stored) = match fate {
            Fate::Late => (away + Duration::from_secs_f64(world.between(10.0, 120.0)), true),
            fate => (away, matches!(fate, Fate::Stored | Fate::AnswerLost | Fate::StoredBusy)),
        };
        service.conclude(number, toggle, concluded, is_stored);
        let outcome = match fate {
            Fate::AnswerLost | Fate::Late | Fate::RequestLost => {
                self.wait(TIMEOUT).await;
                Outcome::new(OutcomeKind::Lost, Certainty::Unknown, "no answer came")
            }
            fate => {
                // Longer on every clock, so that the request has been carried out by then.
                self.wait(away.mul_f64(1.05) + Duration::from_millis(1)).await;
                if service.state().conflicts.contains(&number) { conflict(fate) } else { answer(fate) }
            }
        };
        machine.say(format_args!("{toggle}: {}", outcome.kind.as_str()));
        if fate == Fate::Stored {
            self.confirm(number, toggle, meaning(&sent.payload));
        }
        outcome
    }

    /// Records a confirmed request, unless it was a conflict, a later one is open, or the toggle has changed
    /// since.
    fn confirm(&self, number: u64, toggle: &ToggleId, sent: u8) {
        let mut state = self.service.state();
        let later = state.open.get(toggle).is_some_and(|open| open.iter().any(|open| open.number > number));
        let is_stored = state.stored.get(toggle) == Some(&sent);
        if is_stored && !later && !state.conflicts.contains(&number) {
            state.confirmed.insert(toggle.clone(), sent);
        }
    }

    /// Answers a read.
    async fn look<T>(&self, read: impl FnOnce(&mut LiveStore) -> T) -> Result<T, Outcome> {
        let Self { service, .. } = self;
        let seconds = service.world.between(0.01, 0.3);
        self.wait(Duration::from_secs_f64(seconds)).await;
        let fails = service.state().is_down || service.world.trouble(0.03);
        if fails && !service.world.is_calm() {
            Err(busy(Some(503), Certainty::NotStored))
        } else {
            Ok(read(&mut service.state().live))
        }
    }

    async fn wait(&self, duration: Duration) {
        self.machine.sleep_until(self.machine.instant() + duration).await;
    }
}

impl Services for Connection {
    fn open(
        &self,
        _: &Config,
        plan: &Approved,
        _: BTreeMap<ToggleId, Live>,
    ) -> Result<Box<dyn Service>, Error> {
        self.service.check_permission(plan, self.is_permitted);
        Ok(Box::new(self.clone()))
    }
}

impl Service for Connection {
    fn publish<'a>(&'a self, toggle: &'a ToggleId, sent: &'a Sent) -> Pending<'a, Outcome> {
        Box::pin(async move { self.request(toggle, sent).await })
    }

    fn read<'a>(&'a self, toggle: &'a ToggleId, _: Instant) -> Pending<'a, Result<Live, Outcome>> {
        Box::pin(self.look(move |live| live.live(toggle)))
    }

    fn versions_from<'a>(
        &'a self,
        toggle: &'a ToggleId,
        first: u64,
    ) -> Pending<'a, Result<Vec<LiveVersion>, Outcome>> {
        Box::pin(self.look(move |live| live.from(toggle, first)))
    }

    fn listed_type<'a>(&'a self, _: &'a ToggleId, _: Instant) -> Pending<'a, Result<ListedType, Outcome>> {
        Box::pin(std::future::ready(Ok(ListedType::Typed(ReturnType::Boolean))))
    }

    fn create<'a>(&'a self, _: &'a Change, _: ReturnType) -> Pending<'a, Outcome> {
        unreachable!("a simulated toggle exists")
    }

    fn token_generation(&self) -> u64 {
        0
    }

    fn token_state(&self, _: &Outcome, _: u64) -> TokenState {
        TokenState::Current
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
        Fate::Refused => Outcome::new(OutcomeKind::Refused, Certainty::NotStored, "refused"),
        _ => Outcome::applied(200),
    }
}

fn conflict(fate: Fate) -> Outcome {
    match fate {
        Fate::StoredBusy => answer(fate),
        _ => Outcome {
            code: Some(ErrorCode::Invalid),
            ..Outcome::new(OutcomeKind::Refused, Certainty::NotStored, "Request conflict, please try again")
        },
    }
}

fn busy(status: Option<u16>, certainty: Certainty) -> Outcome {
    Outcome { status, ..Outcome::new(OutcomeKind::Busy, certainty, "busy") }
}

pub(crate) fn meaning(payload: &Payload) -> u8 {
    let content = payload.targeting().content;
    let value = content.variations.first().map(|variation| variation.value.as_str());
    let meaning = value.and_then(|value| value.strip_prefix('m')?.parse().ok());
    meaning.expect("a document of the simulation")
}
