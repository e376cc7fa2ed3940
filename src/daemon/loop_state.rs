//! What the driver remembers between passes, and what it says when passes fail and when they do not any more.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::pass_outcome::PassOutcome;
use super::schedule::Schedule;
use super::status::{PassResult, ToggleStatus, Withheld};
use crate::model::{CommitId, ToggleState, WithheldReason};
use crate::pass::planning::history_guard::HistoryGuard;
use crate::pass::publish::tries;
use crate::pass::{Reconciler, Report, StopReason};
use crate::plan::{FETCH_ALL, History};
use crate::state::Revisions;

/// How many environments one log line names.
const MOST_PLACES: usize = 10;

/// How many toggles that became held are logged one by one after a pass, and up to which number within one environment
/// and reason.
const MOST_HELD: usize = 20;
const SMALL_GROUP: usize = 5;

/// What the loop remembers between passes.
pub(super) struct LoopState {
    pub(super) schedule: Schedule,
    /// The revision that the last pass was about; nothing where it could not even see one, so that whatever is found
    /// then is news.
    pub(super) seen: Option<CommitId>,
    /// What is known about moves of the ref.
    history: HistoryGuard,
    /// Why the last pass failed, to say once that it did and once that it is over.
    trouble: Option<String>,
    /// What the last pass noticed.
    noted: Vec<String>,
    /// What the last pass did not do.
    withheld: Withheld,
    /// How much history the last pass found.
    past: History,
    /// At which revision each toggle was applied, as of the last pass that was reported.
    pub(super) revisions: Revisions,
}

impl LoopState {
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            schedule: Schedule::new(interval),
            seen: None,
            history: HistoryGuard::of_daemon(),
            trouble: None,
            noted: Vec::new(),
            withheld: Withheld::default(),
            past: History::default(),
            revisions: Revisions::default(),
        }
    }

    /// Gives a reconciler, which may be a new one, what earlier passes have learned.
    pub(super) fn lend(&mut self, writer: &mut Reconciler, now: i64) {
        let alone = tries::parked(writer.view().tries(), now);
        writer.parked = self.schedule.parked(alone);
        writer.history = std::mem::take(&mut self.history);
    }

    /// Takes back what a pass has learned.
    pub(super) fn take_back(&mut self, writer: &mut Reconciler, revisions: Revisions) {
        self.revisions = revisions;
        self.history = std::mem::take(&mut writer.history);
    }

    /// Returns whether the ref was found to lead elsewhere than the last pass saw.
    pub(super) fn is_news(&self, found: Option<CommitId>) -> bool {
        found.is_some() && found != self.seen
    }

    /// Takes in how a pass ended that was made with the token of this mark.
    pub(super) fn on_pass_finished(&mut self, ended: &PassOutcome, token: Option<String>) {
        self.schedule
            .on_pass_finished(ended, token, Instant::now(), fastrand::f64());
    }

    /// Says what the operator should know, once for as long as it stays the same.
    pub(super) fn note(&mut self, notes: &[String]) {
        for note in notes.iter().filter(|note| !self.noted.contains(note)) {
            tracing::warn!(name: "note", note, "noticed");
        }
        self.noted = notes.to_vec();
    }

    /// Warns when the history turns out to be cut, and with each pass that sent guesses.
    pub(super) fn guesses(&mut self, report: &Report) {
        let before = std::mem::replace(&mut self.past, report.plan.history());
        if (before, self.past) == (History::Complete, History::Cut) {
            tracing::warn!(name: "history_cut", hint = FETCH_ALL, "{}", History::CUT);
        }
        let sent = report.plan.sent_guesses();
        if let Some(guesses) = sent.filter(|_| !report.results.is_empty()) {
            tracing::warn!(name: "guessed", changes = guesses.0, hint = FETCH_ALL, "{guesses}");
        }
    }

    /// Logs what a pass did not do, once for as long as it stays the same.
    pub(super) fn withheld(&mut self, withheld: &Withheld) {
        if *withheld == self.withheld {
            return;
        }
        self.withheld = withheld.clone();
        if withheld.is_empty() {
            tracing::info!(name: "released", "nothing is withheld any more");
            return;
        }
        let count = |state| Some(withheld.in_state(state)).filter(|count| *count > 0);
        let reasons: Vec<_> = WithheldReason::ALL
            .into_iter()
            .map(|reason| (reason.as_str(), withheld.because_of(reason)))
            .filter(|(_, count)| *count > 0)
            .map(|(reason, count)| format!("{reason}={count}"))
            .collect();
        tracing::warn!(
            name: "withheld",
            held = count(ToggleState::Held),
            failed = count(ToggleState::Failed),
            pending = count(ToggleState::Pending),
            reasons = reasons.join(" "),
            environment_count = withheld.environments().len(),
            environments = withheld.places(MOST_PLACES),
            "{withheld}"
        );
    }

    /// Logs the toggles that this pass held and the one before did not. A large group, such as the first pass of an
    /// environment, is only counted, so that the few toggles with a reason of their own stand out.
    pub(super) fn held(before: &[ToggleStatus], after: &[ToggleStatus]) {
        let is_known = |toggle: &ToggleStatus| {
            let place = before.binary_search_by(|known| known.toggle.cmp(&toggle.toggle));
            place.is_ok_and(|place| (before[place].state, before[place].kind) == (toggle.state, toggle.kind))
        };
        let held = after.iter().filter(|toggle| toggle.state == ToggleState::Held);
        let news: Vec<_> = held.filter(|toggle| !is_known(toggle)).collect();
        let group = |toggle: &ToggleStatus| (toggle.toggle.environment(), toggle.kind);
        let mut sizes: BTreeMap<_, usize> = BTreeMap::new();
        for toggle in &news {
            *sizes.entry(group(toggle)).or_default() += 1;
        }
        let is_small = |toggle: &&&ToggleStatus| sizes[&group(toggle)] <= SMALL_GROUP;
        let listed: Vec<_> = news.iter().filter(is_small).take(MOST_HELD).collect();
        for toggle in &listed {
            let kind = toggle.kind.map(WithheldReason::as_str);
            tracing::info!(name: "held", toggle = %toggle.toggle, kind, reason = toggle.reason, "held");
        }
        let more = news.len() - listed.len();
        if more > 0 {
            tracing::info!(name: "held_more", count = more, "more toggles held; `GET /api/status` lists them");
        }
    }

    /// Says once that passes fail, and once that they do not any more.
    pub(super) fn tell(&mut self, outcome: &PassResult) {
        match outcome {
            PassResult::Failed(reason) if self.trouble.as_ref() != Some(reason) => {
                tracing::error!(name: "pass_failed", reason, "the pass failed");
                self.trouble = Some(reason.clone());
            }
            PassResult::Failed(_) => {}
            PassResult::Noop | PassResult::Success => {
                if self.trouble.take().is_some() {
                    tracing::info!(name: "recovered", "recovered");
                }
            }
        }
    }
}

/// Says in a word how a pass ended. One that was interrupted says nothing of the world: the next one does, at once.
pub(super) fn outcome(result: &Result<Report, String>) -> Option<PassResult> {
    Some(match result {
        Err(reason) => PassResult::Failed(reason.clone()),
        Ok(Report {
            error: Some(error), ..
        }) => PassResult::Failed(error.in_full()),
        Ok(report) => match report.failure() {
            Some(reason) => PassResult::Failed(reason),
            None if report.stopped == Some(StopReason::Interrupted) => return None,
            None if report.is_nothing() => PassResult::Noop,
            None => PassResult::Success,
        },
    })
}
