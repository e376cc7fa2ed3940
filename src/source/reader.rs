//! Reads the objects of one snapshot from any thread, and caches its trees.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::place::RepositoryPlace;
use super::{Error, cannot_open};
use crate::git::{
    self, CommitNode, GitAccess, GitFault, Libgit2Error, ObjectError, ObjectFault, ObjectReader, RepoUrl,
    Repository, RepositoryPool, commit, raw_commit,
};
use crate::model::{Blob, Commit, CommitId, ObjectId, Thresholds, Tree, Trees};

/// The open repositories and the trees that the readers of one snapshot share. Contended only for one lookup
/// at a time.
#[derive(Debug)]
pub(super) struct ReaderCache {
    pool: Arc<RepositoryPool>,
    trees: Mutex<HashMap<ObjectId, Tree>>,
    /// The path to check again after an error; `None` for a mirror.
    place: Option<RepositoryPlace>,
    /// The host that a mirror can ask for further commits.
    host: Option<Host>,
    thresholds: Thresholds,
}

/// The address of a mirror's source.
#[derive(Debug)]
struct Host {
    url: RepoUrl,
    access: GitAccess,
    /// The commits that it did not send.
    refused: Mutex<BTreeSet<CommitId>>,
}

/// The name of the last commit that was fetched by its id.
const RECORDED: &str = "refs/gitoggle/recorded";

impl ReaderCache {
    pub(super) fn new(pool: RepositoryPool, place: Option<RepositoryPlace>, thresholds: Thresholds) -> Self {
        Self { pool: Arc::new(pool), trees: Mutex::default(), place, host: None, thresholds }
    }

    /// Lets missing commits be fetched from the source of a mirror.
    pub(super) fn of_host(self, url: &RepoUrl, access: &GitAccess) -> Self {
        let host = Host { url: url.clone(), access: access.clone(), refused: Mutex::default() };
        Self { host: Some(host), ..self }
    }

    /// Fetches a commit with its history. Returns whether it is here now: not if there is no host, or it does
    /// not send the commit.
    pub(super) fn fetch(&self, commit: CommitId) -> Result<bool, Error> {
        let Some(host) = &self.host else { return Ok(false) };
        let mut refused = host.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.contains(&commit) {
            return Ok(false);
        }
        let refspec = format!("+{commit}:{RECORDED}");
        match git::fetch(self.pool.folder(), &host.url, &host.access, &[refspec]) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.fault(), Some(GitFault::NoRef | GitFault::Other)) => {
                tracing::debug!(name: "commit_not_sent", %commit, reason = %error, "the host did not send the recorded commit");
                refused.insert(commit);
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn recall(&self, id: ObjectId) -> Option<Tree> {
        let trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        trees.get(&id).cloned()
    }

    fn keep(&self, id: ObjectId, tree: &Tree) {
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        if trees.len() < self.thresholds.most_trees {
            trees.insert(id, tree.clone());
        }
    }
}

/// Reads the objects of a snapshot. Each thread needs its own reader.
#[derive(Debug)]
pub struct Reader {
    objects: ObjectReader,
    cache: Arc<ReaderCache>,
}

impl Reader {
    pub(super) fn open(cache: Arc<ReaderCache>) -> Result<Self, Error> {
        // Reading objects needs neither the work tree nor its link, which another process may replace.
        let folder = cache.pool.folder();
        let objects = cache.pool.open().map_err(|error| match &cache.place {
            _ if !folder.exists() => Error::Vanished(folder.to_owned()),
            Some(place) => place.explain(cannot_open(folder, error)),
            None => cannot_open(folder, error),
        })?;
        Ok(Self { objects: ObjectReader::new(objects), cache })
    }

    /// Returns the folder of the objects and refs.
    pub(crate) fn folder(&self) -> &Path {
        self.cache.pool.folder()
    }

    pub(super) fn thresholds(&self) -> Thresholds {
        self.cache.thresholds
    }

    pub(super) fn repository(&self) -> &Repository {
        self.objects.repository()
    }

    pub(super) fn is_partial(&self) -> bool {
        is_partial(self.folder())
    }

    pub(super) fn commit(&self, id: CommitId) -> Result<Commit, Error> {
        commit(self.repository(), id).map_err(|error| self.missing(id, error))
    }

    pub(super) fn raw_commit(&self, id: CommitId) -> Result<Vec<u8>, Error> {
        raw_commit(self.repository(), id).map_err(|error| self.missing(id, error))
    }

    /// Returns a commit without its message.
    pub(super) fn node(&self, id: CommitId) -> Result<CommitNode, Error> {
        CommitNode::read(self.repository(), id).map_err(|error| self.missing(id, error))
    }

    /// Returns why `id` could not be read: the repository vanished, or is a partial clone or damaged.
    fn missing(&self, id: CommitId, error: Libgit2Error) -> Error {
        self.fault(ObjectFault::of(id.0, error))
    }

    pub(super) fn fault(&self, fault: ObjectFault) -> Error {
        self.explain(match fault {
            ObjectFault::Missing(id) if self.is_partial() => Error::PartialClone(id),
            fault => fault.into(),
        })
    }

    /// Returns the cause of `error`. Another process may have removed or replaced the repository.
    pub(super) fn explain(&self, error: Error) -> Error {
        match (self.folder().join("objects").exists(), &self.cache.place) {
            (false, _) => Error::Vanished(self.folder().to_owned()),
            (true, Some(place)) => place.explain(error),
            (true, None) => error,
        }
    }
}

impl Trees for Reader {
    type Error = Error;

    fn tree(&self, id: ObjectId) -> Result<Tree, Error> {
        if let Some(tree) = self.cache.recall(id) {
            return Ok(tree);
        }
        let tree = self.objects.tree(id).map_err(|error| self.fault(error.fault))?;
        self.cache.keep(id, &tree);
        Ok(tree)
    }

    fn find_tree(&self, id: ObjectId) -> Option<Tree> {
        self.cache.recall(id).or_else(|| {
            let tree = self.objects.find_tree(id)?;
            self.cache.keep(id, &tree);
            Some(tree)
        })
    }

    fn blob(&self, id: ObjectId, limit: usize) -> Result<Blob, Error> {
        match self.objects.blob(id, limit) {
            Ok(blob) => Ok(blob),
            Err(ObjectError { fault, .. }) => match self.fault(fault) {
                // Missing content holds only its toggle (src/source/README.md, "Which commit").
                Error::PartialClone(_) => Ok(Blob::Missing),
                error => Err(error),
            },
        }
    }
}

/// Returns whether a pack has the `.promisor` file of a partial clone.
fn is_partial(folder: &Path) -> bool {
    let packs = std::fs::read_dir(folder.join("objects/pack"));
    packs.is_ok_and(|packs| {
        packs.flatten().any(|file| file.path().extension().is_some_and(|extension| extension == "promisor"))
    })
}
