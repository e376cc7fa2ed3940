//! When the next pass is due, and which toggles it leaves alone: decisions, as values.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::model::{RequestDigest, ToggleId};
use crate::plan::Parked;
use crate::service::retry::{self, PROBE_INTERVAL};

use super::ended::Ended;

/// Why a toggle waits, and until when; for good where it was refused.
#[derive(Clone, Debug)]
struct Waiting {
    parked: Parked,
    until: Option<Instant>,
    failures: u32,
    /// Whether the service asked for it, so that nobody can take it back.
    is_asked: bool,
}

/// What is due when.
#[derive(Debug)]
pub(crate) struct Schedule {
    interval: Duration,
    due: Instant,
    /// When a source elsewhere is to be looked up, where that is sooner.
    look_due: Instant,
    failures: u32,
    waiting: BTreeMap<ToggleId, Waiting>,
    /// With which request and in which pass toggles were tried last, without an answer that counts.
    late: BTreeMap<ToggleId, (RequestDigest, u64)>,
    /// How many passes there were.
    passes: u64,
    /// Until when the service wants to be left alone.
    held_until: Option<Instant>,
    /// The token that was not accepted, and until when it is not tried again.
    rejected: Option<(Option<String>, Instant)>,
}

impl Schedule {
    /// The first pass is due at once.
    pub(crate) fn new(interval: Duration) -> Self {
        let now = Instant::now();
        Self {
            interval,
            due: now,
            look_due: now,
            failures: 0,
            waiting: BTreeMap::new(),
            late: BTreeMap::new(),
            passes: 0,
            held_until: None,
            rejected: None,
        }
    }

    /// Returns when the next pass is due.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Returns when the source is to be looked up because the next pass is later than that: the wait after a failure
    /// is for the retry of what was seen, not for what is newer.
    pub(crate) fn look_due(&self) -> Option<Instant> {
        (self.look_due < self.due).then_some(self.look_due)
    }

    /// The source is being looked up, and nothing else is known to have changed.
    pub(crate) fn looked(&mut self, now: Instant, jitter: f64) {
        self.look_due = now + around(self.interval, jitter);
    }

    /// Makes a pass due then, at the latest.
    pub(crate) fn no_later_than(&mut self, then: Instant) {
        self.due = self.due.min(then);
    }

    /// Returns until when no pass may be made with this token: one that was not accepted is probed every five minutes.
    pub(crate) fn rejected_until(&self, now: Instant, token: Option<&str>) -> Option<Instant> {
        let (rejected, until) = self.rejected.as_ref()?;
        (rejected.as_deref() == token && now < *until).then_some(*until)
    }

    /// Returns until when the service wants to be left alone: only a newer commit is worth a pass before.
    pub(crate) fn held_until(&self, now: Instant) -> Option<Instant> {
        self.held_until.filter(|until| now < *until)
    }

    /// Puts a pass off that is not allowed before `until`; the token may change meanwhile, so it is asked for again.
    pub(crate) fn postpone(&mut self, now: Instant, until: Instant) {
        self.due = until.min(now + TOKEN_LOOK);
        self.look_due = self.due;
    }

    /// Returns with which document and in which pass toggles were tried last, without an answer that counts.
    pub(crate) fn late(&self) -> &BTreeMap<ToggleId, (RequestDigest, u64)> {
        &self.late
    }

    /// Returns the toggles that the next pass leaves alone.
    pub(crate) fn parked(&self, now: Instant) -> BTreeMap<ToggleId, Parked> {
        let waits = |waiting: &&Waiting| waiting.until.is_none_or(|until| now < until);
        let waiting = self.waiting.iter().filter(|(_, waiting)| waits(waiting));
        waiting
            .map(|(id, waiting)| (id.clone(), waiting.parked.clone()))
            .collect()
    }

    /// Lets every parked toggle be tried again, but for those that the service wants to be left alone with.
    pub(crate) fn forgive(&mut self) {
        self.waiting.retain(|_, waiting| waiting.is_asked);
    }

    /// Takes in how a pass ended; `jitter` is a random number in `0.0..=1.0`.
    pub(crate) fn ended(&mut self, ended: &Ended, token: Option<String>, now: Instant, jitter: f64) {
        for id in &ended.applied {
            self.waiting.remove(id);
            self.late.remove(id);
        }
        if ended.is_pass() {
            // What was taken back is new when it comes again.
            self.waiting.retain(|id, _| ended.is_wanted(id));
            self.passes += 1;
            self.late.retain(|id, _| ended.is_wanted(id));
            let tried = ended.pending.iter();
            let tried = tried.map(|(id, parked)| (id.clone(), (parked.request.clone(), self.passes)));
            self.late.extend(tried);
            self.rejected = None;
        }
        for (id, parked) in &ended.refused {
            let waiting = Waiting {
                parked: parked.clone(),
                until: None,
                failures: 0,
                is_asked: false,
            };
            self.waiting.insert(id.clone(), waiting);
        }
        if !ended.failed && !ended.interrupted {
            self.set_aside(ended, now, jitter);
        }
        if let Some(wait) = ended.held_back {
            self.hold(ended, now + wait);
        }
        if ended.unauthorised {
            self.rejected = Some((token, now + PROBE_INTERVAL));
        }
        // What somebody asked for before it was due tells no more of the world, and must not make the wait longer.
        let asked_for = Some(self.due).filter(|due| now < *due && self.failures > 0);
        self.failures = match ended.failed || !ended.pending.is_empty() {
            true if asked_for.is_some() => self.failures,
            true => self.failures.saturating_add(1),
            false => 0,
        };
        let next = match (ended.interrupted, self.failures) {
            (true, _) => Duration::ZERO,
            (false, 0) => around(self.interval, jitter),
            (false, failures) => {
                let wait = retry::pass_backoff(failures, 0.5 + jitter / 2.0);
                asked_for.map_or(wait, |due| wait.min(due - now))
            }
        };
        let aside = self
            .waiting
            .values()
            .filter_map(|waiting| waiting.until)
            .filter(|until| *until > now);
        let due = aside.chain([now + next]).min().unwrap_or(now + next);
        self.due = self.held_until.map_or(due, |until| due.max(until));
        self.looked(now, jitter);
    }

    /// Leaves the service alone until then. What was tried waits in any case; the rest is sent sooner where the pass was
    /// interrupted, for that is what a newer commit does.
    fn hold(&mut self, ended: &Ended, until: Instant) {
        for (id, parked) in &ended.pending {
            let before = self.waiting.get(id);
            let waiting = Waiting {
                parked: parked.clone(),
                until: before.and_then(|before| before.until).max(Some(until)),
                failures: before.map_or(0, |before| before.failures),
                is_asked: true,
            };
            self.waiting.insert(id.clone(), waiting);
        }
        self.held_until = Some(until).filter(|_| !ended.interrupted);
    }

    /// Toggles that alone get no answer while others succeed wait longer and longer, up to an hour; once they do, it
    /// takes a success of theirs to end it, because the others may have nothing to send any more.
    fn set_aside(&mut self, ended: &Ended, now: Instant, jitter: f64) {
        for (id, parked) in &ended.pending {
            let before = self.waiting.get(id).map_or(0, |waiting| waiting.failures);
            if before == 0 && ended.applied.is_empty() {
                continue;
            }
            let failures = before.saturating_add(1);
            let wait = retry::lone_backoff(failures, 0.5 + jitter / 2.0);
            let waiting = Waiting {
                parked: parked.clone(),
                until: Some(now + wait),
                failures,
                is_asked: false,
            };
            self.waiting.insert(id.clone(), waiting);
        }
    }
}

/// How often a token that was not accepted is compared with what its file holds now.
const TOKEN_LOOK: Duration = Duration::from_secs(10);

/// An interval ± 10 %, so that many daemons do not look at once.
fn around(interval: Duration, jitter: f64) -> Duration {
    interval.mul_f64(0.9 + 0.2 * jitter.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::HoldReason;

    const INTERVAL: Duration = Duration::from_secs(30);

    fn id(text: &str) -> ToggleId {
        text.parse().unwrap()
    }

    fn parked() -> Parked {
        Parked {
            request: RequestDigest::default(),
            reason: HoldReason::Refused("no".into()),
        }
    }

    #[test]
    fn after_a_success_the_interval_counts_and_after_failures_a_growing_wait() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL);
        schedule.ended(&Ended::default(), None, now, 0.5);
        assert_eq!(schedule.due(), now + INTERVAL);
        let failed = Ended {
            failed: true,
            ..Ended::default()
        };
        let mut waits = Vec::new();
        for _ in 0..12 {
            let at = schedule.due();
            schedule.ended(&failed, None, at, 1.0);
            waits.push((schedule.due() - at).as_secs());
        }
        assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]);
        schedule.ended(&Ended::default(), None, now, 0.5);
        assert_eq!(schedule.due(), now + INTERVAL);
    }

    #[test]
    fn who_asks_during_an_outage_makes_nobody_wait_longer() {
        let mut schedule = Schedule::new(INTERVAL);
        let failed = Ended {
            failed: true,
            ..Ended::default()
        };
        for _ in 0..5 {
            schedule.ended(&failed, None, schedule.due(), 1.0);
        }
        let due = schedule.due();
        for asked in 1..10 {
            schedule.ended(&failed, None, due - Duration::from_secs(20 - asked), 1.0);
            assert_eq!(schedule.due(), due);
        }
        schedule.ended(&failed, None, due, 1.0);
        assert_eq!(schedule.due(), due + Duration::from_secs(64));
    }

    #[test]
    fn while_a_failed_pass_waits_for_its_retry_the_source_is_looked_up_at_its_interval() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL);
        schedule.ended(&Ended::default(), None, now, 0.5);
        assert_eq!(schedule.look_due(), None, "the pass itself looks");
        let failed = Ended {
            failed: true,
            ..Ended::default()
        };
        for _ in 0..8 {
            schedule.ended(&failed, None, schedule.due(), 0.5);
        }
        let now = schedule.due();
        schedule.ended(&failed, None, now, 0.5);
        assert_eq!(schedule.due(), now + Duration::from_secs(225));
        let mut looks = Vec::new();
        while let Some(due) = schedule.look_due() {
            looks.push((due - now).as_secs());
            schedule.looked(due, 0.5);
        }
        assert_eq!(looks, [30, 60, 90, 120, 150, 180, 210]);
        schedule.postpone(now, now + INTERVAL);
        assert_eq!(schedule.look_due(), None, "nothing is sent with this token");
    }

    #[test]
    fn a_pass_can_be_due_sooner_and_never_later() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL);
        schedule.ended(&Ended::default(), None, now, 0.5);
        schedule.no_later_than(now + INTERVAL * 2);
        assert_eq!(schedule.due(), now + INTERVAL);
        schedule.no_later_than(now + INTERVAL / 2);
        assert_eq!(schedule.due(), now + INTERVAL / 2);
    }

    #[test]
    fn a_refused_toggle_is_parked_until_somebody_asks_or_it_is_applied() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL);
        let refused = Ended {
            refused: vec![(id("a/b/c"), parked())],
            ..Ended::default()
        };
        schedule.ended(&refused, None, now, 0.5);
        assert_eq!(schedule.parked(now + Duration::from_secs(9999)).len(), 1);
        schedule.forgive();
        assert!(schedule.parked(now).is_empty());
        schedule.ended(&refused, None, now, 0.5);
        schedule.ended(
            &Ended {
                applied: vec![id("a/b/c")],
                ..Ended::default()
            },
            None,
            now,
            0.5,
        );
        assert!(schedule.parked(now).is_empty());
    }

    #[test]
    fn a_toggle_that_alone_gets_no_answer_waits_longer_each_time() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL);
        let lone = Ended {
            pending: vec![(id("a/b/c"), parked())],
            applied: vec![id("a/b/d")],
            ..Ended::default()
        };
        for wait in [30, 60, 120] {
            schedule.ended(&lone, None, now, 1.0);
            assert_eq!(schedule.parked(now + Duration::from_secs(wait - 1)).len(), 1);
            assert!(schedule.parked(now + Duration::from_secs(wait)).is_empty());
        }
        // By then the others have nothing to send any more.
        let alone = Ended {
            applied: Vec::new(),
            ..lone
        };
        for wait in [240, 480, 960, 1920, 3600, 3600] {
            schedule.ended(&alone, None, now, 1.0);
            assert_eq!(schedule.parked(now + Duration::from_secs(wait - 1)).len(), 1);
            assert!(schedule.parked(now + Duration::from_secs(wait)).is_empty());
        }
    }

    #[test]
    fn nothing_waits_for_long_because_of_a_service_that_answers_nobody() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL);
        let pending = Ended {
            pending: vec![(id("a/b/c"), parked())],
            ..Ended::default()
        };
        schedule.ended(&pending, None, now, 1.0);
        assert!(schedule.parked(now).is_empty());
    }

    #[test]
    fn a_rejected_token_is_probed_every_five_minutes_and_a_new_one_at_once() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL);
        let rejected = Ended {
            failed: true,
            unauthorised: true,
            ..Ended::default()
        };
        schedule.ended(&rejected, Some("old".into()), now, 0.5);
        let probe = now + Duration::from_secs(300);
        let rejected = |after, token| schedule.rejected_until(now + Duration::from_secs(after), Some(token));
        assert_eq!(rejected(299, "old"), Some(probe));
        assert_eq!(rejected(300, "old"), None);
        assert_eq!(rejected(0, "new"), None);
        schedule.postpone(now, probe);
        assert_eq!(schedule.due(), now + TOKEN_LOOK, "the file may hold another one");
        schedule.postpone(probe - Duration::from_secs(1), probe);
        assert_eq!(schedule.due(), probe);
    }

    #[test]
    fn a_service_that_wants_to_be_left_alone_is_unless_there_is_something_newer() {
        let now = Instant::now();
        let wait = Duration::from_secs(40);
        for (failed, interrupted) in [(true, false), (false, true), (false, false)] {
            let mut schedule = Schedule::new(INTERVAL);
            let ended = Ended {
                failed,
                interrupted,
                held_back: Some(wait),
                pending: vec![(id("a/b/c"), parked())],
                ..Ended::default()
            };
            schedule.ended(&ended, None, now, 0.5);
            let due = if interrupted { now } else { now + wait };
            assert_eq!(schedule.due(), due);
            assert_eq!(schedule.held_until(now), Some(due).filter(|_| !interrupted));
            assert_eq!(schedule.held_until(now + wait), None);
            assert_eq!(schedule.parked(now).len(), 1, "a retry waits in any case");
            assert!(schedule.parked(now + wait).is_empty());
        }
    }

    #[test]
    fn an_interrupted_pass_is_followed_by_another_at_once_over_everything() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL);
        let interrupted = Ended {
            interrupted: true,
            applied: vec![id("a/b/d")],
            pending: vec![(id("a/b/c"), parked())],
            ..Ended::default()
        };
        schedule.ended(&interrupted, None, now, 0.5);
        assert_eq!(schedule.due(), now);
        assert!(schedule.parked(now).is_empty());
    }
}
