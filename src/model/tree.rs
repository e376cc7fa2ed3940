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

/// The entries in which two trees differ, in Git's order. An entry in only one tree has no partner.
#[derive(Clone, Debug)]
pub struct TreeDiff<'a> {
    a: Side<'a>,
    b: Side<'a>,
}

impl<'a> TreeDiff<'a> {
    /// Walks `a` and `b` side by side.
    pub(crate) fn new(a: &'a Tree, b: &'a Tree) -> Self {
        Self { a: Side::of(a), b: Side::of(b) }
    }

    /// Skips the common prefix of both sides without parsing its entries.
    fn skip_common(&mut self) {
        // Equal bytes can end within an entry, so only the entries that end before them are skipped.
        let same = common_length(self.a.bytes, self.b.bytes);
        let entries = self.a.entries_within(same);
        self.a.skip(entries);
        self.b.skip(entries);
    }
}

impl<'a> Iterator for TreeDiff<'a> {
    type Item = (Option<TreeEntry<'a>>, Option<TreeEntry<'a>>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            // Most entries of two trees have the same bytes, which are faster to compare than to parse.
            self.skip_common();
            let (a, b) = (self.a.first(), self.b.first());
            let order = match (&a, &b) {
                (Some(a), Some(b)) => a.order(b),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return None,
            };
            if order.is_le() {
                self.a.skip(1);
            }
            if order.is_ge() {
                self.b.skip(1);
            }
            match order {
                // Entries can be equal to Git although their modes differ in bytes.
                Ordering::Equal if a.zip(b).is_some_and(|(a, b)| a.is_same(&b)) => {}
                Ordering::Equal => return Some((a, b)),
                Ordering::Less => return Some((a, None)),
                Ordering::Greater => return Some((None, b)),
            }
        }
    }
}

/// The rest of one tree.
#[derive(Clone, Debug)]
struct Side<'a> {
    bytes: &'a [u8],
    /// The ends of its entries, from the start of the tree.
    ends: &'a [usize],
    start: usize,
}

impl<'a> Side<'a> {
    fn of(tree: &'a Tree) -> Self {
        Self { bytes: &tree.bytes, ends: &tree.ends, start: 0 }
    }

    fn first(&self) -> Option<TreeEntry<'a>> {
        split(self.bytes).map(|(entry, _)| entry)
    }

    /// Returns the number of entries that end within the next `length` bytes.
    fn entries_within(&self, length: usize) -> usize {
        match self.ends.first() {
            Some(end) if *end <= self.start + length => {
                self.ends.partition_point(|end| *end <= self.start + length)
            }
            _ => 0,
        }
    }

    fn skip(&mut self, entries: usize) {
        let (passed, left) = self.ends.split_at(entries);
        let end = passed.last().copied().unwrap_or(self.start);
        self.bytes = &self.bytes[end - self.start..];
        (self.ends, self.start) = (left, end);
    }
}

fn common_length(a: &[u8], b: &[u8]) -> usize {
    fn blocks<const SIZE: usize>(a: &[u8], b: &[u8]) -> usize {
        let (a, b) = (a.as_chunks::<SIZE>().0, b.as_chunks::<SIZE>().0);
        let same = a.iter().zip(b).take_while(|(a, b)| a == b);
        same.count() * SIZE
    }
    let mut length = blocks::<128>(a, b);
    length += blocks::<8>(&a[length..], &b[length..]);
    length + blocks::<1>(&a[length..], &b[length..])
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

#[cfg(test)]
mod tree_diff_tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::model::{EntryKind, ObjectId};

    const fn id(byte: u8) -> ObjectId {
        ObjectId([byte; 20])
    }

    #[test]
    fn only_the_executable_bit_of_a_mode_is_a_difference() {
        let tree = |mode| {
            let entry = TreeEntry::file(b"a", id(1));
            Tree::of([TreeEntry { mode, ..entry }])
        };
        let differ = |a, b| TreeDiff::new(&tree(a), &tree(b)).count();
        assert_eq!(differ(0o100_644, 0o100_664), 0);
        assert_eq!(differ(0o100_644, 0o100_755), 1);
        assert_eq!(differ(0o100_644, 0o120_644), 1);
    }

    type Folder = BTreeMap<String, (bool, u8)>;

    fn folder() -> impl Strategy<Value = Folder> {
        proptest::collection::btree_map("[ab.-]{1,3}", (any::<bool>(), 0..3_u8), 0..12)
    }

    /// Two folders: of any content, or a large one with a few edits.
    fn folders() -> impl Strategy<Value = (Folder, Folder)> {
        let large = proptest::collection::btree_map("[ab]{8}|[a-c]{1,2}", (any::<bool>(), 0..3_u8), 0..60);
        let edited = (large, folder(), 0..9_u8).prop_map(|(before, edits, removed)| {
            let mut after = before.clone();
            after.extend(edits.into_iter().take(3));
            let mut at = 0;
            after.retain(|_, _| {
                at += 1;
                at != removed
            });
            (before, after)
        });
        prop_oneof![(folder(), folder()), edited]
    }

    fn tree(folder: &Folder) -> Tree {
        Tree::of(folder.iter().map(|(name, (is_folder, byte))| match is_folder {
            true => TreeEntry::folder(name.as_bytes(), id(*byte)),
            false => TreeEntry::file(name.as_bytes(), id(*byte)),
        }))
    }

    proptest! {
        #[test]
        fn what_differs_is_what_two_maps_say((a, b) in folders()) {
            // A file and a folder of one name are two entries to Git, which sorts them apart.
            let keyed = |folder: &Folder| -> BTreeMap<(String, bool), u8> {
                folder.iter().map(|(name, (is_folder, byte))| ((name.clone(), *is_folder), *byte)).collect()
            };
            let (a_map, b_map) = (keyed(&a), keyed(&b));
            let mut expected: Vec<_> = a_map.keys().chain(b_map.keys()).cloned().collect();
            expected.retain(|key| a_map.get(key) != b_map.get(key));
            expected.sort();
            expected.dedup();
            let (a, b) = (tree(&a), tree(&b));
            let mut found: Vec<_> = TreeDiff::new(&a, &b)
                .map(|(a, b)| {
                    let entry = a.or(b).unwrap();
                    (String::from_utf8(entry.name.to_vec()).unwrap(), entry.kind() == EntryKind::Tree)
                })
                .collect();
            found.sort();
            prop_assert_eq!(found, expected);
        }
    }
}
