//! Decides whether Git ignores a path in a work tree: a rule matches it and it is not tracked.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use git2::{Index, Repository};

/// The ignored paths of a work tree below the folder `root`.
pub(crate) struct Ignored {
    repository: Repository,
    /// Opened when a rule matches, because reading it takes long if it has many files; `None` if it cannot be read.
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
        // An error counts as not ignored, so that a document is checked rather than skipped.
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
