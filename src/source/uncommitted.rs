//! The files of a work tree that differ from its commit.

use std::path::Path;

use super::{Error, revisions};
use crate::git::changed_files;
use crate::git::refs::{self, HeadTarget, RefTarget};
use crate::model::CommitId;

/// Returns the files under `root` that differ from the commit `revision`, as paths relative to the top:
/// changed, new, or removed files. Returns none if another commit is checked out, or if the repository is
/// bare.
pub fn uncommitted(folder: &Path, revision: CommitId, root: &str) -> Result<Vec<Vec<u8>>, Error> {
    let repository = revisions::open(folder)?;
    let is_checked_out = || {
        refs::head(&repository).is_ok_and(|head| match head {
            HeadTarget::Branch(_, target) | HeadTarget::Detached(target) => {
                target == RefTarget::Commit(revision)
            }
            HeadTarget::Unborn(_) => false,
        })
    };
    if repository.is_bare() || !is_checked_out() {
        return Ok(Vec::new());
    }
    Ok(changed_files(&repository, root)?)
}

#[cfg(test)]
mod tests {
    use std::fs;

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

    #[test]
    fn what_a_sparse_checkout_leaves_out_was_not_removed() {
        let repo = Repo::new();
        repo.write("in/removed", "1");
        repo.write("out/other", "1");
        repo.commit_file("in/same", "1");
        let revision = CommitId(repo.git(&["rev-parse", "HEAD"]).parse().unwrap());
        repo.git(&["sparse-checkout", "set", "in"]);
        fs::remove_file(repo.join("in/removed")).unwrap();
        assert!(!repo.join("out").exists());
        assert_eq!(uncommitted(repo.path(), revision, "").unwrap(), [b"in/removed".to_vec()]);
    }
}
