//! Reads trees and blobs, and translates between libgit2's object ids and ours.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use git2::{ObjectType, Odb, OdbLookupFlags, Repository};

use super::commit::oid;
use super::copies;
use super::error::{ObjectError, ObjectFault};
use super::pack::{ObjectKind, PackCopies};
use super::pool::{PooledRepository, RepositoryPool};
use super::unpack::Unpacker;
use crate::model::{Blob, ObjectId, StoredAt, Tree, Trees};

/// Reads the objects of one repository through its own handle. Each thread needs its own reader.
///
/// libgit2 reads the first objects, because a few are not worth opening the packs for. Then an unpacker reads those that it
/// can.
pub struct ObjectReader {
    repository: PooledRepository,
    /// The number of objects that libgit2 read before the packs were opened.
    count: Cell<usize>,
    unpacker: RefCell<Option<Unpacker>>,
}

impl ObjectReader {
    /// The number of objects that libgit2 reads before the packs are opened.
    const FEW: usize = 8;

    /// The most bytes of an object that is not read by libgit2. It bounds the memory that a damaged pack can ask for.
    const LARGEST: usize = 16 << 20;

    /// Opens the repository.
    ///
    /// # Errors
    /// If the repository cannot be opened.
    pub fn open(pool: &Arc<RepositoryPool>) -> Result<Self, ObjectError> {
        let folder = || pool.folder().to_owned();
        let repository =
            pool.open().map_err(|error| ObjectError { folder: folder(), fault: ObjectFault::Git(error) })?;
        Ok(Self::new(repository))
    }

    pub(crate) const fn new(repository: PooledRepository) -> Self {
        Self { repository, count: Cell::new(0), unpacker: RefCell::new(None) }
    }

    /// Returns the bytes of an object that is in a pack, if it is of that kind and not over the limit.
    fn packed(&self, id: ObjectId, kind: ObjectKind, limit: usize) -> Option<Arc<Vec<u8>>> {
        let found = self.with_unpacker(|unpacker| unpacker.read(id, limit));
        found.filter(|(found, _)| *found == kind).map(|(_, bytes)| bytes)
    }

    /// Takes the blobs that can be copied as they are packed out of `wanted`, which is sorted.
    pub(crate) fn take_copies(&self, wanted: &mut Vec<ObjectId>) -> PackCopies {
        copies::take(&self.repository.packs(), wanted)
    }

    fn with_unpacker<T>(&self, take: impl FnOnce(&mut Unpacker) -> Option<T>) -> Option<T> {
        if self.count.get() < Self::FEW {
            self.count.update(|count| count + 1);
            return None;
        }
        let mut unpacker = self.unpacker.borrow_mut();
        take(unpacker.get_or_insert_with(|| Unpacker::new(self.repository.packs())))
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
        f.debug_tuple("ObjectReader").field(&self.repository.path()).finish()
    }
}

impl Trees for ObjectReader {
    type Error = ObjectError;

    fn tree(&self, id: ObjectId) -> Result<Tree, ObjectError> {
        match self.packed(id, ObjectKind::Tree, Self::LARGEST) {
            Some(bytes) => Tree::parse(bytes).map_err(|_| self.error(ObjectFault::Malformed(id))),
            None => tree(&self.repository, id),
        }
    }

    fn find_tree(&self, id: ObjectId) -> Option<Tree> {
        if let Some(bytes) = self.packed(id, ObjectKind::Tree, Self::LARGEST) {
            return Tree::parse(bytes).ok();
        }
        // A refresh would list the packs again for each missing tree.
        let exists = self.odb().is_ok_and(|odb| odb.exists_ext(oid(id), OdbLookupFlags::NO_REFRESH));
        exists.then(|| self.tree(id).ok()).flatten()
    }

    fn blob(&self, id: ObjectId, limit: usize) -> Result<Blob, ObjectError> {
        if let Some(bytes) = self.packed(id, ObjectKind::Blob, limit) {
            return Ok(Blob::Content(bytes.to_vec()));
        }
        // The header comes first, so that a blob above the limit is never in memory (DESIGN section 2, *Limits*).
        let header = self.odb()?.read_header(oid(id));
        let (size, _) = header.map_err(|error| self.error(ObjectFault::of(id, error.into())))?;
        match size > limit {
            true => Ok(Blob::TooLarge(size as u64)),
            false => blob(&self.repository, id).map(Blob::Content),
        }
    }

    fn place(&self, id: ObjectId) -> Option<StoredAt> {
        self.count.set(Self::FEW);
        self.with_unpacker(|unpacker| unpacker.find(id))
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
