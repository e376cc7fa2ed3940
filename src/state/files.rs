//! Replaces small files durably and atomically: temporary file, sync, rename, sync of the folder.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use tokio::time::Instant;

use super::Error;
use crate::git;
use crate::git::Failpoints;

/// Replaces the content of `path`.
pub(crate) fn replace(path: &Path, content: &[u8], failpoints: &Failpoints) -> Result<(), Error> {
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary).map_err(Error::io("create", &temporary))?;
    failpoints.at("file: created")?;
    file.write_all(content).map_err(Error::io("write", &temporary))?;
    // Synced before the rename: after a power cut, the name must not refer to an incomplete file.
    file.sync_all().map_err(Error::io("write", &temporary))?;
    failpoints.at("file: written")?;
    fs::rename(&temporary, path).map_err(Error::io("replace", path))?;
    failpoints.at("file: renamed")?;
    sync_parent(path)
}

/// Removes `path`, if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        // Without a sync, a power cut could bring the file back.
        Ok(()) => sync_parent(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io("remove", path)(error)),
    }
}

/// Returns the content of `path`; none if the file does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// Makes a rename, creation or removal in the folder of `path` durable.
fn sync_parent(path: &Path) -> Result<(), Error> {
    match path.parent() {
        Some(folder) => sync_folder(folder),
        None => Ok(()),
    }
}

/// Makes the names in `folder` durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), Error> {
    Ok(git::sync_folder(folder)?)
}

/// Returns whether the process should end. Called repeatedly during a wait.
pub type Stop<'a> = &'a dyn Fn() -> bool;

/// The source of the time and of waits.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    #[default]
    System,
    /// A clock that a test advances.
    #[cfg(test)]
    Simulated(std::sync::Arc<dyn SimulatedClock>),
}

/// A clock that a test advances.
#[cfg(test)]
pub trait SimulatedClock: std::fmt::Debug + Send + Sync {
    /// See [`Clock::elapsed`].
    fn elapsed(&self) -> Duration;
    /// See [`Clock::unix`].
    fn unix(&self) -> i64;
    /// See [`Clock::instant`].
    fn instant(&self) -> Instant;
    /// See [`Clock::sleep`].
    fn sleep(&self, duration: Duration);
    /// See [`Clock::sleep_until`].
    fn sleep_until(&self, at: Instant) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;
}

impl Clock {
    /// Returns the time since an arbitrary moment. It never goes backward, and includes time in which the
    /// machine was suspended.
    pub fn elapsed(&self) -> Duration {
        match self {
            Self::System => since_boot(),
            #[cfg(test)]
            Self::Simulated(clock) => clock.elapsed(),
        }
    }

    /// Returns the wall time, in seconds since 1970-01-01 UTC.
    pub fn unix(&self) -> i64 {
        match self {
            Self::System => jiff::Timestamp::now().as_second(),
            #[cfg(test)]
            Self::Simulated(clock) => clock.unix(),
        }
    }

    /// Returns the time for computing deadlines. It may stand still while the machine is suspended.
    pub fn instant(&self) -> Instant {
        match self {
            Self::System => Instant::now(),
            #[cfg(test)]
            Self::Simulated(clock) => clock.instant(),
        }
    }

    /// Blocks the thread.
    pub fn sleep(&self, duration: Duration) {
        match self {
            Self::System => std::thread::sleep(duration),
            #[cfg(test)]
            Self::Simulated(clock) => clock.sleep(duration),
        }
    }

    /// Waits until `at`, a moment of [`Clock::instant`].
    pub async fn sleep_until(&self, at: Instant) {
        match self {
            Self::System => tokio::time::sleep_until(at).await,
            #[cfg(test)]
            Self::Simulated(clock) => clock.sleep_until(at).await,
        }
    }
}

fn since_boot() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    // On Linux, CLOCK_MONOTONIC stands still while the machine is suspended; on macOS it does not.
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    Duration::try_from(clock_gettime(clock)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_advances() {
        let clock = Clock::default();
        let (elapsed, instant, unix) = (clock.elapsed(), clock.instant(), clock.unix());
        clock.sleep(Duration::from_millis(5));
        assert!(clock.elapsed() - elapsed >= Duration::from_millis(5));
        assert!(clock.instant() - instant >= Duration::from_millis(5));
        assert!(clock.unix() >= unix);
    }
}
