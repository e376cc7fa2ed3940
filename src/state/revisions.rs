//! At which source revision each toggle was applied, from the history of the applied ref.
//!
//! Nothing is stored per toggle: each commit names its revision, and what it changed is what its tree and its parent's
//! disagree about.

use std::collections::{BTreeMap, BTreeSet};

use super::error::Error;
use super::reader::Reader;
use super::repository::{object_id, oid};
use super::{record, view};
use crate::model::{CommitId, Differing, ObjectId, ToggleId, Tree, Trees};

pub(crate) fn applied(
    reader: &Reader,
    tip: CommitId,
    toggles: &BTreeSet<ToggleId>,
) -> Result<BTreeMap<ToggleId, CommitId>, Error> {
    let repository = reader.repository();
    let broken = |error| Error::repository(repository.path())(error);
    let mut wanted: BTreeSet<&ToggleId> = toggles.iter().collect();
    let mut found = BTreeMap::new();
    let mut commit = oid(tip.0)
        .and_then(|id| repository.find_commit(id))
        .map_err(broken)?;
    view::tip_at(repository, tip)?;
    while !wanted.is_empty() {
        let parent = commit.parents().next();
        let before = parent.as_ref().map(|parent| object_id(parent.tree_id()));
        let changed = changed(reader, before, object_id(commit.tree_id()))?;
        let revision = record::tip(&commit)?.revision;
        wanted.retain(|id| {
            let hit = changed.contains(id.as_str());
            if hit {
                found.insert((*id).clone(), revision);
            }
            !hit
        });
        match parent {
            Some(parent) => commit = parent,
            None => break,
        }
    }
    Ok(found)
}

/// Returns the `project/environment/toggle` of each document that `after` has and `before` does not have like this.
fn changed(reader: &Reader, before: Option<ObjectId>, after: ObjectId) -> Result<BTreeSet<String>, Error> {
    let mut changed = BTreeSet::new();
    descend(reader, before, after, "", &mut changed)?;
    Ok(changed)
}

fn descend(
    reader: &Reader,
    before: Option<ObjectId>,
    after: ObjectId,
    prefix: &str,
    changed: &mut BTreeSet<String>,
) -> Result<(), Error> {
    if before == Some(after) {
        return Ok(());
    }
    let before = before.map_or_else(|| Ok(Tree::empty()), |tree| reader.tree(tree))?;
    let after = reader.tree(after)?;
    for (other, entry) in Differing::new(&before, &after) {
        let Some(entry) = entry else {
            continue;
        };
        let name = String::from_utf8_lossy(entry.name);
        match entry.kind() {
            crate::model::EntryKind::Tree => {
                let prefix = format!("{prefix}{name}/");
                descend(reader, other.map(|other| other.id), entry.id, &prefix, changed)?;
            }
            _ => {
                let toggle = name.rsplit_once('.').map_or(&*name, |(toggle, _)| toggle);
                changed.insert(format!("{prefix}{toggle}"));
            }
        }
    }
    Ok(())
}
