//! Decides whether a configuration file may set where secrets go.

use std::path::{Path, PathBuf};

use super::repository::work_trees;
use crate::git::RepoUrl;

/// Returns the work tree that makes `file` untrusted, if documents come from `repo` and `folder` is the working directory:
/// the tree contains the file, and is the source or contains the working directory. Anyone who can open a pull request can
/// write such a file. Elsewhere, the operator writes it.
pub(super) fn untrusted_tree(file: &Path, repo: &str, folder: &Path) -> Option<PathBuf> {
    let source = source(repo, folder);
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let is_source = |tree: &PathBuf| Some(tree) == source.as_ref() || folder.starts_with(tree);
    // Both the link and its target count: authors of the work tree control a link inside it and a target inside it.
    let names = names(&folder.join(file));
    // Only the parents: a link in a work tree is part of it, wherever the target is.
    let mut trees = names.iter().filter_map(|name| name.parent()).flat_map(work_trees);
    trees.find(is_source)
}

/// Returns the work tree of a local source. `repo` may also be the path of its `.git`.
fn source(repo: &str, folder: &Path) -> Option<PathBuf> {
    let repo = repo.parse::<RepoUrl>().ok()?;
    let path = folder.join(repo.local_path()?);
    let path = path.canonicalize().unwrap_or(path);
    let path = match path.file_name() {
        // The `.git` folder is not inside its own work tree, so the search starts beside it.
        Some(name) if name == ".git" => path.parent()?,
        _ => &path,
    };
    work_trees(path).into_iter().next()
}

/// Returns the path as given and the path with links resolved.
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
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_in_the_source_or_around_the_working_directory_is_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let at = |path: &str| top.join(path);
        for folder in [
            "repo/.git",
            "repo/deploy",
            "other/.git",
            "repository",
            "elsewhere",
        ] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        for file in [
            "repo/in",
            "repo/deploy/in",
            "other/in",
            "repository/out",
            "elsewhere/out",
        ] {
            std::fs::write(at(file), "").unwrap();
        }
        symlink(at("repo/in"), at("elsewhere/in-by-link")).unwrap();
        symlink(at("elsewhere/out"), at("repo/in-leads-out")).unwrap();
        symlink(at("repo"), at("current")).unwrap();
        let (repo, other) = (Some(at("repo")), Some(at("other")));
        for (file, source, folder, expected) in [
            ("repo/in", "repo", ".", &repo),
            ("repo/deploy/in", "./repo", ".", &repo),
            ("elsewhere/../repo/in", "repo", ".", &repo),
            ("repo/in", "repo/.git", ".", &repo),
            ("elsewhere/in-by-link", "repo", ".", &repo),
            ("repo/in-leads-out", "repo", ".", &repo),
            ("repo/in", "current", ".", &repo),
            ("current/in", "repo", ".", &repo),
            ("repository/out", "repo", ".", &None),
            ("elsewhere/out", "repo", ".", &None),
            ("repo/in", "https://git.example/a", ".", &None),
            ("repo/in", "ftp://nonsense", ".", &None),
            ("other/in", "repo", ".", &None),
            // The repository around the working directory counts, too.
            ("in", "https://git.example/a", "repo", &repo),
            ("in", "../other", "repo", &repo),
            ("../in", "../../other", "repo/deploy", &repo),
            ("../other/in", "../other", "repo", &other),
            ("../elsewhere/out", ".", "repo", &None),
            // A file outside of any repository is trusted for every source.
            ("out", ".", "elsewhere", &None),
            ("out", "../repo", "elsewhere", &None),
        ] {
            let found = untrusted_tree(Path::new(file), source, &at(folder));
            assert_eq!(found, *expected, "{file} of {source} in {folder}");
        }
    }
}
