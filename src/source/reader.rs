//! Reading trees and blobs of one repository.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use git2::{ObjectType, OdbLookupFlags, Oid, Repository};

use super::error::{Error, cannot_open};
use super::place::Place;
use crate::git::{Handle, Handles};
use crate::model::{Blob, ObjectId, Tree, Trees};

/// What the readers of one snapshot share: open repositories, and trees that one of them has read. Contended only for
/// a look-up at a time.
#[derive(Debug)]
pub(super) struct Memory {
    handles: Arc<Handles>,
    trees: Mutex<HashMap<ObjectId, Tree>>,
    /// The path to look at again after an error; nothing for a mirror.
    place: Option<Place>,
}

impl Memory {
    /// How many trees are kept: a plan of some changes reads few, and one of all of them gains nothing.
    const MOST: usize = 512;

    pub(super) fn new(handles: Handles) -> Self {
        Self {
            handles: Arc::new(handles),
            trees: Mutex::default(),
            place: None,
        }
    }

    /// As [`Memory::new`], for a repository at a path.
    pub(super) fn of(handles: Handles, place: Place) -> Self {
        Self {
            place: Some(place),
            ..Self::new(handles)
        }
    }

    /// Returns what `error` is a sign of.
    fn explain(&self, error: Error) -> Error {
        match &self.place {
            Some(place) => place.explain(error),
            None => error,
        }
    }

    fn recall(&self, id: ObjectId) -> Option<Tree> {
        self.trees
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&id)
            .cloned()
    }

    fn keep(&self, id: ObjectId, tree: &Tree) {
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        if trees.len() < Self::MOST {
            trees.insert(id, tree.clone());
        }
    }
}

/// Read access to a snapshot's objects, through a handle of its own: one per thread.
pub struct Reader {
    repository: Handle,
    memory: Arc<Memory>,
}

impl Reader {
    pub(super) fn open(memory: Arc<Memory>) -> Result<Self, Error> {
        // Objects need neither the work tree nor its link, either of which may be swapped meanwhile.
        let folder = memory.handles.folder();
        let repository = memory.handles.open().map_err(|error| match folder.exists() {
            true => memory.explain(cannot_open(folder, error)),
            false => Error::Vanished(folder.to_owned()),
        })?;
        Ok(Self { repository, memory })
    }

    /// Returns the folder that holds the objects: where it is gone, the repository vanished.
    fn folder(&self) -> &Path {
        self.memory.handles.folder()
    }

    fn odb(&self, wanted: ObjectId) -> Result<git2::Odb<'_>, Error> {
        self.repository.odb().map_err(|error| self.explain(wanted, error))
    }

    pub(super) fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Returns what `take` makes of the bytes of `id`, which must be of `kind`.
    fn object<T>(
        &self,
        id: ObjectId,
        kind: ObjectType,
        take: impl FnOnce(&[u8]) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let oid = oid(id)?;
        let odb = self.odb(id)?;
        let object = odb.read(oid).map_err(|error| self.explain(id, error))?;
        if object.kind() != kind {
            return Err(self.memory.explain(Error::WrongType(id, kind.str())));
        }
        take(object.data()).map_err(|error| self.memory.explain(error))
    }

    /// Returns whether the repository is a partial clone.
    pub(super) fn is_partial(&self) -> bool {
        is_partial(self.folder())
    }

    /// Says why `id` could not be read: vanished, a partial clone, or damage.
    pub(super) fn explain(&self, id: ObjectId, error: git2::Error) -> Error {
        if !self.folder().join("objects").exists() {
            return Error::Vanished(self.folder().to_owned());
        }
        self.memory.explain(match error.code() {
            git2::ErrorCode::NotFound if is_partial(self.folder()) => Error::PartialClone(id),
            git2::ErrorCode::NotFound => Error::MissingObject(id),
            _ => error.into(),
        })
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("folder", &self.folder())
            .finish_non_exhaustive()
    }
}

impl Trees for Reader {
    type Error = Error;

    fn tree(&self, id: ObjectId) -> Result<Tree, Error> {
        if let Some(tree) = self.memory.recall(id) {
            return Ok(tree);
        }
        let tree = self.object(id, ObjectType::Tree, |bytes| {
            Tree::parse(bytes).map_err(|_| Error::MalformedTree(id))
        })?;
        self.memory.keep(id, &tree);
        Ok(tree)
    }

    fn find_tree(&self, id: ObjectId) -> Option<Tree> {
        // Asked without a refresh, which would list the packs again for each tree that is not here.
        let here = |id| -> Result<bool, Error> {
            let odb = self.odb(id)?;
            Ok(odb.exists_ext(oid(id)?, OdbLookupFlags::NO_REFRESH))
        };
        match self.memory.recall(id) {
            Some(tree) => Some(tree),
            None if here(id).unwrap_or_default() => self.tree(id).ok(),
            None => None,
        }
    }

    fn blob(&self, blob: ObjectId, limit: usize) -> Result<Blob, Error> {
        let header = self.odb(blob)?.read_header(oid(blob)?);
        let (size, _) = match header.map_err(|error| self.explain(blob, error)) {
            Ok(header) => header,
            Err(Error::PartialClone(_)) => return Ok(Blob::Missing),
            Err(error) => return Err(error),
        };
        if size > limit {
            return Ok(Blob::TooLarge(size as u64));
        }
        self.object(blob, ObjectType::Blob, |bytes| Ok(Blob::Content(bytes.to_vec())))
    }
}

pub(super) fn oid(id: ObjectId) -> Result<Oid, Error> {
    Ok(Oid::from_bytes(&id.0)?)
}

pub(super) fn object_id(oid: Oid) -> ObjectId {
    let mut id = [0; 20];
    id.copy_from_slice(&oid.as_bytes()[..20]);
    ObjectId(id)
}

/// Git marks the packs of a partial clone with a file beside them.
fn is_partial(folder: &Path) -> bool {
    let packs = std::fs::read_dir(folder.join("objects/pack"));
    packs.is_ok_and(|packs| {
        packs.flatten().any(|file| {
            file.path()
                .extension()
                .is_some_and(|extension| extension == "promisor")
        })
    })
}
