//! Decides what a process does with the shared ref. Pure: the caller reads the clock and the ref, and carries
//! out the decision.
//!
//! Each process measures durations by its own monotonic clock, which includes time spent suspended. It never
//! compares that clock with a time that another machine wrote. The rates of two clocks may differ by up to 10
//! %.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::model::{Sent, ToggleId};
use crate::state::journal::JournalIndex;

/// The time after the start of a successful push in which the holder may start requests.
pub(crate) const TERM: Duration = Duration::from_secs(60);

/// The age of a term at which the announcement is pushed again, even without new outcomes.
const RENEWAL: Duration = Duration::from_secs(15);

/// The age of a term at which the holder stops trying to push and ends its pass.
const GIVE_UP: Duration = Duration::from_secs(90);

/// The longest wait for live holders, unless detecting a dead one takes longer.
const QUEUE_LIMIT: Duration = Duration::from_secs(120);

/// The least difference between the longest wait and the time to detect a dead holder.
const MARGIN: Duration = Duration::from_secs(20);

/// Compensates for clocks with different rates.
fn stretched(duration: Duration) -> Duration {
    duration + duration / 10
}

/// Returns the time without a change after which the holder of an announcement is dead.
pub(crate) fn silence(term: Duration, timeout: Duration) -> Duration {
    // A holder starts no request after its term, and each request ends within the timeout.
    stretched(term + timeout)
}

/// Returns the time for which a request of a killed process may stay open.
pub(crate) fn open_for(timeout: Duration) -> Duration {
    // Ending the announcement of that process earlier would let the next holder send while the request is
    // open.
    stretched(timeout)
}

/// The status of the ref for the process that looked it up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum RefStatus {
    /// No commit, or a record: no process is publishing.
    Free,
    /// The announcement of another process, which is dead after this time without a change.
    Foreign(Duration),
    /// The announcement of this process or of an earlier one with the same state folder.
    Own,
}

/// The next step of a process that waits for the ref.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum QueueStep {
    /// End the own announcement from the journal.
    End,
    /// End without a pass: another process is still publishing.
    GiveUp,
    /// Continue from the commit at the ref, with a dead holder's list and revision.
    TakeOver,
    /// Look up the ref again later.
    Wait,
}

/// Observes the holder of a ref.
#[derive(Clone, Debug)]
pub(crate) struct HolderWatch<T> {
    began: Duration,
    /// The last commit at the ref, and the time at which it was first seen.
    seen: Option<(T, Duration)>,
}

impl<T: PartialEq> HolderWatch<T> {
    pub(crate) fn new(now: Duration) -> Self {
        Self { began: now, seen: None }
    }

    /// Decides the next step for the ref with this commit and status. A process that `owes` outcomes to the
    /// ref never gives up.
    pub(crate) fn step(&mut self, commit: T, status: RefStatus, owes: bool, now: Duration) -> QueueStep {
        let silence = match status {
            RefStatus::Free => return QueueStep::TakeOver,
            RefStatus::Own => return QueueStep::End,
            RefStatus::Foreign(silence) => silence,
        };
        // A new commit proves that its holder is alive.
        if self.seen.as_ref().is_none_or(|(seen, _)| *seen != commit) {
            self.seen = Some((commit, now));
        }
        let since = self.seen.as_ref().map_or(now, |(_, since)| *since);
        if now.saturating_sub(since) > silence {
            QueueStep::TakeOver
        } else if !owes && now.saturating_sub(self.began) > QUEUE_LIMIT.max(silence + MARGIN) {
            // A process that gave up before it could detect a dead holder would never take over.
            QueueStep::GiveUp
        } else {
            QueueStep::Wait
        }
    }
}

/// Whether a request may start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Permission {
    Granted,
    /// Only after the next successful push, which proves that no other process took over.
    AfterPush,
    /// No longer in this pass: pushing has failed for too long, or the pass has ended.
    Expired,
}

/// The term of a holder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Term {
    /// The start of the last successful push. A process that waits may have seen the commit long before the
    /// holder received the response.
    pub(crate) began: Duration,
    pub(crate) timeout: Duration,
}

impl Term {
    fn age(&self, now: Duration) -> Duration {
        now.saturating_sub(self.began)
    }

    /// Decides whether a request may start at `now`.
    pub(crate) fn permission(&self, now: Duration) -> Permission {
        let age = self.age(now);
        if age < TERM {
            Permission::Granted
        } else if age < GIVE_UP {
            Permission::AfterPush
        } else {
            Permission::Expired
        }
    }

    /// Returns whether a request that ended at `now` may have started after the term, because the process was
    /// suspended in between. A successor then may not have waited for it.
    pub(crate) fn is_late(&self, now: Duration) -> bool {
        self.age(now) > TERM + stretched(self.timeout)
    }

    /// Returns whether the announcement must be pushed again, even without new outcomes.
    pub(crate) fn is_to_renew(&self, now: Duration) -> bool {
        self.age(now) >= RENEWAL
    }

    /// Returns how long pushes may still fail before the pass ends.
    pub(crate) fn left(&self, now: Duration) -> Duration {
        GIVE_UP.saturating_sub(self.age(now))
    }

    /// Returns whether pushing has failed for so long that the pass ends.
    pub(crate) fn has_given_up(&self, now: Duration) -> bool {
        self.left(now).is_zero()
    }
}

/// The toggles with an unknown outcome or an announced request, and their last requests.
///
/// A toggle is added before its first request. It is removed only in the commit that records its outcome in
/// the tree, or once the service certainly stored nothing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct UnknownList<K: Ord, V> {
    toggles: BTreeMap<K, V>,
    /// The toggles that were unknown before the announcement: a refusal does not reveal what the service
    /// stores.
    before: BTreeSet<K>,
}

impl<K: Clone + Ord, V: Clone> UnknownList<K, V> {
    /// Returns the list found at a ref: the outcome of everything on it is unknown.
    pub(crate) fn found(toggles: BTreeMap<K, V>) -> Self {
        let before = toggles.keys().cloned().collect();
        Self { toggles, before }
    }

    pub(crate) fn toggles(&self) -> &BTreeMap<K, V> {
        &self.toggles
    }

    pub(crate) fn add_unknown(&mut self, requests: impl IntoIterator<Item = (K, V)>) {
        for (toggle, request) in requests {
            self.before.insert(toggle.clone());
            self.toggles.insert(toggle, request);
        }
    }

    /// Adds requests that will be sent.
    pub(crate) fn announce(&mut self, requests: impl IntoIterator<Item = (K, V)>) {
        self.toggles.extend(requests);
    }

    /// Removes toggles whose outcome is in the tree.
    pub(crate) fn record<'a>(&mut self, toggles: impl IntoIterator<Item = &'a K>)
    where
        K: 'a,
    {
        for toggle in toggles {
            self.toggles.remove(toggle);
            self.before.remove(toggle);
        }
    }

    /// Removes announced requests that were certainly not stored. `open` are those of the pass that may be
    /// stored.
    pub(crate) fn end(&mut self, open: &BTreeMap<K, V>) {
        let before = &self.before;
        self.toggles.retain(|toggle, _| before.contains(toggle) || open.contains_key(toggle));
        self.add_unknown(open.clone());
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum JournalAge {
    /// No other process has announced requests since.
    Current,
    /// Another process has taken over the ref since, with the requests in the journal on its list.
    Older,
}

/// Removes the requests that the announcement `mark` listed and that never started: its process, with the
/// journal `index`, has no intent of them, and they replaced no other unknown request.
pub(crate) fn unlist_unstarted(
    listed: &mut BTreeMap<ToggleId, Sent>,
    mark: Option<&str>,
    index: &JournalIndex,
) {
    let started: BTreeSet<&ToggleId> = index.entries().map(|(id, _)| id).collect();
    listed.retain(|id, sent| {
        sent.announced.as_deref() != mark
            || !sent.earlier.is_empty()
            || mark.is_none()
            || started.contains(id)
    });
}

/// Adds the `journaled` requests, whose outcome is unknown, to the `listed` ones.
pub(crate) fn merge(
    listed: &mut BTreeMap<ToggleId, Sent>,
    journaled: BTreeMap<ToggleId, Sent>,
    age: JournalAge,
) {
    for (toggle, mut sent) in journaled {
        match (age, listed.get_mut(&toggle)) {
            (JournalAge::Current, Some(other)) => sent.remember(other),
            (JournalAge::Current, None) => {}
            (JournalAge::Older, Some(newer)) => {
                newer.remember(&sent);
                continue;
            }
            // A toggle leaves the list only in the commit that records its outcome.
            (JournalAge::Older, None) => sent.overtaken = true,
        }
        listed.insert(toggle, sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Lookups as (time, commit), the status of the last one, whether the waiting process owes outcomes, and
    /// the step after the last one.
    type Case<'a> = (&'a [(u64, u8)], RefStatus, bool, QueueStep);

    fn steps(cases: &[Case<'_>]) {
        for (commits, found, owes, expected) in cases {
            let mut watch = HolderWatch::new(seconds(0));
            let steps = commits.iter().map(|(at, commit)| watch.step(*commit, *found, *owes, seconds(*at)));
            assert_eq!(steps.last(), Some(*expected), "{commits:?} {found:?} {owes}");
        }
    }

    #[test]
    fn a_holder_is_dead_after_its_term_its_timeout_and_a_tenth() {
        use QueueStep::{End, TakeOver, Wait};
        use RefStatus::{Foreign, Free, Own};

        assert_eq!(silence(TERM, seconds(10)), seconds(77));
        steps(&[
            (&[(0, 1)], Free, false, TakeOver),
            (&[(0, 1)], Own, false, End),
            (&[(0, 1)], Foreign(seconds(77)), false, Wait),
            (&[(0, 1), (77, 1)], Foreign(seconds(77)), false, Wait),
            (&[(0, 1), (78, 1)], Foreign(seconds(77)), false, TakeOver),
            // A new commit proves that the holder is alive.
            (&[(0, 1), (70, 2), (78, 2)], Foreign(seconds(77)), false, Wait),
        ]);
    }

    #[test]
    fn a_process_gives_up_after_two_minutes_unless_it_owes_outcomes_or_the_timeout_is_longer() {
        use QueueStep::{GiveUp, TakeOver, Wait};
        use RefStatus::Foreign;

        steps(&[
            (&[(0, 1), (70, 2), (121, 2)], Foreign(seconds(77)), false, GiveUp),
            (&[(0, 1), (70, 2), (121, 2)], Foreign(seconds(77)), true, Wait),
            (&[(0, 1), (70, 2), (148, 2)], Foreign(seconds(77)), true, TakeOver),
            // A long timeout is waited for longer than two minutes.
            (&[(0, 1), (299, 1)], Foreign(seconds(300)), false, Wait),
            (&[(0, 1), (301, 1)], Foreign(seconds(300)), false, TakeOver),
        ]);
    }

    #[test]
    fn a_request_starts_only_within_the_term_of_a_push() {
        use Permission::{AfterPush, Expired, Granted};
        let term = Term { began: seconds(1000), timeout: seconds(10) };
        for (now, permission, is_late, is_to_renew, has_given_up) in [
            (1000, Granted, false, false, false),
            (1015, Granted, false, true, false),
            (1059, Granted, false, true, false),
            (1060, AfterPush, false, true, false),
            (1071, AfterPush, false, true, false),
            (1072, AfterPush, true, true, false),
            (1089, AfterPush, true, true, false),
            (1090, Expired, true, true, true),
        ] {
            let now = seconds(now);
            assert_eq!(term.permission(now), permission, "{now:?}");
            assert_eq!(term.is_late(now), is_late, "{now:?}");
            assert_eq!(term.is_to_renew(now), is_to_renew, "{now:?}");
            assert_eq!(term.has_given_up(now), has_given_up, "{now:?}");
        }
    }

    #[test]
    fn a_toggle_leaves_the_list_only_with_a_certain_outcome() {
        let list = || {
            let mut list = UnknownList::found(BTreeMap::from([("old", 1), ("both", 2)]));
            list.announce([("both", 3), ("new", 4), ("stored", 5), ("lost", 6)]);
            list
        };
        let mut ended = list();
        ended.record(&["stored"]);
        assert_eq!(ended.toggles().keys().copied().collect::<Vec<_>>(), ["both", "lost", "new", "old"]);
        ended.end(&BTreeMap::from([("lost", 6)]));
        let expected = BTreeMap::from([("both", 3), ("lost", 6), ("old", 1)]);
        assert_eq!(*ended.toggles(), expected, "`new` was certainly not stored");
        let mut nothing = list();
        nothing.end(&BTreeMap::new());
        assert_eq!(nothing.toggles().keys().copied().collect::<Vec<_>>(), ["both", "old"]);
        let mut recorded = list();
        recorded.record(&["both", "old", "new", "stored", "lost"]);
        assert_eq!(recorded, UnknownList::found(BTreeMap::new()));
    }
}
