//! Opens and creates repositories. No other module does, so that libgit2 is set up before its first use.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Repository, RepositoryInitOptions, RepositoryOpenFlags};

use super::error::Libgit2Error;
use super::error::RepositoryError;
use super::failpoint::Failpoints;
use super::libgit2::libgit2;

/// Opens the repository at `path`: a work tree, a bare repository, a linked work tree, or a symbolic link to one of these.
/// Does not search parent folders.
///
/// # Errors
/// If `path` is not a repository, or is damaged.
pub fn open(path: &Path) -> Result<Repository, Libgit2Error> {
    open_with(path, RepositoryOpenFlags::NO_SEARCH)
}

/// Opens the repository whose objects and refs are in exactly `folder`, and ignores its work tree.
///
/// # Errors
/// As [`open`].
pub fn open_bare(folder: &Path) -> Result<Repository, Libgit2Error> {
    open_with(folder, RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::BARE)
}

/// Creates a repository in `folder` without the template of the machine.
///
/// # Errors
/// If it cannot be written.
pub fn init(folder: &Path, options: &mut RepositoryInitOptions) -> Result<Repository, Libgit2Error> {
    libgit2()?;
    // The template of the machine may add hooks and configuration.
    Ok(Repository::init_opts(folder, options.external_template(false))?)
}

/// Creates a bare repository in `folder`.
///
/// # Errors
/// As [`init`].
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

/// Opens the bare repository at `path`, or creates it. Removes the files that a crashed writer left: the caller must
/// hold the lock that excludes other writers.
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

/// Removes lock files and temporary files.
fn clear(path: &Path) -> Result<(), RepositoryError> {
    // A lock file that a crashed writer left would block every later writer.
    let _ = remove_in(path, |name| name.ends_with(".lock"))?;
    let objects = path.join("objects");
    let mut folders = remove_in(&objects, |name| name.starts_with("tmp_object"))?;
    folders.retain(|folder| folder.file_name().is_some_and(|name| name.len() == 2));
    for folder in folders {
        remove_in(&folder, |name| name.starts_with("tmp_object"))?;
    }
    remove_in(&objects.join("pack"), |name| {
        name.starts_with("pack_git2_") || name.starts_with("tmp_") || name.ends_with(".lock")
    })?;
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
