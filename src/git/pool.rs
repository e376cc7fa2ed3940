//! Keeps an open repository for the next reader, because opening one costs some fifty system calls, most of them for
//! configuration that this crate does not use.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use git2::Repository;

use super::repository::open_bare;

/// The handles of one repository. Keeps the handle that was dropped last.
pub struct RepositoryPool {
    folder: PathBuf,
    idle: Mutex<Option<Repository>>,
}

impl RepositoryPool {
    /// Creates an empty pool for the repository whose objects and refs are in exactly `folder`.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        let idle = Mutex::new(None);
        Self { folder, idle }
    }

    /// Creates a pool with the handle `repository`.
    #[must_use]
    pub fn of(repository: Repository) -> Self {
        let folder = repository.commondir().to_owned();
        // The handle of a linked work tree becomes unusable when the work tree is removed.
        let idle = Mutex::new((repository.path() == folder).then_some(repository));
        Self { folder, idle }
    }

    /// Returns the folder of the objects and refs.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the idle handle, or opens the repository.
    ///
    /// # Errors
    /// If the repository cannot be opened.
    pub fn open(self: &Arc<Self>) -> Result<PooledRepository, git2::Error> {
        // A separate statement, so that the lock is not held while the repository is opened.
        let idle = self.idle().take();
        let repository = match idle {
            Some(repository) => repository,
            None => open_bare(&self.folder)?,
        };
        Ok(PooledRepository {
            repository: Some(repository),
            pool: Arc::clone(self),
        })
    }

    /// Closes the idle handle.
    pub fn close(&self) {
        *self.idle() = None;
    }

    fn idle(&self) -> MutexGuard<'_, Option<Repository>> {
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
        self.repository
            .as_ref()
            .expect("the handle is present until the drop")
    }
}

impl Drop for PooledRepository {
    fn drop(&mut self) {
        *self.pool.idle() = self.repository.take();
    }
}
