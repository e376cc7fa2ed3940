//! Detects a folder of another program, so that a mistyped `--state-dir` does not add packs to it.

use std::path::Path;

/// Names that identify a state folder, whatever else it contains.
const OWN: [&str; 4] = ["state.git", "source.git", "journal", "lock"];

/// The content of a new volume, besides names that begin with a dot.
const OF_VOLUMES: &str = "lost+found";

/// Returns the first file or folder in `dir` that is not from gitoggle; none if `dir` is empty, missing or a state
/// folder.
pub fn foreign(dir: &Path) -> Option<String> {
    if OWN.iter().any(|name| dir.join(name).symlink_metadata().is_ok()) {
        return None;
    }
    let entries = std::fs::read_dir(dir).ok()?.filter_map(Result::ok);
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with('.') && name != OF_VOLUMES).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_holds_other_files_is_not_a_state_folder() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state");
        assert_eq!(foreign(&folder), None);
        std::fs::create_dir_all(folder.join("lost+found")).unwrap();
        std::fs::write(folder.join(".snapshot"), "").unwrap();
        assert_eq!(foreign(&folder), None);
        for name in ["photo.jpg", "notes.txt"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        assert_eq!(foreign(&folder).as_deref(), Some("notes.txt"));
        std::fs::write(folder.join("lock"), "").unwrap();
        assert_eq!(foreign(&folder), None);
    }
}
