//! Creates a small repository for demonstrations, with real commits but without the `git` program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use git2::{IndexAddOption, Oid, Repository, RepositoryInitOptions, Signature};

use super::error::Error;
use crate::git::{self, object_id};
use crate::model::CommitId;

const BRANCH: &str = "refs/heads/main";

/// A repository with a work tree, on the branch `main`.
pub struct Sample {
    folder: PathBuf,
    repository: Repository,
}

impl Sample {
    /// Creates `folder` with an empty repository.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn create(folder: &Path) -> Result<Self, Error> {
        let mut options = RepositoryInitOptions::new();
        options.initial_head("main");
        let repository = git::init(folder, &mut options)?;
        Ok(Self {
            folder: folder.to_owned(),
            repository,
        })
    }

    /// Writes and commits `files`: paths with their content, or `None` to remove a file.
    ///
    /// # Errors
    /// If a file or the repository cannot be written.
    pub fn commit(&self, message: &str, files: &BTreeMap<&str, Option<&str>>) -> Result<CommitId, Error> {
        let parents: Vec<Oid> = self.head().into_iter().collect();
        let commit = self.write(message, files, &parents)?;
        self.move_main(commit)?;
        Ok(CommitId(object_id(commit)))
    }

    /// Commits `files` on a branch and merges it, as a pull request does.
    ///
    /// # Errors
    /// If a file or the repository cannot be written.
    pub fn pull_request(
        &self,
        message: &str,
        merge: &str,
        files: &BTreeMap<&str, Option<&str>>,
    ) -> Result<CommitId, Error> {
        let before: Vec<Oid> = self.head().into_iter().collect();
        let branch = self.write(message, files, &before)?;
        let parents: Vec<Oid> = before.into_iter().chain([branch]).collect();
        let merge = self.write(merge, &BTreeMap::new(), &parents)?;
        self.move_main(merge)?;
        Ok(CommitId(object_id(merge)))
    }

    fn head(&self) -> Option<Oid> {
        self.repository.refname_to_id(BRANCH).ok()
    }

    fn move_main(&self, commit: Oid) -> Result<(), Error> {
        self.repository.reference(BRANCH, commit, true, "sample")?;
        Ok(())
    }

    fn write(
        &self,
        message: &str,
        files: &BTreeMap<&str, Option<&str>>,
        parents: &[Oid],
    ) -> Result<Oid, Error> {
        for (path, content) in files {
            self.put(path, *content)?;
        }
        let mut index = self.repository.index()?;
        index.add_all(["*"], IndexAddOption::DEFAULT, None)?;
        index.update_all(["*"], None)?;
        index.write()?;
        let tree = self.repository.find_tree(index.write_tree()?)?;
        let author = Signature::now("Ann Author", "ann@example.com")?;
        let parents = parents.iter().map(|id| self.repository.find_commit(*id));
        let parents = parents.collect::<Result<Vec<_>, _>>()?;
        let parents: Vec<_> = parents.iter().collect();
        // Moves no ref, because the branch commit of a pull request is not the tip of `main`.
        Ok(self
            .repository
            .commit(None, &author, &author, message, &tree, &parents)?)
    }

    fn put(&self, path: &str, content: Option<&str>) -> Result<(), Error> {
        let full = self.folder.join(path);
        let folder = full.parent().unwrap_or(&self.folder);
        let written = match content {
            Some(content) => std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&full, content)),
            None => std::fs::remove_file(&full),
        };
        written.map_err(|source| Error::Io {
            what: "write",
            path: full,
            source,
        })
    }
}

impl std::fmt::Debug for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sample")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}
