//! Whether a configuration file may say where secrets go.

use std::path::{Path, PathBuf};

use crate::transport::RepoUrl;

/// How far a configuration file is believed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Trust {
    /// It lies in the source's work tree: whoever can open a pull request writes it.
    FromSource,
    /// It lies elsewhere: the operator writes it.
    Trusted,
}

impl Trust {
    /// Decides about `file` when documents come from `repo`; `folder` is what relative paths are relative to.
    ///
    /// Names and what they stand for both count: a link inside the work tree that leads out of it was put there
    /// by whoever writes the tree, and a link from outside leads to what they wrote.
    #[must_use]
    pub fn of(file: &Path, repo: &str, folder: &Path) -> Self {
        let Some(repo) = repo.parse::<RepoUrl>().ok() else {
            return Self::FromSource;
        };
        let Some(repo) = repo.local_path() else {
            return Self::Trusted;
        };
        let trees = work_trees(&folder.join(repo));
        let names = names(&folder.join(file));
        match names
            .iter()
            .any(|name| trees.iter().any(|tree| name.starts_with(tree)))
        {
            true => Self::FromSource,
            false => Self::Trusted,
        }
    }
}

/// The folders that may be the work tree of the repository at `path`, which may be a `.git` itself.
fn work_trees(path: &Path) -> Vec<PathBuf> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match path.file_name().is_some_and(|name| name == ".git") {
        true => path.parent().map(Path::to_owned).into_iter().collect(),
        false => vec![path],
    }
}

/// The file itself, and the name by which it was given.
fn names(file: &Path) -> Vec<PathBuf> {
    let parent = file.parent().and_then(|parent| parent.canonicalize().ok());
    let as_given = parent
        .zip(file.file_name())
        .map(|(parent, name)| parent.join(name));
    let itself = file.canonicalize().ok();
    as_given.into_iter().chain(itself).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_the_work_tree_is_from_the_source_whatever_it_is_called() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for folder in ["repo/.git", "repo/deploy", "repository", "elsewhere"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        for file in [
            "repo/in.yaml",
            "repo/deploy/in.yaml",
            "repository/out.yaml",
            "elsewhere/out.yaml",
        ] {
            std::fs::write(at(file), "").unwrap();
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            symlink(at("repo/in.yaml"), at("elsewhere/in-by-link.yaml")).unwrap();
            symlink(at("elsewhere/out.yaml"), at("repo/in-leads-out.yaml")).unwrap();
            symlink(at("repo"), at("current")).unwrap();
        }
        let trust = |file: &str, repo: &str| Trust::of(Path::new(file), repo, dir.path());
        for (file, repo, expected) in [
            ("repo/in.yaml", "repo", Trust::FromSource),
            ("repo/deploy/in.yaml", "./repo", Trust::FromSource),
            ("elsewhere/../repo/in.yaml", "repo", Trust::FromSource),
            ("repo/in.yaml", "repo/.git", Trust::FromSource),
            ("elsewhere/in-by-link.yaml", "repo", Trust::FromSource),
            ("repo/in-leads-out.yaml", "repo", Trust::FromSource),
            ("repo/in.yaml", "current", Trust::FromSource),
            ("current/in.yaml", "repo", Trust::FromSource),
            ("repository/out.yaml", "repo", Trust::Trusted),
            ("elsewhere/out.yaml", "repo", Trust::Trusted),
            ("repo/in.yaml", "https://git.example/a", Trust::Trusted),
            ("repo/in.yaml", "ftp://nonsense", Trust::FromSource),
        ] {
            assert_eq!(trust(file, repo), expected, "{file} of {repo}");
        }
    }
}
