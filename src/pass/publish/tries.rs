//! The tries of toggles, which the state folder keeps from pass to pass: which pass sent a toggle last, and which
//! failed alone, with its backoff (src/pass/README.md, "One toggle is not evidence").

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::model::{Alone, HeldRequest, HeldRequests, Hold, HoldKind, HoldMemory, RequestDigest, ToggleId};
use crate::pass::report::ChangeResult;
use crate::transport::{LONGEST_LONE_WAIT, lone_backoff};

/// Returns the number of the pass that tried a toggle last, with this document or another one: otherwise, those that
/// change with every commit would come first in each pass that a newer commit ends.
pub(super) fn last_try(tries: &HeldRequests, id: &ToggleId) -> u64 {
    tries.get(&id.folded()).map_or(0, |tried| tried.pass)
}

/// What decides on the backoffs of a pass that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassEnd<'a> {
    /// How long the service asked to wait, by toggle.
    pub(crate) waits: &'a BTreeMap<ToggleId, Duration>,
    /// The toggles that could not be read, so that what held them before counts.
    pub(crate) still_held: &'a BTreeMap<ToggleId, Arc<Hold>>,
    /// In seconds since 1970-01-01 UTC.
    pub(crate) now: i64,
    /// A random number in `0.0..=1.0`.
    pub(crate) jitter: f64,
}

/// Returns what is remembered after a pass. `lines` are its changes; the toggles `left` were withheld, or are not in the
/// scope of the pass.
pub(crate) fn remember<'a>(
    before: &HeldRequests,
    lines: impl IntoIterator<Item = (&'a ToggleId, RequestDigest, &'a ChangeResult)>,
    left: impl IntoIterator<Item = &'a ToggleId>,
    end: PassEnd<'_>,
) -> HeldRequests {
    let PassEnd { waits, still_held, now, jitter } = end;
    let pass = 1 + before.values().map(|tried| tried.pass).max().unwrap_or_default();
    // Their requests were not sent, so earlier tries still count.
    let left = left.into_iter().map(ToggleId::folded);
    let mut tries: HeldRequests =
        left.filter_map(|id| before.get(&id).cloned().map(|tried| (id, tried))).collect();
    for (id, request, result) in lines {
        let earlier = before.get(&id.folded()).filter(|tried| tried.request == request);
        let is_unread = still_held.contains_key(id) && *result != ChangeResult::NotSent;
        if let Some(tried) = earlier.filter(|_| is_unread) {
            tries.insert(id.folded(), HeldRequest { pass, ..tried.clone() });
            continue;
        }
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
    use super::*;
    use crate::model::{Action, Payload};

    const END: PassEnd<'_> =
        PassEnd { waits: &BTreeMap::new(), still_held: &BTreeMap::new(), now: 0, jitter: 1.0 };

    fn id(text: &str) -> ToggleId {
        text.parse().unwrap()
    }

    fn after(before: &HeldRequests, result: &ChangeResult, now: i64) -> HeldRequests {
        let id = id("a/b/c");
        remember(before, [(&id, RequestDigest::default(), result)], [], PassEnd { now, ..END })
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
        let other = RequestDigest::new(Action::Update, &serde_json::from_str::<Payload>(payload).unwrap());
        let id = id("a/b/c");
        let tries = remember(&tries, [(&id, other, &alone())], [], END);
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
    fn a_toggle_that_cannot_be_read_stays_held_and_has_been_tried() {
        let held = after(&HeldRequests::new(), &ChangeResult::failed(HoldKind::Drifted, "changed"), 0);
        let id = id("a/b/c");
        let hold = BTreeMap::from([(id.clone(), Arc::new(held[&id.folded()].hold.clone()))]);
        let pending = ChangeResult::pending("503");
        for (still_held, kind, is_later) in
            [(&hold, Some(HoldKind::Drifted), true), (&BTreeMap::new(), None, true)]
        {
            let line = (&id, RequestDigest::default(), &pending);
            let tries = remember(&held, [line], [], PassEnd { still_held, ..END });
            let tried = &tries[&id.folded()];
            assert_eq!((tried.hold.kind, tried.pass > held[&id.folded()].pass), (kind, is_later));
        }
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
            tries = remember(&tries, lines, [], END);
        }
        assert_eq!(turns, [3; 9], "the same for all");
    }

    #[test]
    fn what_is_remembered_outlives_a_change_of_case_and_has_the_new_spelling() {
        let (before, renamed) = (after(&HeldRequests::new(), &alone(), 0), id("A/b/C"));
        let failed = (&renamed, RequestDigest::default(), &alone());
        let failed = remember(&before, [failed], [], END);
        let unsent = (&renamed, RequestDigest::default(), &ChangeResult::NotSent);
        let unsent = remember(&before, [unsent], [], END);
        let withheld = remember(&before, [], [&renamed], END);
        for (tries, failures) in [(failed, 2), (unsent, 1), (withheld, 1)] {
            let [(id, tried)] = &tries.iter().collect::<Vec<_>>()[..] else { panic!("{tries:?}") };
            assert_eq!(id.spelled(), &renamed);
            assert_eq!(tried.alone.as_ref().map(|alone| alone.failures), Some(failures));
        }
    }
}
