//! Which commit last touched each path: one walk over history for all paths.
//!
//! With git's history simplification a path follows one line only: from a commit to the first parent in which
//! it is the same, until a commit differs from all its parents. That one is what `git log -1 REVISION -- path`
//! names. Paths on the same line travel together, and a folder is read only where it differs and still holds
//! an open path.

use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

use git2::Oid;

use super::Parents;
use super::error::Error;
use super::reader::{Reader, object_id, oid};
use crate::model::{Differing, Entry, EntryKind, ObjectId, Tree, Trees};

/// The paths that no commit has taken yet, as a tree of folders.
#[derive(Default)]
struct Open {
    /// The number of the path that ends here.
    path: Option<usize>,
    children: BTreeMap<Vec<u8>, Open>,
}

impl Open {
    fn new<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let mut top = Self::default();
        for (number, path) in paths.enumerate() {
            let parts = path.split('/').filter(|part| !part.is_empty());
            let leaf = parts.fold(&mut top, |open, part| {
                open.children.entry(part.into()).or_default()
            });
            leaf.path = Some(number);
        }
        top
    }

    fn is_empty(&self) -> bool {
        self.path.is_none() && self.children.is_empty()
    }

    /// Adds what is in `other`, which holds no path that is in `self`.
    fn absorb(&mut self, other: Self) {
        self.path = self.path.or(other.path);
        for (name, child) in other.children {
            self.children.entry(name).or_default().absorb(child);
        }
    }

    fn drain(self, taken: &mut Vec<usize>) {
        taken.extend(self.path);
        for child in self.children.into_values() {
            child.drain(taken);
        }
    }
}

/// Returns for each of `paths` (counted from the top) the commit that last touched it, beginning at `start`.
///
/// A path that no commit ever touched has none. In a shallow clone a path whose commit lies beyond the boundary
/// has `start`.
pub(super) fn last_commits(
    reader: &Reader,
    start: Oid,
    paths: &[&str],
    parents: Parents,
) -> Result<Vec<Option<Oid>>, Error> {
    let mut found = vec![None; paths.len()];
    let boundary = shallow(reader);
    let mut walk = Walk::new(reader);
    walk.visit(start, Open::new(paths.iter().copied()))?;
    while let Some((commit, mut open)) = walk.next() {
        for &parent in commit.parents(parents) {
            let same = walk.step(&commit, parent, &mut open)?;
            walk.visit(parent, same)?;
        }
        if commit.parents.is_empty() {
            // A path that the first commit does not have was never touched.
            open = walk.trees.differing(&mut open, Some(commit.tree), None)?;
        }
        let taker = if boundary.contains(&commit.id) {
            start
        } else {
            commit.id
        };
        let mut taken = Vec::new();
        open.drain(&mut taken);
        for number in taken {
            found[number] = Some(taker);
        }
    }
    Ok(found)
}

/// The commits whose parents a shallow clone lacks.
fn shallow(reader: &Reader) -> HashSet<Oid> {
    let text = std::fs::read_to_string(reader.repository().path().join("shallow")).unwrap_or_default();
    text.lines()
        .filter_map(|line| Oid::from_str(line.trim()).ok())
        .collect()
}

struct Node {
    id: Oid,
    time: i64,
    tree: ObjectId,
    parents: Vec<Oid>,
}

impl Node {
    fn parents(&self, parents: Parents) -> &[Oid] {
        let count = match parents {
            Parents::All => self.parents.len(),
            Parents::First => self.parents.len().min(1),
        };
        &self.parents[..count]
    }
}

/// The commits to look at, newest first: with all children of a commit before it, unless clocks were wrong, in
/// which case it is looked at again.
struct Walk<'a> {
    reader: &'a Reader,
    trees: TreeCache<'a>,
    queue: BinaryHeap<(i64, Oid)>,
    waiting: HashMap<Oid, (Node, Open)>,
}

impl<'a> Walk<'a> {
    fn new(reader: &'a Reader) -> Self {
        Self {
            reader,
            trees: TreeCache::new(reader),
            queue: BinaryHeap::new(),
            waiting: HashMap::new(),
        }
    }

    fn visit(&mut self, id: Oid, open: Open) -> Result<(), Error> {
        if open.is_empty() {
            return Ok(());
        }
        if let Some((_, waiting)) = self.waiting.get_mut(&id) {
            waiting.absorb(open);
            return Ok(());
        }
        let node = self.node(id)?;
        self.queue.push((node.time, id));
        self.waiting.insert(id, (node, open));
        Ok(())
    }

    fn next(&mut self) -> Option<(Node, Open)> {
        let (_, id) = self.queue.pop()?;
        self.waiting.remove(&id)
    }

    fn node(&self, id: Oid) -> Result<Node, Error> {
        let commit = self.reader.repository().find_commit(id);
        let commit = commit.map_err(|error| self.reader.explain(object_id(id), error))?;
        Ok(Node {
            id,
            time: commit.committer().when().seconds(),
            tree: object_id(commit.tree_id()),
            parents: commit.parent_ids().collect(),
        })
    }

    /// Moves what is the same in `parent` out of `open`, and returns it.
    fn step(&mut self, commit: &Node, parent: Oid, open: &mut Open) -> Result<Open, Error> {
        if open.is_empty() {
            return Ok(Open::default());
        }
        let tree = match self.waiting.get(&parent) {
            Some((node, _)) => node.tree,
            None => self.node(parent)?.tree,
        };
        let differing = self.trees.differing(open, Some(commit.tree), Some(tree))?;
        Ok(std::mem::replace(open, differing))
    }
}

/// Trees, shared between a commit and the next: one's parent is the other's own.
struct TreeCache<'a> {
    reader: &'a Reader,
    trees: HashMap<ObjectId, Tree>,
    bytes: usize,
}

impl<'a> TreeCache<'a> {
    const MOST_BYTES: usize = 32 << 20;

    fn new(reader: &'a Reader) -> Self {
        Self {
            reader,
            trees: HashMap::new(),
            bytes: 0,
        }
    }

    fn tree(&mut self, id: Option<ObjectId>) -> Result<Tree, Error> {
        let Some(id) = id else {
            return Ok(Tree::empty());
        };
        if let Some(tree) = self.trees.get(&id) {
            return Ok(tree.clone());
        }
        let tree = self.reader.tree(id)?;
        if self.bytes > Self::MOST_BYTES {
            self.trees.clear();
            self.bytes = 0;
        }
        self.bytes += tree.bytes().len();
        self.trees.insert(id, tree.clone());
        Ok(tree)
    }

    /// Moves the paths that differ between two trees out of `open`, and returns them.
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
        let (a, b) = (self.tree(a)?, self.tree(b)?);
        for (old, new) in Differing::new(&a, &b) {
            let Some(name) = old.or(new).map(|entry| entry.name) else {
                continue;
            };
            let Some(child) = open.children.get_mut(name) else {
                continue;
            };
            let mut out = self.differing(child, folder(old), folder(new))?;
            out.path = child.path.take();
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

fn folder(entry: Option<Entry<'_>>) -> Option<ObjectId> {
    entry
        .filter(|entry| entry.kind() == EntryKind::Tree)
        .map(|entry| entry.id)
}

/// Returns the newest commit that does not have `path` (counted from the top) while a parent of it has. A path that is
/// gone in one parent of a merge too is followed no further by [`last_commits`], as `git log` follows it.
pub(super) fn removal(
    reader: &Reader,
    start: Oid,
    path: &str,
    parents: Parents,
) -> Result<Option<Oid>, Error> {
    let mut walk = reader.repository().revwalk()?;
    walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::TIME)?;
    walk.push(start)?;
    if parents == Parents::First {
        walk.simplify_first_parent()?;
    }
    let mut trees = TreeCache::new(reader);
    let nodes = Walk::new(reader);
    for id in walk {
        let node = nodes.node(id.map_err(|error| reader.explain(object_id(start), error))?)?;
        if has(&mut trees, node.tree, path)? {
            continue;
        }
        for &parent in node.parents(parents) {
            if has(&mut trees, nodes.node(parent)?.tree, path)? {
                return Ok(Some(node.id));
            }
        }
    }
    Ok(None)
}

/// Returns whether there is a file at `path` in `tree`.
fn has(trees: &mut TreeCache<'_>, tree: ObjectId, path: &str) -> Result<bool, Error> {
    Ok(lookup(trees, tree, path, &mut HashSet::new())?.is_some())
}

/// Returns whether `object` is at `path` (counted from the top) in any commit of the history of `start`.
pub(super) fn holds_object_at(
    reader: &Reader,
    start: Oid,
    path: &str,
    object: ObjectId,
) -> Result<bool, Error> {
    let mut walk = reader.repository().revwalk()?;
    walk.push(start)?;
    let mut trees = TreeCache::new(reader);
    let mut seen = HashSet::new();
    for id in walk {
        let id = id.map_err(|error| reader.explain(object_id(start), error))?;
        let commit = reader.repository().find_commit(id);
        let commit = commit.map_err(|error| reader.explain(object_id(id), error))?;
        let tree = object_id(commit.tree_id());
        if lookup(&mut trees, tree, path, &mut seen)? == Some(object) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether `since`, or a commit that leads from there to `start`, has other folders under `root` than `start` has.
pub(super) fn differed_since(reader: &Reader, start: Oid, since: Oid, root: &str) -> Result<bool, Error> {
    let mut walk = reader.repository().revwalk()?;
    walk.push(start)?;
    walk.hide(since)?;
    let mut trees = TreeCache::new(reader);
    let mut now = None;
    for id in walk.chain([Ok(since)]) {
        let id = id.map_err(|error| reader.explain(object_id(start), error))?;
        let commit = reader.repository().find_commit(id);
        let commit = commit.map_err(|error| reader.explain(object_id(id), error))?;
        let then = folders(&mut trees, object_id(commit.tree_id()), root)?;
        if *now.get_or_insert_with(|| then.clone()) != then {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The folders under `root` that may hold documents, by name; none where there is no such root.
fn folders(
    trees: &mut TreeCache<'_>,
    top: ObjectId,
    root: &str,
) -> Result<BTreeMap<Vec<u8>, ObjectId>, Error> {
    let mut tree = trees.tree(Some(top))?;
    for part in root.split('/').filter(|part| !part.is_empty()) {
        tree = trees.tree(folder(tree.get(part)))?;
    }
    let shown = tree
        .folders()
        .filter(|entry| !matches!(entry.name.first(), Some(b'.' | b'_')));
    Ok(shown.map(|entry| (entry.name.to_vec(), entry.id)).collect())
}

/// Returns the blob at `path` in `tree`; a tree that was looked into before gives nothing.
fn lookup(
    trees: &mut TreeCache<'_>,
    mut tree: ObjectId,
    path: &str,
    seen: &mut HashSet<(usize, ObjectId)>,
) -> Result<Option<ObjectId>, Error> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    for (depth, part) in parts.iter().enumerate() {
        if !seen.insert((depth, tree)) {
            return Ok(None);
        }
        let folder = trees.tree(Some(tree))?;
        let last = depth + 1 == parts.len();
        match folder.get(part).map(|entry| (entry.kind(), entry.id)) {
            Some((EntryKind::Tree, id)) if !last => tree = id,
            Some((EntryKind::Blob, id)) if last => return Ok(Some(id)),
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// Returns the Git library's form of a commit id.
pub(super) fn start(id: crate::model::CommitId) -> Result<Oid, Error> {
    oid(id.0)
}
