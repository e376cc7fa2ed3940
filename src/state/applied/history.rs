//! Reads the deployment history: each commit of the applied ref is a deployment. Its message names the
//! toggles that it changed and why, and its tree and that of its parent have their documents.
//!
//! Reads without the lock and without writing, through its own handle, so that a writer is never in the way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::changes::{ToggleRange, TreeChange, tree_changes};
use super::commit::{APPLIED, DeploymentMessage, parent_of, tip, trailer};
use crate::git::refs::look_up;
use crate::git::{ObjectReader, RepositoryPool, object_id, oid};
use crate::model::{
    Blob, CommitId, DeployedToggle, Deployment, DeploymentEffect, Format, HistoryPage, ObjectId, Scope,
    ToggleId, Tree, Trees as _,
};
use crate::state::{Error, StateSnapshot};

#[derive(Clone, Debug)]
pub struct DeploymentQuery {
    /// The toggles of interest.
    pub scope: Scope,
    /// Where the page begins: before this commit of the applied ref.
    pub before: Option<CommitId>,
    /// The most deployments.
    pub limit: usize,
    /// The most toggles to list per deployment. Up to 50 need no comparison of trees.
    pub most_toggles: usize,
    /// The most commits and toggles to look at, after which a page ends.
    pub budget: usize,
}

/// The documents of a toggle before and after a deployment, each with its blob and its extension.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct DocumentPair {
    /// None if no document was applied.
    pub before: Option<(ObjectId, Format)>,
    /// None if a document is no longer applied.
    pub after: Option<(ObjectId, Format)>,
}

/// The history of one applied ref, as of one commit.
#[derive(Debug)]
pub struct AppliedHistory {
    reader: ObjectReader,
    pub(super) tip: CommitId,
}

/// The source revisions that were recorded since toggles were last published or recorded.
#[derive(Debug, Default)]
pub struct RecordsSince {
    /// Newest first.
    revisions: Vec<CommitId>,
    /// For each toggle, how many of the revisions there are down to the one at which it was last applied.
    counts: BTreeMap<ToggleId, usize>,
    /// When that was recorded, in seconds since 1970-01-01 UTC.
    times: BTreeMap<ToggleId, i64>,
}

impl RecordsSince {
    /// Returns the revision at which a toggle was last applied, then each newer one, oldest first; none if it
    /// never was.
    pub fn of(&self, id: &ToggleId) -> impl Iterator<Item = CommitId> + '_ {
        let count = self.counts.get(id).copied().unwrap_or_default();
        self.revisions[..count].iter().rev().copied()
    }

    /// Returns when it was recorded that a toggle was last applied, in seconds since 1970-01-01 UTC; none if it never
    /// was.
    pub fn at(&self, id: &ToggleId) -> Option<i64> {
        self.times.get(id).copied()
    }
}

/// A commit of the applied ref.
struct RecordedCommit {
    id: CommitId,
    parent: Option<CommitId>,
    trees: [Option<ObjectId>; 2],
    at: i64,
    revision: CommitId,
    message: DeploymentMessage,
}

impl AppliedHistory {
    /// Opens the history of `view`; none if nothing was ever applied.
    pub fn of(view: &StateSnapshot) -> Result<Option<Self>, Error> {
        let tip = view.tip().map(|tip| tip.commit);
        Ok(view.reader()?.zip(tip).map(|(reader, tip)| Self { reader, tip }))
    }

    /// Opens the history of the state folder `dir`; none if nothing was ever applied.
    pub fn open(dir: &Path) -> Result<Option<Self>, Error> {
        let path = dir.join("state.git");
        if !path.exists() {
            return Ok(None);
        }
        let reader = ObjectReader::open(&Arc::new(RepositoryPool::new(path)))?;
        let tip = look_up(reader.repository(), APPLIED)?;
        Ok(tip.map(|tip| Self { reader, tip }))
    }

    /// Returns one page of the deployments, newest first. Commits that changed no toggle of interest are left
    /// out.
    ///
    /// # Errors
    /// [`Error::NotDeployed`] if the page is to begin before a commit that is not one of the history, and the
    /// cause if the repository cannot be read.
    pub fn page(&self, query: &DeploymentQuery) -> Result<HistoryPage, Error> {
        let mut page = HistoryPage::default();
        let mut left = query.budget;
        let (mut next, mut last) = match query.before {
            None => (Some(self.tip), None),
            Some(before) => (self.known(before)?.parent, Some(before)),
        };
        while let Some(id) = next {
            if left == 0 {
                page.next = last;
                break;
            }
            let commit = self.read(id)?;
            let range = ToggleRange { scope: &query.scope, after: None, most: query.most_toggles };
            let (deployment, compared) = self.deployment_of(&commit, range)?;
            left = left.saturating_sub(1 + compared);
            if is_listed(&deployment, &query.scope) {
                if page.deployments.len() >= query.limit {
                    page.next = last;
                    break;
                }
                page.deployments.push(deployment);
            }
            (next, last) = (commit.parent, Some(id));
        }
        Ok(page)
    }

    /// Returns the deployment of one commit with at most `most` of its toggles in `scope` after `after`.
    ///
    /// # Errors
    /// [`Error::NotDeployed`] if `commit` is not a commit of the history, and the cause if it cannot be read.
    pub fn deployment(
        &self,
        commit: CommitId,
        scope: &Scope,
        after: Option<&ToggleId>,
        most: usize,
    ) -> Result<Deployment, Error> {
        let commit = self.known(commit)?;
        Ok(self.deployment_of(&commit, ToggleRange { scope, after, most })?.0)
    }

    /// Returns the documents of `toggles` before and after the deployment of `commit`, in the same order.
    pub fn documents<'a>(
        &self,
        commit: CommitId,
        toggles: impl Iterator<Item = &'a ToggleId>,
    ) -> Result<Vec<DocumentPair>, Error> {
        let [before, after] = self.known(commit)?.trees;
        let (mut before, mut after) = (self.lookup(before), self.lookup(after));
        let pairs = toggles.map(|id| Ok(DocumentPair { before: before.find(id)?, after: after.find(id)? }));
        pairs.collect()
    }

    /// Reads a document.
    pub fn blob(&self, object: ObjectId, limit: usize) -> Result<Blob, Error> {
        Ok(self.reader.blob(object, limit)?)
    }

    pub fn applied(&self) -> Result<Vec<ToggleId>, Error> {
        let [_, tree] = self.read(self.tip)?.trees;
        let scope = Scope::default();
        let changes = tree_changes(&self.reader, [None, tree], ToggleRange::all(&scope))?;
        Ok(changes.into_keys().collect())
    }

    /// Returns the records since each of `toggles` was last published or recorded.
    pub fn since(&self, mut toggles: BTreeSet<ToggleId>) -> Result<RecordsSince, Error> {
        let mut since = RecordsSince::default();
        let scope = Scope::default();
        let mut next = Some(self.tip);
        while let Some(id) = next.filter(|_| !toggles.is_empty()) {
            let commit = self.read(id)?;
            since.revisions.push(commit.revision);
            for id in self.deployment_of(&commit, ToggleRange::all(&scope))?.0.toggles {
                if let Some(id) = toggles.take(&id.id) {
                    since.times.insert(id.clone(), commit.at);
                    since.counts.insert(id, since.revisions.len());
                }
            }
            next = commit.parent;
        }
        Ok(since)
    }

    /// Reads a commit that a user named.
    fn known(&self, id: CommitId) -> Result<RecordedCommit, Error> {
        let exists = self.reader.repository().find_commit(oid(id.0)).is_ok();
        let not_deployed = Err(Error::NotDeployed { commit: id.0 });
        match exists.then(|| self.read(id)) {
            None | Some(Err(Error::ForeignCommit { .. })) => not_deployed,
            Some(commit) => commit,
        }
    }

    fn read(&self, id: CommitId) -> Result<RecordedCommit, Error> {
        let repository = self.reader.repository();
        let broken = || Error::repository(repository.path());
        let commit = repository.find_commit(oid(id.0)).map_err(broken())?;
        let tip = tip(&commit)?;
        let text = commit.message().unwrap_or_default();
        // Commits of the shared ref that announce requests are not part of the applied ref.
        if trailer(text, "Gitoggle-Intents").is_some() {
            return Err(Error::ForeignCommit { commit: id.0 });
        }
        let parent = parent_of(&commit).map_err(broken())?;
        Ok(RecordedCommit {
            id,
            trees: [parent.as_ref().map(|parent| object_id(parent.tree_id())), Some(tip.tree)],
            parent: parent.map(|parent| CommitId(object_id(parent.id()))),
            at: commit.committer().when().seconds(),
            revision: tip.revision,
            message: DeploymentMessage::parse(text, tip.revision),
        })
    }

    /// Returns the deployment of a commit with the toggles of `range`, and the number of toggles that were
    /// compared for it.
    fn deployment_of(
        &self,
        commit: &RecordedCommit,
        range: ToggleRange<'_>,
    ) -> Result<(Deployment, usize), Error> {
        let message = &commit.message;
        let is_everything = range.scope.is_everything();
        let is_enough = is_everything && range.after.is_none() && range.most <= message.toggles.len();
        let mut toggles: Vec<(ToggleId, Option<DeploymentEffect>)> =
            match message.others.is_empty() || is_enough {
                true => named(message, range).collect(),
                false => self.compared(commit, range)?.into_iter().collect(),
            };
        let compared = toggles.len();
        let (total, effects) = match is_everything {
            // A toggle that was published again unchanged is in the message only.
            true => (message.total().max(toggles.len()), message.effects()),
            false => (toggles.len(), counted(&toggles)),
        };
        toggles.truncate(range.most);
        let deployment = Deployment {
            commit: commit.id,
            at: commit.at,
            revision: commit.revision,
            subject: message.subject.clone(),
            signer: message.signer.clone(),
            toggles: toggles.into_iter().map(|(id, effect)| DeployedToggle { id, effect }).collect(),
            total,
            effects,
            allowances: message.allowances.clone(),
        };
        Ok((deployment, compared))
    }

    /// Returns the toggles of `range` that a commit changed by its trees, with the effects that its message
    /// gives.
    fn compared(
        &self,
        commit: &RecordedCommit,
        range: ToggleRange<'_>,
    ) -> Result<BTreeMap<ToggleId, Option<DeploymentEffect>>, Error> {
        // The toggles of a scope are counted, so all of them are compared.
        let most = match range.scope.is_everything() {
            true => range.most,
            false => usize::MAX,
        };
        let changes = tree_changes(&self.reader, commit.trees, ToggleRange { most, ..range })?;
        let message = &commit.message;
        let changes = changes.into_iter();
        let mut toggles: BTreeMap<_, _> =
            changes.map(|(id, change)| (id, message.effect_of(change))).collect();
        toggles.extend(named(message, range));
        Ok(toggles)
    }

    fn lookup(&self, root: Option<ObjectId>) -> DocumentLookup<'_> {
        DocumentLookup { reader: &self.reader, root, environment: None }
    }
}

/// Returns the toggles of `range` that a message names.
fn named<'a>(
    message: &'a DeploymentMessage,
    range: ToggleRange<'a>,
) -> impl Iterator<Item = (ToggleId, Option<DeploymentEffect>)> + 'a {
    let named = message.toggles.iter().filter(move |(id, _)| range.contains(id));
    named.map(|(id, effect)| (id.clone(), Some(*effect)))
}

impl DeploymentMessage {
    /// Returns the effect on a toggle that the message only counts, if only one fits the change of the tree.
    fn effect_of(&self, change: TreeChange) -> Option<DeploymentEffect> {
        use DeploymentEffect::{Adopt, Converge, Create, Disable, Forget, Overwrite, Record, Update};

        let possible: &[DeploymentEffect] = match change {
            TreeChange::Added => &[Create, Overwrite, Adopt, Converge],
            TreeChange::Changed => &[Update, Overwrite, Converge, Record, Create],
            TreeChange::Removed => &[Disable, Forget],
        };
        let mut fitting = possible.iter().filter(|effect| self.others.contains_key(effect));
        let first = fitting.next().copied();
        first.filter(|_| fitting.next().is_none())
    }
}

fn is_listed(deployment: &Deployment, scope: &Scope) -> bool {
    // A commit may only record that a revision was seen.
    deployment.total > 0 || (scope.is_everything() && !deployment.allowances.is_empty())
}

fn counted(toggles: &[(ToggleId, Option<DeploymentEffect>)]) -> BTreeMap<DeploymentEffect, usize> {
    let mut counts = BTreeMap::new();
    for effect in toggles.iter().filter_map(|(_, effect)| *effect) {
        *counts.entry(effect).or_default() += 1;
    }
    counts
}

/// Looks up documents in an applied tree. Keeps the last environment, because toggles are looked up in order.
struct DocumentLookup<'a> {
    reader: &'a ObjectReader,
    root: Option<ObjectId>,
    environment: Option<(String, Tree)>,
}

impl DocumentLookup<'_> {
    fn find(&mut self, id: &ToggleId) -> Result<Option<(ObjectId, Format)>, Error> {
        let environment = id.environment().to_string();
        if self.environment.as_ref().is_none_or(|(known, _)| *known != environment) {
            let mut tree = self.tree(self.root)?;
            for folder in [id.project(), id.environment_key()] {
                tree = self.tree(tree.get(folder).map(|entry| entry.id))?;
            }
            self.environment = Some((environment, tree));
        }
        let tree = self.environment.as_ref().map(|(_, tree)| tree);
        Ok(Format::ALL.into_iter().find_map(|format| {
            let entry = tree?.get(&format!("{}.{}", id.toggle(), format.as_str()))?;
            Some((entry.id, format))
        }))
    }

    fn tree(&self, tree: Option<ObjectId>) -> Result<Tree, Error> {
        tree.map_or_else(|| Ok(Tree::empty()), |tree| Ok(self.reader.tree(tree)?))
    }
}
