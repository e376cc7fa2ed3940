//! Finds folders: the default state folder, and the work tree that makes a configuration file untrusted.

use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::git::RepoUrl;
use crate::model::hex;

/// Returns the state folder of the source `repo` under `home`, the platform's state folder.
pub(crate) fn state_dir(home: &Path, repo: &RepoUrl, given: &str, folder: &Path) -> PathBuf {
    let source = match repo.local_path() {
        // Links are not resolved: a sidecar swaps its link at every sync, and the state folder must stay the
        // same.
        Some(path) => absolute(&folder.join(path)).to_string_lossy().into_owned(),
        None => given.to_owned(),
    };
    // The hash distinguishes sources with the same last component.
    let hash = hex(&Sha256::digest(source.as_bytes())[..6]);
    home.join("gitoggle").join(format!("{}-{hash}", readable(&source)))
}

/// Removes `.` and repeated slashes. Keeps `..`, which cannot be removed without resolving links.
fn absolute(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// Returns the last component of the source, with unsafe characters replaced.
fn readable(source: &str) -> String {
    let last = source.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    let last = last.strip_suffix(".git").unwrap_or(last);
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }
    };
    let name: String = last.chars().take(40).map(plain).collect();
    // A leading dot would hide the folder.
    match name.trim_start_matches('.') {
        "" => "source".to_owned(),
        name => name.to_owned(),
    }
}

/// Returns the work tree that makes `file` untrusted, if documents come from `repo` and `folder` is the
/// working directory: the tree contains the file, and is the source or contains the working directory. Anyone
/// who can open a pull request can write such a file. Elsewhere, the operator writes it.
pub(super) fn untrusted_tree(file: &Path, repo: &str, folder: &Path) -> Option<PathBuf> {
    let source = source(repo, folder);
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let is_source = |tree: &PathBuf| Some(tree) == source.as_ref() || folder.starts_with(tree);
    // Both the link and its target count: authors of the work tree control a link inside it and a target
    // inside it.
    let names = names(&folder.join(file));
    // Only the parents: a link in a work tree is part of it, wherever the target is.
    let mut trees = names.iter().filter_map(|name| name.parent()).flat_map(work_trees);
    trees.find(is_source)
}

/// Returns the work tree of a local source. `repo` may also be the path of its `.git`.
pub(super) fn source(repo: &str, folder: &Path) -> Option<PathBuf> {
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
    let as_given = parent.zip(file.file_name()).map(|(parent, name)| parent.join(name));
    let itself = file.canonicalize().ok();
    as_given.into_iter().chain(itself).collect()
}

/// Returns the work trees around `path`, innermost first. The path need not exist.
pub(super) fn work_trees(path: &Path) -> Vec<PathBuf> {
    let path = resolved(path);
    let is_inside = |folder: &Path| {
        // Files in `.git` are not part of the work tree.
        let first = path.strip_prefix(folder).ok().and_then(|rest| rest.components().next());
        first != Some(Component::Normal(".git".as_ref())) && folder.join(".git").symlink_metadata().is_ok()
    };
    let folders = path.ancestors().filter(|folder| is_inside(folder));
    folders.map(Path::to_owned).collect()
}

/// Resolves the links in the part of `path` that exists.
fn resolved(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|folder| {
        let rest = path.strip_prefix(folder).ok()?;
        let found = folder.canonicalize().ok()?;
        // Collecting components removes the trailing slash that joining an empty path adds.
        Some(found.join(rest).components().collect())
    });
    found.unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn name(given: &str, folder: &str) -> String {
        let repo = given.parse().unwrap();
        let dir = state_dir(Path::new("/home/me/.local/state"), &repo, given, Path::new(folder));
        let under = dir.strip_prefix("/home/me/.local/state/gitoggle").unwrap();
        under.to_str().unwrap().to_owned()
    }

    #[test]
    fn every_spelling_of_a_source_has_the_same_folder() {
        let toggles = name(".", "/srv/toggles");
        assert!(toggles.starts_with("toggles-"), "{toggles}");
        for (given, folder) in [
            ("/srv/toggles", "/"),
            ("/srv//toggles/", "/"),
            ("toggles", "/srv"),
            ("file:///srv/toggles", "/x"),
        ] {
            assert_eq!(name(given, folder), toggles, "{given}");
        }
        assert_ne!(name(".", "/srv/other/toggles"), toggles);
    }

    #[test]
    fn the_folder_name_begins_with_the_name_of_the_source() {
        for (given, start) in [
            ("https://git.example/team/toggles.git", "toggles-"),
            ("git@git.example:toggles", "toggles-"),
            ("/srv/a b\u{1b}", "a-b--"),
            ("/", "source-"),
        ] {
            let name = name(given, "/");
            assert!(name.starts_with(start), "{name}");
        }
    }

    #[test]
    fn a_file_in_the_source_or_around_the_working_directory_is_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let at = |path: &str| top.join(path);
        for folder in ["repo/.git", "repo/deploy", "other/.git", "repository", "elsewhere"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        for file in ["repo/in", "repo/deploy/in", "other/in", "repository/out", "elsewhere/out"] {
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

    #[test]
    fn the_work_trees_around_a_path_are_found_by_their_git_folders() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for folder in ["outer/.git", "outer/inner/sub", "plain"] {
            std::fs::create_dir_all(top.join(folder)).unwrap();
        }
        std::fs::write(top.join("outer/inner/.git"), "gitdir: elsewhere\n").unwrap();
        symlink(top.join("outer"), top.join("link")).unwrap();
        let (outer, inner) = (top.join("outer"), top.join("outer/inner"));
        for (path, expected) in [
            ("outer", vec![&outer]),
            ("outer/not/there", vec![&outer]),
            ("outer/inner/sub", vec![&inner, &outer]),
            ("link/inner", vec![&inner, &outer]),
            ("outer/.git/state", vec![]),
            ("plain/x", vec![]),
        ] {
            let found = work_trees(&top.join(path));
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{path}");
        }
    }
}
