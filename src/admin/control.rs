//! `POST /reconcile`, `/suspend` and `/resume`: commands of operators to the driver.

use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json as value;

use super::authorize::OperatorRequest;
use super::response::{command, json, problem, problem_with_hint};
use crate::admin::state::AdminState;
use crate::daemon::{ControlError, NOT_THE_WRITER, Rejection, Role, ScopedSuspensionJson};
use crate::model::{Suspension, SuspensionScope, SuspensionScopeError, duration, escaped, hinted, rfc3339};
use crate::plan::hold::resume as resume_hint;

/// In characters.
const LONGEST_REASON: usize = 1000;
/// In seconds: ten years. A longer one is a mistake.
const LONGEST_SUSPENSION: u64 = 10 * 366 * 86_400;

pub(super) async fn reconcile(request: OperatorRequest) -> Result<Response, Response> {
    if matches!(request.shared.0.admin.status.borrow().role, Role::Follower(_)) {
        return Err(ControlError::NotNow(NOT_THE_WRITER.to_owned()).into());
    }
    request.control().reconcile().await?;
    tracing::info!(name: "command", command = "reconcile", caller = %request.caller, "operator command carried out");
    Ok(request.shared.accepted())
}

pub(super) async fn suspend(request: OperatorRequest) -> Result<Response, Response> {
    let (scope, suspension) = parse(&request.body, super::state::now())
        .map_err(|reason| problem(StatusCode::BAD_REQUEST, &reason))?;
    let control = request.control();
    control.suspend(scope.clone(), suspension.clone()).await?;
    tracing::info!(
        name: "command",
        command = "suspend",
        caller = %request.caller,
        %scope,
        reason = suspension.reason,
        until = suspension.until.map(rfc3339),
        hint = %hinted(&resume_hint(&scope)),
        "operator command carried out"
    );
    let suspended = ScopedSuspensionJson::from((&scope, &suspension));
    let status = request.shared.0.admin.status.borrow();
    // A mistyped scope must not look like a success. It is no error, because a scope may precede its first
    // toggle.
    let toggles = status.last_pass.as_ref().map(|_| {
        let toggles = status.toggles.iter();
        toggles.filter(|one| scope.contains(&one.toggle)).count()
    });
    let answer = value!({ "suspended": suspended, "toggles": toggles });
    Ok(json(StatusCode::OK, &answer))
}

pub(super) async fn resume(request: OperatorRequest) -> Result<Response, Response> {
    let scope = read::<Resumption>(&request.body)
        .and_then(|resumption| part(resumption.scope.as_deref()))
        .map_err(|reason| problem(StatusCode::BAD_REQUEST, &reason))?;
    let resumed = request.control().resume(scope.clone()).await?;
    // A mistyped scope must not look like a success.
    if resumed.is_empty() && !scope.is_everything() {
        return Err(request.shared.not_suspended(&scope));
    }
    tracing::info!(name: "command", command = "resume", caller = %request.caller, %scope, "operator command carried out");
    Ok(json(StatusCode::OK, &value!({ "suspended": null, "resumed": resumed })))
}

impl AdminState {
    /// Returns the answer to a request for a pass, which says until when it waits.
    pub(super) fn accepted(&self) -> Response {
        let status = self.0.admin.status.borrow();
        let mut answer = value!({ "accepted": true });
        if let Some(waiting) = status.wait() {
            answer["reason"] = waiting.to_string().into();
            answer["starts_at"] = rfc3339(waiting.at).into();
        }
        json(StatusCode::ACCEPTED, &answer)
    }

    /// Returns the refusal to resume a scope that is not suspended.
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

#[derive(Default, Deserialize)]
// A misspelled `scope` must not suspend everything.
#[serde(deny_unknown_fields)]
struct Order {
    scope: Option<String>,
    reason: Option<String>,
    #[serde(rename = "for")]
    lasts: Option<String>,
}

#[derive(Default, Deserialize)]
// A misspelled `scope` must not resume everything.
#[serde(deny_unknown_fields)]
struct Resumption {
    scope: Option<String>,
}

/// Reads a body, which may be empty.
fn read<T: Default + DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    match body.trim_ascii() {
        b"" => Ok(T::default()),
        text => command(text),
    }
}

/// Parses the scope of an order; the default is everything.
fn part(scope: Option<&str>) -> Result<SuspensionScope, String> {
    match scope {
        None => Ok(SuspensionScope::everything()),
        Some(globs) => globs.parse().map_err(|error: SuspensionScopeError| error.to_string()),
    }
}

fn parse(body: &[u8], now: i64) -> Result<(SuspensionScope, Suspension), String> {
    let order: Order = read(body)?;
    let scope = part(order.scope.as_deref())?;
    let reason = order.reason.filter(|reason| !reason.trim().is_empty());
    if reason.as_ref().is_some_and(|reason| reason.chars().count() > LONGEST_REASON) {
        return Err(format!("a `reason` has at most {LONGEST_REASON} characters"));
    }
    let lasts = order.lasts.as_deref().map(seconds).transpose()?;
    let until = lasts.map(|lasts| now.saturating_add(lasts));
    Ok((scope, Suspension { reason, until }))
}

/// Parses `for` and returns seconds.
fn seconds(text: &str) -> Result<i64, String> {
    let lasts = duration(text).map_err(|error| format!("`for`: {}", escaped(&error)))?;
    match lasts.as_secs() {
        0 => Err("`for` must be at least one second".to_owned()),
        seconds if seconds > LONGEST_SUSPENSION => {
            Err("`for` is more than ten years; leave it out to suspend until resumed".to_owned())
        }
        seconds => Ok(i64::try_from(seconds).unwrap_or(i64::MAX)),
    }
}

/// The refusal of a command that the driver did not carry out.
impl From<ControlError> for Response {
    fn from(error: ControlError) -> Self {
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
            Rejection::NotSupported { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Rejection::NothingPlanned => StatusCode::SERVICE_UNAVAILABLE,
            Rejection::NothingToRelease { .. } | Rejection::OtherRevision { .. } => StatusCode::CONFLICT,
            Rejection::UnknownEnvironment { .. } => StatusCode::NOT_FOUND,
        };
        match rejection.hint() {
            Some(hint) => problem_with_hint(status, &reason, &hint),
            None => problem(status, &reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspension_may_have_a_reason_and_an_end() {
        let suspension =
            |reason: Option<&str>, until| Suspension { reason: reason.map(str::to_owned), until };
        for (body, expected) in [
            ("", suspension(None, None)),
            (" \n", suspension(None, None)),
            ("{}", suspension(None, None)),
            (r#"{"reason":null,"for":null}"#, suspension(None, None)),
            (r#"{"reason":" "}"#, suspension(None, None)),
            (r#"{"reason":"freeze"}"#, suspension(Some("freeze"), None)),
            (r#"{"reason":"x","for":"2h"}"#, suspension(Some("x"), Some(1000 + 7200))),
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
    fn a_suspension_lasts_between_a_second_and_ten_years() {
        for (text, expected) in [("90s", 90), ("1h30m", 5400), ("3660d", 3660 * 86_400)] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in ["", "2", "0s", "999ms", "1w", "15min", "1d 2h", "3661d"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
