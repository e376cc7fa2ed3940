//! Creates a small repository for demonstrations, with real commits but without the `git` program.

use std::path::{Path, PathBuf};

use git2::{IndexAddOption, Oid, Repository, RepositoryInitOptions, Signature};

use super::commit::object_id;
use super::error::RepositoryError;
use super::repository::init;
use crate::model::CommitId;

const BRANCH: &str = "refs/heads/main";

/// A repository with a work tree, on the branch `main`.
pub struct Sample {
    folder: PathBuf,
    repository: Repository,
}

impl Sample {
    /// Creates `folder` with an empty repository.
    pub(crate) fn create(folder: &Path) -> Result<Self, RepositoryError> {
        let mut options = RepositoryInitOptions::new();
        options.initial_head("main");
        let repository = init(folder, &mut options).map_err(RepositoryError::git(folder))?;
        Ok(Self { folder: folder.to_owned(), repository })
    }

    /// Writes and commits `files`: paths with their content.
    pub(crate) fn commit(&self, message: &str, files: &[(&str, &str)]) -> Result<CommitId, RepositoryError> {
        let parents: Vec<Oid> = self.head().into_iter().collect();
        let commit = self.write(message, files, &parents)?;
        self.move_main(commit)?;
        Ok(CommitId(object_id(commit)))
    }

    /// Commits `files` on a branch and merges it, as a pull request does.
    pub(crate) fn pull_request(
        &self,
        message: &str,
        merge: &str,
        files: &[(&str, &str)],
    ) -> Result<CommitId, RepositoryError> {
        let before: Vec<Oid> = self.head().into_iter().collect();
        let branch = self.write(message, files, &before)?;
        let parents: Vec<Oid> = before.into_iter().chain([branch]).collect();
        let merge = self.write(merge, &[], &parents)?;
        self.move_main(merge)?;
        Ok(CommitId(object_id(merge)))
    }

    fn head(&self) -> Option<Oid> {
        self.repository.refname_to_id(BRANCH).ok()
    }

    fn move_main(&self, commit: Oid) -> Result<(), RepositoryError> {
        let moved = self.repository.reference(BRANCH, commit, true, "sample");
        moved.map(drop).map_err(RepositoryError::git(&self.folder))
    }

    fn write(&self, message: &str, files: &[(&str, &str)], parents: &[Oid]) -> Result<Oid, RepositoryError> {
        for (path, content) in files {
            self.put(path, content)?;
        }
        self.commit_all(message, parents).map_err(RepositoryError::git(&self.folder))
    }

    /// Commits the work tree. Moves no ref, because the branch commit of a pull request is not the tip of
    /// `main`.
    fn commit_all(&self, message: &str, parents: &[Oid]) -> Result<Oid, git2::Error> {
        let mut index = self.repository.index()?;
        index.add_all(["*"], IndexAddOption::DEFAULT, None)?;
        index.update_all(["*"], None)?;
        index.write()?;
        let tree = self.repository.find_tree(index.write_tree()?)?;
        let author = Signature::now("Ann Author", "ann@example.com")?;
        let parents = parents.iter().map(|id| self.repository.find_commit(*id));
        let parents = parents.collect::<Result<Vec<_>, _>>()?;
        let parents: Vec<_> = parents.iter().collect();
        self.repository.commit(None, &author, &author, message, &tree, &parents)
    }

    fn put(&self, path: &str, content: &str) -> Result<(), RepositoryError> {
        let full = self.folder.join(path);
        let folder = full.parent().unwrap_or(&self.folder);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&full, content));
        written.map_err(RepositoryError::io("write", &full))
    }
}

impl std::fmt::Debug for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sample").field("folder", &self.folder).finish_non_exhaustive()
    }
}
