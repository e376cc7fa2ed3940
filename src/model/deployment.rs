//! The deployment history: what each commit of the applied ref published or recorded.

use std::collections::BTreeMap;

use super::{Action, Allowance, CommitId, ToggleId};

super::words! {
    /// What a deployment did with a toggle.
    DeploymentEffect {
        /// The service did not have the document; it was published.
        Create = "create",
        /// Other targeting was applied; the document was published.
        Update = "update",
        /// The document was published over a change that was made on the service.
        Overwrite = "overwrite",
        /// The file was removed; the applied document was published with `disabled: true`.
        Disable = "disable",
        /// The document was recorded without a publish, because of `--first-pass adopt`.
        Adopt = "adopt",
        /// The document was recorded without a publish, because the service had the same targeting, as after
        /// an import.
        Converge = "converge",
        /// The document was recorded without a publish. It means the same as the applied one.
        Record = "record",
        /// The file was removed; the toggle was dropped from the record without a publish.
        Forget = "forget",
    }
}

impl DeploymentEffect {
    /// Returns whether a request was sent.
    pub(crate) const fn is_published(self) -> bool {
        matches!(self, Self::Create | Self::Update | Self::Overwrite | Self::Disable)
    }

    /// Returns the effect of a change that was made without reading the service.
    pub(crate) const fn of_action(action: Action) -> Self {
        match action {
            Action::Adopt => Self::Adopt,
            Action::Create => Self::Create,
            Action::Disable => Self::Disable,
            Action::Update => Self::Update,
        }
    }
}

/// One commit of the applied ref that changed toggles, or recorded a decision of an operator.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Deployment {
    /// The commit of the applied ref.
    pub commit: CommitId,
    /// The time of the commit, in seconds since 1970-01-01 UTC.
    pub at: i64,
    /// The source revision that was applied.
    pub revision: CommitId,
    /// The first line of the message of the source revision, if it is known.
    pub subject: Option<String>,
    /// Who signed the source revision, if that was verified.
    pub signer: Option<String>,
    /// The toggles, sorted; only the first ones if a query limits them. `total` counts all of them.
    pub toggles: Vec<DeployedToggle>,
    /// The number of toggles.
    pub total: usize,
    /// The number of toggles by effect. Their sum is smaller than `total` if the effect of some is not known.
    pub effects: BTreeMap<DeploymentEffect, usize>,
    /// The decisions of operators that were valid at this revision.
    pub allowances: Vec<Allowance>,
}

impl Deployment {
    /// Returns the counts as text: `2 update, 1 disable`.
    pub(crate) fn summary(&self) -> String {
        let counts = self.effects.iter();
        let mut parts: Vec<String> =
            counts.map(|(effect, count)| format!("{count} {}", effect.as_str())).collect();
        match self.total.saturating_sub(self.effects.values().sum()) {
            0 => {}
            rest => parts.push(format!("{rest} changed")),
        }
        parts.join(", ")
    }
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DeployedToggle {
    pub id: ToggleId,
    /// What was done. Not known for a toggle that a large commit only counts, if several effects are
    /// possible.
    pub effect: Option<DeploymentEffect>,
}

/// One page of the deployment history, newest first.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct HistoryPage {
    pub deployments: Vec<Deployment>,
    /// Where the next page begins: before this commit of the applied ref. None at the end of the history.
    pub next: Option<CommitId>,
}
