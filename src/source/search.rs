//! Searches the whole history for a removed file, for a version of a document, or for a difference.
//!
//! A partial clone may lack the trees of old commits. Each search then returns the result that is safe to act
//! on.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::Error;
use super::Parents;
use super::reader::Reader;
use crate::git::{CommitNode, commit, lacks_parent_tree};
use crate::model::{CommitId, EntryKind, HistoryEvidence, ObjectId, Tree, TreeEntry, Trees};

/// Returns whether a partial clone lacks the tree of a parent of `commit`.
pub(super) fn lacks_trees(reader: &Reader, commit: CommitId) -> bool {
    reader.is_partial() && lacks_parent_tree(reader.repository(), commit)
}

/// Returns the newest commit without `path` (relative to the top) that has a parent with it. The walk for
/// last commits, like `git log`, misses this commit if it is a merge with another parent without `path`.
pub(super) fn removal(
    reader: &Reader,
    start: CommitId,
    path: &str,
    parents: Parents,
) -> Result<Option<CommitId>, Error> {
    let mut trees = TreeCache::new(reader);
    for id in commit::newest_first(reader.repository(), start, parents, &[])? {
        let node = reader.node(id?)?;
        match file(&mut trees, node.tree, path)? {
            FileAt::File(_) => continue,
            // The file may have been removed here, so an older commit must not be named.
            FileAt::Missing => return Ok(None),
            FileAt::Nothing => {}
        }
        for &parent in node.parents(parents) {
            match file(&mut trees, reader.node(parent)?.tree, path)? {
                FileAt::File(_) => return Ok(Some(node.id)),
                FileAt::Missing => return Ok(None),
                FileAt::Nothing => {}
            }
        }
    }
    Ok(None)
}

fn file(trees: &mut TreeCache<'_>, tree: ObjectId, path: &str) -> Result<FileAt, Error> {
    find_file(trees, tree, path, &mut HashSet::new())
}

/// Returns the file at `path` (relative to the top) in the commit `start`.
pub(super) fn file_at(reader: &Reader, start: CommitId, path: &str) -> Result<Option<ObjectId>, Error> {
    let tree = reader.node(start)?.tree;
    Ok(match file(&mut TreeCache::new(reader), tree, path)? {
        FileAt::File(id) => Some(id),
        FileAt::Missing | FileAt::Nothing => None,
    })
}

/// Returns the path of the same document with its other extension; none for a path that no document can have.
fn with_other_extension(path: &str) -> Option<String> {
    let swapped = |from: &str, to: &str| path.strip_suffix(from).map(|stem| format!("{stem}{to}"));
    swapped(".yaml", ".yml").or_else(|| swapped(".yml", ".yaml"))
}

/// Returns the document at `path` with its other extension, and that path.
pub(super) fn other_document(
    trees: &mut TreeCache<'_>,
    tree: ObjectId,
    path: &str,
) -> Result<Option<(String, ObjectId)>, Error> {
    let Some(other) = with_other_extension(path) else { return Ok(None) };
    Ok(match file(trees, tree, &other)? {
        FileAt::File(id) => Some((other, id)),
        FileAt::Missing | FileAt::Nothing => None,
    })
}

/// Returns those of `among` in which the document at `path` (relative to the top) means something else than in
/// `tree`, whatever its extension is. Where a partial clone lacks a tree, nobody knows what the file means there.
pub(super) fn differing(
    trees: &mut TreeCache<'_>,
    commits: &[CommitNode],
    among: &BTreeSet<CommitId>,
    path: &str,
    tree: ObjectId,
    means_the_same: &mut dyn FnMut(Option<ObjectId>) -> Result<bool, Error>,
) -> Result<BTreeSet<CommitId>, Error> {
    let (mut differing, mut current) = (BTreeSet::new(), None);
    // A lookup reads a whole folder, which can have thousands of files that are asked for one by one.
    let (mut by_tree, mut by_file) = (HashMap::from([(tree, true)]), HashMap::new());
    for node in commits.iter().filter(|node| among.contains(&node.id)) {
        let is_same = match by_tree.get(&node.tree) {
            Some(known) => *known,
            None => {
                let current = match current {
                    Some(known) => known,
                    None => *current.insert(file(trees, tree, path)?),
                };
                let version = match file(trees, node.tree, path)? {
                    FileAt::Missing => None,
                    FileAt::Nothing => Some(other_document(trees, node.tree, path)?.map(|(_, id)| id)),
                    FileAt::File(id) => Some(Some(id)),
                };
                let is_same = match version {
                    None => false,
                    Some(version) if is_file(current, version) => true,
                    Some(version) => match by_file.get(&version) {
                        Some(known) => *known,
                        None => *by_file.entry(version).or_insert(means_the_same(version)?),
                    },
                };
                by_tree.insert(node.tree, is_same);
                is_same
            }
        };
        if !is_same {
            differing.insert(node.id);
        }
    }
    Ok(differing)
}

fn is_file(at: FileAt, version: Option<ObjectId>) -> bool {
    at == version.map_or(FileAt::Nothing, FileAt::File)
}

/// Returns whether `object` is at `path` (relative to the top) in any commit of the history of `start`.
pub(super) fn evidence(
    reader: &Reader,
    start: CommitId,
    path: &str,
    object: ObjectId,
) -> Result<HistoryEvidence, Error> {
    let mut trees = TreeCache::new(reader);
    let mut seen = HashSet::new();
    // In a shallow clone, the commit with the object may be one of the missing ones.
    let mut unseen =
        if reader.repository().is_shallow() { HistoryEvidence::Unknown } else { HistoryEvidence::Nowhere };
    for id in commit::commits(reader.repository(), &[start], &[])? {
        match find_file(&mut trees, reader.node(id?)?.tree, path, &mut seen)? {
            FileAt::File(found) if found == object => return Ok(HistoryEvidence::Found),
            FileAt::Missing => unseen = HistoryEvidence::Unknown,
            FileAt::File(_) | FileAt::Nothing => {}
        }
    }
    Ok(unseen)
}

/// Returns whether `since`, or a commit between it and `start`, may have other folders under `root` than
/// `start`. Returns `true` also if a partial clone lacks them, and if many commits are between: the revision is
/// then recorded again, which makes the next walk short.
pub(super) fn differed_since(
    reader: &Reader,
    start: CommitId,
    since: CommitId,
    root: &str,
) -> Result<bool, Error> {
    let between = commit::commits(reader.repository(), &[start], &[since])?;
    let mut trees = TreeCache::new(reader);
    let mut now = None;
    // The walk leaves out `since` itself, whose folders count as well.
    for (passed, id) in between.chain([Ok(since)]).enumerate() {
        if passed == reader.thresholds().far {
            return Ok(true);
        }
        let Some(then) = folders(&mut trees, reader.node(id?)?.tree, root)? else {
            return Ok(true);
        };
        if *now.get_or_insert_with(|| then.clone()) != then {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the folders under `root` that may contain documents, by name. The map is empty if the root is
/// missing; the result is `None` if a partial clone lacks a tree.
fn folders(
    trees: &mut TreeCache<'_>,
    top: ObjectId,
    root: &str,
) -> Result<Option<BTreeMap<Vec<u8>, ObjectId>>, Error> {
    let mut id = Some(top);
    for part in root.split('/').filter(|part| !part.is_empty()) {
        let Some(tree) = trees.tree(id)? else {
            return Ok(None);
        };
        id = folder(tree.get(part));
    }
    let Some(tree) = trees.tree(id)? else {
        return Ok(None);
    };
    // These folders never hold documents (src/document/README.md, "Paths"), so a changed workflow is not a
    // difference.
    let shown = tree.folders().filter(|entry| !matches!(entry.name.first(), Some(b'.' | b'_')));
    Ok(Some(shown.map(|entry| (entry.name.to_vec(), entry.id)).collect()))
}

/// The trees of the commits of a walk, which have many trees in common.
pub(super) struct TreeCache<'a> {
    reader: &'a Reader,
    trees: HashMap<ObjectId, Tree>,
    bytes: usize,
}

impl<'a> TreeCache<'a> {
    pub(super) fn new(reader: &'a Reader) -> Self {
        Self { reader, trees: HashMap::new(), bytes: 0 }
    }

    /// Returns the tree `id`, or an empty one without an id. Returns `None` if a partial clone lacks it.
    pub(super) fn tree(&mut self, id: Option<ObjectId>) -> Result<Option<Tree>, Error> {
        let Some(id) = id else {
            return Ok(Some(Tree::empty()));
        };
        if let Some(tree) = self.trees.get(&id) {
            return Ok(Some(tree.clone()));
        }
        let tree = match self.reader.tree(id) {
            Ok(tree) => tree,
            Err(Error::PartialClone(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        if self.bytes > self.reader.thresholds().tree_bytes {
            self.trees.clear();
            self.bytes = 0;
        }
        self.bytes += tree.bytes().len();
        self.trees.insert(id, tree.clone());
        Ok(Some(tree))
    }
}

pub(super) fn folder(entry: Option<TreeEntry<'_>>) -> Option<ObjectId> {
    entry.filter(|entry| entry.kind() == EntryKind::Tree).map(|entry| entry.id)
}

/// The entry at a path of a tree.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum FileAt {
    File(ObjectId),
    /// Unknown, because a partial clone lacks a tree of the path.
    Missing,
    Nothing,
}

/// Returns the file at `path` in `tree`. Skips trees that are in `seen`, and adds the others to it.
fn find_file(
    trees: &mut TreeCache<'_>,
    mut tree: ObjectId,
    path: &str,
    seen: &mut HashSet<(usize, ObjectId)>,
) -> Result<FileAt, Error> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    for (depth, part) in parts.iter().enumerate() {
        // An earlier commit had this folder at the same depth, so its file was compared then.
        if !seen.insert((depth, tree)) {
            return Ok(FileAt::Nothing);
        }
        let Some(folder) = trees.tree(Some(tree))? else {
            return Ok(FileAt::Missing);
        };
        let last = depth + 1 == parts.len();
        match folder.get(part).map(|entry| (entry.kind(), entry.id)) {
            Some((EntryKind::Tree, id)) if !last => tree = id,
            Some((EntryKind::Blob, id)) if last => return Ok(FileAt::File(id)),
            _ => return Ok(FileAt::Nothing),
        }
    }
    Ok(FileAt::Nothing)
}
