//! One pack for everything that belongs together: one sync for a thousand documents instead of two thousand.

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

/// The types of objects, with their numbers in a pack.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Commit = 1,
    Tree = 2,
    Blob = 3,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Blob => "blob",
            Self::Commit => "commit",
            Self::Tree => "tree",
        }
    }
}

/// One object on its way into a pack.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) id: ObjectId,
    pub(crate) kind: Kind,
    pub(crate) bytes: Vec<u8>,
}

impl Object {
    pub(crate) fn new(kind: Kind, bytes: Vec<u8>) -> Self {
        Self {
            id: id_of(kind, &bytes),
            kind,
            bytes,
        }
    }
}

/// Returns the id that Git gives to these bytes.
pub(crate) fn id_of(kind: Kind, bytes: &[u8]) -> ObjectId {
    let mut hash = Sha1::new();
    hash.update(format!("{} {}\0", kind.name(), bytes.len()).as_bytes());
    hash.update(bytes);
    ObjectId(hash.finalize().into())
}

/// Returns which of `ids` are not in `odb`, each once: the indexer refuses a pack that holds an object twice.
pub(crate) fn missing(odb: &Odb<'_>, ids: impl IntoIterator<Item = ObjectId>) -> Vec<ObjectId> {
    let mut seen = HashSet::new();
    let absent = |id: &ObjectId| !odb.exists_ext(oid(*id), OdbLookupFlags::NO_REFRESH);
    ids.into_iter()
        .filter(|id| seen.insert(*id))
        .filter(absent)
        .collect()
}

/// A pack that is being written into `folder` (`objects/pack`).
pub(crate) struct PackWriter<'a> {
    folder: &'a Path,
    indexer: Indexer<'a>,
    hash: Sha1,
    // Shared by all objects, because its setup takes longer than compressing a document.
    deflate: Compress,
    left: usize,
    failpoints: &'a Failpoints,
}

impl<'a> PackWriter<'a> {
    /// Begins a pack of exactly `count` objects, no two of them the same.
    pub(crate) fn new(
        folder: &'a Path,
        count: usize,
        failpoints: &'a Failpoints,
    ) -> Result<Self, RepositoryError> {
        let indexer = Indexer::new(None, folder, 0o444, false).map_err(RepositoryError::git(folder))?;
        let mut pack = Self {
            folder,
            indexer,
            hash: Sha1::new(),
            deflate: Compress::new(Compression::fast(), true),
            left: count,
            failpoints,
        };
        let count = u32::try_from(count).expect("a pack holds far fewer than four thousand million objects");
        pack.put(b"PACK\0\0\0\x02")?;
        pack.put(&count.to_be_bytes())?;
        Ok(pack)
    }

    /// Adds one object.
    pub(crate) fn add(&mut self, kind: Kind, bytes: &[u8]) -> Result<(), RepositoryError> {
        self.left = self
            .left
            .checked_sub(1)
            .expect("the count was given at the start");
        let mut packed = head(kind, bytes.len());
        self.deflate.reset();
        let mut left = bytes;
        loop {
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

    /// Ends the pack; it is durable, and its name is returned, when this returns.
    pub(crate) fn finish(mut self) -> Result<String, RepositoryError> {
        assert_eq!(self.left, 0, "the count was given at the start");
        let trailer: [u8; 20] = std::mem::take(&mut self.hash).finalize().into();
        self.indexer
            .write_all(&trailer)
            .map_err(pack_error(self.folder))?;
        self.failpoints.at("pack: written")?;
        let name = self.indexer.commit().map_err(RepositoryError::git(self.folder))?;
        self.failpoints.at("pack: named")?;
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

/// Writes `objects`, less those that are there and those that are given twice, as one pack; none is no pack.
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

/// The head of an object in a pack: three bits of type and the size, seven bits at a time. What is deflated follows.
fn head(kind: Kind, size: usize) -> Vec<u8> {
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

/// Makes an error of a pack that libgit2 writes in `folder`: its errors come wrapped.
fn pack_error(folder: &Path) -> impl FnOnce(std::io::Error) -> RepositoryError + use<> {
    let folder = folder.to_owned();
    move |error| match error.downcast::<git2::Error>() {
        Ok(error) => RepositoryError::git(&folder)(error),
        Err(error) => RepositoryError::io("write a pack in", &folder)(error),
    }
}
