//! How a pass ended, read off its report.

use std::sync::Arc;
use std::time::Duration;

use crate::model::ToggleId;
use crate::pass::{ChangeResult, Report, StopReason};
use crate::plan::{HoldReason, Parked, Plan};

/// How a pass ended, as far as the next one depends on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PassOutcome {
    pub(super) failed: bool,
    pub(super) interrupted: bool,
    pub(super) unauthorised: bool,
    /// For how long the service wants to be left alone.
    pub(super) held_back: Option<Duration>,
    /// Whether something is left to be sent that did not fail alone.
    pub(super) unfinished: bool,
    pub(super) applied: Vec<ToggleId>,
    pub(super) refused: Vec<(ToggleId, Parked)>,
    /// What there was to do, where there was a pass.
    pub(super) plan: Option<Arc<Plan>>,
}

impl PassOutcome {
    /// Reads it off a report, or off the fact that there is none.
    pub(crate) fn of(result: &Result<Report, String>) -> Self {
        let Ok(report) = result else {
            return Self {
                failed: true,
                ..Self::default()
            };
        };
        let mut ended = Self {
            failed: report.error.is_some() || report.failure().is_some(),
            interrupted: report.stopped == Some(StopReason::Interrupted),
            unauthorised: matches!(report.stopped, Some(StopReason::Unauthorised(_))),
            held_back: report.held_back,
            plan: Some(Arc::clone(&report.plan)),
            ..Self::default()
        };
        for (change, sending) in report.lines() {
            match sending {
                ChangeResult::Applied => ended.applied.push(change.id.clone()),
                ChangeResult::Failed { reason } => {
                    let (request, reason) = (change.request(), HoldReason::Refused(reason.clone()));
                    ended
                        .refused
                        .push((change.id.clone(), Parked { request, reason }));
                }
                ChangeResult::FailedAlone { .. } => {}
                ChangeResult::NotSent | ChangeResult::Pending { .. } => ended.unfinished = true,
            }
        }
        ended
    }

    /// Returns whether there was a pass at all.
    pub(super) fn is_pass(&self) -> bool {
        self.plan.is_some()
    }

    /// Returns whether the pass wanted to publish the toggle, or would have if it were not parked.
    pub(super) fn is_wanted(&self, id: &ToggleId) -> bool {
        let Some(plan) = &self.plan else { return false };
        let held = plan.held();
        let is_parked = |index: usize| matches!(held[index].reason, HoldReason::Refused(_));
        plan.changes()
            .binary_search_by(|change| change.id.cmp(id))
            .is_ok()
            || held.binary_search_by(|held| held.id.cmp(id)).is_ok_and(is_parked)
    }
}
