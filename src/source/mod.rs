//! Reads documents from a Git repository at a path or behind a URL, one commit at a time.
//!
//! A repository at a path is opened in place, and never written or fetched into. A repository behind a URL is mirrored to
//! a folder that is only a cache. Uncommitted files are ignored. Reftable, SHA-256, and partial clones are refused, each
//! with its reason, and nothing in a repository's configuration is executed.
//!
//! Invariant: a [`Snapshot`] never changes, even if its ref moves.

mod error;
mod history;
mod mirror;
mod place;
mod reader;
mod revisions;
mod search;
mod snapshot;
pub mod watch;
pub mod worktree;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use error::{Error, ErrorKind, HeadKind};
pub use place::{FetchProblem, Fetched};
pub use reader::Reader;
pub use revisions::{NamedCommit, RevisionError, RevisionLookup};
pub use snapshot::{Relation, Snapshot, subjects};
pub use worktree::uncommitted;

/// The parents of a merge that the search for the commit of a change follows.
pub use crate::git::Parents;

use place::RepositoryPlace;
use reader::ReaderCache;

use crate::git::{GitAccess, RepoUrl, RepositoryPool};
use crate::model::CommitId;

/// The pause before a local repository with an error is read again. Another process may be replacing it.
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Clone, Debug)]
pub struct SourceConfig {
    /// The address of the repository.
    pub location: RepoUrl,
    /// The branch, tag, commit, or full ref; by default the repository's `HEAD`.
    pub reference: Option<String>,
    /// The folder of the documents, relative to the top of the repository; empty for the top itself.
    pub root: String,
    /// The parents of a merge that the search for the commit of a change follows.
    pub first_parent: Parents,
    /// The settings of connections.
    pub access: GitAccess,
    /// The folder of a URL's mirror; by default a temporary folder.
    pub cache: Option<PathBuf>,
    /// Whether the mirror may be written.
    pub mode: CacheMode,
}

/// The permitted use of a URL's mirror.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum CacheMode {
    /// It is created, fetched into, and repaired.
    #[default]
    Keep,
    /// It is only read; missing objects are fetched into a temporary folder.
    Untouched,
}

/// A repository that snapshots are taken of.
#[derive(Debug)]
pub struct Source {
    config: SourceConfig,
    mirror: mirror::Mirror,
    fetch_head: place::FetchHead,
}

impl Source {
    /// Creates a source without reading the repository.
    pub fn new(config: SourceConfig) -> Self {
        Self { config, mirror: mirror::Mirror::default(), fetch_head: place::FetchHead::default() }
    }

    /// Takes a snapshot of the ref's current commit. If the ref of a URL has not moved, this costs one lookup.
    pub fn snapshot(&mut self) -> Result<Snapshot, Error> {
        let config = &self.config;
        let Some(path) = config.location.local_path() else {
            return self.mirror.snapshot(config);
        };
        let place = RepositoryPlace::at(path);
        match local_snapshot(config, path, &place) {
            // Another process may be replacing the repository.
            Err(error) if place::is_suspect(&error) => {
                std::thread::sleep(PAUSE);
                local_snapshot(config, path, &place).map_err(|error| place.explain(error))
            }
            found => found,
        }
    }

    /// Returns whether the repository is on this machine, where a lookup costs microseconds.
    pub(crate) fn is_local(&self) -> bool {
        self.config.location.local_path().is_some()
    }

    /// Returns the ref's current commit. This costs one lookup and no fetch.
    pub(crate) fn resolve(&mut self) -> Result<CommitId, Error> {
        let config = &self.config;
        let Some(path) = config.location.local_path() else {
            return self.mirror.resolve(config);
        };
        let reference = config.reference.as_deref();
        let (repository, resolved) = revisions::open_and_resolve(path, reference)?;
        self.fetch_head.update(&repository, reference, &resolved);
        Ok(resolved.commit)
    }

    /// Returns when a checkout was last current, as of the last lookup; `None` for a URL and for a repository without a
    /// fetch.
    pub(crate) fn fetched(&self) -> Option<Fetched> {
        self.fetch_head.fetched()
    }

    /// Returns whether another snapshot may avoid `error`, which a reader of a snapshot returned. The next snapshot of a URL
    /// then clones the mirror again.
    pub(crate) fn repair(&mut self, error: &Error) -> bool {
        let may_help = error.is_damage();
        if may_help && !self.is_local() {
            tracing::warn!(name: "mirror_damaged", reason = %error, "the mirror of the source is damaged; cloning it again");
            self.mirror.distrust();
        }
        may_help
    }

    /// Returns the URL of the repository's `origin` as configured, or the URL of a URL source.
    pub(crate) fn origin_url(&self) -> Result<Option<String>, Error> {
        match self.config.location.local_path() {
            Some(path) => revisions::origin_url(path),
            None => Ok(Some(self.config.location.to_string())),
        }
    }

    /// Opens the repository, whose revisions are then looked up by name; `None` if it is behind a URL.
    pub(crate) fn revisions(&self) -> Result<Option<RevisionLookup>, Error> {
        let path = self.config.location.local_path();
        path.map(|path| RevisionLookup::open(&self.config, path)).transpose()
    }
}

fn local_snapshot(config: &SourceConfig, path: &Path, place: &RepositoryPlace) -> Result<Snapshot, Error> {
    let (repository, resolved) = revisions::open_and_resolve(path, config.reference.as_deref())?;
    let cache = ReaderCache::new(RepositoryPool::of(repository), Some(place.clone()));
    Snapshot::take(cache, resolved, &config.root, config.first_parent, None)
}

#[cfg(test)]
mod history_tests;
#[cfg(test)]
mod mirror_tests;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
