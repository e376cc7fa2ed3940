//! Looks up refs, and moves them durably.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use git2::Repository;

use super::ids::{object_id, oid};
use super::repository::sync_folder;
use super::{Failpoints, RepositoryError};
use crate::model::CommitId;

/// Returns whether `name` can be the full name of a ref.
pub(crate) fn is_valid_name(name: &str) -> bool {
    git2::Reference::is_valid_name(name)
}

/// Returns the target of the ref `name`, if the ref exists.
pub(crate) fn look_up(repository: &Repository, name: &str) -> Result<Option<CommitId>, RepositoryError> {
    match repository.refname_to_id(name) {
        Ok(id) => Ok(Some(CommitId(object_id(id)))),
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
        Err(error) => Err(RepositoryError::git(repository.path())(error)),
    }
}

/// Returns whether `ancestor` is part of the local history of `commit`.
pub(crate) fn descends(
    repository: &Repository,
    commit: CommitId,
    ancestor: CommitId,
) -> Result<bool, RepositoryError> {
    let broken = || RepositoryError::git(repository.path());
    let (commit, ancestor) = (oid(commit.0), oid(ancestor.0));
    // The walk reports a missing commit and a broken repository as the same error.
    if !repository.odb().map_err(broken())?.exists(ancestor) {
        return Ok(false);
    }
    match repository.graph_descendant_of(commit, ancestor) {
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(false),
        descends => descends.map_err(broken()),
    }
}

/// The result of moving a ref.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Moved {
    /// The ref points at the new commit, durably.
    Done,
    /// The ref does not point at the expected commit, or another process is moving it.
    Raced,
}

/// Moves the ref `name` from `expected` to `new`, durably. `None` expects that the ref does not exist.
///
/// Follows Git's own protocol: creates the lock file exclusively, reads the ref again under the lock, and renames the lock
/// file into place.
pub(crate) fn move_ref(
    repository: &Repository,
    name: &str,
    expected: Option<CommitId>,
    new: CommitId,
    failpoints: &Failpoints,
) -> Result<Moved, RepositoryError> {
    // libgit2's version syncs only with a deprecated setting, and does not read the ref again under the lock when it
    // creates a ref.
    let path = repository.commondir().join(name);
    let lock = PathBuf::from(format!("{}.lock", path.display()));
    let folder = path.parent().expect("the name of a ref contains a folder");
    fs::create_dir_all(folder).map_err(RepositoryError::io("create", folder))?;
    let mut file = match File::options().write(true).create_new(true).open(&lock) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(Moved::Raced),
        file => file.map_err(RepositoryError::io("create", &lock))?,
    };
    failpoints.at("ref: locked")?;
    let written = (|| {
        // Another process may have moved the ref before this one had the lock.
        if look_up(repository, name)? != expected {
            return Ok(Moved::Raced);
        }
        // The content is durable before the rename, so that a crash never leaves an empty ref.
        file.write_all(format!("{new}\n").as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(RepositoryError::io("write", &lock))?;
        Ok(Moved::Done)
    })();
    // A lock file that stays would block every later move.
    if !matches!(written, Ok(Moved::Done)) {
        drop(file);
        let _ = fs::remove_file(&lock);
        return written;
    }
    failpoints.at("ref: written")?;
    fs::rename(&lock, &path).map_err(RepositoryError::io("replace", &path))?;
    failpoints.at("ref: moved")?;
    // The folders may be new as well.
    for folder in path
        .ancestors()
        .skip(1)
        .take_while(|folder| folder.starts_with(repository.commondir()))
    {
        sync_folder(folder)?;
    }
    Ok(Moved::Done)
}
