//! The format of a Git tree: `mode SP name NUL id`, sorted.

use super::{Entry, EntryKind, ObjectId};

/// One entry, borrowed from the bytes of its tree.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct RawEntry<'a> {
    pub(crate) mode: u32,
    pub(crate) name: &'a [u8],
    pub(crate) id: ObjectId,
}

impl RawEntry<'_> {
    pub(crate) const fn kind(&self) -> EntryKind {
        match self.mode & 0o170_000 {
            0o040_000 => EntryKind::Tree,
            0o100_000 => EntryKind::Blob,
            _ => EntryKind::Other,
        }
    }

    pub(crate) fn owned(&self) -> Entry {
        Entry {
            name: self.name.to_vec(),
            kind: self.kind(),
            id: self.id,
        }
    }

    /// Returns whether both are one thing to Git, which knows of a file's mode only whether it is executable.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let canonical = |mode: u32| match mode & 0o170_000 {
            0o100_000 => 0o100_000 | (mode & 0o100),
            kind => kind,
        };
        self.id == other.id && canonical(self.mode) == canonical(other.mode)
    }

    /// Orders as Git does: a folder's name as if it ended in a slash.
    pub(crate) fn order(&self, other: &Self) -> std::cmp::Ordering {
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

/// The entries of a tree's bytes. A malformed entry gives `Err` once, and then nothing.
pub(crate) struct Entries<'a>(&'a [u8]);

impl<'a> Entries<'a> {
    pub(crate) const fn new(tree: &'a [u8]) -> Self {
        Self(tree)
    }
}

/// A tree's bytes that are no tree.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Malformed;

impl<'a> Iterator for Entries<'a> {
    type Item = Result<RawEntry<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let parsed = parse(self.0);
        self.0 = parsed.map_or(&[], |(_, rest)| rest);
        Some(parsed.map(|(entry, _)| entry).ok_or(Malformed))
    }
}

fn parse(bytes: &[u8]) -> Option<(RawEntry<'_>, &[u8])> {
    let space = bytes.iter().take(8).position(|byte| *byte == b' ')?;
    let mode = bytes[..space].iter().try_fold(0, |mode: u32, digit| {
        (b'0'..=b'7')
            .contains(digit)
            .then(|| mode << 3 | u32::from(digit - b'0'))
    })?;
    let rest = &bytes[space + 1..];
    let end = rest.iter().position(|byte| *byte == 0)?;
    let (id, after) = rest[end + 1..].split_first_chunk::<20>()?;
    let entry = RawEntry {
        mode,
        name: &rest[..end],
        id: ObjectId(*id),
    };
    Some((entry, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_that_ends_early_is_malformed_and_never_read_past_its_end() {
        let mut tree = b"100644 a\0".to_vec();
        tree.extend([7; 20]);
        tree.extend(b"40000 b\0");
        tree.extend([8; 20]);
        let entries: Vec<_> = Entries::new(&tree).collect::<Result<_, _>>().unwrap();
        assert_eq!(
            entries.iter().map(|entry| entry.name).collect::<Vec<_>>(),
            [b"a", b"b"]
        );
        assert_eq!(entries[1].kind(), EntryKind::Tree);
        for end in (1..tree.len()).filter(|end| *end != 29) {
            assert!(Entries::new(&tree[..end]).any(|entry| entry.is_err()), "{end}");
        }
    }
}
