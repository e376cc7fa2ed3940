//! Compares the plan of a pass with the one that was reviewed.

use crate::model::{Review, ReviewedPlan, counted};
use crate::plan::{Change, Plan};

/// A plan that was not reviewed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{reason}\n{}", difference.join("\n"))]
pub struct NotReviewed {
    reason: String,
    /// Lines about the changes that differ, as far as they are known.
    difference: Vec<String>,
}

/// Checks that `plan` sends what was reviewed. A plan that sends nothing passes, because an earlier run may have sent it.
pub(super) fn check(plan: &Plan, review: &Review) -> Result<(), Box<NotReviewed>> {
    if plan.fingerprints().next().is_none() {
        return Ok(());
    }
    let (reason, difference) = match review {
        Review::Missing(reason) => {
            let all = plan.fingerprints().map(|(_, change)| change).collect();
            (reason.clone(), listed("planned now and not reviewed", all))
        }
        Review::Plan(reviewed) => {
            let (digest, current) = (&reviewed.digest, plan.digest());
            if *digest == current {
                return Ok(());
            }
            let reason =
                format!("the plan is not the one that was reviewed\nreviewed: {digest}\ncurrent:  {current}");
            (reason, difference(plan, reviewed))
        }
    };
    Err(Box::new(NotReviewed { reason, difference }))
}

fn difference(plan: &Plan, reviewed: &ReviewedPlan) -> Vec<String> {
    let Some(known) = &reviewed.changes else {
        let all = plan.fingerprints().map(|(_, change)| change).collect();
        return listed("planned now", all);
    };
    let (same, new): (Vec<_>, Vec<_>) = plan
        .fingerprints()
        .partition(|(fingerprint, _)| known.contains(fingerprint));
    let new = new.into_iter().map(|(_, change)| change).collect();
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
