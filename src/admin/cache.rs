//! Keeps what was made from the status, so that readers share it until the status changes.

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
            entries: Mutex::new(CacheEntries {
                status,
                generation: 0,
                values: VecDeque::new(),
            }),
        }
    }

    /// Returns the value for `key`, if one that `is_usable` was made from the current status.
    pub(super) fn get(&self, key: &K, is_usable: impl Fn(&V) -> bool) -> Option<V> {
        self.with(|entries| entries.get(key, is_usable))
    }

    /// Returns the same, or the value that `make` returns for the current status. Two callers may make it at the same
    /// time, because neither waits for the other.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> (watch::Sender<Status>, StatusCache<u8, u32>) {
        let (sender, receiver) = watch::channel(Status::default());
        (sender, StatusCache::new(receiver, 2))
    }

    #[test]
    fn a_value_is_made_once_per_status() {
        let (sender, cache) = cache();
        let value = |key, made| cache.get_or_make(key, |_| true, |_, _| made);
        assert_eq!(cache.get(&1, |_| true), None);
        assert_eq!((value(1, 10), value(1, 11), value(2, 20)), (10, 10, 20));
        assert_eq!(cache.get(&1, |_| true), Some(10));
        sender.send_modify(|status| status.next_pass = Some(1));
        assert_eq!(cache.get(&1, |_| true), None);
        assert_eq!(value(1, 12), 12);
    }

    #[test]
    fn the_oldest_value_makes_room_and_an_unusable_one_is_replaced() {
        let (_sender, cache) = cache();
        for key in [1, 2, 3] {
            cache.get_or_make(key, |_| true, |_, key| u32::from(*key));
        }
        assert_eq!(
            [1, 2, 3].map(|key| cache.get(&key, |_| true)),
            [None, Some(2), Some(3)]
        );
        assert_eq!(cache.get_or_make(2, |_| false, |_, _| 9), 9);
        assert_eq!([2, 3].map(|key| cache.get(&key, |_| true)), [Some(9), Some(3)]);
    }

    #[test]
    fn a_value_that_was_made_from_an_older_status_is_not_kept() {
        let (sender, cache) = cache();
        let made = cache.get_or_make(
            1,
            |_| true,
            |_, _| {
                sender.send_modify(|status| status.next_pass = Some(1));
                assert_eq!(cache.get_or_make(1, |_| true, |_, _| 2), 2);
                1
            },
        );
        assert_eq!(made, 1);
        assert_eq!(cache.get(&1, |_| true), Some(2));
    }
}
