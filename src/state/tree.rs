//! Splicing documents into the applied tree: only the trees on the way to a change are read and written.

use std::collections::BTreeMap;

use git2::{ObjectType, Repository};

use super::error::Error;
use super::pack::{Kind, Object};
use super::reader;
use crate::model::{ObjectId, ToggleId};

/// The extensions a document may have; a toggle has one document, whichever its extension.
const FORMATS: [&str; 3] = ["yaml", "yml", "json"];

/// A toggle's document as it shall be: its extension and its blob, or none.
pub(crate) type Put = Option<(String, ObjectId)>;

/// The changed toggles of a project, by environment.
type Environments<'a> = BTreeMap<&'a str, Vec<(&'a str, &'a Put)>>;

/// Entries by name, folders with a slash behind: this is the order Git keeps them in.
type Entries = BTreeMap<Vec<u8>, (&'static str, ObjectId)>;

/// Returns the id of `base` with `changes` made, and the trees that are new.
pub(crate) fn splice(
    repository: &Repository,
    base: Option<ObjectId>,
    changes: &BTreeMap<ToggleId, Put>,
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

fn put_document(toggles: &mut Entries, toggle: &str, put: Option<&(String, ObjectId)>) {
    for format in FORMATS {
        toggles.remove(format!("{toggle}.{format}").as_bytes());
    }
    if let Some((format, object)) = put {
        toggles.insert(format!("{toggle}.{format}").into_bytes(), ("100644", *object));
    }
}

fn put_folder(parent: &mut Entries, name: &str, content: &Entries, new: &mut Vec<Object>) {
    let key = format!("{name}/").into_bytes();
    if content.is_empty() {
        parent.remove(&key);
    } else {
        let id = write(content, new);
        parent.insert(key, ("40000", id));
    }
}

fn folder(repository: &Repository, parent: &Entries, name: &str) -> Result<Entries, Error> {
    let folder = parent.get(format!("{name}/").as_bytes());
    entries(repository, folder.map(|(_, id)| *id))
}

fn entries(repository: &Repository, tree: Option<ObjectId>) -> Result<Entries, Error> {
    let Some(tree) = tree else {
        return Ok(Entries::new());
    };
    let broken = || {
        let error = git2::Error::from_str(&format!("tree {tree} is malformed"));
        Error::repository(repository.path())(error)
    };
    let bytes =
        reader::read(repository, tree, ObjectType::Tree).map_err(Error::repository(repository.path()))?;
    let mut entries = Entries::new();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let space = rest.iter().position(|byte| *byte == b' ').ok_or_else(broken)?;
        let end = rest.iter().position(|byte| *byte == 0).ok_or_else(broken)?;
        let id = rest.get(end + 1..end + 21).ok_or_else(broken)?;
        let mut name = rest.get(space + 1..end).ok_or_else(broken)?.to_vec();
        // State is written by gitoggle, which has two modes; whatever else somebody put there stays what it is.
        let mode = match &rest[..space] {
            b"40000" => "40000",
            b"100755" => "100755",
            b"120000" => "120000",
            b"160000" => "160000",
            _ => "100644",
        };
        if mode == "40000" {
            name.push(b'/');
        }
        entries.insert(
            name,
            (mode, ObjectId(id.try_into().expect("twenty bytes were taken"))),
        );
        rest = &rest[end + 21..];
    }
    Ok(entries)
}

fn write(entries: &Entries, new: &mut Vec<Object>) -> ObjectId {
    let mut bytes = Vec::with_capacity(entries.len() * 48);
    for (name, (mode, id)) in entries {
        bytes.extend_from_slice(mode.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name.strip_suffix(b"/").unwrap_or(name));
        bytes.push(0);
        bytes.extend_from_slice(&id.0);
    }
    let object = Object::new(Kind::Tree, bytes);
    let id = object.id;
    new.push(object);
    id
}
