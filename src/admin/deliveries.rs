//! Records the webhooks that led to no pass, for the log and for `/api/status`.
//!
//! Forges do not repeat a delivery, so an operator has to be able to find out why one had no effect. Reasons come from
//! the code, never from a request: the record cannot grow, and one reason is logged once a minute at most.

use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::webhook_kind::WebhookKind;
use crate::model::{escaped, rfc3339};

/// The shortest time between two log lines with the same reason.
const BETWEEN_LINES: Duration = Duration::from_secs(60);

/// The outcome of a webhook that led to no pass.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Disposition {
    /// It was authentic and concerns something else.
    Ignored,
    /// It was answered with an error.
    Refused,
}

/// The deliveries since the process started: the member `webhooks` of `/api/status`.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub(super) struct Deliveries {
    accepted: Option<Tally>,
    /// By outcome and reason.
    unused: Vec<Unused>,
}

#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
struct Tally {
    count: u64,
    last_at: String,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
struct Unused {
    outcome: Disposition,
    reason: &'static str,
    #[serde(flatten)]
    tally: Tally,
    kind: &'static str,
    /// The subject of the last delivery.
    detail: Option<String>,
    #[serde(skip)]
    logged_at: Option<Instant>,
    /// Deliveries since the last log line.
    #[serde(skip)]
    unlogged: u64,
}

impl Tally {
    fn add(&mut self) {
        self.count += 1;
        self.last_at = rfc3339(super::now());
    }
}

impl Deliveries {
    /// Counts a webhook that fired the trigger.
    pub(super) fn accept(&mut self) {
        self.accepted.get_or_insert_default().add();
    }

    /// Counts a webhook that led to no pass, and logs it unless its reason was logged in the last minute.
    pub(super) fn decline(
        &mut self,
        kind: WebhookKind,
        outcome: Disposition,
        reason: &'static str,
        detail: Option<String>,
    ) {
        let now = Instant::now();
        let unused = self.unused(outcome, reason);
        unused.tally.add();
        unused.kind = kind.as_str();
        unused.detail = detail.map(|detail| escaped(&detail).to_string());
        unused.unlogged += 1;
        // A flood of forged webhooks must not fill the log.
        if unused
            .logged_at
            .is_none_or(|at| now.duration_since(at) >= BETWEEN_LINES)
        {
            unused.log();
            unused.logged_at = Some(now);
            unused.unlogged = 0;
        }
    }

    fn unused(&mut self, outcome: Disposition, reason: &'static str) -> &mut Unused {
        let found = self
            .unused
            .binary_search_by_key(&(outcome, reason), |one| (one.outcome, one.reason));
        let place = found.unwrap_or_else(|place| {
            let new = Unused {
                outcome,
                reason,
                tally: Tally::default(),
                kind: "",
                detail: None,
                logged_at: None,
                unlogged: 0,
            };
            self.unused.insert(place, new);
            place
        });
        &mut self.unused[place]
    }
}

impl Unused {
    fn log(&self) {
        let Self { kind, reason, .. } = self;
        let (detail, count) = (self.detail.as_deref(), self.unlogged);
        match self.outcome {
            Disposition::Ignored => {
                tracing::info!(name: "webhook_ignored", kind, reason, detail, count, "webhook ignored");
            }
            Disposition::Refused => {
                tracing::warn!(name: "webhook_refused", kind, reason, detail, count, "webhook refused");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_reason_is_logged_once_a_minute_and_every_delivery_is_counted() {
        let mut deliveries = Deliveries::default();
        let unlogged = |deliveries: &Deliveries| {
            let unused: Vec<u64> = deliveries.unused.iter().map(|unused| unused.unlogged).collect();
            unused
        };
        let decline = |deliveries: &mut Deliveries| {
            deliveries.decline(WebhookKind::Gitea, Disposition::Refused, "forged", None);
        };
        decline(&mut deliveries);
        assert_eq!(unlogged(&deliveries), [0], "the first one is logged at once");
        decline(&mut deliveries);
        decline(&mut deliveries);
        assert_eq!(unlogged(&deliveries), [2]);
        deliveries.decline(WebhookKind::Gitea, Disposition::Ignored, "another ref", None);
        assert_eq!(
            unlogged(&deliveries),
            [0, 2],
            "another reason is logged on its own"
        );
        tokio::time::advance(BETWEEN_LINES).await;
        decline(&mut deliveries);
        assert_eq!(unlogged(&deliveries), [0, 0]);
        let shown = serde_json::to_value(&deliveries).unwrap();
        assert_eq!(shown["unused"][1]["count"], 4, "{shown}");
    }

    #[test]
    fn details_are_escaped() {
        let mut deliveries = Deliveries::default();
        let detail = Some("acme/\u{1b}[31mred\n".to_owned());
        deliveries.decline(
            WebhookKind::GitHub,
            Disposition::Ignored,
            "another repository",
            detail,
        );
        let shown = serde_json::to_value(&deliveries).unwrap();
        assert_eq!(shown["unused"][0]["detail"], "acme/\\u{1b}[31mred\\n");
        assert_eq!(shown["unused"][0]["outcome"], "ignored");
        assert_eq!(shown["accepted"], serde_json::Value::Null);
    }
}
