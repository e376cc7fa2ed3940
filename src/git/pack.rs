//! Writes objects as one pack, so that a thousand documents cost one sync instead of two thousand.

use std::fs::Permissions;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use sha1::{Digest, Sha1};
use tempfile::NamedTempFile;

use super::pack_index::{self, IndexEntry};
use super::packs::Packs;
use super::repository::sync_folder;
use super::{Failpoints, RepositoryError};
use crate::model::ObjectId;

/// The type of a delta whose base is at a distance in the same pack.
const DELTA: u8 = 6;

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

/// Returns the `ids` that no pack in `folder` contains, sorted, each once.
pub(crate) fn missing(folder: &Path, ids: impl IntoIterator<Item = ObjectId>) -> Vec<ObjectId> {
    let packs = Packs::open(folder);
    let mut ids: Vec<ObjectId> = ids.into_iter().collect();
    ids.sort_unstable();
    // A pack must not contain an object twice.
    ids.dedup();
    // A loose object, which only another program can have written, is packed again: to look for a hundred thousand files
    // takes longer than to pack as many documents.
    ids.retain(|id| packs.find(*id).is_none());
    ids
}

/// Objects as they are in other packs, each after the base of its delta.
#[derive(Debug, Default)]
pub struct PackCopies {
    pub(super) entries: Vec<CopiedEntry>,
    /// The deflated bytes of all entries.
    pub(super) deflated: Vec<u8>,
}

impl PackCopies {
    /// Returns the number of objects.
    pub(crate) const fn count(&self) -> usize {
        self.entries.len()
    }
}

/// An object as it is in another pack.
#[derive(Debug)]
pub(super) struct CopiedEntry {
    pub(super) id: ObjectId,
    /// The base is one of the entries before this one.
    pub(super) form: EntryForm<usize>,
    /// The inflated size of the object or delta.
    pub(super) size: usize,
    /// The place of its deflated bytes.
    pub(super) deflated: Range<usize>,
}

/// The form in which a pack stores an object.
#[derive(Clone, Copy, Debug)]
pub(super) enum EntryForm<B> {
    Whole(ObjectKind),
    /// A delta of the base.
    Delta(B),
}

/// Writes a pack to `folder` (`objects/pack`).
pub(crate) struct PackWriter<'a> {
    folder: &'a Path,
    file: BufWriter<NamedTempFile>,
    hash: Sha1,
    // Shared by all objects, because its setup takes longer than compressing a document.
    deflate: Compress,
    entries: Vec<IndexEntry>,
    /// The length of the pack so far.
    length: u64,
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
        let mut pack = Self {
            folder,
            file: BufWriter::with_capacity(1 << 16, temporary(folder)?),
            hash: Sha1::new(),
            deflate: Compress::new(Compression::fast(), true),
            entries: Vec::with_capacity(count),
            length: 0,
            left: count,
            failpoints,
        };
        let count = u32::try_from(count).expect("a pack contains fewer than 2^32 objects");
        pack.put(b"PACK\0\0\0\x02")?;
        pack.put(&count.to_be_bytes())?;
        Ok(pack)
    }

    /// Adds the object `id`, whose content is `bytes`.
    pub(crate) fn add(
        &mut self,
        id: ObjectId,
        kind: ObjectKind,
        bytes: &[u8],
    ) -> Result<(), RepositoryError> {
        let mut packed = head(kind as u8, bytes.len());
        self.deflate.reset();
        let mut left = bytes;
        loop {
            // `compress_vec` does not grow its output, and random bytes need more room compressed than plain.
            packed.reserve(left.len() + 64);
            let before = self.deflate.total_in();
            let status = self.deflate.compress_vec(left, &mut packed, FlushCompress::Finish);
            let status = status.expect("the parameters are valid and the output has room");
            let taken = usize::try_from(self.deflate.total_in() - before).expect("it is in memory");
            left = &left[taken..];
            if status == Status::StreamEnd {
                return self.put_entry(id, &packed);
            }
        }
    }

    /// Adds objects as they are in other packs.
    pub(crate) fn copy(&mut self, copies: &PackCopies) -> Result<(), RepositoryError> {
        let first = self.entries.len();
        for entry in &copies.entries {
            let mut packed = match entry.form {
                EntryForm::Whole(kind) => head(kind as u8, entry.size),
                EntryForm::Delta(base) => {
                    let distance = distance(self.length - self.entries[first + base].offset);
                    [head(DELTA, entry.size), distance].concat()
                }
            };
            packed.extend_from_slice(&copies.deflated[entry.deflated.clone()]);
            self.put_entry(entry.id, &packed)?;
        }
        Ok(())
    }

    /// Completes the pack durably and returns its name.
    pub(crate) fn finish(mut self) -> Result<String, RepositoryError> {
        assert_eq!(self.left, 0, "the count is fixed at the start");
        let trailer: [u8; 20] = std::mem::take(&mut self.hash).finalize().into();
        // The checksum does not cover itself.
        self.put(&trailer)?;
        let write = RepositoryError::io("write a pack in", self.folder);
        let pack = self.file.into_inner().map_err(|error| write(error.into_error()))?;
        self.failpoints.at("pack: written")?;
        let mut index = temporary(self.folder)?;
        let written = index.write_all(&pack_index::index(self.entries, &trailer));
        written.map_err(RepositoryError::io("write a pack in", self.folder))?;
        let name = ObjectId(trailer).to_string();
        // Refs and the journal name these objects later, so that their files and then the folder must be durable now. The
        // index comes last, because it makes the pack visible.
        for (file, extension) in [(pack, "pack"), (index, "idx")] {
            let path = self.folder.join(format!("pack-{name}.{extension}"));
            let synced = file.as_file().sync_all();
            synced.map_err(RepositoryError::io("sync", &path))?;
            let named = file.persist(&path).map_err(|error| error.error);
            named.map_err(RepositoryError::io("create", &path))?;
        }
        self.failpoints.at("pack: named")?;
        sync_folder(self.folder)?;
        self.failpoints.at("pack: synced")?;
        Ok(name)
    }

    fn put_entry(&mut self, id: ObjectId, bytes: &[u8]) -> Result<(), RepositoryError> {
        self.left = self.left.checked_sub(1).expect("the count is fixed at the start");
        let mut checksum = Crc::new();
        checksum.update(bytes);
        self.entries.push(IndexEntry { id, checksum: checksum.sum(), offset: self.length });
        self.put(bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), RepositoryError> {
        self.hash.update(bytes);
        self.length += bytes.len() as u64;
        let written = self.file.write_all(bytes);
        written.map_err(RepositoryError::io("write a pack in", self.folder))
    }
}

/// Creates a file that is removed if it is not renamed.
fn temporary(folder: &Path) -> Result<NamedTempFile, RepositoryError> {
    let mut file = tempfile::Builder::new();
    // The name is one that the next start of this crate removes after a crash, and the mode that of Git's packs.
    file.prefix("tmp_pack_").permissions(Permissions::from_mode(0o444));
    file.tempfile_in(folder).map_err(RepositoryError::io("create a pack in", folder))
}

/// Returns the head of an entry: three bits of type, then the size in groups of seven bits, the lowest first.
fn head(kind: u8, size: usize) -> Vec<u8> {
    let mut byte = kind << 4 | low(size as u64, 4);
    let mut rest = size as u64 >> 4;
    let mut head = Vec::with_capacity(16 + size / 2);
    while rest > 0 {
        head.push(byte | 0x80);
        byte = low(rest, 7);
        rest >>= 7;
    }
    head.push(byte);
    head
}

/// Returns the distance to the base of a delta: groups of seven bits, the highest first, each but the last minus one.
fn distance(mut distance: u64) -> Vec<u8> {
    let mut bytes = vec![low(distance, 7)];
    while distance >> 7 > 0 {
        distance = (distance >> 7) - 1;
        bytes.push(0x80 | low(distance, 7));
    }
    bytes.reverse();
    bytes
}

fn low(value: u64, bits: u32) -> u8 {
    u8::try_from(value & ((1 << bits) - 1)).expect("at most seven bits")
}
