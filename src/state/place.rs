//! Records where the state of a folder lives: in the folder, or at one state remote under one name (DESIGN, section 4, *One
//! folder, one place*).
//!
//! A folder is the cache of one place. A pass that named another one would drop what only the folder knows: a lost reply,
//! or what Git took back meanwhile. So it is held. One way is open: state that lived in the folder moves to a remote that
//! has nothing yet, with its record and its unknown toggles.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::shared::SharedRemote;
use super::{Error, StateSnapshot, sidecar};
use crate::git::Failpoints;
use crate::model::escaped;

const FILE: &str = "place.json";

/// Where state lives.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Place {
    /// The URL of the state remote; none if state lives in its folder. Empty if the folder is older than this file.
    remote: Option<String>,
    /// The name of the state at the remote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

impl Place {
    pub(crate) fn of(shared: Option<&SharedRemote>) -> Self {
        Self {
            remote: shared.map(|shared| shared.remote.to_string()),
            name: shared.map(|shared| shared.name.clone()),
        }
    }

    pub(crate) const fn is_here(&self) -> bool {
        self.remote.is_none()
    }

    /// Returns whether both are the same place. A remote may be written with a slash or `.git` at its end.
    fn is(&self, other: &Self) -> bool {
        let plain = |place: &Self| {
            let url = place.remote.as_deref().map(|url| url.trim_end_matches('/'));
            url.map(|url| url.strip_suffix(".git").unwrap_or(url).to_owned())
        };
        let is_known = |place: &Self| place.remote.as_deref() != Some("");
        let is_same_remote = if is_known(self) && is_known(other) {
            plain(self) == plain(other)
        } else {
            self.is_here() == other.is_here()
        };
        is_same_remote && self.name == other.name
    }

    pub(crate) fn settings(&self) -> String {
        match (&self.remote, &self.name) {
            (Some(remote), Some(name)) if !remote.is_empty() => {
                format!("`--state-remote {} --state-name {}`", escaped(remote), escaped(name))
            }
            (Some(_), Some(name)) => {
                format!("the `--state-remote` that it was used with, and `--state-name {}`", escaped(name))
            }
            _ => "no `--state-remote`".to_owned(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.remote, &self.name) {
            (Some(remote), Some(name)) if !remote.is_empty() => {
                write!(f, "the shared state `{}` at `{}`", escaped(name), escaped(remote))
            }
            (_, Some(name)) => write!(f, "the shared state `{}`", escaped(name)),
            _ => f.write_str("the state in the folder itself"),
        }
    }
}

/// Returns the place of the state in `dir`; none if the folder has no state.
fn recorded(dir: &Path) -> Result<Option<Place>, Error> {
    let place: Option<Place> = sidecar::or_ignored(&dir.join(FILE));
    let view = StateSnapshot::open(dir)?;
    let has_state = view.tip().is_some() || !view.unknown().is_empty() || !view.settled().is_empty();
    if !has_state {
        return Ok(None);
    }
    let older = || {
        let cached = view.cached_state()?;
        Ok::<_, Error>(Place { remote: cached.is_some().then(String::new), name: cached })
    };
    place.map_or_else(older, Ok).map(Some)
}

/// Checks that the state in `dir` may be used as that of the place `wanted`. `has_records` is set if that place is a remote
/// that is known to have records.
///
/// # Errors
/// [`Error::OtherPlace`] if the state lives elsewhere.
pub(crate) fn check(dir: &Path, wanted: &Place, has_records: bool) -> Result<(), Error> {
    // Nearly every pass finds its own place, and reads nothing else.
    if sidecar::or_ignored::<Place>(&dir.join(FILE)).is_some_and(|place| place.is(wanted)) {
        return Ok(());
    }
    match recorded(dir)? {
        Some(place) if !place.is(wanted) && (has_records || !place.is_here()) => {
            Err(Error::OtherPlace { dir: dir.to_owned(), place, wanted: wanted.clone() })
        }
        _ => Ok(()),
    }
}

/// Returns the error that the state in `dir` cannot move to `wanted`, which has records of others.
pub(crate) fn not_moved(dir: &Path, wanted: Place) -> Error {
    let place = Place { remote: None, name: None };
    Error::OtherPlace { dir: dir.to_owned(), place, wanted }
}

/// Records that the state in `dir` lives at `place`.
pub(crate) fn keep(dir: &Path, place: &Place, failpoints: &Failpoints) -> Result<(), Error> {
    if sidecar::or_ignored::<Place>(&dir.join(FILE)).as_ref() == Some(place) {
        return Ok(());
    }
    sidecar::keep(&dir.join(FILE), Some(place), failpoints)
}

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
    fn a_place_is_the_same_however_its_remote_is_written() {
        let place =
            |remote: &str| Place { remote: Some(remote.to_owned()), name: Some("toggles".to_owned()) };
        let here = Place { remote: None, name: None };
        let hosted = place("https://git.example/a/state.git");
        for (other, is_same) in [
            (place("https://git.example/a/state"), true),
            (place("https://git.example/a/state.git/"), true),
            (place(""), true),
            (place("https://git.example/b/state.git"), false),
            (place("git@git.example:a/state.git"), false),
            (Place { name: Some("other".to_owned()), ..hosted.clone() }, false),
            (here.clone(), false),
        ] {
            assert_eq!(hosted.is(&other), is_same, "{other}");
            assert_eq!(other.is(&hosted), is_same, "{other}");
        }
        assert!(here.is(&here));
    }

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
