//! `POST /allow`: releases what a rail or a first pass holds, or a revision that looks stale, without a restart.

use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use serde::Deserialize;

use super::Shared;
use super::caller::Caller;
use super::control::{answer, refusal};
use super::server::{json, problem_with_hint};
use crate::daemon::{AllowRequest, Released};
use crate::model::{Allowance, EnvironmentId, Override, escaped, rfc3339};

/// The number of released toggles that the answer names; it counts all of them.
const MOST_NAMED: usize = 1000;

const EXAMPLE: &str =
    r#"send for example {"environment": "shop/production", "what": "first-pass-assert", "revision": "…"}"#;

pub(super) async fn allow(
    State(shared): State<Shared>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    answer(async move {
        shared.authorise(&headers, caller).await?;
        let request = parse(&body, caller, super::now())
            .map_err(|reason| problem_with_hint(StatusCode::BAD_REQUEST, &reason, EXAMPLE))?;
        let control = &shared.0.admin.control;
        let released = control.allow(request).await.map_err(|error| refusal(&error))?;
        log(&released, caller);
        Ok(json(StatusCode::OK, &shown(&released)))
    })
    .await
}

fn log(released: &Released, caller: Caller) {
    let Released { allowance, toggles } = released;
    let Allowance {
        what,
        environment,
        revision,
        by: _,
        at: _,
    } = allowance;
    tracing::info!(
        name: "command",
        command = "allow",
        %caller,
        %what,
        environment = environment.as_ref().map(tracing::field::display),
        %revision,
        toggles = toggles.len(),
        "operator command carried out"
    );
}

fn shown(released: &Released) -> serde_json::Value {
    let Released { allowance, toggles } = released;
    let Allowance {
        what,
        environment,
        revision,
        by,
        at,
    } = allowance;
    let named: Vec<_> = toggles.iter().take(MOST_NAMED).collect();
    serde_json::json!({
        "what": what,
        "environment": environment,
        "revision": revision,
        "by": by,
        "at": rfc3339(*at),
        "releases": { "count": toggles.len(), "toggles": named },
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    environment: Option<String>,
    what: String,
    revision: String,
}

fn parse(body: &[u8], caller: Caller, now: i64) -> Result<AllowRequest, String> {
    let Body {
        environment,
        what,
        revision,
    } = serde_json::from_slice(body).map_err(|error| format!("could not read the command: {error}"))?;
    let environment = environment.map(|text| {
        text.parse::<EnvironmentId>()
            .map_err(|error| format!("`{}` is not an environment: {error}", escaped(&text)))
    });
    Ok(AllowRequest {
        what: what.parse::<Override>().map_err(|error| error.to_string())?,
        environment: environment.transpose()?,
        revision,
        by: caller.to_string(),
        at: now,
    })
}
