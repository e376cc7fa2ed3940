//! Handles `GET /api/history` and `GET /api/history/COMMIT`: the deployments, and the differences of one of them.
//!
//! Both read the state folder through their own handle, so that a pass never waits for them.

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use super::AdminState;
use super::answer::{PageLimit, Parameters, problem, problem_with_hint, valid};
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
) -> Result<Response, InvalidParameter> {
    let PageParameters {
        limit,
        before,
        toggle,
    } = valid(parameters).map_err(InvalidParameter)?;
    let scope = scope(toggle)?;
    let before = before.map(|text| commit(&text)).transpose()?;
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
) -> Result<Response, InvalidParameter> {
    let PartParameters { limit, after, toggle } = valid(parameters).map_err(InvalidParameter)?;
    let (id, scope) = (commit(&id)?, scope(toggle)?);
    let after = after.map(|text| {
        text.parse::<ToggleId>()
            .map_err(|error| InvalidParameter(format!("`{}` is not a toggle: {error}", escaped(&text))))
    });
    let after = after.transpose()?;
    let limit = limit.map_or(LIMIT, PageLimit::get).min(MOST);
    let read = shared.page(move |shared| {
        let part = shared
            .0
            .admin
            .history
            .deployment(id, &scope, after.as_ref(), limit);
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
        Some(Ok(Some(body))) => {
            let body = format!("{}\n", harmless_json(&body));
            ([(header::CONTENT_TYPE, "application/json")], body).into_response()
        }
        Some(Ok(None)) => {
            let reason = "the commit is not part of the deployment history";
            problem_with_hint(StatusCode::NOT_FOUND, reason, EXAMPLE)
        }
        Some(Err(reason)) => {
            let reason = format!("could not read the deployment history: {reason}");
            problem(StatusCode::INTERNAL_SERVER_ERROR, &reason)
        }
        None => problem(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down"),
    }
}

fn scope(toggle: Option<String>) -> Result<Scope, InvalidParameter> {
    let globs: Vec<String> = toggle.into_iter().collect();
    let scope = Scope::new(&globs).map_err(|error| InvalidParameter(error.to_string()))?;
    let is_unmatchable = scope.unmatchable().next().is_some();
    match is_unmatchable {
        false => Ok(scope),
        true => Err(InvalidParameter(
            "`toggle` is `project/environment/toggle`, or a glob over that".to_owned(),
        )),
    }
}

fn commit(text: &str) -> Result<CommitId, InvalidParameter> {
    let parsed = text.parse().map(CommitId);
    parsed.map_err(|error| {
        InvalidParameter(format!(
            "`{}` is not the full id of a commit: {error}",
            escaped(text)
        ))
    })
}

/// Why a parameter of the request is not valid.
pub(super) struct InvalidParameter(String);

impl IntoResponse for InvalidParameter {
    fn into_response(self) -> Response {
        problem_with_hint(StatusCode::BAD_REQUEST, &escaped(&self.0).to_string(), EXAMPLE)
    }
}
