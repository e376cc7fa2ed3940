//! Decides whether Git ignores a path in a work tree: a rule matches it and it is not tracked.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use git2::{Index, Repository};

/// The ignored paths of a work tree below the folder `root`.
pub(crate) struct Ignored {
    repository: Repository,
    index: Index,
    root: String,
}

impl Ignored {
    pub(crate) fn new(repository: Repository, root: &str) -> Result<Self, git2::Error> {
        let (index, root) = (repository.index()?, root.to_owned());
        Ok(Self {
            repository,
            index,
            root,
        })
    }

    /// Returns whether Git ignores `path`, relative to `root`.
    pub(crate) fn covers(&self, path: &[u8], is_folder: bool) -> bool {
        let path = match self.root.as_bytes() {
            [] => path.to_vec(),
            root => [root, b"/", path].concat(),
        };
        let os = os_path(&path);
        // An error counts as not ignored, so that a document is checked rather than skipped.
        if !self.repository.is_path_ignored(&os).unwrap_or(false) {
            return false;
        }
        // Git never ignores a tracked path. The index lists only files, so a folder is a prefix there.
        match is_folder {
            true => self.index.find_prefix(os.join("")).is_err(),
            false => self.index.get_path(&os, 0).is_none(),
        }
    }
}

/// Converts a path in a repository to a path of the operating system.
pub(crate) fn os_path(path: &[u8]) -> PathBuf {
    OsStr::from_bytes(path).into()
}
