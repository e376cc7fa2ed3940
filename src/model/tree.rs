//! The format of a Git tree, `mode SP name NUL id`, sorted; and the one way to walk two of them side by side.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{EntryKind, ObjectId};

/// One tree: a folder's entries, as the bytes that Git keeps. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tree {
    bytes: Arc<[u8]>,
    /// Where each entry ends.
    ends: Arc<[usize]>,
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
    fn is_same(&self, other: &Self) -> bool {
        let canonical = |mode: u32| match mode & 0o170_000 {
            0o100_000 => 0o100_000 | (mode & 0o100),
            kind => kind,
        };
        self.id == other.id && canonical(self.mode) == canonical(other.mode)
    }

    /// Orders as Git does: a folder's name as if it ended in a slash.
    fn order(&self, other: &Self) -> Ordering {
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
fn split(bytes: &[u8]) -> Option<(Entry<'_>, &[u8])> {
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

/// The entries in which two trees differ, in Git's order: what is only in one of them stands alone.
#[derive(Clone, Debug)]
pub struct Differing<'a> {
    a: Side<'a>,
    b: Side<'a>,
}

impl<'a> Differing<'a> {
    /// Walks `a` and `b` side by side.
    #[must_use]
    pub fn new(a: &'a Tree, b: &'a Tree) -> Self {
        Self {
            a: Side::of(a),
            b: Side::of(b),
        }
    }

    /// Passes over the entries that come next on both sides, most of them in most trees, without taking them apart.
    fn pass_over_the_same(&mut self) {
        let same = common_length(self.a.bytes, self.b.bytes);
        let entries = self.a.entries_within(same);
        self.a.pass_over(entries);
        self.b.pass_over(entries);
    }
}

impl<'a> Iterator for Differing<'a> {
    type Item = (Option<Entry<'a>>, Option<Entry<'a>>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.pass_over_the_same();
            let (a, b) = (self.a.first(), self.b.first());
            let order = match (&a, &b) {
                (Some(a), Some(b)) => a.order(b),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return None,
            };
            if order.is_le() {
                self.a.pass_over(1);
            }
            if order.is_ge() {
                self.b.pass_over(1);
            }
            match order {
                Ordering::Equal if a.zip(b).is_some_and(|(a, b)| a.is_same(&b)) => {}
                Ordering::Equal => return Some((a, b)),
                Ordering::Less => return Some((a, None)),
                Ordering::Greater => return Some((None, b)),
            }
        }
    }
}

/// What is left of one tree.
#[derive(Clone, Debug)]
struct Side<'a> {
    bytes: &'a [u8],
    /// Where its entries end, counted from the start of the tree.
    ends: &'a [usize],
    start: usize,
}

impl<'a> Side<'a> {
    fn of(tree: &'a Tree) -> Self {
        Self {
            bytes: &tree.bytes,
            ends: &tree.ends,
            start: 0,
        }
    }

    fn first(&self) -> Option<Entry<'a>> {
        split(self.bytes).map(|(entry, _)| entry)
    }

    /// Returns how many entries end within the next `length` bytes.
    fn entries_within(&self, length: usize) -> usize {
        match self.ends.first() {
            Some(end) if *end <= self.start + length => {
                self.ends.partition_point(|end| *end <= self.start + length)
            }
            _ => 0,
        }
    }

    fn pass_over(&mut self, entries: usize) {
        let (passed, left) = self.ends.split_at(entries);
        let end = passed.last().copied().unwrap_or(self.start);
        self.bytes = &self.bytes[end - self.start..];
        (self.ends, self.start) = (left, end);
    }
}

/// Returns how many bytes two texts have in common at their start.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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

    #[test]
    fn only_the_executable_bit_of_a_mode_is_a_difference() {
        let tree = |mode| {
            let entry = Entry::file(b"a", id(1));
            Tree::of([Entry { mode, ..entry }])
        };
        let differ = |a, b| Differing::new(&tree(a), &tree(b)).count();
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
            true => Entry::folder(name.as_bytes(), id(*byte)),
            false => Entry::file(name.as_bytes(), id(*byte)),
        }))
    }

    proptest! {
        #[test]
        fn the_first_nul_is_found(bytes in proptest::collection::vec(prop_oneof![0..3_u8, 126..130_u8], 0..40)) {
            prop_assert_eq!(first_nul(&bytes), bytes.iter().position(|byte| *byte == 0));
        }

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
            let mut found: Vec<_> = Differing::new(&a, &b)
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
