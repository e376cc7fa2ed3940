//! Compares two applied trees by toggle, in the order of toggles.

use std::collections::BTreeMap;

use crate::git::ObjectReader;
use crate::model::{EntryKind, ObjectId, Scope, ToggleId, Tree, TreeDiff, Trees as _};
use crate::state::Error;

/// How the document of a toggle differs between two applied trees.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum TreeChange {
    Added,
    Changed,
    Removed,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ToggleRange<'a> {
    pub(super) scope: &'a Scope,
    pub(super) after: Option<&'a ToggleId>,
    /// The number of differences that are enough.
    pub(super) most: usize,
}

impl<'a> ToggleRange<'a> {
    pub(super) const fn all(scope: &'a Scope) -> Self {
        Self { scope, after: None, most: usize::MAX }
    }

    pub(super) fn contains(&self, id: &ToggleId) -> bool {
        self.after.is_none_or(|after| id > after) && self.scope.contains(id)
    }

    /// Returns whether the range can have toggles whose ids start with `folder`.
    fn reaches(&self, folder: &str) -> bool {
        let is_before = |after: &ToggleId| {
            let count = folder.split_terminator('/').count();
            folder.split_terminator('/').lt(after.as_str().split('/').take(count))
        };
        !self.after.is_some_and(is_before) && self.scope.may_contain_in(folder)
    }
}

/// Returns the toggles of `range` whose documents differ. With more than `range.most` differences, the last
/// environment that is compared is complete, and the ones after it are left out.
pub(super) fn tree_changes(
    reader: &ObjectReader,
    [before, after]: [Option<ObjectId>; 2],
    range: ToggleRange<'_>,
) -> Result<BTreeMap<ToggleId, TreeChange>, Error> {
    let mut changes = BTreeMap::new();
    let mut folders = vec![(String::new(), before, after)];
    while let Some((prefix, before, after)) = folders.pop() {
        if changes.len() > range.most {
            break;
        }
        if before == after {
            continue;
        }
        let tree = |id: Option<ObjectId>| id.map_or_else(|| Ok(Tree::empty()), |id| reader.tree(id));
        let (before, after) = (tree(before)?, tree(after)?);
        let mut nested = Vec::new();
        for (old, new) in TreeDiff::new(&before, &after) {
            let Some(entry) = old.or(new) else {
                continue;
            };
            let name = String::from_utf8_lossy(entry.name);
            if entry.kind() == EntryKind::Tree {
                let [old, new] = [old, new].map(|entry| entry.map(|entry| entry.id));
                nested.push((format!("{prefix}{name}/"), old, new));
                continue;
            }
            let toggle = name.rsplit_once('.').map_or(&*name, |(toggle, _)| toggle);
            let Ok(id) = format!("{prefix}{toggle}").parse::<ToggleId>() else {
                continue;
            };
            if !range.contains(&id) {
                continue;
            }
            let change = match (old, new) {
                (None, _) => TreeChange::Added,
                (_, None) => TreeChange::Removed,
                (Some(_), Some(_)) => TreeChange::Changed,
            };
            // A document whose extension changed is removed at one name and added at another.
            let known = changes.entry(id).or_insert(change);
            if *known != change {
                *known = TreeChange::Changed;
            }
        }
        nested.retain(|(folder, ..)| range.reaches(folder));
        // In the order of toggles, which is not that of a tree: `prod-eu/` sorts before `prod/` there.
        nested.sort_by(|(a, ..), (b, ..)| a.trim_end_matches('/').cmp(b.trim_end_matches('/')));
        // The last one is compared first.
        folders.extend(nested.into_iter().rev());
    }
    Ok(changes)
}
