//! Decides which outcomes are evidence about the service as a whole (DESIGN, section 6, *One toggle is not evidence* and
//! *Verdict*).
//!
//! Outcomes are evidence only until a change was applied in the pass. A toggle that failed alone before is never evidence.
//! The lanes, not chance, choose the requests that are sent before the first failure is known. Of these, only the first
//! failure is evidence. Otherwise the same three toggles could end every pass of a process that starts without state.

use std::collections::BTreeMap;

use super::order::{Foundation, Item};

/// The number of toggles or environments that suffices for a verdict.
const ENOUGH: usize = 3;

/// The number of toggles that are tried before their whole environment counts as forbidden.
const TRIED_PER_ENVIRONMENT: usize = 2;

/// A verdict about the service as a whole, which ends the pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ServiceVerdict {
    Forbidden,
    /// No request succeeded for `--give-up-after`.
    GaveUp,
    Misrouted,
}

#[derive(Debug)]
pub(crate) struct ServiceEvidence {
    foundation: Foundation,
    /// The number of toggles of each lane that can be evidence.
    lanes: BTreeMap<usize, usize>,
    /// The numbers of the first request that failed, and of the first request sent after that.
    first_failure: Option<(u64, u64)>,
    /// The number of misrouted toggles, and how many of them are evidence.
    misrouted: (usize, usize),
    /// The number of forbidden toggles of each lane, and how many of them are evidence.
    forbidden: BTreeMap<usize, (usize, usize)>,
    is_applied: bool,
}

impl ServiceEvidence {
    pub(crate) fn new(items: &[Item], foundation: Foundation) -> Self {
        let mut lanes = BTreeMap::new();
        for item in items.iter().filter(|item| !item.is_alone) {
            *lanes.entry(item.lane).or_default() += 1;
        }
        Self {
            foundation,
            lanes,
            first_failure: None,
            misrouted: (0, 0),
            forbidden: BTreeMap::new(),
            is_applied: false,
        }
    }

    /// Returns whether a change was applied in this pass.
    pub(crate) fn is_applied(&self) -> bool {
        self.is_applied
    }

    /// Returns whether a request failed and no change was applied yet.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.first_failure.is_some() && !self.is_applied
    }

    pub(crate) fn applied(&mut self) {
        self.is_applied = true;
    }

    /// Records that request `number` failed. `next` is the number of the next request.
    pub(crate) fn failed(&mut self, number: u64, next: u64) {
        self.first_failure.get_or_insert((number, next));
    }

    /// Records that request `number`, for `item`, was misrouted.
    pub(crate) fn misrouted(&mut self, item: &Item, number: u64) -> Option<ServiceVerdict> {
        if item.is_alone {
            return None;
        }
        self.misrouted.0 += 1;
        // A 404 for a toggle that was never applied most likely means that it does not exist yet.
        let may_exist = !item.age.is_new || self.foundation == Foundation::Nothing;
        if may_exist && self.is_chosen(number) {
            self.misrouted.1 += 1;
        }
        (!self.is_applied && self.misrouted.1 >= ENOUGH).then_some(ServiceVerdict::Misrouted)
    }

    /// Records that `item` was forbidden.
    pub(crate) fn forbidden(&mut self, item: &Item) -> Option<ServiceVerdict> {
        let (all, evidence) = self.forbidden.entry(item.lane).or_default();
        *all += 1;
        if item.is_alone {
            return None;
        }
        *evidence += 1;
        let evidence_of = |lane: &usize| self.forbidden.get(lane).map_or(0, |(_, evidence)| *evidence);
        let lanes = self
            .forbidden
            .values()
            .filter(|(_, evidence)| *evidence > 0)
            .count();
        // With fewer than three environments, all of them must be forbidden (DESIGN, section 6, *Verdict*).
        let is_all = |(lane, total): (&usize, &usize)| evidence_of(lane) >= TRIED_PER_ENVIRONMENT.min(*total);
        let is_enough = lanes >= ENOUGH || self.lanes.iter().all(is_all);
        (!self.is_applied && is_enough).then_some(ServiceVerdict::Forbidden)
    }

    /// Returns whether a whole lane counts as forbidden.
    pub(crate) fn is_forbidden(&self, lane: usize) -> bool {
        self.forbidden
            .get(&lane)
            .is_some_and(|(all, _)| *all >= TRIED_PER_ENVIRONMENT)
    }

    /// Returns the verdict after every toggle was tried: the service is misrouted if all of them were.
    pub(crate) fn final_verdict(&self) -> Option<ServiceVerdict> {
        let (misrouted, evidence) = self.misrouted;
        let is_all = misrouted == self.lanes.values().sum::<usize>();
        (!self.is_applied && evidence > 0 && is_all).then_some(ServiceVerdict::Misrouted)
    }

    fn is_chosen(&self, number: u64) -> bool {
        self.first_failure
            .is_none_or(|(first, next)| number == first || number >= next)
    }
}
