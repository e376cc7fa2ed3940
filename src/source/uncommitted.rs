//! Compares a work tree with its checked-out commit. Writes nothing, not even the index.

use std::path::Path;

use git2::StatusOptions;

use super::error::Error;
use super::local;
use crate::git::oid;
use crate::model::CommitId;

/// Returns the files under `root` that differ from the commit `revision`, as paths relative to the top: changed, new, or
/// removed files. Returns none if another commit is checked out, or if the repository is bare.
///
/// # Errors
/// If the repository or a file cannot be read.
pub fn uncommitted(folder: &Path, revision: CommitId, root: &str) -> Result<Vec<Vec<u8>>, Error> {
    let repository = local::open(folder)?;
    let wanted = oid(revision.0);
    let is_checked_out = repository
        .head()
        .and_then(|head| head.peel_to_commit())
        .is_ok_and(|commit| commit.id() == wanted);
    if repository.is_bare() || !is_checked_out {
        return Ok(Vec::new());
    }
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

#[cfg(test)]
mod tests {
    use super::super::testing::Repo;
    use super::*;

    #[test]
    fn what_differs_from_the_checked_out_commit_is_listed() {
        let repo = Repo::new();
        repo.write("in/same", "1");
        repo.write("in/changed", "1");
        repo.write("out/changed", "1");
        repo.commit_file("in/removed", "1");
        let revision = CommitId(repo.git(&["rev-parse", "HEAD"]).parse().unwrap());
        let found = |root| -> Vec<String> {
            let paths = uncommitted(repo.path(), revision, root).unwrap().into_iter();
            paths.map(|path| String::from_utf8(path).unwrap()).collect()
        };
        assert_eq!(found(""), Vec::<String>::new());
        repo.write("in/changed", "2");
        repo.write("in/new/file", "1");
        repo.write("out/changed", "2");
        repo.git(&["rm", "-q", "in/removed"]);
        assert_eq!(found("in"), ["in/changed", "in/new/file", "in/removed"]);
        assert_eq!(found("").len(), 4);
        repo.git(&["commit", "-q", "-a", "-m", "Another"]);
        assert_eq!(found(""), Vec::<String>::new());
    }
}
