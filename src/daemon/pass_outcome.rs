//! Extracts from a report the data that the next pass depends on.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::model::{FoldedId, HeldRequest, Hold, HoldKind, ToggleId};
use crate::pass::{ChangeResult, Report, StopReason};
use crate::plan::Plan;

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
    pub(super) applied: Vec<ToggleId>,
    /// The changes that the service refused, or that the live state of their toggles held.
    pub(super) parked: Vec<(ToggleId, HeldRequest)>,
    /// The plan, if the pass made one.
    pub(super) plan: Option<Arc<Plan>>,
}

impl PassOutcome {
    pub(crate) fn of(result: &Result<Report, String>) -> Self {
        let Ok(report) = result else {
            return Self {
                failed: true,
                ..Self::default()
            };
        };
        let mut outcome = Self {
            failed: report.error.is_some() || report.failure().is_some(),
            interrupted: report.stopped == Some(StopReason::Interrupted),
            token_rejected: matches!(report.stopped, Some(StopReason::Unauthorized(_))),
            held_back: report.held_back,
            plan: Some(Arc::clone(&report.plan)),
            ..Self::default()
        };
        for (change, result) in report.lines() {
            match result {
                ChangeResult::Applied | ChangeResult::Converged => outcome.applied.push(change.id.clone()),
                ChangeResult::Held(hold) if result.is_refused() || hold.is_live() => {
                    let parked = HeldRequest::new(change.request(), Hold::clone(hold));
                    outcome.parked.push((change.id.clone(), parked));
                }
                ChangeResult::NotSent => outcome.unfinished = true,
                // A backoff per toggle applies to one that failed alone, and readiness is not affected (DESIGN, section 6,
                // *Failed alone*).
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
        let is_parked = |hold: &Hold| hold.is_live() || hold.kind == Some(HoldKind::Refused);
        let held = plan.withheld().iter().filter(|held| is_parked(&held.hold));
        let wanted = plan
            .changes()
            .iter()
            .map(|change| &change.id)
            .chain(held.map(|held| &held.id));
        wanted.map(FoldedId::from).collect()
    }
}
