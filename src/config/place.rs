//! Computes the default state folder: one per source.

use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::git::RepoUrl;
use crate::model::hex;

/// Returns the state folder of the source `repo` under `home`, the platform's state folder.
pub(crate) fn state_dir(home: &Path, repo: &RepoUrl, given: &str, folder: &Path) -> PathBuf {
    let source = match repo.local_path() {
        // Links are not resolved: a sidecar swaps its link at every sync, and the state folder must stay the same.
        Some(path) => absolute(&folder.join(path)).to_string_lossy().into_owned(),
        None => given.to_owned(),
    };
    // The hash distinguishes sources with the same last component.
    let hash = hex(&Sha256::digest(source.as_bytes())[..6]);
    home.join("gitoggle")
        .join(format!("{}-{hash}", readable(&source)))
}

/// Removes `.` and repeated slashes. Keeps `..`, which cannot be removed without resolving links.
fn absolute(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| *part != Component::CurDir)
        .collect()
}

/// Returns the last component of the source, with unsafe characters replaced.
fn readable(source: &str) -> String {
    let last = source
        .trim_end_matches('/')
        .rsplit(['/', ':'])
        .next()
        .unwrap_or_default();
    let last = last.strip_suffix(".git").unwrap_or(last);
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = last.chars().take(40).map(plain).collect();
    // A leading dot would hide the folder.
    match name.trim_start_matches('.') {
        "" => "source".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(given: &str, folder: &str) -> String {
        let repo = given.parse().unwrap();
        let dir = state_dir(
            Path::new("/home/me/.local/state"),
            &repo,
            given,
            Path::new(folder),
        );
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
}
