//! Open repositories, kept for the next reader: opening one costs some fifty system calls, most of them for
//! configuration that nothing here uses.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use git2::Repository;

use super::repository::open_bare;

/// The handles on one repository. The last one that was dropped waits for the next reader.
pub struct RepositoryPool {
    folder: PathBuf,
    idle: Mutex<Option<Repository>>,
}

impl RepositoryPool {
    /// Prepares for the repository at exactly `folder`, which is that of its objects and refs.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        let idle = Mutex::new(None);
        Self { folder, idle }
    }

    /// Takes over `repository`, for those who need its objects.
    #[must_use]
    pub fn of(repository: Repository) -> Self {
        let folder = repository.commondir().to_owned();
        // That of a linked work tree ends with the work tree.
        let idle = Mutex::new((repository.path() == folder).then_some(repository));
        Self { folder, idle }
    }

    /// Returns the folder of the repository.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns a handle for the caller alone.
    ///
    /// # Errors
    /// When there is none and the repository cannot be opened.
    pub fn open(self: &Arc<Self>) -> Result<PooledRepository, git2::Error> {
        let waiting = self.idle().take();
        let repository = match waiting {
            Some(repository) => repository,
            None => open_bare(&self.folder)?,
        };
        Ok(PooledRepository {
            repository: Some(repository),
            home: Arc::clone(self),
        })
    }

    /// Closes the handle that waits.
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

/// One open repository, given back when it is dropped.
pub struct PooledRepository {
    repository: Option<Repository>,
    home: Arc<RepositoryPool>,
}

impl Deref for PooledRepository {
    type Target = Repository;

    fn deref(&self) -> &Repository {
        self.repository.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for PooledRepository {
    fn drop(&mut self) {
        *self.home.idle() = self.repository.take();
    }
}
