//! Sends requests to the service, or in tests to a simulated one.

#[cfg(test)]
use std::pin::Pin;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use serde::Serialize;
use tokio::time::Instant;

use crate::model::{EnvironmentId, Key, Live, LiveVersion, ReturnType, Serve, ToggleId, Variation};
use crate::plan::Change;
use crate::service::retry::TokenState;
use crate::service::{
    CREATE_FIRST, Client, EnvironmentReader, LiveReader, Outcome, ProjectReader, Session, ToggleDemand,
};

/// The receiver of requests.
pub(crate) enum Service {
    /// The service behind a base URL.
    Http(Box<HttpService>),
    /// A service that a test simulates.
    #[cfg(test)]
    Simulated(std::sync::Arc<dyn SimulatedService>),
}

/// The service behind a base URL during one pass.
pub(crate) struct HttpService {
    client: Client,
    session: Session,
    projects: BTreeMap<Key, ProjectReader>,
    /// Each reads once whether its environment exists and needs approvals.
    environments: BTreeMap<EnvironmentId, EnvironmentReader>,
    /// What a scan has just read, each for one read.
    scanned: Mutex<BTreeMap<ToggleId, Live>>,
}

#[cfg(test)]
pub(crate) type Simulated<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A service that a test simulates.
#[cfg(test)]
pub(crate) trait SimulatedService: std::fmt::Debug + Send + Sync {
    /// Notes that a request for `toggle` is about to be journaled.
    fn begins(&self, _toggle: &ToggleId, _body: &[u8]) {}

    /// Handles a request to store `body` for `toggle`.
    fn publish(&self, toggle: &ToggleId, body: Bytes) -> Simulated<Outcome>;

    /// Handles a read of the live state of `toggle`.
    fn read(&self, toggle: &ToggleId) -> Simulated<Result<Live, Outcome>>;

    /// Handles a read of the versions of `toggle` from `first` on.
    fn versions_from(&self, toggle: &ToggleId, first: u64) -> Simulated<Result<Vec<LiveVersion>, Outcome>>;
}

impl Service {
    /// Returns the service of `client`, for a pass that publishes `changes` and just `scanned` these toggles.
    pub(crate) fn http(client: Client, changes: &[Change], scanned: BTreeMap<ToggleId, Live>) -> Self {
        let reader = client.reader();
        let environments: BTreeSet<EnvironmentId> =
            changes.iter().map(|change| change.id.environment()).collect();
        let environments = environments.into_iter().map(|environment| {
            let reader = EnvironmentReader::new(reader.clone(), environment.clone());
            (environment, reader)
        });
        Self::Http(Box::new(HttpService {
            projects: projects(&reader, changes),
            environments: environments.collect(),
            client,
            session: Session::default(),
            scanned: Mutex::new(scanned),
        }))
    }

    pub(super) async fn publish(&self, toggle: &ToggleId, body: Bytes) -> Outcome {
        match self {
            Self::Http(http) => http.client.publish(toggle, body, &http.session).await,
            #[cfg(test)]
            Self::Simulated(service) => service.publish(toggle, body).await,
        }
    }

    /// Returns the live state of a toggle at `now`.
    pub(super) async fn read(&self, toggle: &ToggleId, now: Instant) -> Result<Live, Outcome> {
        match self {
            Self::Http(http) => http.read(toggle, now).await,
            #[cfg(test)]
            Self::Simulated(service) => service.read(toggle).await,
        }
    }

    /// Returns the versions of a toggle from `first` on, newest first.
    pub(super) async fn versions_from(
        &self,
        toggle: &ToggleId,
        first: u64,
    ) -> Result<Vec<LiveVersion>, Outcome> {
        match self {
            Self::Http(http) => http.client.reader().versions_from(toggle, first).await,
            #[cfg(test)]
            Self::Simulated(service) => service.versions_from(toggle, first).await,
        }
    }

    /// Creates the toggle of `change` with values of this type.
    pub(super) async fn create(&self, change: &Change, return_type: ReturnType) -> Outcome {
        match self {
            Self::Http(http) => {
                let body = creation(change, return_type);
                http.client.create(&change.id, body, &http.session).await
            }
            #[cfg(test)]
            Self::Simulated(_) => unreachable!("a simulated toggle exists"),
        }
    }

    /// See [`Client::token_generation`].
    pub(super) fn token_generation(&self) -> u64 {
        match self {
            Self::Http(http) => http.client.token_generation(),
            #[cfg(test)]
            Self::Simulated(_) => 0,
        }
    }

    /// See [`Client::token_state`].
    pub(super) fn token_state(&self, outcome: &Outcome, generation: u64) -> TokenState {
        match self {
            Self::Http(http) => http.client.token_state(outcome, generation),
            #[cfg(test)]
            Self::Simulated(_) => TokenState::Current,
        }
    }
}

impl HttpService {
    async fn read(&self, toggle: &ToggleId, now: Instant) -> Result<Live, Outcome> {
        let scanned = self.scanned.lock().unwrap_or_else(PoisonError::into_inner).remove(toggle);
        if let Some(live) = scanned {
            // If the service has a newer version by now, it refuses the publish, and the next read asks it.
            return Ok(live);
        }
        self.live(toggle, now).await.map_err(|mut failure| {
            // The project or the environment does not exist.
            if let Outcome::Refused { code: Some(code), reason, .. } = &mut failure
                && code == "not_found"
            {
                reason.push_str(CREATE_FIRST);
            }
            failure
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

/// The longest description that the service's own pages accept, in characters.
const LONGEST_DESCRIPTION: usize = 500;

/// The members that the service requires, and those whose absence it does not handle (`featureprobe-behaviour.md`,
/// section 3).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Creation<'a> {
    name: &'a str,
    key: &'a str,
    return_type: &'a str,
    client_availability: bool,
    disabled_serve: u32,
    variations: &'a [Variation],
    desc: String,
    tags: [&'a str; 0],
    permanent: bool,
}

/// Returns the body of the request that creates the toggle of `change`. Its key is also its name.
pub(super) fn creation(change: &Change, return_type: ReturnType) -> Bytes {
    let content = change.payload.targeting().content;
    let key = change.id.toggle();
    let comment = change.comment();
    let first = comment.lines().next().unwrap_or_default();
    let body = Creation {
        name: key,
        key,
        return_type: return_type.as_str(),
        client_availability: false,
        disabled_serve: match content.disabled_serve {
            Serve::Select(index) => index,
            // A new toggle cannot have a split; the publish that follows sets it.
            Serve::Split(_) | Serve::Nothing => 0,
        },
        variations: &content.variations,
        desc: first.chars().take(LONGEST_DESCRIPTION).collect(),
        tags: [],
        permanent: false,
    };
    serde_json::to_vec(&body).expect("text, numbers and lists always have a JSON form").into()
}
