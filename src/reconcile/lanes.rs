//! Who is sent when: one lane per environment, one request per toggle, and a hold that is everyone's.
//!
//! Pure: time comes in as an [`Instant`], decisions go out as [`Next`]. First tries go in the order in which the plan
//! gives them; a toggle that waits for a retry goes to the end of its lane (DESIGN, section 6).

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use crate::model::EnvironmentId;

/// One thing to send: an index into the plan's changes, and which try this is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Job {
    /// The index of the change.
    pub(crate) change: usize,
    /// The try, from 1.
    pub(crate) attempt: u32,
    lane: usize,
}

/// What a worker does next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Next {
    /// Nothing will ever be left to do.
    Done,
    /// Send this now.
    Send(Job),
    /// Nothing can be sent before somebody else's request ends.
    Wait,
    /// Nothing can be sent before this moment.
    WaitUntil(Instant),
}

#[derive(Debug, Default)]
struct Lane {
    fresh: VecDeque<usize>,
    retries: VecDeque<(usize, u32, Instant)>,
    in_flight: usize,
}

/// All lanes of one pass.
#[derive(Debug)]
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
    /// Lanes that have something fresh and room for it, so that picking one does not search them all.
    ready: VecDeque<usize>,
    width: usize,
    room: usize,
    in_flight: usize,
    hold: Option<Instant>,
    closed: bool,
}

impl Lanes {
    /// Builds lanes from what is to be sent, in order, where `room` requests may be open at once and `width` of them
    /// within one environment.
    pub(crate) fn new(
        changes: impl IntoIterator<Item = (usize, EnvironmentId)>,
        room: usize,
        width: usize,
    ) -> Self {
        let mut by_environment: BTreeMap<EnvironmentId, Lane> = BTreeMap::new();
        for (change, environment) in changes {
            by_environment
                .entry(environment)
                .or_default()
                .fresh
                .push_back(change);
        }
        let lanes: Vec<Lane> = by_environment.into_values().collect();
        let ready = (0..lanes.len()).collect();
        Self {
            lanes,
            ready,
            width,
            room,
            in_flight: 0,
            hold: None,
            closed: false,
        }
    }

    /// Returns what can be done at `now`. What is handed out counts as open until [`Lanes::settle`] or
    /// [`Lanes::retry`].
    pub(crate) fn next(&mut self, now: Instant) -> Next {
        if self.closed || self.is_empty() {
            return if self.in_flight == 0 {
                Next::Done
            } else {
                Next::Wait
            };
        }
        if self.in_flight >= self.room {
            return Next::Wait;
        }
        if let Some(until) = self.hold.filter(|until| *until > now) {
            return Next::WaitUntil(until);
        }
        self.fresh()
            .or_else(|| self.due(now))
            .unwrap_or_else(|| self.earliest())
    }

    /// Says that a job's toggle is dealt with.
    pub(crate) fn settle(&mut self, job: Job) {
        self.release(job);
    }

    /// Says that a job's toggle is to be tried again, not before `at`.
    pub(crate) fn retry(&mut self, job: Job, at: Instant) {
        self.release(job);
        self.lanes[job.lane]
            .retries
            .push_back((job.change, job.attempt + 1, at));
    }

    /// Holds everyone back until `until`, or longer where a longer hold is in force.
    pub(crate) fn hold(&mut self, until: Instant) {
        self.hold = Some(self.hold.map_or(until, |other| other.max(until)));
    }

    /// Returns until when everyone is held back, or was last.
    pub(crate) fn held_until(&self) -> Option<Instant> {
        self.hold
    }

    /// Sends nothing more; what is open may end.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    fn fresh(&mut self) -> Option<Next> {
        while let Some(index) = self.ready.pop_front() {
            let lane = &mut self.lanes[index];
            if lane.in_flight >= self.width {
                continue;
            }
            if let Some(change) = lane.fresh.pop_front() {
                lane.in_flight += 1;
                self.in_flight += 1;
                if lane.in_flight < self.width && !lane.fresh.is_empty() {
                    self.ready.push_back(index);
                }
                return Some(Next::Send(Job {
                    change,
                    attempt: 1,
                    lane: index,
                }));
            }
        }
        None
    }

    fn due(&mut self, now: Instant) -> Option<Next> {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            if lane.in_flight >= self.width || !lane.fresh.is_empty() {
                continue;
            }
            let Some(place) = lane.retries.iter().position(|(_, _, at)| *at <= now) else {
                continue;
            };
            let (change, attempt, _) = lane.retries.remove(place)?;
            lane.in_flight += 1;
            self.in_flight += 1;
            return Some(Next::Send(Job {
                change,
                attempt,
                lane: index,
            }));
        }
        None
    }

    fn earliest(&self) -> Next {
        let open = self.lanes.iter().filter(|lane| lane.in_flight < self.width);
        let due = open
            .flat_map(|lane| lane.retries.iter().map(|(_, _, at)| *at))
            .min();
        due.map_or(Next::Wait, Next::WaitUntil)
    }

    fn release(&mut self, job: Job) {
        let lane = &mut self.lanes[job.lane];
        lane.in_flight -= 1;
        self.in_flight -= 1;
        self.ready.push_back(job.lane);
    }

    fn is_empty(&self) -> bool {
        self.lanes
            .iter()
            .all(|lane| lane.fresh.is_empty() && lane.retries.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn lanes(environments: &[&str], room: usize, width: usize) -> Lanes {
        let changes = environments.iter().enumerate().map(|(index, environment)| {
            (
                index,
                format!("p/{environment}/t")
                    .parse::<crate::model::ToggleId>()
                    .unwrap()
                    .environment(),
            )
        });
        Lanes::new(changes, room, width)
    }

    fn sent(next: Next) -> Job {
        match next {
            Next::Send(job) => job,
            other => panic!("expected a job, got {other:?}"),
        }
    }

    #[test]
    fn one_at_a_time_within_an_environment_and_others_beside_it() {
        let now = Instant::now();
        let mut lanes = lanes(&["a", "a", "b"], 16, 1);
        let first = sent(lanes.next(now));
        let other = sent(lanes.next(now));
        assert_eq!((first.change, other.change), (0, 2));
        assert_eq!(lanes.next(now), Next::Wait);
        lanes.settle(first);
        assert_eq!(sent(lanes.next(now)).change, 1);
    }

    #[test]
    fn never_more_than_there_is_room_for() {
        let now = Instant::now();
        let mut lanes = lanes(&["a", "b", "c"], 2, 1);
        sent(lanes.next(now));
        sent(lanes.next(now));
        assert_eq!(lanes.next(now), Next::Wait);
    }

    #[test]
    fn a_retry_waits_at_the_end_of_its_lane() {
        let now = Instant::now();
        let later = now + Duration::from_secs(1);
        let mut lanes = lanes(&["a", "a"], 16, 1);
        let first = sent(lanes.next(now));
        lanes.retry(first, later);
        let second = sent(lanes.next(now));
        assert_eq!(second.change, 1);
        lanes.settle(second);
        assert_eq!(lanes.next(now), Next::WaitUntil(later));
        let again = sent(lanes.next(later));
        assert_eq!((again.change, again.attempt), (0, 2));
        lanes.settle(again);
        assert_eq!(lanes.next(later), Next::Done);
    }

    #[test]
    fn a_hold_is_everyones() {
        let now = Instant::now();
        let mut lanes = lanes(&["a", "b"], 16, 1);
        lanes.hold(now + Duration::from_secs(5));
        lanes.hold(now + Duration::from_secs(2));
        assert_eq!(lanes.next(now), Next::WaitUntil(now + Duration::from_secs(5)));
        sent(lanes.next(now + Duration::from_secs(5)));
    }

    #[test]
    fn closing_lets_open_requests_end_and_starts_nothing() {
        let now = Instant::now();
        let mut lanes = lanes(&["a", "a"], 16, 1);
        let job = sent(lanes.next(now));
        lanes.close();
        assert_eq!(lanes.next(now), Next::Wait);
        lanes.settle(job);
        assert_eq!(lanes.next(now), Next::Done);
    }
}
