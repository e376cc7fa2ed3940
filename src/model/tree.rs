//! The format of a Git tree: `mode SP name NUL id`, sorted.

use std::cmp::Ordering;
use std::sync::Arc;

use super::ObjectId;

/// One tree: the entries of a folder in Git's encoding. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(super) bytes: Arc<Vec<u8>>,
    /// The end of each entry.
    pub(super) ends: Arc<[usize]>,
    files: usize,
}

/// Bytes that are not a tree.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the tree is malformed")]
pub struct MalformedTree;

impl Tree {
    /// Parses a tree in Git's encoding.
    pub(crate) fn parse(bytes: impl Into<Arc<Vec<u8>>>) -> Result<Self, MalformedTree> {
        let bytes = bytes.into();
        let (mut rest, mut files) = (bytes.as_slice(), 0);
        let mut ends = Vec::with_capacity(bytes.len() / 32);
        while let Some(EntryBounds { mode, end, .. }) = first_place(rest) {
            files += usize::from(kind(mode) == EntryKind::Blob);
            rest = &rest[end..];
            ends.push(bytes.len() - rest.len());
        }
        if !rest.is_empty() {
            return Err(MalformedTree);
        }
        let ends = ends.into();
        Ok(Self { bytes, ends, files })
    }

    /// Returns the tree without any entry.
    pub(crate) fn empty() -> Self {
        Self::of([])
    }

    /// Returns the tree of `entries`, in any order.
    pub(crate) fn of<'a>(entries: impl IntoIterator<Item = TreeEntry<'a>>) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_unstable_by(TreeEntry::order);
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

    /// Returns the entries in Git's order.
    pub(crate) fn entries(&self) -> Entries<'_> {
        Entries(&self.bytes)
    }

    /// Returns the folders in Git's order. Cheap if there are none.
    pub(crate) fn folders(&self) -> impl Iterator<Item = TreeEntry<'_>> {
        // The folder of an environment contains only files, so a search would parse every entry for nothing.
        let entries = match self.files == self.ends.len() {
            true => Entries(&[]),
            false => self.entries(),
        };
        entries.filter(|entry| entry.kind() == EntryKind::Tree)
    }

    pub(crate) fn get(&self, name: &str) -> Option<TreeEntry<'_>> {
        self.entries().find(|entry| entry.name == name.as_bytes())
    }

    /// Returns the number of files, without folders and links.
    pub(crate) const fn files(&self) -> usize {
        self.files
    }

    /// Returns the tree in Git's encoding.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TreeEntry<'a> {
    /// Git's mode: kind and permissions.
    pub mode: u32,
    /// The name of the file or folder, which need not be UTF-8.
    pub name: &'a [u8],
    pub id: ObjectId,
}

impl<'a> TreeEntry<'a> {
    pub(crate) const fn file(name: &'a [u8], id: ObjectId) -> Self {
        let mode = 0o100_644;
        Self { mode, name, id }
    }

    pub(crate) const fn folder(name: &'a [u8], id: ObjectId) -> Self {
        let mode = 0o040_000;
        Self { mode, name, id }
    }

    pub(crate) const fn kind(&self) -> EntryKind {
        kind(self.mode)
    }

    /// Returns whether both are equal to Git, which stores only the executable bit of a file's mode.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let canonical = |mode: u32| match mode & 0o170_000 {
            0o100_000 => 0o100_000 | (mode & 0o100),
            kind => kind,
        };
        self.id == other.id && canonical(self.mode) == canonical(other.mode)
    }

    /// Compares in Git's order: a folder's name sorts as if it ended in a slash.
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

/// The kind of a tree entry. Symbolic links and submodules are [`EntryKind::Other`] and never followed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EntryKind {
    /// A regular file, executable or not.
    Blob,
    Tree,
    /// A symbolic link or a submodule.
    Other,
}

/// The entries of one tree, in Git's order.
#[derive(Clone, Debug)]
pub struct Entries<'a>(&'a [u8]);

impl<'a> Iterator for Entries<'a> {
    type Item = TreeEntry<'a>;

    fn next(&mut self) -> Option<TreeEntry<'a>> {
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

/// Splits off the first entry.
pub(super) fn split(bytes: &[u8]) -> Option<(TreeEntry<'_>, &[u8])> {
    let EntryBounds { mode, name, end } = first_place(bytes)?;
    let (entry, after) = bytes.split_at(end);
    let id = ObjectId(*entry.last_chunk()?);
    let name = &entry[name..end - ID - 1];
    Some((TreeEntry { mode, name, id }, after))
}

struct EntryBounds {
    mode: u32,
    name: usize,
    end: usize,
}

/// The length of an id in bytes.
const ID: usize = 20;

fn first_place(bytes: &[u8]) -> Option<EntryBounds> {
    // Nearly every entry is a regular file, whose mode needs no parsing.
    let (mode, name) = match bytes.starts_with(b"100644 ") {
        true => (0o100_644, 7),
        false => any_mode(bytes)?,
    };
    let end = name + first_nul(&bytes[name..])? + 1 + ID;
    (end <= bytes.len()).then_some(EntryBounds { mode, name, end })
}

fn first_nul(bytes: &[u8]) -> Option<usize> {
    // Names are short: inlined steps of eight bytes take half as long as a call of memchr.
    const LOWEST: u64 = 0x0101_0101_0101_0101;
    let mut at = 0;
    while let Some(word) = bytes[at..].first_chunk() {
        let word = u64::from_le_bytes(*word);
        // Sets the highest bit of the first zero byte, and possibly of later bytes.
        let zeros = word.wrapping_sub(LOWEST) & !word & (LOWEST << 7);
        if zeros != 0 {
            return Some(at + (zeros.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    let rest = bytes[at..].iter().position(|byte| *byte == 0);
    rest.map(|rest| at + rest)
}

/// Returns the mode and the start of the name.
fn any_mode(bytes: &[u8]) -> Option<(u32, usize)> {
    // A mode has at most six digits, so bytes that are not a tree are not searched to their end.
    let space = bytes.iter().take(8).position(|byte| *byte == b' ')?;
    let mode = std::str::from_utf8(&bytes[..space]).ok()?;
    let mode = u32::from_str_radix(mode, 8).ok()?;
    Some((mode, space + 1))
}

/// Read access to the trees and blobs of one repository: the source or the state.
///
/// Not shared between threads; each thread opens its own.
pub trait Trees {
    /// The error of a read.
    type Error;

    fn tree(&self, tree: ObjectId) -> Result<Tree, Self::Error>;

    /// Returns the tree of that id if this repository contains it.
    fn find_tree(&self, tree: ObjectId) -> Option<Tree>;

    /// Returns the content of `blob`, or [`Blob::TooLarge`] without reading it if it has more than `limit`
    /// bytes, so that a hostile file costs nothing.
    fn blob(&self, blob: ObjectId, limit: usize) -> Result<Blob, Self::Error>;
}

impl<T: Trees + ?Sized> Trees for Box<T> {
    type Error = T::Error;

    fn tree(&self, tree: ObjectId) -> Result<Tree, T::Error> {
        (**self).tree(tree)
    }

    fn find_tree(&self, tree: ObjectId) -> Option<Tree> {
        (**self).find_tree(tree)
    }

    fn blob(&self, blob: ObjectId, limit: usize) -> Result<Blob, T::Error> {
        (**self).blob(blob, limit)
    }
}

/// A blob's content, or its size if it is over the limit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Blob {
    Content(Vec<u8>),
    /// The blob is not in this partial clone.
    Missing,
    /// Larger than the limit; the size in bytes.
    TooLarge(u64),
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
        let tree = Tree::of([TreeEntry::folder(b"b", id(8)), TreeEntry::file(b"a", id(7))]);
        let names: Vec<&[u8]> = tree.entries().map(|entry| entry.name).collect();
        assert_eq!(names, [b"a", b"b"]);
        assert_eq!(tree.get("b").unwrap().kind(), EntryKind::Tree);
        assert_eq!(tree.files(), 1);
        let bytes = tree.bytes();
        for end in (1..bytes.len()).filter(|end| *end != 29) {
            assert!(Tree::parse(bytes[..end].to_vec()).is_err(), "{end}");
        }
        assert_eq!(Tree::parse(bytes.to_vec()).unwrap().files(), 1);
    }

    proptest! {
        #[test]
        fn the_first_nul_is_found(bytes in proptest::collection::vec(prop_oneof![0..3_u8, 126..130_u8], 0..40)) {
            prop_assert_eq!(first_nul(&bytes), bytes.iter().position(|byte| *byte == 0));
        }
    }
}
