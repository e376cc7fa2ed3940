//! Writes objects as one pack, so that a thousand documents cost one sync instead of two thousand.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use flate2::{Compress, Compression, FlushCompress, Status};
use git2::{Indexer, Odb, OdbLookupFlags};
use sha1::{Digest, Sha1};

use super::objects::oid;
use super::repository::sync_folder;
use super::{Failpoints, RepositoryError};
use crate::model::ObjectId;

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

/// An object that is to be written.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) id: ObjectId,
    pub(crate) kind: ObjectKind,
    pub(crate) bytes: Vec<u8>,
}

impl Object {
    pub(crate) fn new(kind: ObjectKind, bytes: Vec<u8>) -> Self {
        Self {
            id: id_of(kind, &bytes),
            kind,
            bytes,
        }
    }
}

/// Returns the id of an object with these bytes.
pub(crate) fn id_of(kind: ObjectKind, bytes: &[u8]) -> ObjectId {
    let mut hash = Sha1::new();
    hash.update(format!("{} {}\0", kind.name(), bytes.len()).as_bytes());
    hash.update(bytes);
    ObjectId(hash.finalize().into())
}

/// Returns the `ids` that are not in `odb`, each once.
pub(crate) fn missing(odb: &Odb<'_>, ids: impl IntoIterator<Item = ObjectId>) -> Vec<ObjectId> {
    let mut seen = HashSet::new();
    // A refresh would list the packs again for each missing object.
    let absent = |id: &ObjectId| !odb.exists_ext(oid(*id), OdbLookupFlags::NO_REFRESH);
    ids.into_iter()
        // The indexer rejects a pack that contains an object twice.
        .filter(|id| seen.insert(*id))
        .filter(absent)
        .collect()
}

/// Writes a pack to `folder` (`objects/pack`).
pub(crate) struct PackWriter<'a> {
    folder: &'a Path,
    indexer: Indexer<'a>,
    hash: Sha1,
    // Shared by all objects, because its setup takes longer than compressing a document.
    deflate: Compress,
    /// The number of objects that are still to be added.
    left: usize,
    failpoints: &'a Failpoints,
}

impl<'a> PackWriter<'a> {
    /// Starts a pack of exactly `count` distinct objects.
    pub(crate) fn new(
        folder: &'a Path,
        count: usize,
        failpoints: &'a Failpoints,
    ) -> Result<Self, RepositoryError> {
        // The indexer must not check connectivity, because the objects refer to others outside of the pack.
        let indexer = Indexer::new(None, folder, 0o444, false).map_err(RepositoryError::git(folder))?;
        let mut pack = Self {
            folder,
            indexer,
            hash: Sha1::new(),
            deflate: Compress::new(Compression::fast(), true),
            left: count,
            failpoints,
        };
        let count = u32::try_from(count).expect("a pack contains fewer than 2^32 objects");
        pack.put(b"PACK\0\0\0\x02")?;
        pack.put(&count.to_be_bytes())?;
        Ok(pack)
    }

    pub(crate) fn add(&mut self, kind: ObjectKind, bytes: &[u8]) -> Result<(), RepositoryError> {
        self.left = self.left.checked_sub(1).expect("the count is fixed at the start");
        let mut packed = head(kind, bytes.len());
        self.deflate.reset();
        let mut left = bytes;
        loop {
            // `compress_vec` does not grow its output, and random bytes need more room compressed than plain.
            packed.reserve(left.len() + 64);
            let before = self.deflate.total_in();
            let status = self
                .deflate
                .compress_vec(left, &mut packed, FlushCompress::Finish);
            let status = status.expect("the parameters are valid and the output has room");
            let taken = usize::try_from(self.deflate.total_in() - before).expect("it is in memory");
            left = &left[taken..];
            if status == Status::StreamEnd {
                return self.put(&packed);
            }
        }
    }

    /// Completes the pack durably and returns its name.
    pub(crate) fn finish(mut self) -> Result<String, RepositoryError> {
        assert_eq!(self.left, 0, "the count is fixed at the start");
        let trailer: [u8; 20] = std::mem::take(&mut self.hash).finalize().into();
        // The checksum does not cover itself, so it bypasses `put`.
        self.indexer
            .write_all(&trailer)
            .map_err(pack_error(self.folder))?;
        self.failpoints.at("pack: written")?;
        let name = self.indexer.commit().map_err(RepositoryError::git(self.folder))?;
        self.failpoints.at("pack: named")?;
        // Refs and the journal name these objects later, so that their files and then the folder must be durable now.
        for extension in ["pack", "idx"] {
            let path = self.folder.join(format!("pack-{name}.{extension}"));
            let sync = File::open(&path).and_then(|file| file.sync_all());
            sync.map_err(RepositoryError::io("sync", &path))?;
        }
        sync_folder(self.folder)?;
        self.failpoints.at("pack: synced")?;
        Ok(name)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), RepositoryError> {
        self.hash.update(bytes);
        self.indexer.write_all(bytes).map_err(pack_error(self.folder))
    }
}

/// Writes the `objects` that are missing as one pack; writes nothing if none is.
pub(crate) fn write(
    odb: &Odb<'_>,
    folder: &Path,
    objects: &[Object],
    failpoints: &Failpoints,
) -> Result<(), RepositoryError> {
    let wanted: HashSet<ObjectId> = missing(odb, objects.iter().map(|object| object.id))
        .into_iter()
        .collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let mut pack = PackWriter::new(folder, wanted.len(), failpoints)?;
    let mut done = HashSet::new();
    for object in objects {
        if wanted.contains(&object.id) && done.insert(object.id) {
            pack.add(object.kind, &object.bytes)?;
        }
    }
    pack.finish().map(drop)
}

/// Returns the head of an object in a pack: three bits of type, then the size in groups of seven bits.
fn head(kind: ObjectKind, size: usize) -> Vec<u8> {
    let low = |value: usize, bits: u32| u8::try_from(value & ((1 << bits) - 1)).expect("at most seven bits");
    let mut byte = (kind as u8) << 4 | low(size, 4);
    let mut rest = size >> 4;
    let mut head = Vec::with_capacity(16 + size / 2);
    while rest > 0 {
        head.push(byte | 0x80);
        byte = low(rest, 7);
        rest >>= 7;
    }
    head.push(byte);
    head
}

/// Converts an error of writing a pack in `folder`, which may wrap an error of libgit2.
fn pack_error(folder: &Path) -> impl FnOnce(std::io::Error) -> RepositoryError + use<> {
    let folder = folder.to_owned();
    move |error| match error.downcast::<git2::Error>() {
        Ok(error) => RepositoryError::git(&folder)(error),
        Err(error) => RepositoryError::io("write a pack in", &folder)(error),
    }
}
