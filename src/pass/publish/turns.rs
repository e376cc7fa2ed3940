//! The changes that wait for others of the same pass (src/plan/README.md, "Order and windows").

use std::collections::BTreeMap;

use crate::plan::Turn;

/// The changes that wait until those that they need have ended, whatever the result: a failure concerns its
/// toggle alone.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// The number of changes of each turn that have not ended.
    open: BTreeMap<Turn, usize>,
    waiting: BTreeMap<Turn, Vec<usize>>,
}

impl Turns {
    pub(super) fn open(&mut self, turn: Turn) {
        *self.open.entry(turn).or_default() += 1;
    }

    /// Returns whether no change of the group with a lower level is open.
    pub(super) fn is_next(&self, turn: Turn) -> bool {
        self.next_of(turn.group) == Some(turn)
    }

    fn next_of(&self, group: usize) -> Option<Turn> {
        let (turn, _) = self.open.range(Turn { group, level: 0 }..).next()?;
        (turn.group == group).then_some(*turn)
    }

    pub(super) fn wait(&mut self, turn: Turn, change: usize) {
        self.waiting.entry(turn).or_default().push(change);
    }

    /// Notes that a change has ended. Returns those that waited for it alone.
    pub(super) fn close(&mut self, turn: Turn) -> Vec<usize> {
        if let Some(count) = self.open.get_mut(&turn) {
            *count -= 1;
            if *count == 0 {
                self.open.remove(&turn);
            }
        }
        let next = self.next_of(turn.group);
        next.and_then(|next| self.waiting.remove(&next)).unwrap_or_default()
    }

    pub(super) fn are_over(&self) -> bool {
        self.waiting.is_empty()
    }
}
