//! Opens and creates repositories, and keeps open ones for the next readers. No other module opens one, so
//! that libgit2 is set up before its first use.

use std::fs::{self, File};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::{fmt, io};

use git2::{ConfigLevel, ErrorCode, Repository, RepositoryInitOptions, RepositoryOpenFlags};

use super::commit::oid;
use super::error::{Libgit2Error, RepositoryError};
use super::failpoint::Failpoints;
use super::temporary_folder::TemporaryFolder;
use crate::model::ObjectId;

/// Opens the repository at `path`: a work tree, a bare repository, a linked work tree, or a symbolic link to
/// one of these. Does not search parent folders. The work tree is the folder in which its `.git` is, whatever
/// the repository records.
///
/// # Errors
/// If `path` is not a repository, or is damaged.
pub fn open(path: &Path) -> Result<Repository, Libgit2Error> {
    let repository = open_with(path, RepositoryOpenFlags::NO_SEARCH)?;
    // A linked work tree that was moved, or that another container sees elsewhere, records its former place.
    if !repository.is_bare() && path.join(".git").symlink_metadata().is_ok() {
        repository.set_workdir(path, false)?;
    }
    Ok(repository)
}

/// Opens the repository whose objects and refs are in exactly `folder`, and ignores its work tree.
pub fn open_bare(folder: &Path) -> Result<Repository, Libgit2Error> {
    open_with(folder, RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::BARE)
}

/// Creates a repository in `folder` without the template of the machine.
pub fn init(folder: &Path, options: &mut RepositoryInitOptions) -> Result<Repository, Libgit2Error> {
    libgit2()?;
    // The template of the machine may add hooks and configuration.
    Ok(Repository::init_opts(folder, options.external_template(false))?)
}

/// Creates a bare repository in `folder`.
pub fn init_bare(folder: &Path) -> Result<Repository, Libgit2Error> {
    init(folder, RepositoryInitOptions::new().bare(true))
}

/// Makes `repository` use the objects of the one in `lender`, too, from when it is opened next.
pub(crate) fn borrow_objects(repository: &Path, lender: &Path) -> io::Result<()> {
    let info = repository.join("objects/info");
    fs::create_dir_all(&info)?;
    fs::write(info.join("alternates"), format!("{}\n", lender.join("objects").display()))
}

fn open_with(path: &Path, flags: RepositoryOpenFlags) -> Result<Repository, Libgit2Error> {
    libgit2()?;
    let none: [&str; 0] = [];
    Ok(Repository::open_ext(path, flags, none)?)
}

/// Returns a value of the repository's configuration.
pub(crate) fn config_value(repository: &Repository, key: &str) -> Result<Option<String>, Libgit2Error> {
    match repository.config()?.get_string(key) {
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        value => Ok(Some(value?)),
    }
}

/// Writes a value into the repository's configuration.
pub(crate) fn set_config_value(repository: &Repository, key: &str, value: &str) -> Result<(), Libgit2Error> {
    Ok(repository.config()?.set_str(key, value)?)
}

/// Opens the bare repository at `path`, or creates it. Removes the files that a crashed writer left: the
/// caller must hold the lock that excludes other writers.
pub(crate) fn open_or_create(path: &Path, failpoints: &Failpoints) -> Result<Repository, RepositoryError> {
    // Created beside `path` and then renamed, so that a repository at `path` is always complete.
    if !path.exists() {
        let new = path.with_extension("new");
        match fs::remove_dir_all(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(RepositoryError::io("remove", &new)(error));
            }
            _ => {}
        }
        let mut options = RepositoryInitOptions::new();
        options.bare(true).no_reinit(true).initial_head("gitoggle");
        init(&new, &mut options).map_err(RepositoryError::git(&new))?;
        failpoints.at("repository: made")?;
        fs::rename(&new, path).map_err(RepositoryError::io("create", path))?;
        // The rename is durable only after a sync of the folder.
        path.parent().map_or(Ok(()), sync_folder)?;
    }
    clear(path)?;
    open_bare(path).map_err(RepositoryError::git(path))
}

/// Returns whether `repository` has one of the objects `ids`, but cannot read it.
pub(super) fn has_unreadable(repository: &Path, ids: &[ObjectId]) -> bool {
    let Ok(repository) = open_bare(repository) else { return true };
    let Ok(odb) = repository.odb() else { return true };
    ids.iter().any(|id| odb.exists(oid(*id)) && odb.read(oid(*id)).is_err())
}

/// Removes the packs that a process did not finish. They cost only disk space, so an error is ignored.
pub(super) fn remove_unfinished(repository: &Path) {
    let _ = remove_in(&repository.join("objects/pack"), is_unfinished_pack);
}

/// Returns whether a file beside packs is what Git or libgit2 writes before it has a name.
fn is_unfinished_pack(name: &str) -> bool {
    // `git repack` begins with a dot, the others do not.
    ["tmp_", ".tmp-", "pack_git2_"].iter().any(|prefix| name.starts_with(prefix))
}

/// Removes the lock files and temporary files that a crashed writer left: the caller must hold the lock that
/// excludes other writers.
pub(crate) fn clear(path: &Path) -> Result<(), RepositoryError> {
    // A lock file that a crashed writer left would block every later writer.
    let _ = remove_in(path, |name| name.ends_with(".lock"))?;
    let objects = path.join("objects");
    // Those of libgit2 are called `tmp_object_git2_`, those of Git `tmp_obj_`.
    let is_unfinished = |name: &str| name.starts_with("tmp_obj");
    let mut folders = remove_in(&objects, is_unfinished)?;
    folders.retain(|folder| folder.file_name().is_some_and(|name| name.len() == 2));
    for folder in folders {
        remove_in(&folder, is_unfinished)?;
    }
    remove_in(&objects.join("pack"), |name| is_unfinished_pack(name) || name.ends_with(".lock"))?;
    let mut folders = vec![path.join("refs")];
    while let Some(folder) = folders.pop() {
        folders.extend(remove_in(&folder, |name| name.ends_with(".lock"))?);
    }
    Ok(())
}

/// Removes the files with a `stale` name and returns the subfolders.
fn remove_in(folder: &Path, stale: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, RepositoryError> {
    let mut folders = Vec::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(folders),
        entries => entries.map_err(RepositoryError::io("read", folder))?,
    };
    for entry in entries {
        let entry = entry.map_err(RepositoryError::io("read", folder))?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            folders.push(entry.path());
        } else if entry.file_name().to_str().is_some_and(&stale) {
            fs::remove_file(entry.path()).map_err(RepositoryError::io("remove", &entry.path()))?;
        }
    }
    Ok(folders)
}

/// Makes the names in `folder` durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), RepositoryError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(RepositoryError::io("sync", folder))
}

/// The handles of one repository. Keeps a few idle handles, because opening one costs some fifty system
/// calls, most of them for configuration that this crate does not use.
pub struct RepositoryPool {
    folder: PathBuf,
    idle: Mutex<Vec<Repository>>,
    /// A repository whose objects are read, too.
    also: Option<Arc<TemporaryFolder>>,
    /// Last, so that the files are closed before the folder is removed.
    _temporary: Option<Arc<TemporaryFolder>>,
}

impl RepositoryPool {
    /// The number of idle handles: a comparison reads both of its sides through one each.
    const MOST_IDLE: usize = 2;

    /// Creates an empty pool for the repository whose objects and refs are in exactly `folder`.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, idle: Mutex::default(), also: None, _temporary: None }
    }

    /// Keeps the folder of a clone for one command on disk for as long as anything reads it.
    pub(crate) fn within(self, temporary: Option<Arc<TemporaryFolder>>) -> Self {
        Self { _temporary: temporary, ..self }
    }

    /// Reads the objects of the repository in the folder `also`, too.
    pub(crate) fn with(self, also: Arc<TemporaryFolder>) -> Self {
        self.close();
        Self { also: Some(also), ..self }
    }

    /// Creates a pool with the handle `repository`.
    pub(crate) fn of(repository: Repository) -> Self {
        let folder = repository.commondir().to_owned();
        // The handle of a linked work tree becomes unusable when the work tree is removed.
        let idle = (repository.path() == folder).then_some(repository);
        Self { idle: Mutex::new(idle.into_iter().collect()), ..Self::new(folder) }
    }

    /// Returns the folder of the objects and refs.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns an idle handle, or opens the repository.
    pub(crate) fn open(self: &Arc<Self>) -> Result<PooledRepository, Libgit2Error> {
        // A separate statement, so that the lock is not held while the repository is opened.
        let idle = self.idle().pop();
        let repository = match idle {
            Some(repository) => repository,
            None => {
                let repository = open_bare(&self.folder)?;
                if let Some(also) = &self.also {
                    let objects = also.path().join("objects");
                    repository.odb()?.add_disk_alternate(&objects.to_string_lossy())?;
                }
                repository
            }
        };
        Ok(PooledRepository { repository: Some(repository), pool: Arc::clone(self) })
    }

    /// Closes the idle handles.
    pub(crate) fn close(&self) {
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

/// Sets the process-wide options of libgit2 once. Every function that uses libgit2 first calls this.
fn libgit2() -> Result<(), git2::Error> {
    static SETUP: OnceLock<Result<(), String>> = OnceLock::new();
    SETUP
        .get_or_init(|| setup().map_err(|error| error.message().to_owned()))
        .clone()
        .map_err(|message| git2::Error::from_str(&message))
}

#[expect(unsafe_code, reason = "libgit2's process-wide settings have no safe interface in git2")]
fn setup() -> Result<(), git2::Error> {
    // As git itself: objects are not hashed again at every read.
    git2::opts::strict_hash_verification(false);
    // A caller keeps the objects that it needs twice, so the memory of a daemon does not grow.
    git2::opts::enable_caching(false);
    // SAFETY: these functions must not run concurrently with uses of the values that they set: the search
    // paths of configurations, and the check of owners. They run once, inside a `OnceLock` that every user of
    // Git in this process passes before its first repository or remote.
    unsafe {
        // The configuration of the user and the machine is for people who type `git`.
        for level in [ConfigLevel::System, ConfigLevel::Global, ConfigLevel::XDG] {
            git2::opts::set_search_path(level, "")?;
        }
        // The checkout of a sidecar belongs to another user. Nothing in a repository is executed.
        git2::opts::set_verify_owner_validation(false)
    }
}
