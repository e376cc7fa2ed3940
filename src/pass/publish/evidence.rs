//! Which outcomes are evidence about the service as a whole (DESIGN, section 6, *One toggle is not evidence* and
//! *Verdict*).
//!
//! Only while nothing was applied in the pass. A toggle that failed alone before is never evidence. Requests that left
//! before the first failure was known are chosen by the lanes, not at random; of them only that failure is evidence,
//! because otherwise the same three toggles could end every pass of a process with an empty disk.

use std::collections::BTreeMap;

use super::order::{Foundation, Item};

/// How many toggles, or environments, are enough for a verdict.
const ENOUGH: usize = 3;

/// How many toggles of an environment are tried before it is forbidden as a whole.
const TRIED_PER_ENVIRONMENT: usize = 2;

/// A verdict about the service as a whole, which ends the pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    Forbidden,
    /// Nothing succeeded for `--give-up-after`.
    GaveUp,
    Misrouted,
}

/// What one pass has learned about the service.
#[derive(Debug)]
pub(crate) struct Evidence {
    foundation: Foundation,
    /// How many toggles of each lane are evidence.
    lanes: BTreeMap<usize, usize>,
    /// The number of the first request that failed, and of the next one that was sent after it had.
    first_failure: Option<(u64, u64)>,
    /// How many toggles were misrouted, and how many of them are evidence.
    misrouted: (usize, usize),
    /// How many toggles of each lane were forbidden, and how many of them are evidence.
    forbidden: BTreeMap<usize, (usize, usize)>,
    is_applied: bool,
}

impl Evidence {
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

    /// Returns whether something was applied in this pass.
    pub(crate) fn is_applied(&self) -> bool {
        self.is_applied
    }

    /// Returns whether something failed and nothing was applied yet.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.first_failure.is_some() && !self.is_applied
    }

    pub(crate) fn applied(&mut self) {
        self.is_applied = true;
    }

    /// Notes that the request of this number failed; the next one that is sent has the number `next`.
    pub(crate) fn failed(&mut self, number: u64, next: u64) {
        self.first_failure.get_or_insert((number, next));
    }

    /// Notes that `item` was misrouted by the request of this number.
    pub(crate) fn misrouted(&mut self, item: &Item, number: u64) -> Option<Verdict> {
        if item.is_alone {
            return None;
        }
        self.misrouted.0 += 1;
        let may_exist = !item.age.is_new || self.foundation == Foundation::Nothing;
        if may_exist && self.is_chosen(number) {
            self.misrouted.1 += 1;
        }
        (!self.is_applied && self.misrouted.1 >= ENOUGH).then_some(Verdict::Misrouted)
    }

    /// Notes that `item` was forbidden.
    pub(crate) fn forbidden(&mut self, item: &Item) -> Option<Verdict> {
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
        let is_all = |(lane, total): (&usize, &usize)| evidence_of(lane) >= TRIED_PER_ENVIRONMENT.min(*total);
        let is_enough = lanes >= ENOUGH || self.lanes.iter().all(is_all);
        (!self.is_applied && is_enough).then_some(Verdict::Forbidden)
    }

    /// Returns whether a lane is forbidden as a whole.
    pub(crate) fn is_forbidden(&self, lane: usize) -> bool {
        self.forbidden
            .get(&lane)
            .is_some_and(|(all, _)| *all >= TRIED_PER_ENVIRONMENT)
    }

    /// Returns the verdict once every toggle was tried: the service is misrouted if all there are were.
    pub(crate) fn finally(&self) -> Option<Verdict> {
        let (misrouted, evidence) = self.misrouted;
        let is_all = misrouted == self.lanes.values().sum::<usize>();
        (!self.is_applied && evidence > 0 && is_all).then_some(Verdict::Misrouted)
    }

    fn is_chosen(&self, number: u64) -> bool {
        self.first_failure
            .is_none_or(|(first, next)| number == first || number >= next)
    }
}
