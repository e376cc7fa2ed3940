//! Reads objects from packs: finds, inflates, and applies deltas.
//!
//! Objects that are read in the order of their pack follow the bases of their deltas, which are then still in memory.

use std::collections::HashMap;
use std::sync::Arc;

use flate2::{Decompress, FlushDecompress, Status};

use super::pack::{EntryForm, ObjectKind};
use super::packs::Packs;
use crate::model::{ObjectId, StoredAt};

/// The longest head of an entry: ten bytes of size, and the id of a base or an offset.
const LONGEST_HEAD: usize = 32;

/// Reads objects for one thread.
pub(super) struct Unpacker {
    packs: Arc<Packs>,
    // Shared by all objects, because its setup takes longer than inflating a document.
    inflate: Decompress,
    window: Window,
    recent: RecentObjects,
}

impl Unpacker {
    pub(super) fn new(packs: Arc<Packs>) -> Self {
        Self {
            packs,
            inflate: Decompress::new(true),
            window: Window::default(),
            recent: RecentObjects::default(),
        }
    }

    /// Returns where an object is.
    pub(super) fn find(&self, id: ObjectId) -> Option<StoredAt> {
        self.packs.find(id)
    }

    /// Reads an object. Returns `None` if it or one of its bases is missing, damaged, or has more than `limit` bytes.
    pub(super) fn read(&mut self, id: ObjectId, limit: usize) -> Option<(ObjectKind, Arc<Vec<u8>>)> {
        let at = self.packs.find(id)?;
        self.read_at(at, limit)
    }

    fn read_at(&mut self, mut at: StoredAt, limit: usize) -> Option<(ObjectKind, Arc<Vec<u8>>)> {
        let (mut deltas, mut size) = (Vec::new(), 0);
        let (kind, mut bytes) = loop {
            if let Some(known) = self.recent.get(at) {
                break known;
            }
            let entry = self.entry(at)?;
            // Bases and deltas of a hostile pack must not fill the memory.
            size += entry.size.min(limit) + LONGEST_HEAD;
            if entry.size > limit || size > 4 * limit {
                return None;
            }
            let bytes = self.inflate(entry.data, entry.size)?;
            match entry.form {
                EntryForm::Whole(kind) => {
                    let bytes = Arc::from(bytes);
                    self.recent.put(at, kind, &bytes);
                    break (kind, bytes);
                }
                EntryForm::Delta(base) => deltas.push((std::mem::replace(&mut at, base), bytes)),
            }
        };
        // The versions of a folder can be one long chain that a walk through the history reads from its end. A few of its
        // objects shorten the next reads, and all of them would displace the objects of other folders.
        let step = deltas.len().div_ceil(RecentObjects::MOST_OF_CHAIN);
        while let Some((at, delta)) = deltas.pop() {
            bytes = apply(&bytes, &delta, limit)?.into();
            if deltas.len().is_multiple_of(step) {
                self.recent.put(at, kind, &bytes);
            }
        }
        // A base may be known that is over the limit.
        (bytes.len() <= limit).then_some((kind, bytes))
    }

    fn entry(&mut self, at: StoredAt) -> Option<Entry> {
        let bytes = self.window.at(&self.packs, at, LONGEST_HEAD)?;
        Entry::parse(&self.packs, at, bytes)
    }

    fn inflate(&mut self, (number, mut offset): StoredAt, size: usize) -> Option<Vec<u8>> {
        self.inflate.reset(true);
        // One byte more, so that the end of the data is found in the same call.
        let mut bytes = Vec::with_capacity(size + 1);
        loop {
            let input = self.window.at(&self.packs, (number, offset), 1)?;
            let before = self.inflate.total_in();
            let status = self.inflate.decompress_vec(input, &mut bytes, FlushDecompress::None);
            let taken = self.inflate.total_in() - before;
            match status.ok()? {
                Status::StreamEnd => return (bytes.len() == size).then_some(bytes),
                _ if taken == 0 || bytes.len() > size => return None,
                _ => offset += taken,
            }
        }
    }
}

/// The head of an object in a pack.
pub(super) struct Entry {
    pub(super) form: EntryForm<StoredAt>,
    /// The inflated size of the object or delta.
    pub(super) size: usize,
    /// The position of the compressed data.
    pub(super) data: StoredAt,
}

impl Entry {
    /// Parses the head of the entry at `at`, which begins with `bytes`: three bits of type, the size in groups of seven
    /// bits, and the base of a delta.
    pub(super) fn parse(packs: &Packs, (number, offset): StoredAt, bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let first = byte(&mut rest)?;
        let mut size = u64::from(first & 15);
        let (mut last, mut shift) = (first, 4);
        while last & 0x80 != 0 {
            last = byte(&mut rest)?;
            size |= u64::from(last & 0x7f).checked_shl(shift)?;
            shift += 7;
        }
        let form = match first >> 4 & 7 {
            1 => EntryForm::Whole(ObjectKind::Commit),
            2 => EntryForm::Whole(ObjectKind::Tree),
            3 => EntryForm::Whole(ObjectKind::Blob),
            6 => EntryForm::Delta((number, offset.checked_sub(distance(&mut rest)?)?)),
            7 => {
                let (id, after) = rest.split_first_chunk()?;
                rest = after;
                EntryForm::Delta(packs.find_in(number, ObjectId(*id))?)
            }
            _ => return None,
        };
        Some(Self {
            form,
            size: size.try_into().ok()?,
            data: (number, offset + (bytes.len() - rest.len()) as u64),
        })
    }
}

/// A part of a pack.
#[derive(Default)]
pub(super) struct Window {
    start: StoredAt,
    bytes: Vec<u8>,
}

impl Window {
    /// A hundred documents as they are in a pack.
    const SIZE: usize = 16 << 10;

    /// Returns the bytes from `at` on: at least `wanted`, unless the pack ends before.
    pub(super) fn at(&mut self, packs: &Packs, at: StoredAt, wanted: usize) -> Option<&[u8]> {
        let passed = at.1.checked_sub(self.start.1).filter(|_| at.0 == self.start.0);
        let passed = passed.and_then(|passed| usize::try_from(passed).ok());
        match passed.filter(|passed| passed.saturating_add(wanted) <= self.bytes.len()) {
            Some(passed) => Some(&self.bytes[passed..]),
            None => {
                self.bytes.resize(Self::SIZE.max(wanted), 0);
                let count = packs.read(at, &mut self.bytes);
                self.bytes.truncate(count.unwrap_or(0));
                self.start = at;
                count.filter(|count| *count > 0).map(|_| self.bytes.as_slice())
            }
        }
    }
}

/// The objects that were read last, which are likely bases of the next ones.
#[derive(Default)]
struct RecentObjects {
    new: HashMap<StoredAt, (ObjectKind, Arc<Vec<u8>>)>,
    /// The size of `new`.
    size: usize,
    /// Those before `new`.
    old: HashMap<StoredAt, (ObjectKind, Arc<Vec<u8>>)>,
}

impl RecentObjects {
    /// The most bytes in each of both maps. A walk through the history returns to each folder after many others.
    const MOST_BYTES: usize = 48 << 20;

    /// The size that a small object counts as. Documents in the order of their pack need few bases.
    const LEAST_BYTES: usize = 24 << 10;

    /// The most objects of one chain of deltas, evenly distributed over it.
    const MOST_OF_CHAIN: usize = 4;

    fn get(&mut self, at: StoredAt) -> Option<(ObjectKind, Arc<Vec<u8>>)> {
        if let Some((kind, bytes)) = self.new.get(&at) {
            return Some((*kind, Arc::clone(bytes)));
        }
        let (kind, bytes) = self.old.remove(&at)?;
        self.put(at, kind, &bytes);
        Some((kind, bytes))
    }

    fn put(&mut self, at: StoredAt, kind: ObjectKind, bytes: &Arc<Vec<u8>>) {
        self.size += bytes.len().max(Self::LEAST_BYTES);
        self.new.insert(at, (kind, Arc::clone(bytes)));
        if self.size > Self::MOST_BYTES {
            self.old = std::mem::take(&mut self.new);
            self.size = 0;
        }
    }
}

/// Applies a delta: the sizes of both versions, then copies from the base and literal bytes.
fn apply(base: &[u8], mut delta: &[u8], limit: usize) -> Option<Vec<u8>> {
    let (before, after) = (size(&mut delta)?, size(&mut delta)?);
    if before != base.len() || after > limit {
        return None;
    }
    let mut bytes = Vec::with_capacity(after);
    while !delta.is_empty() {
        let part = match byte(&mut delta)? {
            0 => return None,
            literal @ 1..0x80 => {
                let (part, rest) = delta.split_at_checked(literal.into())?;
                delta = rest;
                part
            }
            copy => {
                // Each bit of the lower seven announces one byte of the offset (four) and of the length (three).
                let (mut offset, mut length) = (0, 0);
                for bit in (0..4).filter(|bit| copy & 1 << bit != 0) {
                    offset |= usize::from(byte(&mut delta)?) << (8 * bit);
                }
                for bit in (0..3).filter(|bit| copy & 0x10 << bit != 0) {
                    length |= usize::from(byte(&mut delta)?) << (8 * bit);
                }
                let length = if length == 0 { 0x10000 } else { length };
                base.get(offset..offset.checked_add(length)?)?
            }
        };
        if part.len() > after - bytes.len() {
            return None;
        }
        bytes.extend_from_slice(part);
    }
    (bytes.len() == after).then_some(bytes)
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*first)
}

/// Reads a size: groups of seven bits, the lowest first.
fn size(bytes: &mut &[u8]) -> Option<usize> {
    let (mut size, mut shift) = (0_u64, 0);
    loop {
        let next = byte(bytes)?;
        size |= u64::from(next & 0x7f).checked_shl(shift)?;
        shift += 7;
        if next & 0x80 == 0 {
            return size.try_into().ok();
        }
    }
}

/// Reads the distance to the base of a delta: groups of seven bits, the highest first, each but the last plus one.
fn distance(bytes: &mut &[u8]) -> Option<u64> {
    let mut distance = 0_u64;
    loop {
        let next = byte(bytes)?;
        distance = distance.checked_mul(1 << 7)?.checked_add((next & 0x7f).into())?;
        if next & 0x80 == 0 {
            return Some(distance);
        }
        distance += 1;
    }
}
