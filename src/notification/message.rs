//! Formats notifications for receivers. Limits their size: a message names a few dozen toggles and counts the rest.

use serde_json::{Value, json};

use super::change::{ChangeKind, Notification, ToggleChange};
use crate::model::{cut, escaped};

/// The number of toggles that a message names.
const MOST_NAMED: usize = 50;
/// Slack cuts a text at 4000 characters; this number of lines with short reasons is shorter.
const MOST_LINES: usize = 20;
/// In characters.
const LONGEST_REASON: usize = 300;
const LONGEST_LINE_REASON: usize = 100;

/// Returns the body of a Standard Webhook: a type, a time, and data.
pub(super) fn standard(notification: &Notification, timestamp: &str) -> Value {
    let Notification {
        repo,
        reference,
        revision,
        changes,
    } = notification;
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
    let reason = change
        .reason
        .as_deref()
        .map(|reason| cut(&escaped(reason).to_string(), LONGEST_REASON));
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

#[cfg(test)]
mod tests {
    use super::*;
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
        ToggleChange {
            toggle: toggle.parse().unwrap(),
            change,
            reason: reason.map(str::to_owned),
        }
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
