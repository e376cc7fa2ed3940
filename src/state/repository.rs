//! `state.git`: a bare repository of our own, written only while the state folder's lock is held.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use git2::{Oid, Repository, RepositoryInitOptions};

use super::crash::Crash;
use super::error::Error;
use super::files;
use crate::git;
use crate::model::{CommitId, ObjectId};

/// Where what was applied is recorded.
pub(crate) const APPLIED: &str = "refs/gitoggle/applied";

/// Opens the repository at exactly `path`.
pub(crate) fn open(path: &Path) -> Result<Repository, Error> {
    git::open_bare(path).map_err(Error::repository(path))
}

/// Opens the repository, made where it is missing, with the left-overs of a process that died cleared away.
pub(crate) fn open_or_create(path: &Path, crash: &Crash) -> Result<Repository, Error> {
    // A repository is complete once it has the name: it is made beside, then renamed.
    if !path.exists() {
        let young = path.with_extension("new");
        match fs::remove_dir_all(&young) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("remove", &young)(error));
            }
            _ => {}
        }
        let mut options = RepositoryInitOptions::new();
        options.bare(true).no_reinit(true).initial_head("gitoggle");
        git::init(&young, &mut options).map_err(Error::repository(&young))?;
        crash.at("repository: made")?;
        fs::rename(&young, path).map_err(Error::io("create", path))?;
        files::sync_parent(path)?;
    }
    clear(path)?;
    open(path)
}

/// Removes locks and temporary files. Our own lock proves that no other of our writers lives.
fn clear(path: &Path) -> Result<(), Error> {
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

/// Removes the files whose name says so, and returns the folders among the rest.
fn remove_in(folder: &Path, stale: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, Error> {
    let mut folders = Vec::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(folders),
        entries => entries.map_err(Error::io("read", folder))?,
    };
    for entry in entries {
        let entry = entry.map_err(Error::io("read", folder))?;
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder {
            folders.push(entry.path());
        } else if entry.file_name().to_str().is_some_and(&stale) {
            fs::remove_file(entry.path()).map_err(Error::io("remove", &entry.path()))?;
        }
    }
    Ok(folders)
}

/// Returns what `name` points at, or nothing where there is no such ref.
pub(crate) fn look_up(repository: &Repository, name: &str) -> Result<Option<CommitId>, Error> {
    match repository.refname_to_id(name) {
        Ok(id) => Ok(Some(CommitId(object_id(id)))),
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
        Err(error) => Err(Error::repository(repository.path())(error)),
    }
}

/// Returns whether `ancestor` is part of the history of `commit`, as far as it is here.
pub(crate) fn descends(repository: &Repository, commit: CommitId, ancestor: CommitId) -> Result<bool, Error> {
    let broken = || Error::repository(repository.path());
    let (commit, ancestor) = (
        oid(commit.0).map_err(broken())?,
        oid(ancestor.0).map_err(broken())?,
    );
    // The walk itself does not tell a commit that is not here from a broken repository.
    if !repository.odb().map_err(broken())?.exists(ancestor) {
        return Ok(false);
    }
    match repository.graph_descendant_of(commit, ancestor) {
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(false),
        descends => descends.map_err(broken()),
    }
}

/// What became of moving a ref.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Moved {
    /// It points at the new commit now, durably.
    Done,
    /// It does not point at what was expected, or somebody is about to move it.
    Raced,
}

/// Moves `name` from `expected` (nothing: it must not exist) to `new`, durably.
///
/// This is Git's own protocol, with every program that speaks it: the lock file is created exclusively, the ref is
/// read again under it, and it is renamed into place. libgit2's version compares just as well but neither syncs
/// without a deprecated setting nor looks again under the lock when a ref is created.
pub(crate) fn move_ref(
    repository: &Repository,
    name: &str,
    expected: Option<CommitId>,
    new: CommitId,
    crash: &Crash,
) -> Result<Moved, Error> {
    let path = repository.commondir().join(name);
    let lock = PathBuf::from(format!("{}.lock", path.display()));
    let folder = path.parent().expect("a ref is in a folder");
    fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let mut file = match File::options().write(true).create_new(true).open(&lock) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(Moved::Raced),
        file => file.map_err(Error::io("create", &lock))?,
    };
    crash.at("ref: locked")?;
    let written = (|| {
        if look_up(repository, name)? != expected {
            return Ok(Moved::Raced);
        }
        file.write_all(format!("{new}\n").as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(Error::io("write", &lock))?;
        Ok(Moved::Done)
    })();
    if !matches!(written, Ok(Moved::Done)) {
        drop(file);
        let _ = fs::remove_file(&lock);
        return written;
    }
    crash.at("ref: written")?;
    fs::rename(&lock, &path).map_err(Error::io("replace", &path))?;
    crash.at("ref: moved")?;
    // The folders may be new as well.
    for folder in path
        .ancestors()
        .skip(1)
        .take_while(|folder| folder.starts_with(repository.commondir()))
    {
        files::sync_folder(folder)?;
    }
    Ok(Moved::Done)
}

pub(crate) fn oid(id: ObjectId) -> Result<Oid, git2::Error> {
    Oid::from_bytes(&id.0)
}

pub(crate) fn object_id(oid: Oid) -> ObjectId {
    let mut id = [0; 20];
    id.copy_from_slice(&oid.as_bytes()[..20]);
    ObjectId(id)
}
