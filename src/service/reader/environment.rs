//! Reads the toggles of one environment, with one list for all of them.

use tokio::sync::OnceCell;

use super::answer::refused;
use super::lists::{InvalidKey, ListedToggle};
use super::{ByKey, LiveReader};
use crate::model::{EnvironmentId, Live, ToggleId};
use crate::service::Outcome;

/// The toggles of one environment during one pass. Reads their list once.
#[derive(Debug)]
pub struct EnvironmentReader {
    reader: LiveReader,
    environment: EnvironmentId,
    list: OnceCell<ToggleIndex>,
    needs_approval: OnceCell<bool>,
}

/// The toggles of an environment that are not archived.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToggleIndex {
    /// The toggles.
    pub toggles: ByKey<ListedToggle>,
    /// The keys that are not valid in a repository, sorted.
    pub invalid: Vec<InvalidKey>,
}

impl EnvironmentReader {
    /// Returns a reader of `environment` that has read nothing yet.
    #[must_use]
    pub fn new(reader: LiveReader, environment: EnvironmentId) -> Self {
        Self {
            reader,
            environment,
            list: OnceCell::new(),
            needs_approval: OnceCell::new(),
        }
    }

    /// Returns the toggles that are not archived.
    ///
    /// # Errors
    /// The outcome of the read that failed; the next call reads again.
    pub async fn index(&self) -> Result<&ToggleIndex, Outcome> {
        self.list
            .get_or_try_init(|| async {
                let listing = self.reader.toggles(&self.environment).await?;
                let toggles = listing.entries.into_iter();
                Ok(ToggleIndex {
                    toggles: toggles.map(|toggle| (toggle.key.clone(), toggle)).collect(),
                    invalid: listing.invalid,
                })
            })
            .await
    }

    /// Returns a toggle of this environment, archived or not; `None` if the service does not have it.
    ///
    /// # Errors
    /// The outcome of the read that failed.
    pub async fn find(&self, id: &ToggleId) -> Result<Option<ListedToggle>, Outcome> {
        if let Some(listed) = self.index().await?.toggles.get(id.toggle()) {
            return Ok(Some(listed.clone()));
        }
        // Not kept: the toggle may be created or restored during the pass.
        self.reader.toggle(id).await
    }

    /// Returns the live state of a toggle of this environment.
    ///
    /// # Errors
    /// The outcome of the read that failed.
    pub async fn live(&self, id: &ToggleId) -> Result<Live, Outcome> {
        match self.find(id).await? {
            Some(listed) => self.live_of(id, &listed).await,
            None => self.missing().await,
        }
    }

    /// Returns the live state of the toggle `id`, which is `listed` on the service.
    ///
    /// # Errors
    /// The outcome of the read that failed.
    pub async fn live_of(&self, id: &ToggleId, listed: &ListedToggle) -> Result<Live, Outcome> {
        match self.reader.live(id, listed).await? {
            Live::Missing { .. } => self.missing().await,
            live => Ok(live),
        }
    }

    /// Returns the live state of a toggle of this environment that the service does not have.
    ///
    /// # Errors
    /// The outcome of the read that failed. *Refused* if the environment does not exist: a toggle is not missing there, and
    /// must not be created.
    pub async fn missing(&self) -> Result<Live, Outcome> {
        let needs_approval = self.needs_approval.get_or_try_init(|| async {
            let listing = self.reader.environments(&self.environment.project).await?;
            let environments = listing.entries.into_iter();
            let environments: ByKey<bool> = environments
                .map(|found| (found.key, found.needs_approval))
                .collect();
            match environments.get(self.environment.environment.as_str()) {
                Some(needs_approval) => Ok(*needs_approval),
                None => {
                    // The service describes what is missing.
                    self.index().await?;
                    let reason = format!("the service does not list an environment `{}`", self.environment);
                    Err(refused(200, reason))
                }
            }
        });
        Ok(Live::Missing {
            needs_approval: *needs_approval.await?,
        })
    }
}
