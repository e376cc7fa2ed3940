//! Finds out how a work tree differs from its repository: what is changed, ignored, or not checked out.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Index, IndexEntry, IndexEntryExtendedFlag, Repository, StatusOptions};

use super::commit::object_id;
use super::error::Libgit2Error;
use crate::model::ObjectId;

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
