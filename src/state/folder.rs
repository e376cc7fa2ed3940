//! A state folder: the lock of its one writer, which the kernel frees when its holder dies, and where its
//! state lives.
//!
//! State lives in the folder, or at one state remote under one name (src/state/README.md, "One writer, one
//! place, one service"). A folder is the cache of one place. A pass that named another one would drop what
//! only the folder knows: a lost reply, or what Git took back meanwhile. So it is held. One way is open:
//! state that lived in the folder moves to a remote that has nothing yet, with its record and its unknown
//! toggles.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, thread};

use serde::{Deserialize, Serialize};

use super::applied::Tip;
use super::journal::JournalIndex;
use super::shared::SharedRemote;
use super::sidecar::CleanPass;
use super::{Error, StateSnapshot, sidecar};
use crate::git::Failpoints;
use crate::model::escaped;

/// The time between two tries to take a lock.
const LOCK_POLL: Duration = Duration::from_millis(50);

/// The time after which a wait is logged.
const UNLOGGED: Duration = Duration::from_secs(1);

fn holder(path: &Path) -> Holder {
    let text = fs::read(path).ok();
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// A lock, held until dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
    /// Whether files keep their inode numbers. Some network file systems assign new ones.
    has_numbers: bool,
}

impl Lock {
    /// Takes the lock of `dir`. Waits at most `wait` for another holder.
    pub(crate) fn take(dir: &Path, wait: Duration, now: i64) -> Result<Self, Error> {
        let lock = Self::take_current(dir, wait, now)?;
        if lock.is_in_place() {
            return Ok(lock);
        }
        // The folder was replaced during the wait, unless the file system has no stable inode numbers.
        let mut lock = Self::take_current(dir, wait, now)?;
        lock.has_numbers = lock.is_in_place();
        Ok(lock)
    }

    fn take_current(dir: &Path, wait: Duration, now: i64) -> Result<Self, Error> {
        let path = dir.join("lock");
        let mut file = File::options()
            .create(true)
            // Until this process has the lock, the content names another holder.
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(|error| cannot_write(dir, "open", &path, error))?;
        let (began, mut is_logged) = (Instant::now(), false);
        // The standard library has no lock with a time limit.
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if began.elapsed() < wait => {
                    if !is_logged && began.elapsed() > UNLOGGED {
                        is_logged = true;
                        tracing::warn!(name: "waiting_for_lock", holder = %holder(&path), "the state is in use; waiting for it");
                    }
                    thread::sleep(LOCK_POLL.min(wait));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::Locked { dir: dir.to_owned(), holder: holder(&path) });
                }
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
            }
        }
        let holder = serde_json::to_vec(&Holder::this(now)).expect("a holder is plain JSON");
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(&holder))
            .map_err(|error| cannot_write(dir, "write", &path, error))?;
        Ok(Self { file, path, has_numbers: true })
    }

    /// Returns whether the locked file is still the one in the folder.
    pub(crate) fn is_in_place(&self) -> bool {
        use std::os::unix::fs::MetadataExt;

        // If the folder was moved or removed, another process may hold the lock of its replacement.
        let id = |found: fs::Metadata| (found.dev(), found.ino());
        let is_same = match (self.file.metadata(), fs::metadata(&self.path)) {
            (Ok(own), Ok(current)) => id(own) == id(current),
            _ => false,
        };
        is_same || !self.has_numbers
    }
}

/// Refuses a file in the place of the state folder, of which a read and a write would each report something
/// else.
pub(crate) fn check(dir: &Path) -> Result<(), Error> {
    match dir.exists() && !dir.is_dir() {
        true => Err(Error::NotAFolder(dir.to_owned())),
        false => Ok(()),
    }
}

/// Creates the state folder if it is missing.
pub(crate) fn create(dir: &Path) -> Result<(), Error> {
    check(dir)?;
    fs::create_dir_all(dir).map_err(|error| cannot_write(dir, "create", dir, error))
}

fn cannot_write(dir: &Path, doing: &'static str, path: &Path, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Error::ReadOnly { dir: dir.to_owned(), source: Arc::new(error) }
        }
        io::ErrorKind::NotADirectory => Error::NotAFolder(dir.to_owned()),
        _ => Error::io(doing, path)(error),
    }
}

/// The holder of a lock, as it described itself in the lock file.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Holder {
    /// The process id; 0 if the lock file cannot be read.
    pub pid: u32,
    pub host: String,
    /// The start, in seconds since 1970-01-01 UTC.
    pub since: i64,
}

impl Holder {
    /// Returns this process with the start `now`.
    pub fn this(now: i64) -> Self {
        Self { pid: std::process::id(), host: host(), since: now }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pid == 0 {
            return f.write_str("another process");
        }
        write!(f, "process {} on `{}`", self.pid, escaped(&self.host))?;
        match jiff::Timestamp::from_second(self.since) {
            Ok(since) => write!(f, " since {since}"),
            Err(_) => Ok(()),
        }
    }
}

/// Returns the name of this process in announcements.
pub fn this_process() -> String {
    format!("pid {} on {}", std::process::id(), host())
}

/// Returns the host name, as far as the environment or Linux provides it.
fn host() -> String {
    std::env::var("HOSTNAME")
        .ok()
        .or_else(|| fs::read_to_string("/proc/sys/kernel/hostname").ok())
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_owned())
}

const PLACE: &str = "place.json";

/// Where state lives.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Place {
    /// The URL of the state remote; none if state lives in its folder. Empty if the note of the place is lost,
    /// and the folder has only the name of the state that it cached.
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
    let place: Option<Place> = sidecar::or_ignored(&dir.join(PLACE));
    let view = StateSnapshot::open_at(dir, &Place::of(None))?;
    let has_state = view.tip().is_some() || !view.unknown().is_empty() || !view.settled().is_empty();
    if !has_state {
        return Ok(None);
    }
    let cached = || {
        let name = view.cached_state()?;
        Ok::<_, Error>(Place { remote: name.is_some().then(String::new), name })
    };
    place.map_or_else(cached, Ok).map(Some)
}

/// Checks that the state in `dir` may be used as that of the place `wanted`. `has_records` is set if that
/// place is a remote that is known to have records.
///
/// # Errors
/// [`Error::OtherPlace`] if the state lives elsewhere.
pub(crate) fn check_place(dir: &Path, wanted: &Place, has_records: bool) -> Result<(), Error> {
    // Nearly every pass finds its own place, and reads nothing else.
    if sidecar::or_ignored::<Place>(&dir.join(PLACE)).is_some_and(|place| place.is(wanted)) {
        return Ok(());
    }
    match recorded(dir)? {
        Some(place) if !place.is(wanted) && (has_records || !place.is_here()) => {
            Err(Error::OtherPlace { dir: dir.to_owned(), place, wanted: wanted.clone() })
        }
        _ => Ok(()),
    }
}

/// Checks that the record of a folder whose state lives there did not vanish. Otherwise, what the journal brings
/// would end the first pass of its environments, and the rest would be published without a decision.
///
/// # Errors
/// [`Error::RecordLost`] if requests were sent or a pass has ended on top of a record that is not there.
pub(crate) fn check_record(
    dir: &Path,
    wanted: &Place,
    tip: Option<&Tip>,
    journal: &JournalIndex,
    last_pass: Option<&CleanPass>,
) -> Result<(), Error> {
    let had_record = || last_pass.is_some() || journal.entries().any(|(_, entry)| entry.base.is_some());
    // What took the record away may have taken the note of its place as well.
    let is_here = || sidecar::or_ignored::<Place>(&dir.join(PLACE)).as_ref().unwrap_or(wanted).is_here();
    match tip.is_none() && had_record() && is_here() {
        true => Err(Error::RecordLost { dir: dir.to_owned(), advice: None }),
        false => Ok(()),
    }
}

/// Returns whether the folder `dir` was used with the state remote at this address.
pub(crate) fn is_of_remote(dir: &Path, remote: &str) -> bool {
    let place = sidecar::or_ignored::<Place>(&dir.join(PLACE));
    place.is_some_and(|place| {
        let other = Place { remote: Some(remote.to_owned()), name: place.name.clone() };
        place.is(&other)
    })
}

/// Returns the error that the state in `dir` cannot move to `wanted`, which has records of others.
pub(crate) fn not_moved(dir: &Path, wanted: Place) -> Error {
    let place = Place { remote: None, name: None };
    Error::OtherPlace { dir: dir.to_owned(), place, wanted }
}

/// Records that the state in `dir` lives at `place`.
pub(crate) fn keep_place(dir: &Path, place: &Place, failpoints: &Failpoints) -> Result<(), Error> {
    if sidecar::or_ignored::<Place>(&dir.join(PLACE)).as_ref() == Some(place) {
        return Ok(());
    }
    sidecar::keep(&dir.join(PLACE), Some(place), failpoints)
}

/// Names that identify a state folder, whatever else it contains.
const OWN: [&str; 4] = ["state.git", "source.git", "journal", "lock"];

/// The content of a new volume, besides names that begin with a dot.
const OF_VOLUMES: &str = "lost+found";

/// Returns the first file or folder in `dir` that is not from gitoggle; none if `dir` is empty, missing or a
/// state folder.
pub fn foreign(dir: &Path) -> Option<String> {
    if OWN.iter().any(|name| dir.join(name).symlink_metadata().is_ok()) {
        return None;
    }
    let entries = fs::read_dir(dir).ok()?.filter_map(Result::ok);
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with('.') && name != OF_VOLUMES).min()
}

#[cfg(test)]
mod tests {
    mod lock {
        use super::super::*;

        #[test]
        fn a_lock_knows_when_its_folder_was_replaced() {
            let parent = tempfile::tempdir().unwrap();
            let dir = parent.path().join("state");
            create(&dir).unwrap();
            let lock = Lock::take(&dir, Duration::ZERO, 1).unwrap();
            assert!(lock.is_in_place());
            fs::rename(&dir, parent.path().join("away")).unwrap();
            assert!(!lock.is_in_place());
            create(&dir).unwrap();
            let other = Lock::take(&dir, Duration::ZERO, 1).unwrap();
            assert!(other.is_in_place() && !lock.is_in_place());
        }

        #[test]
        fn a_wait_for_a_lock_file_that_is_replaced_takes_the_new_one() {
            let parent = tempfile::tempdir().unwrap();
            let dir = parent.path().join("state");
            create(&dir).unwrap();
            let lock = Lock::take(&dir, Duration::ZERO, 1).unwrap();
            thread::scope(|scope| {
                let waiting = scope.spawn(|| Lock::take(&dir, Duration::from_secs(30), 1).unwrap());
                // Only the file is moved, so that the folder exists at every moment.
                fs::rename(dir.join("lock"), dir.join("away")).unwrap();
                drop(lock);
                let other = waiting.join().unwrap();
                assert!(other.has_numbers && other.is_in_place());
            });
        }
    }

    mod place {
        use super::super::*;

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
            fs::create_dir_all(folder.join("lost+found")).unwrap();
            fs::write(folder.join(".snapshot"), "").unwrap();
            assert_eq!(foreign(&folder), None);
            for name in ["photo.jpg", "notes.txt"] {
                fs::write(folder.join(name), "").unwrap();
            }
            assert_eq!(foreign(&folder).as_deref(), Some("notes.txt"));
            fs::write(folder.join("lock"), "").unwrap();
            assert_eq!(foreign(&folder), None);
        }
    }
}
