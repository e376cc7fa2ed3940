//! Decides in which order toggles are sent (DESIGN, section 6, *Order*).
//!
//! [`Order`] gives each lane its queue. While it is unknown whether the service works, [`Pool`] picks the toggle whose last
//! try is longest ago, from another environment if possible, at random among equals. The random choice gives every toggle
//! its turn even in a process that starts without state.

use std::collections::{BTreeMap, VecDeque};

use fastrand::Rng;
use tokio::time::Instant;

use super::inherited::Inherited;
use crate::model::{Action, RequestDigest};
use crate::plan::{Change, Plan};
use crate::state::StateSnapshot;

/// The age of a toggle's last try. The smallest is next, so the order of the fields matters.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Age {
    /// The number of the last try; 0 if none is on record.
    pub(crate) last_try: u64,
    /// Whether an earlier process sent this request and its outcome is unknown, which counts as a try.
    pub(crate) is_unknown: bool,
    /// Whether the toggle was never applied.
    pub(crate) is_new: bool,
}

/// The properties of a change that decide its order and its weight as evidence.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Item {
    /// The index of its lane.
    pub(crate) lane: usize,
    pub(crate) age: Age,
    /// Whether this request failed alone before.
    pub(crate) is_alone: bool,
    /// The time before which it may not be sent.
    pub(crate) not_before: Option<Instant>,
}

/// All changes of a plan in the plan's order, and the queue of each lane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    pub(crate) items: Vec<Item>,
    pub(crate) lanes: Vec<VecDeque<usize>>,
    pub(crate) foundation: Foundation,
}

/// Whether the state has any applied toggle.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Foundation {
    /// It has one. A toggle that was never applied may not exist on the service yet.
    Applied,
    #[default]
    Nothing,
}

impl Order {
    /// Orders the changes of `plan` by the earlier tries in `view`. `inherited` are the toggles that were unknown when the
    /// state was opened.
    pub(crate) fn new(plan: &Plan, view: &StateSnapshot, inherited: &Inherited) -> Self {
        let changes = plan.changes();
        let mut items = vec![Item::default(); changes.len()];
        let mut lanes = Vec::new();
        for lane in plan.lanes() {
            let indices = lane.changes.iter();
            let indices =
                indices.filter_map(|change| changes.binary_search_by(|other| other.id.cmp(&change.id)).ok());
            let mut queue: Vec<usize> = indices.collect();
            for index in &queue {
                items[*index] = item(&changes[*index], lanes.len(), view, inherited);
            }
            // Stable: the plan's order, which is by path, decides among equals.
            queue.sort_by_key(|index| rank(&items[*index], &changes[*index]));
            lanes.push(queue.into());
        }
        Self {
            items,
            lanes,
            foundation: match view.has_applied() {
                true => Foundation::Applied,
                false => Foundation::Nothing,
            },
        }
    }
}

fn item(change: &Change, lane: usize, view: &StateSnapshot, inherited: &Inherited) -> Item {
    // A changed document counts as never tried (DESIGN, section 6, *Order*).
    let tried = view.failures().tries.get(&change.id);
    let tried = tried.filter(|tried| tried.request == change.request());
    let is_unknown = view
        .unknown()
        .get(&change.id)
        .is_some_and(|sent| RequestDigest::new(sent.action, &sent.payload) == change.request());
    Item {
        lane,
        age: Age {
            last_try: tried.map_or(0, |tried| tried.pass),
            is_unknown,
            is_new: change.action == Action::Create,
        },
        is_alone: tried.is_some_and(|tried| tried.alone.is_some()),
        not_before: inherited.not_before(change),
    }
}

/// Returns a sort key: disabled documents first, then toggles that were never tried, then the longest wait. Toggles that
/// failed alone are last.
fn rank(item: &Item, change: &Change) -> (bool, u8, u64) {
    let Item { age, is_alone, .. } = item;
    let group = match (change.payload.is_disabled(), age.is_unknown || age.last_try > 0) {
        (true, _) => 0,
        (false, false) => 1,
        (false, true) => 2,
    };
    (*is_alone, group, age.last_try)
}

/// The toggles to choose from while it is unknown whether the service works, by age and lane.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    groups: BTreeMap<Age, BTreeMap<usize, Vec<usize>>>,
    memory: Memory,
}

/// Whether the last try of any toggle is known.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Memory {
    /// The other fields of the age are only a preference. One pick in [`WILD`] ignores the age, because otherwise the same
    /// toggles could come first in every pass.
    #[default]
    Blank,
    Tries,
}

const WILD: u8 = 4;

impl Pool {
    pub(crate) fn new(indices: impl IntoIterator<Item = usize>, items: &[Item], rng: &mut Rng) -> Self {
        let mut pool = Self::default();
        for index in indices {
            let Item { lane, age, .. } = items[index];
            if age.last_try > 0 {
                pool.memory = Memory::Tries;
            }
            let group = pool.groups.entry(age).or_default();
            group.entry(lane).or_default().push(index);
        }
        let lanes = pool.groups.values_mut().flat_map(BTreeMap::values_mut);
        lanes.for_each(|lane| rng.shuffle(lane));
        pool
    }

    /// Takes the next toggle out of the pool, from a lane that `is_open` accepts.
    pub(crate) fn pick(
        &mut self,
        last_lane: Option<usize>,
        is_open: impl Fn(usize) -> bool,
        rng: &mut Rng,
    ) -> Option<usize> {
        let groups = self.groups.iter().map(|(age, group)| {
            let lanes = group.keys().copied().filter(|lane| is_open(*lane));
            (*age, lanes.collect::<Vec<_>>())
        });
        let mut groups = groups.filter(|(_, lanes)| !lanes.is_empty());
        let is_wild = self.memory == Memory::Blank && rng.u8(..WILD) == 0;
        let (age, open) = match is_wild {
            true => rng.choice(groups.collect::<Vec<_>>())?,
            false => groups.next()?,
        };
        let others: Vec<usize> = open
            .iter()
            .copied()
            .filter(|lane| Some(*lane) != last_lane)
            .collect();
        let lane = rng.choice(if others.is_empty() { open } else { others })?;
        self.take(age, lane)
    }

    fn take(&mut self, age: Age, lane: usize) -> Option<usize> {
        let group = self.groups.get_mut(&age)?;
        let indices = group.get_mut(&lane)?;
        let index = indices.pop();
        if indices.is_empty() {
            group.remove(&lane);
        }
        if group.is_empty() {
            self.groups.remove(&age);
        }
        index
    }

    /// Removes the toggles of a lane.
    pub(crate) fn remove_lane(&mut self, lane: usize) {
        self.groups
            .values_mut()
            .for_each(|group| drop(group.remove(&lane)));
        self.groups.retain(|_, group| !group.is_empty());
    }
}
