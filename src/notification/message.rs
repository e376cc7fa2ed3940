//! Formats notifications for receivers. Limits their size: a message names a few dozen toggles and counts the
//! rest.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::daemon::{PassResult, Status, ToggleState, ToggleStatus};
use crate::model::{CommitId, ToggleId, cut, escaped, words};

/// The number of toggles that a message names.
const MOST_NAMED: usize = 50;
/// Slack cuts a text at 4000 characters; this number of lines with short reasons is shorter.
const MOST_LINES: usize = 20;
/// A reason ends with the way out. In characters.
const LONGEST_REASON: usize = 1000;
/// The characters of all reasons of a message, and of one to Slack.
const MOST_REASONS: usize = 24_000;
const MOST_LINE_REASONS: usize = 2_000;
/// While a pass is held, further causes are not sent.
const MOST_CAUSES: usize = 16;
/// The repository and a revision are shorter.
const LONGEST_NAME: usize = 100;

/// Returns the body of a Standard Webhook: a type, a time, and data.
pub(super) fn standard(notification: &Notification, timestamp: &str) -> Value {
    let Notification { repo, reference, revision, news } = notification;
    let mut data = json!({ "repo": repo, "ref": reference, "revision": revision });
    let name = match news {
        News::Changes(changes) => {
            let longest = longest_reason(MOST_REASONS, changes.len().min(MOST_NAMED));
            let named: Vec<Value> =
                changes.iter().take(MOST_NAMED).map(|change| named(change, longest)).collect();
            data["counts"] = ChangeKind::ALL
                .into_iter()
                .map(|kind| (kind.as_str().to_owned(), json!(count(changes, kind))))
                .collect::<serde_json::Map<_, _>>()
                .into();
            data["omitted"] = json!(changes.len() - named.len());
            data["changes"] = json!(named);
            "toggles.changed"
        }
        News::PassHeld(reason) => {
            data["reason"] = json!(cut(&escaped(reason).to_string(), LONGEST_REASON));
            "pass.held"
        }
        News::PassReleased => "pass.released",
    };
    json!({ "type": name, "timestamp": timestamp, "data": data })
}

/// Returns how long each reason of `count` changes may be: few reasons are complete, with their advice at the
/// end.
fn longest_reason(all: usize, count: usize) -> usize {
    (all / count.max(1)).min(LONGEST_REASON)
}

fn named(change: &ToggleChange, longest: usize) -> Value {
    let reason = change.reason.as_deref().map(|reason| cut(&escaped(reason).to_string(), longest));
    json!({ "toggle": change.toggle, "change": change.change, "reason": reason })
}

/// Returns the body of a message for Slack or a compatible service.
pub(super) fn slack(notification: &Notification) -> Value {
    let headline = match &notification.news {
        News::Changes(changes) => {
            let counts = ChangeKind::ALL.into_iter().map(|kind| (count(changes, kind), kind.as_str()));
            let counts =
                counts.filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
            counts.collect::<Vec<_>>().join(", ")
        }
        News::PassHeld(_) => "nothing is published".to_owned(),
        News::PassReleased => "publishing continues".to_owned(),
    };
    let mut text = format!("gitoggle: {headline}");
    if let Some(revision) = &notification.revision {
        text.push_str(&format!(" at {}", code(&revision.short(), LONGEST_NAME)));
    }
    text.push_str(&format!(" of {}", code(&notification.repo, LONGEST_NAME)));
    let changes = match &notification.news {
        News::Changes(changes) => changes.as_slice(),
        News::PassHeld(reason) => {
            text.push_str(&format!(": {}", code(reason, LONGEST_REASON)));
            &[]
        }
        News::PassReleased => &[],
    };
    let longest = longest_reason(MOST_LINE_REASONS, changes.len().min(MOST_LINES));
    for change in changes.iter().take(MOST_LINES) {
        let toggle = code(change.toggle.as_str(), usize::MAX);
        text.push_str(&format!("\n• {} {toggle}", change.change.as_str()));
        if let Some(reason) = change.reason.as_deref().filter(|reason| !reason.is_empty()) {
            text.push_str(&format!(": {}", code(reason, longest)));
        }
    }
    if changes.len() > MOST_LINES {
        text.push_str(&format!("\n… and {} more", changes.len() - MOST_LINES));
    }
    // Without previews: the receiver must not fetch addresses that the text contains.
    json!({ "text": text, "unfurl_links": false, "unfurl_media": false })
}

/// Formats text from elsewhere as a code span, in which Slack and compatible services ignore mentions and
/// links. Also breaks mentions, and escapes Slack's control characters by its rules.
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

#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(super) struct ToggleChange {
    pub(super) toggle: ToggleId,
    pub(super) change: ChangeKind,
    pub(super) reason: Option<String>,
}

/// What one pass changed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Notification {
    /// The repository, as configured.
    pub(super) repo: String,
    /// The ref, once it is resolved.
    pub(super) reference: Option<String>,
    /// The commit of the pass; none if the pass was held.
    pub(super) revision: Option<CommitId>,
    pub(super) news: News,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum News {
    /// The changes of toggles, failed ones first, then by toggle. Never empty.
    Changes(Vec<ToggleChange>),
    /// Passes are held until someone decides, for this reason.
    PassHeld(String),
    /// Passes were held and no longer are.
    PassReleased,
}

/// The troubles of the notifications so far. Kept in a file, so that a restart repeats nothing.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct SentNotifications {
    /// Whether the last message about a pass says that it is held. An id of a toggle contains a slash.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_held: bool,
    /// What the messages since then have named as the cause, as far as this process has sent them.
    #[serde(skip)]
    causes: BTreeSet<String>,
    /// The failed, drifted and held toggles.
    #[serde(flatten)]
    toggles: BTreeMap<ToggleId, Trouble>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Trouble {
    Failed,
    Drifted,
    Held,
}

impl SentNotifications {
    /// Returns the notification about the last pass as a whole and records it as sent. A pass that failed is
    /// retried, so only the metrics and `/readyz` report it; a pass that is held waits for someone, who must
    /// learn of it.
    pub(super) fn of_pass(&mut self, status: &Status) -> Option<Notification> {
        let held = status.held().map(str::to_owned);
        let is_held = held.is_some();
        if !is_held && !is_known(status) {
            return None;
        }
        let was_held = std::mem::replace(&mut self.is_held, is_held);
        let news = held.filter(|reason| self.is_new_cause(was_held, reason)).map(News::PassHeld);
        let is_released = was_held && !is_held;
        if is_released {
            self.causes.clear();
        }
        news.or(is_released.then_some(News::PassReleased)).map(|news| self.notification(status, news))
    }

    /// Returns the notification about the toggles that changed since the last one and records it as sent.
    pub(super) fn of_toggles(&mut self, status: &Status) -> Option<Notification> {
        let changes = is_known(status).then(|| self.changes(status)).filter(|changes| !changes.is_empty());
        changes.map(|changes| self.notification(status, News::Changes(changes)))
    }

    fn notification(&self, status: &Status, news: News) -> Notification {
        Notification {
            repo: status.source.repo.clone(),
            reference: status.source.reference.clone(),
            revision: status.source.revision.filter(|_| !self.is_held),
            news,
        }
    }

    /// Returns whether nobody has a message about this cause of a held pass. After a restart, the first cause is
    /// taken for that of the message before.
    fn is_new_cause(&mut self, was_held: bool, reason: &str) -> bool {
        let is_known_before = was_held && self.causes.is_empty();
        self.causes.len() < MOST_CAUSES && self.causes.insert(cause(reason)) && !is_known_before
    }

    fn changes(&mut self, status: &Status) -> Vec<ToggleChange> {
        let before = std::mem::take(&mut self.toggles);
        let mut changes = self.absent(&before, &status.toggles);
        for toggle in status.toggles.iter() {
            changes.extend(self.one(before.get(&toggle.toggle).copied(), toggle, status.awaits_scan));
        }
        changes.sort_unstable_by(|a, b| (a.change, &a.toggle).cmp(&(b.change, &b.toggle)));
        changes
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
            self.toggles.insert(now.toggle.clone(), problem);
        }
        let change = match (before, after) {
            (before, after) if before == after => return None,
            (_, Some(Trouble::Failed)) => ChangeKind::Failed,
            (_, Some(Trouble::Drifted)) => ChangeKind::Drifted,
            (_, Some(Trouble::Held)) => ChangeKind::Held,
            (Some(problem), None) => problem.end(),
            (None, None) => return None,
        };
        Some(ToggleChange { toggle: now.toggle.clone(), change, reason: after.and(now.reason()) })
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

/// Returns whether the states of the toggles are known: they are not after a pass that failed.
fn is_known(status: &Status) -> bool {
    match status.last_pass.as_ref().map(|pass| &pass.result) {
        None | Some(PassResult::Failed(_) | PassResult::Held(_)) => false,
        Some(PassResult::Success | PassResult::Noop) => true,
    }
}

/// Returns a reason without what another commit changes in it: ids, numbers and quoted text.
fn cause(reason: &str) -> String {
    let unquoted = reason.split('`').step_by(2);
    let words =
        unquoted.flat_map(str::split_whitespace).filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
    words.collect::<Vec<_>>().join(" ")
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
                news: News::Changes(changes),
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

        #[test]
        fn few_reasons_are_sent_in_full() {
            let long = format!("{}: `gitoggle allow`", "x".repeat(900));
            let notification = notification(
                (0..12).map(|n| change(&format!("a/b/c{n}"), ChangeKind::Held, Some(&long))).collect(),
            );
            assert_eq!(standard(&notification, "")["data"]["changes"][11]["reason"], *long);
            let one = self::notification(vec![change("a/b/c", ChangeKind::Held, Some(&long))]);
            let text = slack(&one)["text"].as_str().unwrap().to_owned();
            assert!(text.ends_with(": 'gitoggle allow'`"), "{text}");
        }

        #[test]
        fn a_held_pass_is_a_message_of_its_own() {
            let held = Notification {
                revision: None,
                news: News::PassHeld("revision `ab` is not signed".to_owned()),
                ..notification(Vec::new())
            };
            let body = standard(&held, "");
            assert_eq!(
                (&body["type"], &body["data"]["reason"]),
                (&json!("pass.held"), &json!("revision `ab` is not signed"))
            );
            assert_eq!(
                slack(&held)["text"],
                "gitoggle: nothing is published of `https://git.example.org/acme/toggles`: `revision 'ab' is not signed`"
            );
            let released = Notification { news: News::PassReleased, ..notification(Vec::new()) };
            assert_eq!(standard(&released, "")["type"], "pass.released");
            assert_eq!(
                slack(&released)["text"],
                "gitoggle: publishing continues at `ababababab` of `https://git.example.org/acme/toggles`"
            );
        }
    }

    mod change {
        use std::sync::Arc;

        use proptest::prelude::*;

        use super::super::*;
        use crate::daemon::LastPass;

        /// Returns all notifications about a status.
        fn update(sent: &mut SentNotifications, status: &Status) -> Vec<Notification> {
            sent.of_pass(status).into_iter().chain(sent.of_toggles(status)).collect()
        }

        fn status(toggles: &[(&str, ToggleState)]) -> Status {
            let toggles = toggles.iter().map(|(toggle, state)| ToggleStatus::in_state(toggle, *state));
            Status {
                last_pass: Some(LastPass { at: 1, result: PassResult::Success, took_ms: 1 }),
                toggles: Arc::new(toggles.collect()),
                ..Status::default()
            }
        }

        fn lines(notifications: Vec<Notification>) -> Vec<String> {
            let lines = notifications.into_iter().flat_map(|notification| match notification.news {
                News::Changes(changes) => changes
                    .iter()
                    .map(|change| format!("{} {}", change.toggle, change.change.as_str()))
                    .collect(),
                News::PassHeld(reason) => vec![format!("held: {reason}")],
                News::PassReleased => vec!["released".to_owned()],
            });
            lines.collect()
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
                let notification = update(&mut sent, &status(&[("a/b/c", state)]));
                let expected: Vec<_> = expected.iter().map(|word| format!("a/b/c {word}")).collect();
                assert_eq!(lines(notification), expected, "{state:?}");
            }
        }

        #[test]
        fn a_restart_repeats_nothing() {
            let bad = status(&[("a/b/c", ToggleState::Failed), ("a/b/d", ToggleState::Held)]);
            let mut sent = SentNotifications::default();
            assert_eq!(lines(update(&mut sent, &bad)), ["a/b/c failed", "a/b/d held"]);
            let kept = serde_json::to_string(&sent).unwrap();
            assert_eq!(kept, r#"{"a/b/c":"failed","a/b/d":"held"}"#);
            let mut sent: SentNotifications = serde_json::from_str(&kept).unwrap();
            assert_eq!(update(&mut sent, &bad), []);
        }

        #[test]
        fn drift_ends_only_after_a_scan() {
            let (held, failed) = (("a/b/d", ToggleState::Held), ("a/b/e", ToggleState::Failed));
            let mut sent = SentNotifications::default();
            let bad = status(&[("a/b/c", ToggleState::Drifted), held, failed]);
            assert_eq!(lines(update(&mut sent, &bad)).len(), 3);
            let good = ["a/b/c", "a/b/d", "a/b/e"].map(|id| (id, ToggleState::InSync));
            let unscanned = Status { awaits_scan: true, ..status(&good) };
            // A pass finds out on its own that the others are in sync.
            assert_eq!(lines(update(&mut sent, &unscanned)), ["a/b/e recovered", "a/b/d released"]);
            assert_eq!(update(&mut sent, &unscanned), []);
            let drifted = [("a/b/c", ToggleState::Drifted), good[1], good[2]];
            assert_eq!(update(&mut sent, &status(&drifted)), []);
            assert_eq!(lines(update(&mut sent, &status(&good))), ["a/b/c released"]);
        }

        #[test]
        fn a_pass_that_failed_as_a_whole_sends_nothing() {
            let mut sent = SentNotifications::default();
            assert_eq!(
                lines(update(&mut sent, &status(&[("a/b/c", ToggleState::Failed)]))),
                ["a/b/c failed"]
            );
            assert_eq!(update(&mut sent, &ended(PassResult::Failed("no network".to_owned()))), []);
            assert_eq!(update(&mut sent, &Status::default()), []);
            assert_eq!(lines(update(&mut sent, &status(&[]))), ["a/b/c recovered"]);
            assert_eq!(sent, SentNotifications::default());
        }

        fn ended(result: PassResult) -> Status {
            let mut status = status(&[]);
            status.last_pass.as_mut().unwrap().result = result;
            status
        }

        #[test]
        fn a_pass_that_waits_for_someone_is_sent_when_it_begins_and_when_it_ends() {
            let held = |reason: &str| ended(PassResult::Held(reason.to_owned()));
            let mut sent = SentNotifications::default();
            assert_eq!(
                lines(update(&mut sent, &status(&[("a/b/c", ToggleState::Failed)]))),
                ["a/b/c failed"]
            );
            assert_eq!(
                lines(update(&mut sent, &held("`ab` at 1f is not signed"))),
                ["held: `ab` at 1f is not signed"]
            );
            assert_eq!(update(&mut sent, &held("`cd` at 2f is not signed")), []);
            assert_eq!(lines(update(&mut sent, &held("3f is stale"))), ["held: 3f is stale"]);
            assert_eq!(update(&mut sent, &held("`cd` at 2f is not signed")), []);
            assert_eq!(update(&mut sent, &ended(PassResult::Failed("no network".to_owned()))), []);
            let kept = serde_json::to_string(&sent).unwrap();
            assert_eq!(kept, r#"{"is_held":true,"a/b/c":"failed"}"#);
            let mut sent: SentNotifications = serde_json::from_str(&kept).unwrap();
            assert_eq!(update(&mut sent, &held("4f is stale")), []);
            assert_eq!(lines(update(&mut sent, &held("not signed"))), ["held: not signed"]);
            assert_eq!(lines(update(&mut sent, &status(&[]))), ["released", "a/b/c recovered"]);
            assert_eq!(update(&mut sent, &status(&[])), []);
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
                    for notification in update(&mut sent, &status) {
                        let News::Changes(changes) = notification.news else {
                            panic!("no pass is held");
                        };
                        for change in changes {
                            let before = last.insert(change.toggle, change.change);
                            prop_assert_ne!(before, Some(change.change));
                        }
                    }
                    prop_assert_eq!(update(&mut sent, &status), vec![]);
                }
            }
        }
    }
}
