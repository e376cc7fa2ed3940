//! Computes the notification about a pass: the difference between the last notifications and the status.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::daemon::{PassResult, Status, ToggleState, ToggleStatus};
use crate::model::{CommitId, ToggleId, words};

words! {
    /// The kind of a toggle's change of state, in the order of a message.
    ChangeKind {
        /// The toggle could not be applied.
        Failed = "failed",
        /// Someone changed the toggle on the service.
        Drifted = "drifted",
        /// The toggle is deliberately not published.
        Held = "held",
        /// The toggle was failed and no longer is.
        Recovered = "recovered",
        /// The toggle was drifted or held and no longer is.
        Released = "released",
    }
}

/// One toggle's change.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(super) struct ToggleChange {
    pub(super) toggle: ToggleId,
    pub(super) change: ChangeKind,
    pub(super) reason: Option<String>,
}

/// The changes of one pass.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Notification {
    /// The repository, as configured.
    pub(super) repo: String,
    /// The ref, once it is resolved.
    pub(super) reference: Option<String>,
    /// The commit of the pass.
    pub(super) revision: Option<CommitId>,
    /// The changes, failed toggles first, then by toggle. Never empty.
    pub(super) changes: Vec<ToggleChange>,
}

/// The failed, drifted and held toggles of the notifications so far. Kept in a file, so that a restart repeats nothing.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct SentNotifications(BTreeMap<ToggleId, Trouble>);

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Trouble {
    Failed,
    Drifted,
    Held,
}

impl SentNotifications {
    /// Returns the notification about a pass and records it as sent; none after a pass that failed as a whole.
    pub(super) fn update(&mut self, status: &Status) -> Option<Notification> {
        match &status.last_pass {
            None => return None,
            // The states of the toggles are unknown after such a pass.
            Some(pass) if matches!(pass.result, PassResult::Failed(_)) => return None,
            Some(_) => {}
        }
        let before = std::mem::take(&mut self.0);
        let mut changes = self.absent(&before, &status.toggles);
        for toggle in status.toggles.iter() {
            changes.extend(self.one(before.get(&toggle.toggle).copied(), toggle, status.awaits_scan));
        }
        changes.sort_by(|a, b| (a.change, &a.toggle).cmp(&(b.change, &b.toggle)));
        (!changes.is_empty()).then(|| Notification {
            repo: status.source.repo.clone(),
            reference: status.source.reference.clone(),
            revision: status.source.revision,
            changes,
        })
    }

    fn one(
        &mut self,
        before: Option<Trouble>,
        now: &ToggleStatus,
        awaits_scan: bool,
    ) -> Option<ToggleChange> {
        let after = match now.state() {
            ToggleState::Failed => Some(Trouble::Failed),
            ToggleState::Drifted => Some(Trouble::Drifted),
            ToggleState::Held => Some(Trouble::Held),
            // The process before has found the drift, and this one has not compared anything yet.
            ToggleState::InSync if awaits_scan && before == Some(Trouble::Drifted) => before,
            ToggleState::InSync | ToggleState::Orphan => None,
            // It has neither failed again nor recovered yet.
            ToggleState::Pending => before,
        };
        if let Some(problem) = after {
            self.0.insert(now.toggle.clone(), problem);
        }
        let change = match (before, after) {
            (before, after) if before == after => return None,
            (_, Some(Trouble::Failed)) => ChangeKind::Failed,
            (_, Some(Trouble::Drifted)) => ChangeKind::Drifted,
            (_, Some(Trouble::Held)) => ChangeKind::Held,
            (Some(problem), None) => problem.end(),
            (None, None) => return None,
        };
        Some(ToggleChange {
            toggle: now.toggle.clone(),
            change,
            reason: after.and(now.reason().map(str::to_owned)),
        })
    }

    /// Returns the changes of toggles that no longer have a file or a record.
    fn absent(&self, before: &BTreeMap<ToggleId, Trouble>, now: &[ToggleStatus]) -> Vec<ToggleChange> {
        before
            .iter()
            .filter(|(toggle, _)| now.binary_search_by(|status| status.toggle.cmp(toggle)).is_err())
            .map(|(toggle, problem)| ToggleChange {
                toggle: toggle.clone(),
                change: problem.end(),
                reason: Some("the toggle no longer has a document or a record".to_owned()),
            })
            .collect()
    }
}

impl Trouble {
    fn end(self) -> ChangeKind {
        match self {
            Self::Failed => ChangeKind::Recovered,
            Self::Drifted | Self::Held => ChangeKind::Released,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::daemon::LastPass;

    fn status(toggles: &[(&str, ToggleState)]) -> Status {
        let toggles = toggles
            .iter()
            .map(|(toggle, state)| ToggleStatus::in_state(toggle, *state));
        Status {
            last_pass: Some(LastPass {
                at: 1,
                result: PassResult::Success,
                took_ms: 1,
            }),
            toggles: Arc::new(toggles.collect()),
            ..Status::default()
        }
    }

    fn lines(notification: Option<Notification>) -> Vec<String> {
        let changes = notification
            .map(|notification| notification.changes)
            .unwrap_or_default();
        changes
            .iter()
            .map(|change| format!("{} {}", change.toggle, change.change.as_str()))
            .collect()
    }

    #[test]
    fn every_change_of_state_is_sent_once() {
        use ToggleState::{Drifted, Failed, Held, InSync, Orphan, Pending};
        let mut sent = SentNotifications::default();
        for (state, expected) in [
            (InSync, None),
            (Pending, None),
            (Failed, Some("failed")),
            (Failed, None),
            (Pending, None),
            (Failed, None),
            (Pending, None),
            (InSync, Some("recovered")),
            (InSync, None),
            (Held, Some("held")),
            (Held, None),
            (Failed, Some("failed")),
            (Held, Some("held")),
            (Pending, None),
            (InSync, Some("released")),
            (Failed, Some("failed")),
            (Drifted, Some("drifted")),
            (Drifted, None),
            (Held, Some("held")),
            (Drifted, Some("drifted")),
            (Orphan, Some("released")),
            (Orphan, None),
        ] {
            let notification = sent.update(&status(&[("a/b/c", state)]));
            let expected: Vec<_> = expected.iter().map(|word| format!("a/b/c {word}")).collect();
            assert_eq!(lines(notification), expected, "{state:?}");
        }
    }

    #[test]
    fn a_restart_repeats_nothing() {
        let bad = status(&[("a/b/c", ToggleState::Failed), ("a/b/d", ToggleState::Held)]);
        let mut sent = SentNotifications::default();
        assert_eq!(lines(sent.update(&bad)), ["a/b/c failed", "a/b/d held"]);
        let kept = serde_json::to_string(&sent).unwrap();
        assert_eq!(kept, r#"{"a/b/c":"failed","a/b/d":"held"}"#);
        let mut sent: SentNotifications = serde_json::from_str(&kept).unwrap();
        assert_eq!(sent.update(&bad), None);
    }

    #[test]
    fn drift_ends_only_after_a_scan() {
        let (held, failed) = (("a/b/d", ToggleState::Held), ("a/b/e", ToggleState::Failed));
        let mut sent = SentNotifications::default();
        let bad = status(&[("a/b/c", ToggleState::Drifted), held, failed]);
        assert_eq!(sent.update(&bad).unwrap().changes.len(), 3);
        let good = ["a/b/c", "a/b/d", "a/b/e"].map(|id| (id, ToggleState::InSync));
        let unscanned = Status {
            awaits_scan: true,
            ..status(&good)
        };
        // A pass finds out on its own that the others are in sync.
        assert_eq!(
            lines(sent.update(&unscanned)),
            ["a/b/e recovered", "a/b/d released"]
        );
        assert_eq!(sent.update(&unscanned), None);
        let drifted = [("a/b/c", ToggleState::Drifted), good[1], good[2]];
        assert_eq!(sent.update(&status(&drifted)), None);
        assert_eq!(lines(sent.update(&status(&good))), ["a/b/c released"]);
    }

    #[test]
    fn a_pass_that_failed_as_a_whole_sends_nothing() {
        let mut sent = SentNotifications::default();
        assert!(sent.update(&status(&[("a/b/c", ToggleState::Failed)])).is_some());
        let mut broken = status(&[]);
        broken.last_pass.as_mut().unwrap().result = PassResult::Failed("no network".to_owned());
        assert_eq!(sent.update(&broken), None);
        assert_eq!(sent.update(&Status::default()), None);
        assert_eq!(lines(sent.update(&status(&[]))), ["a/b/c recovered"]);
        assert_eq!(sent, SentNotifications::default());
    }

    fn state() -> impl Strategy<Value = ToggleState> {
        prop::sample::select(ToggleState::ALL.to_vec())
    }

    proptest! {
        #[test]
        fn nothing_is_sent_twice_in_a_row(states in prop::collection::vec([state(), state()], 1..20)) {
            let mut sent = SentNotifications::default();
            let mut last: BTreeMap<ToggleId, ChangeKind> = BTreeMap::new();
            for [first, second] in states {
                let status = status(&[("a/b/c", first), ("a/b/d", second)]);
                for change in sent.update(&status).map(|notification| notification.changes).unwrap_or_default() {
                    let before = last.insert(change.toggle, change.change);
                    prop_assert_ne!(before, Some(change.change));
                }
                prop_assert_eq!(sent.update(&status), None);
            }
        }
    }
}
