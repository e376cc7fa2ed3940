//! Where documents come from: a Git repository, at a path or behind a URL, looked at one commit at a time.
//!
//! A repository at a path is opened in place and never written to or fetched; one behind a URL is mirrored into
//! a folder that is only a cache. What is not committed does not count. Reftable, SHA-256 and partial clones are
//! refused, each with its reason, and nothing in a repository's configuration is ever executed.
//!
//! Invariant: a [`Snapshot`] never changes, whatever happens to the ref that led to it.

mod error;
mod fetch_head;
mod history;
mod local;
mod message;
mod mirror;
mod place;
mod reader;
mod resolve;
pub mod sample;
mod search;
mod snapshot;
mod trees;
mod uncommitted;
pub mod watch;
pub mod worktree;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use error::{Error, ErrorKind, HeadKind};
pub use fetch_head::{FetchProblem, Fetched};
pub use reader::Reader;
pub use snapshot::{Relation, Snapshot};
pub use uncommitted::uncommitted;

use place::Place;
use reader::Memory;

use crate::git::{GitAccess, RepoUrl, RepositoryPool};
use crate::model::CommitId;

/// How long to wait before an error of a local repository is taken for what it seems.
const PAUSE: Duration = Duration::from_millis(200);

/// What a source is made of.
#[derive(Clone, Debug)]
pub struct SourceConfig {
    /// Where the repository is.
    pub location: RepoUrl,
    /// The branch, tag, commit or full ref; its `HEAD` where there is none.
    pub reference: Option<String>,
    /// The folder that documents are in, from the top of the repository; empty for the top itself.
    pub root: String,
    /// Which parents of a merge count when the commit of a change is looked for.
    pub first_parent: Parents,
    /// How to get to a URL.
    pub access: GitAccess,
    /// Where a URL's mirror is kept; a temporary folder where there is none.
    pub cache: Option<PathBuf>,
    /// Whether that mirror may be written to.
    pub mode: CacheMode,
}

impl SourceConfig {
    /// Returns whether the ref is a whole commit id, which never moves.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        let is_id = |name: &String| name.len() == 40 && resolve::is_id(name);
        self.reference.as_ref().is_some_and(is_id)
    }
}

/// Which parents of a merge count.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Parents {
    /// All: the commit of a merged branch is found.
    #[default]
    All,
    /// The first only: the merge is found.
    First,
}

/// What may happen to the mirror of a URL.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum CacheMode {
    /// It is made, fetched into and repaired.
    #[default]
    Keep,
    /// It is read where it is current; what it lacks goes to a temporary folder.
    Untouched,
}

/// A place that snapshots come from.
#[derive(Debug)]
pub struct Source {
    config: SourceConfig,
    mirror: mirror::Mirror,
    fetch_head: fetch_head::FetchHead,
}

impl Source {
    /// Makes a source; nothing is looked at yet.
    #[must_use]
    pub fn new(config: SourceConfig) -> Self {
        Self {
            config,
            mirror: mirror::Mirror::default(),
            fetch_head: fetch_head::FetchHead::default(),
        }
    }

    /// Returns what the ref leads to now. Where the ref of a URL has not moved, that is one look-up.
    ///
    /// # Errors
    /// When the repository cannot be reached or read, or has no such ref or root.
    pub fn look(&mut self) -> Result<Snapshot, Error> {
        let config = &self.config;
        let Some(path) = config.location.local_path() else {
            return self.mirror.look(config);
        };
        let place = Place::at(path);
        match local_snapshot(config, path, &place) {
            // A repository that is being replaced may be back at once.
            Err(error) if place::is_suspect(&error) => {
                std::thread::sleep(PAUSE);
                local_snapshot(config, path, &place).map_err(|error| place.explain(error))
            }
            found => found,
        }
    }

    /// Returns whether the repository is on this machine, where a look-up costs microseconds.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.config.location.local_path().is_some()
    }

    /// Returns the commit that the ref leads to now, by one look-up and without a fetch.
    ///
    /// # Errors
    /// When the repository cannot be reached or has no such ref.
    pub fn look_up(&mut self) -> Result<CommitId, Error> {
        let config = &self.config;
        let Some(path) = config.location.local_path() else {
            return self.mirror.look_up(config);
        };
        let reference = config.reference.as_deref();
        let (repository, resolved) = local::look_up(path, reference)?;
        self.fetch_head.look(&repository, reference, &resolved);
        Ok(resolved.commit)
    }

    /// Returns when the last lookup found a checkout to be current; nothing for a URL and for a repository that was never
    /// fetched into.
    #[must_use]
    pub fn fetched(&self) -> Option<Fetched> {
        self.fetch_head.fetched()
    }

    /// Has the mirror of a URL cloned again at the next look if it may be the cause of `error`, which a reader of a snapshot
    /// met. Returns whether looking again may help.
    #[must_use]
    pub fn repair(&mut self, error: &Error) -> bool {
        let may_help = error.is_damage();
        if may_help && !self.is_local() {
            tracing::warn!(name: "mirror_damaged", reason = %error, "the mirror of the source is damaged and is cloned again");
            self.mirror.distrust();
        }
        may_help
    }

    /// Returns the URL of the repository's `origin`, as it is written there; a URL source is its own.
    ///
    /// # Errors
    /// When the repository cannot be opened.
    pub fn origin_url(&self) -> Result<Option<String>, Error> {
        match self.config.location.local_path() {
            Some(path) => local::origin_url(path),
            None => Ok(Some(self.config.location.to_string())),
        }
    }
}

/// Takes a snapshot of the repository at `path`.
fn local_snapshot(config: &SourceConfig, path: &Path, place: &Place) -> Result<Snapshot, Error> {
    let (repository, resolved) = local::look_up(path, config.reference.as_deref())?;
    let memory = Memory::new(RepositoryPool::of(repository), Some(place.clone()));
    Snapshot::take(memory, resolved, &config.root, config.first_parent, None)
}

#[cfg(test)]
mod history_tests;
#[cfg(test)]
mod mirror_tests;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
