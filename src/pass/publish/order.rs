//! The order in which a pass sends its changes, by their earlier tries ([`super::tries`]), and the delays of
//! those that an earlier process left unknown (src/state/README.md, "Unknown").
//!
//! A process that was killed did not wait for its requests to end. The service may execute one of them after
//! a request with a newer document, so a different document waits for one timeout. The same document needs no
//! delay, because both orders have the same result.

use std::collections::{BTreeSet, HashMap, HashSet};

use tokio::time::Instant;

use super::tries::last_try;
use crate::model::{Action, FoldedId, RequestDigest, ToggleId};
use crate::plan::{Change, Plan, Turn};
use crate::state::StateSnapshot;

/// The properties of a change that decide its turn and whether its failure counts.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Item {
    pub(crate) lane: usize,
    /// The number of the pass that tried it last; 0 if none is on record.
    pub(crate) last_try: u64,
    /// Whether an earlier process sent this request and its outcome is unknown. Without a record, this counts
    /// as a try.
    pub(crate) is_unknown: bool,
    /// Whether its document is disabled, which is next among equals.
    pub(crate) is_disabled: bool,
    /// Whether it was never applied although others are, so that it may not exist on the service yet.
    pub(crate) may_be_missing: bool,
    /// Whether this request failed alone before.
    pub(crate) is_alone: bool,
    /// The time before which it may not be sent.
    pub(crate) not_before: Option<Instant>,
    /// Its place among the changes that wait for each other. Groups of different lanes differ.
    pub(crate) turn: Option<Turn>,
}

impl Item {
    /// Returns a sort key: the smallest is next.
    pub(super) fn rank(&self) -> (u64, bool) {
        (self.last_try.max(self.is_unknown.into()), !self.is_disabled)
    }
}

/// All changes of a plan in the plan's order, and the queue of each lane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    pub(crate) items: Vec<Item>,
    pub(crate) lanes: Vec<Vec<usize>>,
    /// The changes that a change refers to, before or after it, and those that refer to it.
    pub(crate) related: HashMap<usize, Vec<usize>>,
    /// Whether the state folder has no earlier try. Then the order within a lane is random once a request has
    /// failed: otherwise, the same toggles would come first in each pass.
    pub(crate) is_blank: bool,
}

impl Order {
    /// Orders the changes of `plan` by the earlier tries in `view`. `inherited` are the toggles that were
    /// unknown when the state was opened.
    pub(crate) fn new(plan: &Plan, view: &StateSnapshot, inherited: &Inherited) -> Self {
        let changes = plan.changes();
        let mut items = vec![Item::default(); changes.len()];
        let mut lanes = Vec::new();
        let (mut groups, mut related) = (0, HashMap::new());
        for lane in plan.lanes() {
            let place = |change: &&Change| changes.binary_search_by(|other| other.id.cmp(&change.id)).ok();
            let queue: Vec<usize> = lane.changes.iter().filter_map(place).collect();
            let mut last = groups;
            for (index, turn) in queue.iter().zip(lane.turns) {
                let turn = turn.map(|turn| Turn { group: groups + turn.group, ..turn });
                last = last.max(turn.map_or(0, |turn| turn.group + 1));
                items[*index] = Item { turn, ..item(&changes[*index], lanes.len(), view, inherited) };
            }
            groups = last;
            relate(changes, &queue, &mut related);
            lanes.push(queue);
        }
        Self { items, lanes, related, is_blank: view.failures().tries.values().all(|tried| tried.pass == 0) }
    }
}

/// Adds the changes of one lane that refer to each other.
fn relate(changes: &[Change], lane: &[usize], related: &mut HashMap<usize, Vec<usize>>) {
    let key = |change: &usize| changes[*change].id.toggle().to_lowercase();
    let places: HashMap<String, usize> = lane.iter().map(|change| (key(change), *change)).collect();
    for change in lane {
        let needed = changes[*change].needed_keys();
        for other in needed.filter_map(|key| places.get(&key.to_lowercase())).filter(|other| *other != change)
        {
            related.entry(*change).or_default().push(*other);
            related.entry(*other).or_default().push(*change);
        }
    }
}

fn item(change: &Change, lane: usize, view: &StateSnapshot, inherited: &Inherited) -> Item {
    let tries = &view.failures().tries;
    // A document that changed since has not failed (src/pass/README.md, "One toggle is not evidence").
    let tried = tries.get(&change.id.folded()).filter(|tried| tried.request == change.request());
    let sent = view.unknown().get(&change.id);
    Item {
        lane,
        last_try: last_try(tries, &change.id),
        is_unknown: sent
            .is_some_and(|sent| RequestDigest::new(sent.action, &sent.payload) == change.request()),
        is_disabled: change.payload.is_disabled(),
        may_be_missing: change.action == Action::Create && view.has_applied(),
        is_alone: tried.is_some_and(|tried| tried.alone.is_some()),
        not_before: inherited.not_before(change),
        turn: None,
    }
}

/// The toggles that were unknown when this process opened the state, or that have a request of an earlier
/// process that may still be open.
#[derive(Debug, Default)]
pub(crate) struct Inherited {
    toggles: HashSet<FoldedId>,
    /// The time at which every request of an earlier process has ended.
    ended_at: Option<Instant>,
}

impl Inherited {
    pub(crate) fn new(toggles: &BTreeSet<ToggleId>, ended_at: Instant) -> Self {
        Self { toggles: toggles.iter().map(ToggleId::folded).collect(), ended_at: Some(ended_at) }
    }

    /// Forgets the toggles once every request of an earlier process has ended, and returns whether it has.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        if self.ended_at.is_some_and(|ended_at| ended_at <= now) {
            *self = Self::default();
        }
        self.ended_at.is_none()
    }

    /// Returns the time before which a change may not be sent.
    pub(crate) fn not_before(&self, change: &Change) -> Option<Instant> {
        // This also holds after the service confirmed the same document to this process: the request of the
        // earlier process could still overwrite a newer document.
        let is_open = !change.is_retry && self.toggles.contains(&change.id.folded());
        self.ended_at.filter(|_| is_open)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::{Action, Attribution, CommitId, Format, ObjectId, Payload, Version};
    use crate::plan::{Before, Overwrite, Plan, SourceInfo};

    fn change(id: &ToggleId, before: Before, is_retry: bool) -> Change {
        Change {
            version: Version {
                id: id.clone(),
                path: format!("{id}.yaml").into(),
                format: Format::Yaml,
                object: ObjectId([0; 20]),
                payload: payload(),
            },
            action: Action::Update,
            before,
            attribution: Attribution::Uncommitted,
            comment_max_chars: 0,
            is_retry,
            overwrite: Overwrite::Held,
            replaces: None,
            passed: false,
        }
    }

    fn payload() -> Payload {
        let text = r#"{"disabled":true,"content":{"rules":[],"disabledServe":{"select":0},"defaultServe":{"select":0},"variations":[]}}"#;
        serde_json::from_str::<Payload>(text).unwrap()
    }

    #[test]
    fn only_a_different_document_of_a_toggle_unknown_at_startup_waits() {
        let (now, ended_at) = (Instant::now(), Instant::now() + Duration::from_secs(10));
        let [left, other]: [ToggleId; 2] = ["a/b/left", "a/b/other"].map(|id| id.parse().unwrap());
        let mut inherited = Inherited::new(&[left.clone()].into(), ended_at);
        let source = SourceInfo {
            repo: String::new(),
            reference: String::new(),
            revision: CommitId(ObjectId([0; 20])),
            base: None,
            is_history_cut: false,
        };
        let plan = Plan::nothing(source, None);
        let unknown = || {
            let change = change(&left, Before::Nothing, false);
            Before::Unknown { sent: Box::new(crate::pass::publish::sent(&change, &plan)), applied: None }
        };
        assert!(!inherited.expire(now));
        for (id, before, is_retry, expected) in [
            (&left, unknown(), false, Some(ended_at)),
            (&left, unknown(), true, None),
            (&left, Before::Applied(payload()), false, Some(ended_at)),
            (&other, unknown(), false, None),
        ] {
            let change = change(id, before, is_retry);
            assert_eq!(inherited.not_before(&change), expected, "{change:?}");
        }
        assert!(inherited.expire(ended_at));
        assert_eq!(inherited.not_before(&change(&left, unknown(), false)), None);
    }
}
