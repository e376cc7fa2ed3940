//! Decides what a process does with the shared ref. Pure: the caller reads the clock and the ref, and carries out the
//! answer.
//!
//! Each process measures durations by its own monotonic clock, which includes time spent suspended. A time that another
//! machine wrote is never compared with it. Clocks may run at rates that differ by up to 10 %.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long after the start of its last successful push a holder may start requests.
pub(crate) const TERM: Duration = Duration::from_secs(60);

/// How long after that start an announcement is renewed at the latest, even if there is nothing to record.
pub(crate) const RENEWAL: Duration = Duration::from_secs(15);

/// How long a holder tries to push before its pass ends.
pub(crate) const GIVE_UP: Duration = Duration::from_secs(90);

/// How long a process waits for live holders, unless detecting a dead one takes longer.
const PATIENCE: Duration = Duration::from_secs(120);

/// What waiting lasts longer than detecting a dead holder.
const MARGIN: Duration = Duration::from_secs(20);

/// Makes up for a clock that runs at another rate.
fn stretched(duration: Duration) -> Duration {
    duration + duration / 10
}

/// Returns how long the announcement of a holder with this term and timeout stays unchanged until the holder is dead: it
/// starts no request after its term, and each ends within its timeout.
pub(crate) fn silence(term: Duration, timeout: Duration) -> Duration {
    stretched(term + timeout)
}

/// Returns how long a request of a process that was killed may stay open. A process with the same disk ends the
/// announcement of that process no earlier, if it left requests open: the next holder would send beside them.
pub(crate) fn open_for(timeout: Duration) -> Duration {
    stretched(timeout)
}

/// What a process found at the ref.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Found {
    /// Nothing, or a record: no process is publishing.
    Free,
    /// The announcement of a process that is dead after this time without a change.
    Foreign(Duration),
    /// The announcement of this process or of an earlier one with the same disk.
    Own,
}

/// What a process does next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    /// It ends its own announcement from its journal.
    End,
    /// It ends without having sent anything: another process is still publishing.
    GiveUp,
    /// It goes on from what the ref says. A dead holder's list and revision become its own.
    TakeOver,
    /// It looks again later.
    Wait,
}

/// Waits for the holder of a ref.
#[derive(Clone, Debug)]
pub(crate) struct Watch<T> {
    began: Duration,
    /// The newest commit that was found, and when it was found first.
    seen: Option<(T, Duration)>,
}

impl<T: PartialEq> Watch<T> {
    /// Begins to wait.
    pub(crate) fn new(now: Duration) -> Self {
        Self {
            began: now,
            seen: None,
        }
    }

    /// Decides what to do about `found`, at `commit`. A process that `owes` outcomes to the ref never gives up.
    pub(crate) fn step(&mut self, commit: T, found: Found, owes: bool, now: Duration) -> Step {
        let silence = match found {
            Found::Free => return Step::TakeOver,
            Found::Own => return Step::End,
            Found::Foreign(silence) => silence,
        };
        if self.seen.as_ref().is_none_or(|(seen, _)| *seen != commit) {
            self.seen = Some((commit, now));
        }
        let since = self.seen.as_ref().map_or(now, |(_, since)| *since);
        if now.saturating_sub(since) > silence {
            Step::TakeOver
        } else if !owes && now.saturating_sub(self.began) > PATIENCE.max(silence + MARGIN) {
            Step::GiveUp
        } else {
            Step::Wait
        }
    }
}

/// Whether a request may start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Permission {
    /// It may.
    Granted,
    /// Not before the next successful push, which proves that no other process took over.
    AfterPush,
    /// Never in this pass: no push succeeded for too long.
    Expired,
}

/// The term of a holder. It begins when the last successful push began, not when the answer came.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Term {
    pub(crate) began: Duration,
    pub(crate) timeout: Duration,
}

impl Term {
    /// Decides whether a request may start at `now`.
    pub(crate) fn permission(&self, now: Duration) -> Permission {
        let age = now.saturating_sub(self.began);
        if age < TERM {
            Permission::Granted
        } else if age < GIVE_UP {
            Permission::AfterPush
        } else {
            Permission::Expired
        }
    }

    /// Returns whether a request that ended at `now` may have started after the term, because the process was suspended
    /// in between. A successor then need not have waited for it.
    pub(crate) fn is_late(&self, now: Duration) -> bool {
        now.saturating_sub(self.began) > TERM + stretched(self.timeout)
    }

    /// Returns whether the announcement has to be pushed again although there is nothing new to say.
    pub(crate) fn is_to_renew(&self, now: Duration) -> bool {
        now.saturating_sub(self.began) >= RENEWAL
    }

    /// Returns whether pushing has failed for so long that the pass ends.
    pub(crate) fn has_given_up(&self, now: Duration) -> bool {
        now.saturating_sub(self.began) >= GIVE_UP
    }
}

/// The toggles of the announcement that a process has on the ref, and their requests.
///
/// A toggle goes on the list before its first request. It leaves the list only in the commit that records its outcome in
/// the tree, or once it is certain that the service stored nothing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct UnknownList<K: Ord, V> {
    toggles: BTreeMap<K, V>,
    /// Those of them that were unknown before the announcement: a refusal does not tell what the service has.
    before: BTreeSet<K>,
}

impl<K: Clone + Ord, V: Clone> UnknownList<K, V> {
    /// Returns the list of a ref: everything on it is unknown.
    pub(crate) fn found(toggles: BTreeMap<K, V>) -> Self {
        let before = toggles.keys().cloned().collect();
        Self { toggles, before }
    }

    pub(crate) fn toggles(&self) -> &BTreeMap<K, V> {
        &self.toggles
    }

    /// Adds requests with an unknown outcome.
    pub(crate) fn add_unknown(&mut self, requests: impl IntoIterator<Item = (K, V)>) {
        for (toggle, request) in requests {
            self.before.insert(toggle.clone());
            self.toggles.insert(toggle, request);
        }
    }

    /// Adds the requests that are about to be sent.
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

    /// Removes what was announced and certainly not stored. `open` are the requests of the pass that may have been.
    pub(crate) fn end(&mut self, open: &BTreeMap<K, V>) {
        let before = &self.before;
        self.toggles
            .retain(|toggle, _| before.contains(toggle) || open.contains_key(toggle));
        self.add_unknown(open.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_holder_is_dead_after_its_term_its_timeout_and_a_tenth() {
        assert_eq!(silence(TERM, seconds(10)), seconds(77));
        for (commits, found, owes, expected) in [
            // (at, commit) …: what is found last decides.
            (&[(0, 1)][..], Found::Free, false, Step::TakeOver),
            (&[(0, 1)], Found::Own, false, Step::End),
            (&[(0, 1)], Found::Foreign(seconds(77)), false, Step::Wait),
            (&[(0, 1), (77, 1)], Found::Foreign(seconds(77)), false, Step::Wait),
            (
                &[(0, 1), (78, 1)],
                Found::Foreign(seconds(77)),
                false,
                Step::TakeOver,
            ),
            // A new commit proves that the holder is alive.
            (
                &[(0, 1), (70, 2), (78, 2)],
                Found::Foreign(seconds(77)),
                false,
                Step::Wait,
            ),
            (
                &[(0, 1), (70, 2), (121, 2)],
                Found::Foreign(seconds(77)),
                false,
                Step::GiveUp,
            ),
            (
                &[(0, 1), (70, 2), (121, 2)],
                Found::Foreign(seconds(77)),
                true,
                Step::Wait,
            ),
            (
                &[(0, 1), (70, 2), (148, 2)],
                Found::Foreign(seconds(77)),
                true,
                Step::TakeOver,
            ),
            // A long timeout is waited for longer than two minutes.
            (
                &[(0, 1), (299, 1)],
                Found::Foreign(seconds(300)),
                false,
                Step::Wait,
            ),
            (
                &[(0, 1), (301, 1)],
                Found::Foreign(seconds(300)),
                false,
                Step::TakeOver,
            ),
        ] {
            let mut watch = Watch::new(seconds(0));
            let steps = commits
                .iter()
                .map(|(at, commit)| watch.step(*commit, found, owes, seconds(*at)));
            assert_eq!(steps.last(), Some(expected), "{commits:?} {found:?} {owes}");
        }
    }

    #[test]
    fn a_request_starts_only_within_the_term_of_a_push() {
        use Permission::{AfterPush, Expired, Granted};
        let term = Term {
            began: seconds(1000),
            timeout: seconds(10),
        };
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
        assert_eq!(
            ended.toggles().keys().copied().collect::<Vec<_>>(),
            ["both", "lost", "new", "old"]
        );
        ended.end(&BTreeMap::from([("lost", 6)]));
        let expected = BTreeMap::from([("both", 3), ("lost", 6), ("old", 1)]);
        assert_eq!(*ended.toggles(), expected, "`new` was certainly not stored");
        let mut nothing = list();
        nothing.end(&BTreeMap::new());
        assert_eq!(
            nothing.toggles().keys().copied().collect::<Vec<_>>(),
            ["both", "old"]
        );
        let mut recorded = list();
        recorded.record(&["both", "old", "new", "stored", "lost"]);
        assert_eq!(recorded, UnknownList::found(BTreeMap::new()));
    }
}
