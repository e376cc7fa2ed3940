//! Reads the toggles of a service: first all lists, so that the number of toggles is known, then each
//! targeting.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc::Sender;

use super::found::Found;
use super::result::{ImportResult, ImportStop, SkipReason};
use super::scope::ImportScope;
use crate::model::{EnvironmentId, FoldedId, Key, Live, LiveContent, OutcomeKind, ToggleId};
use crate::service::{InvalidKey, ListedToggle, Outcome, ReadSession};

/// Reads one import's toggles. Clones share everything.
#[derive(Clone)]
pub(super) struct ToggleReading {
    pub(super) session: Arc<ReadSession>,
    pub(super) scope: Arc<ImportScope>,
    pub(super) in_flight: usize,
    pub(super) found: Sender<Found>,
}

/// The import ended, and nothing is left to do. The receiver of the results may have ended it.
enum Ended {
    Gone,
    Stopped(ImportStop),
}

type Result<T> = std::result::Result<T, Ended>;

impl ToggleReading {
    /// Reads everything in scope and sends what it finds.
    pub(super) async fn run(self) {
        let last = match self.read().await {
            Ok(()) => Found::Ended,
            Err(Ended::Gone) => return,
            Err(Ended::Stopped(stop)) => Found::Stopped(stop),
        };
        // The send fails only if the import has ended for another reason.
        let _ = self.found.send(last).await;
    }

    async fn read(&self) -> Result<()> {
        let mut toggles = BTreeMap::new();
        for environment in self.environments().await? {
            toggles.extend(self.toggles(&environment).await?);
        }
        let toggles = self.importable(toggles).await?;
        self.send(Found::Listed(toggles.len())).await?;
        let mut reads = stream::iter(toggles)
            // Spawned, so that responses are received and parsed while documents are written.
            .map(|(id, listed)| tokio::spawn(self.clone().toggle(id, listed)))
            .buffer_unordered(self.in_flight);
        while let Some(read) = reads.next().await {
            match read {
                Ok(read) => self.send(read?).await?,
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
        Ok(())
    }

    /// Returns the toggles in scope that a repository can have. Reports the others: of several toggles whose
    /// ids differ only in case, a repository can have one, and the order of the responses must not decide
    /// which.
    async fn importable(
        &self,
        toggles: BTreeMap<ToggleId, ListedToggle>,
    ) -> Result<Vec<(ToggleId, ListedToggle)>> {
        let mut spellings: HashMap<FoldedId, Vec<ToggleId>> = HashMap::new();
        for id in toggles.keys() {
            spellings.entry(id.folded()).or_default().push(id.clone());
        }
        let mut importable = Vec::new();
        for (id, listed) in toggles {
            if !self.scope.contains(id.as_str()) {
                continue;
            }
            match spellings[&id.folded()].iter().find(|other| **other != id) {
                None => importable.push((id, listed)),
                Some(other) => {
                    let reason =
                        format!("the service also has `{other}`, and a repository can have only one of them");
                    let result = ImportResult::Skipped(SkipReason::AmbiguousCase, reason);
                    self.send(Found::Result(id.to_string(), result)).await?;
                }
            }
        }
        Ok(importable)
    }

    /// Returns the environments that may contain a toggle in scope, or one whose id differs from its id only
    /// in case.
    async fn environments(&self) -> Result<Vec<EnvironmentId>> {
        let projects = self.session.read(|| self.session.reader().projects()).await;
        // Without this list, nothing can be imported.
        let projects = projects.map_err(|outcome| Ended::Stopped(ImportStop::Service(outcome)))?;
        for invalid in &projects.invalid {
            if self.scope.may_contain_project(&invalid.text) {
                self.invalid_key(&[], invalid).await?;
            }
        }
        let mut projects = projects.entries;
        projects.retain(|project| self.scope.may_contain_project(project.as_str()));
        let mut environments = Vec::new();
        for project in projects {
            environments.extend(self.environments_of(project).await?);
        }
        environments.retain(|id: &EnvironmentId| {
            self.scope.may_contain_environment(id.project.as_str(), id.environment.as_str())
        });
        environments.sort_unstable();
        Ok(environments)
    }

    async fn environments_of(&self, project: Key) -> Result<Vec<EnvironmentId>> {
        let read = self.session.read(|| self.session.reader().environments(&project));
        let Some(listing) = self.list(project.as_str(), read.await).await? else {
            return Ok(Vec::new());
        };
        let may_contain = |key: &str| self.scope.may_contain_environment(project.as_str(), key);
        for invalid in listing.invalid.iter().filter(|invalid| may_contain(&invalid.text)) {
            self.invalid_key(&[project.as_str()], invalid).await?;
        }
        let keys = listing.entries.into_iter().map(|environment| environment.key);
        let ids = keys.map(|environment| EnvironmentId { project: project.clone(), environment });
        Ok(ids.collect())
    }

    /// Returns the toggles that are not archived, in scope or not.
    async fn toggles(&self, environment: &EnvironmentId) -> Result<Vec<(ToggleId, ListedToggle)>> {
        let name = environment.to_string();
        let reader = self.session.reader();
        let read = self.session.read(|| reader.toggles(environment));
        let Some(current) = self.list(&name, read.await).await? else {
            return Ok(Vec::new());
        };
        let read = self.session.read(|| reader.archived(environment));
        let archived = self.list(&name, read.await).await?;
        let (archived, more_invalid) =
            archived.map(|listing| (listing.entries, listing.invalid)).unwrap_or_default();
        let (project, key) = (environment.project.as_str(), environment.environment.as_str());
        for invalid in current.invalid.iter().chain(&more_invalid) {
            self.invalid_key(&[project, key], invalid).await?;
        }
        let id = |toggle: &ListedToggle| {
            ToggleId::new(project, key, toggle.key.as_str()).expect("all three are keys")
        };
        for toggle in &archived {
            let reason = "restore it on the service to import it".to_owned();
            let result = ImportResult::Skipped(SkipReason::Archived, reason);
            self.send_result(id(toggle).to_string(), result).await?;
        }
        let mut toggles = Vec::new();
        for toggle in current.entries {
            let id = id(&toggle);
            self.send(Found::Seen(id.to_string())).await?;
            toggles.push((id, toggle));
        }
        Ok(toggles)
    }

    async fn toggle(self, id: ToggleId, listed: ListedToggle) -> Result<Found> {
        let read = self.session.read(|| self.session.reader().live(&id, &listed));
        let live = match read.await {
            Ok(live) => live,
            Err(outcome) => {
                self.check_session()?;
                let result = match (listed.is_locked, outcome.kind, outcome.status) {
                    // The reader looks for the live values in the history, which the service may not have.
                    (Some(true), OutcomeKind::Refused, Some(200)) => {
                        ImportResult::Skipped(SkipReason::Draft, outcome.to_string())
                    }
                    _ => ImportResult::Failed(outcome.to_string()),
                };
                return Ok(Found::Result(id.to_string(), result));
            }
        };
        let skipped = |reason, text: &str| {
            let result = ImportResult::Skipped(reason, text.to_owned());
            Found::Result(id.to_string(), result)
        };
        Ok(match live {
            Live::Missing { .. } => skipped(SkipReason::Missing, "it was deleted during the import"),
            Live::Toggle(live) => match live.content {
                LiveContent::Inexpressible(reason) => skipped(SkipReason::Inexpressible, &reason),
                LiveContent::Known(payload) => Found::Targeting(id, payload),
            },
            Live::Untargeted => skipped(
                SkipReason::Untargeted,
                "it has no targeting in this environment, so it cannot be published there",
            ),
        })
    }

    /// Returns the list of `name`. If it could not be read, reports that, and the others go on.
    async fn list<T>(&self, name: &str, read: std::result::Result<T, Outcome>) -> Result<Option<T>> {
        match read {
            Ok(list) => Ok(Some(list)),
            Err(outcome) => {
                self.check_session()?;
                let result = ImportResult::Failed(format!("could not be listed: {outcome}"));
                self.send(Found::Result(name.to_owned(), result)).await?;
                Ok(None)
            }
        }
    }

    /// Ends the import if the service as a whole has failed.
    fn check_session(&self) -> Result<()> {
        match self.session.ended() {
            Some(outcome) => Err(Ended::Stopped(ImportStop::Service(outcome))),
            None => Ok(()),
        }
    }

    async fn invalid_key(&self, folders: &[&str], invalid: &InvalidKey) -> Result<()> {
        let key = [invalid.text.as_str()];
        let name = [folders, &key].concat().join("/");
        let result = ImportResult::Skipped(SkipReason::InvalidKey, invalid.error.to_string());
        self.send_result(name, result).await
    }

    async fn send_result(&self, name: String, result: ImportResult) -> Result<()> {
        self.send(Found::Seen(name.clone())).await?;
        // A name with fewer components stands for the toggles below it.
        let is_toggle = name.matches('/').count() >= 2;
        if is_toggle && !self.scope.contains(&name) {
            Ok(())
        } else {
            self.send(Found::Result(name, result)).await
        }
    }

    async fn send(&self, found: Found) -> Result<()> {
        self.found.send(found).await.map_err(|_| Ended::Gone)
    }
}
