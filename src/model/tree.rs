//! The format of a Git tree: `mode SP name NUL id`, sorted.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{EntryKind, ObjectId};

/// One tree: a folder's entries, as the bytes that Git keeps. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(super) bytes: Arc<[u8]>,
    /// Where each entry ends.
    pub(super) ends: Arc<[usize]>,
    files: usize,
}

/// Bytes that are no tree.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the tree is malformed")]
pub struct Malformed;

impl Tree {
    /// Takes the bytes of a tree, as Git has them.
    ///
    /// # Errors
    /// When they are none.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (mut rest, mut files) = (bytes, 0);
        let mut ends = Vec::with_capacity(bytes.len() / 32);
        while let Some(Place { mode, end, .. }) = first_place(rest) {
            files += usize::from(kind(mode) == EntryKind::Blob);
            rest = &rest[end..];
            ends.push(bytes.len() - rest.len());
        }
        if !rest.is_empty() {
            return Err(Malformed);
        }
        let (bytes, ends) = (bytes.into(), ends.into());
        Ok(Self { bytes, ends, files })
    }

    /// Returns the tree without any entry.
    #[must_use]
    pub fn empty() -> Self {
        Self::of([])
    }

    /// Returns the tree of `entries`, in any order.
    #[must_use]
    pub fn of<'a>(entries: impl IntoIterator<Item = Entry<'a>>) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by(Entry::order);
        let mut bytes = Vec::with_capacity(entries.len() * 48);
        let mut ends = Vec::with_capacity(entries.len());
        let blobs = entries.iter().filter(|entry| entry.kind() == EntryKind::Blob);
        let files = blobs.count();
        for entry in entries {
            bytes.extend_from_slice(format!("{:o} ", entry.mode).as_bytes());
            bytes.extend_from_slice(entry.name);
            bytes.push(0);
            bytes.extend_from_slice(&entry.id.0);
            ends.push(bytes.len());
        }
        let (bytes, ends) = (bytes.into(), ends.into());
        Self { bytes, ends, files }
    }

    /// Returns the entries, in the order Git keeps them.
    #[must_use]
    pub fn entries(&self) -> Entries<'_> {
        Entries(&self.bytes)
    }

    /// Returns the folders among the entries, in Git's order; soon where there is none.
    pub fn folders(&self) -> impl Iterator<Item = Entry<'_>> {
        let entries = match self.files == self.ends.len() {
            true => Entries(&[]),
            false => self.entries(),
        };
        entries.filter(|entry| entry.kind() == EntryKind::Tree)
    }

    /// Returns the entry of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Entry<'_>> {
        self.entries().find(|entry| entry.name == name.as_bytes())
    }

    /// Returns how many files there are, folders and links not counted.
    #[must_use]
    pub const fn files(&self) -> usize {
        self.files
    }

    /// Returns the bytes, as Git has them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// One entry of one tree.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Entry<'a> {
    /// The mode as Git has it: kind and permissions.
    pub mode: u32,
    /// The file or folder name as Git has it, which need not be UTF-8.
    pub name: &'a [u8],
    /// The id of its content.
    pub id: ObjectId,
}

impl<'a> Entry<'a> {
    /// Returns the entry of a regular file.
    #[must_use]
    pub const fn file(name: &'a [u8], id: ObjectId) -> Self {
        let mode = 0o100_644;
        Self { mode, name, id }
    }

    /// Returns the entry of a folder.
    #[must_use]
    pub const fn folder(name: &'a [u8], id: ObjectId) -> Self {
        let mode = 0o040_000;
        Self { mode, name, id }
    }

    /// Returns what it is.
    #[must_use]
    pub const fn kind(&self) -> EntryKind {
        kind(self.mode)
    }

    /// Returns whether both are one thing to Git, which knows of a file's mode only whether it is executable.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let canonical = |mode: u32| match mode & 0o170_000 {
            0o100_000 => 0o100_000 | (mode & 0o100),
            kind => kind,
        };
        self.id == other.id && canonical(self.mode) == canonical(other.mode)
    }

    /// Orders as Git does: a folder's name as if it ended in a slash.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let common = self.name.len().min(other.name.len());
        self.name[..common].cmp(&other.name[..common]).then_with(|| {
            let next = |entry: &Self| match (entry.name.get(common), entry.kind()) {
                (Some(byte), _) => *byte,
                (None, EntryKind::Tree) => b'/',
                (None, _) => 0,
            };
            next(self).cmp(&next(other))
        })
    }
}

/// The entries of one tree, in Git's order.
#[derive(Clone, Debug)]
pub struct Entries<'a>(&'a [u8]);

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let (entry, rest) = split(self.0)?;
        self.0 = rest;
        Some(entry)
    }
}

const fn kind(mode: u32) -> EntryKind {
    match mode & 0o170_000 {
        0o040_000 => EntryKind::Tree,
        0o100_000 => EntryKind::Blob,
        _ => EntryKind::Other,
    }
}

/// Takes the first entry off.
pub(super) fn split(bytes: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let Place { mode, name, end } = first_place(bytes)?;
    let (entry, after) = bytes.split_at(end);
    let id = ObjectId(*entry.last_chunk()?);
    let name = &entry[name..end - ID - 1];
    Some((Entry { mode, name, id }, after))
}

/// Where the first entry's name begins, and where the entry ends.
struct Place {
    mode: u32,
    name: usize,
    end: usize,
}

/// How many bytes an id has.
const ID: usize = 20;

fn first_place(bytes: &[u8]) -> Option<Place> {
    let (mode, name) = match bytes.starts_with(b"100644 ") {
        true => (0o100_644, 7),
        false => any_mode(bytes)?,
    };
    let end = name + first_nul(&bytes[name..])? + 1 + ID;
    (end <= bytes.len()).then_some(Place { mode, name, end })
}

/// Returns where the first NUL is. Names are short: eight bytes at a time, in line, take half as long as a call of the
/// search for long texts.
fn first_nul(bytes: &[u8]) -> Option<usize> {
    const LOWEST: u64 = 0x0101_0101_0101_0101;
    let mut at = 0;
    while let Some(word) = bytes[at..].first_chunk() {
        let word = u64::from_le_bytes(*word);
        // The highest bit of the first byte that is zero, and maybe of later ones.
        let zeros = word.wrapping_sub(LOWEST) & !word & (LOWEST << 7);
        if zeros != 0 {
            return Some(at + (zeros.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    let rest = bytes[at..].iter().position(|byte| *byte == 0);
    rest.map(|rest| at + rest)
}

/// Returns the mode and where the name begins.
fn any_mode(bytes: &[u8]) -> Option<(u32, usize)> {
    let space = bytes.iter().take(8).position(|byte| *byte == b' ')?;
    let mode = std::str::from_utf8(&bytes[..space]).ok()?;
    let mode = u32::from_str_radix(mode, 8).ok()?;
    Some((mode, space + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn id(byte: u8) -> ObjectId {
        ObjectId([byte; 20])
    }

    #[test]
    fn a_tree_that_ends_early_is_malformed_and_never_read_past_its_end() {
        let tree = Tree::of([Entry::folder(b"b", id(8)), Entry::file(b"a", id(7))]);
        let names: Vec<&[u8]> = tree.entries().map(|entry| entry.name).collect();
        assert_eq!(names, [b"a", b"b"]);
        assert_eq!(tree.get("b").unwrap().kind(), EntryKind::Tree);
        assert_eq!(tree.files(), 1);
        let bytes = tree.bytes();
        for end in (1..bytes.len()).filter(|end| *end != 29) {
            assert!(Tree::parse(&bytes[..end]).is_err(), "{end}");
        }
        assert_eq!(Tree::parse(bytes).unwrap().files(), 1);
    }

    proptest! {
        #[test]
        fn the_first_nul_is_found(bytes in proptest::collection::vec(prop_oneof![0..3_u8, 126..130_u8], 0..40)) {
            prop_assert_eq!(first_nul(&bytes), bytes.iter().position(|byte| *byte == 0));
        }
    }
}
