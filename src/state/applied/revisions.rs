//! Finds when and at which source revision each toggle was applied last, from the history of the applied ref.
//!
//! Each commit names its revision, and its tree differs from its parent's tree in the toggles that it changed.
//! A daemon keeps the map, so that an update costs one comparison per new commit.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::changes::{ToggleRange, TreeChange, tree_changes};
use super::commit::{parent_of, tip};
use crate::git::{ObjectReader, object_id, oid};
use crate::model::{CommitId, Scope, ToggleId, chain};
use crate::state::{Error, StateSnapshot};

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
    /// their parents. If the history cannot be read to its end, which is logged, earlier records are unknown.
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
            let step = match step(&reader, commit) {
                Ok(step) => step,
                Err(error) => {
                    let reason = chain(&error);
                    tracing::warn!(name: "records_unread", reason, "could not read the history of the state");
                    next = None;
                    break;
                }
            };
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
    let broken = || Error::repository(repository.path());
    let commit = repository.find_commit(oid(commit.0)).map_err(broken())?;
    let parent = parent_of(&commit).map_err(broken())?;
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
    use crate::state::{AppliedEdit, AppliedHistory, Store};

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
    fn a_parent_that_is_missing_is_not_the_first_record() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path(), options()).unwrap();
        let objects = |kind: &str| -> Vec<std::path::PathBuf> {
            let files = std::fs::read_dir(dir.path().join("state.git/objects").join(kind)).unwrap();
            files.map(|file| file.unwrap().path()).collect()
        };
        record(&mut store, 1, &[put("a/b/one", 1)]);
        let of_first = objects("pack");
        record(&mut store, 2, &[put("a/b/two", 2)]);
        assert!(!of_first.is_empty() && objects("pack").len() > of_first.len());
        of_first.iter().for_each(|file| std::fs::remove_file(file).unwrap());
        drop(store);
        let store = Store::open(dir.path(), options()).unwrap();
        let mut revisions = Revisions::default();
        let both = BTreeSet::from([id("a/b/one"), id("a/b/two")]);
        revisions.update(store.view(), &both).unwrap();
        assert_eq!(revision_of(&revisions, "a/b/one"), None, "it is not that of the second record");
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
