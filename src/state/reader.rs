//! Reading what was applied: the trees and blobs of `state.git`.

use std::path::{Path, PathBuf};

use git2::{ObjectType, Repository};

use super::error::Error;
use super::repository::{self, oid};
use crate::model::tree::Entries;
use crate::model::{Blob, Entry, ObjectId, Trees};

/// Read access to the state's objects, through a handle of its own: one per thread.
pub struct Reader {
    path: PathBuf,
    repository: Repository,
}

impl Reader {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self {
            path: path.to_owned(),
            repository: repository::open(path)?,
        })
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Returns the bytes of the object `id`, which must be of `kind`.
    pub(crate) fn bytes(&self, id: ObjectId, kind: ObjectType) -> Result<Vec<u8>, Error> {
        read(&self.repository, id, kind).map_err(Error::repository(&self.path))
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

pub(crate) fn read(repository: &Repository, id: ObjectId, kind: ObjectType) -> Result<Vec<u8>, git2::Error> {
    let odb = repository.odb()?;
    let object = odb.read(oid(id)?)?;
    if object.kind() != kind {
        return Err(git2::Error::from_str(&format!(
            "object {id} is no {}",
            kind.str()
        )));
    }
    Ok(object.data().to_vec())
}

impl Trees for Reader {
    type Error = Error;

    fn entries(&self, tree: ObjectId) -> Result<Vec<Entry>, Error> {
        let bytes = self.bytes(tree, ObjectType::Tree)?;
        let entries = Entries::new(&bytes).map(|entry| entry.map(|entry| entry.owned()));
        let malformed = |_| {
            let error = git2::Error::from_str(&format!("the tree {tree} is malformed"));
            Error::repository(&self.path)(error)
        };
        entries.collect::<Result<_, _>>().map_err(malformed)
    }

    fn blob(&self, blob: ObjectId, limit: usize) -> Result<Blob, Error> {
        let header = self.repository.odb().and_then(|odb| odb.read_header(oid(blob)?));
        let (size, _) = header.map_err(Error::repository(&self.path))?;
        if size > limit {
            return Ok(Blob::TooLarge(size as u64));
        }
        self.bytes(blob, ObjectType::Blob).map(Blob::Content)
    }
}
