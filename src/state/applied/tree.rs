//! Splices documents into the applied tree. Reads and writes only the trees on the path to a change.

use std::collections::BTreeMap;

use git2::Repository;

use super::edit::RecordedChange;
use crate::git;
use crate::git::pack::{Object, ObjectKind};
use crate::model::{EntryKind, Format, ObjectId, ToggleId, Tree, TreeEntry};
use crate::state::Error;

/// Entries by name, folders with a trailing slash, which is the order of a Git tree.
type TreeEntries = BTreeMap<Vec<u8>, (u32, ObjectId)>;

/// Applies sorted `changes` to the tree `base`. Returns the id of the new tree and the new objects.
pub(crate) fn splice(
    repository: &Repository,
    base: Option<ObjectId>,
    changes: &[(ToggleId, RecordedChange)],
) -> Result<(ObjectId, Vec<Object>), Error> {
    let mut new = Vec::new();
    let mut root = entries(repository, base)?;
    for changes in changes.chunk_by(|(a, _), (b, _)| a.project() == b.project()) {
        let project = changes[0].0.project();
        let mut environments = folder(repository, &root, project)?;
        for changes in changes.chunk_by(|(a, _), (b, _)| a.environment_key() == b.environment_key()) {
            let environment = changes[0].0.environment_key();
            let mut toggles = folder(repository, &environments, environment)?;
            put_documents(&mut toggles, changes);
            put_folder(&mut environments, environment, &toggles, &mut new);
        }
        put_folder(&mut root, project, &environments, &mut new);
    }
    let root = write(&root, &mut new);
    Ok((root, new))
}

fn put_documents(toggles: &mut TreeEntries, changes: &[(ToggleId, RecordedChange)]) {
    let name = |id: &ToggleId, format: Format| [id.toggle(), ".", format.as_str()].concat().into_bytes();
    // The folder is new in a first pass.
    if !toggles.is_empty() {
        for (id, _) in changes {
            // The extension may have changed, and a toggle has only one document.
            for format in Format::ALL {
                toggles.remove(&name(id, format));
            }
        }
    }
    let documents = changes.iter().filter_map(|(id, change)| {
        let (format, object) = change.document?;
        Some((name(id, format), (TreeEntry::file(b"", object).mode, object)))
    });
    toggles.append(&mut documents.collect());
}

fn put_folder(parent: &mut TreeEntries, name: &str, content: &TreeEntries, new: &mut Vec<Object>) {
    let key = format!("{name}/").into_bytes();
    if content.is_empty() {
        // As in a work tree, a folder without documents does not exist.
        parent.remove(&key);
    } else {
        let id = write(content, new);
        parent.insert(key, (TreeEntry::folder(b"", id).mode, id));
    }
}

fn folder(repository: &Repository, parent: &TreeEntries, name: &str) -> Result<TreeEntries, Error> {
    let folder = parent.get(format!("{name}/").as_bytes());
    entries(repository, folder.map(|(_, id)| *id))
}

fn entries(repository: &Repository, tree: Option<ObjectId>) -> Result<TreeEntries, Error> {
    let Some(tree) = tree else {
        return Ok(TreeEntries::new());
    };
    let tree = git::tree(repository, tree)?;
    // gitoggle writes two modes. Entries that another program wrote stay unchanged.
    let entries = tree.entries().map(|entry| match entry.kind() {
        EntryKind::Tree => ([entry.name, b"/"].concat(), (entry.mode, entry.id)),
        EntryKind::Blob | EntryKind::Other => (entry.name.to_vec(), (entry.mode, entry.id)),
    });
    Ok(entries.collect())
}

fn write(entries: &TreeEntries, new: &mut Vec<Object>) -> ObjectId {
    let tree = Tree::of(entries.iter().map(|(name, (mode, id))| TreeEntry {
        mode: *mode,
        name: name.strip_suffix(b"/").unwrap_or(name),
        id: *id,
    }));
    let object = Object::new(ObjectKind::Tree, tree.bytes().to_vec());
    let id = object.id;
    new.push(object);
    id
}
