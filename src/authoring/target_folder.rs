//! Reads and writes files below one folder of a work tree, and nowhere else.
//!
//! Every folder on the way is opened relative to its parent without following links, so that a link cannot lead out of
//! the folder, even if another process creates it meanwhile. A file is complete or absent: it is written under a
//! temporary name and then renamed. A work tree is not state, so nothing is synced to disk. A file that is committed but not
//! checked out exists, so it is never created.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::document::LARGEST_DOCUMENT;
use crate::model::{Blob, escaped};
use crate::source::{self, worktree};

/// The temporary name in the folder of a document. The lock makes one name sufficient, so a killed process leaves at most
/// one such file in a folder, which the next one replaces.
const TEMPORARY: &str = ".gitoggle.tmp";

/// A folder of a work tree that this process may write, locked against other processes.
#[derive(Debug)]
pub(crate) struct TargetFolder {
    top: OwnedFd,
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
    /// A file that exists is replaced.
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
        // A child that is forked and has not called `exec` yet has a copy of the descriptor, which would keep the lock.
        let _ = rustix::fs::flock(&self.top, FlockOperation::Unlock);
    }
}

impl TargetFolder {
    /// Opens the folder `root` of the work tree whose top is `top`. The folder need not exist yet.
    pub(crate) fn open(top: &Path, root: &str) -> Result<Self, FolderError> {
        let shown = top.to_string_lossy().into_owned();
        let left_out = worktree::not_checked_out(top, root)?.into_keys();
        let left_out = left_out.filter_map(|path| String::from_utf8(path).ok()).collect();
        let top = rustix::fs::open(top, FOLDER, Mode::empty()).map_err(io_error("open", &shown))?;
        // Any other error means that the file system has no locks, which must not prevent a write.
        if rustix::fs::flock(&top, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(FolderError::Busy);
        }
        let root = root.trim_matches('/').to_owned();
        Ok(Self { top, root, left_out })
    }

    /// Returns `path`, which is relative to the root, as messages show it: relative to the top.
    pub(crate) fn shown(&self, path: &str) -> String {
        match self.root.as_str() {
            "" => path.to_owned(),
            root => format!("{root}/{path}"),
        }
    }

    /// Returns the files that are committed but not checked out, relative to the root.
    pub(crate) const fn left_out(&self) -> &BTreeSet<String> {
        &self.left_out
    }

    /// Reads the file at `path`, relative to the root.
    pub(crate) fn read(&self, path: &str) -> Result<Blob, FolderError> {
        let shown = self.shown(path);
        let (folder, name) = self.parent(&shown, Missing::Fails)?;
        if let Some(refused) = refusal(&folder, name, &shown) {
            return Err(refused);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file =
            rustix::fs::openat(&folder, name, flags, Mode::empty()).map_err(io_error("read", &shown))?;
        let mut content = Vec::new();
        // One byte more shows that the file is larger than a document may be.
        let limit = LARGEST_DOCUMENT as u64 + 1;
        let read = File::from(file).take(limit).read_to_end(&mut content);
        let size = read.map_err(|source| FolderError::Io { what: "read", path: shown, source })?;
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
        let (folder, name) = self.parent(&shown, Missing::IsCreated)?;
        if let Some(refused) = refusal(&folder, name, &shown) {
            return Err(refused);
        }
        if existing == Existing::Keep && exists(&folder, name) {
            return Ok(WriteResult::Exists);
        }
        let mode = mode(&folder, name);
        let written = write_temporary(&folder, text, mode).and_then(|()| rename(&folder, name, existing));
        match written {
            Ok(result) => Ok(result),
            Err(source) => {
                // The error that is reported is the first one.
                let _ = rustix::fs::unlinkat(&folder, TEMPORARY, AtFlags::empty());
                Err(FolderError::Io { what: "write", path: shown, source })
            }
        }
    }

    /// Opens the folder that contains `path`, which is relative to the top. Returns the name of the file, too.
    fn parent<'p>(&self, path: &'p str, missing: Missing) -> Result<(OwnedFd, &'p str), FolderError> {
        let mut folder = self.top.try_clone().map_err(|source| FolderError::Io {
            what: "open",
            path: path.to_owned(),
            source,
        })?;
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut end = 0;
        for part in folders.split('/').filter(|part| !part.is_empty()) {
            end += part.len();
            let shown = &path[..end];
            end += 1;
            folder = subfolder(&folder, part, shown, missing)?;
        }
        Ok((folder, name))
    }
}

/// What happens to a folder that does not exist.
#[derive(Clone, Copy)]
enum Missing {
    Fails,
    IsCreated,
}

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::RDONLY).union(OFlags::CLOEXEC);

fn subfolder(parent: &OwnedFd, name: &str, shown: &str, missing: Missing) -> Result<OwnedFd, FolderError> {
    let open = || rustix::fs::openat(parent, name, FOLDER | OFlags::NOFOLLOW, Mode::empty());
    let opened = match (open(), missing) {
        (Err(Errno::NOENT), Missing::IsCreated) => {
            match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => open(),
                Err(error) => return Err(io_error("create", shown)(error)),
            }
        }
        (opened, _) => opened,
    };
    let folder = opened.map_err(|error| match kind(parent, name) {
        Some(FileType::Symlink) => refused(shown, "a symbolic link"),
        Some(FileType::Directory) | None => io_error("open", shown)(error),
        Some(_) => refused(shown, "not a folder"),
    })?;
    match exists(&folder, ".git") {
        // A submodule or a nested repository, whose files belong to another history.
        true => Err(refused(shown, "a separate repository")),
        false => Ok(folder),
    }
}

/// Returns why the file `name` is neither read nor written, if it exists and is not a regular file.
fn refusal(folder: &OwnedFd, name: &str, shown: &str) -> Option<FolderError> {
    match kind(folder, name)? {
        FileType::RegularFile => None,
        FileType::Symlink => Some(refused(shown, "a symbolic link")),
        _ => Some(refused(shown, "not a regular file")),
    }
}

fn kind(folder: &OwnedFd, name: &str) -> Option<FileType> {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(found.st_mode))
}

fn exists(folder: &OwnedFd, name: &str) -> bool {
    kind(folder, name).is_some()
}

/// Returns the permissions of the file `name`, if it exists.
fn mode(folder: &OwnedFd, name: &str) -> Option<Mode> {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(Mode::from_raw_mode(found.st_mode))
}

/// Writes the temporary file, with the permissions `mode` of the file that it replaces.
fn write_temporary(folder: &OwnedFd, text: &str, mode: Option<Mode>) -> io::Result<()> {
    let create = || {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        rustix::fs::openat(folder, TEMPORARY, flags, Mode::from_raw_mode(0o666))
    };
    let file = match create() {
        Err(Errno::EXIST) => {
            rustix::fs::unlinkat(folder, TEMPORARY, AtFlags::empty())?;
            create()
        }
        created => created,
    };
    let file = file?;
    if let Some(mode) = mode {
        rustix::fs::fchmod(&file, mode)?;
    }
    File::from(file).write_all(text.as_bytes())
}

fn rename(folder: &OwnedFd, name: &str, existing: Existing) -> io::Result<WriteResult> {
    let folder = folder.as_fd();
    let plain = || rustix::fs::renameat(folder, TEMPORARY, folder, name);
    let renamed = match existing {
        Existing::Replace => plain(),
        Existing::Keep => {
            match rustix::fs::renameat_with(folder, TEMPORARY, folder, name, RenameFlags::NOREPLACE) {
                // Some file systems lack the flag. The file did not exist a moment ago.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => plain(),
                renamed => renamed,
            }
        }
    };
    match renamed {
        Ok(()) => Ok(WriteResult::Written),
        Err(Errno::EXIST) => {
            rustix::fs::unlinkat(folder, TEMPORARY, AtFlags::empty())?;
            Ok(WriteResult::Exists)
        }
        Err(error) => Err(error.into()),
    }
}

fn io_error(what: &'static str, path: &str) -> impl Fn(Errno) -> FolderError {
    let path = path.to_owned();
    move |error| FolderError::Io { what, path: path.clone(), source: error.into() }
}

fn refused(path: &str, what: &'static str) -> FolderError {
    FolderError::Refused { path: path.to_owned(), what }
}
