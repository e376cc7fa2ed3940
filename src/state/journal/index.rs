//! The content of the journal: intents and their outcomes. Pure.
//!
//! Invariant: an intent is removed only when its request certainly was not stored, when a later request for
//! the toggle was confirmed, or when it was recorded elsewhere.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::model::{Certainty, CommitId, Sent, ToggleId};

/// A request: its intent, and its outcome, if there is one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct JournalEntry {
    pub(crate) number: u64,
    pub(crate) base: Option<CommitId>,
    pub(crate) sent: Sent,
    pub(crate) outcome: Option<Certainty>,
}

/// All requests that are not recorded yet, by toggle, oldest first.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct JournalIndex {
    toggles: BTreeMap<ToggleId, Vec<JournalEntry>>,
    open: HashMap<u64, ToggleId>,
    highest: u64,
}

impl JournalIndex {
    /// Adds a request before it is sent.
    pub(crate) fn intend(&mut self, id: ToggleId, entry: JournalEntry) {
        self.highest = self.highest.max(entry.number);
        self.open.insert(entry.number, id.clone());
        self.toggles.entry(id).or_default().push(entry);
    }

    /// Adds the outcome of a request. A number without an open request changes nothing.
    pub(crate) fn finish(&mut self, number: u64, finish: Certainty) {
        let Some(id) = self.open.remove(&number) else {
            return;
        };
        let Some(entries) = self.toggles.get_mut(&id) else {
            return;
        };
        match finish {
            Certainty::Stored => {
                // The service confirmed a newer request, so the outcomes of older ones no longer matter.
                let at = entries.iter().position(|entry| entry.number == number);
                for before in entries.drain(..at.unwrap_or(0)) {
                    self.open.remove(&before.number);
                }
                entries[0].outcome = Some(finish);
            }
            Certainty::NotStored => entries.retain(|entry| entry.number != number),
            Certainty::Unknown => {
                for entry in entries.iter_mut().filter(|entry| entry.number == number) {
                    entry.outcome = Some(finish);
                }
            }
        }
        if entries.is_empty() {
            self.toggles.remove(&id);
        }
    }

    /// Returns the confirmed requests, which are not recorded yet.
    pub(crate) fn settled(&self) -> impl Iterator<Item = (&ToggleId, &JournalEntry)> {
        self.toggles.iter().flat_map(|(id, entries)| {
            let applied = entries.iter().filter(|entry| entry.outcome == Some(Certainty::Stored));
            applied.map(move |entry| (id, entry))
        })
    }

    /// Returns the source revision of the newest confirmed request.
    pub(crate) fn newest_settled(&self) -> Option<CommitId> {
        let newest = self.settled().max_by_key(|(_, entry)| entry.number);
        newest.map(|(_, entry)| entry.sent.revision)
    }

    /// Returns the last request of each toggle, unless it is confirmed.
    pub(crate) fn unknown(&self) -> impl Iterator<Item = (&ToggleId, &JournalEntry)> {
        self.toggles.iter().filter_map(|(id, entries)| {
            let last = entries.last()?;
            (last.outcome != Some(Certainty::Stored)).then_some((id, last))
        })
    }

    /// Returns the toggles of [`JournalIndex::unknown`].
    pub(crate) fn unknown_toggles(&self) -> Vec<ToggleId> {
        self.unknown().map(|(id, _)| id.clone()).collect()
    }

    /// Returns the requests of [`JournalIndex::unknown`].
    pub(crate) fn unknown_requests(&self) -> BTreeMap<ToggleId, Sent> {
        let unknown = self.unknown();
        unknown.map(|(id, entry)| (id.clone(), entry.sent.clone())).collect()
    }

    /// Removes entries that are recorded elsewhere, and distrusts doubtful confirmations.
    pub(crate) fn trim(&mut self, trim: &JournalTrim) {
        let recorded: HashSet<u64> = trim.recorded.iter().copied().collect();
        self.retain(|entry| !recorded.contains(&entry.number));
        self.doubt(|entry| trim.doubtful.contains(&entry.number));
        for id in &trim.forgotten {
            for entry in self.toggles.remove(id).unwrap_or_default() {
                self.open.remove(&entry.number);
            }
        }
    }

    fn retain(&mut self, keep: impl Fn(&JournalEntry) -> bool) {
        self.toggles.retain(|_, entries| {
            entries.retain(|entry| keep(entry));
            !entries.is_empty()
        });
    }

    /// Makes doubtful confirmations unknown.
    pub(crate) fn doubt(&mut self, doubtful: impl Fn(&JournalEntry) -> bool) {
        for entries in self.toggles.values_mut() {
            for entry in entries.iter_mut() {
                if entry.outcome == Some(Certainty::Stored) && doubtful(entry) {
                    entry.outcome = Some(Certainty::Unknown);
                }
            }
        }
    }

    /// Removes confirmations, which the tree or another list has.
    pub(crate) fn drop_settled(&mut self) {
        self.retain(|entry| entry.outcome != Some(Certainty::Stored));
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&ToggleId, &JournalEntry)> {
        self.toggles.iter().flat_map(|(id, entries)| entries.iter().map(move |entry| (id, entry)))
    }

    /// Returns the revision of the newest request that builds on `tip`, so that no commit has recorded its
    /// revision.
    pub(crate) fn newest_revision(&self, tip: Option<CommitId>) -> Option<CommitId> {
        let unrecorded = self.entries().filter(|(_, entry)| entry.base == tip);
        let newest = unrecorded.max_by_key(|(_, entry)| entry.number);
        newest.map(|(_, entry)| entry.sent.revision)
    }

    /// Returns the toggles of the requests without any outcome.
    pub(crate) fn open(&self) -> impl Iterator<Item = &ToggleId> {
        self.open.values()
    }

    /// Returns whether every request is recorded elsewhere.
    pub(crate) fn is_empty(&self) -> bool {
        self.toggles.is_empty()
    }

    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }
}

/// Entries to remove from the journal after they were recorded elsewhere, or to distrust.
#[derive(Debug, Default)]
pub(crate) struct JournalTrim {
    pub(crate) recorded: Vec<u64>,
    pub(crate) doubtful: Vec<u64>,
    pub(crate) forgotten: Vec<ToggleId>,
}

impl JournalTrim {
    pub(crate) fn extend(&mut self, other: Self) {
        let Self { recorded, doubtful, forgotten } = other;
        self.recorded.extend(recorded);
        self.doubtful.extend(doubtful);
        self.forgotten.extend(forgotten);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.recorded.is_empty() && self.doubtful.is_empty() && self.forgotten.is_empty()
    }
}
