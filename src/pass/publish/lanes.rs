//! Queues the toggles of a pass: one lane per environment, one request per toggle, and one hold for all lanes.
//!
//! Pure: the time is an argument, and decisions are [`Next`] values. Each lane sends its queue in order. The lanes send
//! concurrently, starting in random order. A toggle that waits for a retry goes to the end of its lane, and a lane that was
//! forbidden once goes to the end of the lanes (DESIGN, section 6). A delayed toggle joins the front of its queue once it
//! is due.

use std::collections::VecDeque;

use fastrand::Rng;
use tokio::time::Instant;

use super::delays::Delays;

/// One request.
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
    /// The number of queued toggles that were not taken out of turn.
    left: usize,
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

/// All lanes of one pass.
#[derive(Debug)]
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
    /// Lanes that may have a queued toggle and room for it, so that picking one does not search all lanes.
    ready: VecDeque<usize>,
    /// The same for lanes whose turn is last.
    last: VecDeque<usize>,
    /// The number of toggles that are queued in lanes that are in turn.
    in_turn: usize,
    /// For each toggle, whether it was taken out of turn.
    taken: Vec<bool>,
    /// Toggles that are not in a queue yet.
    delays: Delays,
    /// The number of toggles that are queued, delayed or wait for a retry.
    left: usize,
    in_flight: usize,
    per_lane: usize,
    numbers: u64,
    hold: Option<Instant>,
    is_closed: bool,
}

impl Lanes {
    /// Creates lanes from their queues, in an order drawn from `rng`.
    pub(crate) fn new(queues: Vec<VecDeque<usize>>, per_lane: usize, rng: &mut Rng) -> Self {
        let left = queues.iter().map(VecDeque::len).sum();
        let mut ready: Vec<usize> = (0..queues.len()).collect();
        rng.shuffle(&mut ready);
        let lane = |queue: VecDeque<usize>| Lane {
            left: queue.len(),
            queue,
            ..Lane::default()
        };
        Self {
            lanes: queues.into_iter().map(lane).collect(),
            ready: ready.into(),
            last: VecDeque::new(),
            in_turn: left,
            taken: vec![false; left],
            delays: Delays::default(),
            left,
            in_flight: 0,
            per_lane,
            numbers: 0,
            hold: None,
            is_closed: false,
        }
    }

    /// Takes the toggles that may not be sent yet out of their queues. Must be called before the first request.
    pub(crate) fn delay(&mut self, not_before: impl Fn(usize) -> Option<Instant>) {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            self.delays.collect(&mut lane.queue, index, &not_before);
            self.in_turn -= lane.left - lane.queue.len();
            lane.left = lane.queue.len();
        }
    }

    /// Queues the delayed toggles that may be sent at `now`. Returns whether it queued any.
    pub(crate) fn admit(&mut self, now: Instant) -> bool {
        let due = self.delays.take_due(now);
        // In reverse, so that the delayed toggles keep their order at the front of the queue.
        for delay in due.iter().rev() {
            let lane = &mut self.lanes[delay.lane];
            lane.queue.push_front(delay.change);
            lane.left += 1;
            if lane.turn == Turn::InTurn {
                self.in_turn += 1;
            }
            self.enqueue(delay.lane);
        }
        !due.is_empty()
    }

    /// Returns the time at which the next delayed toggle may be sent.
    pub(crate) fn delayed_until(&self) -> Option<Instant> {
        self.delays.next()
    }

    /// Returns the next step if no request may be sent at `now`. `room` is the limit of open requests.
    pub(crate) fn blocked(&self, now: Instant, room: usize) -> Option<Next> {
        if self.is_closed || self.left == 0 {
            return Some(if self.in_flight == 0 {
                Next::Done
            } else {
                Next::Wait
            });
        }
        if self.in_flight >= room {
            return Some(Next::Wait);
        }
        self.hold.filter(|until| *until > now).map(Next::WaitUntil)
    }

    /// Returns the next step in the order of the lanes.
    pub(crate) fn next(&mut self, now: Instant) -> Next {
        self.queued()
            .or_else(|| self.due(now))
            .unwrap_or_else(|| self.earliest())
    }

    /// Returns the next retry of a lane whose queue is empty.
    pub(crate) fn retry_next(&mut self, now: Instant) -> Next {
        self.due(now).unwrap_or_else(|| self.earliest())
    }

    /// Opens a request for a queued toggle out of turn.
    pub(crate) fn take(&mut self, change: usize, lane: usize, purpose: Purpose) -> Next {
        // The toggle stays in the queue until `pop` skips it, because removing it would search the whole queue.
        self.taken[change] = true;
        self.unqueue(lane);
        self.open(change, lane, 1, purpose)
    }

    /// Opens a probe with a toggle that waits for a retry, even before the retry is due.
    pub(crate) fn probe_waiting(&mut self, change: usize, lane: usize) -> Option<Next> {
        let retries = &mut self.lanes[lane].retries;
        let place = retries.iter().position(|retry| retry.change == change)?;
        let retry = retries.remove(place)?;
        self.left -= 1;
        Some(self.open(change, lane, retry.attempt, Purpose::Probe))
    }

    /// Ends a job whose toggle is finished in this pass.
    pub(crate) fn settle(&mut self, job: Job) {
        self.release(job);
    }

    /// Ends a job whose toggle is tried again at `at` or later.
    pub(crate) fn retry(&mut self, job: Job, at: Instant) {
        self.release(job);
        let attempt = match job.purpose {
            Purpose::Probe => job.attempt,
            Purpose::Publish => job.attempt + 1,
        };
        self.left += 1;
        let change = job.change;
        self.lanes[job.lane]
            .retries
            .push_back(Retry { change, attempt, at });
    }

    /// Sends no request until `until`, or until the end of a longer hold.
    pub(crate) fn hold(&mut self, until: Instant) {
        self.hold = Some(self.hold.map_or(until, |other| other.max(until)));
    }

    /// Returns the end of the last hold.
    pub(crate) fn held_until(&self) -> Option<Instant> {
        self.hold
    }

    /// Returns whether no further request is sent.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Sends no further request. Open requests may end.
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
    }

    pub(crate) fn move_to_end(&mut self, lane: usize) {
        let moved = &mut self.lanes[lane];
        if moved.turn == Turn::InTurn {
            moved.turn = Turn::Last;
            self.in_turn -= moved.left;
        }
        self.last.push_back(lane);
    }

    /// Empties a lane, and returns its queued, waiting and delayed toggles.
    pub(crate) fn drain(&mut self, lane: usize) -> Vec<usize> {
        self.move_to_end(lane);
        let delayed = self.delays.take_lane(lane);
        let lane = &mut self.lanes[lane];
        let queued = std::mem::take(&mut lane.queue).into_iter();
        let queued = queued.filter(|change| !self.taken[*change]);
        let waiting = std::mem::take(&mut lane.retries).into_iter();
        let delayed = delayed.into_iter().map(|delay| delay.change);
        let waiting = waiting.map(|retry| retry.change).chain(delayed);
        let drained: Vec<usize> = queued.chain(waiting).collect();
        lane.left = 0;
        self.left -= drained.len();
        drained
    }

    /// Returns whether a lane has room for another request.
    pub(crate) fn has_room(&self, lane: usize) -> bool {
        self.lanes[lane].in_flight < self.per_lane
    }

    /// Returns the queued toggles.
    pub(crate) fn all_queued(&self) -> Vec<usize> {
        let queued = self.lanes.iter().flat_map(|lane| &lane.queue).copied();
        queued.filter(|change| !self.taken[*change]).collect()
    }

    /// Returns the toggles that wait for a retry.
    pub(crate) fn all_waiting(&self) -> Vec<usize> {
        let retries = self.lanes.iter().flat_map(|lane| &lane.retries);
        retries.map(|retry| retry.change).collect()
    }

    /// Returns the number of the next request.
    pub(crate) fn next_number(&self) -> u64 {
        self.numbers + 1
    }

    /// Returns whether no toggle is queued, delayed, open or waiting.
    pub(crate) fn is_done(&self) -> bool {
        self.left == 0 && self.in_flight == 0
    }

    fn queued(&mut self) -> Option<Next> {
        while let Some(lane) = self.ready.pop_front() {
            match self.lanes[lane].turn {
                // The lane was moved to the end after it had been listed as ready.
                Turn::Last => self.last.push_back(lane),
                Turn::InTurn => {
                    if let Some(change) = self.pop(lane) {
                        return Some(self.open(change, lane, 1, Purpose::Publish));
                    }
                }
            }
        }
        while self.in_turn == 0
            && let Some(lane) = self.last.pop_front()
        {
            if let Some(change) = self.pop(lane) {
                return Some(self.open(change, lane, 1, Purpose::Publish));
            }
        }
        None
    }

    /// Takes the next toggle out of a lane's queue, if the lane has room for it.
    fn pop(&mut self, index: usize) -> Option<usize> {
        if !self.has_room(index) {
            return None;
        }
        let lane = &mut self.lanes[index];
        let change = loop {
            let change = lane.queue.pop_front()?;
            if !self.taken[change] {
                break change;
            }
        };
        self.unqueue(index);
        let lane = &self.lanes[index];
        if lane.in_flight + 1 < self.per_lane && lane.left > 0 {
            self.enqueue(index);
        }
        Some(change)
    }

    fn due(&mut self, now: Instant) -> Option<Next> {
        let per_lane = self.per_lane;
        let (index, place) = self.lanes.iter().enumerate().find_map(|(index, lane)| {
            // A toggle that waits for a retry goes to the end of its lane (DESIGN, section 6, *Order*).
            let is_open = lane.in_flight < per_lane && lane.left == 0;
            let place = lane.retries.iter().position(|retry| retry.at <= now);
            place.filter(|_| is_open).map(|place| (index, place))
        })?;
        let Retry { change, attempt, .. } = self.lanes[index].retries.remove(place)?;
        self.left -= 1;
        Some(self.open(change, index, attempt, Purpose::Publish))
    }

    fn earliest(&self) -> Next {
        let open = self
            .lanes
            .iter()
            .filter(|lane| lane.in_flight < self.per_lane && lane.left == 0);
        let due = open.flat_map(|lane| lane.retries.iter().map(|retry| retry.at));
        let due = due.chain(self.delays.next()).min();
        due.map_or(Next::Wait, Next::WaitUntil)
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

    fn unqueue(&mut self, index: usize) {
        let lane = &mut self.lanes[index];
        lane.left -= 1;
        self.left -= 1;
        if lane.turn == Turn::InTurn {
            self.in_turn -= 1;
        }
    }

    fn release(&mut self, job: Job) {
        self.lanes[job.lane].in_flight -= 1;
        self.in_flight -= 1;
        self.enqueue(job.lane);
    }

    fn enqueue(&mut self, lane: usize) {
        // A lane may be listed twice, because `pop` checks its room and its queue again.
        match self.lanes[lane].turn {
            Turn::InTurn => self.ready.push_back(lane),
            Turn::Last => self.last.push_back(lane),
        }
    }
}
