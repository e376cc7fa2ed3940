//! Reads trees and blobs of one repository, and remembers the trees.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::error::{Error, cannot_open};
use super::place::Place;
use crate::git::{ObjectError, ObjectFault, ObjectReader, Repository, RepositoryPool};
use crate::model::{Blob, ObjectId, Tree, Trees};

/// What the readers of one snapshot share: open repositories, and trees that one of them has read. Contended only for
/// a lookup at a time.
#[derive(Debug)]
pub(super) struct Memory {
    pool: Arc<RepositoryPool>,
    trees: Mutex<HashMap<ObjectId, Tree>>,
    /// The path to look at again after an error; nothing for a mirror.
    place: Option<Place>,
}

impl Memory {
    /// How many trees are kept: a plan of some changes reads few, and one of all of them gains nothing.
    const MOST: usize = 512;

    pub(super) fn new(pool: RepositoryPool, place: Option<Place>) -> Self {
        Self {
            pool: Arc::new(pool),
            trees: Mutex::default(),
            place,
        }
    }

    fn recall(&self, id: ObjectId) -> Option<Tree> {
        let trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        trees.get(&id).cloned()
    }

    fn keep(&self, id: ObjectId, tree: &Tree) {
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        if trees.len() < Self::MOST {
            trees.insert(id, tree.clone());
        }
    }
}

/// Reads the objects of a snapshot: each thread needs its own reader.
#[derive(Debug)]
pub struct Reader {
    objects: ObjectReader,
    memory: Arc<Memory>,
}

impl Reader {
    pub(super) fn open(memory: Arc<Memory>) -> Result<Self, Error> {
        // Objects need neither the work tree nor its link, either of which may be swapped meanwhile.
        let folder = memory.pool.folder();
        let objects = memory.pool.open().map_err(|error| match &memory.place {
            _ if !folder.exists() => Error::Vanished(folder.to_owned()),
            Some(place) => place.explain(cannot_open(folder, error)),
            None => cannot_open(folder, error),
        })?;
        Ok(Self {
            objects: ObjectReader::new(objects),
            memory,
        })
    }

    /// Returns the folder that holds the objects: where it is gone, the repository vanished.
    fn folder(&self) -> &Path {
        self.memory.pool.folder()
    }

    pub(super) fn repository(&self) -> &Repository {
        self.objects.repository()
    }

    /// Returns whether the repository is a partial clone.
    pub(super) fn is_partial(&self) -> bool {
        is_partial(self.folder())
    }

    /// Returns why `id` could not be read: vanished, a partial clone, or damage.
    pub(super) fn missing(&self, id: ObjectId, error: git2::Error) -> Error {
        self.fault(ObjectFault::of(id, error))
    }

    fn fault(&self, fault: ObjectFault) -> Error {
        self.explain(match fault {
            ObjectFault::Missing(id) if self.is_partial() => Error::PartialClone(id),
            fault => fault.into(),
        })
    }

    /// Returns what `error` is a sign of: the repository may be gone, or another one may have taken its place.
    pub(super) fn explain(&self, error: Error) -> Error {
        match (self.folder().join("objects").exists(), &self.memory.place) {
            (false, _) => Error::Vanished(self.folder().to_owned()),
            (true, Some(place)) => place.explain(error),
            (true, None) => error,
        }
    }
}

impl Trees for Reader {
    type Error = Error;

    fn tree(&self, id: ObjectId) -> Result<Tree, Error> {
        if let Some(tree) = self.memory.recall(id) {
            return Ok(tree);
        }
        let tree = self.objects.tree(id).map_err(|error| self.fault(error.fault))?;
        self.memory.keep(id, &tree);
        Ok(tree)
    }

    fn find_tree(&self, id: ObjectId) -> Option<Tree> {
        self.memory.recall(id).or_else(|| {
            let tree = self.objects.find_tree(id)?;
            self.memory.keep(id, &tree);
            Some(tree)
        })
    }

    fn blob(&self, id: ObjectId, limit: usize) -> Result<Blob, Error> {
        match self.objects.blob(id, limit) {
            Ok(blob) => Ok(blob),
            Err(ObjectError { fault, .. }) => match self.fault(fault) {
                Error::PartialClone(_) => Ok(Blob::Missing),
                error => Err(error),
            },
        }
    }
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
