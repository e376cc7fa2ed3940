//! Looks up refs, and moves them durably.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use git2::{ErrorCode, Reference, Repository};

use super::commit::{object_id, oid};
use super::error::Libgit2Error;
use super::repository::sync_folder;
use super::{Failpoints, RepositoryError};
use crate::model::CommitId;

/// Returns whether `name` can be the full name of a ref.
pub(crate) fn is_valid_name(name: &str) -> bool {
    Reference::is_valid_name(name)
}

/// Returns the target of the ref `name`, if the ref exists.
pub(crate) fn look_up(repository: &Repository, name: &str) -> Result<Option<CommitId>, RepositoryError> {
    match repository.refname_to_id(name) {
        Ok(id) => Ok(Some(CommitId(object_id(id)))),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(RepositoryError::git(repository.path())(error)),
    }
}

/// The target of a ref, with annotated tags resolved.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum RefTarget {
    Commit(CommitId),
    /// An object of another kind.
    Other,
}

/// The target of `HEAD`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum HeadTarget {
    /// A branch by its full name.
    Branch(String, RefTarget),
    Detached(RefTarget),
    /// A branch without a commit, by its name without `refs/heads/`.
    Unborn(String),
}

/// Returns the target of the ref `name`; `None` if no ref can have or has this name.
pub(crate) fn target(repository: &Repository, name: &str) -> Result<Option<RefTarget>, Libgit2Error> {
    if !is_valid_name(name) {
        return Ok(None);
    }
    match repository.find_reference(name) {
        Ok(found) => Ok(Some(peeled(&found)?)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the target of `HEAD`.
pub(crate) fn head(repository: &Repository) -> Result<HeadTarget, Libgit2Error> {
    match repository.head() {
        Ok(head) if repository.head_detached()? => Ok(HeadTarget::Detached(peeled(&head)?)),
        Ok(head) => {
            let name = String::from_utf8_lossy(head.name_bytes()).into_owned();
            Ok(HeadTarget::Branch(name, peeled(&head)?))
        }
        Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => {
            Ok(HeadTarget::Unborn(unborn(repository)))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns whether `HEAD` names a commit instead of a branch.
pub(crate) fn is_detached(repository: &Repository) -> bool {
    repository.head_detached().unwrap_or_default()
}

/// Returns the branch that `HEAD` names although it does not exist.
fn unborn(repository: &Repository) -> String {
    let head = repository.find_reference("HEAD").ok();
    let target = head.as_ref().and_then(|head| head.symbolic_target().ok().flatten());
    let target = target.unwrap_or("HEAD");
    target.strip_prefix("refs/heads/").unwrap_or(target).to_owned()
}

fn peeled(found: &Reference<'_>) -> Result<RefTarget, Libgit2Error> {
    match found.peel_to_commit() {
        Ok(commit) => Ok(RefTarget::Commit(CommitId(object_id(commit.id())))),
        Err(error) => match error.code() {
            ErrorCode::Peel | ErrorCode::InvalidSpec | ErrorCode::GenericError => Ok(RefTarget::Other),
            _ => Err(error.into()),
        },
    }
}

/// Returns the short names of the refs that match `pattern`, such as `main` or `origin/main`. Skips those
/// that cannot be read.
pub(crate) fn short_names(repository: &Repository, pattern: &str) -> Result<Vec<String>, Libgit2Error> {
    let found = repository.references_glob(pattern)?.flatten();
    Ok(found.filter_map(|found| found.shorthand().ok().map(str::to_owned)).collect())
}

/// Points the ref `name` at `commit`, whatever it pointed at before. A crash may lose the change, unlike with
/// [`move_ref`].
pub(crate) fn set(repository: &Repository, name: &str, commit: CommitId) -> Result<(), Libgit2Error> {
    repository.reference(name, oid(commit.0), true, "gitoggle")?;
    Ok(())
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
/// Follows Git's own protocol: creates the lock file exclusively, reads the ref again under the lock, and
/// renames the lock file into place.
pub(crate) fn move_ref(
    repository: &Repository,
    name: &str,
    expected: Option<CommitId>,
    new: CommitId,
    failpoints: &Failpoints,
) -> Result<Moved, RepositoryError> {
    // libgit2's version syncs only with a deprecated setting, and does not read the ref again under the lock
    // when it creates a ref.
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
    for folder in path.ancestors().skip(1).take_while(|folder| folder.starts_with(repository.commondir())) {
        sync_folder(folder)?;
    }
    Ok(Moved::Done)
}
