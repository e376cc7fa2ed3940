//! Applies what the service has now to a plan, for `plan --live` and `status --live`. Pure.
//!
//! The lanes of a pass decide in the same way, with the same function, just before each publish.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{
    Change, DriftReport, LiveDecision, OnDrift, Plan, Policy, StateEdit, WithheldToggle, decide_by_versions,
    decide_live,
};
use crate::model::{Action, HoldKind, Live, LiveVersion, ToggleId};

impl Plan {
    /// Records what the service has already, and withholds what its live state does not permit. A toggle that is not in
    /// `live` could not be read, and stays as it is. `newer` has the versions that decide on changes whose last outcome is
    /// unknown. `drift` loses the toggles that the plan lists itself.
    pub fn with_live(
        mut self,
        live: &BTreeMap<ToggleId, Live>,
        newer: &BTreeMap<ToggleId, Vec<LiveVersion>>,
        mut drift: DriftReport,
        policy: &Policy,
    ) -> Self {
        for change in std::mem::take(&mut self.changes) {
            // With `--on-drift ignore`, a pass sends the change whatever the service has.
            let live = live.get(&change.id);
            let live = live.filter(|_| policy.on_drift != OnDrift::Ignore);
            let decision = live.map(|live| {
                let decision = decide_live(&change, live, policy, &self.overrides);
                match (decision, live, newer.get(&change.id)) {
                    (LiveDecision::ReadVersions { .. }, Live::Toggle(live), Some(newer)) => {
                        decide_by_versions(&change, live, newer)
                    }
                    (decision, ..) => decision,
                }
            });
            match decision {
                Some(LiveDecision::Confirmed | LiveDecision::Converged) => {
                    self.state_edits.push(converged(change));
                }
                Some(LiveDecision::Hold(hold)) => {
                    self.withheld.push(WithheldToggle::of(Arc::new(hold), change));
                }
                Some(_) | None => self.changes.push(change),
            }
        }
        // Either decision on the first pass records what the service has already, and publishes nothing.
        let is_undecided = |held: &WithheldToggle| {
            let compared = held.change.as_deref().zip(live.get(&held.id));
            held.hold.kind == Some(HoldKind::FirstPass)
                && compared.is_some_and(|(change, live)| is_same(change, live))
        };
        (self.undecided, self.withheld) = self.withheld.into_iter().partition(is_undecided);
        self.withheld.sort_by(|a, b| a.id.cmp(&b.id));
        self.state_edits.sort_by(|a, b| a.id().cmp(b.id()));
        let is_listed = |id: &ToggleId| {
            // What was applied differs from what the service has, but the document does not.
            let is_recorded =
                |edit: &StateEdit| matches!(edit, StateEdit::Converged(version) if version.id == *id);
            self.withheld.binary_search_by(|held| held.id.cmp(id)).is_ok()
                || self.state_edits.iter().any(is_recorded)
        };
        let is_changed = |id: &ToggleId| self.changes.binary_search_by(|change| change.id.cmp(id)).is_ok();
        // A change that overwrites drift does not show whose change is lost.
        drift.drifted.retain(|drifted| !is_listed(&drifted.applied.id));
        drift.missing.retain(|missing| !is_listed(&missing.id) && !is_changed(&missing.id));
        // A scan does not compare a toggle whose last outcome is unknown, but the plan has decided on it.
        drift.unread.retain(|unread| !live.contains_key(&unread.id));
        self.drift = Some(Box::new(drift));
        self
    }

    /// Returns what differs on the service besides the changes, if the service was read.
    pub fn drift(&self) -> Option<&DriftReport> {
        self.drift.as_deref()
    }
}

fn is_same(change: &Change, live: &Live) -> bool {
    match live {
        Live::Toggle(live) => live.content.payload() == Some(&change.payload),
        Live::Missing { .. } | Live::Untargeted => false,
    }
}

/// Returns how a change is recorded that the service has already.
fn converged(change: Change) -> StateEdit {
    match change.action {
        Action::Disable => StateEdit::Forget { id: change.version.id },
        _ => StateEdit::Converged(change.version),
    }
}
