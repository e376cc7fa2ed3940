//! Decides when the next pass is due and which toggles it does not send. Reads no clock.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::model::{FoldedId, HeldRequest, HeldRequests, Hold, ToggleId};
use crate::pass::{ChangeResult, Error, Report, StopReason};
use crate::plan::Plan;
use crate::transport::{PROBE_INTERVAL, pass_backoff};

/// The times of the next pass and the next lookup, and the parked toggles.
#[derive(Debug)]
pub(crate) struct Schedule {
    interval: Duration,
    due: Instant,
    /// The time of the next lookup of a remote source.
    lookup_due: Instant,
    failures: u32,
    /// Whether the last pass failed before it had a plan: the source or the state could not be used.
    has_failed_unplanned: bool,
    /// The requests that the service refused, or that the live state of their toggles held.
    parked: HeldRequests,
    scans: DriftScans,
    /// Whether the next pass tries every request, because an operator ordered it.
    is_unparked: bool,
    /// The end of the wait that the service asked for.
    held_until: Option<Instant>,
    /// The fingerprint of the token that was rejected, and the time before which it is not tried again.
    rejected: Option<(Option<String>, Instant)>,
}

/// Whether the daemon scans the service for drift, which also releases held requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum DriftScans {
    /// Every pass reads held toggles again.
    Off,
    On,
}

impl Schedule {
    /// Creates a schedule whose first pass is due immediately.
    pub(crate) fn new(interval: Duration, scans: DriftScans) -> Self {
        let now = Instant::now();
        Self {
            interval,
            due: now,
            lookup_due: now,
            failures: 0,
            has_failed_unplanned: false,
            parked: HeldRequests::new(),
            scans,
            is_unparked: false,
            held_until: None,
            rejected: None,
        }
    }

    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Returns the time of the next lookup if the next pass is later.
    pub(crate) fn lookup_due(&self) -> Option<Instant> {
        // The backoff after a failure delays the retry of one revision. It must not delay a newer one.
        (self.lookup_due < self.due).then_some(self.lookup_due)
    }

    /// Schedules the lookup after one that starts now.
    pub(crate) fn on_lookup(&mut self, now: Instant, jitter: f64) {
        self.lookup_due = now + jittered(self.interval, jitter);
    }

    /// Makes a pass due at `then` at the latest.
    pub(crate) fn no_later_than(&mut self, then: Instant) {
        self.due = self.due.min(then);
    }

    /// Returns the time before which no pass may use this token: a rejected token is probed every five
    /// minutes.
    pub(crate) fn rejected_until(&self, now: Instant, token: Option<&str>) -> Option<Instant> {
        let (rejected, until) = self.rejected.as_ref()?;
        // Another token is tried immediately (src/daemon/README.md, "Triggers and schedule").
        (rejected.as_deref() == token && now < *until).then_some(*until)
    }

    /// Returns the end of the wait that the service asked for. No pass starts before, not even for a newer
    /// commit.
    pub(crate) fn held_until(&self, now: Instant) -> Option<Instant> {
        self.held_until.filter(|until| now < *until)
    }

    /// Postpones a pass that is not allowed before `until`. The source is looked up meanwhile.
    pub(crate) fn defer(&mut self, now: Instant, until: Instant) {
        // The token may be replaced meanwhile.
        self.due = until.min(now + TOKEN_CHECK);
    }

    /// Lets the next pass use a token that was rejected, because of a newer commit or a webhook: access may have been
    /// restored.
    pub(crate) fn forget_rejection(&mut self) {
        self.rejected = None;
    }

    /// Begins the backoff anew, and lets the next pass use a token that was rejected: an operator may have repaired
    /// what failed.
    pub(crate) fn forget_failures(&mut self) {
        self.forget_rejection();
        (self.failures, self.has_failed_unplanned) = (0, false);
    }

    /// Makes a pass due after `wait` at the latest, unless passes fail: then their backoff applies.
    pub(crate) fn retry_after(&mut self, now: Instant, wait: Duration) {
        if self.failures == 0 {
            self.no_later_than(now + wait);
        }
    }

    /// Returns the requests that the next pass does not send: refused and held ones, and `alone`, whose retry
    /// is not due yet. None if an operator ordered to try every request.
    pub(crate) fn parked(&mut self, alone: HeldRequests) -> HeldRequests {
        if std::mem::take(&mut self.is_unparked) {
            HeldRequests::new()
        } else {
            self.parked.clone().into_iter().chain(alone).collect()
        }
    }

    /// Lets the next pass read the held toggles again, because the service may have changed.
    pub(crate) fn release_held(&mut self) {
        self.parked.retain(|_, parked| !is_compared(&parked.hold));
    }

    /// Lets the next pass try every request.
    pub(crate) fn unpark_all(&mut self) {
        self.parked.clear();
        self.is_unparked = true;
    }

    /// Schedules the next pass after one with this outcome. `token` is the fingerprint of the token that the
    /// pass used; `jitter` is a random number in `0.0..=1.0`.
    pub(crate) fn on_pass_finished(
        &mut self,
        outcome: &PassOutcome,
        token: Option<String>,
        now: Instant,
        jitter: f64,
    ) {
        for id in &outcome.applied {
            self.parked.remove(id);
        }
        if outcome.is_planned() {
            // A change that was reverted is a new one when it returns.
            let wanted = outcome.wanted();
            self.parked.retain(|id, _| wanted.contains(id));
            self.rejected = None;
        }
        let is_kept = |parked: &HeldRequest| self.scans == DriftScans::On || !is_compared(&parked.hold);
        let parked = outcome.parked.iter().filter(|(_, parked)| is_kept(parked));
        self.parked.extend(parked.cloned());
        if let Some(wait) = outcome.held_back {
            self.held_until = Some(now + wait);
        }
        if outcome.token_rejected {
            self.rejected = Some((token, now + PROBE_INTERVAL));
        }
        // A failed pass that was requested before it was due must not make the backoff longer.
        let retry_due = Some(self.due).filter(|due| now < *due && self.failures > 0);
        let has_failed = outcome.failed || outcome.unfinished;
        self.failures = match has_failed {
            // Failures of the Git host say nothing about the service.
            true if self.has_failed_unplanned && outcome.is_planned() => 1,
            true if retry_due.is_some() => self.failures,
            true => self.failures.saturating_add(1),
            false => 0,
        };
        self.has_failed_unplanned = has_failed && !outcome.is_planned();
        let next = match (outcome.interrupted, self.failures) {
            // A pass is interrupted for something newer, which must not wait.
            (true, _) => Duration::ZERO,
            (false, 0) => jittered(self.interval, jitter),
            (false, failures) => {
                let wait = pass_backoff(failures, jitter);
                retry_due.map_or(wait, |due| wait.min(due - now))
            }
        };
        let due = now + next;
        // `Retry-After` holds back later passes as well, even for a newer commit (src/pass/README.md, "One
        // toggle is not evidence").
        self.due = self.held_until.map_or(due, |until| due.max(until));
        self.on_lookup(now, jitter);
    }
}

/// Returns whether a change was held after a comparison with the service, which the next scan may show to be
/// outdated.
fn is_compared(hold: &Hold) -> bool {
    hold.is_live() || hold.is_recordable()
}

/// The interval at which a rejected token is compared with its file.
const TOKEN_CHECK: Duration = Duration::from_secs(10);

/// Returns the interval ± 10 %, so that many daemons do not look up the source at the same time.
pub(super) fn jittered(interval: Duration, jitter: f64) -> Duration {
    interval.mul_f64(0.9 + 0.2 * jitter.clamp(0.0, 1.0))
}

/// The result of a pass, as far as the next one depends on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PassOutcome {
    pub(super) failed: bool,
    pub(super) interrupted: bool,
    pub(super) token_rejected: bool,
    /// The wait that the service asked for.
    pub(super) held_back: Option<Duration>,
    /// Whether a change is still to be sent that did not fail alone.
    pub(super) unfinished: bool,
    pub(super) applied: Vec<FoldedId>,
    /// The changes that the service refused, or that the live state of their toggles held.
    pub(super) parked: Vec<(FoldedId, HeldRequest)>,
    /// The plan, if the pass made one.
    pub(super) plan: Option<Arc<Plan>>,
}

impl PassOutcome {
    /// Returns the outcome of a pass that made no report.
    pub(crate) fn failed() -> Self {
        Self { failed: true, ..Self::default() }
    }

    pub(crate) fn of(result: &Result<Report, Error>) -> Self {
        let Ok(report) = result else {
            return Self::failed();
        };
        let mut outcome = Self {
            failed: report.error.is_some() || report.failure().is_some(),
            interrupted: report.stopped == Some(StopReason::Interrupted),
            token_rejected: matches!(report.stopped, Some(StopReason::Unauthorized(..))),
            held_back: report.held_back,
            plan: Some(Arc::clone(&report.plan)),
            ..Self::default()
        };
        for (change, result) in report.lines() {
            match result {
                ChangeResult::Applied | ChangeResult::Converged => outcome.applied.push(change.id.folded()),
                ChangeResult::Held(hold) if result.is_refused() || is_compared(hold) => {
                    let parked = HeldRequest::new(change.request(), Hold::clone(hold));
                    outcome.parked.push((change.id.folded(), parked));
                }
                ChangeResult::NotSent => outcome.unfinished = true,
                // A backoff per toggle applies to one that failed alone, and readiness is not affected
                // (src/pass/README.md, "One toggle is not evidence").
                ChangeResult::Held(_) => outcome.unfinished |= result.is_pending(),
            }
        }
        outcome
    }

    /// Returns whether the pass got as far as a plan.
    pub(super) fn is_planned(&self) -> bool {
        self.plan.is_some()
    }

    /// Returns the toggles that the pass wanted to publish, or would have if they were not parked.
    pub(super) fn wanted(&self) -> HashSet<FoldedId> {
        let Some(plan) = &self.plan else {
            return HashSet::new();
        };
        let is_parked = |hold: &Hold| is_compared(hold) || hold.is_refused();
        let held = plan.withheld().iter().filter(|held| is_parked(&held.hold));
        let wanted = plan.changes().iter().map(|change| &change.id).chain(held.map(|held| &held.id));
        wanted.map(ToggleId::folded).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Hold, HoldKind};

    const INTERVAL: Duration = Duration::from_secs(30);

    fn id(text: &str) -> FoldedId {
        text.parse::<ToggleId>().unwrap().folded()
    }

    fn parked() -> HeldRequest {
        HeldRequest::new(crate::model::RequestDigest::default(), Hold::new(HoldKind::Refused, "no"))
    }

    #[test]
    fn after_a_success_the_interval_applies_and_after_failures_a_growing_backoff() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL, DriftScans::On);
        schedule.on_pass_finished(&PassOutcome::default(), None, now, 0.5);
        assert_eq!(schedule.due(), now + INTERVAL);
        let failed = PassOutcome { failed: true, ..PassOutcome::default() };
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
    fn a_pass_requested_during_an_outage_does_not_extend_the_backoff() {
        let mut schedule = Schedule::new(INTERVAL, DriftScans::On);
        let failed = PassOutcome { failed: true, ..PassOutcome::default() };
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
    fn failures_of_the_source_do_not_count_against_the_service() {
        let mut schedule = Schedule::new(INTERVAL, DriftScans::On);
        for _ in 0..8 {
            schedule.on_pass_finished(&PassOutcome::failed(), None, schedule.due(), 1.0);
        }
        let (now, plan) = (schedule.due(), Some(Arc::new(crate::plan::tests::rich())));
        let of_service = PassOutcome { plan, ..PassOutcome::failed() };
        for wait in [2, 4, 8] {
            let now = schedule.due();
            schedule.on_pass_finished(&of_service, None, now, 1.0);
            assert_eq!(schedule.due(), now + Duration::from_secs(wait));
        }
        // For a newer commit, the pass comes before the backoff of the source is over.
        for _ in 0..8 {
            schedule.on_pass_finished(&PassOutcome::failed(), None, schedule.due(), 1.0);
        }
        assert!(schedule.due() > now + Duration::from_secs(200));
        let now = schedule.due() - Duration::from_secs(100);
        schedule.on_pass_finished(&of_service, None, now, 1.0);
        assert_eq!(schedule.due(), now + Duration::from_secs(2));
    }

    #[test]
    fn while_a_failed_pass_waits_for_its_retry_the_source_is_looked_up_at_its_interval() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL, DriftScans::On);
        schedule.on_pass_finished(&PassOutcome::default(), None, now, 0.5);
        assert_eq!(schedule.lookup_due(), None, "the pass itself looks up the source");
        let failed = PassOutcome { failed: true, ..PassOutcome::default() };
        for _ in 0..8 {
            schedule.on_pass_finished(&failed, None, schedule.due(), 0.5);
        }
        let now = schedule.due();
        schedule.on_pass_finished(&failed, None, now, 0.5);
        assert_eq!(schedule.due(), now + Duration::from_secs(225));
        let mut lookups = Vec::new();
        while let Some(due) = schedule.lookup_due() {
            lookups.push((due - now).as_secs());
            schedule.on_lookup(due, 0.5);
        }
        assert_eq!(lookups, [30, 60, 90, 120, 150, 180, 210]);
    }

    #[test]
    fn a_pass_can_become_due_sooner_and_never_later() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL, DriftScans::On);
        schedule.on_pass_finished(&PassOutcome::default(), None, now, 0.5);
        schedule.no_later_than(now + INTERVAL * 2);
        assert_eq!(schedule.due(), now + INTERVAL);
        schedule.no_later_than(now + INTERVAL / 2);
        assert_eq!(schedule.due(), now + INTERVAL / 2);
    }

    #[test]
    fn a_refused_toggle_is_parked_until_an_operator_unparks_it_or_it_is_applied() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL, DriftScans::On);
        for applied in ["a/b/c", "A/b/C"] {
            let refused = PassOutcome { parked: vec![(id("a/b/c"), parked())], ..PassOutcome::default() };
            schedule.on_pass_finished(&refused, None, now, 0.5);
            assert_eq!(schedule.parked(HeldRequests::new()).len(), 1);
            schedule.unpark_all();
            assert!(schedule.parked(HeldRequests::new()).is_empty());
            schedule.on_pass_finished(&refused, None, now, 0.5);
            let applied = PassOutcome { applied: vec![id(applied)], ..PassOutcome::default() };
            schedule.on_pass_finished(&applied, None, now, 0.5);
            assert!(schedule.parked(HeldRequests::new()).is_empty());
        }
    }

    #[test]
    fn a_toggle_that_failed_alone_is_due_after_its_backoff_unless_passes_fail() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL, DriftScans::On);
        schedule.on_pass_finished(&PassOutcome::default(), None, now, 0.5);
        schedule.retry_after(now, Duration::from_secs(7));
        assert_eq!(schedule.due(), now + Duration::from_secs(7));
        let failed = PassOutcome { failed: true, ..PassOutcome::default() };
        for _ in 0..8 {
            schedule.on_pass_finished(&failed, None, schedule.due(), 1.0);
        }
        let due = schedule.due();
        schedule.retry_after(now, Duration::from_secs(1));
        assert_eq!(schedule.due(), due);
    }

    #[test]
    fn unparking_applies_to_one_pass() {
        let mut schedule = Schedule::new(INTERVAL, DriftScans::On);
        let alone = HeldRequests::from([(id("a/b/c"), parked())]);
        assert_eq!(schedule.parked(alone.clone()).len(), 1);
        schedule.unpark_all();
        assert!(schedule.parked(alone.clone()).is_empty());
        assert_eq!(schedule.parked(alone).len(), 1);
    }

    #[test]
    fn a_rejected_token_is_probed_every_five_minutes_and_a_new_one_immediately() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL, DriftScans::On);
        let rejected = PassOutcome { failed: true, token_rejected: true, ..PassOutcome::default() };
        schedule.on_pass_finished(&rejected, Some("old".into()), now, 0.5);
        let probe = now + Duration::from_secs(300);
        let rejected = |after, token| schedule.rejected_until(now + Duration::from_secs(after), Some(token));
        assert_eq!(rejected(299, "old"), Some(probe));
        assert_eq!(rejected(300, "old"), None);
        assert_eq!(rejected(0, "new"), None);
        schedule.defer(now, probe);
        assert_eq!(schedule.due(), now + TOKEN_CHECK, "the file may hold another one");
        schedule.defer(probe - Duration::from_secs(1), probe);
        assert_eq!(schedule.due(), probe);
    }

    #[test]
    fn retry_after_delays_every_pass_also_one_for_a_newer_commit() {
        let now = Instant::now();
        let wait = Duration::from_secs(40);
        for (failed, interrupted) in [(true, false), (false, true), (false, false)] {
            let mut schedule = Schedule::new(INTERVAL, DriftScans::On);
            let outcome = PassOutcome {
                failed,
                interrupted,
                held_back: Some(wait),
                unfinished: true,
                ..PassOutcome::default()
            };
            schedule.on_pass_finished(&outcome, None, now, 0.5);
            assert_eq!(schedule.due(), now + wait);
            assert_eq!(schedule.held_until(now), Some(now + wait));
            assert_eq!(schedule.held_until(now + wait), None);
        }
    }

    #[test]
    fn an_interrupted_pass_is_followed_immediately_by_another_over_everything() {
        let now = Instant::now();
        let mut schedule = Schedule::new(INTERVAL, DriftScans::On);
        let interrupted = PassOutcome {
            interrupted: true,
            applied: vec![id("a/b/d")],
            unfinished: true,
            ..PassOutcome::default()
        };
        schedule.on_pass_finished(&interrupted, None, now, 0.5);
        assert_eq!(schedule.due(), now);
        assert!(schedule.parked(HeldRequests::new()).is_empty());
    }
}
