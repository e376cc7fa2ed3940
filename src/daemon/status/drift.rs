//! Shows what scans for drift have found in the status of toggles. Pure.

use std::collections::BTreeMap;

use super::ToggleStatus;
use crate::model::{DriftFact, ToggleId, ToggleState};

/// Why toggles count as drifted.
pub(crate) type DriftFacts = BTreeMap<ToggleId, DriftFact>;

/// Marks the toggles in sync that have drifted. `shown` are the facts that the toggles show already.
pub(crate) fn show(toggles: &mut [ToggleStatus], shown: &DriftFacts, facts: &DriftFacts) {
    for toggle in toggles {
        let is_shown = |fact: &DriftFact| {
            toggle.state == ToggleState::Drifted && toggle.reason.as_ref() == Some(&fact.reason)
        };
        // A toggle with a change that drift holds is drifted because of the pass.
        if shown.get(&toggle.toggle).is_some_and(is_shown) {
            (toggle.state, toggle.reason, toggle.kind) = (ToggleState::InSync, None, None);
            toggle.live_version = None;
        }
        if toggle.state == ToggleState::InSync
            && let Some(fact) = facts.get(&toggle.toggle)
        {
            let DriftFact {
                kind,
                reason,
                live_version,
            } = fact;
            toggle.state = ToggleState::Drifted;
            (toggle.reason, toggle.kind) = (Some(reason.clone()), Some(*kind));
            toggle.live_version = *live_version;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::WithheldKind;

    fn status(toggle: &str, state: ToggleState, reason: Option<&str>) -> ToggleStatus {
        ToggleStatus {
            reason: reason.map(str::to_owned),
            ..ToggleStatus::new(toggle.parse().unwrap(), state)
        }
    }

    fn facts(toggles: &[&str]) -> DriftFacts {
        let fact = || DriftFact {
            kind: WithheldKind::Drifted,
            reason: "changed by Eve".to_owned(),
            live_version: Some(3),
        };
        toggles.iter().map(|id| (id.parse().unwrap(), fact())).collect()
    }

    fn states(toggles: &[ToggleStatus]) -> Vec<&'static str> {
        toggles.iter().map(|toggle| toggle.state.as_str()).collect()
    }

    #[test]
    fn only_toggles_in_sync_become_drifted_and_they_return() {
        let mut toggles = [
            status("a/b/c", ToggleState::InSync, None),
            status("a/b/d", ToggleState::Held, Some("rail")),
            status("a/b/e", ToggleState::Drifted, Some("a change is held")),
            status("a/b/f", ToggleState::InSync, None),
        ];
        let before = facts(&["a/b/c", "a/b/d", "a/b/e"]);
        show(&mut toggles, &DriftFacts::new(), &before);
        assert_eq!(states(&toggles), ["drifted", "held", "drifted", "in_sync"]);
        show(&mut toggles, &before, &facts(&["a/b/f"]));
        assert_eq!(states(&toggles), ["in_sync", "held", "drifted", "drifted"]);
        assert_eq!((&toggles[0].reason, toggles[0].kind), (&None, None));
        let versions = toggles.each_ref().map(|toggle| toggle.live_version);
        assert_eq!(versions, [None, None, None, Some(3)]);
    }
}
