//! Handles push webhooks (`POST /webhook/…`). An authentic webhook fires the trigger, which carries no data.
//!
//! Forges do not repeat a delivery, so nothing but a failed check may cost one: neither its size nor a flood of forged
//! webhooks, nor a name of the repository that only the forge knows.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt as _;
use serde_json::Value;

use super::answer::{json, problem};
use super::deliveries::Disposition;
use super::event::{About, Watched};
use super::form::{PayloadField, is_form};
use super::replay::Delivery;
use super::signature::{self, Authentic, WebhookCheck};
use super::webhook_kind::WebhookKind;
use super::{AdminState, LONGEST_REQUEST};
use crate::git::moved_to;

/// The largest webhook, in bytes.
const LARGEST_BODY: usize = 32 << 20;
/// In bytes. A body over the limit is read this much further, so that its sender receives the response instead of a
/// broken connection.
const DISCARDED: usize = 4 << 20;
/// The longest JSON text that is parsed, in bytes. A push of thousands of files lists every path; a longer text is a
/// trigger if it is authentic.
const LARGEST_PARSED: usize = 1 << 20;
/// How long a webhook may take to arrive: a little less than any request may, so that a slow one is recorded.
const LONGEST_DELIVERY: Duration = LONGEST_REQUEST.saturating_sub(Duration::from_millis(500));
/// In characters.
const LONGEST_EVENT_NAME: usize = 100;

/// The consequence of an authentic webhook.
enum Verdict {
    Fire,
    /// It concerns something else: the reason, and the ref or repository.
    Ignore(&'static str, Option<String>),
}

/// Why a webhook is answered with an error.
#[derive(Clone, Copy, Debug)]
enum Refusal {
    Forged(signature::Forged),
    /// The connection ended before the body did.
    Incomplete,
    /// It is authentic, but no host sends such a text.
    NotAnObject,
    NoSecret,
    /// It did not arrive in time.
    TooSlow,
    /// It failed the check, like too many before it. It can be sent again after this time.
    TooMany(Duration),
    TooLarge,
    UnreadableSecret,
}

pub(super) async fn receive(
    kind: WebhookKind,
    State(shared): State<AdminState>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let verdict = tokio::time::timeout(LONGEST_DELIVERY, shared.judge(kind, &head, body)).await;
    let verdict = verdict.unwrap_or(Err(Refusal::TooSlow));
    let mut deliveries = lock(&shared.0.deliveries);
    match verdict {
        Ok(Verdict::Fire) => {
            shared.0.admin.control.trigger().fire();
            deliveries.accept();
            tracing::info!(name: "webhook_received", kind = kind.as_str(), "webhook received, pass triggered");
            json(StatusCode::ACCEPTED, &serde_json::json!({ "accepted": true }))
        }
        Ok(Verdict::Ignore(reason, detail)) => {
            deliveries.decline(kind, Disposition::Ignored, reason, detail);
            json(
                StatusCode::OK,
                &serde_json::json!({ "accepted": false, "reason": reason }),
            )
        }
        Err(refusal) => {
            deliveries.decline(kind, Disposition::Refused, refusal.reason(), None);
            refusal.response()
        }
    }
}

impl AdminState {
    /// Checks the signature while the body arrives, then what the webhook is about.
    async fn judge(&self, kind: WebhookKind, head: &Parts, body: Body) -> Result<Verdict, Refusal> {
        let mut check = self.check(kind, &head.headers).await;
        let mut text = Text::new(&head.headers);
        let read = stream(head, body, |chunk| {
            if let Ok(check) = &mut check {
                check.update(chunk, text.add(chunk));
            }
        });
        // The body is read to its end even if the check fails, so that the sender receives the response.
        read.await?;
        let authentic = check.and_then(|check| check.finish().map_err(Refusal::Forged));
        // Authentic webhooks are not limited: triggers coalesce, and a flood of forged ones must not keep them out.
        let authentic = authentic.map_err(|refusal| self.limited(refusal))?;
        self.weigh(kind, &head.headers, text, authentic)
    }

    async fn check(&self, kind: WebhookKind, headers: &HeaderMap) -> Result<WebhookCheck, Refusal> {
        let source = self.0.admin.webhook_secret.as_ref().ok_or(Refusal::NoSecret)?;
        let secret = signature::secret(source, "webhook secret").await;
        let secret = secret.map_err(|_| Refusal::UnreadableSecret)?;
        WebhookCheck::new(kind, headers, &secret, super::now()).map_err(Refusal::Forged)
    }

    /// Takes a webhook that failed the check off the limit.
    fn limited(&self, refusal: Refusal) -> Refusal {
        match (refusal, lock(&self.0.limit).take()) {
            (Refusal::Forged(_), Err(wait)) => Refusal::TooMany(wait),
            (refusal, _) => refusal,
        }
    }

    /// Decides about an authentic webhook. When in doubt, it fires.
    fn weigh(
        &self,
        kind: WebhookKind,
        headers: &HeaderMap,
        text: Text,
        authentic: Authentic,
    ) -> Result<Verdict, Refusal> {
        if !kind.is_push(headers) {
            return Ok(Verdict::Ignore("not a push", event_name(kind, headers)));
        }
        // A text that was too long to keep fires the trigger: forges do not repeat deliveries.
        if let Some(text) = text.kept {
            let event = parse(&text).ok_or(Refusal::NotAnObject)?;
            if !is_push(kind, &event) {
                return Ok(Verdict::Ignore("not a push", None));
            }
            match self.watched().about(&event) {
                About::AnotherRef(theirs) => return Ok(Verdict::Ignore("another ref", Some(theirs))),
                About::AnotherRepository(theirs) => {
                    return Ok(Verdict::Ignore("another repository", Some(theirs)));
                }
                About::Us => {}
            }
        }
        let delivery = authentic.delivery;
        // Forged webhooks do not get here, so they cannot use up the id of an authentic one.
        let delivery = delivery.map(|id| lock(&self.0.replays).record(kind.as_str(), &id));
        Ok(match delivery {
            Some(Delivery::Repeated) => Verdict::Ignore("delivered before", None),
            Some(Delivery::New) | None => Verdict::Fire,
        })
    }

    fn watched(&self) -> Watched {
        let admin = &self.0.admin;
        // A repository that was renamed sends its new name.
        let moved = admin.repo.as_ref().and_then(moved_to);
        Watched::new(
            admin.repo.iter().chain(&moved),
            admin.status.borrow().source.reference.as_deref(),
        )
    }
}

impl Refusal {
    fn reason(self) -> &'static str {
        match self {
            Self::Forged(forged) => forged.reason(),
            Self::Incomplete => "the body is incomplete",
            Self::NotAnObject => "the body is not a JSON object",
            Self::NoSecret => "no webhook secret is set",
            Self::TooSlow => "the body did not arrive in time",
            Self::TooMany(_) => "too many webhooks that failed the check",
            Self::TooLarge => "the body is larger than 32 MiB",
            Self::UnreadableSecret => "could not read the webhook secret",
        }
    }

    fn response(self) -> Response {
        match self {
            // The sender does not learn which check failed; the log has the reason.
            Self::Forged(_) => problem(StatusCode::UNAUTHORIZED, "this webhook is not authentic"),
            Self::Incomplete | Self::NotAnObject => problem(StatusCode::BAD_REQUEST, self.reason()),
            Self::NoSecret => problem(StatusCode::NOT_FOUND, self.reason()),
            Self::TooSlow => problem(StatusCode::REQUEST_TIMEOUT, self.reason()),
            Self::TooMany(wait) => too_many(wait),
            Self::TooLarge => problem(StatusCode::PAYLOAD_TOO_LARGE, self.reason()),
            Self::UnreadableSecret => problem(StatusCode::SERVICE_UNAVAILABLE, self.reason()),
        }
    }
}

/// Passes the body to `sink` while it arrives.
///
/// # Errors
/// If the body is incomplete or larger than [`LARGEST_BODY`], in any framing. `sink` has then received a part of it.
async fn stream(head: &Parts, mut body: Body, mut sink: impl FnMut(&[u8])) -> Result<(), Refusal> {
    // A sender that waits for permission can be refused before it has sent anything.
    if head.headers.contains_key(header::EXPECT) && body.size_hint().lower() > LARGEST_BODY as u64 {
        return Err(Refusal::TooLarge);
    }
    let mut read = 0;
    while let Some(frame) = body.frame().await
        && read <= LARGEST_BODY + DISCARDED
    {
        let frame = frame.map_err(|_| Refusal::Incomplete)?;
        let chunk = frame.into_data().unwrap_or_default();
        read += chunk.len();
        if read <= LARGEST_BODY {
            sink(&chunk);
        }
    }
    match read > LARGEST_BODY {
        true => Err(Refusal::TooLarge),
        false => Ok(()),
    }
}

fn too_many(wait: Duration) -> Response {
    let mut refusal = problem(StatusCode::TOO_MANY_REQUESTS, "too many webhooks");
    // Rounded up, because a retry before the bucket has a token is refused again.
    let seconds = HeaderValue::from(wait.as_secs() + 1);
    refusal.headers_mut().insert(header::RETRY_AFTER, seconds);
    refusal
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The JSON text of a webhook while it arrives.
struct Text {
    /// Where to find the text, if the body is a form.
    field: Option<PayloadField>,
    /// The text so far; `None` once it is longer than [`LARGEST_PARSED`].
    kept: Option<Vec<u8>>,
    /// The text in the last chunk of a form.
    decoded: Vec<u8>,
}

impl Text {
    fn new(headers: &HeaderMap) -> Self {
        Self {
            field: is_form(headers).then(PayloadField::default),
            kept: Some(Vec::new()),
            decoded: Vec::new(),
        }
    }

    /// Adds the text in `chunk`, and returns it if it is not the chunk itself.
    fn add(&mut self, chunk: &[u8]) -> Option<&[u8]> {
        let text = match &mut self.field {
            Some(field) => {
                self.decoded = field.decode(chunk);
                &self.decoded
            }
            None => chunk,
        };
        self.kept = self
            .kept
            .take()
            .filter(|kept| kept.len() + text.len() <= LARGEST_PARSED);
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(text);
        }
        self.field.is_some().then_some(&*self.decoded)
    }
}

/// Parses a JSON object. A generic webhook may be empty.
fn parse(text: &[u8]) -> Option<Value> {
    if text.trim_ascii().is_empty() {
        return Some(Value::Object(serde_json::Map::new()));
    }
    serde_json::from_slice(text).ok().filter(Value::is_object)
}

fn event_name(kind: WebhookKind, headers: &HeaderMap) -> Option<String> {
    let value = headers.get(kind.event_header()?)?.to_str().ok()?;
    Some(value.chars().take(LONGEST_EVENT_NAME).collect())
}

/// Returns whether the body names a push, or no event. GitLab's system hooks name the event only there.
fn is_push(kind: WebhookKind, event: &Value) -> bool {
    let named = ["object_kind", "event_name"]
        .iter()
        .find_map(|member| event.get(member).and_then(Value::as_str));
    kind != WebhookKind::GitLab
        || named.is_none_or(|name| matches!(name, "push" | "repository_update" | "tag_push"))
}
