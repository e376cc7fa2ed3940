//! Where state is kept when nobody says where: a folder per source.

use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::git::RepoUrl;
use crate::model::hex;

/// Returns the folder of the source `repo` under `home`, the platform's folder for state.
///
/// The source counts as it was given, made absolute but with its links not resolved: a sidecar's link is swapped
/// at every sync, and its state must not go with it.
pub(crate) fn state_dir(home: &Path, repo: &RepoUrl, given: &str, folder: &Path) -> PathBuf {
    let source = match repo.local_path() {
        Some(path) => absolute(&folder.join(path)).to_string_lossy().into_owned(),
        None => given.to_owned(),
    };
    let hash = hex(&Sha256::digest(source.as_bytes())[..6]);
    home.join("gitoggle")
        .join(format!("{}-{hash}", readable(&source)))
}

/// Takes out `.` and doubled slashes; `..` stays, because without looking at links it cannot be taken out.
fn absolute(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| *part != Component::CurDir)
        .collect()
}

/// The last component of the source, with what a file name should not have replaced.
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
    fn one_source_has_one_folder_however_it_is_written() {
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
    fn the_folder_can_be_recognised_and_is_a_plain_name() {
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
