//! Keeps the driver's state between passes, and logs what has changed from one pass to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::daemon::drift::DriftState;
use crate::daemon::probe::HeadProbe;
use crate::daemon::schedule::{DriftScans, PassOutcome, Schedule};
use crate::daemon::status::{PassResult, ToggleStatus, Withheld};
use crate::model::{CommitId, EnvironmentId, HoldKind, Override, Suspensions, ToggleState};
use crate::pass::publish::tries;
use crate::pass::{ChangeResult, Error, PassInputs, Reconciler, Report, StopReason};
use crate::plan::{FETCH_ALL, HISTORY_CUT, LiveDifferences, OnDrift, guessed};
use crate::state::Revisions;

/// The number of environments that one log line names.
const MOST_ENVIRONMENTS: usize = 10;

/// The number of newly held toggles that are logged one by one after a pass.
const MOST_HELD: usize = 20;
/// The largest group of newly held toggles, by environment and reason, that is logged toggle by toggle.
const SMALL_GROUP: usize = 5;

/// The driver's state between passes. It outlives the reconciler.
pub(super) struct LoopState {
    pub(super) schedule: Schedule,
    pub(super) drift: DriftState,
    pub(super) probe: HeadProbe,
    /// The source revision of the last pass; none if that pass found none, so that any revision is new.
    pub(super) seen: Option<CommitId>,
    /// The wall time at which a suspension ends or a change window opens, in seconds since 1970-01-01 UTC.
    /// Compared with the clock, because a wait would be wrong if that is set or the machine sleeps.
    pub(super) wakes_at: Option<i64>,
    /// The environments of which a state folder had records that is no longer in its place.
    pub(super) lost: Option<BTreeSet<EnvironmentId>>,
    /// The suspensions of a state folder that is no longer in its place.
    pub(super) suspensions: Suspensions,
    /// Why the last pass failed.
    failure: Option<String>,
    notes: Vec<String>,
    withheld: Withheld,
    is_history_cut: bool,
    /// The revision at which each toggle was applied.
    pub(super) revisions: Revisions,
}

impl LoopState {
    pub(super) fn new(interval: Duration, drift_interval: Duration, probe: HeadProbe) -> Self {
        Self {
            schedule: Schedule::new(
                interval,
                if drift_interval.is_zero() { DriftScans::Off } else { DriftScans::On },
            ),
            drift: DriftState::new(drift_interval),
            probe,
            seen: None,
            wakes_at: None,
            lost: None,
            suspensions: Suspensions::default(),
            failure: None,
            notes: Vec::new(),
            withheld: Withheld::default(),
            is_history_cut: false,
            revisions: Revisions::default(),
        }
    }

    /// Returns the results of earlier passes, for the next one.
    pub(super) fn inputs(&mut self, reconciler: &Reconciler, now: i64) -> PassInputs {
        let alone = tries::parked(&reconciler.view().failures().tries, now);
        PassInputs {
            parked: self.schedule.parked(alone),
            // Otherwise each pass would have to plan as long as there is drift.
            drifted: if overwrites_drift(reconciler) {
                self.drift.differences()
            } else {
                LiveDifferences::new()
            },
            is_daemon: true,
            ..PassInputs::default()
        }
    }

    /// Lets the next pass try every request, and compares the service after it: an operator asked for the
    /// truth.
    pub(super) fn retry_parked(&mut self) {
        self.forget_failures();
        self.schedule.unpark_all();
        self.drift.set_due(Instant::now());
    }

    /// Forgets what failed before, because of an order.
    pub(super) fn forget_failures(&mut self) {
        self.schedule.forget_failures();
        self.probe.forget_failures();
    }

    /// Returns whether `head` is another revision than that of the last pass.
    pub(super) fn is_new(&self, head: Option<CommitId>) -> bool {
        head.is_some() && head != self.seen
    }

    /// Returns whether a lookup found another revision than that of the last pass. Then the next pass uses a
    /// token that was rejected, because access may have been restored.
    pub(super) fn on_found(&mut self, head: Option<CommitId>) -> bool {
        let is_new = self.is_new(head);
        if is_new {
            self.schedule.forget_rejection();
        }
        is_new
    }

    /// Lets the next pass use a token that was rejected, and looks up the source again some times: the Git
    /// host announced a push, perhaps before a lookup can find it.
    pub(super) fn on_delivery(&mut self, delivered: Instant) {
        self.schedule.forget_rejection();
        self.probe.expect(delivered);
    }

    /// Returns whether a local ref has moved since the last pass, or has become unreadable.
    pub(super) fn is_ref_moved(&mut self) -> bool {
        let head = self.probe.local_head();
        // A pass reports why the ref cannot be read.
        self.on_found(head) || self.seen.is_some() && self.probe.is_lost()
    }

    /// Updates the schedule with the outcome of a pass and the fingerprint of the token that it used.
    pub(super) fn on_pass_finished(&mut self, outcome: &PassOutcome, token: Option<String>) {
        self.schedule.on_pass_finished(outcome, token, Instant::now(), fastrand::f64());
    }

    /// Logs the notes that the pass before did not have.
    pub(super) fn log_notes(&mut self, notes: &[String]) {
        for note in notes.iter().filter(|note| !self.notes.contains(note)) {
            tracing::warn!(name: "note", note, "noticed");
        }
        self.notes = notes.to_vec();
    }

    /// Warns once that the history is cut, and after each pass that sent guesses.
    pub(super) fn log_guesses(&mut self, report: &Report) {
        let was_cut = std::mem::replace(&mut self.is_history_cut, report.plan.is_history_cut());
        if self.is_history_cut && !was_cut {
            tracing::warn!(name: "history_cut", hint = FETCH_ALL, "{HISTORY_CUT}");
        }
        let sent = report.plan.sent_guesses();
        if sent > 0 && !report.results.is_empty() {
            tracing::warn!(name: "guessed", changes = sent, hint = FETCH_ALL, "{}", guessed(sent));
        }
    }

    /// Logs the withheld toggles if they differ from those of the pass before.
    pub(super) fn log_withheld(&mut self, withheld: &Withheld) {
        if *withheld == self.withheld {
            return;
        }
        self.withheld = withheld.clone();
        if withheld.is_empty() {
            tracing::info!(name: "released", "nothing is withheld anymore");
            return;
        }
        let count = |state| Some(withheld.in_state(state)).filter(|count| *count > 0);
        let reasons: Vec<_> = HoldKind::ALL
            .into_iter()
            .map(|reason| (reason.as_str(), withheld.because_of(reason)))
            .filter(|(_, count)| *count > 0)
            .map(|(reason, count)| format!("{reason}={count}"))
            .collect();
        tracing::warn!(
            name: "withheld",
            drifted = count(ToggleState::Drifted),
            held = count(ToggleState::Held),
            failed = count(ToggleState::Failed),
            pending = count(ToggleState::Pending),
            reasons = reasons.join(" "),
            environment_count = withheld.environments().len(),
            environments = withheld.places(MOST_ENVIRONMENTS),
            "{withheld}"
        );
    }

    /// Logs the toggles that this pass held and the pass before did not. Only counts a large group.
    pub(super) fn log_held(before: &[ToggleStatus], after: &[ToggleStatus]) {
        let is_known = |toggle: &ToggleStatus| {
            let place = before.binary_search_by(|known| known.toggle.cmp(&toggle.toggle));
            place.is_ok_and(|place| {
                (before[place].state(), before[place].kind()) == (toggle.state(), toggle.kind())
            })
        };
        // The pass that read a toggle has logged what the service has.
        let is_logged = |toggle: &&ToggleStatus| toggle.kind().is_some_and(HoldKind::is_live);
        let held = after.iter().filter(|toggle| toggle.state() == ToggleState::Held);
        let held = held.filter(|toggle| !is_logged(toggle));
        let new: Vec<_> = held.filter(|toggle| !is_known(toggle)).collect();
        let group = |toggle: &ToggleStatus| (toggle.toggle.environment(), toggle.kind());
        let mut groups: BTreeMap<_, Vec<&ToggleStatus>> = BTreeMap::new();
        for toggle in new {
            groups.entry(group(toggle)).or_default().push(toggle);
        }
        // Large groups, such as the first pass of an environment, would hide exceptional toggles.
        let (large, small): (Vec<_>, Vec<_>) = groups.values().partition(|group| group.len() > SMALL_GROUP);
        let small: Vec<_> = small.into_iter().flatten().collect();
        for toggle in small.iter().take(MOST_HELD) {
            let (kind, reason) = (toggle.kind().map(HoldKind::as_str), toggle.explanation());
            tracing::info!(name: "held", toggle = %toggle.toggle, kind, reason, "held");
        }
        for group in large.iter().take(MOST_HELD) {
            let (count, environment) = (group.len(), group[0].toggle.environment());
            let (kind, reason) = (group[0].kind().map(HoldKind::as_str), group[0].explanation());
            tracing::info!(name: "held_more", count, %environment, kind, reason, "a group of toggles held, with the reason of the first");
        }
        let rest = large.iter().skip(MOST_HELD).map(|group| group.len());
        let count = rest.sum::<usize>() + small.len().saturating_sub(MOST_HELD);
        if count > 0 {
            tracing::info!(name: "held_more", count, "more toggles held; `GET /api/status` lists them");
        }
    }

    /// Logs the counts of a pass with many changes, of which only those that were not applied are logged one
    /// by one.
    pub(super) fn log_applied(report: &Report) {
        let count = report.lines().count();
        if count <= Report::MANY {
            return;
        }
        let applied = report.count(ChangeResult::is_recorded);
        let failed = report.count(ChangeResult::has_failed);
        let held = report.count(ChangeResult::is_held);
        let pending = count - applied - failed - held;
        tracing::info!(name: "applied", applied, failed, held, pending, "applied {applied} of {count} changes");
    }

    /// Logs once that passes fail, and once that they have recovered.
    pub(super) fn log_result(&mut self, result: &PassResult) {
        let before = std::mem::replace(&mut self.failure, result.failure().map(str::to_owned));
        match &self.failure {
            Some(reason) if before.as_ref() != Some(reason) => {
                tracing::error!(name: "pass_failed", reason, "the pass failed");
            }
            None if before.is_some() => tracing::info!(name: "recovered", "recovered"),
            _ => {}
        }
    }
}

/// Returns whether a pass may publish over what was changed on the service only.
pub(super) fn overwrites_drift(reconciler: &Reconciler) -> bool {
    let mut allowances = reconciler.view().allowances().iter();
    reconciler.config().rules.policy.on_drift == OnDrift::Overwrite
        || allowances.any(|allowance| allowance.what == Override::OverwriteDrift)
}

/// Classifies a pass; none if it was interrupted.
pub(super) fn pass_result(result: &Result<Report, Error>) -> Option<PassResult> {
    Some(match result {
        Err(error) => PassResult::of_error(error),
        Ok(Report { error: Some(error), .. }) => PassResult::of_error(error),
        Ok(report) => match report.failure() {
            Some(reason) => {
                let stopped = report.stopped.as_ref();
                PassResult::failed(reason, stopped.is_some_and(StopReason::needs_someone))
            }
            // The next pass follows immediately, and its result counts.
            None if report.stopped == Some(StopReason::Interrupted) => return None,
            None if report.is_nothing() => PassResult::Noop,
            None => PassResult::Success,
        },
    })
}
