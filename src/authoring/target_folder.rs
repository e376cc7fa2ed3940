//! Reads and writes files below one folder of a work tree, and nowhere else.
//!
//! Every folder on the way is examined before it is entered, so that a link in the work tree cannot lead out
//! of the folder. A file is complete or absent: it is written under a temporary name and then renamed. A work
//! tree is not state, so nothing is synced to disk. A file that is committed but not checked out exists, so
//! it is never created.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::AuthoringError;
use crate::document::LARGEST_DOCUMENT;
use crate::model::{Blob, escaped};
use crate::source;
use crate::source::worktree::{self, WorkTree};

/// A folder of a work tree that this process may write, locked against other processes.
#[derive(Debug)]
pub(crate) struct TargetFolder {
    top: PathBuf,
    lock: File,
    /// The path of the folder below the top, without outer slashes; may be empty.
    root: String,
    /// The files that are committed but not checked out, relative to the root.
    left_out: BTreeSet<String>,
}

/// Why a document could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FolderError {
    #[error("another gitoggle process is writing to this work tree")]
    Busy,
    #[error("could not {what} `{}`", escaped(path))]
    Io { what: &'static str, path: String, source: io::Error },
    #[error(transparent)]
    Repository(#[from] source::Error),
    #[error("`{}` is {what}, and gitoggle does not write there", escaped(path))]
    Refused { path: String, what: &'static str },
}

/// Whether a file may be replaced.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Existing {
    /// A file that exists stays.
    Keep,
    Replace,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum WriteResult {
    /// There is a file already, checked out or not, which stays.
    Exists,
    /// The file has the new content.
    Written,
}

impl Drop for TargetFolder {
    fn drop(&mut self) {
        // A child that is forked and has not called `exec` yet has a copy of the descriptor, which would keep
        // the lock.
        let _ = self.lock.unlock();
    }
}

impl TargetFolder {
    /// Opens the folder `root` of the work tree whose top is `top`. The folder need not exist yet.
    pub(crate) fn open(top: &Path, root: &str) -> Result<Self, FolderError> {
        let left_out = worktree::not_checked_out(top, root)?;
        let left_out = left_out.into_keys().filter_map(|path| String::from_utf8(path).ok()).collect();
        let lock = File::open(top).map_err(io_error("open", &top.to_string_lossy()))?;
        // Any other error means that the file system has no locks, which must not prevent a write.
        if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(FolderError::Busy);
        }
        Ok(Self { top: top.to_owned(), lock, root: root.trim_matches('/').to_owned(), left_out })
    }

    /// Returns `path`, which is relative to the root, as messages show it: relative to the top.
    pub(crate) fn shown(&self, path: &str) -> String {
        match self.root.as_str() {
            "" => path.to_owned(),
            root => format!("{root}/{path}"),
        }
    }

    /// Returns those of the `written` files that Git ignores, so that they are not committed. Their paths are
    /// relative to the top.
    pub(crate) fn ignored(
        &self,
        written: impl Iterator<Item = String>,
    ) -> Result<Vec<String>, source::Error> {
        let mut written: BTreeSet<String> = written.collect();
        if !written.is_empty() {
            for path in WorkTree::open(&self.top, &self.root)?.files()? {
                written.remove(&self.shown(&String::from_utf8_lossy(&path)));
            }
        }
        Ok(written.into_iter().collect())
    }

    /// Returns the files that are committed but not checked out, relative to the root.
    pub(crate) const fn left_out(&self) -> &BTreeSet<String> {
        &self.left_out
    }

    /// Reads the file at `path`, relative to the root.
    pub(crate) fn read(&self, path: &str) -> Result<Blob, FolderError> {
        let shown = self.shown(path);
        let file = File::open(self.place(&shown)?).map_err(io_error("read", &shown))?;
        let mut content = Vec::new();
        // One byte more shows that the file is larger than a document may be.
        let read = file.take(LARGEST_DOCUMENT as u64 + 1).read_to_end(&mut content);
        let size = read.map_err(io_error("read", &shown))?;
        if size > LARGEST_DOCUMENT { Ok(Blob::TooLarge(size as u64)) } else { Ok(Blob::Content(content)) }
    }

    /// Writes the file at `path`, relative to the root, and creates its folders.
    pub(crate) fn write(
        &self,
        path: &str,
        text: &str,
        existing: Existing,
    ) -> Result<WriteResult, FolderError> {
        let shown = self.shown(path);
        if self.left_out.contains(path) {
            return match existing {
                Existing::Keep => Ok(WriteResult::Exists),
                Existing::Replace => Err(refused(&shown, "committed but not checked out")),
            };
        }
        let file = self.place(&shown)?;
        let found = fs::metadata(&file).ok();
        if found.is_some() && existing == Existing::Keep {
            return Ok(WriteResult::Exists);
        }
        let permissions = found.map(|found| found.permissions());
        write(&file, text, existing, permissions).map_err(io_error("write", &shown))
    }

    /// Returns the place of a file, `path` below the top, if only ordinary folders lead to it and nothing but
    /// an ordinary file is there.
    fn place(&self, path: &str) -> Result<PathBuf, FolderError> {
        let mut place = self.top.clone();
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for end in ends {
            let (shown, is_folder) = (&path[..end], end < path.len());
            place = self.top.join(shown);
            let refusal = match fs::symlink_metadata(&place) {
                Ok(found) if found.is_symlink() => "a symbolic link",
                Ok(found) if is_folder && !found.is_dir() => "not a folder",
                // A submodule or a nested repository, whose files belong to another history.
                Ok(_) if is_folder && fs::symlink_metadata(place.join(".git")).is_ok() => {
                    "a separate repository"
                }
                Ok(found) if !is_folder && !found.is_file() => "not a regular file",
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(io_error("open", shown)(error));
                }
                Ok(_) | Err(_) => continue,
            };
            return Err(refused(shown, refusal));
        }
        Ok(place)
    }
}

/// Writes a file under a temporary name, with the permissions of the file that it replaces, and renames it.
pub(super) fn write(
    file: &Path,
    text: &str,
    existing: Existing,
    permissions: Option<Permissions>,
) -> io::Result<WriteResult> {
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder)?;
    // The lock makes one name sufficient, so a killed process leaves at most one such file in a folder, which
    // the next one replaces.
    let temporary = TempPath::try_from_path(folder.join(".gitoggle.tmp"))?;
    let _ = fs::remove_file(&temporary);
    let mut new = File::create_new(&temporary)?;
    permissions.map_or(Ok(()), |permissions| new.set_permissions(permissions))?;
    new.write_all(text.as_bytes())?;
    if existing == Existing::Replace {
        temporary.persist(file)?;
        return Ok(WriteResult::Written);
    }
    // An editor may have created the file since it was looked for.
    match temporary.persist_noclobber(file) {
        Ok(()) => Ok(WriteResult::Written),
        Err(kept) if kept.error.kind() == ErrorKind::AlreadyExists => Ok(WriteResult::Exists),
        Err(failed) => Err(failed.error),
    }
}

/// Creates the files of a starter repository: `files`, paths relative to `folder` with their contents. Leaves
/// those alone that exist.
///
/// # Errors
/// If a file cannot be written. Those before it stay.
pub(crate) fn create_files<'f>(
    folder: &Path,
    files: &[(&'f str, &str)],
) -> Result<Vec<(&'f str, WriteResult)>, AuthoringError> {
    let target = TargetFolder::open(folder, "")?;
    let create = |(path, text): &(&'f str, &str)| Ok((*path, target.write(path, text, Existing::Keep)?));
    files.iter().map(create).collect()
}

fn io_error(what: &'static str, path: &str) -> impl Fn(io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::Io { what, path: path.clone(), source }
}

fn refused(path: &str, what: &'static str) -> FolderError {
    FolderError::Refused { path: path.to_owned(), what }
}
