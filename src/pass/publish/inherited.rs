//! Delays changes of toggles that an earlier process left unknown (DESIGN, section 4, *Unknown*).
//!
//! A process that was killed did not wait for its requests to end. The service may execute one of them after a request
//! with a newer document, so a different document waits for one timeout. The same document needs no delay, because both
//! orders have the same result.

use std::collections::BTreeSet;

use tokio::time::Instant;

use crate::model::ToggleId;
use crate::plan::{Change, PublishAttempt};

/// The toggles that were unknown when this process opened the state, or that have a request of an earlier process that
/// may still be open.
#[derive(Debug, Default)]
pub(crate) struct Inherited {
    toggles: BTreeSet<ToggleId>,
    /// The time at which every request of an earlier process has ended.
    ended_at: Option<Instant>,
}

impl Inherited {
    pub(crate) fn new(toggles: BTreeSet<ToggleId>, ended_at: Instant) -> Self {
        Self {
            toggles,
            ended_at: Some(ended_at),
        }
    }

    /// Forgets the toggles once every request of an earlier process has ended, and returns whether it has.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        if self.ended_at.is_some_and(|ended_at| ended_at <= now) {
            *self = Self::default();
        }
        self.ended_at.is_none()
    }

    /// Returns the time before which a change may not be sent.
    pub(crate) fn not_before(&self, change: &Change) -> Option<Instant> {
        // This also holds after the service confirmed the same document to this process: the request of the earlier process
        // could still overwrite a newer document.
        let is_open = change.attempt == PublishAttempt::First && self.toggles.contains(&change.id);
        self.ended_at.filter(|_| is_open)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::{Action, Attribution, CommitId, Format, ObjectId, Payload, Version};
    use crate::plan::{Before, History, Overwrite, Plan, SourceInfo};

    fn change(id: &ToggleId, before: Before, attempt: PublishAttempt) -> Change {
        Change {
            version: Version {
                id: id.clone(),
                path: format!("{id}.yaml").into(),
                format: Format::Yaml,
                object: ObjectId([0; 20]),
                payload: payload(),
            },
            action: Action::Update,
            before,
            attribution: Attribution::Uncommitted,
            comment_max_chars: 0,
            attempt,
            overwrite: Overwrite::Held,
            overwrites: None,
            passed: false,
        }
    }

    fn payload() -> Payload {
        let text = r#"{"disabled":true,"content":{"rules":[],"disabledServe":{"select":0},"defaultServe":{"select":0},"variations":[]}}"#;
        Payload::from_json(text).unwrap()
    }

    #[test]
    fn only_a_different_document_of_a_toggle_unknown_at_startup_waits() {
        let (now, ended_at) = (Instant::now(), Instant::now() + Duration::from_secs(10));
        let [left, other]: [ToggleId; 2] = ["a/b/left", "a/b/other"].map(|id| id.parse().unwrap());
        let mut inherited = Inherited::new([left.clone()].into(), ended_at);
        let source = SourceInfo {
            repo: String::new(),
            reference: String::new(),
            revision: CommitId(ObjectId([0; 20])),
            base: None,
            history: History::Complete,
        };
        let plan = Plan::nothing(source, None);
        let unknown = || {
            let change = change(&left, Before::Nothing, PublishAttempt::First);
            Before::Unknown {
                sent: Box::new(super::super::sent(&change, &plan)),
                applied: None,
            }
        };
        assert!(!inherited.expire(now));
        for (id, before, attempt, expected) in [
            (&left, unknown(), PublishAttempt::First, Some(ended_at)),
            (&left, unknown(), PublishAttempt::Retry, None),
            (
                &left,
                Before::Applied(payload()),
                PublishAttempt::First,
                Some(ended_at),
            ),
            (&other, unknown(), PublishAttempt::First, None),
        ] {
            let change = change(id, before, attempt);
            assert_eq!(inherited.not_before(&change), expected, "{change:?}");
        }
        assert!(inherited.expire(ended_at));
        assert_eq!(
            inherited.not_before(&change(&left, unknown(), PublishAttempt::First)),
            None
        );
    }
}
