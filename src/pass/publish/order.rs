//! The order in which a pass sends its changes, by the earlier tries, which the state folder keeps
//! (src/pass/README.md, "One toggle is not evidence"), and the delays of those that an earlier process left
//! unknown (src/state/README.md, "Unknown").
//!
//! A process that was killed did not wait for its requests to end. The service may execute one of them after
//! a request with a newer document, so a different document waits for one timeout. The same document needs no
//! delay, because both orders have the same result.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::model::{
    Action, Alone, FoldedId, HeldRequest, HeldRequests, Hold, HoldKind, HoldMemory, RequestDigest, ToggleId,
};
use crate::pass::report::ChangeResult;
use crate::plan::{Change, Plan, Turn};
use crate::state::StateSnapshot;
use crate::transport::{LONGEST_LONE_WAIT, lone_backoff};

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
        let mut groups = 0;
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
            lanes.push(queue);
        }
        Self { items, lanes, is_blank: view.failures().tries.values().all(|tried| tried.pass == 0) }
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

/// Returns the number of the pass that tried a toggle last, with this document or another one: otherwise, those that
/// change with every commit would come first in each pass that a newer commit ends.
fn last_try(tries: &HeldRequests, id: &ToggleId) -> u64 {
    tries.get(&id.folded()).map_or(0, |tried| tried.pass)
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

/// Returns what is remembered after a pass that ended at `now`. `lines` are its changes; the service asked
/// for `waits`; the toggles `left` were withheld, or are not in the scope of the pass; `jitter` is a random number in `0.0..=1.0`.
pub(crate) fn remember<'a>(
    before: &HeldRequests,
    lines: impl IntoIterator<Item = (&'a ToggleId, RequestDigest, &'a ChangeResult)>,
    waits: &BTreeMap<ToggleId, Duration>,
    left: impl IntoIterator<Item = &'a ToggleId>,
    now: i64,
    jitter: f64,
) -> HeldRequests {
    let pass = 1 + before.values().map(|tried| tried.pass).max().unwrap_or_default();
    // Their requests were not sent, so earlier tries still count.
    let left = left.into_iter().map(ToggleId::folded);
    let mut tries: HeldRequests =
        left.filter_map(|id| before.get(&id).cloned().map(|tried| (id, tried))).collect();
    for (id, request, result) in lines {
        let earlier = before.get(&id.folded()).filter(|tried| tried.request == request);
        let Some(hold) = result.hold().filter(|hold| hold.memory() != HoldMemory::Nothing) else {
            let unsent = before.get(&id.folded()).filter(|_| !result.is_recorded());
            tries.extend(unsent.map(|tried| (id.folded(), tried.clone())));
            continue;
        };
        let is_alone = hold.kind == Some(HoldKind::FailedAlone);
        let alone = is_alone.then(|| {
            let alone = earlier.and_then(|tried| tried.alone.as_ref());
            let failures = alone.map_or(0, |alone| alone.failures).saturating_add(1);
            let wait = lone_backoff(failures, jitter);
            let wait = wait.max(waits.get(id).copied().unwrap_or_default());
            let wait = i64::try_from(wait.as_secs()).unwrap_or_default();
            Alone { failures, retry_at: now.saturating_add(wait) }
        });
        let tried = HeldRequest {
            pass: if hold.memory() == HoldMemory::Sent { pass } else { 0 },
            alone,
            ..HeldRequest::new(request, Hold::clone(hold))
        };
        tries.insert(id.folded(), tried);
    }
    tries
}

/// Returns the requests that failed alone and whose backoff is not over.
pub(crate) fn parked(tries: &HeldRequests, now: i64) -> HeldRequests {
    let waiting = tries.iter().filter(|(_, tried)| left(tried, now).is_some());
    waiting.map(|(id, tried)| (id.clone(), tried.clone())).collect()
}

/// Returns the time until the first of these backoffs ends.
pub(crate) fn next_retry(tries: &HeldRequests, now: i64) -> Option<Duration> {
    tries.values().filter_map(|tried| left(tried, now)).min()
}

/// Returns the remaining backoff of a request that failed alone.
fn left(tried: &HeldRequest, now: i64) -> Option<Duration> {
    let alone = tried.alone.as_ref()?;
    let left = u64::try_from(alone.retry_at.saturating_sub(now)).ok()?;
    // Bounded, so that a clock that was set back does not extend the backoff.
    let left = Duration::from_secs(left).min(LONGEST_LONE_WAIT);
    (!left.is_zero()).then_some(left)
}

#[cfg(test)]
mod tests {
    mod order {
        use std::time::Duration;

        use super::super::*;
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

    mod tries {
        use super::super::*;
        use crate::model::{Action, Payload};

        fn id(text: &str) -> ToggleId {
            text.parse().unwrap()
        }

        fn after(before: &HeldRequests, result: &ChangeResult, now: i64) -> HeldRequests {
            let id = id("a/b/c");
            remember(before, [(&id, RequestDigest::default(), result)], &BTreeMap::new(), [], now, 1.0)
        }

        fn alone() -> ChangeResult {
            ChangeResult::failed(HoldKind::FailedAlone, "the service answered 500")
        }

        #[test]
        fn a_toggle_that_fails_alone_waits_longer_each_time_up_to_an_hour() {
            let mut tries = HeldRequests::new();
            for wait in [30, 60, 120, 240, 480, 960, 1920, 3600, 3600] {
                tries = after(&tries, &alone(), 1000);
                assert_eq!(next_retry(&tries, 1000), Some(Duration::from_secs(wait)));
                let end = 1000 + i64::try_from(wait).unwrap();
                assert_eq!(parked(&tries, end - 1).len(), 1);
                assert!(parked(&tries, end).is_empty());
            }
            assert_eq!(next_retry(&tries, -5000), Some(Duration::from_secs(3600)), "a clock set back");
            assert!(after(&tries, &ChangeResult::Applied, 1000).is_empty());
        }

        #[test]
        fn another_request_for_the_toggle_is_new() {
            let tries = after(&HeldRequests::new(), &alone(), 0);
            let payload = r#"{"disabled":true,"content":{"rules":[],"disabledServe":{"select":0},"defaultServe":{"select":0},"variations":[]}}"#;
            let other =
                RequestDigest::new(Action::Update, &serde_json::from_str::<Payload>(payload).unwrap());
            let id = id("a/b/c");
            let tries = remember(&tries, [(&id, other, &alone())], &BTreeMap::new(), [], 0, 1.0);
            assert_eq!(tries[&id.folded()].alone.as_ref().map(|alone| alone.failures), Some(1));
        }

        #[test]
        fn a_later_try_has_a_higher_number() {
            let pending = ChangeResult::pending("503");
            let first = after(&HeldRequests::new(), &pending, 0);
            let second = after(&first, &pending, 0);
            let id = id("a/b/c").folded();
            assert!(second[&id].pass > first[&id].pass);
            let unsent = after(&second, &ChangeResult::NotSent, 0);
            assert_eq!(unsent, second);
        }

        #[test]
        fn a_document_that_changes_with_every_commit_keeps_no_other_toggle_from_its_turn() {
            let payload = r#"{"disabled":true,"content":{"rules":[],"disabledServe":{"select":0},"defaultServe":{"select":0},"variations":[]}}"#;
            let payload = serde_json::from_str::<Payload>(payload).unwrap();
            let ids: Vec<ToggleId> = (0..9).map(|number| id(&format!("a/e{number}/c"))).collect();
            let (mut tries, mut turns) = (HeldRequests::new(), vec![0; ids.len()]);
            for pass in 0..9 {
                // The documents of the first four change each time.
                let request = |at: usize| match at < 4 && pass % 2 == 1 {
                    true => RequestDigest::new(Action::Create, &payload),
                    false => RequestDigest::new(Action::Update, &payload),
                };
                let mut order: Vec<usize> = (0..ids.len()).collect();
                order.sort_by_key(|at| last_try(&tries, &ids[*at]));
                // The service is down, and a newer commit ends the pass after three failures.
                let mut results = vec![ChangeResult::NotSent; ids.len()];
                for at in &order[..3] {
                    results[*at] = ChangeResult::pending("503");
                    turns[*at] += 1;
                }
                let lines = ids.iter().enumerate().map(|(at, id)| (id, request(at), &results[at]));
                tries = remember(&tries, lines, &BTreeMap::new(), [], 0, 1.0);
            }
            assert_eq!(turns, [3; 9], "the same for all");
        }

        #[test]
        fn what_is_remembered_outlives_a_change_of_case_and_has_the_new_spelling() {
            let (before, renamed) = (after(&HeldRequests::new(), &alone(), 0), id("A/b/C"));
            let failed = (&renamed, RequestDigest::default(), &alone());
            let failed = remember(&before, [failed], &BTreeMap::new(), [], 0, 1.0);
            let unsent = (&renamed, RequestDigest::default(), &ChangeResult::NotSent);
            let unsent = remember(&before, [unsent], &BTreeMap::new(), [], 0, 1.0);
            let withheld = remember(&before, [], &BTreeMap::new(), [&renamed], 0, 1.0);
            for (tries, failures) in [(failed, 2), (unsent, 1), (withheld, 1)] {
                let [(id, tried)] = &tries.iter().collect::<Vec<_>>()[..] else { panic!("{tries:?}") };
                assert_eq!(id.spelled(), &renamed);
                assert_eq!(tried.alone.as_ref().map(|alone| alone.failures), Some(failures));
            }
        }
    }
}
