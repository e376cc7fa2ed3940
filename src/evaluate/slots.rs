//! Attribute names as slots, and the texts that conditions look for as numbers.

use std::collections::HashMap;

/// The attributes that conditions compare.
#[derive(Debug, Default)]
pub(super) struct Slots {
    by_name: HashMap<String, usize>,
    pub(super) slots: Vec<Slot>,
}

/// One attribute.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// The texts that `is one of` and `is not any of` look for. A user's value is looked up once for all conditions.
    words: HashMap<String, u32>,
    pub(super) is_number: bool,
    pub(super) is_semver: bool,
    pub(super) is_time: bool,
}

impl Slots {
    /// Returns the slot of an attribute, which may be new.
    pub(super) fn intern(&mut self, name: &str) -> usize {
        if let Some(slot) = self.by_name.get(name) {
            return *slot;
        }
        let slot = self.slots.len();
        self.by_name.insert(name.to_owned(), slot);
        self.slots.push(Slot::default());
        slot
    }

    /// Returns the slot of an attribute that a condition compares.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }
}

impl Slot {
    pub(super) fn intern(&mut self, word: &str) -> u32 {
        let next = u32::try_from(self.words.len()).expect("documents have fewer texts than 2^32");
        *self.words.entry(word.to_owned()).or_insert(next)
    }

    pub(super) fn word(&self, text: &str) -> Option<u32> {
        self.words.get(text).copied()
    }
}
