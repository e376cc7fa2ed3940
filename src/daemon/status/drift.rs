//! Shows what scans for drift have found in the status of toggles. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ToggleStatus;
use crate::model::{Hold, ToggleId};

/// Why toggles count as drifted.
pub(crate) type DriftFacts = BTreeMap<ToggleId, Hold>;

/// Marks the toggles in sync that have drifted. `shown` are the facts that the toggles show already.
pub(crate) fn show(toggles: &mut [ToggleStatus], shown: &DriftFacts, facts: &DriftFacts) {
    for toggle in toggles {
        // A toggle with a change that drift holds is drifted because of the pass.
        if shown.get(&toggle.toggle) == toggle.hold.as_deref() {
            toggle.hold = None;
        }
        if toggle.hold.is_none() {
            toggle.hold = facts.get(&toggle.toggle).map(|fact| Arc::new(fact.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{HoldKind, ToggleState};

    fn facts(toggles: &[&str]) -> DriftFacts {
        let fact = || Hold::over(HoldKind::Drifted, 3, "changed by Eve");
        toggles.iter().map(|id| (id.parse().unwrap(), fact())).collect()
    }

    fn states(toggles: &[ToggleStatus]) -> Vec<&'static str> {
        toggles.iter().map(|toggle| toggle.state().as_str()).collect()
    }

    #[test]
    fn only_toggles_in_sync_become_drifted_and_they_return() {
        let mut toggles = [
            ToggleStatus::in_state("a/b/c", ToggleState::InSync),
            ToggleStatus::in_state("a/b/d", ToggleState::Held),
            ToggleStatus::in_state("a/b/e", ToggleState::Drifted),
            ToggleStatus::in_state("a/b/f", ToggleState::InSync),
        ];
        let before = facts(&["a/b/c", "a/b/d", "a/b/e"]);
        show(&mut toggles, &DriftFacts::new(), &before);
        assert_eq!(states(&toggles), ["drifted", "held", "drifted", "in_sync"]);
        show(&mut toggles, &before, &facts(&["a/b/f"]));
        assert_eq!(states(&toggles), ["in_sync", "held", "drifted", "drifted"]);
        let versions = toggles.each_ref().map(|toggle| toggle.hold.as_ref()?.version);
        assert_eq!(versions, [None, None, None, Some(3)]);
    }
}
