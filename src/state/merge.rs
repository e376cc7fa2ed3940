//! Merging packs before they pile up: a commit takes four times as long on a thousand packs as on fifty.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Repository};

use super::crash::Crash;
use super::error::Error;
use super::files;
use super::pack::{Kind, PackWriter};
use super::repository::oid;
use crate::model::ObjectId;

/// How many packs may lie there.
const MANY: usize = 50;

/// A pack of more bytes is left as it is: merging is for the small ones, so that it costs what they hold and not
/// what the state holds.
const SMALL: u64 = 8 * 1024 * 1024;

/// Merges the small packs into one where there are too many.
///
/// Nothing is dropped, whether a ref reaches it or not: what a merged pack held is in the new one before it goes.
pub(crate) fn if_many(repository: &Repository, crash: &Crash) -> Result<(), Error> {
    let folder = repository.path().join("objects/pack");
    let packs = packs(&folder)?;
    if packs.len() <= MANY {
        return Ok(());
    }
    let size = |path: &PathBuf| fs::metadata(path).map_or(u64::MAX, |file| file.len());
    let small: Vec<PathBuf> = packs.iter().filter(|path| size(path) <= SMALL).cloned().collect();
    // Medium packs pile up as well, just more slowly: then everything is merged.
    let old = if small.len() * 2 > MANY { small } else { packs };
    let broken = || Error::repository(repository.path());
    let odb = repository.odb().map_err(broken())?;
    let objects = objects_in(&old)?;
    let mut pack = PackWriter::new(&folder, objects.len(), crash)?;
    for id in &objects {
        let object = oid(*id).and_then(|id| odb.read(id)).map_err(broken())?;
        let kind = match object.kind() {
            ObjectType::Commit => Kind::Commit,
            ObjectType::Tree => Kind::Tree,
            ObjectType::Blob => Kind::Blob,
            _ => {
                let error = git2::Error::from_str(&format!("object {id} is of no known type"));
                return Err(broken()(error));
            }
        };
        pack.add(kind, object.data())?;
    }
    let name = pack.finish()?;
    let new = folder.join(format!("pack-{name}.pack"));
    check(&new, &objects)?;
    delete(&folder, old.iter().filter(|path| **path != new), crash)?;
    odb.refresh().map_err(broken())
}

fn packs(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).map_err(Error::io("read", folder))?;
    let mut packs: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pack"))
        .collect();
    packs.sort();
    Ok(packs)
}

/// Returns the objects that the packs' own indexes list, each once.
fn objects_in(packs: &[PathBuf]) -> Result<Vec<ObjectId>, Error> {
    let mut objects = BTreeSet::new();
    for pack in packs {
        let path = pack.with_extension("idx");
        match fs::read(&path) {
            Ok(bytes) => objects.extend(listed(&bytes).ok_or_else(|| malformed(&path))?),
            // A pack without an index is what a crash left of one: nothing refers to it.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("read", &path)(error)),
        }
    }
    Ok(objects.into_iter().collect())
}

/// Reads the ids of a version 2 index: a magic number, a version, 256 running counts, the ids.
fn listed(index: &[u8]) -> Option<Vec<ObjectId>> {
    let rest = index.strip_prefix(b"\xfftOc\0\0\0\x02")?;
    let (counts, rest) = rest.split_at_checked(256 * 4)?;
    let count = u32::from_be_bytes(counts[255 * 4..].try_into().ok()?);
    let ids = rest.get(..usize::try_from(count).ok()? * 20)?;
    Some(
        ids.chunks_exact(20)
            .map(|id| ObjectId(id.try_into().expect("chunks are of twenty")))
            .collect(),
    )
}

fn malformed(path: &Path) -> Error {
    Error::repository(path)(git2::Error::from_str("the index of a pack is malformed"))
}

/// The new pack's own index must list everything before anything that it replaces is deleted.
fn check(pack: &Path, objects: &[ObjectId]) -> Result<(), Error> {
    let listed: HashSet<ObjectId> = objects_in(&[pack.to_owned()])?.into_iter().collect();
    match objects.iter().all(|id| listed.contains(id)) {
        true => Ok(()),
        false => Err(malformed(pack)),
    }
}

/// Deletes packs, the index first, so that no index ever speaks of a pack that is gone.
fn delete<'a>(folder: &Path, packs: impl Iterator<Item = &'a PathBuf>, crash: &Crash) -> Result<(), Error> {
    // An operator's `git maintenance` may have made this one; it names the packs that go.
    files::remove(&folder.join("multi-pack-index"))?;
    for pack in packs {
        for extension in ["idx", "pack", "rev", "bitmap"] {
            crash.at("merge: deleting")?;
            match fs::remove_file(pack.with_extension(extension)) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Error::io("remove", pack)(error));
                }
                _ => {}
            }
        }
    }
    files::sync_folder(folder)
}
