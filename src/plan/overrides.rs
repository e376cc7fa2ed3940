//! The run-time decisions of operators that concern one plan.

use std::collections::{BTreeMap, BTreeSet};

use super::FirstPass;
use crate::model::{Allowance, CommitId, EnvironmentId, Override, ToggleId};

/// The overrides that are valid for the revision of a plan (DESIGN, section 9.2).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Overrides {
    /// The decisions on first passes, by environment.
    pub first_pass: BTreeMap<EnvironmentId, FirstPass>,
    /// The revision that may be applied although it does not descend from the recorded one.
    pub history: Option<CommitId>,
    /// Environments whose rails are lifted.
    pub mass_change: BTreeSet<EnvironmentId>,
    /// Environments whose change windows are lifted.
    pub windows: BTreeSet<EnvironmentId>,
    /// Live versions that may be overwritten.
    pub overwrite_versions: BTreeMap<ToggleId, u64>,
}

impl Overrides {
    /// Collects the allowances that are valid at `revision`.
    pub fn at(revision: CommitId, allowances: &[Allowance]) -> Self {
        let mut overrides = Self::default();
        // An allowance is valid at its revision only (DESIGN, section 9.2), so it cannot release a later change.
        for allowance in allowances.iter().filter(|one| one.revision == revision) {
            match (allowance.what, allowance.environment.clone()) {
                (Override::FirstPassAdopt, Some(environment)) => {
                    overrides.first_pass.insert(environment, FirstPass::Adopt);
                }
                (Override::FirstPassAssert, Some(environment)) => {
                    overrides.first_pass.insert(environment, FirstPass::Assert);
                }
                (Override::MassChange, Some(environment)) => {
                    overrides.mass_change.insert(environment);
                }
                (Override::Window, Some(environment)) => {
                    overrides.windows.insert(environment);
                }
                (Override::History, _) => overrides.history = Some(revision),
                // An order of an older version lists nothing, so it covers nothing.
                (Override::OverwriteDrift, _) => {
                    overrides.overwrite_versions.extend(allowance.versions.clone().into_iter().flatten());
                }
                (_, None) => {}
            }
        }
        overrides
    }

    /// Returns whether an operator allows to replace what someone else changed on the service, at least one version of it.
    pub fn may_overwrite(&self, id: &ToggleId) -> bool {
        self.overwrite_versions.contains_key(id)
    }
}
