//! When the next pass is due, and which toggles it leaves alone: decisions, as values.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::pass_outcome::PassOutcome;
use crate::model::ToggleId;
use crate::plan::Parked;
use crate::service::retry::{self, PROBE_INTERVAL};

/// What is due when.
#[derive(Debug)]
pub(crate) struct Schedule {
    interval: Duration,
    due: Instant,
    /// When a source elsewhere is to be looked up, where that is sooner.
    look_due: Instant,
    failures: u32,
    /// The requests that the service refused.
    parked: BTreeMap<ToggleId, Parked>,
    /// Whether the next pass tries everything, because an operator asked for it.
    forgiven: bool,
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
            parked: BTreeMap::new(),
            forgiven: false,
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

    /// Returns until when the service asks to be left alone. No pass is made before, not even for a newer commit.
    pub(crate) fn held_until(&self, now: Instant) -> Option<Instant> {
        self.held_until.filter(|until| now < *until)
    }

    /// Puts a pass off that is not allowed before `until`; the token may change meanwhile, so it is asked for again.
    pub(crate) fn defer(&mut self, now: Instant, until: Instant) {
        self.due = until.min(now + TOKEN_LOOK);
        self.look_due = self.due;
    }

    /// Makes a pass due after `wait`, at the latest, unless passes fail: then their backoff counts.
    pub(crate) fn retry_after(&mut self, now: Instant, wait: Duration) {
        if self.failures == 0 {
            self.no_later_than(now + wait);
        }
    }

    /// Returns the requests that the next pass does not send: those that were refused, and those that wait because they
    /// failed alone. Nothing if an operator asked for everything to be tried.
    pub(crate) fn parked(&mut self, alone: BTreeMap<ToggleId, Parked>) -> BTreeMap<ToggleId, Parked> {
        match std::mem::take(&mut self.forgiven) {
            true => BTreeMap::new(),
            false => self.parked.clone().into_iter().chain(alone).collect(),
        }
    }

    /// Lets the next pass try every request.
    pub(crate) fn unpark_all(&mut self) {
        self.parked.clear();
        self.forgiven = true;
    }

    /// Takes in how a pass ended; `jitter` is a random number in `0.0..=1.0`.
    pub(crate) fn on_pass_finished(
        &mut self,
        ended: &PassOutcome,
        token: Option<String>,
        now: Instant,
        jitter: f64,
    ) {
        for id in &ended.applied {
            self.parked.remove(id);
        }
        if ended.is_pass() {
            // What was taken back is new when it comes again.
            self.parked.retain(|id, _| ended.is_wanted(id));
            self.rejected = None;
        }
        self.parked.extend(ended.refused.iter().cloned());
        if let Some(wait) = ended.held_back {
            self.held_until = Some(now + wait);
        }
        if ended.unauthorised {
            self.rejected = Some((token, now + PROBE_INTERVAL));
        }
        // A pass that was asked for before it was due shows nothing new, and must not make the wait longer.
        let asked_for = Some(self.due).filter(|due| now < *due && self.failures > 0);
        self.failures = match ended.failed || ended.unfinished {
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
        let due = now + next;
        self.due = self.held_until.map_or(due, |until| due.max(until));
        self.looked(now, jitter);
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
            request: crate::model::RequestDigest::default(),
            reason: HoldReason::Refused("no".into()),
        }
    }

    #[test]
    fn after_a_success_the_interval_counts_and_after_failures_a_growing_wait() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL);
        schedule.on_pass_finished(&PassOutcome::default(), None, now, 0.5);
        assert_eq!(schedule.due(), now + INTERVAL);
        let failed = PassOutcome {
            failed: true,
            ..PassOutcome::default()
        };
        let mut waits = Vec::new();
        for _ in 0..12 {
            let at = schedule.due();
            schedule.on_pass_finished(&failed, None, at, 1.0);
            waits.push((schedule.due() - at).as_secs());
        }
        assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]);
        schedule.on_pass_finished(&PassOutcome::default(), None, now, 0.5);
        assert_eq!(schedule.due(), now + INTERVAL);
    }

    #[test]
    fn who_asks_during_an_outage_makes_nobody_wait_longer() {
        let mut schedule = Schedule::new(INTERVAL);
        let failed = PassOutcome {
            failed: true,
            ..PassOutcome::default()
        };
        for _ in 0..5 {
            schedule.on_pass_finished(&failed, None, schedule.due(), 1.0);
        }
        let due = schedule.due();
        for asked in 1..10 {
            schedule.on_pass_finished(&failed, None, due - Duration::from_secs(20 - asked), 1.0);
            assert_eq!(schedule.due(), due);
        }
        schedule.on_pass_finished(&failed, None, due, 1.0);
        assert_eq!(schedule.due(), due + Duration::from_secs(64));
    }

    #[test]
    fn while_a_failed_pass_waits_for_its_retry_the_source_is_looked_up_at_its_interval() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL);
        schedule.on_pass_finished(&PassOutcome::default(), None, now, 0.5);
        assert_eq!(schedule.look_due(), None, "the pass itself looks");
        let failed = PassOutcome {
            failed: true,
            ..PassOutcome::default()
        };
        for _ in 0..8 {
            schedule.on_pass_finished(&failed, None, schedule.due(), 0.5);
        }
        let now = schedule.due();
        schedule.on_pass_finished(&failed, None, now, 0.5);
        assert_eq!(schedule.due(), now + Duration::from_secs(225));
        let mut looks = Vec::new();
        while let Some(due) = schedule.look_due() {
            looks.push((due - now).as_secs());
            schedule.looked(due, 0.5);
        }
        assert_eq!(looks, [30, 60, 90, 120, 150, 180, 210]);
        schedule.defer(now, now + INTERVAL);
        assert_eq!(schedule.look_due(), None, "nothing is sent with this token");
    }

    #[test]
    fn a_pass_can_be_due_sooner_and_never_later() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL);
        schedule.on_pass_finished(&PassOutcome::default(), None, now, 0.5);
        schedule.no_later_than(now + INTERVAL * 2);
        assert_eq!(schedule.due(), now + INTERVAL);
        schedule.no_later_than(now + INTERVAL / 2);
        assert_eq!(schedule.due(), now + INTERVAL / 2);
    }

    #[test]
    fn a_refused_toggle_is_parked_until_somebody_asks_or_it_is_applied() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL);
        let refused = PassOutcome {
            refused: vec![(id("a/b/c"), parked())],
            ..PassOutcome::default()
        };
        schedule.on_pass_finished(&refused, None, now, 0.5);
        assert_eq!(schedule.parked(BTreeMap::new()).len(), 1);
        schedule.unpark_all();
        assert!(schedule.parked(BTreeMap::new()).is_empty());
        schedule.on_pass_finished(&refused, None, now, 0.5);
        schedule.on_pass_finished(
            &PassOutcome {
                applied: vec![id("a/b/c")],
                ..PassOutcome::default()
            },
            None,
            now,
            0.5,
        );
        assert!(schedule.parked(BTreeMap::new()).is_empty());
    }

    #[test]
    fn what_failed_alone_is_due_after_its_own_backoff_unless_passes_fail() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL);
        schedule.on_pass_finished(&PassOutcome::default(), None, now, 0.5);
        schedule.retry_after(now, Duration::from_secs(7));
        assert_eq!(schedule.due(), now + Duration::from_secs(7));
        let failed = PassOutcome {
            failed: true,
            ..PassOutcome::default()
        };
        for _ in 0..8 {
            schedule.on_pass_finished(&failed, None, schedule.due(), 1.0);
        }
        let due = schedule.due();
        schedule.retry_after(now, Duration::from_secs(1));
        assert_eq!(schedule.due(), due);
    }

    #[test]
    fn an_operator_who_asks_has_everything_tried_once() {
        let mut schedule = Schedule::new(INTERVAL);
        let alone = BTreeMap::from([(id("a/b/c"), parked())]);
        assert_eq!(schedule.parked(alone.clone()).len(), 1);
        schedule.unpark_all();
        assert!(schedule.parked(alone.clone()).is_empty());
        assert_eq!(schedule.parked(alone).len(), 1);
    }

    #[test]
    fn a_rejected_token_is_probed_every_five_minutes_and_a_new_one_at_once() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL);
        let rejected = PassOutcome {
            failed: true,
            unauthorised: true,
            ..PassOutcome::default()
        };
        schedule.on_pass_finished(&rejected, Some("old".into()), now, 0.5);
        let probe = now + Duration::from_secs(300);
        let rejected = |after, token| schedule.rejected_until(now + Duration::from_secs(after), Some(token));
        assert_eq!(rejected(299, "old"), Some(probe));
        assert_eq!(rejected(300, "old"), None);
        assert_eq!(rejected(0, "new"), None);
        schedule.defer(now, probe);
        assert_eq!(schedule.due(), now + TOKEN_LOOK, "the file may hold another one");
        schedule.defer(probe - Duration::from_secs(1), probe);
        assert_eq!(schedule.due(), probe);
    }

    #[test]
    fn retry_after_holds_back_every_pass_also_one_for_a_newer_commit() {
        let now = Instant::now();
        let wait = Duration::from_secs(40);
        for (failed, interrupted) in [(true, false), (false, true), (false, false)] {
            let mut schedule = Schedule::new(INTERVAL);
            let ended = PassOutcome {
                failed,
                interrupted,
                held_back: Some(wait),
                unfinished: true,
                ..PassOutcome::default()
            };
            schedule.on_pass_finished(&ended, None, now, 0.5);
            assert_eq!(schedule.due(), now + wait);
            assert_eq!(schedule.held_until(now), Some(now + wait));
            assert_eq!(schedule.held_until(now + wait), None);
        }
    }

    #[test]
    fn an_interrupted_pass_is_followed_by_another_at_once_over_everything() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL);
        let interrupted = PassOutcome {
            interrupted: true,
            applied: vec![id("a/b/d")],
            unfinished: true,
            ..PassOutcome::default()
        };
        schedule.on_pass_finished(&interrupted, None, now, 0.5);
        assert_eq!(schedule.due(), now);
        assert!(schedule.parked(BTreeMap::new()).is_empty());
    }
}
