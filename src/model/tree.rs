//! The format of a Git tree, `mode SP name NUL id`, sorted; and the one way to walk two of them side by side.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{EntryKind, ObjectId};

/// One tree: a folder's entries, as the bytes that Git keeps. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tree {
    bytes: Arc<[u8]>,
    files: usize,
    others: usize,
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
        let (mut entries, mut files, mut others) = (Entries(bytes), 0, 0);
        for entry in entries.by_ref() {
            match entry.kind() {
                EntryKind::Blob => files += 1,
                EntryKind::Tree | EntryKind::Other => others += 1,
            }
        }
        if !entries.0.is_empty() {
            return Err(Malformed);
        }
        let bytes = bytes.into();
        Ok(Self { bytes, files, others })
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
        let blobs = entries.iter().filter(|entry| entry.kind() == EntryKind::Blob);
        let files = blobs.count();
        let others = entries.len() - files;
        for entry in entries {
            bytes.extend_from_slice(format!("{:o} ", entry.mode).as_bytes());
            bytes.extend_from_slice(entry.name);
            bytes.push(0);
            bytes.extend_from_slice(&entry.id.0);
        }
        let bytes = bytes.into();
        Self { bytes, files, others }
    }

    /// Returns the entries, in the order Git keeps them.
    #[must_use]
    pub fn entries(&self) -> Entries<'_> {
        Entries(&self.bytes)
    }

    /// Returns the folders among the entries, in Git's order; soon where there is none.
    pub fn folders(&self) -> impl Iterator<Item = Entry<'_>> {
        let entries = match self.others {
            0 => Entries(&[]),
            _ => self.entries(),
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
        match self.mode & 0o170_000 {
            0o040_000 => EntryKind::Tree,
            0o100_000 => EntryKind::Blob,
            _ => EntryKind::Other,
        }
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

/// Takes the first entry off.
fn split(bytes: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let (mode, rest) = match bytes.strip_prefix(b"100644 ") {
        Some(rest) => (0o100_644, rest),
        None => any_mode(bytes)?,
    };
    let end = first_nul(rest)?;
    let (id, after) = rest[end + 1..].split_first_chunk()?;
    let (name, id) = (&rest[..end], ObjectId(*id));
    Some((Entry { mode, name, id }, after))
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

fn any_mode(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let space = bytes.iter().take(8).position(|byte| *byte == b' ')?;
    let mode = std::str::from_utf8(&bytes[..space]).ok()?;
    let mode = u32::from_str_radix(mode, 8).ok()?;
    Some((mode, &bytes[space + 1..]))
}

/// The entries in which two trees differ, in Git's order: what is only in one of them stands alone.
#[derive(Clone, Debug)]
pub struct Differing<'a> {
    a: &'a [u8],
    b: &'a [u8],
}

impl<'a> Differing<'a> {
    /// Walks `a` and `b` side by side.
    #[must_use]
    pub fn new(a: &'a Tree, b: &'a Tree) -> Self {
        Self {
            a: &a.bytes,
            b: &b.bytes,
        }
    }
}

impl<'a> Iterator for Differing<'a> {
    type Item = (Option<Entry<'a>>, Option<Entry<'a>>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some((a, after_a)) = split(self.a) else {
                let (b, after_b) = split(self.b)?;
                self.b = after_b;
                return Some((None, Some(b)));
            };
            // Most entries are the same in both: that is seen without taking the second one apart.
            let (first, _) = self.a.split_at(self.a.len() - after_a.len());
            if let Some(after_b) = self.b.strip_prefix(first) {
                (self.a, self.b) = (after_a, after_b);
                continue;
            }
            let Some((b, after_b)) = split(self.b) else {
                self.a = after_a;
                return Some((Some(a), None));
            };
            let order = a.order(&b);
            if order.is_le() {
                self.a = after_a;
            }
            if order.is_ge() {
                self.b = after_b;
            }
            match order {
                Ordering::Equal if a.is_same(&b) => {}
                Ordering::Equal => return Some((Some(a), Some(b))),
                Ordering::Less => return Some((Some(a), None)),
                Ordering::Greater => return Some((None, Some(b))),
            }
        }
    }
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
        fn what_differs_is_what_two_maps_say(a in folder(), b in folder()) {
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
