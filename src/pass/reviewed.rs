//! Compares the plan of a pass with the one that was reviewed.

use crate::model::{Review, ReviewedPlan, Version, counted};
use crate::plan::{Change, Plan, is_among};

/// A plan that was not reviewed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{reason}\n{}", difference.join("\n"))]
pub struct NotReviewed {
    reason: String,
    /// Lines about the changes that differ, as far as they are known.
    difference: Vec<String>,
}

/// Checks that `plan` sends what was reviewed, except for what it holds, and what `applied` shows as done. A plan that sends
/// nothing passes, because an earlier run may have sent it.
pub(super) fn check(plan: &Plan, review: &Review, applied: &[Version]) -> Result<(), Box<NotReviewed>> {
    if !plan.has_changes() {
        return Ok(());
    }
    let (reason, difference) = match review {
        Review::Missing(reason) => (
            reason.clone(),
            listed("planned now and not reviewed", plan.requests().collect()),
        ),
        Review::Plan(reviewed) => {
            if plan.is_reviewed(reviewed, applied) {
                return Ok(());
            }
            let (digest, current) = (&reviewed.digest, plan.digest());
            let reason =
                format!("the plan is not the one that was reviewed\nreviewed: {digest}\ncurrent:  {current}");
            (reason, difference(plan, reviewed))
        }
    };
    Err(Box::new(NotReviewed { reason, difference }))
}

fn difference(plan: &Plan, reviewed: &ReviewedPlan) -> Vec<String> {
    let Some(known) = &reviewed.changes else {
        return listed("planned now", plan.requests().collect());
    };
    let (same, new): (Vec<_>, Vec<_>) = plan
        .requests()
        .partition(|change| is_among(known, &change.version, change.action));
    let mut lines = listed("planned now and not reviewed", new);
    let gone = known.len().saturating_sub(same.len());
    if gone > 0 {
        lines.push(format!(
            "reviewed and not planned now: {}",
            counted(gone, "change")
        ));
    }
    lines
}

fn listed(what: &str, changes: Vec<&Change>) -> Vec<String> {
    const MOST: usize = 20;
    let more = changes.len().saturating_sub(MOST);
    let changes = changes.into_iter().take(MOST);
    let mut lines: Vec<String> = changes
        .map(|change| format!("{what}: {} {}", change.action.as_str(), change.id))
        .collect();
    if more > 0 {
        lines.push(format!("{what}: {}", counted(more, "more change")));
    }
    lines
}
