//! Splices documents into the applied tree. Reads and writes only the trees on the path to a change.

use std::collections::BTreeMap;

use git2::Repository;

use crate::git;
use crate::git::pack::{Object, ObjectKind};
use crate::model::{EntryKind, Format, ObjectId, ToggleId, Tree, TreeEntry};
use crate::state::Error;

/// The new document of a toggle: its extension and its blob, or none.
pub(crate) type DocumentEntry = Option<(Format, ObjectId)>;

/// The changed toggles of a project, by environment.
type Environments<'a> = BTreeMap<&'a str, Vec<(&'a str, &'a DocumentEntry)>>;

/// Entries by name, folders with a trailing slash, which is the order of a Git tree.
type TreeEntries = BTreeMap<Vec<u8>, (u32, ObjectId)>;

/// Applies `changes` to the tree `base`. Returns the id of the new tree and the new objects.
pub(crate) fn splice(
    repository: &Repository,
    base: Option<ObjectId>,
    changes: &BTreeMap<ToggleId, DocumentEntry>,
) -> Result<(ObjectId, Vec<Object>), Error> {
    let mut new = Vec::new();
    let mut nested: BTreeMap<&str, Environments<'_>> = BTreeMap::new();
    for (id, put) in changes {
        let environments = nested.entry(id.project()).or_default();
        environments
            .entry(id.environment_key())
            .or_default()
            .push((id.toggle(), put));
    }
    let mut root = entries(repository, base)?;
    for (project, changes) in nested {
        let mut environments = folder(repository, &root, project)?;
        for (environment, changes) in changes {
            let mut toggles = folder(repository, &environments, environment)?;
            for (toggle, put) in changes {
                put_document(&mut toggles, toggle, put.as_ref());
            }
            put_folder(&mut environments, environment, &toggles, &mut new);
        }
        put_folder(&mut root, project, &environments, &mut new);
    }
    let root = write(&root, &mut new);
    Ok((root, new))
}

fn put_document(toggles: &mut TreeEntries, toggle: &str, put: Option<&(Format, ObjectId)>) {
    // The extension may have changed, and a toggle has only one document.
    for format in Format::ALL {
        toggles.remove(format!("{toggle}.{}", format.as_str()).as_bytes());
    }
    if let Some((format, object)) = put {
        toggles.insert(
            format!("{toggle}.{}", format.as_str()).into_bytes(),
            (TreeEntry::file(b"", *object).mode, *object),
        );
    }
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
