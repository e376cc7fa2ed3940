//! Reads the deployment history: each commit of the applied ref is a deployment. Its message names the
//! toggles that it changed and why, and its tree and that of its parent have their documents.
//!
//! Reads without the lock and without writing, through its own handle, so that a writer is never in the way.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::commit::{APPLIED, DeploymentMessage, tip, trailer};
use super::tree::{ToggleRange, TreeChange, tree_changes};
use crate::git::refs::look_up;
use crate::git::{ObjectReader, RepositoryPool, object_id, oid};
use crate::model::{
    Blob, CommitId, DeployedToggle, Deployment, DeploymentEffect, Format, HistoryPage, ObjectId, Scope,
    ToggleId, Tree, Trees,
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
    tip: CommitId,
}

/// The source revisions that were recorded since toggles were last published or recorded.
#[derive(Debug, Default)]
pub struct RecordsSince {
    /// Newest first.
    revisions: Vec<CommitId>,
    /// For each toggle, how many of the revisions there are down to the one at which it was last applied.
    counts: BTreeMap<ToggleId, usize>,
}

impl RecordsSince {
    /// Returns the revision at which a toggle was last applied, then each newer one, oldest first; none if it
    /// never was.
    pub fn of(&self, id: &ToggleId) -> impl Iterator<Item = CommitId> + '_ {
        let count = self.counts.get(id).copied().unwrap_or_default();
        self.revisions[..count].iter().rev().copied()
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
        let parent = commit.parents().next();
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

// Finds when and at which source revision each toggle was applied last, from the history of the applied ref.
//
// Each commit names its revision, and its tree differs from its parent's tree in the toggles that it changed.
// A daemon keeps the map, so that an update costs one comparison per new commit.

/// The source revision at which each applied toggle was applied last, as of one commit of the applied ref.
#[derive(Debug, Default)]
pub struct Revisions {
    tip: Option<CommitId>,
    at: BTreeMap<ToggleId, AppliedRevision>,
}

/// The source revision at which a toggle was applied.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AppliedRevision {
    pub revision: CommitId,
    /// The time of the commit that recorded it, in seconds since 1970-01-01 UTC.
    pub at: i64,
}

impl Revisions {
    /// Returns the revision at which `id` was applied, and the time.
    pub fn get(&self, id: &ToggleId) -> Option<AppliedRevision> {
        self.at.get(id).copied()
    }

    /// Updates the map to the tip of `view`, whose tree has the toggles `applied`. Walks back to the tip of
    /// the last call, or until every toggle is found. Returns the number of commits that were compared with
    /// their parents.
    pub fn update(&mut self, view: &StateSnapshot, applied: &BTreeSet<ToggleId>) -> Result<usize, Error> {
        let tip = view.tip().map(|tip| tip.commit);
        if self.tip == tip {
            return Ok(0);
        }
        let (Some(reader), Some(commit)) = (view.reader()?, tip) else {
            *self = Self::default();
            return Ok(0);
        };
        let mut wanted: HashSet<&ToggleId> = applied.iter().collect();
        let mut found = BTreeMap::new();
        let mut compared = 0;
        let mut next = Some(commit);
        while let Some(commit) = next.filter(|commit| Some(*commit) != self.tip && !wanted.is_empty()) {
            let step = step(&reader, commit)?;
            compared += 1;
            for id in step.changed {
                if wanted.remove(&id) {
                    found.insert(id, step.applied);
                }
            }
            next = step.parent;
        }
        if next.is_some() && next == self.tip {
            // A toggle without a newer commit keeps its revision.
            self.at.retain(|id, _| applied.contains(id));
            self.at.extend(found);
        } else {
            self.at = found;
        }
        self.tip = tip;
        Ok(compared)
    }
}

/// One commit of the applied ref.
struct HistoryStep {
    applied: AppliedRevision,
    parent: Option<CommitId>,
    /// The toggles with a document that its parent's tree does not have in the same form.
    changed: Vec<ToggleId>,
}

fn step(reader: &ObjectReader, commit: CommitId) -> Result<HistoryStep, Error> {
    let repository = reader.repository();
    let commit = repository.find_commit(oid(commit.0));
    let commit = commit.map_err(Error::repository(repository.path()))?;
    let parent = commit.parents().next();
    let before = parent.as_ref().map(|parent| object_id(parent.tree_id()));
    let trees = [before, Some(object_id(commit.tree_id()))];
    let changes = tree_changes(reader, trees, ToggleRange::all(&Scope::default()))?;
    // A removed document is not applied, so it has no revision.
    let changed = changes.into_iter().filter(|(_, change)| *change != TreeChange::Removed);
    Ok(HistoryStep {
        applied: AppliedRevision { revision: tip(&commit)?.revision, at: commit.time().seconds() },
        parent: parent.map(|parent| CommitId(object_id(parent.id()))),
        changed: changed.map(|(id, _)| id).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::pack::{ObjectKind, id_of};
    use crate::model::{DeploymentEffect, Format};
    use crate::state::tests::{head, id, options};
    use crate::state::{AppliedEdit, Store};

    fn record(store: &mut Store, revision: u8, edits: &[AppliedEdit]) {
        let document = |object| {
            let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
            let mut bytes = bytes.filter(|bytes| id_of(ObjectKind::Blob, bytes) == object);
            bytes.next().ok_or(std::fmt::Error)
        };
        store.record(&head(revision), edits, document, &|| false).unwrap();
    }

    fn put(toggle: &str, byte: u8) -> AppliedEdit {
        AppliedEdit::Put {
            id: id(toggle),
            object: id_of(ObjectKind::Blob, &[byte]),
            format: Format::Yaml,
            effect: DeploymentEffect::Record,
        }
    }

    fn revision_of(revisions: &Revisions, toggle: &str) -> Option<CommitId> {
        revisions.get(&id(toggle)).map(|applied| applied.revision)
    }

    #[test]
    fn an_update_of_a_kept_map_costs_one_comparison_per_new_commit() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path(), options()).unwrap();
        let toggles: Vec<String> = (0..5).map(|number| format!("a/b/t{number}")).collect();
        let applied: BTreeSet<ToggleId> = toggles.iter().map(|toggle| id(toggle)).collect();
        record(&mut store, 1, &toggles.iter().map(|toggle| put(toggle, 1)).collect::<Vec<_>>());
        let mut kept = Revisions::default();
        assert_eq!(kept.update(store.view(), &applied).unwrap(), 1);
        for revision in 2..30 {
            record(&mut store, revision, &[put("a/b/t0", revision)]);
            assert_eq!(kept.update(store.view(), &applied).unwrap(), 1, "{revision}");
            assert_eq!(kept.update(store.view(), &applied).unwrap(), 0, "{revision}");
            assert_eq!(revision_of(&kept, "a/b/t0"), Some(head(revision).revision));
            assert_eq!(revision_of(&kept, "a/b/t1"), Some(head(1).revision));
        }
        let mut fresh = Revisions::default();
        assert_eq!(fresh.update(store.view(), &applied).unwrap(), 29, "one walk for all");
        let only = BTreeSet::from([id("a/b/t0")]);
        assert_eq!(Revisions::default().update(store.view(), &only).unwrap(), 1);
        assert!(applied.iter().all(|id| kept.get(id) == fresh.get(id)));
    }

    #[test]
    fn the_pages_of_a_deployment_have_every_toggle_once_and_sorted() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path(), options()).unwrap();
        // A tree has `prod-eu/` before `prod/`, and upper case before lower case.
        let folders = ["a/prod", "a/prod-eu", "a/prod.eu", "a/Prod", "a-b/prod", "a.b/prod", "B/prod"];
        let names = folders.iter().flat_map(|folder| (0..9).map(move |number| format!("{folder}/t{number}")));
        // The message names fifty toggles; the trees tell the others.
        let named = (0..50).map(|number| format!("A/prod/t{number}"));
        let names: Vec<String> = names.chain(named).collect();
        record(&mut store, 1, &names.iter().map(|name| put(name, 1)).collect::<Vec<_>>());
        let history = AppliedHistory::of(store.view()).unwrap().unwrap();
        let mut sorted: Vec<ToggleId> = names.iter().map(|name| id(name)).collect();
        sorted.sort();
        for most in [5, 9, 20, 62, 112] {
            let mut listed: Vec<ToggleId> = Vec::new();
            loop {
                let scope = Scope::default();
                let page = history.deployment(history.tip, &scope, listed.last(), most).unwrap();
                if page.toggles.is_empty() {
                    break;
                }
                listed.extend(page.toggles.into_iter().map(|toggle| toggle.id));
            }
            assert_eq!(listed, sorted, "{most}");
        }
    }

    #[test]
    fn a_toggle_that_was_removed_and_put_back_has_the_revision_of_its_return() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path(), options()).unwrap();
        let (one, two) = (id("a/b/one"), id("a/b/two"));
        let both = BTreeSet::from([one.clone(), two.clone()]);
        record(&mut store, 1, &[put("a/b/one", 1), put("a/b/two", 1)]);
        let mut kept = Revisions::default();
        kept.update(store.view(), &both).unwrap();
        record(&mut store, 2, &[AppliedEdit::Remove { id: one.clone() }]);
        kept.update(store.view(), &BTreeSet::from([two.clone()])).unwrap();
        assert_eq!(kept.get(&one), None);
        record(&mut store, 3, &[put("a/b/one", 1)]);
        kept.update(store.view(), &both).unwrap();
        assert_eq!(revision_of(&kept, "a/b/one"), Some(head(3).revision));
        assert_eq!(revision_of(&kept, "a/b/two"), Some(head(1).revision));
    }
}
