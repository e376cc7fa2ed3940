//! Finds the work trees around a path by their `.git` entries, without opening them.

use std::path::{Component, Path, PathBuf};

/// Returns the work trees around `path`, innermost first. The path need not exist.
pub(super) fn work_trees(path: &Path) -> Vec<PathBuf> {
    let path = resolved(path);
    let is_inside = |folder: &Path| {
        // Files in `.git` are not part of the work tree.
        let first = path
            .strip_prefix(folder)
            .ok()
            .and_then(|rest| rest.components().next());
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
    use super::*;

    #[test]
    fn the_work_trees_around_a_path_are_found_by_their_git_folders() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for folder in ["outer/.git", "outer/inner/sub", "plain"] {
            std::fs::create_dir_all(top.join(folder)).unwrap();
        }
        std::fs::write(top.join("outer/inner/.git"), "gitdir: elsewhere\n").unwrap();
        std::os::unix::fs::symlink(top.join("outer"), top.join("link")).unwrap();
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
