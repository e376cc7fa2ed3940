//! Searches through the whole history: for a removed file, for a version of a document, for a difference.
//!
//! A partial clone may lack the trees of old commits. Each search then gives the answer that is safe to act on.

use std::collections::{BTreeMap, HashSet};

use git2::Oid;

use super::Parents;
use super::error::Error;
use super::history::Node;
use super::reader::{Reader, object_id};
use super::trees::{At, TreeCache, folder, look_up};
use crate::model::{ObjectId, Sighting};

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
    for id in walk {
        let node = Node::read(
            reader,
            id.map_err(|error| reader.explain(object_id(start), error))?,
        )?;
        match file(&mut trees, node.tree, path)? {
            At::File(_) => continue,
            At::Missing => return Ok(None),
            At::Nothing => {}
        }
        for &parent in node.parents(parents) {
            match file(&mut trees, Node::read(reader, parent)?.tree, path)? {
                At::File(_) => return Ok(Some(node.id)),
                At::Missing => return Ok(None),
                At::Nothing => {}
            }
        }
    }
    Ok(None)
}

/// Returns what is at `path` in `tree`.
fn file(trees: &mut TreeCache<'_>, tree: ObjectId, path: &str) -> Result<At, Error> {
    look_up(trees, tree, path, &mut HashSet::new())
}

/// Returns the file at `path` (counted from the top) in the commit `start`.
pub(super) fn file_at(reader: &Reader, start: Oid, path: &str) -> Result<Option<ObjectId>, Error> {
    let tree = Node::read(reader, start)?.tree;
    Ok(match file(&mut TreeCache::new(reader), tree, path)? {
        At::File(id) => Some(id),
        At::Missing | At::Nothing => None,
    })
}

/// Returns whether `object` is at `path` (counted from the top) in any commit of the history of `start`.
pub(super) fn sighting(reader: &Reader, start: Oid, path: &str, object: ObjectId) -> Result<Sighting, Error> {
    let mut walk = reader.repository().revwalk()?;
    walk.push(start)?;
    let mut trees = TreeCache::new(reader);
    let mut seen = HashSet::new();
    let mut unseen = match reader.repository().is_shallow() {
        true => Sighting::CannotTell,
        false => Sighting::Nowhere,
    };
    for id in walk {
        let id = id.map_err(|error| reader.explain(object_id(start), error))?;
        match look_up(&mut trees, Node::read(reader, id)?.tree, path, &mut seen)? {
            At::File(found) if found == object => return Ok(Sighting::Found),
            At::Missing => unseen = Sighting::CannotTell,
            At::File(_) | At::Nothing => {}
        }
    }
    Ok(unseen)
}

/// Returns whether `since`, or a commit that leads from there to `start`, has other folders under `root` than `start` has, or
/// may have, because a partial clone lacks them.
pub(super) fn differed_since(reader: &Reader, start: Oid, since: Oid, root: &str) -> Result<bool, Error> {
    let mut walk = reader.repository().revwalk()?;
    walk.push(start)?;
    walk.hide(since)?;
    let mut trees = TreeCache::new(reader);
    let mut now = None;
    for id in walk.chain([Ok(since)]) {
        let id = id.map_err(|error| reader.explain(object_id(start), error))?;
        let Some(then) = folders(&mut trees, Node::read(reader, id)?.tree, root)? else {
            return Ok(true);
        };
        if *now.get_or_insert_with(|| then.clone()) != then {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The folders under `root` that may hold documents, by name; none where there is no such root, and nothing where a
/// partial clone lacks it.
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
    let shown = tree
        .folders()
        .filter(|entry| !matches!(entry.name.first(), Some(b'.' | b'_')));
    Ok(Some(shown.map(|entry| (entry.name.to_vec(), entry.id)).collect()))
}
