//! One writer per state folder: an advisory lock, which the kernel frees when its holder dies.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::error::Error;
use crate::model::escaped;

/// How often a lock that somebody has is tried again.
const PATIENCE: Duration = Duration::from_millis(50);

/// For how long waiting goes without saying.
const UNTOLD: Duration = Duration::from_secs(1);

/// Who holds a lock, as the holder wrote it.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Its host.
    pub host: String,
    /// Since when, in seconds since 1970-01-01 UTC.
    pub since: i64,
}

impl Holder {
    /// Returns this process, since `now`.
    #[must_use]
    pub fn this(now: i64) -> Self {
        Self {
            pid: std::process::id(),
            host: host(),
            since: now,
        }
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

/// Returns what the lock file at `path` says.
fn holder(path: &Path) -> Holder {
    let text = fs::read(path).ok();
    text.and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default()
}

/// The lock, held until dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
    /// Whether files keep their numbers here; some network file systems make up new ones.
    has_numbers: bool,
}

impl Lock {
    /// Takes the lock of `dir`, waiting at most `wait` for another holder.
    pub(crate) fn take(dir: &Path, wait: Duration, now: i64) -> Result<Self, Error> {
        let lock = Self::take_what_is_there(dir, wait, now)?;
        if lock.is_in_place() {
            return Ok(lock);
        }
        // The folder was replaced while another holder was waited for; where it still looks so, there are no numbers.
        let mut lock = Self::take_what_is_there(dir, wait, now)?;
        lock.has_numbers = lock.is_in_place();
        Ok(lock)
    }

    fn take_what_is_there(dir: &Path, wait: Duration, now: i64) -> Result<Self, Error> {
        let path = dir.join("lock");
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(|error| cannot_write(dir, "open", &path, error))?;
        let (began, mut told) = (Instant::now(), false);
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if began.elapsed() < wait => {
                    if !told && began.elapsed() > UNTOLD {
                        told = true;
                        tracing::warn!(name: "waiting_for_lock", holder = %holder(&path), "the state is in use; waiting for it");
                    }
                    thread::sleep(PATIENCE.min(wait));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::Locked {
                        dir: dir.to_owned(),
                        holder: holder(&path),
                    });
                }
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
            }
        }
        let holder = serde_json::to_vec(&Holder::this(now)).expect("a holder is plain JSON");
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(&holder))
            .map_err(|error| cannot_write(dir, "write", &path, error))?;
        Ok(Self {
            file,
            path,
            has_numbers: true,
        })
    }

    /// Returns whether the file that is locked is still the one in the folder: where somebody moved the folder away, or
    /// removed it, another process may hold the lock of what is there now.
    pub(crate) fn is_in_place(&self) -> bool {
        use std::os::unix::fs::MetadataExt;

        let id = |found: fs::Metadata| (found.dev(), found.ino());
        let is_same = match (self.file.metadata(), fs::metadata(&self.path)) {
            (Ok(ours), Ok(there)) => id(ours) == id(there),
            _ => false,
        };
        is_same || !self.has_numbers
    }
}

/// Creates the state folder where it is missing.
pub(crate) fn create(dir: &Path) -> Result<(), Error> {
    if dir.exists() && !dir.is_dir() {
        return Err(Error::NotAFolder(dir.to_owned()));
    }
    fs::create_dir_all(dir).map_err(|error| cannot_write(dir, "create", dir, error))
}

fn cannot_write(dir: &Path, doing: &'static str, path: &Path, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Error::ReadOnly {
            dir: dir.to_owned(),
            source: Arc::new(error),
        },
        io::ErrorKind::NotADirectory => Error::NotAFolder(dir.to_owned()),
        _ => Error::io(doing, path)(error),
    }
}

/// Returns this process as other processes are shown it.
#[must_use]
pub fn this_process() -> String {
    format!("pid {} on {}", std::process::id(), host())
}

/// The machine's name as far as it can be told without a system call of its own.
pub(crate) fn host() -> String {
    std::env::var("HOSTNAME")
        .ok()
        .or_else(|| fs::read_to_string(PathBuf::from("/proc/sys/kernel/hostname")).ok())
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
    fn who_waited_for_a_lock_that_was_replaced_takes_the_new_one() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("state");
        create(&dir).unwrap();
        let lock = Lock::take(&dir, Duration::ZERO, 1).unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| Lock::take(&dir, Duration::from_secs(30), 1).unwrap());
            // The file alone, so that there is a folder at every moment.
            fs::rename(dir.join("lock"), dir.join("away")).unwrap();
            drop(lock);
            let other = waiting.join().unwrap();
            assert!(other.has_numbers && other.is_in_place());
        });
    }
}
