//! The deployment history with the differences of each deployment.

mod json;

pub use json::{DeploymentJson, HistoryJson, deployment_json, history_json};

use super::change::diff;
use super::sentences;
use crate::model::{DeployedToggle, Deployment, DeploymentEffect, HistoryPage, Payload};

/// A page of the deployment history, with the differences of each deployment if they were read.
#[derive(Clone, Debug, Default)]
pub struct DeploymentLog {
    /// The deployments, newest first, and where the next page begins.
    pub page: HistoryPage,
    /// The differences of the toggles that each deployment lists, in the same order; empty if they were not read.
    pub diffs: Vec<Vec<DeployedDiff>>,
}

impl DeploymentLog {
    /// Returns the deployments with their differences.
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
    /// The targeting.
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
