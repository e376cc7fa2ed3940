//! Renders the deployment history as versioned JSON. Times are in RFC 3339 form.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{DeployedDiff, DeploymentLog, listed};
use crate::model::{
    Allowance, CommitId, DeployedToggle, Deployment, DeploymentEffect, EnvironmentId, Override, Payload,
    ToggleId, rfc3339,
};

/// Returns a page of the history, ready to serialize.
pub fn history_json(log: &DeploymentLog) -> HistoryJson<'_> {
    let entries = log.entries();
    HistoryJson {
        version: 1,
        deployments: entries.map(|(deployment, diffs)| deployment_json(deployment, diffs)).collect(),
        next: log.page.next,
    }
}

/// Returns one deployment, ready to serialize. `diffs` has the differences of the listed toggles, or is empty.
pub fn deployment_json<'a>(deployment: &'a Deployment, diffs: &'a [DeployedDiff]) -> DeploymentJson<'a> {
    // Destructured, so that no new field can be forgotten.
    let Deployment { commit, at, revision, subject, signer, toggles: _, total, effects, allowances } =
        deployment;
    DeploymentJson {
        commit: *commit,
        at: rfc3339(*at),
        revision: *revision,
        subject: subject.as_deref(),
        signer: signer.as_deref(),
        summary: deployment.summary(),
        total: *total,
        effects: effects.iter().map(|(effect, count)| (effect.as_str(), *count)).collect(),
        toggles: listed(deployment, diffs)
            .map(|(toggle, diff)| DeployedToggleJson::of(toggle, diff))
            .collect(),
        allowed: allowances.iter().map(AllowedJson::of).collect(),
    }
}

/// A page of the history as JSON.
#[derive(Debug, Serialize)]
pub struct HistoryJson<'a> {
    version: u32,
    deployments: Vec<DeploymentJson<'a>>,
    next: Option<CommitId>,
}

/// A deployment as JSON.
#[derive(Debug, Serialize)]
pub struct DeploymentJson<'a> {
    commit: CommitId,
    at: String,
    revision: CommitId,
    subject: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signer: Option<&'a str>,
    summary: String,
    total: usize,
    effects: BTreeMap<&'static str, usize>,
    toggles: Vec<DeployedToggleJson<'a>>,
    allowed: Vec<AllowedJson<'a>>,
}

#[derive(Debug, Serialize)]
struct DeployedToggleJson<'a> {
    toggle: &'a ToggleId,
    effect: Option<DeploymentEffect>,
    #[serde(flatten)]
    diff: Option<DeployedDiffJson<'a>>,
}

#[derive(Debug, Serialize)]
struct DeployedDiffJson<'a> {
    sentences: Vec<String>,
    diff: Vec<String>,
    before: Option<&'a Payload>,
    after: Option<&'a Payload>,
}

impl<'a> DeployedToggleJson<'a> {
    fn of(toggle: &'a DeployedToggle, diff: Option<&'a DeployedDiff>) -> Self {
        let DeployedToggle { id, effect } = toggle;
        Self {
            toggle: id,
            effect: *effect,
            diff: diff.map(|diff| DeployedDiffJson {
                sentences: diff.sentences(),
                diff: diff.diff(),
                before: diff.before.payload(),
                after: diff.after.payload(),
            }),
        }
    }
}

/// A decision of an operator as JSON.
#[derive(Debug, Serialize)]
struct AllowedJson<'a> {
    what: Override,
    environment: Option<&'a EnvironmentId>,
    by: &'a str,
    at: String,
}

impl<'a> AllowedJson<'a> {
    fn of(allowance: &'a Allowance) -> Self {
        let Allowance { what, environment, revision: _, by, at, versions: _ } = allowance;
        Self { what: *what, environment: environment.as_ref(), by, at: rfc3339(*at) }
    }
}
