//! A user with attributes, parsed once.

use semver::Version;

use super::evaluator::Slots;

/// A user: a key and attributes. The values of a [`Person`] can be replaced, so that one serves a whole audience.
#[derive(Clone, Debug)]
pub(crate) struct Person<'a> {
    slots: &'a Slots,
    key: Option<String>,
    now: Option<i64>,
    values: Vec<AttributeValue>,
}

/// The value of an attribute in the forms that conditions compare. A text that cannot be parsed has no such form.
#[derive(Clone, Debug, Default)]
pub(super) struct AttributeValue {
    is_set: bool,
    pub(super) text: String,
    pub(super) word: Option<u32>,
    pub(super) number: Option<f64>,
    pub(super) version: Option<Version>,
    /// Seconds since 1970-01-01 UTC.
    pub(super) time: Option<u128>,
}

impl<'a> Person<'a> {
    pub(super) fn new(slots: &'a Slots, now: Option<i64>) -> Self {
        Self { slots, key: None, now, values: vec![AttributeValue::default(); slots.slots.len()] }
    }

    /// Removes all attributes and sets the key.
    pub(crate) fn reset(&mut self, key: Option<&str>) {
        match key {
            Some(key) => self.set_key(key),
            None => self.key = None,
        }
        for value in &mut self.values {
            value.is_set = false;
        }
    }

    pub(crate) fn set_key(&mut self, key: &str) {
        // One buffer serves a whole audience.
        let buffer = self.key.get_or_insert_default();
        buffer.clear();
        buffer.push_str(key);
    }

    /// Sets an attribute, which is ignored if no condition compares it. Returns whether it was set before.
    pub(crate) fn set(&mut self, name: &str, text: &str) -> bool {
        self.slots.find(name).is_some_and(|slot| self.set_slot(slot, text))
    }

    /// Returns the slot of the attribute `name`, if a condition compares it.
    pub(crate) fn slot(&self, name: &str) -> Option<usize> {
        self.slots.find(name)
    }

    /// Sets the attribute of a slot. Returns whether it was set before.
    ///
    /// # Panics
    /// If [`Self::slot`] did not return the slot.
    pub(crate) fn set_slot(&mut self, slot: usize, text: &str) -> bool {
        let kinds = &self.slots.slots[slot];
        let value = &mut self.values[slot];
        value.text.clear();
        value.text.push_str(text);
        value.word = kinds.word(text);
        // The same parsers as in the SDK: they define which texts are numbers, versions and times.
        if kinds.is_number {
            value.number = text.parse().ok();
        }
        if kinds.is_semver {
            value.version = text.parse().ok();
        }
        if kinds.is_time {
            value.time = text.parse().ok();
        }
        std::mem::replace(&mut value.is_set, true)
    }

    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Returns the time of evaluation in seconds since 1970-01-01 UTC, if it is given.
    pub(super) fn now(&self) -> Option<i64> {
        self.now
    }

    pub(super) fn value(&self, slot: usize) -> Option<&AttributeValue> {
        self.values.get(slot).filter(|value| value.is_set)
    }
}
