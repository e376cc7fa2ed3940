//! The difference of two Git trees, entry by entry.

use std::cmp::Ordering;

use super::tree::{Tree, TreeEntry, split};

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

#[cfg(test)]
mod tests {
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
