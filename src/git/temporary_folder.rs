//! Folders that one command or one step makes, such as a clone, and that are removed at its end.
//!
//! A folder is locked while it is in use, so that the next one removes those of processes that were killed. Each is
//! below a folder that has no others: in the state folder, whose disk was sized for clones, or in the temporary folder
//! of the system.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::process::geteuid;
use tempfile::{Builder, TempDir};

/// The name of the folder of clones. The dot hides it from those who look for other files in a state folder.
const NAME: &str = ".clones";

/// How often a folder is made again that another process removed because it was empty.
const OPEN_TRIES: usize = 20;

/// The folders of this process. Contended by concurrent steps, each for one change.
static IN_USE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn in_use() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder that is removed on drop.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    /// Present until the drop.
    folder: Option<TempDir>,
    /// The folders above its parent that this process created, the innermost first.
    created: Vec<PathBuf>,
    /// Holds the lock.
    _locked: Option<File>,
}

impl TemporaryFolder {
    /// Creates a folder in `home`, a state folder; without one, or if nothing can be created there, in the
    /// temporary folder of the system.
    pub(crate) fn create(home: Option<&Path>) -> io::Result<Self> {
        let made = match home.map(|home| Self::within(&std::path::absolute(home)?.join(NAME))) {
            Some(Ok(made)) => made,
            // `plan` may be run by a user who cannot write there.
            Some(Err(_)) | None => match Self::within(&in_system()) {
                Ok(made) => made,
                // Another user may have taken the name.
                Err(_) => Self { folder: Some(tempfile::tempdir()?), created: Vec::new(), _locked: None },
            },
        };
        in_use().insert(made.path().to_owned());
        Ok(made)
    }

    fn within(parent: &Path) -> io::Result<Self> {
        let mut tries = 0;
        loop {
            let above = parent.ancestors().skip(1);
            let created: Vec<PathBuf> =
                above.take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
            tries += 1;
            match Self::below(parent, created.clone()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries < OPEN_TRIES => {}
                result => {
                    if result.is_err() {
                        remove_parent(parent);
                        remove_empty(&created);
                    }
                    return result;
                }
            }
        }
    }

    fn below(parent: &Path, created: Vec<PathBuf>) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        // A folder is made and locked under the lock of the parent, so that no other process finds it unlocked.
        let gate = gate(parent)?;
        flock(&gate, FlockOperation::LockExclusive)?;
        // It may have been removed since it was opened.
        if gate.metadata()?.ino() != fs::symlink_metadata(parent)?.ino() {
            return Err(io::ErrorKind::NotFound.into());
        }
        remove_leftovers(parent);
        let folder = Builder::new().prefix("clone-").tempdir_in(parent)?;
        let locked = File::open(folder.path())?;
        flock(&locked, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { folder: Some(folder), created, _locked: Some(locked) })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.as_ref().expect("the folder is present until the drop").path()
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let Some(folder) = self.folder.take() else { return };
        let path = folder.path().to_owned();
        // A folder that stays costs only disk space, and the next one removes it.
        let _ = folder.close();
        in_use().remove(&path);
        path.parent().into_iter().for_each(remove_parent);
        remove_empty(&self.created);
    }
}

/// Returns the folder of temporary folders of this user in that of the system.
fn in_system() -> PathBuf {
    std::env::temp_dir().join(format!("gitoggle-{}", geteuid().as_raw()))
}

/// Opens a folder of temporary folders, for its lock. In the temporary folder of the system, another user may have made
/// it, or a link to something else.
fn gate(parent: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let gate = File::from(rustix::fs::open(parent, flags, Mode::empty())?);
    let found = gate.metadata()?;
    let is_own = found.uid() == geteuid().as_raw() && found.mode() & 0o077 == 0;
    if is_own || parent.ends_with(NAME) { Ok(gate) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Removes a folder of temporary folders if it is empty and no process is about to make one in it.
fn remove_parent(parent: &Path) {
    if !parent.ends_with(NAME) && parent != in_system() {
        return;
    }
    if let Ok(gate) = gate(parent)
        && flock(&gate, FlockOperation::NonBlockingLockExclusive).is_ok()
    {
        let _ = fs::remove_dir(parent);
    }
}

/// Removes `folders`, the innermost first, as far as they are empty.
fn remove_empty(folders: &[PathBuf]) {
    let _ = folders.iter().try_for_each(fs::remove_dir);
}

/// Removes the folders of processes that were killed. The caller holds the lock of `parent`.
fn remove_leftovers(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_unused = File::open(entry.path())
            .is_ok_and(|folder| flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok());
        if is_unused {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Removes the folders of this process, which ends without waiting for those who use them.
pub(super) fn remove_all() {
    for path in &*in_use() {
        let _ = fs::remove_dir_all(path);
        path.parent().into_iter().for_each(remove_parent);
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
            (TemporaryFolder::create(Some(&home)).unwrap(), TemporaryFolder::create(Some(&home)).unwrap());
        assert!([&one, &two].iter().all(|clone| clone.path().starts_with(&home) && clone.path().is_dir()));
        drop(one);
        assert!(two.path().is_dir(), "the other one is in use");
        drop(two);
        let left = TemporaryFolder::create(Some(disk.path())).unwrap();
        drop(left);
        assert!(!disk.path().join(NAME).exists());
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_in_use_is_not() {
        let home = tempfile::tempdir().unwrap();
        let killed = home.path().join(NAME).join("clone-killed/objects");
        fs::create_dir_all(&killed).unwrap();
        let used = TemporaryFolder::create(Some(home.path())).unwrap();
        let another = TemporaryFolder::create(Some(home.path())).unwrap();
        assert_eq!(names(&home.path().join(NAME)).len(), 2);
        assert!(used.path().is_dir() && another.path().is_dir());
    }

    #[test]
    fn without_a_home_that_can_be_written_a_clone_is_in_the_temporary_folder() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        fs::write(&file, "").unwrap();
        for home in [None, Some(file.as_path())] {
            let clone = TemporaryFolder::create(home).unwrap();
            assert!(clone.path().starts_with(std::env::temp_dir()));
        }
    }

    #[test]
    fn in_the_temporary_folder_of_the_system_nobody_else_can_take_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let (own, other) = (folder.path().join("own"), folder.path().join("other"));
        for mode in [0o777, 0o750] {
            DirBuilder::new().mode(mode).create(&own).unwrap();
            assert!(TemporaryFolder::within(&own).is_err(), "others can look into it: {mode:o}");
            fs::remove_dir(&own).unwrap();
        }
        fs::create_dir_all(other.join("kept")).unwrap();
        std::os::unix::fs::symlink(&other, &own).unwrap();
        assert!(TemporaryFolder::within(&own).is_err(), "a link");
        assert!(other.join("kept").is_dir());
    }
}
