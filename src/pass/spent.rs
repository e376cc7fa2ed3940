//! Decides which allowances a pass used up. An allowance is valid once.

use super::report::{ChangeResult, PublishSummary};
use crate::model::{Allowance, EnvironmentId, Override};
use crate::plan::{Plan, WithheldToggle};

/// Returns the allowances that are used up after a recorded pass, or were given for another revision. `awaits_scan` is set
/// if the pass may not have known all drift.
pub(super) fn spent(
    plan: &Plan,
    published: &PublishSummary,
    allowances: &[Allowance],
    awaits_scan: bool,
) -> Vec<Allowance> {
    let revision = plan.source().revision;
    let is_spent = |allowance: &&Allowance| {
        if allowance.revision != revision {
            tracing::info!(
                name: "allowance_expired",
                what = allowance.what.as_str(),
                environment = allowance.environment.as_ref().map(tracing::field::display),
                revision = %allowance.revision,
                "allowance expired, the source is at another revision"
            );
            return true;
        }
        match (allowance.what, &allowance.environment) {
            (Override::History, _) => published.stopped.is_none(),
            // Once a toggle of the environment is applied, no first pass is left to decide about.
            (Override::FirstPassAdopt | Override::FirstPassAssert, Some(environment)) => {
                !is_first_pass(plan, environment) || EnvironmentResult::of(plan, published, environment).any
            }
            // The allowance is valid until no change is left, so that a later pass can finish an interrupted one.
            (Override::MassChange, Some(environment)) => {
                let EnvironmentResult { any, all, .. } = EnvironmentResult::of(plan, published, environment);
                all && (any || !is_held(plan, environment))
            }
            // Once every change was tried, what is changed on the service later is another drift.
            (Override::OverwriteDrift, Some(environment)) => {
                let result = EnvironmentResult::of(plan, published, environment);
                !awaits_scan && !result.has_untried && (result.has_tried || !is_held(plan, environment))
            }
            // `POST /allow` never records one of these.
            (_, None) => true,
        }
    };
    allowances.iter().filter(is_spent).cloned().collect()
}

/// The result of a plan in one environment.
struct EnvironmentResult {
    /// Whether any change was applied or recorded.
    any: bool,
    /// Whether no change is left.
    all: bool,
    /// Whether the pass decided on a change.
    has_tried: bool,
    /// Whether a change may still be sent.
    has_untried: bool,
}

impl EnvironmentResult {
    fn of(plan: &Plan, published: &PublishSummary, environment: &EnvironmentId) -> Self {
        let changes = plan.changes().iter().zip(&published.results);
        let changes = changes.filter(|(change, _)| change.id.is_in(environment));
        let recorded = plan
            .state_edits()
            .iter()
            .any(|record| record.id().is_in(environment));
        let is_waiting = |held: &WithheldToggle| held.change.is_some() && held.id.is_in(environment);
        let mut result = Self {
            any: recorded,
            all: !plan.withheld().iter().any(is_waiting),
            has_tried: false,
            has_untried: false,
        };
        for (_, change) in changes {
            match change {
                ChangeResult::Applied | ChangeResult::Converged => {
                    (result.any, result.has_tried) = (true, true);
                }
                ChangeResult::Failed { .. } | ChangeResult::Held(_) => {
                    (result.all, result.has_tried) = (false, true);
                }
                ChangeResult::FailedAlone { .. } | ChangeResult::NotSent | ChangeResult::Pending { .. } => {
                    (result.all, result.has_untried) = (false, true);
                }
            }
        }
        result
    }
}

/// Returns whether the plan creates or holds toggles of an environment in which nothing was applied.
fn is_first_pass(plan: &Plan, environment: &EnvironmentId) -> bool {
    plan.overrides().first_pass.contains_key(environment)
        && (plan.changes().iter().any(|change| change.id.is_in(environment))
            || plan
                .state_edits()
                .iter()
                .any(|record| record.id().is_in(environment))
            || is_held(plan, environment))
}

/// Returns whether the plan holds a toggle of the environment or leaves an orphan there.
fn is_held(plan: &Plan, environment: &EnvironmentId) -> bool {
    plan.withheld().iter().any(|held| held.id.is_in(environment))
        || plan.orphans().iter().any(|orphan| orphan.id.is_in(environment))
}
