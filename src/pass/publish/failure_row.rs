//! The failures in a row, from which the dispatcher tells an outage from a toggle that fails
//! (src/pass/README.md, "One toggle is not evidence").

use std::collections::BTreeSet;

use crate::model::OutcomeKind;

/// The failures since the last success that count, one for each toggle.
#[derive(Debug, Default)]
pub(super) struct FailureRow {
    row: Vec<Failure>,
    /// The toggles of which one failure came alone between two successes. They do not count again, because
    /// one toggle that fails again and again is not evidence against the service.
    lone: BTreeSet<usize>,
    /// The toggles that have failed in this pass and count.
    failed: BTreeSet<usize>,
    /// The toggles that failed last while the service was in doubt, which responds again.
    excused: BTreeSet<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Failure {
    change: usize,
    kind: OutcomeKind,
    /// Whether its toggle had not failed before in this pass.
    is_first: bool,
}

impl FailureRow {
    /// Adds a failure of the toggle at this index. Returns whether it counts.
    pub(super) fn count(&mut self, change: usize, kind: OutcomeKind) -> bool {
        if self.has(change) || self.lone.contains(&change) {
            return false;
        }
        let is_first = self.failed.insert(change);
        self.row.push(Failure { change, kind, is_first });
        true
    }

    /// Ends the row with a success, so that a second outage of the pass is like the first. After an outage,
    /// the failures say nothing about their toggles.
    pub(super) fn end(&mut self, is_outage: bool) {
        if let [failure] = self.row[..] {
            self.lone.insert(failure.change);
        }
        for failure in self.row.drain(..) {
            match is_outage {
                true => self.excused.insert(failure.change),
                false => self.excused.remove(&failure.change),
            };
        }
    }

    pub(super) fn len(&self) -> usize {
        self.row.len()
    }

    /// Returns the number of toggles that had not failed before in this pass.
    pub(super) fn first_failures(&self) -> usize {
        self.row.iter().filter(|failure| failure.is_first).count()
    }

    /// Returns whether all failures are of this kind, and there is one.
    pub(super) fn is_all_of(&self, kind: OutcomeKind) -> bool {
        !self.row.is_empty() && self.row.iter().all(|failure| failure.kind == kind)
    }

    /// Returns the toggles with failures of this kind.
    pub(super) fn of(&self, kind: OutcomeKind) -> impl Iterator<Item = usize> {
        self.row.iter().filter(move |failure| failure.kind == kind).map(|failure| failure.change)
    }

    pub(super) fn has(&self, change: usize) -> bool {
        self.row.iter().any(|failure| failure.change == change)
    }

    /// Returns whether the toggle failed last in an outage that is over.
    pub(super) fn is_excused(&self, change: usize) -> bool {
        self.excused.contains(&change)
    }
}
