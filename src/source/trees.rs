//! The trees of many commits, of which a partial clone may lack some.

use std::collections::{HashMap, HashSet};

use super::error::Error;
use super::reader::Reader;
use crate::model::{Entry, EntryKind, ObjectId, Tree, Trees};

/// Trees, shared between a commit and the next: one's parent is the other's own.
pub(super) struct TreeCache<'a> {
    reader: &'a Reader,
    trees: HashMap<ObjectId, Tree>,
    bytes: usize,
}

impl<'a> TreeCache<'a> {
    const MOST_BYTES: usize = 32 << 20;

    pub(super) fn new(reader: &'a Reader) -> Self {
        Self {
            reader,
            trees: HashMap::new(),
            bytes: 0,
        }
    }

    /// Returns the tree of that id, an empty one for no id; nothing where a partial clone lacks it.
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

/// Returns the tree of an entry that is a folder.
pub(super) fn folder(entry: Option<Entry<'_>>) -> Option<ObjectId> {
    entry
        .filter(|entry| entry.kind() == EntryKind::Tree)
        .map(|entry| entry.id)
}

/// What is at a path of a tree.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FileAt {
    File(ObjectId),
    /// A partial clone lacks a tree on the way.
    Missing,
    Nothing,
}

/// Returns the file at `path` in `tree`; a tree that was looked into before, with `seen`, gives nothing.
pub(super) fn look_up(
    trees: &mut TreeCache<'_>,
    mut tree: ObjectId,
    path: &str,
    seen: &mut HashSet<(usize, ObjectId)>,
) -> Result<FileAt, Error> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    for (depth, part) in parts.iter().enumerate() {
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
