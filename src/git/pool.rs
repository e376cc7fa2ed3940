//! Keeps open repositories for the next readers, because opening one costs some fifty system calls, most of them for
//! configuration that this crate does not use.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use git2::Repository;
use tempfile::TempDir;

use super::error::Libgit2Error;
use super::repository::open_bare;

/// The handles of one repository. Keeps a few idle handles.
pub struct RepositoryPool {
    folder: PathBuf,
    idle: Mutex<Vec<Repository>>,
    /// Last, so that the files are closed before the folder is removed.
    _temporary: Option<Arc<TempDir>>,
}

impl RepositoryPool {
    /// The number of idle handles: a comparison reads both of its sides through one each.
    const MOST_IDLE: usize = 2;

    /// Creates an empty pool for the repository whose objects and refs are in exactly `folder`.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, idle: Mutex::default(), _temporary: None }
    }

    /// Keeps the temporary folder of the repository on disk for as long as anything reads it.
    pub fn within(self, temporary: Option<Arc<TempDir>>) -> Self {
        Self { _temporary: temporary, ..self }
    }

    /// Creates a pool with the handle `repository`.
    pub fn of(repository: Repository) -> Self {
        let folder = repository.commondir().to_owned();
        // The handle of a linked work tree becomes unusable when the work tree is removed.
        let idle = (repository.path() == folder).then_some(repository);
        Self { idle: Mutex::new(idle.into_iter().collect()), ..Self::new(folder) }
    }

    /// Returns the folder of the objects and refs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns an idle handle, or opens the repository.
    ///
    /// # Errors
    /// If the repository cannot be opened.
    pub fn open(self: &Arc<Self>) -> Result<PooledRepository, Libgit2Error> {
        // A separate statement, so that the lock is not held while the repository is opened.
        let idle = self.idle().pop();
        let repository = match idle {
            Some(repository) => repository,
            None => open_bare(&self.folder)?,
        };
        Ok(PooledRepository { repository: Some(repository), pool: Arc::clone(self) })
    }

    /// Closes the idle handles.
    pub fn close(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Repository>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RepositoryPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RepositoryPool").field(&self.folder).finish()
    }
}

/// An open repository that returns to its pool when it is dropped.
pub struct PooledRepository {
    repository: Option<Repository>,
    pool: Arc<RepositoryPool>,
}

impl Deref for PooledRepository {
    type Target = Repository;

    fn deref(&self) -> &Repository {
        self.repository.as_ref().expect("the handle is present until the drop")
    }
}

impl Drop for PooledRepository {
    fn drop(&mut self) {
        let mut idle = self.pool.idle();
        if idle.len() < RepositoryPool::MOST_IDLE {
            idle.extend(self.repository.take());
        }
    }
}
