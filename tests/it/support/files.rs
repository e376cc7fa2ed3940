//! Folders and what is in them.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A file system in memory. On a disk, half of the time of these tests goes into the syncs of the program.
const MEMORY: &str = "/dev/shm";

/// Makes a temporary folder that other users can read too (the program is run as one of them at times).
///
/// It is in memory, unless `TMPDIR` names a place, or this machine has no space for it or starts no programs
/// there.
pub(crate) fn folder() -> TempDir {
    let is_usable = std::env::var_os("TMPDIR").is_none()
        && rustix::fs::statvfs(MEMORY).is_ok_and(|found| {
            found.f_bavail * found.f_frsize >= 1 << 30
                && !found.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC)
        });
    let mut folder = tempfile::Builder::new();
    folder.prefix("gitoggle-it-");
    let folder = if is_usable { folder.tempdir_in(MEMORY) } else { folder.tempdir() }.unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Writes an executable script.
///
/// Another process writes it. A child that another test starts meanwhile would inherit the descriptor that
/// this one writes to, and until it has closed it, the system does not execute the file ("Text file busy").
pub(crate) fn program(path: &Path, script: &str) {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(path).stdin(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(shell.wait().unwrap().success(), "{}", path.display());
}

/// Lists everything below `root` with the properties that a write changes: kind, mode, size, inode and times.
pub(crate) fn listing(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        let Ok(meta) = std::fs::symlink_metadata(&path) else {
            continue;
        };
        if meta.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let entry = format!(
            "mode {:o}, {} bytes, inode {}, modified {}.{}, changed {}.{}",
            meta.mode(),
            meta.len(),
            meta.ino(),
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec(),
        );
        found.insert(path, entry);
    }
    found
}

/// Returns all files below `root` whose name or content holds `needle`.
pub(crate) fn holding(root: &Path, needle: &str) -> Vec<PathBuf> {
    listing(root)
        .into_keys()
        .filter(|path| {
            path.to_string_lossy().contains(needle)
                || std::fs::read(path)
                    .is_ok_and(|bytes| bytes.windows(needle.len()).any(|window| window == needle.as_bytes()))
        })
        .collect()
}

/// Copies a folder with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A folder that only root can write to, until this is dropped.
#[derive(Debug)]
#[must_use = "the protection ends with this"]
pub(crate) struct Protected {
    modes: Vec<(PathBuf, u32)>,
}

/// Takes the right to write away from everything below `root`.
pub(crate) fn protect(root: &Path) -> Protected {
    let mut modes = Vec::new();
    for path in listing(root).into_keys().rev() {
        let mode = std::fs::symlink_metadata(&path).unwrap().mode() & 0o7777;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode & !0o222)).unwrap();
        modes.push((path, mode));
    }
    Protected { modes }
}

impl Drop for Protected {
    fn drop(&mut self) {
        for (path, mode) in self.modes.iter().rev() {
            drop(std::fs::set_permissions(path, std::fs::Permissions::from_mode(*mode)));
        }
    }
}
