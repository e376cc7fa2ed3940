//! Writes, copies, and merges packs. One pack of a thousand documents costs one sync instead of two thousand.
//!
//! libgit2 indexes what is written here. Copies of many documents and merges are the `git` program's, which
//! moves objects as they are stored. Without the program, documents are compressed one by one, and packs are
//! not merged: both cost only time.

use std::fs::{self, File};
use std::io::{Seek as _, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use git2::{Indexer, Odb, OdbLookupFlags, Repository};
use sha1::{Digest, Sha1};

use super::commit::oid;
use super::host_error::GitError;
use super::process::{local, run, run_on, version};
use super::process_group::StepKind;
use super::repository::{remove_unfinished, sync_folder};
use super::words::GitWords;
use super::{Failpoints, RepositoryError};
use crate::model::{ObjectId, chain};

/// The longest time that copying or merging packs may take.
const PACK_TIMEOUT: Duration = Duration::from_secs(600);

/// The mode of Git's packs.
const READ_ONLY: u32 = 0o444;

/// The size of the smallest page of memory.
const PAGE: usize = 4096;

/// The type of an object; the value is its number in a pack.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ObjectKind {
    Commit = 1,
    Tree = 2,
    Blob = 3,
}

impl ObjectKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Blob => "blob",
            Self::Commit => "commit",
            Self::Tree => "tree",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) id: ObjectId,
    pub(crate) kind: ObjectKind,
    pub(crate) bytes: Vec<u8>,
}

impl Object {
    pub(crate) fn new(kind: ObjectKind, bytes: Vec<u8>) -> Self {
        Self { id: id_of(kind, &bytes), kind, bytes }
    }
}

/// Returns the id of an object with these bytes.
pub(crate) fn id_of(kind: ObjectKind, bytes: &[u8]) -> ObjectId {
    let mut hash = Sha1::new();
    hash.update(format!("{} {}\0", kind.name(), bytes.len()).as_bytes());
    hash.update(bytes);
    ObjectId(hash.finalize().into())
}

/// Returns the `ids` that are not in `odb`, sorted, each once: a pack must not contain an object twice.
pub(crate) fn missing(odb: &Odb<'_>, ids: impl IntoIterator<Item = ObjectId>) -> Vec<ObjectId> {
    let mut ids: Vec<ObjectId> = ids.into_iter().collect();
    ids.sort_unstable();
    ids.dedup();
    // A refresh would list the packs again for each missing object.
    ids.retain(|id| !odb.exists_ext(oid(*id), OdbLookupFlags::NO_REFRESH));
    ids
}

/// Writes a pack to `folder` (`objects/pack`).
pub(crate) struct PackWriter<'a> {
    folder: &'a Path,
    indexer: Indexer<'static>,
    hash: Sha1,
    failpoints: &'a Failpoints,
}

impl<'a> PackWriter<'a> {
    /// Starts a pack of exactly `count` distinct objects.
    pub(crate) fn new(
        folder: &'a Path,
        count: usize,
        failpoints: &'a Failpoints,
    ) -> Result<Self, RepositoryError> {
        let indexer = Indexer::new(None, folder, READ_ONLY, false).map_err(RepositoryError::git(folder))?;
        let mut pack = Self { folder, indexer, hash: Sha1::new(), failpoints };
        let count = u32::try_from(count).expect("a pack contains fewer than 2^32 objects");
        pack.put(b"PACK\0\0\0\x02")?;
        pack.put(&count.to_be_bytes())?;
        Ok(pack)
    }

    pub(crate) fn add(&mut self, kind: ObjectKind, bytes: &[u8]) -> Result<(), RepositoryError> {
        let mut deflated = ZlibEncoder::new(head(kind, bytes.len()), Compression::fast());
        let written = deflated.write_all(bytes).and_then(|()| deflated.finish());
        self.put(&written.expect("writing to memory succeeds"))
    }

    /// Completes the pack durably.
    pub(crate) fn finish(mut self) -> Result<(), RepositoryError> {
        let trailer: [u8; 20] = std::mem::take(&mut self.hash).finalize().into();
        // The checksum does not cover itself.
        self.put(&trailer)?;
        self.failpoints.at("pack: written")?;
        let name = self.indexer.commit().map_err(RepositoryError::git(self.folder))?;
        self.failpoints.at("pack: named")?;
        // Refs and the journal name these objects later, so that their files and then the folder must be
        // durable now.
        for extension in ["pack", "idx"] {
            let path = self.folder.join(format!("pack-{name}.{extension}"));
            let synced = File::open(&path).and_then(|file| file.sync_all());
            synced.map_err(RepositoryError::io("sync", &path))?;
        }
        sync_folder(self.folder)?;
        self.failpoints.at("pack: synced")
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), RepositoryError> {
        self.hash.update(bytes);
        // libgit2 maps the file, and on a full disk only the page of the last byte is sure to exist.
        let written = bytes.chunks(PAGE).try_for_each(|part| self.indexer.write_all(part));
        written.map_err(|error| match error.downcast::<git2::Error>() {
            Ok(error) => RepositoryError::git(self.folder)(error),
            Err(error) => RepositoryError::io("write a pack in", self.folder)(error),
        })
    }
}

/// Returns the head of an entry: three bits of type, then the size in groups of seven bits, the lowest first.
fn head(kind: ObjectKind, size: usize) -> Vec<u8> {
    let low = |bits: usize| u8::try_from(bits & 0x7f).expect("seven bits fit");
    let mut head = vec![(kind as u8) << 4 | low(size & 15)];
    let mut rest = size >> 4;
    while rest > 0 {
        *head.last_mut().expect("it has a first byte") |= 0x80;
        head.push(low(rest));
        rest >>= 7;
    }
    head
}

/// Copies objects of the repository in `source` to that in `target` as they are stored, each after the base
/// of its delta. The caller checks what has arrived: without the `git` program, and if an object is missing
/// or damaged, nothing has.
pub(crate) fn copy(source: &Path, target: &Path, ids: &[ObjectId]) -> Result<(), RepositoryError> {
    let _ = copied(source, target, ids);
    sync_folder(&target.join("objects/pack"))
}

fn copied(source: &Path, target: &Path, ids: &[ObjectId]) -> Result<(), GitError> {
    let failed = |source| GitError::Io { doing: "write a temporary file for `git`", source };
    // Without a name, so that nothing has to remove it.
    let mut list = tempfile::tempfile().map_err(failed)?;
    let ids: String = ids.iter().map(|id| format!("{id}\n")).collect();
    list.write_all(ids.as_bytes()).and_then(|()| list.rewind()).map_err(failed)?;
    // It runs in the repository of the state, so that nothing of the source is read but its objects. It
    // compares their bytes with the checksums of the source's index.
    let mut packer = local(target);
    packer
        .args(["pack-objects", "--quiet", "--window=0", "--compression=1"])
        .arg(target.join("objects/pack/pack"))
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", source.join("objects"));
    run_on(Stdio::from(list), packer, StepKind::Write, PACK_TIMEOUT, target.display()).map(drop)
}

/// What became of the packs of a repository.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum PackMerge {
    /// They stay as they are.
    None,
    /// Open handles do not detect that packs were deleted.
    Merged,
    /// So many packs could not be merged.
    Failed(usize),
}

/// Merges packs if there are more than `most`: each that remains is at least twice as large as all smaller
/// ones together. Removes what an earlier merge did not finish, so the caller must hold the lock that excludes
/// other writers.
///
/// Objects that no ref reaches are kept: the journal may name them.
pub(crate) fn repack(repository: &Repository, most: usize) -> Result<PackMerge, RepositoryError> {
    remove_unfinished(repository.path());
    let folder = repository.path().join("objects/pack");
    let files = fs::read_dir(&folder).map_err(RepositoryError::io("read", &folder))?;
    let is_pack = |path: &Path| path.extension().is_some_and(|extension| extension == "pack");
    let packs = files.flatten().filter(|file| is_pack(&file.path())).count();
    if packs <= most {
        return Ok(PackMerge::None);
    }
    let how: &[&str] = match version() {
        Ok(version) if version >= (2, 32) => &["--geometric=2", "-d"],
        Ok(_) => &["-a", "-d", "-k"],
        Err(_) => return Ok(PackMerge::None),
    };
    let mut repack = local(repository.path());
    repack.args(["repack", "-q", "-n", "--no-write-bitmap-index"]).args(how);
    let failure = match run(repack, StepKind::Read, PACK_TIMEOUT, folder.display()) {
        Ok(output) if output.is_success => None,
        Ok(output) => Some(GitWords::of(&output.words()).to_string()),
        // The next process does it.
        Err(GitError::Stopped(_)) => return Ok(PackMerge::None),
        Err(error) => Some(format!(": {}", chain(&error))),
    };
    remove_unfinished(repository.path());
    sync_folder(&folder)?;
    let Some(words) = failure else {
        return Ok(PackMerge::Merged);
    };
    tracing::warn!(name: "packs_not_merged", folder = %folder.display(), "could not merge the packs of the state{words}");
    Ok(PackMerge::Failed(packs))
}
