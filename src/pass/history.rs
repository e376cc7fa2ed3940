//! Reads the deployment history and the documents of each deployment. Writes nothing, takes no lock, and
//! sends nothing to the service.

use std::path::PathBuf;

use super::config::Config;
use super::{Error, planning};
use crate::document::{self, LARGEST_DOCUMENT};
use crate::model::{
    CommitId, DeployedToggle, Deployment, Format, HistoryPage, ObjectId, Scope, ServiceKind, ToggleId,
};
use crate::plan::{DeployedContent, DeployedDiff};
use crate::source::{self, SourceConfig};
use crate::state::{self, AppliedHistory};

pub use crate::state::DeploymentQuery;

/// The deployment history of one state.
#[derive(Debug)]
pub struct HistoryReader {
    applied: AppliedHistory,
    kind: ServiceKind,
}

impl HistoryReader {
    /// Opens the history of the state that `config` names; none if nothing was ever applied.
    pub fn open(config: &Config) -> Result<Option<Self>, Error> {
        let view = planning::view(config)?;
        planning::check_base_url(&view, &config.rules)?;
        let kind = config.rules.kind;
        Ok(AppliedHistory::of(&view)?.map(|applied| Self { applied, kind }))
    }

    /// Returns one page of the deployments, newest first.
    pub fn page(&self, query: &DeploymentQuery) -> Result<HistoryPage, Error> {
        Ok(self.applied.page(query)?)
    }

    pub fn applied(&self) -> Result<Vec<ToggleId>, Error> {
        Ok(self.applied.applied()?)
    }

    /// Returns what the deployment of `commit` changed on `toggles`, in the same order.
    pub fn diffs(&self, commit: CommitId, toggles: &[DeployedToggle]) -> Result<Vec<DeployedDiff>, Error> {
        let pairs = self.applied.documents(commit, toggles.iter().map(|toggle| &toggle.id))?;
        let diffs = toggles.iter().zip(pairs).map(|(toggle, pair)| {
            Ok(DeployedDiff {
                toggle: toggle.clone(),
                before: self.content(&toggle.id, pair.before)?,
                after: self.content(&toggle.id, pair.after)?,
            })
        });
        diffs.collect()
    }

    fn content(&self, id: &ToggleId, document: Option<(ObjectId, Format)>) -> Result<DeployedContent, Error> {
        let Some((object, _)) = document else {
            return Ok(DeployedContent::Nothing);
        };
        let blob = self.applied.blob(object, LARGEST_DOCUMENT)?;
        let read = document::read(id.as_str(), &blob, self.kind);
        Ok(read.payload.map_or(DeployedContent::Unreadable, DeployedContent::Known))
    }
}

/// Adds the subjects that the state does not have, as far as the source or its clone has the commits.
/// Contacts no host.
pub fn name_subjects(page: &mut HistoryPage, source: &SourceConfig) {
    let unnamed = page.deployments.iter_mut().filter(|deployment| deployment.subject.is_none());
    let unnamed: Vec<&mut Deployment> = unnamed.collect();
    let subjects = source::subjects(source, unnamed.iter().map(|deployment| deployment.revision));
    for deployment in unnamed {
        deployment.subject = subjects.get(&deployment.revision).cloned();
    }
}

/// Reads the deployment history in a state folder while a daemon writes to it. Each call opens its own handle
/// and has a limit on its work.
#[derive(Clone, Debug)]
pub struct DeploymentHistory {
    pub state_dir: PathBuf,
    /// The kind of the service, which decides how documents are read.
    pub kind: ServiceKind,
}

#[derive(Clone, Debug)]
pub struct DeploymentPart {
    /// The deployment; its `toggles` are those of the part.
    pub deployment: Deployment,
    /// The differences of these toggles, in the same order.
    pub diffs: Vec<DeployedDiff>,
    /// The next part begins after this toggle; none at the end.
    pub next: Option<ToggleId>,
}

impl DeploymentHistory {
    /// The most deployments of one page.
    const MOST_DEPLOYMENTS: usize = 200;
    /// The most toggles of one part of a deployment.
    pub const MOST_TOGGLES: usize = 200;
    /// The most toggles that a page lists per deployment.
    const NAMED: usize = 50;
    /// The most commits and toggles that a page looks at, which takes a second or so.
    const BUDGET: usize = 200_000;
    /// A reader whose packs a writer has merged meanwhile opens the repository again.
    const READ_TRIES: usize = 3;

    /// Returns one page of the deployments of toggles in `scope`, newest first; none if `before` is not a
    /// commit of the history. A page that has looked at many commits without a match ends early: it can be
    /// empty although `next` is set.
    pub fn page(
        &self,
        scope: &Scope,
        before: Option<CommitId>,
        limit: usize,
    ) -> Result<Option<HistoryPage>, Error> {
        let query = DeploymentQuery {
            scope: scope.clone(),
            before,
            limit: limit.clamp(1, Self::MOST_DEPLOYMENTS),
            most_toggles: Self::NAMED,
            budget: Self::BUDGET,
        };
        let page = self.read(|history| history.page(&query))?;
        // Without any commit, the first page is empty.
        Ok(page.or_else(|| before.is_none().then(HistoryPage::default)))
    }

    /// Returns the deployment of `commit` with the differences of its toggles in `scope` after `after`; none
    /// if `commit` is not a commit of the history.
    pub fn deployment(
        &self,
        commit: CommitId,
        scope: &Scope,
        after: Option<&ToggleId>,
        limit: usize,
    ) -> Result<Option<DeploymentPart>, Error> {
        let limit = limit.clamp(1, Self::MOST_TOGGLES);
        self.read(|history| {
            let mut deployment = history.applied.deployment(commit, scope, after, limit + 1)?;
            let is_cut = deployment.toggles.len() > limit;
            deployment.toggles.truncate(limit);
            let last = deployment.toggles.last().map(|toggle| toggle.id.clone());
            Ok(DeploymentPart {
                diffs: history.diffs(commit, &deployment.toggles)?,
                deployment,
                next: last.filter(|_| is_cut),
            })
        })
    }

    /// Returns the result of `work`; none if it asked for a commit that is not part of the history.
    fn read<T>(&self, work: impl Fn(&HistoryReader) -> Result<T, Error>) -> Result<Option<T>, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            let kind = self.kind;
            let read = AppliedHistory::open(&self.state_dir).map_err(Error::from).and_then(|applied| {
                applied.map(|applied| work(&HistoryReader { applied, kind })).transpose()
            });
            match read {
                Err(Error::State(state::Error::NotDeployed { .. })) => return Ok(None),
                Err(Error::State(state::Error::BrokenRepository { .. })) if tries < Self::READ_TRIES => {}
                result => return result,
            }
        }
    }
}
