//! Writes the index of a pack (version 2).

use sha1::{Digest, Sha1};

use crate::model::ObjectId;

/// An object of the pack.
pub(super) struct IndexEntry {
    pub(super) id: ObjectId,
    /// The CRC-32 of the object as it is in the pack.
    pub(super) checksum: u32,
    pub(super) offset: u64,
}

/// Returns the index of the pack with that trailer: a magic number, a version, 256 cumulative counts by the first byte of
/// the ids, the ids, the checksums, the offsets, the large offsets, the trailer, and a checksum of all.
pub(super) fn index(mut entries: Vec<IndexEntry>, trailer: &[u8; 20]) -> Vec<u8> {
    entries.sort_unstable_by_key(|entry| entry.id);
    let mut bytes = Vec::with_capacity(8 + 256 * 4 + entries.len() * 28 + 40);
    bytes.extend_from_slice(b"\xfftOc\0\0\0\x02");
    for first in 0..=u8::MAX {
        let count = entries.partition_point(|entry| entry.id.0[0] <= first);
        bytes.extend_from_slice(&number(count as u64));
    }
    entries.iter().for_each(|entry| bytes.extend_from_slice(&entry.id.0));
    entries.iter().for_each(|entry| bytes.extend_from_slice(&entry.checksum.to_be_bytes()));
    let mut large = Vec::new();
    for entry in &entries {
        // The highest bit marks the position of an offset that needs more than 31 bits.
        let offset = match entry.offset < 1 << 31 {
            true => entry.offset,
            false => {
                large.push(entry.offset);
                (1 << 31) | (large.len() as u64 - 1)
            }
        };
        bytes.extend_from_slice(&number(offset));
    }
    large.iter().for_each(|offset| bytes.extend_from_slice(&offset.to_be_bytes()));
    bytes.extend_from_slice(trailer);
    let checksum = Sha1::digest(&bytes);
    bytes.extend_from_slice(&checksum);
    bytes
}

fn number(value: u64) -> [u8; 4] {
    let value = u32::try_from(value);
    value.expect("a pack contains fewer than 2^31 objects").to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::packs::Packs;

    #[test]
    fn offsets_over_two_gigabytes_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let offsets = [12, (1 << 31) - 1, 1 << 31, 5 << 32, u64::MAX];
        let id = |number: usize| ObjectId([u8::try_from(number * 60).unwrap(); 20]);
        let entry =
            |(number, offset): (usize, &u64)| IndexEntry { id: id(number), checksum: 0, offset: *offset };
        let entries = offsets.iter().enumerate().rev().map(entry).collect();
        let path = folder.path().join("pack-1.idx");
        std::fs::write(&path, index(entries, &[7; 20])).unwrap();
        std::fs::write(path.with_extension("pack"), b"PACK\0\0\0\x02").unwrap();
        let packs = Packs::open(folder.path());
        for (number, offset) in offsets.into_iter().enumerate() {
            assert_eq!(packs.find(id(number)), Some((0, offset)), "{offset}");
        }
        assert_eq!(packs.find(ObjectId([1; 20])), None);
    }
}
