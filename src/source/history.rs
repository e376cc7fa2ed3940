//! Finds the commit that last changed the meaning of each path, in one walk over the history for all paths.
//!
//! Git's history simplification follows a path along one line: from a commit to the first parent with the
//! same version, until a commit differs from all its parents. `git log -1 REVISION -- path` names that
//! commit. If a parent's version differs but has the same meaning, the walk follows that parent. Paths on the
//! same line share one step, and a folder is read only if it differs and contains an open path.
//!
//! The caller compares meanings, because this module does not parse documents.

use std::collections::{BTreeMap, BinaryHeap, HashMap, btree_map, hash_map};

use super::Error;
use super::Parents;
use super::reader::Reader;
use super::search::{self, TreeCache, folder};
use crate::git::CommitNode;
use crate::git::commit::boundary;
use crate::model::{CommitId, EntryKind, ObjectId, TreeDiff};

/// The paths that no commit has taken yet, as a tree of folders.
#[derive(Default)]
struct Open {
    /// The numbers of the paths that end here; several if a file moved.
    paths: Vec<usize>,
    /// The file at this path in the parent that the commit was last compared with.
    version: Option<ObjectId>,
    children: BTreeMap<Vec<u8>, Open>,
}

impl Open {
    fn new<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let mut top = Self::default();
        paths.enumerate().for_each(|(number, path)| top.insert(path, number));
        top
    }

    fn insert(&mut self, path: &str, number: usize) {
        let parts = path.split('/').filter(|part| !part.is_empty());
        let leaf = parts.fold(self, |open, part| open.children.entry(part.into()).or_default());
        leaf.paths.push(number);
    }

    fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.children.is_empty()
    }

    /// Adds what is in `other`.
    fn absorb(&mut self, other: Self) {
        if !other.paths.is_empty() {
            self.paths.extend(other.paths);
            self.version = other.version;
        }
        for (name, child) in other.children {
            match self.children.entry(name) {
                btree_map::Entry::Vacant(new) => {
                    new.insert(child);
                }
                btree_map::Entry::Occupied(known) => known.into_mut().absorb(child),
            }
        }
    }

    /// Moves the paths whose version `is_same` accepts out of it, and returns them.
    fn take_same(&mut self, is_same: &mut IsSame<'_>) -> Result<Self, Error> {
        let mut same = Self::default();
        if let Some(version) = self.version {
            for number in std::mem::take(&mut self.paths) {
                let to = if is_same(number, version)? { &mut same } else { &mut *self };
                to.paths.push(number);
            }
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

    /// Moves the paths without a version out of it, and returns them.
    fn added(&mut self) -> Vec<(String, usize)> {
        let mut added = Vec::new();
        self.take_added("", &mut added);
        added
    }

    /// Moves the paths without a version out of it, with their names below `folder`.
    fn take_added(&mut self, folder: &str, into: &mut Vec<(String, usize)>) {
        if self.version.is_none() {
            into.extend(self.paths.drain(..).map(|number| (folder.to_owned(), number)));
        }
        for (name, child) in &mut self.children {
            child.take_added(&join(folder, &String::from_utf8_lossy(name)), into);
        }
        self.children.retain(|_, child| !child.is_empty());
    }

    /// Gives the number of each path to `take`.
    fn each(&self, take: &mut impl FnMut(usize)) {
        self.paths.iter().copied().for_each(&mut *take);
        for child in self.children.values() {
            child.each(take);
        }
    }
}

fn join(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        folder => format!("{folder}/{name}"),
    }
}

/// Returns the name of a file without its extension.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// The result of a history walk for one path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FoundCommit {
    /// The commit that changed its meaning.
    Commit(CommitId),
    /// The history is cut before that commit. Holds the oldest commit that touched the path, if one did.
    Cut(Option<CommitId>),
}

/// Whether a path is followed to where its file was before it moved.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Moves {
    Followed,
    /// Only to the other extension of a document, with which it is that of the same toggle.
    OfExtension,
}

/// Decides whether the version of a path (by number) asks for the same as the newest one.
pub(super) type IsSame<'a> = dyn FnMut(usize, ObjectId) -> Result<bool, Error> + 'a;

/// Returns for each of `paths` (counted from the top) the newest commit that changed its meaning, beginning
/// at `start`. Follows a document to its other extension.
///
/// A path that no commit ever touched has none. Versions that mean the same are never compared with each
/// other, only with the newest one: the walk reaches a commit only while everything after it means the same.
pub(super) fn last_commits(
    reader: &Reader,
    start: CommitId,
    paths: &[&str],
    parents: Parents,
    is_same: &mut IsSame<'_>,
) -> Result<Vec<Option<FoundCommit>>, Error> {
    let mut found = vec![None; paths.len()];
    let mut walk = Walk::new(reader);
    walk.visit(start, Open::new(paths.iter().copied()))?;
    for (commit, open) in walk.run(parents, Moves::OfExtension, is_same)? {
        open.each(&mut |number| found[number] = Some(FoundCommit::Commit(commit.id)));
    }
    for (number, _) in walk.cut {
        found[number] = Some(FoundCommit::Cut(walk.oldest.get(&number).copied()));
    }
    Ok(found)
}

/// When the last change of a path reached the branch, and the commit that made it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct FoundChange {
    /// A commit of the branch itself: a merge if the change was made on another branch.
    pub(super) reached: CommitId,
    /// None if the history is cut at `reached`.
    pub(super) by: Option<CommitId>,
}

/// As [`last_commits`], with the time at which each change reached the branch of `start`. Follows files that
/// moved: a file keeps its meaning if another folder or extension has the same name with the same meaning.
pub(super) fn last_changes(
    reader: &Reader,
    start: CommitId,
    paths: &[&str],
    is_same: &mut IsSame<'_>,
) -> Result<Vec<Option<FoundChange>>, Error> {
    let mut found = vec![None; paths.len()];
    let (mut branch, mut merged) = (Walk::new(reader), Walk::new(reader));
    branch.visit(start, Open::new(paths.iter().copied()))?;
    for (commit, open) in branch.run(Parents::First, Moves::Followed, is_same)? {
        open.each(&mut |number| {
            found[number] = Some(FoundChange { reached: commit.id, by: Some(commit.id) });
        });
        if commit.parents(Parents::All).len() > 1 {
            merged.visit(commit.id, open)?;
        }
    }
    for (number, reached) in branch.cut {
        found[number] = Some(FoundChange { reached, by: None });
    }
    for (commit, open) in merged.run(Parents::All, Moves::Followed, is_same)? {
        open.each(&mut |number| {
            found[number] = found[number].map(|found| FoundChange { by: Some(commit.id), ..found });
        });
    }
    Ok(found)
}

/// The commits to look at, newest first: with all children of a commit before it, unless clocks were wrong,
/// in which case it is looked at again.
struct Walk<'a> {
    reader: &'a Reader,
    trees: TreeCache<'a>,
    queue: BinaryHeap<(i64, CommitId)>,
    waiting: HashMap<CommitId, (CommitNode, Open)>,
    /// The paths whose history is missing, with the commit at which it ends.
    cut: Vec<(usize, CommitId)>,
    /// The oldest commit that touched each path without changing its meaning.
    oldest: HashMap<usize, CommitId>,
}

impl<'a> Walk<'a> {
    fn new(reader: &'a Reader) -> Self {
        Self {
            reader,
            trees: TreeCache::new(reader),
            queue: BinaryHeap::new(),
            waiting: HashMap::new(),
            cut: Vec::new(),
            oldest: HashMap::new(),
        }
    }

    /// Returns the commits that changed the meaning of paths, with these paths.
    fn run(
        &mut self,
        parents: Parents,
        moves: Moves,
        is_same: &mut IsSame<'_>,
    ) -> Result<Vec<(CommitNode, Open)>, Error> {
        let mut found = Vec::new();
        let boundary = boundary(self.reader.repository());
        while let Some((commit, mut open)) = self.next() {
            // Every file looks new in a commit without parents, so a boundary commit must not count as the
            // change.
            if boundary.contains(&commit.id) {
                self.cut(&mut open, commit.id);
            }
            // Identical versions come first, so that a path follows the line that `git log` follows.
            for &parent in commit.parents(parents) {
                let untouched = self.untouched(&commit, parent, &mut open)?;
                self.visit(parent, untouched)?;
            }
            for &parent in commit.parents(parents) {
                let reworded = self.reworded(&commit, parent, &mut open, is_same)?;
                reworded.each(&mut |number| {
                    self.oldest.insert(number, commit.id);
                });
                self.visit(parent, reworded)?;
            }
            if let [parent] = commit.parents(parents) {
                let moved = match moves {
                    Moves::Followed => self.moved(&commit, *parent, &mut open, is_same)?,
                    Moves::OfExtension => self.respelled(*parent, &mut open, is_same)?,
                };
                self.visit(*parent, moved)?;
            }
            if commit.parents(Parents::All).is_empty() {
                // A path that the first commit does not have was never touched.
                open = self.differing(&commit, &mut open, Some(commit.tree), None)?;
            }
            if !open.is_empty() {
                found.push((commit, open));
            }
        }
        Ok(found)
    }

    fn cut(&mut self, open: &mut Open, at: CommitId) {
        std::mem::take(open).each(&mut |number| self.cut.push((number, at)));
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
        let differing = self.differing(commit, open, Some(commit.tree), Some(tree))?;
        Ok(std::mem::replace(open, differing))
    }

    /// Moves the paths whose version in `parent` means the same out of `open`, which holds none that is the
    /// same there, and returns them.
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
        *open = self.differing(commit, open, Some(commit.tree), Some(tree))?;
        open.take_same(is_same)
    }

    /// Moves the paths whose file has another place in `parent`, with the same meaning, out of `open`, and
    /// returns them with these places. `open` was compared with `parent` last.
    fn moved(
        &mut self,
        commit: &CommitNode,
        parent: CommitId,
        open: &mut Open,
        is_same: &mut IsSame<'_>,
    ) -> Result<Open, Error> {
        let (added, mut moved) = (open.added(), Open::default());
        if added.is_empty() {
            return Ok(moved);
        }
        let tree = self.commit(parent)?.0.tree;
        let mut removed = HashMap::new();
        self.removed("", Some(commit.tree), Some(tree), &mut removed)?;
        for (path, number) in added {
            let mut candidates: Vec<(String, ObjectId)> = removed.remove(stem(&path)).unwrap_or_default();
            // The closest first: the files of one toggle have the same name in every environment.
            let in_common =
                |other: &str| other.split('/').filter(|part| path.split('/').any(|own| own == *part)).count();
            candidates.sort_by_key(|(other, _)| std::cmp::Reverse(in_common(other)));
            let mut place = None;
            for (at, (_, version)) in candidates.iter().enumerate() {
                if place.is_none() && is_same(number, *version)? {
                    place = Some(at);
                }
            }
            match place {
                Some(at) => moved.insert(&candidates.remove(at).0, number),
                None => open.insert(&path, number),
            }
            removed.insert(stem(&path).to_owned(), candidates);
        }
        Ok(moved)
    }

    /// Moves the paths whose file has its other extension in `parent`, with the same meaning, out of `open`, and
    /// returns them with these names. `open` was compared with `parent` last.
    fn respelled(
        &mut self,
        parent: CommitId,
        open: &mut Open,
        is_same: &mut IsSame<'_>,
    ) -> Result<Open, Error> {
        let (added, mut moved) = (open.added(), Open::default());
        if added.is_empty() {
            return Ok(moved);
        }
        let tree = self.commit(parent)?.0.tree;
        for (path, number) in added {
            match search::other_document(&mut self.trees, tree, &path)? {
                Some((other, version)) if is_same(number, version)? => moved.insert(&other, number),
                _ => open.insert(&path, number),
            }
        }
        Ok(moved)
    }

    /// Adds the files that `before` has and `after` has not, by the stems of their names.
    fn removed(
        &mut self,
        at: &str,
        after: Option<ObjectId>,
        before: Option<ObjectId>,
        into: &mut HashMap<String, Vec<(String, ObjectId)>>,
    ) -> Result<(), Error> {
        let (Some(a), Some(b)) = (self.trees.tree(after)?, self.trees.tree(before)?) else {
            return Ok(());
        };
        for (new, old) in TreeDiff::new(&a, &b) {
            // A file whose name is not UTF-8 was not a document.
            let Some((old, Ok(name))) = old.map(|old| (old, std::str::from_utf8(old.name))) else {
                continue;
            };
            let path = join(at, name);
            match old.kind() {
                EntryKind::Tree => self.removed(&path, folder(new), Some(old.id), into)?,
                EntryKind::Blob if new.is_none() => {
                    into.entry(stem(name).to_owned()).or_default().push((path, old.id));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Moves the paths that differ between two trees out of `open`, and returns them. Where one of the trees
    /// is missing, the paths in it are cut.
    fn differing(
        &mut self,
        commit: &CommitNode,
        open: &mut Open,
        a: Option<ObjectId>,
        b: Option<ObjectId>,
    ) -> Result<Open, Error> {
        let mut moved = Open::default();
        if a == b || open.children.is_empty() {
            return Ok(moved);
        }
        let (Some(a), Some(b)) = (self.trees.tree(a)?, self.trees.tree(b)?) else {
            // The caller moves the paths that end here; only the paths below them are unknown.
            let paths = std::mem::take(&mut open.paths);
            self.cut(open, commit.id);
            open.paths = paths;
            return Ok(moved);
        };
        for (old, new) in TreeDiff::new(&a, &b) {
            let Some(name) = old.or(new).map(|entry| entry.name) else {
                continue;
            };
            let Some(child) = open.children.get_mut(name) else {
                continue;
            };
            let mut out = self.differing(commit, child, folder(old), folder(new))?;
            out.paths = std::mem::take(&mut child.paths);
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
