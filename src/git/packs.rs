//! Finds objects in the packs of a repository by their indexes.
//!
//! libgit2 takes several locks for each object and reads the head of each twice. For a hundred thousand documents, that
//! takes longer than parsing them. Whatever is not in a readable pack is left to libgit2: loose objects, alternates,
//! packs that are written later, and damage, for which it has the better errors.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::OnceLock;

use sha1::{Digest, Sha1};

use crate::model::{ObjectId, StoredAt};

/// The length of an id in bytes.
const ID: usize = 20;

/// The start of an index: the magic number, the version, and for each first byte of an id the number of ids up to it.
const HEAD: usize = 8 + 256 * 4;

/// The packs of a repository, open for reading. Threads share it.
pub(super) struct Packs(Vec<Pack>);

impl Packs {
    /// Opens the packs in `folder` (`objects/pack`), and skips those that cannot be read.
    pub(super) fn open(folder: &Path) -> Self {
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        let paths = files.map(|file| file.path());
        let indexes = paths.filter(|path| path.extension().is_some_and(|extension| extension == "idx"));
        let mut packs: Vec<Pack> = indexes.filter_map(|path| Pack::open(&path)).collect();
        // Most objects are in the largest pack.
        packs.sort_by_key(|pack| std::cmp::Reverse(pack.count()));
        Self(packs)
    }

    pub(super) fn find(&self, id: ObjectId) -> Option<StoredAt> {
        let found = |(number, pack): (usize, &Pack)| Some((number, pack.find(id)?));
        self.0.iter().enumerate().find_map(found)
    }

    /// Returns where `id` is in the pack `number`.
    pub(super) fn find_in(&self, number: usize, id: ObjectId) -> Option<StoredAt> {
        Some((number, self.0.get(number)?.find(id)?))
    }

    /// Returns the number of packs.
    pub(super) const fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the objects of the pack `number` in their order, unless it has more than `most` or its index is
    /// damaged.
    pub(super) fn entries(&self, number: usize, most: usize) -> Option<Vec<StoredEntry>> {
        self.0.get(number)?.entries(most)
    }

    /// Reads from a pack into `buffer` and returns the number of bytes, fewer only at the end of the pack.
    pub(super) fn read(&self, (number, offset): StoredAt, buffer: &mut [u8]) -> Option<usize> {
        let pack = self.0.get(number)?;
        let mut done = 0;
        while done < buffer.len() {
            match pack.objects.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        Some(done)
    }
}

/// An object of a pack, as its index describes it.
pub(super) struct StoredEntry {
    pub(super) id: ObjectId,
    /// The CRC-32 of the bytes from `start` to `end`.
    pub(super) checksum: u32,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// The length of the checksum at the end of a pack.
const TRAILER: u64 = 20;

struct Pack {
    index: File,
    objects: File,
    /// For each first byte of an id, the number of ids up to it.
    counts: [u32; 256],
    /// The part of the index for each first byte of an id, read at its first use.
    parts: [OnceLock<IndexPart>; 256],
}

/// The ids with one first byte, and their offsets.
struct IndexPart {
    ids: Vec<u8>,
    offsets: Vec<u8>,
}

impl Pack {
    fn open(path: &Path) -> Option<Self> {
        let index = File::open(path).ok()?;
        let objects = File::open(path.with_extension("pack")).ok()?;
        let mut head = [0; HEAD];
        index.read_exact_at(&mut head, 0).ok()?;
        let mut start = [0; 8];
        objects.read_exact_at(&mut start, 0).ok()?;
        if !head.starts_with(b"\xfftOc\0\0\0\x02") || start != *b"PACK\0\0\0\x02" {
            return None;
        }
        let mut counts = [0; 256];
        for (count, bytes) in counts.iter_mut().zip(head[8..].chunks_exact(4)) {
            *count = number(bytes)?;
        }
        let parts = [const { OnceLock::new() }; 256];
        counts.is_sorted().then_some(Self { index, objects, counts, parts })
    }

    fn count(&self) -> usize {
        self.counts[255] as usize
    }

    fn find(&self, id: ObjectId) -> Option<u64> {
        let first = usize::from(id.0[0]);
        let start = first.checked_sub(1).map_or(0, |before| self.counts[before]) as usize;
        let part = match self.parts[first].get() {
            Some(part) => part,
            None => {
                let read = self.part(start, self.counts[first] as usize - start)?;
                self.parts[first].get_or_init(|| read)
            }
        };
        let ids = part.ids.as_chunks::<ID>().0;
        // Comparing eight bytes takes less than half as long as a call that compares twenty.
        let start = |id: &[u8; ID]| id.first_chunk().map(|start| u64::from_be_bytes(*start));
        let order = |other: &[u8; ID]| start(other).cmp(&start(&id.0)).then_with(|| other.cmp(&id.0));
        let at = ids.binary_search_by(order).ok()?;
        self.offset(number(&part.offsets[at * 4..][..4])?)
    }

    fn entries(&self, most: usize) -> Option<Vec<StoredEntry>> {
        let count = self.count();
        let length = usize::try_from(self.index.metadata().ok()?.len()).ok()?;
        // Each object has at most 36 bytes in the index.
        if count > most || length > HEAD + count * (ID + 16) + 2 * ID {
            return None;
        }
        let mut bytes = vec![0; length];
        self.index.read_exact_at(&mut bytes, 0).ok()?;
        let (content, checksum) = bytes.split_last_chunk::<ID>()?;
        if *Sha1::digest(content) != *checksum {
            return None;
        }
        let rows = content.get(HEAD..)?;
        let (ids, rest) = rows.split_at_checked(count * ID)?;
        let (checksums, rest) = rest.split_at_checked(count * 4)?;
        let ids = ids.as_chunks::<ID>().0.iter();
        let rows = ids.zip(checksums.chunks_exact(4)).zip(rest.chunks_exact(4));
        let entry = |((id, checksum), offset): ((&[u8; ID], &[u8]), &[u8])| {
            Some(StoredEntry {
                id: ObjectId(*id),
                checksum: number(checksum)?,
                start: self.offset(number(offset)?)?,
                end: 0,
            })
        };
        let mut entries = rows.map(entry).collect::<Option<Vec<_>>>()?;
        entries.sort_unstable_by_key(|entry| entry.start);
        let mut end = self.objects.metadata().ok()?.len().checked_sub(TRAILER)?;
        for entry in entries.iter_mut().rev() {
            entry.end = std::mem::replace(&mut end, entry.start);
        }
        Some(entries)
    }

    /// Returns the offset that an index contains as `short`.
    fn offset(&self, short: u32) -> Option<u64> {
        match short.checked_sub(1 << 31) {
            None => Some(short.into()),
            Some(large) => self.large_offset(large as usize),
        }
    }

    fn part(&self, start: usize, count: usize) -> Option<IndexPart> {
        let (mut ids, mut offsets) = (vec![0; count * ID], vec![0; count * 4]);
        let read = |bytes: &mut [u8], at: usize| self.index.read_exact_at(bytes, at as u64).ok();
        read(&mut ids, HEAD + start * ID)?;
        // The ids are followed by as many checksums of four bytes.
        read(&mut offsets, HEAD + self.count() * (ID + 4) + start * 4)?;
        Some(IndexPart { ids, offsets })
    }

    /// Returns an offset of eight bytes, which only packs over 2 GiB have.
    fn large_offset(&self, number: usize) -> Option<u64> {
        let at = HEAD + self.count() * (ID + 8) + number * 8;
        let mut bytes = [0; 8];
        self.index.read_exact_at(&mut bytes, at as u64).ok()?;
        Some(u64::from_be_bytes(bytes))
    }
}

fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}
