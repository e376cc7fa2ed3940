//! Orders: `POST /reconcile`, `/suspend` and `/resume`. All of them need the admin token, in a header that a
//! browser sends for nobody else.

use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::caller::Caller;
use super::server::{json, problem, problem_with_hint};
use super::{Shared, signature};
use crate::daemon::{ControlError, Rejection, ScopedSuspensionJson};
use crate::model::{Suspension, SuspensionScope, SuspensionScopeError, escaped, rfc3339};

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
        let control = &shared.0.admin.control;
        control.reconcile().await.map_err(|error| refusal(&error))?;
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
        let (scope, suspension) =
            parse(&body, super::now()).map_err(|reason| problem(StatusCode::BAD_REQUEST, &reason))?;
        let control = &shared.0.admin.control;
        let done = control.suspend(scope.clone(), suspension.clone()).await;
        done.map_err(|error| refusal(&error))?;
        tracing::info!(
            name: "command",
            command = "suspend",
            %caller,
            %scope,
            reason = suspension.reason,
            until = suspension.until.map(rfc3339),
            "operator command carried out"
        );
        let suspended = ScopedSuspensionJson::from((&scope, &suspension));
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
    body: Bytes,
) -> Response {
    answer(async move {
        shared.authorise(&headers, caller).await?;
        let scope = read::<Resumption>(&body)
            .and_then(|resumption| part(resumption.scope.as_deref()))
            .map_err(|reason| problem(StatusCode::BAD_REQUEST, &reason))?;
        let control = &shared.0.admin.control;
        let resumed = control.resume(scope.clone()).await;
        let resumed = resumed.map_err(|error| refusal(&error))?;
        if resumed.is_empty() && !scope.is_everything() {
            return Err(shared.not_suspended(&scope));
        }
        tracing::info!(name: "command", command = "resume", %caller, %scope, "operator command carried out");
        let resumed = serde_json::json!({ "suspended": null, "resumed": resumed });
        Ok(json(StatusCode::OK, &resumed))
    })
    .await
}

/// Lets `?` be used for an answer that comes early.
pub(super) async fn answer(work: impl Future<Output = Result<Response, Response>>) -> Response {
    work.await.unwrap_or_else(|early| early)
}

/// Returns the refusal of an order that the driver did not carry out.
pub(super) fn refusal(error: &ControlError) -> Response {
    let reason = escaped(&error.to_string()).to_string();
    let rejection = match error {
        ControlError::Rejected(rejection) => rejection,
        ControlError::NotNow(_) | ControlError::Stopped => {
            return problem(StatusCode::SERVICE_UNAVAILABLE, &reason);
        }
        ControlError::NotRecorded(_) => return problem(StatusCode::INTERNAL_SERVER_ERROR, &reason),
    };
    let status = match rejection {
        Rejection::NoEnvironment(_) => StatusCode::BAD_REQUEST,
        Rejection::NotSupported(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Rejection::NothingPlanned => StatusCode::SERVICE_UNAVAILABLE,
        Rejection::NothingToRelease { .. } | Rejection::OtherRevision { .. } => StatusCode::CONFLICT,
        Rejection::UnknownEnvironment { .. } => StatusCode::NOT_FOUND,
    };
    match rejection.hint() {
        Some(hint) => problem_with_hint(status, &reason, &hint),
        None => problem(status, &reason),
    }
}

impl Shared {
    pub(super) async fn authorise(&self, headers: &HeaderMap, caller: Caller) -> Result<(), Response> {
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

    /// Returns the refusal to resume what is not suspended on its own.
    fn not_suspended(&self, scope: &SuspensionScope) -> Response {
        let status = self.0.admin.status.borrow();
        let scopes = status.suspensions.iter();
        let scopes: Vec<_> = scopes.map(|(scope, _)| format!("`{scope}`")).collect();
        let hint = match scopes.as_slice() {
            [] => "nothing is suspended".to_owned(),
            scopes => format!("suspended: {}", scopes.join(", ")),
        };
        let reason = format!("`{}` is not suspended", escaped(&scope.to_string()));
        problem_with_hint(StatusCode::NOT_FOUND, &reason, &escaped(&hint).to_string())
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
    scope: Option<String>,
    reason: Option<String>,
    #[serde(rename = "for")]
    lasts: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Resumption {
    scope: Option<String>,
}

/// Reads a body, which may be empty.
fn read<T: Default + DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    match body.trim_ascii() {
        b"" => Ok(T::default()),
        text => serde_json::from_slice(text).map_err(|error| format!("could not read the command: {error}")),
    }
}

/// Reads the part that an order is about; without one, it is about everything.
fn part(scope: Option<&str>) -> Result<SuspensionScope, String> {
    match scope {
        None => Ok(SuspensionScope::everything()),
        Some(globs) => globs
            .parse()
            .map_err(|error: SuspensionScopeError| error.to_string()),
    }
}

/// Reads the body of `/suspend`.
fn parse(body: &[u8], now: i64) -> Result<(SuspensionScope, Suspension), String> {
    let order: Order = read(body)?;
    let scope = part(order.scope.as_deref())?;
    let reason = order.reason.filter(|reason| !reason.trim().is_empty());
    if reason
        .as_ref()
        .is_some_and(|reason| reason.chars().count() > LONGEST_REASON)
    {
        return Err(format!("a `reason` has at most {LONGEST_REASON} characters"));
    }
    let lasts = order.lasts.as_deref().map(seconds).transpose()?;
    let until = lasts.map(|lasts| now.saturating_add(lasts));
    Ok((scope, Suspension { reason, until }))
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
            let expected = (SuspensionScope::everything(), expected);
            assert_eq!(parse(body.as_bytes(), 1000), Ok(expected), "{body}");
        }
        for body in [
            "[]",
            "{",
            r#"{"for":7200}"#,
            r#"{"until":"2h"}"#,
            r#"{"reason":1}"#,
            r#"{"scope":"shop/prod"}"#,
            r#"{"scope":""}"#,
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
