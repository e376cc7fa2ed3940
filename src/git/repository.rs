//! Opens and makes repositories. No other module does, so that libgit2 is set up before it is used.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use git2::{Repository, RepositoryInitOptions, RepositoryOpenFlags};

use super::libgit2::libgit2;
use super::{Failpoints, Libgit2Error, ObjectError, ObjectFault, io_fault};

/// Why a repository of our own could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// A test's failpoint.
    #[error("crashed at `{0}`")]
    Crashed(&'static str),
    /// A file or folder cannot be read or written.
    #[error("cannot {doing} `{}`", .path.display())]
    Io {
        /// What was attempted.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The repository or an object is damaged.
    #[error(transparent)]
    Object(#[from] ObjectError),
}

impl RepositoryError {
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }

    /// Makes an error of the repository in `folder`, or of the disk that it is on.
    pub(crate) fn git(folder: &Path) -> impl FnOnce(git2::Error) -> Self + use<> {
        let folder = folder.to_owned();
        move |error| {
            let fault = ObjectFault::Git(Libgit2Error(error));
            ObjectError { folder, fault }.or_io()
        }
    }
}

impl ObjectError {
    /// Returns the error as one of the disk if the operating system is its cause.
    pub(crate) fn or_io(self) -> RepositoryError {
        let cause = match &self.fault {
            ObjectFault::Git(error) => io_fault(&error.0),
            _ => None,
        };
        match cause {
            Some(cause) => RepositoryError::io("read or write", &self.folder)(cause),
            None => self.into(),
        }
    }
}

/// Opens the repository at `path`: a work tree, a bare one, a linked work tree, or a symbolic link to one. Never one
/// further up.
///
/// # Errors
/// When there is none, or it is damaged.
pub fn open(path: &Path) -> Result<Repository, git2::Error> {
    open_with(path, RepositoryOpenFlags::NO_SEARCH)
}

/// Opens the repository whose objects and refs are in exactly `folder`, whatever it says of a work tree.
///
/// # Errors
/// As [`open`].
pub fn open_bare(folder: &Path) -> Result<Repository, git2::Error> {
    open_with(folder, RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::BARE)
}

/// Makes a repository in `folder` as `options` say, without what a template of the machine would put into it.
///
/// # Errors
/// When it cannot be written.
pub fn init(folder: &Path, options: &mut RepositoryInitOptions) -> Result<Repository, git2::Error> {
    libgit2()?;
    Repository::init_opts(folder, options.external_template(false))
}

/// Makes a bare repository in `folder`.
///
/// # Errors
/// As [`init`].
pub fn init_bare(folder: &Path) -> Result<Repository, git2::Error> {
    init(folder, RepositoryInitOptions::new().bare(true))
}

fn open_with(path: &Path, flags: RepositoryOpenFlags) -> Result<Repository, git2::Error> {
    libgit2()?;
    let none: [&str; 0] = [];
    Repository::open_ext(path, flags, none)
}

/// Opens the bare repository at `path`, made if it is missing. Removes what a writer that died left behind: the caller
/// holds a lock that proves that no other writer lives.
pub(crate) fn open_or_create(path: &Path, failpoints: &Failpoints) -> Result<Repository, RepositoryError> {
    // A repository is complete once it has the name: it is made beside, then renamed.
    if !path.exists() {
        let young = path.with_extension("new");
        match fs::remove_dir_all(&young) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(RepositoryError::io("remove", &young)(error));
            }
            _ => {}
        }
        let mut options = RepositoryInitOptions::new();
        options.bare(true).no_reinit(true).initial_head("gitoggle");
        init(&young, &mut options).map_err(RepositoryError::git(&young))?;
        failpoints.at("repository: made")?;
        fs::rename(&young, path).map_err(RepositoryError::io("create", path))?;
        path.parent().map_or(Ok(()), sync_folder)?;
    }
    clear(path)?;
    open_bare(path).map_err(RepositoryError::git(path))
}

/// Removes locks and temporary files.
fn clear(path: &Path) -> Result<(), RepositoryError> {
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

/// Removes the files whose name is `stale`, and returns the folders among the rest.
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

/// Makes the names in `folder` durable. Windows neither can nor needs to.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), RepositoryError> {
    if cfg!(windows) {
        return Ok(());
    }
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(RepositoryError::io("sync", folder))
}
