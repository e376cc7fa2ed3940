//! Renders the deployment history as Markdown.

use std::fmt::Write as _;

use super::{DeployedDiff, DeploymentLog, listed, word};
use crate::model::{DeployedToggle, Deployment, counted, rfc3339};
use crate::plan::render::{block, code, fitting};

/// The number of toggles of a deployment that are listed.
const LISTED: usize = 50;

/// Returns the deployments as Markdown that fits into a comment. Foreign text is inside code only.
#[must_use]
pub fn history_markdown(log: &DeploymentLog, limit: usize) -> String {
    let count = counted(log.page.deployments.len(), "deployment");
    let more = log.page.next.map_or("", |_| "; there are older ones");
    let head = format!("### gitoggle log\n\n{count}{more}\n\n");
    let entries = log.entries().map(|(deployment, diffs)| entry(deployment, diffs));
    fitting([head].into_iter().chain(entries), limit)
}

fn entry(deployment: &Deployment, diffs: &[DeployedDiff]) -> String {
    let subject = deployment.subject.as_deref().map(code).unwrap_or_default();
    let mut out = format!(
        "* {} {} {subject}: {}\n",
        rfc3339(deployment.at),
        code(&deployment.revision.short()),
        deployment.summary()
    );
    for allowance in &deployment.allowances {
        let _ = writeln!(out, "  * {}", code(&format!("allowed: {allowance}")));
    }
    for (DeployedToggle { id, effect }, diff) in listed(deployment, diffs).take(LISTED) {
        let _ = writeln!(out, "  * {} {}", word(*effect), code(id.as_str()));
        if let Some(diff) = diff {
            let lines = [diff.sentences(), diff.diff()].concat();
            for line in block(&lines).lines() {
                let _ = writeln!(out, "    {line}");
            }
        }
    }
    match deployment
        .total
        .saturating_sub(deployment.toggles.len().min(LISTED))
    {
        0 => {}
        more => drop(writeln!(out, "  * and {more} more")),
    }
    out
}
