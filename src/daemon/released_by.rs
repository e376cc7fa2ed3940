//! Which decisions of an operator release a withheld toggle. Pure.

use super::status::ToggleStatus;
use crate::model::{Override, WithheldKind};

/// Whether anything is applied in an environment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FirstPassState {
    /// Something is, so its first pass is over.
    Over,
    /// Nothing is.
    Pending,
}

impl FirstPassState {
    /// Returns the state of the environment of these toggles.
    pub fn of<'a>(toggles: impl IntoIterator<Item = &'a ToggleStatus>) -> Self {
        match toggles.into_iter().any(|one| one.revision.is_some()) {
            true => Self::Over,
            false => Self::Pending,
        }
    }
}

/// Returns the decisions that release a toggle of an environment.
pub(crate) fn released_by(toggle: &ToggleStatus, pass: FirstPassState) -> &'static [Override] {
    match toggle.kind {
        Some(WithheldKind::FirstPass) => &[Override::FirstPassAdopt, Override::FirstPassAssert],
        // A first pass that adopts publishes nothing, whatever else is allowed.
        Some(WithheldKind::DiffersFromLive) if pass == FirstPassState::Pending => {
            &[Override::FirstPassAssert]
        }
        Some(WithheldKind::DiffersFromLive | WithheldKind::Drifted) => &[Override::OverwriteDrift],
        Some(WithheldKind::Missing) if toggle.live_version.is_some() => &[Override::OverwriteDrift],
        Some(WithheldKind::Environment | WithheldKind::Rail) => &[Override::MassChange],
        Some(
            WithheldKind::ApprovalRequired
            | WithheldKind::Archived
            | WithheldKind::AwaitsApproval
            | WithheldKind::FailedAlone
            | WithheldKind::Invalid
            | WithheldKind::Missing
            | WithheldKind::NotReviewed
            | WithheldKind::Refused
            | WithheldKind::ReturnType
            | WithheldKind::Stopped
            | WithheldKind::Suspended
            | WithheldKind::Unknown,
        )
        | None => &[],
    }
}
