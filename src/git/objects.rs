//! Reads trees and blobs, and translates between libgit2's object ids and ours.

use std::path::PathBuf;
use std::sync::Arc;

use git2::{ErrorCode, ObjectType, Odb, OdbLookupFlags, Oid, Repository};

use super::{Libgit2Error, PooledRepository, RepositoryPool};
use crate::model::{Blob, ObjectId, Tree, Trees};

/// Why an object could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the repository `{}` cannot be read", .folder.display())]
pub struct ObjectError {
    /// The folder of the repository.
    pub folder: PathBuf,
    /// What is wrong.
    #[source]
    pub fault: ObjectFault,
}

/// What is wrong with a repository, or with one of its objects.
#[derive(Debug, thiserror::Error)]
pub enum ObjectFault {
    /// libgit2 cannot read the repository.
    #[error(transparent)]
    Git(Libgit2Error),
    /// A tree breaks Git's format.
    #[error("the tree {0} is malformed")]
    Malformed(ObjectId),
    /// The object is not there.
    #[error("the object {0} is missing")]
    Missing(ObjectId),
    /// The object has another type than the one it is used as.
    #[error("the object {0} is not a {1}")]
    WrongType(ObjectId, &'static str),
}

impl ObjectFault {
    /// Returns the fault that an error of libgit2 about the object `id` means.
    pub(crate) fn of(id: ObjectId, error: git2::Error) -> Self {
        match error.code() {
            ErrorCode::NotFound => Self::Missing(id),
            _ => error.into(),
        }
    }
}

impl From<git2::Error> for ObjectFault {
    fn from(error: git2::Error) -> Self {
        Self::Git(Libgit2Error(error))
    }
}

/// Reads the objects of one repository through a handle of its own: each thread needs its own reader.
pub struct ObjectReader {
    repository: PooledRepository,
}

impl ObjectReader {
    /// Opens the repository.
    ///
    /// # Errors
    /// If the repository cannot be opened.
    pub fn open(pool: &Arc<RepositoryPool>) -> Result<Self, ObjectError> {
        let folder = || pool.folder().to_owned();
        let repository = pool.open().map_err(|error| ObjectError {
            folder: folder(),
            fault: error.into(),
        })?;
        Ok(Self::new(repository))
    }

    pub(crate) const fn new(repository: PooledRepository) -> Self {
        Self { repository }
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.repository
    }

    fn error(&self, fault: ObjectFault) -> ObjectError {
        error(&self.repository, fault)
    }

    fn odb(&self) -> Result<Odb<'_>, ObjectError> {
        self.repository.odb().map_err(|error| self.error(error.into()))
    }
}

impl std::fmt::Debug for ObjectReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ObjectReader")
            .field(&self.repository.path())
            .finish()
    }
}

impl Trees for ObjectReader {
    type Error = ObjectError;

    fn tree(&self, id: ObjectId) -> Result<Tree, ObjectError> {
        tree(&self.repository, id)
    }

    fn find_tree(&self, id: ObjectId) -> Option<Tree> {
        // A refresh would list the packs again for each tree that is not here.
        let exists = self
            .odb()
            .is_ok_and(|odb| odb.exists_ext(oid(id), OdbLookupFlags::NO_REFRESH));
        exists.then(|| self.tree(id).ok()).flatten()
    }

    fn blob(&self, id: ObjectId, limit: usize) -> Result<Blob, ObjectError> {
        let header = self.odb()?.read_header(oid(id));
        let (size, _) = header.map_err(|error| self.error(ObjectFault::of(id, error)))?;
        match size > limit {
            true => Ok(Blob::TooLarge(size as u64)),
            false => blob(&self.repository, id).map(Blob::Content),
        }
    }
}

/// Returns the tree `id`.
pub(crate) fn tree(repository: &Repository, id: ObjectId) -> Result<Tree, ObjectError> {
    let parse = |bytes: &[u8]| Tree::parse(bytes).map_err(|_| ObjectFault::Malformed(id));
    read(repository, id, ObjectType::Tree, parse).map_err(|fault| error(repository, fault))
}

/// Returns the bytes of the blob `id`.
pub(crate) fn blob(repository: &Repository, id: ObjectId) -> Result<Vec<u8>, ObjectError> {
    let bytes = read(repository, id, ObjectType::Blob, |bytes| Ok(bytes.to_vec()));
    bytes.map_err(|fault| error(repository, fault))
}

fn error(repository: &Repository, fault: ObjectFault) -> ObjectError {
    let folder = repository.path().to_owned();
    ObjectError { folder, fault }
}

/// Returns what `take` makes of the bytes of the object `id`, which must be of `kind`.
fn read<T>(
    repository: &Repository,
    id: ObjectId,
    kind: ObjectType,
    take: impl FnOnce(&[u8]) -> Result<T, ObjectFault>,
) -> Result<T, ObjectFault> {
    let odb = repository.odb()?;
    let object = odb.read(oid(id)).map_err(|error| ObjectFault::of(id, error))?;
    match object.kind() == kind {
        true => take(object.data()),
        false => Err(ObjectFault::WrongType(id, kind.str())),
    }
}

pub(crate) fn oid(id: ObjectId) -> Oid {
    Oid::from_bytes(&id.0).expect("an id has 20 bytes")
}

pub(crate) fn object_id(oid: Oid) -> ObjectId {
    let mut id = [0; 20];
    id.copy_from_slice(&oid.as_bytes()[..20]);
    ObjectId(id)
}
