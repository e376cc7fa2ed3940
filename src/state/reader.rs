//! Reading what was applied: the trees and blobs of `state.git`.

use std::path::PathBuf;
use std::sync::Arc;

use git2::{ObjectType, Repository};

use super::error::Error;
use super::repository::oid;
use crate::git::{Handle, Handles};
use crate::model::{Blob, ObjectId, Tree, Trees};

/// Read access to the state's objects, through a handle of its own: one per thread.
pub struct Reader {
    path: PathBuf,
    repository: Handle,
}

impl Reader {
    pub(crate) fn open(handles: &Arc<Handles>) -> Result<Self, Error> {
        let path = handles.folder().to_owned();
        let repository = handles.open().map_err(Error::repository(&path))?;
        Ok(Self { path, repository })
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

pub(crate) fn tree(repository: &Repository, id: ObjectId) -> Result<Tree, git2::Error> {
    let bytes = read(repository, id, ObjectType::Tree)?;
    Tree::parse(&bytes).map_err(|_| git2::Error::from_str(&format!("the tree {id} is malformed")))
}

impl Trees for Reader {
    type Error = Error;

    fn tree(&self, id: ObjectId) -> Result<Tree, Error> {
        tree(&self.repository, id).map_err(Error::repository(&self.path))
    }

    fn find_tree(&self, id: ObjectId) -> Option<Tree> {
        self.tree(id).ok()
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
