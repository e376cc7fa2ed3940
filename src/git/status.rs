//! Compares a work tree with its index and its checked-out commit. Writes nothing, not even the index.

use git2::{Repository, StatusOptions};

use super::libgit2_error::Libgit2Error;

/// Returns the changed, new, or removed files under `root`, as paths relative to the top.
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
    Ok(statuses.iter().map(|entry| entry.path_bytes().to_vec()).collect())
}
