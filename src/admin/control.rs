//! Orders: `POST /reconcile`, `/suspend` and `/resume`. All of them need the admin token, in a header that a
//! browser sends for nobody else.

use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use serde::Deserialize;

use super::caller::Caller;
use super::server::{json, problem};
use super::{Shared, signature};
use crate::model::{Suspension, escaped, rfc3339};
use crate::reconcile::{ControlError, SuspensionJson};

/// In characters.
const LONGEST_REASON: usize = 1000;
/// In seconds: ten years. Longer is a mistake, or the same as no end.
const LONGEST_SUSPENSION: u64 = 10 * 366 * 86_400;

pub(super) async fn reconcile(
    State(shared): State<Shared>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    headers: HeaderMap,
) -> Response {
    answer(async move {
        shared.authorise(&headers, caller).await?;
        shared.0.admin.control.reconcile().await.map_err(refusal)?;
        tracing::info!(name: "command", command = "reconcile", %caller, "operator command carried out");
        Ok(json(
            StatusCode::ACCEPTED,
            &serde_json::json!({ "accepted": true }),
        ))
    })
    .await
}

pub(super) async fn suspend(
    State(shared): State<Shared>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    answer(async move {
        shared.authorise(&headers, caller).await?;
        let suspension =
            parse(&body, super::now()).map_err(|reason| problem(StatusCode::BAD_REQUEST, &reason))?;
        let control = &shared.0.admin.control;
        control.suspend(suspension.clone()).await.map_err(refusal)?;
        tracing::info!(
            name: "command",
            command = "suspend",
            %caller,
            reason = suspension.reason,
            until = suspension.until.map(rfc3339),
            "operator command carried out"
        );
        let suspended = SuspensionJson::from(&suspension);
        Ok(json(
            StatusCode::OK,
            &serde_json::json!({ "suspended": suspended }),
        ))
    })
    .await
}

pub(super) async fn resume(
    State(shared): State<Shared>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    headers: HeaderMap,
) -> Response {
    answer(async move {
        shared.authorise(&headers, caller).await?;
        shared.0.admin.control.resume().await.map_err(refusal)?;
        tracing::info!(name: "command", command = "resume", %caller, "operator command carried out");
        Ok(json(StatusCode::OK, &serde_json::json!({ "suspended": null })))
    })
    .await
}

/// Lets `?` be used for an answer that comes early.
async fn answer(work: impl Future<Output = Result<Response, Response>>) -> Response {
    work.await.unwrap_or_else(|early| early)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` hands over")]
fn refusal(error: ControlError) -> Response {
    let status = match error {
        ControlError::Stopped => StatusCode::SERVICE_UNAVAILABLE,
        ControlError::NotRecorded(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    problem(status, &escaped(&error.to_string()).to_string())
}

impl Shared {
    async fn authorise(&self, headers: &HeaderMap, caller: Caller) -> Result<(), Response> {
        let Some(source) = &self.0.admin.admin_token else {
            return Err(problem(
                StatusCode::FORBIDDEN,
                "no admin token is set; start with `--admin-token-file` to allow this",
            ));
        };
        let token = signature::secret(source, "admin token").await?;
        let given = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| bearer(value.as_bytes()));
        match given {
            Some(given) if signature::same(given, token.expose().as_bytes()) => Ok(()),
            _ => {
                tracing::warn!(name: "command_refused", %caller, "operator command without the admin token refused");
                let mut refusal = problem(
                    StatusCode::UNAUTHORIZED,
                    "this needs `Authorization: Bearer <admin token>`",
                );
                let scheme = header::HeaderValue::from_static("Bearer");
                refusal.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
                Err(refusal)
            }
        }
    }
}

/// Returns what follows `Bearer`, which may be spelled in any case.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    reason: Option<String>,
    #[serde(rename = "for")]
    lasts: Option<String>,
}

/// Reads the body of `/suspend`, which may be empty.
fn parse(body: &[u8], now: i64) -> Result<Suspension, String> {
    let order = match body.trim_ascii() {
        b"" => Order::default(),
        text => serde_json::from_slice(text)
            .map_err(|error| format!("this is not the order expected: {error}"))?,
    };
    let reason = order.reason.filter(|reason| !reason.trim().is_empty());
    if reason
        .as_ref()
        .is_some_and(|reason| reason.chars().count() > LONGEST_REASON)
    {
        return Err(format!("a `reason` has at most {LONGEST_REASON} characters"));
    }
    let lasts = order.lasts.as_deref().map(seconds).transpose()?;
    Ok(Suspension {
        reason,
        until: lasts.map(|lasts| now.saturating_add(lasts)),
    })
}

/// Reads a duration such as `90s`, `2h` or `1h30m` as seconds.
fn seconds(text: &str) -> Result<i64, String> {
    let wrong = || {
        let text = escaped(text);
        format!("`for` is a duration with a unit, such as `30m`, `2h` or `1d`, not `{text}`")
    };
    let mut rest = text.trim();
    let mut total = 0_u64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, after) = rest.split_at(digits);
        let unit_ends = after
            .find(|c: char| c.is_ascii_digit() || c == ' ')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_ends);
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let factor = match unit {
            "s" => 1,
            "m" | "min" => 60,
            "h" => 3600,
            "d" => 86_400,
            "w" => 604_800,
            _ => return Err(wrong()),
        };
        total = total.saturating_add(number.saturating_mul(factor));
        rest = after.trim_start();
    }
    match total {
        0 => Err(wrong()),
        1..=LONGEST_SUSPENSION => i64::try_from(total).map_err(|_| wrong()),
        _ => Err("`for` is more than ten years; leave it out to suspend until resumed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspension_may_have_a_reason_and_an_end() {
        let suspension = |reason: Option<&str>, until| Suspension {
            reason: reason.map(str::to_owned),
            until,
        };
        for (body, expected) in [
            ("", suspension(None, None)),
            (" \n", suspension(None, None)),
            ("{}", suspension(None, None)),
            (r#"{"reason":null,"for":null}"#, suspension(None, None)),
            (r#"{"reason":" "}"#, suspension(None, None)),
            (r#"{"reason":"freeze"}"#, suspension(Some("freeze"), None)),
            (
                r#"{"reason":"x","for":"2h"}"#,
                suspension(Some("x"), Some(1000 + 7200)),
            ),
        ] {
            assert_eq!(parse(body.as_bytes(), 1000), Ok(expected), "{body}");
        }
        for body in [
            "[]",
            "{",
            r#"{"for":7200}"#,
            r#"{"until":"2h"}"#,
            r#"{"reason":1}"#,
            &format!(r#"{{"reason":"{}"}}"#, "x".repeat(1001)),
        ] {
            assert!(parse(body.as_bytes(), 1000).is_err(), "{body}");
        }
    }

    #[test]
    fn a_duration_needs_units() {
        for (text, expected) in [
            ("90s", 90),
            ("2h", 7200),
            ("1h30m", 5400),
            ("1d 2h", 93_600),
            ("1w", 604_800),
            ("15min", 900),
        ] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "2",
            "h",
            "-2h",
            "2 h",
            "1.5h",
            "0s",
            "2y",
            "99999999999999999999h",
            "100000w",
            "２h",
        ] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_bearer_token_is_found() {
        assert_eq!(bearer(b"Bearer abc"), Some(&b"abc"[..]));
        assert_eq!(bearer(b"bearer  abc "), Some(&b"abc"[..]));
        for value in [&b""[..], b"abc", b"Bearer", b"Basic abc", b"Bearerabc"] {
            assert_eq!(bearer(value), None);
        }
    }
}
