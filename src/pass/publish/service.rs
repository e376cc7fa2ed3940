//! The service as a pass sees it: a trait, which the simulation implements as well.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

use crate::model::{EnvironmentId, Key, Live, LiveVersion, ReturnType, Sent, ToggleId};
use crate::pass::{Config, Error};
use crate::plan::{Approved, Change, ListedType};
use crate::service::retry::TokenState;
use crate::service::{
    CREATE_FIRST, Client, EnvironmentReader, ErrorCode, LiveReader, NewToggle, Outcome, ProjectReader,
    Session, ToggleDemand,
};

/// Gives each pass its service.
pub(crate) trait Services: std::fmt::Debug + Send + Sync {
    /// Returns the service of a pass that publishes `plan` and has just `scanned` these toggles.
    fn open(
        &self,
        config: &Config,
        plan: &Approved,
        scanned: BTreeMap<ToggleId, Live>,
    ) -> Result<Box<dyn Service>, Error>;
}

/// What a service does until it has responded.
pub(crate) type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The receiver of the requests of one pass.
pub(crate) trait Service: Send + Sync {
    fn publish<'a>(&'a self, toggle: &'a ToggleId, sent: &'a Sent) -> Pending<'a, Outcome>;

    /// Returns the live state of a toggle at `now`.
    fn read<'a>(&'a self, toggle: &'a ToggleId, now: Instant) -> Pending<'a, Result<Live, Outcome>>;

    /// Returns the versions of a toggle from `first` on, newest first.
    fn versions_from<'a>(
        &'a self,
        toggle: &'a ToggleId,
        first: u64,
    ) -> Pending<'a, Result<Vec<LiveVersion>, Outcome>>;

    /// Returns what the list of a project of the pass says about the type of a toggle.
    fn listed_type<'a>(
        &'a self,
        toggle: &'a ToggleId,
        now: Instant,
    ) -> Pending<'a, Result<ListedType, Outcome>>;

    /// Creates the toggle of `change` with values of this type.
    fn create<'a>(&'a self, change: &'a Change, return_type: ReturnType) -> Pending<'a, Outcome>;

    /// See [`Client::token_generation`].
    fn token_generation(&self) -> u64;

    /// See [`Client::token_state`].
    fn token_state(&self, outcome: &Outcome, generation: u64) -> TokenState;
}

/// Services behind a base URL.
#[derive(Debug)]
pub(crate) struct HttpServices;

impl Services for HttpServices {
    fn open(
        &self,
        config: &Config,
        plan: &Approved,
        scanned: BTreeMap<ToggleId, Live>,
    ) -> Result<Box<dyn Service>, Error> {
        let client = config.client()?;
        let (reader, changes) = (client.reader(), plan.changes());
        let environments: BTreeSet<EnvironmentId> =
            changes.iter().map(|change| change.id.environment()).collect();
        let environments = environments.into_iter().map(|environment| {
            let reader = EnvironmentReader::new(reader.clone(), environment.clone());
            (environment, reader)
        });
        Ok(Box::new(HttpService {
            projects: projects(&reader, changes),
            environments: environments.collect(),
            client,
            session: Session::default(),
            scanned: Mutex::new(scanned),
        }))
    }
}

/// The service behind a base URL during one pass.
struct HttpService {
    client: Client,
    session: Session,
    projects: BTreeMap<Key, ProjectReader>,
    /// Each reads once whether its environment exists and needs approvals.
    environments: BTreeMap<EnvironmentId, EnvironmentReader>,
    /// What a scan has just read, each for one read.
    scanned: Mutex<BTreeMap<ToggleId, Live>>,
}

impl Service for HttpService {
    fn publish<'a>(&'a self, toggle: &'a ToggleId, sent: &'a Sent) -> Pending<'a, Outcome> {
        Box::pin(self.client.publish(toggle, sent, &self.session))
    }

    fn read<'a>(&'a self, toggle: &'a ToggleId, now: Instant) -> Pending<'a, Result<Live, Outcome>> {
        Box::pin(self.read_once(toggle, now))
    }

    fn versions_from<'a>(
        &'a self,
        toggle: &'a ToggleId,
        first: u64,
    ) -> Pending<'a, Result<Vec<LiveVersion>, Outcome>> {
        Box::pin(async move { self.client.reader().versions_from(toggle, first).await })
    }

    fn listed_type<'a>(
        &'a self,
        toggle: &'a ToggleId,
        now: Instant,
    ) -> Pending<'a, Result<ListedType, Outcome>> {
        Box::pin(self.type_of(toggle, now))
    }

    fn create<'a>(&'a self, change: &'a Change, return_type: ReturnType) -> Pending<'a, Outcome> {
        Box::pin(async move {
            let (id, payload, comment) = (&change.id, &change.payload, &change.comment());
            self.client.create(&NewToggle { id, payload, comment, return_type }, &self.session).await
        })
    }

    fn token_generation(&self) -> u64 {
        self.client.token_generation()
    }

    fn token_state(&self, outcome: &Outcome, generation: u64) -> TokenState {
        self.client.token_state(outcome, generation)
    }
}

impl HttpService {
    async fn read_once(&self, toggle: &ToggleId, now: Instant) -> Result<Live, Outcome> {
        let scanned = self.scanned.lock().unwrap_or_else(PoisonError::into_inner).remove(toggle);
        if let Some(live) = scanned {
            // If the service has a newer version by now, it refuses the publish, and the next read asks it.
            return Ok(live);
        }
        self.live(toggle, now).await.map_err(|mut failure| {
            // The project or the environment does not exist.
            if failure.is_refused_with(ErrorCode::Missing) {
                failure.reason.push_str(CREATE_FIRST);
            }
            failure
        })
    }

    async fn type_of(&self, toggle: &ToggleId, now: Instant) -> Result<ListedType, Outcome> {
        let project = self.projects.get(&toggle.environment().project);
        let project = project.expect("a prerequisite is in the project of its change");
        let listed = project.find(toggle, now).await?;
        Ok(match listed {
            Some(listed) if listed.key.as_str() != toggle.toggle() => {
                ListedType::Misspelled(listed.key.to_string())
            }
            listed => ListedType::of(listed.map(|listed| listed.return_type)),
        })
    }

    async fn live(&self, toggle: &ToggleId, now: Instant) -> Result<Live, Outcome> {
        let environment = toggle.environment();
        let project = self.projects.get(&environment.project);
        let project = project.expect("every change is in a project of the pass");
        let listed = project.find(toggle, now).await?;
        let environment = self.environments.get(&environment);
        let environment = environment.expect("every change is in an environment of the pass");
        match listed {
            Some(listed) => environment.live_of(toggle, &listed).await,
            None => environment.missing().await,
        }
    }
}

fn projects(reader: &LiveReader, changes: &[Change]) -> BTreeMap<Key, ProjectReader> {
    let mut toggles: BTreeMap<Key, BTreeSet<&str>> = BTreeMap::new();
    for change in changes {
        let toggles = toggles.entry(change.id.environment().project);
        toggles.or_default().insert(change.id.toggle());
    }
    let projects = toggles.into_iter().map(|(project, toggles)| {
        let demand = match toggles.len() {
            1 => ToggleDemand::One,
            _ => ToggleDemand::Several,
        };
        (project.clone(), ProjectReader::new(reader.clone(), project, demand))
    });
    projects.collect()
}
