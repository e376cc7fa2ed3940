//! Opens and creates repositories, reads their trees and blobs, finds what changed in their work trees, and
//! keeps open ones for the next readers. No other module opens one, so that libgit2 is set up before its
//! first use.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::{fmt, io};

use super::commit::{object_id, oid};
use super::error::{Libgit2Error, ObjectError, ObjectFault, RepositoryError};
use super::failpoint::Failpoints;
use super::temporary_folder::TemporaryFolder;
use crate::model::{Blob, ObjectId, Tree, Trees};
use git2::{
    ConfigLevel, ErrorCode, Index, IndexEntry, IndexEntryExtendedFlag, ObjectType, Odb, OdbLookupFlags,
    Repository, RepositoryInitOptions, RepositoryOpenFlags, StatusOptions,
};

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

/// Reads the objects of one repository through its own handle. Each thread needs its own reader.
pub struct ObjectReader(PooledRepository);

impl ObjectReader {
    pub(crate) fn open(pool: &Arc<RepositoryPool>) -> Result<Self, ObjectError> {
        let folder = || pool.folder().to_owned();
        let repository =
            pool.open().map_err(|error| ObjectError { folder: folder(), fault: ObjectFault::Git(error) })?;
        Ok(Self::new(repository))
    }

    pub(crate) const fn new(repository: PooledRepository) -> Self {
        Self(repository)
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.0
    }

    fn error(&self, fault: ObjectFault) -> ObjectError {
        error(&self.0, fault)
    }

    fn odb(&self) -> Result<Odb<'_>, ObjectError> {
        self.0.odb().map_err(|error| self.error(error.into()))
    }
}

impl fmt::Debug for ObjectReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ObjectReader").field(&self.0.path()).finish()
    }
}

impl Trees for ObjectReader {
    type Error = ObjectError;

    fn tree(&self, id: ObjectId) -> Result<Tree, ObjectError> {
        tree(&self.0, id)
    }

    fn find_tree(&self, id: ObjectId) -> Option<Tree> {
        // A refresh would list the packs again for each missing tree.
        let exists = self.odb().is_ok_and(|odb| odb.exists_ext(oid(id), OdbLookupFlags::NO_REFRESH));
        exists.then(|| self.tree(id).ok()).flatten()
    }

    fn blob(&self, id: ObjectId, limit: usize) -> Result<Blob, ObjectError> {
        // The header comes first, so that a blob above the limit is never in memory (src/git/README.md,
        // "Repositories").
        let header = self.odb()?.read_header(oid(id));
        let (size, _) = header.map_err(|error| self.error(ObjectFault::of(id, error.into())))?;
        match size > limit {
            true => Ok(Blob::TooLarge(size as u64)),
            false => blob(&self.0, id).map(Blob::Content),
        }
    }
}

pub(crate) fn tree(repository: &Repository, id: ObjectId) -> Result<Tree, ObjectError> {
    let parse = |bytes: &[u8]| Tree::parse(bytes.to_vec()).map_err(|_| ObjectFault::Malformed(id));
    read(repository, id, ObjectType::Tree, parse).map_err(|fault| error(repository, fault))
}

pub(crate) fn blob(repository: &Repository, id: ObjectId) -> Result<Vec<u8>, ObjectError> {
    let bytes = read(repository, id, ObjectType::Blob, |bytes| Ok(bytes.to_vec()));
    bytes.map_err(|fault| error(repository, fault))
}

fn error(repository: &Repository, fault: ObjectFault) -> ObjectError {
    let folder = repository.path().to_owned();
    ObjectError { folder, fault }
}

/// Returns the result of `take` on the bytes of the object `id`, which must be of `kind`.
fn read<T>(
    repository: &Repository,
    id: ObjectId,
    kind: ObjectType,
    take: impl FnOnce(&[u8]) -> Result<T, ObjectFault>,
) -> Result<T, ObjectFault> {
    let odb = repository.odb()?;
    let object = odb.read(oid(id)).map_err(|error| ObjectFault::of(id, error.into()))?;
    match object.kind() == kind {
        true => take(object.data()),
        false => Err(ObjectFault::WrongType(id, kind.str())),
    }
}

/// Returns the changed, new, or removed files under `root`, as paths relative to the top. A file that is not
/// checked out is none of these. Writes nothing, not even the index.
pub(crate) fn changed_files(repository: &Repository, root: &str) -> Result<Vec<Vec<u8>>, Libgit2Error> {
    let mut options = StatusOptions::new();
    options
        // Without the recursion, a new folder would be listed instead of the documents in it.
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .exclude_submodules(true)
        // The name of the root may contain `*` or `[`, which are not patterns here.
        .disable_pathspec_match(true);
    if !root.is_empty() {
        options.pathspec(root);
    }
    let statuses = repository.statuses(Some(&mut options))?;
    // libgit2 does not look at the bit `skip-worktree`.
    let left_out: BTreeSet<Vec<u8>> =
        not_checked_out(repository)?.into_iter().map(|(path, _)| path).collect();
    let paths = statuses.iter().map(|entry| entry.path_bytes().to_vec());
    Ok(paths.filter(|path| !left_out.contains(path)).collect())
}

/// Returns the files that the repository has and the work tree lacks although nobody removed them, as paths
/// relative to the top with the ids of their blobs: those that a sparse checkout leaves out, or all of `HEAD`
/// if no index says what is checked out.
pub(crate) fn not_checked_out(repository: &Repository) -> Result<Vec<(Vec<u8>, ObjectId)>, Libgit2Error> {
    let Some(top) = repository.workdir() else {
        return Ok(Vec::new());
    };
    // libgit2 refuses a sparse index and a split one. `git clone --no-checkout` writes none.
    let index = repository.index().ok();
    let index = index.filter(|index| index.path().is_some_and(Path::exists));
    let (index, is_left_out): (Index, fn(&IndexEntry) -> bool) = match index {
        Some(index) => (index, is_skipped),
        None => (index_of_head(repository)?, |_| true),
    };
    let is_absent = |entry: &IndexEntry| fs::symlink_metadata(top.join(os_path(&entry.path))).is_err();
    let entries = index.iter().filter(|entry| is_left_out(entry) && is_absent(entry));
    Ok(entries.map(|entry| (entry.path, object_id(entry.id))).collect())
}

fn is_skipped(entry: &IndexEntry) -> bool {
    IndexEntryExtendedFlag::from_bits_truncate(entry.flags_extended).is_skip_worktree()
}

/// Returns an index in memory with the files of `HEAD`.
fn index_of_head(repository: &Repository) -> Result<Index, Libgit2Error> {
    let mut index = Index::new()?;
    match repository.head().and_then(|head| head.peel_to_tree()) {
        Ok(tree) => index.read_tree(&tree)?,
        Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(index)
}

/// The ignored paths of a work tree below the folder `root`.
pub(crate) struct Ignored {
    repository: Repository,
    /// Opened when a rule matches, because reading it takes long if it has many files; `None` if it cannot be
    /// read.
    index: OnceCell<Option<Index>>,
    root: String,
}

impl Ignored {
    pub(crate) fn new(repository: Repository, root: &str) -> Self {
        Self { repository, index: OnceCell::new(), root: root.to_owned() }
    }

    /// Returns whether Git ignores `path`, relative to `root`.
    pub(crate) fn covers(&self, path: &[u8], is_folder: bool) -> bool {
        let path = match self.root.as_bytes() {
            [] => path.to_vec(),
            root => [root, b"/", path].concat(),
        };
        let os = os_path(&path);
        // After an error, the file is taken as not ignored, so that a document is checked rather than skipped.
        if !self.repository.is_path_ignored(&os).unwrap_or(false) {
            return false;
        }
        let Some(index) = self.index.get_or_init(|| self.repository.index().ok()) else {
            return false;
        };
        // Git never ignores a tracked path. The index lists only files, so a folder is a prefix there.
        if is_folder { index.find_prefix(os.join("")).is_err() } else { index.get_path(&os, 0).is_none() }
    }
}

/// Converts a path in a repository to a path of the operating system.
pub(crate) fn os_path(path: &[u8]) -> PathBuf {
    OsStr::from_bytes(path).into()
}
