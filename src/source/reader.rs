//! Reading trees and blobs of one repository.

use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid, Repository, RepositoryOpenFlags};

use super::error::{Error, cannot_open};
use super::tree::Entries;
use crate::model::{Blob, Entry, ObjectId, Trees};

/// Read access to a snapshot's objects, through a handle of its own: one per thread.
pub struct Reader {
    repository: Repository,
    /// The folder that holds the objects: where it is gone, the repository vanished.
    folder: PathBuf,
}

impl Reader {
    pub(super) fn open(folder: &Path) -> Result<Self, Error> {
        // Objects need neither the work tree nor its link, either of which may be swapped meanwhile.
        let flags = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::BARE;
        let none: [&str; 0] = [];
        let repository =
            Repository::open_ext(folder, flags, none).map_err(|error| match folder.exists() {
                true => cannot_open(folder, error),
                false => Error::Vanished(folder.to_owned()),
            })?;
        Ok(Self {
            repository,
            folder: folder.to_owned(),
        })
    }

    fn odb(&self, wanted: ObjectId) -> Result<git2::Odb<'_>, Error> {
        self.repository.odb().map_err(|error| self.explain(wanted, error))
    }

    pub(super) const fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Returns the bytes of `id`, which must be of `kind`.
    pub(super) fn object<T: for<'a> From<&'a [u8]>>(
        &self,
        id: ObjectId,
        kind: ObjectType,
    ) -> Result<T, Error> {
        let oid = oid(id)?;
        let odb = self.odb(id)?;
        let object = odb.read(oid).map_err(|error| self.explain(id, error))?;
        if object.kind() != kind {
            return Err(Error::WrongType(id, kind.str()));
        }
        Ok(T::from(object.data()))
    }

    /// Says why `id` could not be read: vanished, a partial clone, or damage.
    pub(super) fn explain(&self, id: ObjectId, error: git2::Error) -> Error {
        if !self.folder.join("objects").exists() {
            return Error::Vanished(self.folder.clone());
        }
        match error.code() {
            git2::ErrorCode::NotFound if is_partial(&self.folder) => Error::PartialClone(id),
            git2::ErrorCode::NotFound => Error::MissingObject(id),
            _ => error.into(),
        }
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Trees for Reader {
    type Error = Error;

    fn entries(&self, tree: ObjectId) -> Result<Vec<Entry>, Error> {
        let bytes: Vec<u8> = self.object(tree, ObjectType::Tree)?;
        Entries::new(&bytes)
            .map(|entry| {
                entry
                    .map(|entry| entry.owned())
                    .map_err(|_| Error::MalformedTree(tree))
            })
            .collect()
    }

    fn blob(&self, blob: ObjectId, limit: usize) -> Result<Blob, Error> {
        let header = self.odb(blob)?.read_header(oid(blob)?);
        let (size, _) = header.map_err(|error| self.explain(blob, error))?;
        if size > limit {
            return Ok(Blob::TooLarge(size as u64));
        }
        self.object(blob, ObjectType::Blob).map(Blob::Content)
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
