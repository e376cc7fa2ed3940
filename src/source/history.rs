//! Finds the commit that last changed the meaning of each path, in one walk over the history for all paths.
//!
//! Git's history simplification follows a path along one line: from a commit to the first parent with the same version,
//! until a commit differs from all its parents. `git log -1 REVISION -- path` names that commit. If a parent's version
//! differs but has the same meaning, the walk follows that parent. Paths on the same line share one step, and a folder is
//! read only if it differs and contains an open path.
//!
//! The caller compares meanings, because this module does not parse documents.

use std::collections::{BTreeMap, BinaryHeap, HashMap, btree_map, hash_map};

use super::Parents;
use super::error::Error;
use super::reader::Reader;
use super::trees::{TreeCache, folder};
use crate::git::CommitNode;
use crate::git::history::boundary;
use crate::model::{CommitId, EntryKind, ObjectId, TreeDiff};

/// The paths that no commit has taken yet, as a tree of folders.
#[derive(Default)]
struct Open {
    /// The number of the path that ends here.
    path: Option<usize>,
    /// The file at this path in the parent that the commit was last compared with.
    version: Option<ObjectId>,
    children: BTreeMap<Vec<u8>, Open>,
}

impl Open {
    fn new<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let mut top = Self::default();
        for (number, path) in paths.enumerate() {
            let parts = path.split('/').filter(|part| !part.is_empty());
            let leaf = parts.fold(&mut top, |open, part| open.children.entry(part.into()).or_default());
            leaf.path = Some(number);
        }
        top
    }

    fn is_empty(&self) -> bool {
        self.path.is_none() && self.children.is_empty()
    }

    /// Adds what is in `other`, which holds no path that is in `self`.
    fn absorb(&mut self, other: Self) {
        if other.path.is_some() {
            (self.path, self.version) = (other.path, other.version);
        }
        for (name, child) in other.children {
            match self.children.entry(name) {
                btree_map::Entry::Vacant(new) => drop(new.insert(child)),
                btree_map::Entry::Occupied(known) => known.into_mut().absorb(child),
            }
        }
    }

    /// Moves the paths whose version `is_same` accepts out of it, and returns them.
    fn take_same(&mut self, is_same: &mut IsSame<'_>) -> Result<Self, Error> {
        let mut same = Self::default();
        if let (Some(number), Some(version)) = (self.path, self.version)
            && is_same(number, version)?
        {
            same.path = self.path.take();
        }
        for (name, child) in &mut self.children {
            let taken = child.take_same(is_same)?;
            if !taken.is_empty() {
                same.children.insert(name.clone(), taken);
            }
        }
        self.children.retain(|_, child| !child.is_empty());
        Ok(same)
    }

    /// Gives the number of each path to `take`.
    fn each(&self, take: &mut impl FnMut(usize)) {
        self.path.into_iter().for_each(&mut *take);
        for child in self.children.values() {
            child.each(take);
        }
    }

    /// Moves the number of each path to `into`.
    fn drain(&mut self, into: &mut Vec<usize>) {
        std::mem::take(self).each(&mut |number| into.push(number));
    }
}

/// The result of a history walk for one path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FoundCommit {
    /// The commit that changed its meaning.
    Commit(CommitId),
    /// The history is cut before that commit. Holds the oldest commit that touched the path, if one did.
    Cut(Option<CommitId>),
}

/// Decides whether the version of a path (by number) asks for the same as the newest one.
pub(super) type IsSame<'a> = dyn FnMut(usize, ObjectId) -> Result<bool, Error> + 'a;

/// Returns for each of `paths` (counted from the top) the newest commit that changed its meaning, beginning at `start`.
///
/// A path that no commit ever touched has none. Versions that mean the same are never compared with each other, only
/// with the newest one: the walk reaches a commit only while everything after it means the same.
pub(super) fn last_commits(
    reader: &Reader,
    start: CommitId,
    paths: &[&str],
    parents: Parents,
    is_same: &mut IsSame<'_>,
) -> Result<Vec<Option<FoundCommit>>, Error> {
    let mut found = vec![None; paths.len()];
    let mut oldest = vec![None; paths.len()];
    let boundary = boundary(reader.repository());
    let mut walk = Walk::new(reader);
    walk.visit(start, Open::new(paths.iter().copied()))?;
    while let Some((commit, mut open)) = walk.next() {
        // Every file looks new in a commit without parents, so a boundary commit must not count as the change.
        if boundary.contains(&commit.id) {
            open.drain(&mut walk.cut);
        }
        // Identical versions come first, so that a path follows the line that `git log` follows.
        for &parent in commit.parents(parents) {
            let untouched = walk.untouched(&commit, parent, &mut open)?;
            walk.visit(parent, untouched)?;
        }
        for &parent in commit.parents(parents) {
            let reworded = walk.reworded(&commit, parent, &mut open, is_same)?;
            reworded.each(&mut |number| oldest[number] = Some(commit.id));
            walk.visit(parent, reworded)?;
        }
        if commit.parents(Parents::All).is_empty() {
            // A path that the first commit does not have was never touched.
            open = walk.differing(&mut open, Some(commit.tree), None)?;
        }
        open.each(&mut |number| found[number] = Some(FoundCommit::Commit(commit.id)));
    }
    for number in walk.cut {
        found[number] = Some(FoundCommit::Cut(oldest[number]));
    }
    Ok(found)
}

/// The commits to look at, newest first: with all children of a commit before it, unless clocks were wrong, in
/// which case it is looked at again.
struct Walk<'a> {
    reader: &'a Reader,
    trees: TreeCache<'a>,
    queue: BinaryHeap<(i64, CommitId)>,
    waiting: HashMap<CommitId, (CommitNode, Open)>,
    /// The paths whose history is missing from here on.
    cut: Vec<usize>,
}

impl<'a> Walk<'a> {
    fn new(reader: &'a Reader) -> Self {
        Self {
            reader,
            trees: TreeCache::new(reader),
            queue: BinaryHeap::new(),
            waiting: HashMap::new(),
            cut: Vec::new(),
        }
    }

    fn visit(&mut self, id: CommitId, open: Open) -> Result<(), Error> {
        if open.is_empty() {
            return Ok(());
        }
        let (node, waiting) = self.commit(id)?;
        let (time, is_new) = (node.time, waiting.is_empty());
        waiting.absorb(open);
        if is_new {
            self.queue.push((time, id));
        }
        Ok(())
    }

    /// Returns a commit and the paths that are followed to it so far.
    fn commit(&mut self, id: CommitId) -> Result<&mut (CommitNode, Open), Error> {
        Ok(match self.waiting.entry(id) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(new) => new.insert((self.reader.node(id)?, Open::default())),
        })
    }

    fn next(&mut self) -> Option<(CommitNode, Open)> {
        let (_, id) = self.queue.pop()?;
        self.waiting.remove(&id)
    }

    /// Moves the paths that are the same in `parent` out of `open`, and returns them.
    fn untouched(&mut self, commit: &CommitNode, parent: CommitId, open: &mut Open) -> Result<Open, Error> {
        if open.is_empty() {
            return Ok(Open::default());
        }
        let tree = self.commit(parent)?.0.tree;
        let differing = self.differing(open, Some(commit.tree), Some(tree))?;
        Ok(std::mem::replace(open, differing))
    }

    /// Moves the paths whose version in `parent` means the same out of `open`, which holds none that is the same there,
    /// and returns them.
    fn reworded(
        &mut self,
        commit: &CommitNode,
        parent: CommitId,
        open: &mut Open,
        is_same: &mut IsSame<'_>,
    ) -> Result<Open, Error> {
        if open.is_empty() {
            return Ok(Open::default());
        }
        let tree = self.commit(parent)?.0.tree;
        // Compared again, because each path has its version in the last parent that it was compared with.
        *open = self.differing(open, Some(commit.tree), Some(tree))?;
        open.take_same(is_same)
    }

    /// Moves the paths that differ between two trees out of `open`, and returns them. Where one of the trees is missing,
    /// the paths in it are cut.
    fn differing(
        &mut self,
        open: &mut Open,
        a: Option<ObjectId>,
        b: Option<ObjectId>,
    ) -> Result<Open, Error> {
        let mut moved = Open::default();
        if a == b || open.children.is_empty() {
            return Ok(moved);
        }
        let (Some(a), Some(b)) = (self.trees.tree(a)?, self.trees.tree(b)?) else {
            // The caller moves the path that ends here; only the paths below it are unknown.
            let path = open.path.take();
            open.drain(&mut self.cut);
            open.path = path;
            return Ok(moved);
        };
        for (old, new) in TreeDiff::new(&a, &b) {
            let Some(name) = old.or(new).map(|entry| entry.name) else {
                continue;
            };
            let Some(child) = open.children.get_mut(name) else {
                continue;
            };
            let mut out = self.differing(child, folder(old), folder(new))?;
            out.path = child.path.take();
            out.version = new.filter(|entry| entry.kind() == EntryKind::Blob).map(|entry| entry.id);
            if child.is_empty() {
                open.children.remove(name);
            }
            if !out.is_empty() {
                moved.children.entry(name.to_vec()).or_default().absorb(out);
            }
        }
        Ok(moved)
    }
}
