//! What operators decided at run time, as far as it is about one plan.

use std::collections::{BTreeMap, BTreeSet};

use super::FirstPass;
use crate::model::{Allowance, CommitId, EnvironmentId, Override};

/// The overrides that are valid for the revision of a plan (DESIGN, section 9.2).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Overrides {
    /// Environments in which nothing is applied, and what the first pass does there.
    pub first_pass: BTreeMap<EnvironmentId, FirstPass>,
    /// The revision that may be applied although the recorded one is not its ancestor.
    pub history: Option<CommitId>,
    /// Environments whose rails are lifted.
    pub mass_change: BTreeSet<EnvironmentId>,
}

impl Overrides {
    /// Collects the allowances that are valid at `revision`.
    #[must_use]
    pub fn at(revision: CommitId, allowances: &[Allowance]) -> Self {
        let mut overrides = Self::default();
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
                (Override::History, _) => overrides.history = Some(revision),
                // Reading the live service is what this is about, which the documented service does not offer.
                (Override::OverwriteDrift, _) | (_, None) => {}
            }
        }
        overrides
    }
}
