//! Queues the toggles of a pass: one lane per environment, and one request per toggle.
//!
//! Pure: the time is an argument, and decisions are [`Next`] values. Each lane sends its queue in order. The lanes send
//! concurrently and take turns, in random order. A toggle that waits for a retry goes to the end of its lane, and a lane
//! that was forbidden once goes to the end of the lanes (DESIGN, section 6). A delayed toggle joins the front of its queue
//! once it is due.

use std::collections::VecDeque;

use fastrand::Rng;
use tokio::time::Instant;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Job {
    /// An index into the plan's changes.
    pub(crate) change: usize,
    /// The number of the try, from 1. Probes do not count.
    pub(crate) attempt: u32,
    /// The number of the request within the pass, from 1, in the order of sending.
    pub(crate) number: u64,
    pub(crate) lane: usize,
    pub(crate) purpose: Purpose,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Purpose {
    /// To check during a pause whether the service works again.
    Probe,
    Publish,
}

/// The next step of a worker.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Next {
    /// The pass has ended.
    Done,
    /// Send this request.
    Send(Job),
    /// Wait for the end of an open request.
    Wait,
    /// Wait until this time.
    WaitUntil(Instant),
}

#[derive(Debug, Default)]
struct Lane {
    queue: VecDeque<usize>,
    retries: VecDeque<Retry>,
    in_flight: usize,
    turn: Turn,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Turn {
    #[default]
    InTurn,
    /// After all lanes that are in turn.
    Last,
}

#[derive(Clone, Copy, Debug)]
struct Retry {
    change: usize,
    attempt: u32,
    at: Instant,
}

/// A toggle that may not be sent yet.
#[derive(Clone, Copy, Debug)]
struct Delay {
    change: usize,
    lane: usize,
    not_before: Instant,
}

#[derive(Debug)]
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
    /// The order in which the lanes take turns, from the next one on.
    turns: VecDeque<usize>,
    /// In the order of their queues, which they are not in, so that they do not block other toggles.
    delays: Vec<Delay>,
    in_flight: usize,
    per_lane: usize,
    numbers: u64,
}

impl Lanes {
    /// Creates lanes from their queues, in an order drawn from `rng`.
    pub(crate) fn new(queues: Vec<VecDeque<usize>>, per_lane: usize, rng: &mut Rng) -> Self {
        let mut turns: Vec<usize> = (0..queues.len()).collect();
        rng.shuffle(&mut turns);
        let lane = |queue| Lane {
            queue,
            ..Lane::default()
        };
        Self {
            lanes: queues.into_iter().map(lane).collect(),
            turns: turns.into(),
            delays: Vec::new(),
            in_flight: 0,
            per_lane,
            numbers: 0,
        }
    }

    /// Takes the toggles for which `not_before` returns a time out of their queues.
    pub(crate) fn delay(&mut self, not_before: impl Fn(usize) -> Option<Instant>) {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            lane.queue.retain(|change| {
                let time = not_before(*change);
                self.delays.extend(time.map(|not_before| Delay {
                    change: *change,
                    lane: index,
                    not_before,
                }));
                time.is_none()
            });
        }
    }

    /// Queues the delayed toggles that may be sent at `now`. Returns whether it queued any.
    pub(crate) fn admit(&mut self, now: Instant) -> bool {
        let due = self.delays.extract_if(.., |delay| delay.not_before <= now);
        let due: Vec<Delay> = due.collect();
        // In reverse, so that the delayed toggles keep their order at the front of the queue.
        for delay in due.iter().rev() {
            self.lanes[delay.lane].queue.push_front(delay.change);
        }
        !due.is_empty()
    }

    /// Returns the time at which the next delayed toggle may be sent.
    pub(crate) fn delayed_until(&self) -> Option<Instant> {
        self.delays.iter().map(|delay| delay.not_before).min()
    }

    /// Returns the next step in the order of the lanes.
    pub(crate) fn next(&mut self, now: Instant) -> Next {
        match self.queued() {
            Some(next) => next,
            None => self.retry_next(now),
        }
    }

    /// Returns the next retry of a lane whose queue is empty.
    pub(crate) fn retry_next(&mut self, now: Instant) -> Next {
        self.due(now).unwrap_or_else(|| self.earliest())
    }

    /// Opens a request for a toggle that is queued or waits for a retry, out of turn and even before the retry is due.
    pub(crate) fn take(&mut self, change: usize, lane: usize, purpose: Purpose) -> Option<Next> {
        let Lane { queue, retries, .. } = &mut self.lanes[lane];
        let attempt = match queue.iter().position(|queued| *queued == change) {
            Some(place) => {
                queue.remove(place);
                1
            }
            None => {
                let place = retries.iter().position(|retry| retry.change == change)?;
                retries.remove(place)?.attempt
            }
        };
        Some(self.open(change, lane, attempt, purpose))
    }

    /// Ends a job whose toggle is finished in this pass.
    pub(crate) fn settle(&mut self, job: Job) {
        self.lanes[job.lane].in_flight -= 1;
        self.in_flight -= 1;
    }

    /// Ends a job whose toggle is tried again at `at` or later.
    pub(crate) fn retry(&mut self, job: Job, at: Instant) {
        self.settle(job);
        let attempt = match job.purpose {
            Purpose::Probe => job.attempt,
            Purpose::Publish => job.attempt + 1,
        };
        let change = job.change;
        self.lanes[job.lane]
            .retries
            .push_back(Retry { change, attempt, at });
    }

    pub(crate) fn move_to_end(&mut self, lane: usize) {
        self.lanes[lane].turn = Turn::Last;
    }

    /// Empties a lane, and returns its queued, waiting and delayed toggles.
    pub(crate) fn drain(&mut self, lane: usize) -> Vec<usize> {
        let delayed = self.delays.extract_if(.., |delay| delay.lane == lane);
        let Lane { queue, retries, .. } = &mut self.lanes[lane];
        let waiting = retries.drain(..).map(|retry| retry.change);
        let delayed = delayed.map(|delay| delay.change);
        queue.drain(..).chain(waiting).chain(delayed).collect()
    }

    pub(crate) fn has_room(&self, lane: usize) -> bool {
        self.lanes[lane].in_flight < self.per_lane
    }

    pub(crate) fn all_queued(&self) -> Vec<usize> {
        self.lanes.iter().flat_map(|lane| &lane.queue).copied().collect()
    }

    pub(crate) fn all_waiting(&self) -> Vec<usize> {
        let retries = self.lanes.iter().flat_map(|lane| &lane.retries);
        retries.map(|retry| retry.change).collect()
    }

    /// Returns the number of the next request.
    pub(crate) fn next_number(&self) -> u64 {
        self.numbers + 1
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Returns whether no toggle is queued, delayed or waiting.
    pub(crate) fn is_empty(&self) -> bool {
        let is_empty = |lane: &Lane| lane.queue.is_empty() && lane.retries.is_empty();
        self.delays.is_empty() && self.lanes.iter().all(is_empty)
    }

    fn queued(&mut self) -> Option<Next> {
        let is_queued = |lane: &Lane| !lane.queue.is_empty();
        let is_in_turn = |lane: &Lane| lane.turn == Turn::InTurn;
        let turn = match self.lanes.iter().any(|lane| is_queued(lane) && is_in_turn(lane)) {
            true => Turn::InTurn,
            false => Turn::Last,
        };
        let is_next = |index: &usize| {
            let lane = &self.lanes[*index];
            lane.turn == turn && is_queued(lane) && self.has_room(*index)
        };
        let place = self.turns.iter().position(is_next)?;
        let index = self.turns.remove(place)?;
        self.turns.push_back(index);
        let change = self.lanes[index].queue.pop_front()?;
        Some(self.open(change, index, 1, Purpose::Publish))
    }

    fn due(&mut self, now: Instant) -> Option<Next> {
        let (index, place) = (0..self.lanes.len()).find_map(|index| {
            let mut retries = self.lanes[index].retries.iter();
            let place = retries.position(|retry| retry.at <= now)?;
            self.may_retry(index).then_some((index, place))
        })?;
        let Retry { change, attempt, .. } = self.lanes[index].retries.remove(place)?;
        Some(self.open(change, index, attempt, Purpose::Publish))
    }

    fn earliest(&self) -> Next {
        let open = (0..self.lanes.len()).filter(|index| self.may_retry(*index));
        let due = open.flat_map(|index| self.lanes[index].retries.iter().map(|retry| retry.at));
        let due = due.chain(self.delayed_until()).min();
        due.map_or(Next::Wait, Next::WaitUntil)
    }

    /// Returns whether the next request of a lane may be a retry.
    fn may_retry(&self, index: usize) -> bool {
        // A toggle that waits for a retry goes to the end of its lane (DESIGN, section 6, *Order*).
        self.has_room(index) && self.lanes[index].queue.is_empty()
    }

    fn open(&mut self, change: usize, lane: usize, attempt: u32, purpose: Purpose) -> Next {
        self.lanes[lane].in_flight += 1;
        self.in_flight += 1;
        self.numbers += 1;
        Next::Send(Job {
            change,
            attempt,
            number: self.numbers,
            lane,
            purpose,
        })
    }
}
