//! Handles `GET /api/history` and `GET /api/history/COMMIT`: the deployments, and the differences of one of them.
//!
//! Both read the state folder through their own handle, so that a pass never waits for them.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::AdminState;
use super::answer::{
    PageLimit, Parameters, invalid, json_body, problem, problem_with_hint, shutting_down, valid,
};
use crate::daemon::{DeploymentJson, DeploymentLog, DeploymentPart, deployment_json, history_json};
use crate::model::{CommitId, HistoryPage, Scope, ToggleId, escaped, harmless_json};

/// The number of deployments of a page, and of toggles of a deployment, if the request gives none.
const LIMIT: usize = 20;
/// The most that a request may ask for. A response has to end before its connection does.
const MOST: usize = 500;

const EXAMPLE: &str = "for example /api/history?limit=20&toggle=shop/production/*; the next page is before=NEXT, with \
                       `next` of the response; the differences are at /api/history/COMMIT";

/// The parameters of `/api/history`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PageParameters {
    limit: Option<PageLimit>,
    before: Option<String>,
    toggle: Option<String>,
}

/// The parameters of `/api/history/COMMIT`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PartParameters {
    limit: Option<PageLimit>,
    after: Option<String>,
    toggle: Option<String>,
}

pub(super) async fn page(
    State(shared): State<AdminState>,
    parameters: Parameters<PageParameters>,
) -> Result<Response, Response> {
    let refused = |reason: String| invalid(&reason, EXAMPLE);
    let PageParameters {
        limit,
        before,
        toggle,
    } = valid(parameters).map_err(refused)?;
    let scope = scope(toggle).map_err(refused)?;
    let before = before.map(|text| commit(&text)).transpose().map_err(refused)?;
    let limit = limit.map_or(LIMIT, PageLimit::get).min(MOST);
    let read = shared.page(move |shared| {
        let page = shared.0.admin.history.page(&scope, before, limit);
        page.map(|page| page.map(page_body))
            .map_err(|error| error.in_full())
    });
    Ok(response(read.await))
}

pub(super) async fn deployment(
    State(shared): State<AdminState>,
    Path(id): Path<String>,
    parameters: Parameters<PartParameters>,
) -> Result<Response, Response> {
    let refused = |reason: String| invalid(&reason, EXAMPLE);
    let PartParameters { limit, after, toggle } = valid(parameters).map_err(refused)?;
    let (id, scope) = (commit(&id).map_err(refused)?, scope(toggle).map_err(refused)?);
    let after = after.map(|text| {
        text.parse::<ToggleId>()
            .map_err(|error| format!("`{}` is not a toggle: {error}", escaped(&text)))
    });
    let after = after.transpose().map_err(refused)?;
    let limit = limit.map_or(LIMIT, PageLimit::get).min(MOST);
    let read = shared.page(move |shared| {
        let history = &shared.0.admin.history;
        let part = history.deployment(id, &scope, after.as_ref(), limit);
        part.map(|part| part.map(|part| part_body(&part)))
            .map_err(|error| error.in_full())
    });
    Ok(response(read.await))
}

fn page_body(page: HistoryPage) -> String {
    let log = DeploymentLog {
        page,
        diffs: Vec::new(),
    };
    serde_json::to_string(&history_json(&log)).expect("a history always has a JSON form")
}

/// The body of `/api/history/COMMIT`.
#[derive(Serialize)]
struct PartBody<'a> {
    version: u32,
    deployment: DeploymentJson<'a>,
    next: Option<&'a ToggleId>,
}

fn part_body(part: &DeploymentPart) -> String {
    let body = PartBody {
        version: 1,
        deployment: deployment_json(&part.deployment, &part.diffs),
        next: part.next.as_ref(),
    };
    serde_json::to_string(&body).expect("a deployment always has a JSON form")
}

/// Returns the response for a body, for a commit that is not part of the history, or for an error.
fn response(read: Option<Result<Option<String>, String>>) -> Response {
    match read {
        Some(Ok(Some(body))) => json_body(format!("{}\n", harmless_json(&body))),
        Some(Ok(None)) => {
            let reason = "the commit is not part of the deployment history";
            problem_with_hint(StatusCode::NOT_FOUND, reason, EXAMPLE)
        }
        Some(Err(reason)) => {
            let reason = format!("could not read the deployment history: {reason}");
            problem(StatusCode::INTERNAL_SERVER_ERROR, &reason)
        }
        None => shutting_down(),
    }
}

fn scope(toggle: Option<String>) -> Result<Scope, String> {
    let globs: Vec<String> = toggle.into_iter().collect();
    let scope = Scope::new(&globs).map_err(|error| error.to_string())?;
    let is_unmatchable = scope.unmatchable().next().is_some();
    match is_unmatchable {
        false => Ok(scope),
        true => Err("`toggle` is `project/environment/toggle`, or a glob over that".to_owned()),
    }
}

fn commit(text: &str) -> Result<CommitId, String> {
    let parsed = text.parse().map(CommitId);
    parsed.map_err(|error| format!("`{}` is not the full id of a commit: {error}", escaped(text)))
}
