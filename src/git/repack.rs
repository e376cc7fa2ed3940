//! Merges packs before they accumulate: a commit takes four times as long with a thousand packs as with fifty.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Repository};

use super::commit::oid;
use super::pack::{ObjectKind, PackWriter, id_of};
use super::repository::sync_folder;
use super::{Failpoints, RepositoryError};
use crate::model::ObjectId;

/// The largest number of packs that are left alone.
const MOST_PACKS: usize = 50;

/// Merges the smaller packs into one if there are too many. Returns whether it did.
///
/// The new pack contains all objects of the merged packs, including objects that no ref reaches.
pub(crate) fn repack(repository: &Repository, failpoints: &Failpoints) -> Result<bool, RepositoryError> {
    let folder = repository.path().join("objects/pack");
    let packs = packs(&folder)?;
    if packs.len() <= MOST_PACKS {
        return Ok(false);
    }
    // A pack of unknown size counts as the largest, so that it is merged last.
    let size = |path: &PathBuf| fs::metadata(path).map_or(u64::MAX, |file| file.len());
    let mut sized: Vec<(u64, PathBuf)> = packs.into_iter().map(|path| (size(&path), path)).collect();
    sized.sort();
    let sizes: Vec<u64> = sized.iter().map(|(size, _)| *size).collect();
    let old = sized.into_iter().take(smaller(&sizes));
    let old: Vec<PathBuf> = old.map(|(_, path)| path).collect();
    let broken = || RepositoryError::git(repository.path());
    let odb = repository.odb().map_err(broken())?;
    let objects = objects_in(&old)?;
    let mut pack = PackWriter::new(&folder, objects.len(), failpoints)?;
    for id in &objects {
        let object = odb.read(oid(*id)).map_err(broken())?;
        let kind = match object.kind() {
            ObjectType::Commit => ObjectKind::Commit,
            ObjectType::Tree => ObjectKind::Tree,
            ObjectType::Blob => ObjectKind::Blob,
            _ => {
                let error = git2::Error::from_str(&format!("object {id} has an unknown type"));
                return Err(broken()(error));
            }
        };
        // An object with other content than its id must not replace the last copy that may be sound.
        if id_of(kind, object.data()) != *id {
            let error = git2::Error::from_str(&format!("object {id} is damaged"));
            return Err(broken()(error));
        }
        pack.add(*id, kind, object.data())?;
    }
    let name = pack.finish()?;
    let new = folder.join(format!("pack-{name}.pack"));
    // Deleting the old packs cannot be undone, so the new index must list all of their objects.
    check(&new, &objects)?;
    // The name of a pack depends on its content, so the new pack may have the name of an old one.
    delete(&folder, old.iter().filter(|path| **path != new), failpoints)?;
    // Open handles do not detect that packs were deleted, so the caller must know.
    Ok(true)
}

/// Returns how many of the packs to merge, starting with the smallest, so that each remaining pack is at least twice as
/// large as all smaller ones together.
fn smaller(sizes: &[u64]) -> usize {
    // As in `git repack --geometric`: over years, each byte is then written only a few times, and most merges are as
    // large as the packs of the last passes.
    let pairs = sizes.windows(2).rposition(|pair| pair[1] < pair[0].saturating_mul(2));
    let Some(last) = pairs else {
        return 0;
    };
    let mut count = last + 2;
    let mut total: u64 = sizes[..count].iter().fold(0, |total, size| total.saturating_add(*size));
    while let Some(next) = sizes.get(count).filter(|next| **next < total.saturating_mul(2)) {
        total = total.saturating_add(*next);
        count += 1;
    }
    count
}

fn packs(folder: &Path) -> Result<Vec<PathBuf>, RepositoryError> {
    let entries = fs::read_dir(folder).map_err(RepositoryError::io("read", folder))?;
    let mut packs: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pack"))
        .collect();
    packs.sort();
    Ok(packs)
}

/// Returns the objects that the indexes of the packs list, each once.
fn objects_in(packs: &[PathBuf]) -> Result<Vec<ObjectId>, RepositoryError> {
    let mut objects = BTreeSet::new();
    for pack in packs {
        let path = pack.with_extension("idx");
        match fs::read(&path) {
            Ok(bytes) => objects.extend(listed(&bytes).ok_or_else(|| malformed(&path))?),
            // Only a crash leaves a pack without an index, so no ref depends on it.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(RepositoryError::io("read", &path)(error)),
        }
    }
    Ok(objects.into_iter().collect())
}

/// Reads the ids of a version 2 index: a magic number, a version, 256 cumulative counts, the ids.
fn listed(index: &[u8]) -> Option<Vec<ObjectId>> {
    let rest = index.strip_prefix(b"\xfftOc\0\0\0\x02")?;
    let (counts, rest) = rest.split_at_checked(256 * 4)?;
    let count = u32::from_be_bytes(counts[255 * 4..].try_into().ok()?);
    let ids = rest.get(..usize::try_from(count).ok()? * 20)?;
    Some(ids.chunks_exact(20).map(|id| ObjectId(id.try_into().expect("each chunk has 20 bytes"))).collect())
}

fn malformed(path: &Path) -> RepositoryError {
    RepositoryError::git(path)(git2::Error::from_str("the index of a pack is malformed"))
}

/// Fails unless the index of the new pack lists all `objects`.
fn check(pack: &Path, objects: &[ObjectId]) -> Result<(), RepositoryError> {
    let listed: HashSet<ObjectId> = objects_in(&[pack.to_owned()])?.into_iter().collect();
    match objects.iter().all(|id| listed.contains(id)) {
        true => Ok(()),
        false => Err(malformed(pack)),
    }
}

/// Deletes `packs` and their indexes.
fn delete<'a>(
    folder: &Path,
    packs: impl Iterator<Item = &'a PathBuf>,
    failpoints: &Failpoints,
) -> Result<(), RepositoryError> {
    let remove = |path: &Path| match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(RepositoryError::io("remove", path)(error)),
        _ => Ok(()),
    };
    // An operator's `git maintenance` may have created this index, which names the packs to be deleted.
    remove(&folder.join("multi-pack-index"))?;
    // After a crash, this index must not reappear without its packs.
    sync_folder(folder)?;
    for pack in packs {
        // The index goes first, so that an index never names a deleted pack.
        for extension in ["idx", "pack", "rev", "bitmap"] {
            failpoints.at("merge: deleting")?;
            remove(&pack.with_extension(extension))?;
        }
    }
    sync_folder(folder)
}

#[cfg(test)]
mod tests {
    use super::smaller;

    #[test]
    fn the_remaining_packs_at_least_double_in_size() {
        for (sizes, count) in [
            (&[][..], 0),
            (&[5], 0),
            (&[1, 2, 4, 8], 0),
            (&[1, 1], 2),
            (&[1, 1, 1, 100], 3),
            (&[1, 1, 1, 5, 100], 4),
            (&[1, 1, 1, 6, 100], 3),
            (&[1, 2, 4, 7, 100], 4),
            (&[10, 10, 10, 50, 100], 5),
            (&[u64::MAX, u64::MAX], 0),
        ] {
            assert_eq!(smaller(sizes), count, "{sizes:?}");
        }
    }
}
