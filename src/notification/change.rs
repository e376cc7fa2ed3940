//! What there is to tell after a pass: the difference between what was told and what is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::daemon::{PassResult, Status, ToggleState, ToggleStatus};
use crate::model::{CommitId, ToggleId};

/// What happened to a toggle.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// It could not be applied.
    Failed,
    /// It was left alone on purpose.
    Held,
    /// It had failed, and is in order again.
    Recovered,
    /// It was held, and is no more.
    Released,
}

impl ChangeKind {
    /// All of them, in the order in which people are told.
    pub(crate) const ALL: [Self; 4] = [Self::Failed, Self::Held, Self::Recovered, Self::Released];

    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Held => "held",
            Self::Recovered => "recovered",
            Self::Released => "released",
        }
    }
}

/// One toggle's change.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Change {
    /// Which toggle.
    pub toggle: ToggleId,
    /// What happened to it.
    pub change: ChangeKind,
    /// Why, in words, where there is something to say.
    pub reason: Option<String>,
}

/// Everything that one pass changed, to be told at once.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Notice {
    /// The repository, as given.
    pub repo: String,
    /// The ref that is followed, once it is known.
    pub reference: Option<String>,
    /// The commit that was looked at.
    pub revision: Option<CommitId>,
    /// The changes: what failed first, then by toggle. Never empty.
    pub changes: Vec<Change>,
}

/// What people were told last and is still so. Small: only what failed or is held is in it. Whoever keeps it keeps a
/// restart from telling everything again.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Told(BTreeMap<ToggleId, Trouble>);

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Trouble {
    Failed,
    Held,
}

impl Told {
    /// Returns what there is to tell after a pass, and takes it for told. Nothing after a pass that failed as a
    /// whole: its toggles are as unknown as they were.
    ///
    /// A toggle that is pending keeps what was told about it: it has neither failed again nor recovered yet.
    #[must_use]
    pub fn tell(&mut self, status: &Status) -> Option<Notice> {
        match &status.last_pass {
            None => return None,
            Some(pass) if matches!(pass.result, PassResult::Failed(_)) => return None,
            Some(_) => {}
        }
        let before = std::mem::take(&mut self.0);
        let mut changes = self.absent(&before, &status.toggles);
        for toggle in status.toggles.iter() {
            changes.extend(self.one(before.get(&toggle.toggle).copied(), toggle));
        }
        changes.sort_by(|a, b| (a.change, &a.toggle).cmp(&(b.change, &b.toggle)));
        (!changes.is_empty()).then(|| Notice {
            repo: status.source.repo.clone(),
            reference: status.source.reference.clone(),
            revision: status.source.revision,
            changes,
        })
    }

    fn one(&mut self, before: Option<Trouble>, now: &ToggleStatus) -> Option<Change> {
        let after = match now.state {
            ToggleState::Failed => Some(Trouble::Failed),
            ToggleState::Held => Some(Trouble::Held),
            ToggleState::InSync | ToggleState::Orphan => None,
            ToggleState::Pending => before,
        };
        if let Some(trouble) = after {
            self.0.insert(now.toggle.clone(), trouble);
        }
        let change = match (before, after) {
            (before, after) if before == after => return None,
            (_, Some(Trouble::Failed)) => ChangeKind::Failed,
            (_, Some(Trouble::Held)) => ChangeKind::Held,
            (Some(trouble), None) => trouble.end(),
            (None, None) => return None,
        };
        Some(Change {
            toggle: now.toggle.clone(),
            change,
            reason: after.and(now.reason.clone()),
        })
    }

    /// A toggle of which nothing is left, neither file nor record, is in no trouble any more.
    fn absent(&self, before: &BTreeMap<ToggleId, Trouble>, now: &[ToggleStatus]) -> Vec<Change> {
        before
            .iter()
            .filter(|(toggle, _)| now.binary_search_by(|status| status.toggle.cmp(toggle)).is_err())
            .map(|(toggle, trouble)| Change {
                toggle: toggle.clone(),
                change: trouble.end(),
                reason: Some("nothing asks for it any more".to_owned()),
            })
            .collect()
    }
}

impl Trouble {
    fn end(self) -> ChangeKind {
        match self {
            Self::Failed => ChangeKind::Recovered,
            Self::Held => ChangeKind::Released,
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
        let toggles = toggles.iter().map(|(toggle, state)| ToggleStatus {
            toggle: toggle.parse().unwrap(),
            state: *state,
            reason: Some("why".to_owned()),
            kind: None,
            revision: None,
        });
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

    fn lines(notice: Option<Notice>) -> Vec<String> {
        let changes = notice.map(|notice| notice.changes).unwrap_or_default();
        changes
            .iter()
            .map(|change| format!("{} {}", change.toggle, change.change.as_str()))
            .collect()
    }

    #[test]
    fn every_change_of_state_is_told_once() {
        use ToggleState::{Failed, Held, InSync, Orphan, Pending};
        let mut told = Told::default();
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
            (Orphan, Some("recovered")),
            (Orphan, None),
        ] {
            let notice = told.tell(&status(&[("a/b/c", state)]));
            let expected: Vec<_> = expected.iter().map(|word| format!("a/b/c {word}")).collect();
            assert_eq!(lines(notice), expected, "{state:?}");
        }
    }

    #[test]
    fn a_restart_repeats_nothing() {
        let bad = status(&[("a/b/c", ToggleState::Failed), ("a/b/d", ToggleState::Held)]);
        let mut told = Told::default();
        assert_eq!(lines(told.tell(&bad)), ["a/b/c failed", "a/b/d held"]);
        let kept = serde_json::to_string(&told).unwrap();
        assert_eq!(kept, r#"{"a/b/c":"failed","a/b/d":"held"}"#);
        let mut told: Told = serde_json::from_str(&kept).unwrap();
        assert_eq!(told.tell(&bad), None);
    }

    #[test]
    fn a_pass_that_failed_as_a_whole_tells_nothing_of_toggles() {
        let mut told = Told::default();
        assert!(told.tell(&status(&[("a/b/c", ToggleState::Failed)])).is_some());
        let mut broken = status(&[]);
        broken.last_pass.as_mut().unwrap().result = PassResult::Failed("no network".to_owned());
        assert_eq!(told.tell(&broken), None);
        assert_eq!(told.tell(&Status::default()), None);
        assert_eq!(lines(told.tell(&status(&[]))), ["a/b/c recovered"]);
        assert_eq!(told, Told::default());
    }

    fn state() -> impl Strategy<Value = ToggleState> {
        prop::sample::select(ToggleState::ALL.to_vec())
    }

    proptest! {
        #[test]
        fn nothing_is_told_twice_in_a_row(states in prop::collection::vec([state(), state()], 1..20)) {
            let mut told = Told::default();
            let mut last: BTreeMap<ToggleId, ChangeKind> = BTreeMap::new();
            for [first, second] in states {
                let status = status(&[("a/b/c", first), ("a/b/d", second)]);
                for change in told.tell(&status).map(|notice| notice.changes).unwrap_or_default() {
                    let before = last.insert(change.toggle, change.change);
                    prop_assert_ne!(before, Some(change.change));
                }
                prop_assert_eq!(told.tell(&status), None);
            }
        }
    }
}
