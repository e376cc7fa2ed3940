//! Remembers unconfirmed requests: when each was tried, and whether it failed alone (DESIGN, section 6, *Failed alone*).
//! The state folder keeps them across restarts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::model::{Alone, HeldRequest, Hold, HoldKind, RequestDigest, ToggleId};
use crate::pass::report::ChangeResult;
use crate::service::retry::lone_backoff;

/// The longest wait of a request that failed alone.
const LONGEST: Duration = Duration::from_secs(3600);

/// Returns what is remembered after a pass that ended at `now`. `lines` are its changes; the service asked for `waits`;
/// `is_withheld` returns whether the plan withheld a toggle; `jitter` is a random number in `0.0..=1.0`.
pub(crate) fn remember<'a>(
    before: &BTreeMap<ToggleId, HeldRequest>,
    lines: impl IntoIterator<Item = (&'a ToggleId, RequestDigest, &'a ChangeResult)>,
    waits: &BTreeMap<ToggleId, Duration>,
    is_withheld: impl Fn(&ToggleId) -> bool,
    now: i64,
    jitter: f64,
) -> BTreeMap<ToggleId, HeldRequest> {
    let pass = 1 + before.values().map(|tried| tried.pass).max().unwrap_or_default();
    // A withheld request was not sent, so its earlier tries still count.
    let withheld = before.iter().filter(|(id, _)| is_withheld(id));
    let mut tries: BTreeMap<_, _> = withheld.map(|(id, tried)| (id.clone(), tried.clone())).collect();
    for (id, request, result) in lines {
        let earlier = before.get(id).filter(|tried| tried.request == request);
        let is_closed = |hold: &&Arc<Hold>| hold.kind == Some(HoldKind::Window);
        let Some(hold) = result.hold().filter(|hold| !is_closed(hold)) else {
            let unsent = earlier.filter(|_| !result.is_recorded());
            tries.extend(unsent.map(|tried| (id.clone(), tried.clone())));
            continue;
        };
        let is_alone = hold.kind == Some(HoldKind::FailedAlone);
        let alone = is_alone.then(|| {
            let alone = earlier.and_then(|tried| tried.alone.as_ref());
            let failures = alone.map_or(0, |alone| alone.failures).saturating_add(1);
            let wait = lone_backoff(failures, 0.5 + jitter / 2.0);
            let wait = wait.max(waits.get(id).copied().unwrap_or_default());
            let wait = i64::try_from(wait.as_secs()).unwrap_or_default();
            Alone {
                failures,
                retry_at: now.saturating_add(wait),
            }
        });
        let tried = HeldRequest {
            // A change that its live state held was not sent.
            pass: if hold.is_live() { 0 } else { pass },
            alone,
            ..HeldRequest::new(request, Hold::clone(hold))
        };
        tries.insert(id.clone(), tried);
    }
    tries
}

/// Returns the requests that failed alone and whose backoff is not over.
pub(crate) fn parked(tries: &BTreeMap<ToggleId, HeldRequest>, now: i64) -> BTreeMap<ToggleId, HeldRequest> {
    let waiting = tries.iter().filter(|(_, tried)| left(tried, now).is_some());
    waiting.map(|(id, tried)| (id.clone(), tried.clone())).collect()
}

/// Returns the time until the first of these backoffs ends.
pub(crate) fn next_retry(tries: &BTreeMap<ToggleId, HeldRequest>, now: i64) -> Option<Duration> {
    tries.values().filter_map(|tried| left(tried, now)).min()
}

/// Returns the remaining backoff of a request that failed alone.
fn left(tried: &HeldRequest, now: i64) -> Option<Duration> {
    let alone = tried.alone.as_ref()?;
    let left = u64::try_from(alone.retry_at.saturating_sub(now)).ok()?;
    // Bounded, so that a clock that was set back does not extend the backoff.
    let left = Duration::from_secs(left).min(LONGEST);
    (!left.is_zero()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Action, Payload};

    fn id(text: &str) -> ToggleId {
        text.parse().unwrap()
    }

    fn after(
        before: &BTreeMap<ToggleId, HeldRequest>,
        result: &ChangeResult,
        now: i64,
    ) -> BTreeMap<ToggleId, HeldRequest> {
        let id = id("a/b/c");
        remember(
            before,
            [(&id, RequestDigest::default(), result)],
            &BTreeMap::new(),
            |_| false,
            now,
            1.0,
        )
    }

    fn alone() -> ChangeResult {
        ChangeResult::failed(HoldKind::FailedAlone, "the service answered 500")
    }

    #[test]
    fn a_toggle_that_fails_alone_waits_longer_each_time_up_to_an_hour() {
        let mut tries = BTreeMap::new();
        for wait in [30, 60, 120, 240, 480, 960, 1920, 3600, 3600] {
            tries = after(&tries, &alone(), 1000);
            assert_eq!(next_retry(&tries, 1000), Some(Duration::from_secs(wait)));
            let end = 1000 + i64::try_from(wait).unwrap();
            assert_eq!(parked(&tries, end - 1).len(), 1);
            assert!(parked(&tries, end).is_empty());
        }
        assert_eq!(
            next_retry(&tries, -5000),
            Some(Duration::from_secs(3600)),
            "a clock set back"
        );
        assert!(after(&tries, &ChangeResult::Applied, 1000).is_empty());
    }

    #[test]
    fn another_request_for_the_toggle_is_new() {
        let tries = after(&BTreeMap::new(), &alone(), 0);
        let payload = r#"{"disabled":true,"content":{"rules":[],"disabledServe":{"select":0},"defaultServe":{"select":0},"variations":[]}}"#;
        let other = RequestDigest::new(Action::Update, &Payload::from_json(payload).unwrap());
        let id = id("a/b/c");
        let tries = remember(
            &tries,
            [(&id, other, &alone())],
            &BTreeMap::new(),
            |_| false,
            0,
            1.0,
        );
        assert_eq!(tries[&id].alone.as_ref().map(|alone| alone.failures), Some(1));
    }

    #[test]
    fn a_later_try_has_a_higher_number() {
        let pending = ChangeResult::pending("503");
        let first = after(&BTreeMap::new(), &pending, 0);
        let second = after(&first, &pending, 0);
        assert!(second[&id("a/b/c")].pass > first[&id("a/b/c")].pass);
        let unsent = after(&second, &ChangeResult::NotSent, 0);
        assert_eq!(unsent, second);
    }
}
