//! What the journal says, as a value: which requests were about to be sent and what came of them.
//!
//! Pure. Nothing is ever dropped here for being unknown: an intent leaves only when its request certainly was not
//! stored, when a later request for the toggle was confirmed, or when it was recorded.

use std::collections::{BTreeMap, HashMap};

use crate::model::{Certainty, CommitId, Sent, ToggleId};

/// One request: its intent, and its outcome where there is one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) base: Option<CommitId>,
    pub(crate) sent: Sent,
    pub(crate) outcome: Option<Certainty>,
}

/// All requests that are not recorded yet, by toggle, oldest first.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct JournalIndex {
    toggles: BTreeMap<ToggleId, Vec<Entry>>,
    open: HashMap<u64, ToggleId>,
    highest: u64,
}

impl JournalIndex {
    /// Notes that a request is about to be sent.
    pub(crate) fn intend(&mut self, id: ToggleId, entry: Entry) {
        self.highest = self.highest.max(entry.number);
        self.open.insert(entry.number, id.clone());
        self.toggles.entry(id).or_default().push(entry);
    }

    /// Notes what came of it; a number that is not known (any more) changes nothing.
    pub(crate) fn finish(&mut self, number: u64, finish: Certainty) {
        let Some(id) = self.open.remove(&number) else {
            return;
        };
        let Some(entries) = self.toggles.get_mut(&id) else {
            return;
        };
        match finish {
            Certainty::Stored => {
                // What went before no longer matters: the service confirmed something newer.
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

    /// Returns what is confirmed and not recorded yet.
    pub(crate) fn settled(&self) -> impl Iterator<Item = (&ToggleId, &Entry)> {
        self.toggles.iter().flat_map(|(id, entries)| {
            let applied = entries
                .iter()
                .filter(|entry| entry.outcome == Some(Certainty::Stored));
            applied.map(move |entry| (id, entry))
        })
    }

    /// Returns the last request of each toggle whose outcome is not known.
    pub(crate) fn unknown(&self) -> impl Iterator<Item = (&ToggleId, &Entry)> {
        self.toggles.iter().filter_map(|(id, entries)| {
            let last = entries.last()?;
            (last.outcome != Some(Certainty::Stored)).then_some((id, last))
        })
    }

    /// Drops what is recorded elsewhere, and takes back what cannot be trusted.
    pub(crate) fn trim(&mut self, trim: &JournalTrim) {
        self.forget(&trim.recorded);
        self.doubt(|entry| trim.doubtful.contains(&entry.number));
        for id in &trim.forgotten {
            self.forget_toggle(id);
        }
    }

    /// Drops what was recorded.
    fn forget(&mut self, numbers: &[u64]) {
        let numbers: std::collections::HashSet<u64> = numbers.iter().copied().collect();
        self.toggles.retain(|_, entries| {
            entries.retain(|entry| !numbers.contains(&entry.number));
            !entries.is_empty()
        });
    }

    /// Drops everything about `id`.
    pub(crate) fn forget_toggle(&mut self, id: &ToggleId) {
        for entry in self.toggles.remove(id).unwrap_or_default() {
            self.open.remove(&entry.number);
        }
    }

    /// Takes back confirmations that cannot be trusted: they become unknown.
    pub(crate) fn doubt(&mut self, doubtful: impl Fn(&Entry) -> bool) {
        for entries in self.toggles.values_mut() {
            for entry in entries.iter_mut() {
                if entry.outcome == Some(Certainty::Stored) && doubtful(entry) {
                    entry.outcome = Some(Certainty::Unknown);
                }
            }
        }
    }

    /// Drops confirmations: the tree or another list has them.
    pub(crate) fn drop_settled(&mut self) {
        self.toggles.retain(|_, entries| {
            entries.retain(|entry| entry.outcome != Some(Certainty::Stored));
            !entries.is_empty()
        });
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&ToggleId, &Entry)> {
        self.toggles
            .iter()
            .flat_map(|(id, entries)| entries.iter().map(move |entry| (id, entry)))
    }

    /// Returns the revision of the newest request that builds on `tip`, so that no commit has recorded its revision.
    pub(crate) fn newest_revision(&self, tip: Option<CommitId>) -> Option<CommitId> {
        let unrecorded = self.entries().filter(|(_, entry)| entry.base == tip);
        let newest = unrecorded.max_by_key(|(_, entry)| entry.number);
        newest.map(|(_, entry)| entry.sent.revision)
    }

    /// Returns whether a request has no outcome at all.
    pub(crate) fn has_open(&self) -> bool {
        self.entries().any(|(_, entry)| entry.outcome.is_none())
    }

    /// Returns whether no request is open, unknown or waits to be recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.toggles.is_empty()
    }

    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }
}

/// What leaves the journal, because it is recorded elsewhere.
#[derive(Debug, Default)]
pub(crate) struct JournalTrim {
    pub(crate) recorded: Vec<u64>,
    pub(crate) doubtful: Vec<u64>,
    pub(crate) forgotten: Vec<ToggleId>,
}

impl JournalTrim {
    pub(crate) fn extend(&mut self, other: Self) {
        let Self {
            recorded,
            doubtful,
            forgotten,
        } = other;
        self.recorded.extend(recorded);
        self.doubtful.extend(doubtful);
        self.forgotten.extend(forgotten);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.recorded.is_empty() && self.doubtful.is_empty() && self.forgotten.is_empty()
    }
}
