//! Pauses a pass while the service gives no useful response (DESIGN, section 6, *Breaker*).
//!
//! Pure: the clock is passed in. Outcomes arrive in any order, so the breaker counts a row of failures by the
//! numbers of the requests, which is the order of sending.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

/// The number of different toggles in a row that must fail.
pub(in crate::pass) const ROW: usize = 5;

/// The waits before a probe, from the first to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Decides when a pass pauses, when it probes, and when it gives up.
#[derive(Debug)]
pub(crate) struct Breaker {
    give_up_after: Duration,
    /// The last request of each toggle of the row.
    row: BTreeMap<usize, u64>,
    /// The last request after which a row can begin.
    row_from: u64,
    /// The toggles that were busy or lost in this pass.
    failed: BTreeSet<usize>,
    /// Those of them that failed before the end of a pause. They do not count again.
    discounted: BTreeSet<usize>,
    pause: Option<Pause>,
}

#[derive(Debug)]
struct Pause {
    probe_at: Instant,
    give_up_at: Instant,
    wait: Duration,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Circuit {
    /// Requests may be sent.
    Closed,
    /// The pass ends, because no request succeeded for `--give-up-after`.
    GivenUp,
    /// The pass is paused. The next probe is due at this time.
    PausedUntil(Instant),
}

impl Breaker {
    pub(crate) fn new(give_up_after: Duration) -> Self {
        Self {
            give_up_after,
            row: BTreeMap::new(),
            row_from: 0,
            failed: BTreeSet::new(),
            discounted: BTreeSet::new(),
            pause: None,
        }
    }

    pub(crate) fn circuit(&self) -> Circuit {
        self.pause
            .as_ref()
            .map_or(Circuit::Closed, |pause| Circuit::PausedUntil(pause.probe_at))
    }

    /// Records that a request for the toggle at index `change` was busy or lost.
    pub(crate) fn busy(&mut self, change: usize, number: u64, now: Instant) {
        self.failed.insert(change);
        // Outcomes arrive in any order, so this request may have been sent before the row was interrupted.
        if number < self.row_from || self.discounted.contains(&change) || self.pause.is_some() {
            return;
        }
        // A toggle that fails repeatedly counts once, because one toggle is not evidence against the service.
        self.row.insert(change, number);
        if self.row.len() >= ROW {
            let give_up_at = now + self.give_up_after;
            self.pause = Some(Pause {
                // The last probe is sent at the end of the pause, however short `--give-up-after` is.
                probe_at: give_up_at.min(now + FIRST_WAIT),
                give_up_at,
                wait: FIRST_WAIT,
            });
        }
    }

    /// Records a response that only the working service can have given. Ends a pause.
    pub(crate) fn useful(&mut self, number: u64) {
        self.interrupt(number);
        if self.pause.take().is_some() {
            self.row.clear();
            // Otherwise the same toggles could pause the pass repeatedly although the service works.
            self.discounted.append(&mut self.failed);
        }
    }

    /// Records an outcome that shows nothing about the service and interrupts a row.
    pub(crate) fn interrupt(&mut self, number: u64) {
        self.row_from = self.row_from.max(number + 1);
        self.row.retain(|_, other| *other > number);
    }

    /// Records a failed probe, and returns the new state. The last probe is sent at the end of the pause.
    pub(crate) fn probed(&mut self, now: Instant) -> Circuit {
        let Some(pause) = &mut self.pause else {
            return Circuit::Closed;
        };
        if now >= pause.give_up_at {
            return Circuit::GivenUp;
        }
        pause.wait = (pause.wait * 2).min(LONGEST_WAIT);
        pause.probe_at = pause.give_up_at.min(now + pause.wait);
        Circuit::PausedUntil(pause.probe_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn index(number: u64) -> usize {
        usize::try_from(number).unwrap()
    }

    fn paused(breaker: &Breaker) -> bool {
        breaker.circuit() != Circuit::Closed
    }

    #[test]
    fn five_different_toggles_in_a_row_pause_the_pass() {
        let now = Instant::now();
        for (row, is_paused) in [
            (vec![1, 2, 3, 4, 5], true),
            (vec![1, 1, 1, 1, 1, 1], false),
            (vec![1, 2, 1, 3, 2, 4], false),
            (vec![1, 2, 1, 3, 2, 4, 5], true),
        ] {
            let mut breaker = Breaker::new(MINUTE);
            for (number, change) in (1..).zip(&row) {
                breaker.busy(*change, number, now);
            }
            assert_eq!(paused(&breaker), is_paused, "{row:?}");
        }
    }

    #[test]
    fn a_row_is_counted_in_the_order_of_sending() {
        let now = Instant::now();
        let mut breaker = Breaker::new(MINUTE);
        for number in [1, 2, 4, 5] {
            breaker.busy(index(number), number, now);
        }
        breaker.useful(3);
        breaker.busy(6, 6, now);
        breaker.busy(7, 7, now);
        assert!(
            !paused(&breaker),
            "the third was applied: the row begins after it"
        );
        breaker.busy(8, 8, now);
        assert!(paused(&breaker));
        let mut breaker = Breaker::new(MINUTE);
        breaker.useful(9);
        (1..=8).for_each(|number| breaker.busy(index(number), number, now));
        assert!(!paused(&breaker), "requests sent before a success show nothing");
    }

    #[test]
    fn the_waits_grow_and_the_last_probe_is_sent_at_the_end() {
        let start = Instant::now();
        let mut breaker = Breaker::new(MINUTE);
        (1..=5).for_each(|number| breaker.busy(index(number), number, start));
        let mut waits = Vec::new();
        let mut circuit = breaker.circuit();
        while let Circuit::PausedUntil(at) = circuit {
            waits.push((at - start).as_secs_f64());
            circuit = breaker.probed(at);
        }
        assert_eq!(circuit, Circuit::GivenUp);
        assert_eq!(waits, [0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 60.0]);
    }

    #[test]
    fn toggles_that_failed_before_the_end_of_a_pause_do_not_count_again() {
        let now = Instant::now();
        let mut breaker = Breaker::new(MINUTE);
        (1..=6).for_each(|number| breaker.busy(index(number), number, now));
        assert!(paused(&breaker));
        breaker.useful(7);
        assert!(!paused(&breaker));
        (1..=6).for_each(|number| breaker.busy(index(number), 10 + number, now));
        assert!(!paused(&breaker));
        (11..=15).for_each(|number| breaker.busy(index(number), 10 + number, now));
        assert!(paused(&breaker));
    }
}
