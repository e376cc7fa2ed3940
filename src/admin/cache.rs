//! Values that readers share until the status changes.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use crate::daemon::Status;

/// The last `capacity` values that were made from the current status, by key.
#[derive(Debug)]
pub(super) struct StatusCache<K, V> {
    capacity: usize,
    /// Contended by readers, for the time of one lookup.
    entries: Mutex<CacheEntries<K, V>>,
}

#[derive(Debug)]
struct CacheEntries<K, V> {
    status: watch::Receiver<Status>,
    /// Counts the statuses. A value that was made from an older one is not kept.
    generation: u64,
    /// The newest first.
    values: VecDeque<(K, V)>,
}

impl<K: PartialEq, V: Clone> StatusCache<K, V> {
    pub(super) fn new(status: watch::Receiver<Status>, capacity: usize) -> Self {
        Self {
            capacity,
            entries: Mutex::new(CacheEntries { status, generation: 0, values: VecDeque::new() }),
        }
    }

    /// Returns the value for `key`, if one that `is_usable` was made from the current status.
    pub(super) fn get(&self, key: &K, is_usable: impl Fn(&V) -> bool) -> Option<V> {
        self.with(|entries| entries.get(key, is_usable))
    }

    /// Returns the same, or the value that `make` returns for the current status. Two callers may make it at
    /// the same time, because neither waits for the other.
    pub(super) fn get_or_make(
        &self,
        key: K,
        is_usable: impl Fn(&V) -> bool,
        make: impl FnOnce(&Status, &K) -> V,
    ) -> V {
        let found = self.with(|entries| {
            let known = entries.get(&key, is_usable);
            // Cloned, because the driver, which publishes the status, must not wait. It shares its lists.
            known.ok_or_else(|| Box::new((entries.status.borrow().clone(), entries.generation)))
        });
        let (status, generation) = match found {
            Ok(value) => return value,
            Err(basis) => *basis,
        };
        let value = make(&status, &key);
        self.with(|entries| {
            if entries.generation == generation {
                entries.values.retain(|(other, _)| *other != key);
                entries.values.truncate(self.capacity - 1);
                entries.values.push_front((key, value.clone()));
            }
        });
        value
    }

    fn with<T>(&self, act: impl FnOnce(&mut CacheEntries<K, V>) -> T) -> T {
        act(&mut self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<K: PartialEq, V: Clone> CacheEntries<K, V> {
    fn get(&mut self, key: &K, is_usable: impl Fn(&V) -> bool) -> Option<V> {
        // After the last sender is gone, the status no longer changes.
        if self.status.has_changed().unwrap_or(false) {
            self.status.mark_unchanged();
            self.generation += 1;
            self.values.clear();
        }
        let mut values = self.values.iter();
        let (_, value) = values.find(|(other, value)| other == key && is_usable(value))?;
        Some(value.clone())
    }
}
