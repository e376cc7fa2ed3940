//! Replaces small files durably and atomically: temporary file, sync, rename, sync of the folder.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::{fs, io};

use super::Error;
use crate::git;
use crate::git::Failpoints;

/// Replaces the content of `path`.
///
/// Other files are replaced by other rules: a document keeps its permissions, and may be created only (`authoring`);
/// a ref holds the lock of Git (`git`); a CA file is readable for everyone (`sandbox`); notifications may be sent
/// again after a power cut, so their folder is not synced.
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
