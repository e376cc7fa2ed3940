//! Differences outside of a plan, toggle by toggle: those that each deployment made, and those between two
//! environments of a repository or two states of one.

use std::collections::BTreeMap;

use serde::Serialize;

use super::change::diff;
use super::sentences;
use crate::model::{
    Allowance, CommitId, DeployedToggle, Deployment, DeploymentEffect, EnvironmentId, HistoryPage, Override,
    Payload, ToggleId, rfc3339,
};

/// A page of the deployment history, with the differences of each deployment if they were read.
#[derive(Clone, Debug, Default)]
pub struct DeploymentLog {
    /// The deployments, newest first, and where the next page begins.
    pub page: HistoryPage,
    /// The differences of the toggles that each deployment lists, in the same order; empty if they were not
    /// read.
    pub diffs: Vec<Vec<DeployedDiff>>,
}

impl DeploymentLog {
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Deployment, &[DeployedDiff])> {
        let diffs = self.diffs.iter().map(Vec::as_slice);
        let diffs = diffs.chain(std::iter::repeat(&[][..]));
        self.page.deployments.iter().zip(diffs)
    }
}

/// Returns the toggles that a deployment lists, each with its difference if that was read.
pub(crate) fn listed<'a>(
    deployment: &'a Deployment,
    diffs: &'a [DeployedDiff],
) -> impl Iterator<Item = (&'a DeployedToggle, Option<&'a DeployedDiff>)> {
    let diffs = diffs.iter().map(Some).chain(std::iter::repeat(None));
    deployment.toggles.iter().zip(diffs)
}

/// The documents of a toggle before and after a deployment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DeployedDiff {
    pub toggle: DeployedToggle,
    /// What was applied before.
    pub before: DeployedContent,
    /// What was applied after.
    pub after: DeployedContent,
}

/// The applied document of a toggle.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DeployedContent {
    Known(Payload),
    /// No document was applied.
    Nothing,
    /// The current rules cannot read the document.
    Unreadable,
}

impl DeployedContent {
    /// Returns the targeting, if it is known.
    pub fn payload(&self) -> Option<&Payload> {
        match self {
            Self::Known(payload) => Some(payload),
            Self::Nothing | Self::Unreadable => None,
        }
    }
}

impl DeployedDiff {
    /// Returns one sentence per difference, each one line of escaped text.
    pub fn sentences(&self) -> Vec<String> {
        use DeployedContent::{Known, Nothing, Unreadable};

        let text = match (&self.before, &self.after) {
            (Known(before), Known(after)) if before == after => "the same meaning as before",
            (Known(before), Known(after)) => return sentences(Some(&before.targeting()), &after.targeting()),
            (Nothing, Known(after)) => return sentences(None, &after.targeting()),
            (Unreadable, Known(_)) => "the document before cannot be read by the current rules",
            (_, Unreadable) => "the document cannot be read by the current rules",
            (_, Nothing) => match self.toggle.effect {
                Some(DeploymentEffect::Disable) => "file removed: ENABLED → DISABLED",
                Some(DeploymentEffect::Forget) => "file removed; the service keeps its targeting",
                _ => "file removed",
            },
        };
        vec![text.to_owned()]
    }

    /// Returns the escaped lines of a unified diff; empty if only one side has a readable document.
    pub fn diff(&self) -> Vec<String> {
        diff(self.before.payload(), self.after.payload())
    }
}

/// Returns a page of the history as versioned JSON, ready to serialize. Times are in RFC 3339 form.
pub fn history_json(log: &DeploymentLog) -> HistoryJson<'_> {
    let entries = log.entries();
    HistoryJson {
        version: 1,
        deployments: entries.map(|(deployment, diffs)| deployment_json(deployment, diffs)).collect(),
        next: log.page.next,
    }
}

/// Returns one deployment, ready to serialize. `diffs` has the differences of the listed toggles, or is
/// empty.
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

/// The toggles of two environments that do not mean the same.
#[derive(Clone, Debug)]
pub struct EnvironmentDiff {
    pub before: EnvironmentId,
    pub after: EnvironmentId,
    /// The environment that a promotion copied documents from. `before` and `after` are its target then.
    pub copied_from: Option<EnvironmentId>,
    /// The toggles, sorted by key.
    pub toggles: Vec<ToggleDiff>,
    /// The numbers, as text: `1 different, 3 equal`.
    pub summary: String,
}

#[derive(Clone, Debug)]
pub struct ToggleDiff {
    pub toggle: String,
    /// The targeting before; none if there is no document.
    pub before: Option<Payload>,
    /// The targeting after; none if there is no document.
    pub after: Option<Payload>,
    /// Details beside the sign, such as the path of a new file; may be empty.
    pub remark: String,
}

impl ToggleDiff {
    /// Returns one sentence per difference.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let before = self.before.as_ref().map(Payload::targeting);
        let after = self.after.as_ref().map(Payload::targeting);
        after.map_or_else(Vec::new, |after| sentences(before.as_ref(), &after))
    }

    /// Returns the lines of the diff of the documents.
    pub(crate) fn diff(&self) -> Vec<String> {
        diff(self.before.as_ref(), self.after.as_ref())
    }
}

impl EnvironmentDiff {
    /// Returns the difference, ready to serialize.
    pub fn json(&self) -> EnvironmentDiffJson<'_> {
        let toggles = self.toggles.iter().map(|toggle| ToggleDiffJson {
            toggle: &toggle.toggle,
            sentences: toggle.sentences(),
            before: toggle.before.as_ref(),
            after: toggle.after.as_ref(),
        });
        EnvironmentDiffJson {
            before: &self.before,
            after: &self.after,
            copied_from: self.copied_from.as_ref(),
            summary: &self.summary,
            toggles: toggles.collect(),
        }
    }
}

/// The JSON form of an [`EnvironmentDiff`].
#[derive(Debug, Serialize)]
pub struct EnvironmentDiffJson<'a> {
    before: &'a EnvironmentId,
    after: &'a EnvironmentId,
    #[serde(skip_serializing_if = "Option::is_none")]
    copied_from: Option<&'a EnvironmentId>,
    summary: &'a str,
    toggles: Vec<ToggleDiffJson<'a>>,
}

#[derive(Debug, Serialize)]
struct ToggleDiffJson<'a> {
    toggle: &'a str,
    sentences: Vec<String>,
    before: Option<&'a Payload>,
    after: Option<&'a Payload>,
}
