//! `POST /allow`: releases what waits for a decision.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::authorize::OperatorRequest;
use super::response::{command, json, problem_with_hint};
use crate::daemon::{AllowRequest, Released};
use crate::model::{Allowance, EnvironmentId, Override, ToggleId, escaped, rfc3339};

/// The most toggles that the response names. It counts all released ones.
const MOST_NAMED: usize = 1000;

const EXAMPLE: &str =
    r#"send for example {"environment": "shop/production", "what": "first-pass-assert", "revision": "…"}"#;

pub(super) async fn allow(request: OperatorRequest) -> Result<Response, Response> {
    let caller = request.caller;
    let order = parse_allow(&request.body, caller, super::state::now())
        .map_err(|reason| problem_with_hint(StatusCode::BAD_REQUEST, &reason, EXAMPLE))?;
    let released = request.control().allow(order).await?;
    log(&released, caller);
    Ok(json(StatusCode::OK, &shown(&released)))
}

fn log(released: &Released, caller: SocketAddr) {
    let Released { allowance, toggles, overwrites: _ } = released;
    let Allowance {
        what,
        environment,
        revision,
        // The caller is a field of the log line already.
        by: _,
        at: _,
        versions: _,
    } = allowance;
    tracing::info!(
        name: "command",
        command = "allow",
        %caller,
        %what,
        environment = environment.as_ref().map(tracing::field::display),
        %revision,
        toggles = (*what != Override::History).then_some(toggles.len()),
        "operator command carried out"
    );
}

fn shown(released: &Released) -> serde_json::Value {
    let Released { allowance, toggles, overwrites } = released;
    let Allowance { what, environment, revision, by, at, versions } = allowance;
    let named: Vec<_> = toggles.iter().take(MOST_NAMED).collect();
    let mut releases = serde_json::json!({ "count": toggles.len(), "toggles": named });
    if *what == Override::History {
        // What it releases is a revision, whose changes nobody has planned yet.
        releases = serde_json::json!({ "revision": revision });
    }
    if let Some(versions) = versions {
        let named: BTreeMap<_, _> = versions.iter().take(MOST_NAMED).collect();
        releases["versions"] = serde_json::json!(named);
    }
    if !overwrites.is_empty() {
        let named: BTreeMap<_, _> = overwrites.iter().take(MOST_NAMED).collect();
        releases["overwrites"] = serde_json::json!(named);
    }
    serde_json::json!({
        "what": what,
        "environment": environment,
        "revision": revision,
        "by": by,
        "at": rfc3339(*at),
        "releases": releases,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    environment: Option<String>,
    toggle: Option<ToggleId>,
    what: String,
    revision: String,
}

fn parse_allow(body: &[u8], caller: SocketAddr, now: i64) -> Result<AllowRequest, String> {
    let Body { environment, toggle, what, revision } = command(body)?;
    let environment = environment.map(|text| {
        text.parse::<EnvironmentId>()
            .map_err(|error| format!("`{}` is not an environment: {error}", escaped(&text)))
    });
    let what = Override::named(&what).map_err(|error| error.to_string())?;
    if toggle.is_some() && !what.is_about_toggles() {
        return Err(format!("`{what}` is about an environment, not about one toggle"));
    }
    Ok(AllowRequest {
        what,
        environment: environment.transpose()?,
        toggle,
        revision,
        by: caller.to_string(),
        at: now,
    })
}
