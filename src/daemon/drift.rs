//! Keeps what scans for drift have found, decides when the next scan is due, and reports changes.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::schedule::jittered;
use super::status::{DriftFacts, ScanFailure, ScanFailureExtent, ToggleStatus};
use crate::drift::DriftScanner;
use crate::model::{Hold, HoldKind, ToggleId, ToggleState};
use crate::pass::{Reconciler, Report};
use crate::plan::{DriftedToggle, LiveDifferences};

/// The number of toggles that one scan logs one by one.
const MOST_LOGGED: usize = 20;

/// The pause before a scan while another process publishes.
const ANOTHER_PASS: Duration = Duration::from_secs(10);

/// The longest pause before a failed scan is repeated, which doubles with each, and the longest one while the
/// service is out of order.
const FIRST_REPETITION: Duration = Duration::from_secs(10);
const LONGEST_REPETITION: Duration = Duration::from_secs(60);

/// Why no scan has compared the service since a pass has reached it.
const REFUTED: &str = "the last scan for drift could not read the service; a pass has reached it since, and the next scan follows";

/// The driver's state between scans.
#[derive(Debug)]
pub(super) struct DriftState {
    /// Zero if nothing is scanned.
    interval: Duration,
    /// None before the first pass.
    due: Option<Instant>,
    /// None before the first pass, and while a scan runs.
    pub(super) scanner: Option<DriftScanner>,
    pub(super) facts: DriftFacts,
    /// The applied toggles whose document was removed, as of the last pass.
    orphans: BTreeSet<ToggleId>,
    /// Why the last scan did not compare every toggle.
    pub(super) failure: Option<ScanFailure>,
    /// The number of scans in a row that failed.
    failures: u32,
    /// Whether the last scan failed for a reason that the next pass would meet as well.
    is_service_failing: bool,
}

impl DriftState {
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            due: None,
            scanner: None,
            facts: DriftFacts::new(),
            orphans: BTreeSet::new(),
            failure: None,
            failures: 0,
            is_service_failing: false,
        }
    }

    /// Returns the time of the next scan; none without one.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due.filter(|_| !self.interval.is_zero())
    }

    /// Schedules the first scan, which follows the first pass.
    pub(super) fn on_pass_finished(&mut self, now: Instant) {
        self.due.get_or_insert(now);
    }

    pub(super) fn drifted(&self) -> Vec<DriftedToggle> {
        self.scanner.as_ref().map(DriftScanner::drifted).unwrap_or_default()
    }

    pub(super) fn differences(&self) -> LiveDifferences {
        let scanner = self.scanner.as_ref();
        scanner.map(DriftScanner::differences).unwrap_or_default()
    }

    /// Takes over what an earlier process has found out, until a scan of this one has compared it again.
    pub(super) fn recall(&mut self, reconciler: &Reconciler) {
        if self.scanner.is_some() || self.interval.is_zero() {
            return;
        }
        let config = reconciler.config();
        let opened = DriftScanner::open(config).and_then(|mut scanner| {
            scanner.forget_replaced(reconciler.view(), &config.rules)?;
            Ok(scanner)
        });
        // The first scan reports why it cannot be opened.
        if let Ok(scanner) = opened {
            self.replace(scanner.facts());
            self.scanner = Some(scanner);
        }
    }

    /// Returns whether a scan is still to find out what differs.
    pub(super) fn awaits_scan(&self) -> bool {
        let has_compared = self.scanner.as_ref().is_some_and(DriftScanner::has_compared);
        !self.interval.is_zero() && !has_compared
    }

    /// Makes a scan due at `then`.
    pub(super) fn set_due(&mut self, then: Instant) {
        // Not before the first pass, which determines what is applied.
        self.due = self.due.map(|_| then);
    }

    /// Takes note at `now` that a pass published or recorded a change. That refutes a failure of the whole
    /// service, so only the next scan shows what fails.
    pub(super) fn on_published(&mut self, now: Instant) {
        if self.failure.is_none() {
            return;
        }
        self.set_due(now);
        if std::mem::take(&mut self.is_service_failing) {
            let (reason, extent) = (REFUTED.to_owned(), ScanFailureExtent::Toggles);
            self.failure = Some(ScanFailure { reason, extent });
        }
    }

    /// Schedules the scan after one that ended at `now`. `jitter` is a random number in `0.0..=1.0`.
    pub(super) fn schedule(&mut self, now: Instant, jitter: f64) {
        let is_confirmed = self.failure.as_ref().is_some_and(ScanFailure::is_of_service);
        let longest = match self.failures.checked_sub(1) {
            None => self.interval,
            Some(before) => FIRST_REPETITION.saturating_mul(1_u32.checked_shl(before).unwrap_or(u32::MAX)),
        };
        // A service that responds again is ready soon; a toggle that cannot be read may stay so.
        let longest = if is_confirmed { longest.min(LONGEST_REPETITION) } else { longest };
        self.due = Some(now + jittered(self.interval.min(longest), jitter));
    }

    /// Schedules a scan for the time when another process may have ended its pass.
    pub(super) fn schedule_soon(&mut self, now: Instant) {
        self.due = Some(now + self.interval.min(ANOTHER_PASS));
    }

    /// Ends the differences of toggles that a pass has applied or recorded. Returns what is left.
    pub(super) fn settle(&mut self, report: &Report) -> &DriftFacts {
        if let Some(scanner) = &mut self.scanner {
            scanner.settle(report);
            let facts = scanner.facts();
            self.replace(facts);
        }
        &self.facts
    }

    /// Takes note of the toggles whose document was removed.
    pub(super) fn set_orphans(&mut self, toggles: &[ToggleStatus]) {
        let orphans = toggles.iter().filter(|toggle| toggle.state() == ToggleState::Orphan);
        self.orphans = orphans.map(|toggle| toggle.toggle.clone()).collect();
    }

    /// Replaces the facts, and logs what has changed. Returns the facts before.
    pub(super) fn replace(&mut self, mut facts: DriftFacts) -> DriftFacts {
        // One that is archived and has no document needs nothing.
        let orphans = std::mem::take(&mut self.orphans);
        let is_settled =
            |id: &ToggleId, fact: &Hold| fact.kind == Some(HoldKind::Archived) && orphans.contains(id);
        facts.retain(|id, fact| !is_settled(id, fact));
        let before = std::mem::replace(&mut self.facts, facts);
        let new = self.facts.iter().filter(|(id, fact)| before.get(*id) != Some(fact));
        let new: Vec<_> = new.collect();
        for (toggle, fact) in new.iter().take(MOST_LOGGED) {
            let (kind, reason) = (fact.kind.map(HoldKind::as_str), fact.reason());
            match fact.kind {
                Some(HoldKind::Archived) => {
                    tracing::warn!(name: "archived", %toggle, kind, reason, "archived on the service");
                }
                _ => tracing::warn!(name: "drifted", %toggle, kind, reason, "drifted"),
            }
        }
        let more = new.len().saturating_sub(MOST_LOGGED);
        if more > 0 {
            tracing::warn!(name: "drifted", count = more, "more toggles drifted or were archived; `GET /api/status` lists them");
        }
        // An archived one whose document was removed may still be archived.
        let is_ended =
            |(id, fact): &(&ToggleId, &Hold)| !self.facts.contains_key(*id) && !is_settled(id, fact);
        let ended: Vec<_> = before.iter().filter(is_ended).map(|(id, _)| id).collect();
        for toggle in ended.iter().take(MOST_LOGGED) {
            match before[*toggle].kind {
                Some(HoldKind::Archived) => {
                    tracing::info!(name: "archive_ended", %toggle, "no longer archived on the service");
                }
                _ => tracing::info!(name: "drift_ended", %toggle, "no longer drifted"),
            }
        }
        let more = ended.len().saturating_sub(MOST_LOGGED);
        if more > 0 {
            tracing::info!(name: "drift_ended", count = more, "more toggles are no longer drifted or archived");
        }
        self.orphans = orphans;
        before
    }

    /// Takes over why the last scan failed. Logs once why scans fail, and once that they have recovered.
    pub(super) fn on_failure(&mut self, mut failure: Option<ScanFailure>) {
        self.failures = if failure.is_some() { self.failures.saturating_add(1) } else { 0 };
        let is_of_service = failure.as_ref().is_some_and(ScanFailure::is_of_service);
        let is_confirmed = std::mem::replace(&mut self.is_service_failing, is_of_service);
        // One scan may meet a service that restarts.
        if let Some(failure) = failure.as_mut().filter(|_| !is_confirmed) {
            failure.extent = ScanFailureExtent::Toggles;
        }
        let known = self.failure.as_ref().map(|known| &known.reason);
        match &failure {
            Some(ScanFailure { reason, .. }) if known != Some(reason) => {
                tracing::warn!(name: "drift_scan_failed", reason, "the service could not be compared with what was applied");
            }
            None if self.failure.is_some() => {
                tracing::info!(name: "drift_scan_recovered", "every toggle can be compared again");
            }
            Some(_) | None => {}
        }
        self.failure = failure;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_scan_follows_the_first_pass_and_an_interval_of_zero_turns_scans_off() {
        let now = Instant::now();
        let mut state = DriftState::new(Duration::from_secs(600));
        state.set_due(now);
        assert_eq!(state.due(), None);
        state.on_pass_finished(now);
        assert_eq!(state.due(), Some(now));
        state.schedule(now, 0.5);
        state.on_pass_finished(now);
        assert_eq!(state.due(), Some(now + Duration::from_secs(600)));
        state.set_due(now);
        assert_eq!(state.due(), Some(now));
        let mut off = DriftState::new(Duration::ZERO);
        off.on_pass_finished(now);
        assert_eq!(off.due(), None);
    }

    #[test]
    fn a_pass_that_publishes_refutes_a_failure_of_the_service_and_not_one_of_toggles() {
        let now = Instant::now();
        let mut state = DriftState::new(Duration::from_secs(600));
        state.on_pass_finished(now);
        for is_of_service in [true, false] {
            let failure = || match is_of_service {
                true => ScanFailure::of_service("401".to_owned(), true),
                false => ScanFailure { reason: "one".to_owned(), extent: ScanFailureExtent::Toggles },
            };
            for _ in 0..2 {
                state.on_failure(Some(failure()));
            }
            state.schedule(now, 0.5);
            state.on_published(now);
            assert_eq!(state.due(), Some(now), "the next scan shows what fails");
            let left = state.failure.clone().unwrap();
            assert_eq!((left.reason == REFUTED, left.is_of_service()), (is_of_service, false));
            state.on_failure(Some(failure()));
            assert!(!state.failure.as_ref().unwrap().is_of_service(), "one scan is no evidence");
            state.on_failure(None);
        }
        state.schedule(now, 0.5);
        state.on_published(now);
        assert_eq!(state.due(), Some(now + Duration::from_secs(600)), "no scan has failed");
    }

    #[test]
    fn a_failure_of_the_service_counts_once_a_second_scan_has_met_it() {
        let now = Instant::now();
        let mut state = DriftState::new(Duration::from_secs(600));
        let failure = || Some(ScanFailure::of_service("401".to_owned(), true));
        let mut seen = Vec::new();
        for failure in [failure(), failure(), failure(), failure(), None, failure()] {
            state.on_failure(failure);
            state.schedule(now, 0.5);
            let extent = state.failure.as_ref().map(|failure| failure.extent);
            seen.push((extent, state.due().unwrap().duration_since(now).as_secs()));
        }
        let (once, held) = (Some(ScanFailureExtent::Toggles), Some(ScanFailureExtent::ServiceHeld));
        assert_eq!(seen, [(once, 10), (held, 20), (held, 40), (held, 60), (None, 600), (once, 10)]);
    }
}
