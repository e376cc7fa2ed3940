//! Toggles that may not be sent before a moment. They are in no queue until then, so they keep nothing back.

use std::collections::VecDeque;

use tokio::time::Instant;

/// A toggle that waits for its moment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Delay {
    /// The index of the change.
    pub(crate) change: usize,
    pub(crate) lane: usize,
    pub(crate) not_before: Instant,
}

/// All toggles of a pass that wait for their moment, in the order of their queues.
#[derive(Debug, Default)]
pub(crate) struct Delays(Vec<Delay>);

impl Delays {
    /// Takes the toggles of `queue` that have a moment to wait for.
    pub(crate) fn collect(
        &mut self,
        queue: &mut VecDeque<usize>,
        lane: usize,
        not_before: impl Fn(usize) -> Option<Instant>,
    ) {
        queue.retain(|change| {
            let moment = not_before(*change);
            self.0.extend(moment.map(|not_before| Delay {
                change: *change,
                lane,
                not_before,
            }));
            moment.is_none()
        });
    }

    /// Returns the next moment at which a toggle may be sent.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.iter().map(|delay| delay.not_before).min()
    }

    /// Takes out what may be sent at `now`.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<Delay> {
        self.0.extract_if(.., |delay| delay.not_before <= now).collect()
    }

    /// Takes out what belongs to a lane.
    pub(crate) fn take_lane(&mut self, lane: usize) -> Vec<Delay> {
        self.0.extract_if(.., |delay| delay.lane == lane).collect()
    }
}
