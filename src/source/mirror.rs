//! Mirrors one ref of a repository behind a URL in a bare repository. The mirror is a cache: a new clone repairs any damage.
//!
//! A commit id is looked up in the mirror, then fetched directly if the server allows it, then searched for in the history
//! of the refs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::error::{Error, HeadKind};
use super::reader::ReaderCache;
use super::resolve::{self, Resolved};
use super::{CacheMode, Snapshot, SourceConfig};
use crate::git::refs::{self, RefTarget};
use crate::git::{self, Advertised, GitError, Repository, RepositoryPool, advertised};
use crate::model::CommitId;

/// The name of the wanted ref in the mirror.
const WANTED: &str = "refs/gitoggle/source";

/// The configuration key of the mirror that holds the URL of its source.
const URL_KEY: &str = "gitoggle.source";

/// The number of digits of a full commit id.
const LENGTH_OF_ID: usize = 40;

/// The number of packs above which the mirror is cloned again. Each fetch adds a pack.
const MOST_PACKS: usize = 256;

/// The state of a remote source between snapshots.
#[derive(Debug, Default)]
pub(super) struct Mirror {
    /// The repository that replaces the cache if there is none or it must not be written.
    temporary: Option<Arc<TempDir>>,
    /// Whether the cache is damaged.
    distrusted: bool,
}

/// The configured ref, as the server advertises it.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Wanted {
    /// An advertised ref and its commit.
    Ref { refspec: String, resolved: Resolved },
    /// A full or short commit id.
    Id(String),
}

impl Mirror {
    pub(super) const fn distrust(&mut self) {
        self.distrusted = true;
    }

    pub(super) fn resolve(&mut self, config: &SourceConfig) -> Result<CommitId, Error> {
        match wanted(config)? {
            Wanted::Ref { resolved, .. } => Ok(resolved.commit),
            Wanted::Id(_) => self.snapshot(config).map(|snapshot| snapshot.revision()),
        }
    }

    pub(super) fn snapshot(&mut self, config: &SourceConfig) -> Result<Snapshot, Error> {
        let wanted = wanted(config)?;
        // A ref that has not moved costs one lookup and no fetch (DESIGN section 5).
        if let Some(snapshot) = self.current(config, &wanted) {
            return snapshot;
        }
        match (&config.cache, config.mode) {
            (Some(cache), CacheMode::Keep) => self.update(config, cache, &wanted),
            // `plan` and `status` write nothing (DESIGN section 3), so they fetch into a temporary repository.
            (Some(cache), CacheMode::Untouched) => self.borrow(config, Some(cache), &wanted),
            (None, _) => self.borrow(config, None, &wanted),
        }
    }

    /// Returns the snapshot if the cache or the temporary repository already contains it.
    fn current(&self, config: &SourceConfig, wanted: &Wanted) -> Option<Result<Snapshot, Error>> {
        let cache = config.cache.as_deref().filter(|_| !self.distrusted);
        let temporary = self.temporary.as_ref().map(|folder| folder.path());
        [cache, temporary].into_iter().flatten().find_map(|folder| {
            let repository = open(folder, config)?;
            let resolved = match wanted {
                Wanted::Ref { resolved, .. } => {
                    (tip(&repository) == Some(resolved.commit)).then(|| resolved.clone())
                }
                Wanted::Id(id) => resolve::resolve(&repository, Some(id)).ok(),
            };
            let snapshot = self.take(config, folder, resolved?);
            // The fetch or clone that follows repairs the damage.
            (!snapshot.as_ref().is_err_and(Error::is_damage)).then_some(snapshot)
        })
    }

    fn take(&self, config: &SourceConfig, folder: &Path, resolved: Resolved) -> Result<Snapshot, Error> {
        let temporary = self.temporary.clone().filter(|own| own.path() == folder);
        Snapshot::take(
            ReaderCache::new(RepositoryPool::new(folder.to_owned()).within(temporary), None),
            resolved,
            &config.root,
            config.first_parent,
            None,
        )
    }

    /// Fetches into the cache, or clones again if that fails.
    fn update(&mut self, config: &SourceConfig, cache: &Path, wanted: &Wanted) -> Result<Snapshot, Error> {
        let usable = Some(cache).filter(|_| !self.distrusted && packs(cache) <= MOST_PACKS);
        if let Some(repository) = usable.and_then(|cache| open(cache, config)) {
            let fetched = fetch(&repository, config, wanted);
            drop(repository);
            match fetched.and_then(|resolved| self.take(config, cache, resolved)) {
                Err(error) if error.is_damage() => {
                    tracing::warn!(name: "mirror_damaged", reason = %error, "the mirror of the source is damaged; cloning it again");
                }
                fetched => return fetched,
            }
        }
        // A clone repairs any damage, and `source.git` never holds state (DESIGN section 4, *Clones are caches*).
        let resolved = clone(config, cache, wanted)?;
        self.distrusted = false;
        self.take(config, cache, resolved)
    }

    /// Fetches into a temporary repository that borrows the objects of the cache.
    fn borrow(
        &mut self,
        config: &SourceConfig,
        cache: Option<&Path>,
        wanted: &Wanted,
    ) -> Result<Snapshot, Error> {
        if self.distrusted {
            self.temporary = None;
        }
        let lender = cache
            .filter(|_| !self.distrusted)
            .and_then(|cache| open(cache, config));
        let folder = match &self.temporary {
            Some(folder) => Arc::clone(folder),
            None => {
                let folder = tempfile::tempdir()
                    .map_err(|error| io("create a folder in", std::env::temp_dir(), error))?;
                lend(&init(folder.path(), config)?, lender.as_ref())?;
                Arc::clone(self.temporary.insert(Arc::new(folder)))
            }
        };
        let repository = git::open_bare(folder.path())?;
        let resolved = fetch(&repository, config, wanted)?;
        self.distrusted = false;
        self.take(config, folder.path(), resolved)
    }
}

/// Looks up the wanted ref only, because the server may have thousands of refs.
fn wanted(config: &SourceConfig) -> Result<Wanted, Error> {
    let (location, access) = (&config.location, &config.access);
    let Some(name) = config.reference.as_deref().filter(|name| *name != "HEAD") else {
        return head(&advertised(location, access, &["HEAD"])?);
    };
    let names: Vec<String> = resolve::prefixes(name)
        .iter()
        .map(|prefix| format!("{prefix}{name}"))
        .filter(|name| refs::is_valid_name(name))
        .collect();
    if !names.is_empty() {
        let prefixes: Vec<&str> = names.iter().map(String::as_str).collect();
        let refs = advertised(location, access, &prefixes)?;
        let found = names.iter().find_map(|name| find(&refs, name));
        if let Some(found) = found {
            return wanted_ref(&found.name, found.name.clone(), found, &refs);
        }
    }
    match resolve::is_id(name) {
        true => Ok(Wanted::Id(name.to_ascii_lowercase())),
        // Only an unknown ref costs this second lookup, which provides the names for the suggestion.
        false => Err(unknown(
            name,
            &advertised(location, access, &["refs/heads/", "refs/tags/"])?,
        )),
    }
}

fn find<'a>(refs: &'a [Advertised], name: &str) -> Option<&'a Advertised> {
    refs.iter().find(|advertised| advertised.name == name)
}

fn head(refs: &[Advertised]) -> Result<Wanted, Error> {
    let head = find(refs, "HEAD").ok_or_else(|| Error::Unborn("HEAD".to_owned()))?;
    let shown = head
        .target
        .clone()
        .unwrap_or_else(|| "HEAD (detached)".to_owned());
    let refspec = head.target.as_deref().unwrap_or("HEAD");
    wanted_ref(refspec, shown, head, refs)
}

fn wanted_ref(name: &str, shown: String, found: &Advertised, refs: &[Advertised]) -> Result<Wanted, Error> {
    // Servers advertise the commit of an annotated tag under this name.
    let peeled = format!("{}^{{}}", found.name);
    let peeled = find(refs, &peeled).unwrap_or(found);
    Ok(Wanted::Ref {
        // Forced, because gitoggle follows a rewritten history (DESIGN section 5).
        refspec: format!("+{name}:{WANTED}"),
        resolved: Resolved {
            reference: shown,
            commit: CommitId(peeled.id),
        },
    })
}

fn unknown(reference: &str, refs: &[Advertised]) -> Error {
    let short = |advertised: &Advertised| {
        let name = advertised.name.as_str();
        let short = name
            .strip_prefix("refs/heads/")
            .or_else(|| name.strip_prefix("refs/tags/"))?;
        (!short.ends_with("^{}")).then(|| short.to_owned())
    };
    Error::UnknownRef {
        reference: reference.to_owned(),
        near: resolve::near(reference, refs.iter().filter_map(short).collect()),
        head: HeadKind::Branch,
    }
}

/// Fetches `wanted` and returns its commit.
fn fetch(repository: &Repository, config: &SourceConfig, wanted: &Wanted) -> Result<Resolved, Error> {
    match wanted {
        Wanted::Id(id) => fetch_id(repository, config, id),
        Wanted::Ref { refspec, resolved } => {
            fetch_refs(repository, config, std::slice::from_ref(refspec))?;
            // The ref may have moved since it was advertised, so the fetched commit counts.
            match refs::target(repository, WANTED)? {
                Some(RefTarget::Commit(commit)) => Ok(Resolved {
                    reference: resolved.reference.clone(),
                    commit,
                }),
                Some(RefTarget::Other) => Err(Error::NotACommit(resolved.reference.clone())),
                // It was removed after it was advertised.
                None => Err(unknown(&resolved.reference, &[])),
            }
        }
    }
}

/// Fetches a commit by its id. Most hosts allow that, even for commits that only a closed pull request contains. Otherwise
/// fetches the ref that points at the commit, or all branches and tags.
fn fetch_id(repository: &Repository, config: &SourceConfig, id: &str) -> Result<Resolved, Error> {
    if id.len() == LENGTH_OF_ID {
        match fetch_refs(repository, config, &[format!("+{id}:{WANTED}")]) {
            Ok(()) => return resolve::resolve(repository, Some(id)),
            // The server refuses ids: libgit2 or the server itself reports it.
            Err(Error::Remote(GitError::Git { .. } | GitError::Refused { .. })) => {}
            Err(error) => return Err(error),
        }
        let refs = advertised(&config.location, &config.access, &[])?;
        let is_tip = |found: &&Advertised| found.id.to_string() == id && !found.name.ends_with("^{}");
        if let Some(found) = refs.iter().find(is_tip) {
            fetch_refs(repository, config, &[format!("+{}:{WANTED}", found.name)])?;
            return resolve::resolve(repository, Some(id));
        }
    }
    let kinds = ["heads", "tags"].map(|kind| format!("+refs/{kind}/*:refs/gitoggle/{kind}/*"));
    fetch_refs(repository, config, &kinds)?;
    resolve::resolve(repository, Some(id))
}

fn fetch_refs(repository: &Repository, config: &SourceConfig, refspecs: &[String]) -> Result<(), Error> {
    git::fetch(repository, &config.location, &config.access, refspecs)
        .map_err(|error| unwritten(error, repository.path()))
}

/// Converts an error of writing the mirror to an I/O error instead of an error of the remote.
fn unwritten(error: GitError, folder: &Path) -> Error {
    let cause = match &error {
        GitError::Git { source } => source.io_fault(),
        _ => None,
    };
    match cause {
        Some(cause) => io("write", folder.to_owned(), cause),
        None => error.into(),
    }
}

/// Returns the last fetched commit.
fn tip(repository: &Repository) -> Option<CommitId> {
    match refs::target(repository, WANTED) {
        Ok(Some(RefTarget::Commit(commit))) => Some(commit),
        _ => None,
    }
}

/// Opens the mirror in `folder` if it belongs to this source.
fn open(folder: &Path, config: &SourceConfig) -> Option<Repository> {
    let repository = git::open_bare(folder).ok()?;
    let url = git::config_value(&repository, URL_KEY).ok()??;
    // A mirror of another URL is cloned again (DESIGN section 4, *Clones are caches*).
    (url == config.location.to_string()).then_some(repository)
}

fn init(folder: &Path, config: &SourceConfig) -> Result<Repository, Error> {
    let repository = git::init_bare(folder)?;
    git::set_config_value(&repository, URL_KEY, &config.location.to_string())?;
    Ok(repository)
}

/// Lets `repository` use the objects of `lender`, so that the server does not send them again.
fn lend(repository: &Repository, lender: Option<&Repository>) -> Result<(), Error> {
    let Some((lender, commit)) = lender.and_then(|lender| Some((lender, tip(lender)?))) else {
        return Ok(());
    };
    let alternates = repository.path().join("objects/info/alternates");
    let objects = lender.path().join("objects");
    let line = format!("{}\n", objects.display());
    std::fs::create_dir_all(repository.path().join("objects/info"))
        .and_then(|()| std::fs::write(&alternates, line))
        .map_err(|error| io("write", alternates, error))?;
    // libgit2 reads the alternates when it opens a repository.
    let repository = git::open_bare(repository.path())?;
    // The next fetch offers this commit to the server, which then sends only newer objects.
    Ok(refs::set(&repository, WANTED, commit)?)
}

/// Clones to a folder beside `cache`, and then replaces `cache` with it.
fn clone(config: &SourceConfig, cache: &Path, wanted: &Wanted) -> Result<Resolved, Error> {
    let parent = cache
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).map_err(|error| io("create", parent.to_owned(), error))?;
    let prefix = format!("{}.", cache.file_name().unwrap_or_default().to_string_lossy());
    remove_leftovers(parent, &prefix);
    // The folder is beside the cache, so that the renames stay on one file system.
    let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent);
    let folder = folder.map_err(|error| io("create a folder in", parent.to_owned(), error))?;
    let fresh = folder.path().join("new");
    let resolved = fetch(&init(&fresh, config)?, config, wanted)?;
    // A folder cannot replace one that is not empty, so the old one moves out of the way.
    match std::fs::rename(cache, folder.path().join("old")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(io("move", cache.to_owned(), error));
        }
        _ => {}
    }
    std::fs::rename(&fresh, cache).map_err(|error| io("create", cache.to_owned(), error))?;
    Ok(resolved)
}

/// Removes the folders that a killed clone left. Only the process that may write the cache calls this.
fn remove_leftovers(parent: &Path, prefix: &str) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            // A leftover costs only disk space, and the next clone tries again.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn packs(cache: &Path) -> usize {
    std::fs::read_dir(cache.join("objects/pack"))
        .into_iter()
        .flatten()
        .flatten()
        .count()
        / 2
}

const fn io(what: &'static str, path: PathBuf, source: std::io::Error) -> Error {
    Error::Io { what, path, source }
}
