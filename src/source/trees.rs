//! Caches the trees of many commits. A partial clone may lack some of them.

use std::collections::{HashMap, HashSet};

use super::error::Error;
use super::reader::Reader;
use crate::model::{EntryKind, ObjectId, Tree, TreeEntry, Trees};

/// The trees of the commits of a walk, which have many trees in common.
pub(super) struct TreeCache<'a> {
    reader: &'a Reader,
    trees: HashMap<ObjectId, Tree>,
    bytes: usize,
}

impl<'a> TreeCache<'a> {
    // A walk over a long history would otherwise keep every version of every folder.
    const MOST_BYTES: usize = 32 << 20;

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
        if self.bytes > Self::MOST_BYTES {
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
pub(super) enum FileAt {
    File(ObjectId),
    /// Unknown, because a partial clone lacks a tree of the path.
    Missing,
    Nothing,
}

/// Returns the file at `path` in `tree`. Skips trees that are in `seen`, and adds the others to it.
pub(super) fn find_file(
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
