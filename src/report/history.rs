//! Renders the deployment history.

use std::fmt::Write as _;

use super::defused;
use super::difference::{difference, paint, sign};
use super::markup::{block, code, fitting};
use crate::model::{Color, DeployedToggle, Deployment, DeploymentEffect, counted, cut, escaped, rfc3339};
use crate::plan::{DeployedDiff, DeploymentLog, listed};

/// The number of toggles of a deployment that are listed without differences.
const NAMED: usize = 10;
/// The number of toggles of a deployment that are listed with differences.
const IN_FULL: usize = 50;
const SUBJECT: usize = 160;

pub(crate) fn history_text(log: &DeploymentLog, color: Color) -> String {
    let mut out = String::new();
    for (deployment, diffs) in log.entries() {
        if !out.is_empty() && !log.diffs.is_empty() {
            out.push('\n');
        }
        head(&mut out, deployment, color);
        toggles(&mut out, deployment, diffs, color);
    }
    defused(&out)
}

fn head(out: &mut String, deployment: &Deployment, color: Color) {
    let revision = paint(&deployment.revision.short(), "33", color);
    let subject = match &deployment.subject {
        Some(subject) => paint(&escaped(&cut(subject, SUBJECT)).to_string(), "1", color),
        None => paint("(subject not known)", "2", color),
    };
    let _ = writeln!(out, "{}  {revision}  {subject}", rfc3339(deployment.at));
    if let Some(signer) = &deployment.signer {
        let _ = writeln!(out, "  {}", paint(&format!("signed by {}", escaped(signer)), "36", color));
    }
    for allowance in &deployment.allowances {
        let _ = writeln!(out, "  {}", paint(&format!("allowed: {allowance}"), "36", color));
    }
}

fn toggles(out: &mut String, deployment: &Deployment, diffs: &[DeployedDiff], color: Color) {
    let most = if diffs.is_empty() { NAMED } else { IN_FULL };
    for (DeployedToggle { id, effect }, diff) in listed(deployment, diffs).take(most) {
        let (sign, code) = sign(*effect);
        let _ = writeln!(out, "  {}", paint(&format!("{sign} {} {id}", word(*effect)), code, color));
        if let Some(diff) = diff {
            difference(out, "      ", (diff.sentences(), diff.diff()), color);
        }
    }
    let more = deployment.total.saturating_sub(deployment.toggles.len().min(most));
    if more > 0 {
        let summary = deployment.summary();
        let _ = writeln!(out, "  … and {more} more: {summary} in total; `-o json` lists all of them");
    }
}

/// The number of toggles of a deployment that are listed.
const LISTED: usize = 50;

/// Returns the deployments as Markdown that fits into a comment. Foreign text is inside code only.
pub(crate) fn history_markdown(log: &DeploymentLog, limit: usize) -> String {
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
    if let Some(signer) = &deployment.signer {
        let _ = writeln!(out, "  * signed by {}", code(signer));
    }
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
    match deployment.total.saturating_sub(deployment.toggles.len().min(LISTED)) {
        0 => {}
        more => drop(writeln!(out, "  * and {more} more")),
    }
    out
}

/// Returns `update`, or `changed` if the effect is not known.
fn word(effect: Option<DeploymentEffect>) -> &'static str {
    effect.map_or("changed", DeploymentEffect::as_str)
}
