//! Reads the files of a folder, committed or not, so that documents can be checked before a commit.
//!
//! Skips symbolic links, nested repositories, and files that Git ignores. The folder need not be a
//! repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::Error;
use super::revisions;
use super::snapshot::components;
use crate::git::{self, Ignored, Repository, os_path};
use crate::model::{Blob, ObjectId};

/// A folder of files with its ignore rules.
pub struct WorkTree {
    folder: PathBuf,
    ignored: Option<Ignored>,
}

/// Returns the top folder of the work tree that contains `path`, if any.
pub fn top_of(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let mut folders = path.ancestors();
    let (folder, repository) = folders.find_map(|folder| Some((folder, revisions::open(folder).ok()?)))?;
    // The folder itself: the repository may record the former place of a linked work tree that was moved.
    repository.workdir().map(|_| folder.to_owned())
}

/// Returns whether the repository with this top has a remote `origin` through which jobs can share state.
pub fn has_origin(top: &Path) -> bool {
    let url = revisions::origin_url(top).ok().flatten();
    url.is_some_and(|url| url.parse::<git::RepoUrl>().is_ok())
}

/// Returns whether both paths lead to the same existing folder.
pub fn is_same_folder(one: &Path, other: &Path) -> bool {
    let [one, other] = [one, other].map(Path::canonicalize);
    one.is_ok_and(|one| other.is_ok_and(|other| one == other))
}

/// Returns whether `folder` is a bare repository.
pub fn is_bare(folder: &Path) -> bool {
    revisions::open(folder).is_ok_and(|repository| repository.is_bare())
}

/// Returns the files below the folder `root` of `folder` that are committed but not checked out, by their
/// path relative to the root, with the ids of their blobs. See [`WorkTree::open`] for `folder`; the root need
/// not exist.
pub fn not_checked_out(folder: &Path, root: &str) -> Result<BTreeMap<Vec<u8>, ObjectId>, Error> {
    let repository = match revisions::open(folder) {
        Ok(repository) => repository,
        Err(Error::NoRepository(_)) => return Ok(BTreeMap::new()),
        Err(error) => return Err(error),
    };
    let root = components(root).ok_or_else(|| Error::NoFolder(folder.join(root)))?;
    let files = git::not_checked_out(&repository)?.into_iter();
    let prefix = match root.as_str() {
        "" => root,
        _ => root + "/",
    };
    let inner = files.filter_map(|(path, id)| Some((path.strip_prefix(prefix.as_bytes())?.to_vec(), id)));
    Ok(inner.collect())
}

type Paths = Vec<Vec<u8>>;

impl WorkTree {
    /// Opens the folder `root` of `folder`, which is the top of a work tree or a folder outside of work
    /// trees.
    pub(crate) fn open(folder: &Path, root: &str) -> Result<Self, Error> {
        let repository = match revisions::open(folder) {
            Ok(repository) => Some(repository),
            Err(Error::NoRepository(_)) => None,
            Err(error) => return Err(error),
        };
        if repository.as_ref().is_some_and(Repository::is_bare) {
            return Err(Error::NoWorkTree(folder.to_owned()));
        }
        let missing = || Error::NoFolder(folder.join(root));
        let root = components(root).ok_or_else(missing)?;
        let inner = folder.join(&root);
        if !fs::metadata(&inner).is_ok_and(|found| found.is_dir()) {
            return Err(missing());
        }
        Ok(Self { folder: inner, ignored: repository.map(|repository| Ignored::new(repository, &root)) })
    }

    /// Returns the paths of all regular files relative to the root, sorted, with `/` as separator. Paths need
    /// not be UTF-8.
    pub(crate) fn files(&self) -> Result<Vec<Vec<u8>>, Error> {
        self.files_in(|_| true)
    }

    /// Returns the same as [`Self::files`], without the folders that `is_wanted` rejects. It gets their
    /// paths.
    fn files_in(&self, is_wanted: impl Fn(&[u8]) -> bool) -> Result<Vec<Vec<u8>>, Error> {
        Ok(self.files_and_links(is_wanted)?.0)
    }

    /// Returns the paths of the files and of the symbolic links, which are never followed.
    pub(crate) fn files_and_links(&self, is_wanted: impl Fn(&[u8]) -> bool) -> Result<(Paths, Paths), Error> {
        let (mut files, mut links) = (Vec::new(), Vec::new());
        let mut folders = vec![(self.folder.clone(), Vec::new())];
        while let Some((folder, prefix)) = folders.pop() {
            let unreadable = |source| Error::Io { what: "read", path: folder.clone(), source };
            for entry in fs::read_dir(&folder).map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                let name = entry.file_name();
                let path = join(&prefix, name.as_encoded_bytes());
                let kind = entry.file_type().map_err(unreadable)?;
                if name == ".git"
                    || (kind.is_dir() && !is_wanted(&path))
                    || self.ignored.as_ref().is_some_and(|ignored| ignored.covers(&path, kind.is_dir()))
                {
                    continue;
                }
                // Symbolic links, nested repositories, and submodules are never followed
                // (src/source/README.md, "Reading a repository").
                if kind.is_file() {
                    files.push(path);
                } else if kind.is_symlink() {
                    links.push(path);
                } else if kind.is_dir() && !entry.path().join(".git").exists() {
                    folders.push((entry.path(), path));
                }
            }
        }
        files.sort();
        links.sort();
        Ok((files, links))
    }

    /// Returns the content of the file at `path`, like [`content`].
    pub(crate) fn content(&self, path: &[u8], limit: usize) -> Result<Blob, Error> {
        content(&self.folder, path, limit)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Returns the content of the file at `path` below `folder`, or its size if it exceeds `limit` bytes.
pub fn content(folder: &Path, path: &[u8], limit: usize) -> Result<Blob, Error> {
    let full = folder.join(os_path(path));
    let unreadable = |source| Error::Io { what: "read", path: full.clone(), source };
    // Not `metadata`, because symbolic links are never followed (src/source/README.md, "Reading a
    // repository").
    let found = fs::symlink_metadata(&full).map_err(unreadable)?;
    if !found.is_file() {
        return Err(unreadable(std::io::Error::other("it is not a regular file")));
    }
    if found.len() > limit as u64 {
        return Ok(Blob::TooLarge(found.len()));
    }
    let content = fs::read(&full).map_err(unreadable)?;
    // The file may have grown since its size was read.
    if content.len() > limit {
        return Ok(Blob::TooLarge(content.len() as u64));
    }
    Ok(Blob::Content(content))
}

impl std::fmt::Debug for WorkTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkTree").field("folder", &self.folder).finish_non_exhaustive()
    }
}

fn join(prefix: &[u8], name: &[u8]) -> Vec<u8> {
    match prefix {
        [] => name.to_vec(),
        prefix => [prefix, b"/", name].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Repo;
    use super::*;
    use crate::git::pack::{ObjectKind, id_of};

    fn paths(tree: &WorkTree) -> Vec<String> {
        let files = tree.files().unwrap().into_iter();
        files.map(|path| String::from_utf8(path).unwrap()).collect()
    }

    #[test]
    fn uncommitted_files_are_listed_and_ignored_ones_are_not() {
        let repo = Repo::new();
        repo.write("kept/tracked.log", "1");
        repo.commit_file("toggles/a", "1");
        repo.write("toggles/new", "2");
        repo.write(".gitignore", "*.log\nbuild/\n");
        for ignored in ["noise.log", "build/x", "toggles/build/y", "kept/other.log"] {
            repo.write(ignored, "");
        }
        let tree = WorkTree::open(repo.path(), "").unwrap();
        assert_eq!(paths(&tree), [".gitignore", "kept/tracked.log", "toggles/a", "toggles/new"]);
        let tree = WorkTree::open(repo.path(), "toggles/").unwrap();
        assert_eq!(paths(&tree), ["a", "new"]);
        assert_eq!(tree.content(b"new", 10).unwrap(), Blob::Content(b"2".to_vec()));
        assert_eq!(tree.content(b"new", 0).unwrap(), Blob::TooLarge(1));
        let id = repo.git(&["hash-object", "toggles/new"]);
        assert_eq!(id_of(ObjectKind::Blob, b"2").to_string(), id);
    }

    #[test]
    fn links_and_nested_repositories_are_skipped() {
        let repo = Repo::new();
        repo.write("folder/a", "1");
        repo.write("nested/b", "1");
        super::super::testing::git(&repo.join("nested"), &["init", "-q"]);
        std::os::unix::fs::symlink("folder", repo.join("link")).unwrap();
        let tree = WorkTree::open(repo.path(), "").unwrap();
        assert_eq!(paths(&tree), ["folder/a"]);
        assert!(tree.content(b"link", 10).is_err());
    }

    #[test]
    fn a_plain_folder_is_accepted_and_a_bare_repository_is_not() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.log"), "1").unwrap();
        assert_eq!(paths(&WorkTree::open(folder.path(), "").unwrap()), ["a.log"]);
        assert!(matches!(WorkTree::open(folder.path(), "nowhere"), Err(Error::NoFolder(_))));
        Repository::init_bare(folder.path().join("bare")).unwrap();
        assert!(matches!(WorkTree::open(&folder.path().join("bare"), ""), Err(Error::NoWorkTree(_))));
    }

    #[test]
    fn the_top_of_a_work_tree_is_found_from_a_subfolder() {
        let repo = Repo::new();
        repo.write("x/y/a", "1");
        let top = fs::canonicalize(repo.path()).unwrap();
        assert_eq!(fs::canonicalize(top_of(&repo.join("x/y")).unwrap()).unwrap(), top);
        assert_eq!(top_of(tempfile::tempdir().unwrap().path()), None);
    }
}
