//! Copies documents from packs as they are stored, because to compress a hundred thousand takes longer than to plan them.

use std::collections::HashMap;

use flate2::Crc;

use super::pack::{CopiedEntry, EntryForm, ObjectKind, PackCopies};
use super::packs::{Packs, StoredEntry};
use super::unpack::{Entry, Window};
use crate::model::ObjectId;

/// The most objects that a pack may have for each wanted document. To read the index of a larger one takes longer than to
/// compress the documents.
const MOST_OBJECTS: usize = 64;

/// The most deflated bytes of one object.
const LARGEST: u64 = 16 << 20;

/// Takes the documents that can be copied out of `wanted`, which is sorted. Returns them with the bases of their deltas.
///
/// A base that is not wanted is copied, too: together they take less space than the compressed document. It refers to
/// no other object, so that nothing is missing below it.
pub(super) fn take(packs: &Packs, wanted: &mut Vec<ObjectId>) -> PackCopies {
    let mut copier = Copier {
        packs,
        places: vec![None; wanted.len()],
        wanted,
        bases: HashMap::new(),
        window: Window::default(),
        copies: PackCopies::default(),
    };
    for number in 0..packs.count() {
        // The documents of a pack that cannot be read are left to the caller.
        let _ = copier.copy_from(number);
    }
    let (copies, places) = (copier.copies, copier.places);
    let mut places = places.iter();
    wanted.retain(|_| places.next().is_none_or(Option::is_none));
    copies
}

struct Copier<'a> {
    packs: &'a Packs,
    wanted: &'a [ObjectId],
    /// The place of each wanted document among the copies.
    places: Vec<Option<usize>>,
    /// The places of the objects that are not wanted.
    bases: HashMap<ObjectId, usize>,
    window: Window,
    copies: PackCopies,
}

impl Copier<'_> {
    /// Copies what one pack has.
    fn copy_from(&mut self, number: usize) -> Option<()> {
        let left = self.places.iter().filter(|place| place.is_none()).count();
        let rows = self.packs.entries(number, left * MOST_OBJECTS)?;
        let is_wanted = |row: &StoredEntry| self.wanted_at(row).is_some_and(|at| self.places[at].is_none());
        let mut is_known: Vec<bool> = rows.iter().map(is_wanted).collect();
        let mut next: Vec<usize> = (0..rows.len()).filter(|row| is_known[*row]).collect();
        let mut found = Vec::with_capacity(next.len());
        let (before, mut most) = (self.copies.deflated.len(), usize::MAX);
        // The documents, then the bases that are not wanted, then their bases and so on, each in the order of the pack.
        while !next.is_empty() {
            let mut bases = Vec::new();
            for row in next {
                // What depends on a row that cannot be read is left to the caller, too.
                let Some(entry) = self.read(number, &rows, row, most) else {
                    continue;
                };
                if let EntryForm::Delta(base) = entry.form
                    && !is_known[base]
                    && self.place(&rows[base]).is_none()
                {
                    is_known[base] = true;
                    bases.push(base);
                }
                found.push((row, entry));
            }
            bases.sort_unstable();
            next = bases;
            // A long chain of versions must not fill the state: the bases take at most as much space as the documents.
            most = most.min(2 * self.copies.deflated.len() - before);
        }
        self.keep(&rows, found);
        Some(())
    }

    fn wanted_at(&self, row: &StoredEntry) -> Option<usize> {
        self.wanted.binary_search(&row.id).ok()
    }

    /// Returns the place of an object among the copies.
    fn place(&self, row: &StoredEntry) -> Option<usize> {
        match self.wanted_at(row) {
            Some(at) => self.places[at],
            None => self.bases.get(&row.id).copied(),
        }
    }

    /// Reads a row, whose base is another row, unless it is damaged or there are `most` bytes already.
    fn read(&mut self, number: usize, rows: &[StoredEntry], row: usize, most: usize) -> Option<CopiedEntry> {
        let StoredEntry { id, checksum, start, end } = rows[row];
        let length = end.checked_sub(start).filter(|length| *length <= LARGEST)?;
        let length = usize::try_from(length).ok()?;
        let before = self.copies.deflated.len();
        if before.saturating_add(length) > most {
            return None;
        }
        let bytes = self.window.at(self.packs, (number, start), length)?.get(..length)?;
        // As git does, whose indexes have the checksums for this purpose. To inflate and hash each document again takes
        // five times as long.
        let mut found = Crc::new();
        found.update(bytes);
        if found.sum() != checksum {
            return None;
        }
        let Entry { form, size, data } = Entry::parse(self.packs, (number, start), bytes)?;
        let form = match form {
            EntryForm::Whole(kind) => EntryForm::Whole(Some(kind).filter(|kind| *kind == ObjectKind::Blob)?),
            EntryForm::Delta((_, base)) => {
                EntryForm::Delta(rows.binary_search_by_key(&base, |row| row.start).ok()?)
            }
        };
        let head = usize::try_from(data.1 - start).ok()?;
        self.copies.deflated.extend_from_slice(&bytes[head..]);
        Some(CopiedEntry { id, form, size, deflated: before..self.copies.deflated.len() })
    }

    /// Keeps the entries whose bases are kept.
    fn keep(&mut self, rows: &[StoredEntry], mut found: Vec<(usize, CopiedEntry)>) {
        found.sort_unstable_by_key(|(row, _)| *row);
        for (row, mut entry) in found {
            if let EntryForm::Delta(base) = &mut entry.form {
                match self.place(&rows[*base]) {
                    Some(place) => *base = place,
                    None => continue,
                }
            }
            let place = self.copies.entries.len();
            match self.wanted_at(&rows[row]) {
                Some(at) => self.places[at] = Some(place),
                None => drop(self.bases.insert(entry.id, place)),
            }
            self.copies.entries.push(entry);
        }
    }
}
