//! Renders the deployment history for a terminal.

use std::fmt::Write as _;

use super::{DeployedDiff, DeploymentLog, listed, word};
use crate::model::{Color, DeployedToggle, Deployment, cut, escaped, rfc3339};
use crate::plan::render::{defused, difference, paint, sign};

/// The number of toggles of a deployment that are listed without differences.
const NAMED: usize = 10;
/// The number of toggles of a deployment that are listed with differences.
const IN_FULL: usize = 50;
/// The most characters of a subject.
const SUBJECT: usize = 160;

/// Returns the deployments as lines of text.
#[must_use]
pub fn history_text(log: &DeploymentLog, color: Color) -> String {
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
    for allowance in &deployment.allowances {
        let _ = writeln!(out, "  {}", paint(&format!("allowed: {allowance}"), "36", color));
    }
}

fn toggles(out: &mut String, deployment: &Deployment, diffs: &[DeployedDiff], color: Color) {
    let most = if diffs.is_empty() { NAMED } else { IN_FULL };
    for (DeployedToggle { id, effect }, diff) in listed(deployment, diffs).take(most) {
        let (sign, code) = sign(*effect);
        let _ = writeln!(
            out,
            "  {}",
            paint(&format!("{sign} {} {id}", word(*effect)), code, color)
        );
        if let Some(diff) = diff {
            difference(out, "      ", (diff.sentences(), diff.diff()), color);
        }
    }
    let more = deployment
        .total
        .saturating_sub(deployment.toggles.len().min(most));
    if more > 0 {
        let summary = deployment.summary();
        let _ = writeln!(
            out,
            "  … and {more} more: {summary} in total; `-o json` lists all of them"
        );
    }
}
