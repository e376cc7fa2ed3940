//! Holds each environment that lost all its documents until an operator allows the mass change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{EnvironmentId, Hold};
use crate::pass::config::Rules;
use crate::plan::compare::Difference;
use crate::plan::{self, MassChange, Overrides};

/// Returns the held environments with the reason.
pub(super) fn holds(
    lost: BTreeSet<EnvironmentId>,
    differences: &[Difference],
    rules: &Rules,
    overrides: &Overrides,
) -> BTreeMap<EnvironmentId, Arc<Hold>> {
    let scope = &rules.policy.scope;
    // A toggle outside `--only` is never an orphan (DESIGN, section 4), so nothing there needs a hold.
    let is_in_scope = |environment: &EnvironmentId| {
        let in_scope = |one: &Difference| scope.contains(&one.id) && one.id.environment() == *environment;
        scope.is_everything() || differences.iter().any(in_scope)
    };
    match rules.policy.mass_change {
        MassChange::Allowed => BTreeMap::new(),
        // An environment that loses all documents never means that everything was removed (DESIGN, section 5).
        MassChange::Held => lost
            .into_iter()
            .filter(|environment| is_in_scope(environment) && !overrides.mass_change.contains(environment))
            .map(|environment| (environment.clone(), Arc::new(hold(&environment))))
            .collect(),
    }
}

fn hold(environment: &EnvironmentId) -> Hold {
    plan::hold::environment(&format!(
        "every document in this environment was removed; if this is intended, pass `--allow-mass-change`, or run \
         `gitoggle allow mass-change {environment}` for a running daemon; `--on-remove` (`disable` or `forget`) \
         decides about its toggles"
    ))
}
