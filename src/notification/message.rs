//! Formats notifications for receivers. Limits their size: a message names a few dozen toggles and counts the rest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::daemon::{PassResult, Status, ToggleState, ToggleStatus};
use crate::model::{CommitId, ToggleId, cut, escaped, words};

/// The number of toggles that a message names.
const MOST_NAMED: usize = 50;
/// Slack cuts a text at 4000 characters; this number of lines with short reasons is shorter.
const MOST_LINES: usize = 20;
/// In characters.
const LONGEST_REASON: usize = 300;
const LONGEST_LINE_REASON: usize = 100;

/// Returns the body of a Standard Webhook: a type, a time, and data.
pub(super) fn standard(notification: &Notification, timestamp: &str) -> Value {
    let Notification { repo, reference, revision, changes } = notification;
    let named: Vec<Value> = changes.iter().take(MOST_NAMED).map(named).collect();
    json!({
        "type": "toggles.changed",
        "timestamp": timestamp,
        "data": {
            "repo": repo,
            "ref": reference,
            "revision": revision,
            "counts": ChangeKind::ALL
                .into_iter()
                .map(|kind| (kind.as_str().to_owned(), json!(count(changes, kind))))
                .collect::<serde_json::Map<_, _>>(),
            "omitted": changes.len() - named.len(),
            "changes": named,
        },
    })
}

fn named(change: &ToggleChange) -> Value {
    let reason = change.reason.as_deref().map(|reason| cut(&escaped(reason).to_string(), LONGEST_REASON));
    json!({ "toggle": change.toggle, "change": change.change, "reason": reason })
}

/// Returns the body of a message for Slack or a compatible service.
pub(super) fn slack(notification: &Notification) -> Value {
    let changes = &notification.changes;
    let counts: Vec<String> = ChangeKind::ALL
        .into_iter()
        .map(|kind| (count(changes, kind), kind.as_str()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let mut text = format!("gitoggle: {}", counts.join(", "));
    if let Some(revision) = &notification.revision {
        text.push_str(&format!(" at {}", code(&revision.short(), LONGEST_LINE_REASON)));
    }
    text.push_str(&format!(" of {}", code(&notification.repo, LONGEST_LINE_REASON)));
    for change in changes.iter().take(MOST_LINES) {
        let toggle = code(change.toggle.as_str(), usize::MAX);
        text.push_str(&format!("\n• {} {toggle}", change.change.as_str()));
        if let Some(reason) = change.reason.as_deref().filter(|reason| !reason.is_empty()) {
            text.push_str(&format!(": {}", code(reason, LONGEST_LINE_REASON)));
        }
    }
    if changes.len() > MOST_LINES {
        text.push_str(&format!("\n… and {} more", changes.len() - MOST_LINES));
    }
    // Without previews: the receiver must not fetch addresses that the text contains.
    json!({ "text": text, "unfurl_links": false, "unfurl_media": false })
}

/// Formats text from elsewhere as a code span, in which Slack and compatible services ignore mentions and links. Also breaks
/// mentions, and escapes Slack's control characters by its rules.
fn code(text: &str, longest: usize) -> String {
    let text = cut(&escaped(text).to_string(), longest)
        // A backtick would end the code span.
        .replace('`', "'")
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('@', "@\u{200b}");
    format!("`{text}`")
}

fn count(changes: &[ToggleChange], kind: ChangeKind) -> usize {
    changes.iter().filter(|change| change.change == kind).count()
}

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
    mod message {
        use super::super::*;
        use crate::model::{CommitId, ObjectId};

        fn notification(changes: Vec<ToggleChange>) -> Notification {
            Notification {
                repo: "https://git.example.org/acme/toggles".to_owned(),
                reference: Some("refs/heads/main".to_owned()),
                revision: Some(CommitId(ObjectId([0xab; 20]))),
                changes,
            }
        }

        fn change(toggle: &str, change: ChangeKind, reason: Option<&str>) -> ToggleChange {
            ToggleChange { toggle: toggle.parse().unwrap(), change, reason: reason.map(str::to_owned) }
        }

        #[test]
        fn a_standard_message_has_counts_and_names() {
            let notification = notification(vec![
                change("a/b/c", ChangeKind::Failed, Some("400: no\nsuch toggle")),
                change("a/b/d", ChangeKind::Recovered, None),
            ]);
            assert_eq!(
                standard(&notification, "2026-01-02T03:04:05Z"),
                json!({
                    "type": "toggles.changed",
                    "timestamp": "2026-01-02T03:04:05Z",
                    "data": {
                        "repo": "https://git.example.org/acme/toggles",
                        "ref": "refs/heads/main",
                        "revision": "abababababababababababababababababababab",
                        "counts": { "failed": 1, "drifted": 0, "held": 0, "recovered": 1, "released": 0 },
                        "omitted": 0,
                        "changes": [
                            { "toggle": "a/b/c", "change": "failed", "reason": "400: no\\nsuch toggle" },
                            { "toggle": "a/b/d", "change": "recovered", "reason": null },
                        ],
                    },
                })
            );
        }

        #[test]
        fn a_slack_message_contains_neither_mentions_nor_links() {
            let reason = "<!channel> @here [x](http://e.org) ` <http://e.org|ok> & *b*\n";
            let message = slack(&notification(vec![
                change("a/b/c", ChangeKind::Failed, Some(reason)),
                change("a/b/d", ChangeKind::Held, None),
            ]));
            assert_eq!(
                message["text"].as_str().unwrap(),
                "gitoggle: 1 failed, 1 held at `ababababab` of `https://git.example.org/acme/toggles`\n\
             • failed `a/b/c`: `&lt;!channel&gt; @\u{200b}here [x](http://e.org) ' &lt;http://e.org|ok&gt; &amp; *b*\\n`\n\
             • held `a/b/d`"
            );
        }

        #[test]
        fn a_hundred_thousand_changes_are_a_small_message() {
            let long = "x".repeat(10_000);
            let changes = (0..100_000)
                .map(|number| change(&format!("a/b/c{number}"), ChangeKind::Held, Some(&long)))
                .collect();
            let notification = notification(changes);
            let body = standard(&notification, "");
            assert_eq!(body["data"]["omitted"], 99_950);
            assert_eq!(body["data"]["counts"]["held"], 100_000);
            assert!(body.to_string().len() < 32 * 1024);
            let text = slack(&notification)["text"].as_str().unwrap().to_owned();
            assert!(text.ends_with("\n… and 99980 more"), "{text}");
            assert!(text.chars().count() < 4000, "{}", text.chars().count());
        }
    }

    mod change {
        use std::sync::Arc;

        use proptest::prelude::*;

        use super::super::*;
        use crate::daemon::LastPass;

        fn status(toggles: &[(&str, ToggleState)]) -> Status {
            let toggles = toggles.iter().map(|(toggle, state)| ToggleStatus::in_state(toggle, *state));
            Status {
                last_pass: Some(LastPass { at: 1, result: PassResult::Success, took_ms: 1 }),
                toggles: Arc::new(toggles.collect()),
                ..Status::default()
            }
        }

        fn lines(notification: Option<Notification>) -> Vec<String> {
            let changes = notification.map(|notification| notification.changes).unwrap_or_default();
            changes.iter().map(|change| format!("{} {}", change.toggle, change.change.as_str())).collect()
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
            let unscanned = Status { awaits_scan: true, ..status(&good) };
            // A pass finds out on its own that the others are in sync.
            assert_eq!(lines(sent.update(&unscanned)), ["a/b/e recovered", "a/b/d released"]);
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
}
