//! `POST /webhook/…`: somebody pushed. An authentic one fires the trigger, which carries nothing of it.

use std::sync::PoisonError;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use serde_json::Value;

use super::event::{About, Watched};
use super::replay::Delivery;
use super::server::{json, problem};
use super::{Shared, signature};

/// Who sends it, which decides how it is signed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Generic,
    Gitea,
    GitHub,
    GitLab,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Gitea => "gitea",
            Self::GitHub => "github",
            Self::GitLab => "gitlab",
        }
    }

    /// Where the host puts its id of a delivery; a generic one is part of what is signed.
    pub(super) fn delivery_header(self) -> Option<&'static str> {
        match self {
            Self::Generic => None,
            Self::Gitea => Some("x-gitea-delivery"),
            Self::GitHub => Some("x-github-delivery"),
            Self::GitLab => Some("x-gitlab-event-uuid"),
        }
    }

    /// Returns whether the headers say that this is a push, or nothing about it.
    fn is_push(self, headers: &HeaderMap) -> bool {
        let (name, pushes): (_, &[&str]) = match self {
            Self::Generic => return true,
            Self::Gitea => ("x-gitea-event", &["push"]),
            Self::GitHub => ("x-github-event", &["push"]),
            Self::GitLab => ("x-gitlab-event", &["Push Hook", "System Hook", "Tag Push Hook"]),
        };
        headers
            .get(name)
            .is_none_or(|event| pushes.iter().any(|push| event == push))
    }
}

/// What becomes of an authentic webhook.
enum Verdict {
    Fire,
    Ignore(&'static str),
}

/// Answers one webhook.
pub(super) async fn receive(
    kind: Kind,
    State(shared): State<Shared>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match shared.judge(kind, &headers, &body).await {
        Err(refusal) => refusal,
        Ok(Verdict::Fire) => {
            shared.0.admin.control.trigger().fire();
            tracing::info!(kind = kind.as_str(), "a webhook asked for a look");
            json(StatusCode::ACCEPTED, &serde_json::json!({ "accepted": true }))
        }
        Ok(Verdict::Ignore(why)) => {
            tracing::debug!(kind = kind.as_str(), why, "a webhook was ignored");
            json(
                StatusCode::OK,
                &serde_json::json!({ "accepted": false, "reason": why }),
            )
        }
    }
}

impl Shared {
    async fn judge(&self, kind: Kind, headers: &HeaderMap, body: &[u8]) -> Result<Verdict, Response> {
        let Some(source) = &self.0.admin.webhook_secret else {
            return Err(problem(StatusCode::NOT_FOUND, "no webhook secret is set"));
        };
        self.limit().map_err(too_many)?;
        let secret = signature::secret(source, "webhook secret").await?;
        let authentic = signature::verify(kind, headers, body, &secret, super::now())
            .map_err(|forged| unauthentic(kind, &forged))?;
        if !kind.is_push(headers) {
            return Ok(Verdict::Ignore("this is no push"));
        }
        let event = parse(headers, body)
            .ok_or_else(|| problem(StatusCode::BAD_REQUEST, "the body is no JSON object"))?;
        if !is_push(kind, &event) {
            return Ok(Verdict::Ignore("this is no push"));
        }
        match self.watched().about(&event) {
            About::AnotherRef => return Ok(Verdict::Ignore("this is about another ref")),
            About::AnotherRepository => return Ok(Verdict::Ignore("this is about another repository")),
            About::Us => {}
        }
        let delivery = authentic.delivery.map(|id| {
            let mut replays = self.0.replays.lock().unwrap_or_else(PoisonError::into_inner);
            replays.note(kind.as_str(), &id)
        });
        Ok(match delivery {
            Some(Delivery::Repeated) => Verdict::Ignore("this was delivered before"),
            Some(Delivery::New) | None => Verdict::Fire,
        })
    }

    /// Takes one webhook off the limit, or says how long to wait.
    fn limit(&self) -> Result<(), Duration> {
        let mut bucket = self.0.limit.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.take()
    }

    fn watched(&self) -> Watched {
        let admin = &self.0.admin;
        Watched::new(
            admin.repo.as_ref(),
            admin.status.borrow().source.reference.as_deref(),
        )
    }
}

fn too_many(wait: Duration) -> Response {
    let mut refusal = problem(StatusCode::TOO_MANY_REQUESTS, "too many webhooks");
    let seconds = HeaderValue::from(wait.as_secs() + 1);
    refusal.headers_mut().insert(header::RETRY_AFTER, seconds);
    refusal
}

/// The answer does not say what was wrong with a signature; the log does.
fn unauthentic(kind: Kind, forged: &signature::Forged) -> Response {
    tracing::warn!(
        kind = kind.as_str(),
        error = forged as &dyn std::error::Error,
        "a webhook was refused"
    );
    problem(StatusCode::UNAUTHORIZED, "this webhook is not authentic")
}

/// Reads the body: a JSON object, or a form whose `payload` is one (GitHub's and Gitea's other content type). A
/// generic webhook may say nothing at all.
fn parse(headers: &HeaderMap, body: &[u8]) -> Option<Value> {
    let form = headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
    let payload = form.then(|| {
        url::form_urlencoded::parse(body)
            .find(|(name, _)| name == "payload")
            .map(|(_, value)| value.into_owned().into_bytes())
    });
    let json = payload.flatten().unwrap_or_else(|| body.to_vec());
    if json.trim_ascii().is_empty() {
        return Some(Value::Object(serde_json::Map::new()));
    }
    serde_json::from_slice(&json).ok().filter(Value::is_object)
}

/// GitLab's system hooks say in the body what happened.
fn is_push(kind: Kind, event: &Value) -> bool {
    let named = ["object_kind", "event_name"]
        .iter()
        .find_map(|member| event.get(member).and_then(Value::as_str));
    kind != Kind::GitLab || named.is_none_or(|name| matches!(name, "push" | "repository_update" | "tag_push"))
}
