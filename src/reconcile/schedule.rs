//! When the next pass is due, and which toggles it leaves alone: decisions, as values.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::model::ToggleId;
use crate::plan::{HoldReason, Plan, Refused};
use crate::service::retry::{self, PROBE_INTERVAL};

use super::report::{Report, Sending, StopReason};

/// How a pass ended, as far as the next one depends on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ended {
    failed: bool,
    interrupted: bool,
    unauthorised: bool,
    applied: Vec<ToggleId>,
    refused: Vec<(ToggleId, Refused)>,
    pending: Vec<(ToggleId, Refused)>,
    /// What there was to do, where there was a pass.
    plan: Option<Arc<Plan>>,
}

impl Ended {
    /// Reads it off a report, or off the fact that there is none.
    pub(crate) fn of(result: &Result<Report, String>) -> Self {
        let Ok(report) = result else {
            return Self {
                failed: true,
                ..Self::default()
            };
        };
        let mut ended = Self {
            failed: !matches!(report.stopped, None | Some(StopReason::Interrupted)),
            interrupted: report.stopped == Some(StopReason::Interrupted),
            unauthorised: matches!(report.stopped, Some(StopReason::Unauthorised(_))),
            plan: Some(Arc::clone(&report.plan)),
            ..Self::default()
        };
        for (change, sending) in report.lines() {
            let refused = |reason: &str| Refused {
                object: change.object,
                reason: reason.to_owned(),
            };
            match sending {
                Sending::Applied => ended.applied.push(change.id.clone()),
                Sending::Failed { reason } => ended.refused.push((change.id.clone(), refused(reason))),
                Sending::Pending { reason } => ended.pending.push((change.id.clone(), refused(reason))),
                Sending::NotSent => {}
            }
        }
        ended
    }
}

/// Returns whether `plan` wants to publish the toggle, or would if the service had not refused it.
fn is_wanted(plan: &Plan, id: &ToggleId) -> bool {
    let held = plan.held();
    let is_parked = |index: usize| matches!(held[index].reason, HoldReason::Refused(_));
    plan.changes()
        .binary_search_by(|change| change.id.cmp(id))
        .is_ok()
        || held.binary_search_by(|held| held.id.cmp(id)).is_ok_and(is_parked)
}

/// Why a toggle waits, and until when; for good where it was refused.
#[derive(Clone, Debug)]
struct Waiting {
    parked: Refused,
    until: Option<Instant>,
    failures: u32,
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

    /// Returns whether a pass may be made with this token: one that was not accepted is probed every five minutes.
    pub(crate) fn allows(&self, now: Instant, token: Option<&str>) -> bool {
        match &self.rejected {
            Some((rejected, until)) => now >= *until || rejected.as_deref() != token,
            None => true,
        }
    }

    /// Puts a pass off that is not allowed yet; the token may change meanwhile, so it is asked for again.
    pub(crate) fn postpone(&mut self, now: Instant, jitter: f64) {
        self.due = now + around(self.interval, jitter);
        self.look_due = self.due;
    }

    /// Returns the toggles that the next pass leaves alone.
    pub(crate) fn parked(&self, now: Instant) -> BTreeMap<ToggleId, Refused> {
        let waits = |waiting: &&Waiting| waiting.until.is_none_or(|until| now < until);
        let waiting = self.waiting.iter().filter(|(_, waiting)| waits(waiting));
        waiting
            .map(|(id, waiting)| (id.clone(), waiting.parked.clone()))
            .collect()
    }

    /// Lets every parked toggle be tried again.
    pub(crate) fn forgive(&mut self) {
        self.waiting.clear();
    }

    /// Takes in how a pass ended; `jitter` is a random number in `0.0..=1.0`.
    pub(crate) fn ended(&mut self, ended: &Ended, token: Option<String>, now: Instant, jitter: f64) {
        for id in &ended.applied {
            self.waiting.remove(id);
        }
        if let Some(plan) = &ended.plan {
            // What was taken back is new when it comes again.
            self.waiting.retain(|id, _| is_wanted(plan, id));
        }
        for (id, parked) in &ended.refused {
            let waiting = Waiting {
                parked: parked.clone(),
                until: None,
                failures: 0,
            };
            self.waiting.insert(id.clone(), waiting);
        }
        if !ended.failed && !ended.interrupted {
            self.set_aside(ended, now, jitter);
        }
        self.rejected = ended.unauthorised.then(|| (token, now + PROBE_INTERVAL));
        self.failures = match ended.failed || !ended.pending.is_empty() {
            true => self.failures.saturating_add(1),
            false => 0,
        };
        let next = match (ended.interrupted, self.failures) {
            (true, _) => Duration::ZERO,
            (false, 0) => around(self.interval, jitter),
            (false, failures) => retry::pass_backoff(failures, 0.5 + jitter / 2.0),
        };
        let aside = self
            .waiting
            .values()
            .filter_map(|waiting| waiting.until)
            .filter(|until| *until > now);
        self.due = aside.chain([now + next]).min().unwrap_or(now + next);
        self.looked(now, jitter);
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
            };
            self.waiting.insert(id.clone(), waiting);
        }
    }
}

/// An interval ± 10 %, so that many daemons do not look at once.
fn around(interval: Duration, jitter: f64) -> Duration {
    interval.mul_f64(0.9 + 0.2 * jitter.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ObjectId;

    const INTERVAL: Duration = Duration::from_secs(30);

    fn id(text: &str) -> ToggleId {
        text.parse().unwrap()
    }

    fn parked() -> Refused {
        Refused {
            object: ObjectId([1; 20]),
            reason: "no".into(),
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
            schedule.ended(&failed, None, now, 1.0);
            waits.push((schedule.due() - now).as_secs());
        }
        assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]);
        schedule.ended(&Ended::default(), None, now, 0.5);
        assert_eq!(schedule.due(), now + INTERVAL);
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
        for _ in 0..9 {
            schedule.ended(&failed, None, now, 0.5);
        }
        assert_eq!(schedule.due(), now + Duration::from_secs(225));
        let mut looks = Vec::new();
        while let Some(due) = schedule.look_due() {
            looks.push((due - now).as_secs());
            schedule.looked(due, 0.5);
        }
        assert_eq!(looks, [30, 60, 90, 120, 150, 180, 210]);
        schedule.postpone(now, 0.5);
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
        assert!(!schedule.allows(now + Duration::from_secs(299), Some("old")));
        assert!(schedule.allows(now + Duration::from_secs(300), Some("old")));
        assert!(schedule.allows(now, Some("new")));
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
