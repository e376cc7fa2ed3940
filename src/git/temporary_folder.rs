//! Folders of clones that one command makes: on the disk that was sized for clones, and removed at the end.
//!
//! A clone is locked while it is in use, so that the next one removes those of processes that were killed.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FlockOperation, flock};
use tempfile::{Builder, TempDir};

/// The name of the folder of clones. The dot hides it from those who look for other files in a state folder.
const NAME: &str = ".clones";

/// How often a folder is made again that another process removed because it was empty.
const OPEN_TRIES: usize = 5;

/// The clones of this process. Contended by concurrent lookups, each for one change.
static IN_USE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn in_use() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folder of a clone, which is removed on drop.
#[derive(Debug)]
pub(crate) struct CloneFolder {
    /// Present until the drop.
    folder: Option<TempDir>,
    /// The folders above it that this process created, the innermost first.
    created: Vec<PathBuf>,
    /// Holds the lock.
    _locked: Option<File>,
}

impl CloneFolder {
    /// Creates a folder in `home`, a state folder; without one, or if nothing can be created there, in the
    /// temporary folder of the system.
    pub(crate) fn create(home: Option<&Path>) -> io::Result<Self> {
        let made = match home.map(Self::within) {
            Some(Ok(made)) => made,
            // `plan` may be run by a user who cannot write there.
            Some(Err(_)) | None => Self::of(tempfile::tempdir()?, Vec::new(), None),
        };
        in_use().insert(made.path().to_owned());
        Ok(made)
    }

    fn within(home: &Path) -> io::Result<Self> {
        let parent = std::path::absolute(home)?.join(NAME);
        let mut tries = 0;
        loop {
            let created: Vec<PathBuf> =
                parent.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
            tries += 1;
            match Self::below(&parent, created.clone()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries < OPEN_TRIES => {}
                result => {
                    if result.is_err() {
                        remove_empty(&created);
                    }
                    return result;
                }
            }
        }
    }

    fn below(parent: &Path, created: Vec<PathBuf>) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        // A clone is made and locked under the lock of the parent, so that no other process finds it
        // unlocked.
        let gate = File::open(parent)?;
        flock(&gate, FlockOperation::LockExclusive)?;
        remove_leftovers(parent);
        let folder = Builder::new().prefix("clone-").tempdir_in(parent)?;
        let locked = File::open(folder.path())?;
        flock(&locked, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self::of(folder, created, Some(locked)))
    }

    const fn of(folder: TempDir, created: Vec<PathBuf>, locked: Option<File>) -> Self {
        Self { folder: Some(folder), created, _locked: locked }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.as_ref().expect("the folder is present until the drop").path()
    }
}

impl Drop for CloneFolder {
    fn drop(&mut self) {
        let Some(folder) = self.folder.take() else { return };
        let path = folder.path().to_owned();
        // A folder that stays costs only disk space, and the next clone removes it.
        let _ = folder.close();
        in_use().remove(&path);
        if self.created.is_empty() {
            let parent = path.parent().filter(|parent| parent.ends_with(NAME));
            self.created.extend(parent.map(Path::to_owned));
        }
        remove_empty(&self.created);
    }
}

/// Removes `folders`, the innermost first, as far as they are empty.
fn remove_empty(folders: &[PathBuf]) {
    let _ = folders.iter().try_for_each(fs::remove_dir);
}

/// Removes the clones of processes that were killed. The caller holds the lock of `parent`.
fn remove_leftovers(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_unused = File::open(entry.path())
            .is_ok_and(|clone| flock(&clone, FlockOperation::NonBlockingLockExclusive).is_ok());
        if is_unused {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Removes the clones of this process, which ends without waiting for those who use them.
pub(super) fn remove_all() {
    for path in &*in_use() {
        let _ = fs::remove_dir_all(path);
        if let Some(parent) = path.parent().filter(|parent| parent.ends_with(NAME)) {
            let _ = fs::remove_dir(parent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_clone_is_in_its_home_and_leaves_nothing_there() {
        let disk = tempfile::tempdir().unwrap();
        let home = disk.path().join("not/there/yet");
        let (one, two) =
            (CloneFolder::create(Some(&home)).unwrap(), CloneFolder::create(Some(&home)).unwrap());
        assert!([&one, &two].iter().all(|clone| clone.path().starts_with(&home) && clone.path().is_dir()));
        drop(one);
        assert!(two.path().is_dir(), "the other one is in use");
        drop(two);
        let left = CloneFolder::create(Some(disk.path())).unwrap();
        drop(left);
        assert!(!disk.path().join(NAME).exists());
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_in_use_is_not() {
        let home = tempfile::tempdir().unwrap();
        let killed = home.path().join(NAME).join("clone-killed/objects");
        fs::create_dir_all(&killed).unwrap();
        let used = CloneFolder::create(Some(home.path())).unwrap();
        let another = CloneFolder::create(Some(home.path())).unwrap();
        assert_eq!(names(&home.path().join(NAME)).len(), 2);
        assert!(used.path().is_dir() && another.path().is_dir());
    }

    #[test]
    fn without_a_home_that_can_be_written_a_clone_is_in_the_temporary_folder() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        fs::write(&file, "").unwrap();
        for home in [None, Some(file.as_path())] {
            let clone = CloneFolder::create(home).unwrap();
            assert!(clone.path().starts_with(std::env::temp_dir()));
        }
    }
}
