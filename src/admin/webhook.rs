//! Handles webhooks (`POST /webhook/…`). A webhook is a hint: an authentic one fires the trigger, whatever it
//! is about.
//!
//! Nothing else is read from it. A trigger carries no data, triggers coalesce, and looking up the ref costs
//! less than deciding from a payload whether to look. So no name that only the forge knows, such as that of a
//! renamed repository, can cost a delivery, which forges do not repeat.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt as _;
use serde::Serialize;
use tokio::time::{Instant, timeout};

use super::response::problem;
use super::signature::{self, Forged, WebhookCheck, WebhookKind};
use super::state::{AdminState, LONGEST_REQUEST};
use crate::model::rfc3339;

/// The largest webhook, in bytes.
const LARGEST_WEBHOOK: usize = 32 << 20;
/// In bytes. A body over the limit is read this much further, so that its sender receives the response
/// instead of a broken connection.
const DISCARDED: usize = 4 << 20;
/// How long a webhook may take to arrive: a little less than any request may, so that a slow one is recorded.
const LONGEST_DELIVERY: Duration = LONGEST_REQUEST.saturating_sub(Duration::from_millis(500));
/// How long a webhook waits for its turn.
const LONGEST_TURN: Duration = Duration::from_secs(2);
/// The number of bodies that are read at once.
pub(super) const BODIES: usize = 4;
/// The shortest time between two log lines with the same reason.
const BETWEEN_LINES: Duration = Duration::from_secs(60);

/// Why a webhook is answered with an error.
#[derive(Clone, Copy, Debug)]
enum Refusal {
    /// Others took too long to arrive.
    Busy,
    Forged(Forged),
    /// The connection ended before the body did.
    Incomplete,
    NoSecret,
    /// It did not arrive in time.
    TooSlow,
    TooLarge,
    UnreadableSecret,
}

pub(super) async fn receive(
    kind: WebhookKind,
    State(shared): State<AdminState>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let verdict = timeout(LONGEST_DELIVERY, shared.judge(kind, &head, body)).await;
    let verdict = verdict.unwrap_or(Err(Refusal::TooSlow));
    let mut deliveries = lock(&shared.0.deliveries);
    match verdict {
        Ok(()) => {
            shared.0.admin.control.trigger().deliver();
            deliveries.accept();
            shared.0.admin.metrics.webhook_accepted();
            tracing::info!(name: "webhook_received", kind = kind.as_str(), "webhook received, pass triggered");
            shared.0.admin.status.borrow().log_wait();
            shared.accepted()
        }
        Err(refusal) => {
            deliveries.refuse(kind, refusal.reason(), refusal.hint());
            shared.0.admin.metrics.webhook_refused();
            refusal.response()
        }
    }
}

impl AdminState {
    /// Checks the signature while the body arrives.
    async fn judge(&self, kind: WebhookKind, head: &Parts, body: Body) -> Result<(), Refusal> {
        let mut check = self.check(kind, &head.headers).await;
        // A webhook that is refused because of its headers takes no turn, so that a flood of them keeps
        // nobody waiting.
        let _turn = match &check {
            Ok(_) => {
                let turn = timeout(LONGEST_TURN, self.0.webhook_bodies.acquire()).await;
                Some(turn.map_err(|_| Refusal::Busy)?)
            }
            Err(_) => None,
        };
        // The body is read to its end even if the check fails, so that the sender receives the response.
        let read = stream(head, body, |chunk| {
            if let Ok(check) = &mut check {
                check.update(chunk);
            }
        });
        read.await?;
        check?.finish().map_err(Refusal::Forged)
    }

    async fn check(&self, kind: WebhookKind, headers: &HeaderMap) -> Result<WebhookCheck, Refusal> {
        let source = self.0.admin.webhook_secret.as_ref().ok_or(Refusal::NoSecret)?;
        let secret = signature::secret(source, "webhook secret").await;
        let secret = secret.map_err(|_| Refusal::UnreadableSecret)?;
        WebhookCheck::new(kind, headers, &secret, super::state::now()).map_err(Refusal::Forged)
    }
}

impl Refusal {
    fn reason(self) -> &'static str {
        match self {
            Self::Busy => "other webhooks took too long to arrive",
            Self::Forged(forged) => forged.reason(),
            Self::Incomplete => "the body is incomplete",
            Self::NoSecret => "no webhook secret is set",
            Self::TooSlow => "the body did not arrive in time",
            Self::TooLarge => "the body is larger than 32 MiB",
            Self::UnreadableSecret => "could not read the webhook secret",
        }
    }

    /// Returns what to do about it.
    fn hint(self) -> &'static str {
        match self {
            Self::Forged(_) => COMPARE,
            Self::NoSecret => {
                "set `--webhook-secret-file`, and give the webhook at the Git host the same secret"
            }
            Self::TooLarge => {
                "let the Git host send pushes only, and see its settings for the size of their events"
            }
            Self::Busy | Self::Incomplete | Self::TooSlow => {
                "check the network between the Git host and this daemon"
            }
            Self::UnreadableSecret => "make the file of `--webhook-secret-file` readable",
        }
    }

    fn response(self) -> Response {
        let (status, reason) = match self {
            // The sender does not learn which check failed; the log has the reason.
            Self::Forged(_) => (StatusCode::UNAUTHORIZED, "this webhook is not authentic"),
            Self::Incomplete => (StatusCode::BAD_REQUEST, self.reason()),
            Self::NoSecret => (StatusCode::NOT_FOUND, self.reason()),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, self.reason()),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, self.reason()),
            Self::Busy | Self::UnreadableSecret => (StatusCode::SERVICE_UNAVAILABLE, self.reason()),
        };
        problem(status, reason)
    }
}

/// Passes the body to `sink` while it arrives.
///
/// # Errors
/// If the body is incomplete or larger than [`LARGEST_WEBHOOK`], in any framing. `sink` has then received a part
/// of it.
async fn stream(head: &Parts, mut body: Body, mut sink: impl FnMut(&[u8])) -> Result<(), Refusal> {
    // A sender that waits for permission can be refused before it has sent anything.
    if head.headers.contains_key(header::EXPECT) && body.size_hint().lower() > LARGEST_WEBHOOK as u64 {
        return Err(Refusal::TooLarge);
    }
    let mut read = 0;
    while let Some(frame) = body.frame().await
        && read <= LARGEST_WEBHOOK + DISCARDED
    {
        let frame = frame.map_err(|_| Refusal::Incomplete)?;
        let chunk = frame.into_data().unwrap_or_default();
        read += chunk.len();
        if read <= LARGEST_WEBHOOK {
            sink(&chunk);
        }
    }
    if read > LARGEST_WEBHOOK {
        return Err(Refusal::TooLarge);
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The deliveries since the process started: the member `webhooks` of `/api/status`.
///
/// Reasons come from the code, never from a request, so the record cannot grow.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub(super) struct Deliveries {
    accepted: Option<Tally>,
    refused: Vec<Refused>,
}

#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
struct Tally {
    count: u64,
    last_at: String,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
struct Refused {
    reason: &'static str,
    #[serde(flatten)]
    tally: Tally,
    /// The kind of the last one.
    kind: &'static str,
    #[serde(skip)]
    hint: &'static str,
    #[serde(skip)]
    logged_at: Option<Instant>,
    /// Deliveries since the last log line.
    #[serde(skip)]
    unlogged: u64,
}

impl Tally {
    fn add(&mut self) {
        self.count += 1;
        self.last_at = rfc3339(super::state::now());
    }
}

/// What to do about refused webhooks.
const COMPARE: &str = "give the webhook at the Git host the secret that `--webhook-secret-file` contains";

impl Deliveries {
    /// Returns one line about the last refused webhook; none if there is none, or if a later one was
    /// accepted.
    pub(super) fn explanation(&self) -> Option<String> {
        let last = self.refused.iter().max_by(|a, b| a.tally.last_at.cmp(&b.tally.last_at))?;
        if self.accepted.as_ref().is_some_and(|accepted| accepted.last_at >= last.tally.last_at) {
            return None;
        }
        let count: u64 = self.refused.iter().map(|refused| refused.tally.count).sum();
        let (reason, at, hint) = (last.reason, &last.tally.last_at, last.hint);
        Some(format!("webhooks: {count} refused since the start, the last at {at}: {reason}; {hint}"))
    }

    fn accept(&mut self) {
        self.accepted.get_or_insert_default().add();
    }

    /// Counts a refused webhook, and logs it unless its reason was logged in the last minute: a flood of
    /// forged webhooks must not fill the log.
    fn refuse(&mut self, kind: WebhookKind, reason: &'static str, hint: &'static str) {
        let now = Instant::now();
        let found = self.refused.binary_search_by_key(&reason, |one| one.reason);
        let place = found.unwrap_or_else(|place| {
            let new = Refused {
                reason,
                tally: Tally::default(),
                kind: kind.as_str(),
                hint,
                logged_at: None,
                unlogged: 0,
            };
            self.refused.insert(place, new);
            place
        });
        let refused = &mut self.refused[place];
        refused.tally.add();
        refused.kind = kind.as_str();
        refused.unlogged += 1;
        if refused.logged_at.is_none_or(|at| now.duration_since(at) >= BETWEEN_LINES) {
            let (kind, count) = (refused.kind, refused.unlogged);
            tracing::warn!(name: "webhook_refused", kind, reason, count, hint, "webhook refused");
            refused.logged_at = Some(now);
            refused.unlogged = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Forge;

    #[tokio::test(start_paused = true)]
    async fn each_reason_is_logged_once_a_minute_and_always_counted() {
        let mut deliveries = Deliveries::default();
        let unlogged = |deliveries: &Deliveries| -> Vec<u64> {
            deliveries.refused.iter().map(|one| one.unlogged).collect()
        };
        let refuse = |deliveries: &mut Deliveries| {
            let refusal = Refusal::TooLarge;
            deliveries.refuse(WebhookKind::Forge(Forge::GitLab), refusal.reason(), refusal.hint());
        };
        for _ in 0..3 {
            refuse(&mut deliveries);
        }
        assert_eq!(unlogged(&deliveries), [2]);
        deliveries.refuse(WebhookKind::Generic, Refusal::NoSecret.reason(), Refusal::NoSecret.hint());
        assert_eq!(unlogged(&deliveries), [0, 2], "another reason is logged on its own");
        tokio::time::advance(BETWEEN_LINES).await;
        refuse(&mut deliveries);
        assert_eq!(unlogged(&deliveries), [0, 0]);
        let shown = serde_json::to_value(&deliveries).unwrap();
        assert_eq!(shown["refused"][1]["count"], 4, "{shown}");
        assert_eq!(shown["refused"][0]["kind"], "generic", "{shown}");
        assert_eq!(shown["accepted"], serde_json::Value::Null);
    }
}
