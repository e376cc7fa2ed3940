//! Pairs the items of an old list with those of a new one.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// The pairs of old and new items.
pub(super) struct Pairs {
    /// The old index of each new item.
    pub(super) before: Vec<Option<usize>>,
    /// Whether each old item has a new one.
    taken: Vec<bool>,
}

impl Pairs {
    pub(super) fn new(before: usize, after: usize) -> Self {
        Self { before: vec![None; after], taken: vec![false; before] }
    }

    /// Pairs the items that have no partner yet by equal keys, in order.
    pub(super) fn by<'t, T, K: Eq + Hash>(
        &mut self,
        before: &'t [T],
        after: &'t [T],
        key: impl Fn(&'t T) -> Option<K>,
    ) {
        let mut free: HashMap<K, VecDeque<usize>> = HashMap::new();
        for (at, item) in before.iter().enumerate().filter(|(at, _)| !self.taken[*at]) {
            if let Some(key) = key(item) {
                free.entry(key).or_default().push_back(at);
            }
        }
        for (slot, item) in self.before.iter_mut().zip(after).filter(|(slot, _)| slot.is_none()) {
            // Equal keys pair in order, so that repeated items do not look moved.
            *slot = key(item).and_then(|key| free.get_mut(&key)?.pop_front());
            if let Some(at) = *slot {
                self.taken[at] = true;
            }
        }
    }

    pub(super) fn removed(&self) -> impl Iterator<Item = usize> {
        self.taken.iter().enumerate().filter(|(_, taken)| !**taken).map(|(at, _)| at)
    }

    /// Describes each item that was removed, added or changed.
    pub(super) fn describe<T: PartialEq>(
        &self,
        what: &str,
        (before, after): (&[T], &[T]),
        show: impl Fn(&T) -> String,
        changed: impl Fn(&T, &T) -> String,
        out: &mut Vec<String>,
    ) {
        for at in self.removed() {
            out.push(format!("{what} removed: {}", show(&before[at])));
        }
        for (from, now) in self.before.iter().zip(after) {
            match from.map(|from| &before[from]) {
                None => out.push(format!("{what} added: {}", show(now))),
                Some(old) if old != now => out.push(format!("{what} changed: {}", changed(old, now))),
                Some(_) => {}
            }
        }
    }

    /// Returns whether each new item moved. Marks the smallest set of items that explains the new order: all that are not
    /// in a longest increasing subsequence of old indices.
    pub(super) fn moved(&self) -> Vec<bool> {
        let mut tails: Vec<usize> = Vec::new();
        let mut previous = vec![None; self.before.len()];
        for (at, from) in self.before.iter().enumerate() {
            let Some(from) = from else { continue };
            let place = tails.partition_point(|tail| self.before[*tail] < Some(*from));
            previous[at] = place.checked_sub(1).map(|place| tails[place]);
            if place == tails.len() {
                tails.push(at);
            } else {
                tails[place] = at;
            }
        }
        let mut moved: Vec<bool> = self.before.iter().map(Option::is_some).collect();
        let mut at = tails.last().copied();
        while let Some(stays) = at {
            moved[stays] = false;
            at = previous[stays];
        }
        moved
    }
}
