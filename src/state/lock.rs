//! Locks a state folder for one writer. The kernel frees the advisory lock when its holder dies.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, thread};

use serde::{Deserialize, Serialize};

use super::Error;
use crate::model::escaped;

/// The time between two tries to take a lock.
const POLL: Duration = Duration::from_millis(50);

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
                    thread::sleep(POLL.min(wait));
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

/// Creates the state folder if it is missing.
pub(crate) fn create(dir: &Path) -> Result<(), Error> {
    // `create_dir_all` reports only that the file exists.
    if dir.exists() && !dir.is_dir() {
        return Err(Error::NotAFolder(dir.to_owned()));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
