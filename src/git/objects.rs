//! Reads trees and blobs of a repository.

use std::fmt;
use std::sync::Arc;

use git2::{ObjectType, Odb, OdbLookupFlags, Repository};

use super::commit::oid;
use super::error::{ObjectError, ObjectFault};
use super::repository::{PooledRepository, RepositoryPool};
use crate::model::{Blob, ObjectId, Tree, Trees};

/// Reads the objects of one repository through its own handle. Each thread needs its own reader.
pub struct ObjectReader(PooledRepository);

impl ObjectReader {
    pub(crate) fn open(pool: &Arc<RepositoryPool>) -> Result<Self, ObjectError> {
        let folder = || pool.folder().to_owned();
        let repository =
            pool.open().map_err(|error| ObjectError { folder: folder(), fault: ObjectFault::Git(error) })?;
        Ok(Self::new(repository))
    }

    pub(crate) const fn new(repository: PooledRepository) -> Self {
        Self(repository)
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.0
    }

    fn error(&self, fault: ObjectFault) -> ObjectError {
        error(&self.0, fault)
    }

    fn odb(&self) -> Result<Odb<'_>, ObjectError> {
        self.0.odb().map_err(|error| self.error(error.into()))
    }
}

impl fmt::Debug for ObjectReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ObjectReader").field(&self.0.path()).finish()
    }
}

impl Trees for ObjectReader {
    type Error = ObjectError;

    fn tree(&self, id: ObjectId) -> Result<Tree, ObjectError> {
        tree(&self.0, id)
    }

    fn find_tree(&self, id: ObjectId) -> Option<Tree> {
        // A refresh would list the packs again for each missing tree.
        let exists = self.odb().is_ok_and(|odb| odb.exists_ext(oid(id), OdbLookupFlags::NO_REFRESH));
        exists.then(|| self.tree(id).ok()).flatten()
    }

    fn blob(&self, id: ObjectId, limit: usize) -> Result<Blob, ObjectError> {
        // The header comes first, so that a blob above the limit is never in memory (src/git/README.md,
        // "Repositories").
        let header = self.odb()?.read_header(oid(id));
        let (size, _) = header.map_err(|error| self.error(ObjectFault::of(id, error.into())))?;
        match size > limit {
            true => Ok(Blob::TooLarge(size as u64)),
            false => blob(&self.0, id).map(Blob::Content),
        }
    }
}

pub(crate) fn tree(repository: &Repository, id: ObjectId) -> Result<Tree, ObjectError> {
    let parse = |bytes: &[u8]| Tree::parse(bytes.to_vec()).map_err(|_| ObjectFault::Malformed(id));
    read(repository, id, ObjectType::Tree, parse).map_err(|fault| error(repository, fault))
}

pub(crate) fn blob(repository: &Repository, id: ObjectId) -> Result<Vec<u8>, ObjectError> {
    let bytes = read(repository, id, ObjectType::Blob, |bytes| Ok(bytes.to_vec()));
    bytes.map_err(|fault| error(repository, fault))
}

fn error(repository: &Repository, fault: ObjectFault) -> ObjectError {
    let folder = repository.path().to_owned();
    ObjectError { folder, fault }
}

/// Returns the result of `take` on the bytes of the object `id`, which must be of `kind`.
fn read<T>(
    repository: &Repository,
    id: ObjectId,
    kind: ObjectType,
    take: impl FnOnce(&[u8]) -> Result<T, ObjectFault>,
) -> Result<T, ObjectFault> {
    let odb = repository.odb()?;
    let object = odb.read(oid(id)).map_err(|error| ObjectFault::of(id, error.into()))?;
    match object.kind() == kind {
        true => take(object.data()),
        false => Err(ObjectFault::WrongType(id, kind.str())),
    }
}
