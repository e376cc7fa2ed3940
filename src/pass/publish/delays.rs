//! Keeps toggles that may not be sent yet out of their queues, so that they do not block other toggles.

use std::collections::VecDeque;

use tokio::time::Instant;

/// A toggle that may not be sent yet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Delay {
    /// The index of the change.
    pub(crate) change: usize,
    pub(crate) lane: usize,
    pub(crate) not_before: Instant,
}

/// All delayed toggles of a pass, in the order of their queues.
#[derive(Debug, Default)]
pub(crate) struct Delays(Vec<Delay>);

impl Delays {
    /// Takes the toggles out of `queue` for which `not_before` returns a time.
    pub(crate) fn collect(
        &mut self,
        queue: &mut VecDeque<usize>,
        lane: usize,
        not_before: impl Fn(usize) -> Option<Instant>,
    ) {
        queue.retain(|change| {
            let time = not_before(*change);
            self.0.extend(time.map(|not_before| Delay {
                change: *change,
                lane,
                not_before,
            }));
            time.is_none()
        });
    }

    /// Returns the time at which the next toggle may be sent.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.iter().map(|delay| delay.not_before).min()
    }

    /// Takes the toggles that may be sent at `now`.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<Delay> {
        self.0.extract_if(.., |delay| delay.not_before <= now).collect()
    }

    /// Takes the toggles of a lane.
    pub(crate) fn take_lane(&mut self, lane: usize) -> Vec<Delay> {
        self.0.extract_if(.., |delay| delay.lane == lane).collect()
    }
}
