//! Handles `GET /api/status`, `/api/plan` and `/api/history`. What the page shows is also here
//! (src/admin/README.md, "The page").

use std::io::{self, Write as _};
use std::iter::once;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::unfold;
use serde::{Deserialize, Serialize};

use super::response::{
    PageLimit, Parameters, invalid, json_body, problem, problem_with_hint, shutting_down, valid,
};
use crate::admin::state::AdminState;
use crate::admin::webhook::Deliveries;
use crate::daemon::{
    DeploymentJson, DeploymentLog, DeploymentPart, Overview, Readiness, Status, StatusJson, ToggleState,
    ToggleStatus, deployment_json, history_json,
};

use crate::model::{
    BUILD, CommitId, EnvironmentId, HarmlessJsonWriter, HistoryPage, Scope, ToggleId, escaped, harmless_json,
};
use crate::plan::page_pieces;

const EXAMPLE: &str =
    "for example /api/status?limit=100&state=held; the next page is after=NEXT, with `next` of the response";

const PLAN_EXAMPLE: &str =
    "for example /api/plan?limit=100; the next page is after=NEXT, with `next` of the response";

/// The toggles of a page of the plan, if the request gives no limit, and the most that it may ask for. Each
/// has its sentences and its document twice, and a response has to end before its connection does.
const PLAN_LIMIT: usize = 100;
const MOST_PLANNED: usize = 1_000;

/// The toggles of a page of the status, if the request gives no limit, and the most that it may ask for.
const STATUS_LIMIT: usize = 100;
const MOST_LISTED: usize = 10_000;

/// The parameters of `/api/status`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct StatusParameters {
    /// Words in the names of toggles.
    q: String,
    state: String,
    environment: String,
    /// Only toggles that sort after this one.
    after: Option<String>,
    /// The most toggles to list.
    limit: Option<PageLimit>,
}

/// `GET /api/status`.
pub(super) async fn status(
    State(shared): State<AdminState>,
    parameters: Parameters<StatusParameters>,
) -> Result<Response, Response> {
    let refused = |reason: String| invalid(&reason, EXAMPLE);
    let parameters = valid(parameters).map_err(refused)?;
    let page = StatusPage::parse(&parameters).map_err(refused)?;
    Ok(json_stream(shared, move |shared| {
        // Cloned, because formatting must not block the driver, which publishes the status.
        let status = shared.0.admin.status.borrow().clone();
        pieces(&status, &shared.0.admin.readiness(), &shared.deliveries(), page)
    }))
}

/// The parameters of `/api/plan`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanParameters {
    /// Only toggles that sort after this one.
    after: Option<String>,
    /// The most toggles to list.
    limit: Option<PageLimit>,
}

/// `GET /api/plan`: the plan of the last pass, as `gitoggle plan -o json` prints it, in pages.
pub(super) async fn plan(
    State(shared): State<AdminState>,
    parameters: Parameters<PlanParameters>,
) -> Result<Response, Response> {
    let refused = |reason: String| invalid(&reason, PLAN_EXAMPLE);
    let PlanParameters { after, limit } = valid(parameters).map_err(refused)?;
    let after = after.map(|id| toggle_id(&id)).transpose().map_err(refused)?;
    let limit = limit.map_or(PLAN_LIMIT, |limit| limit.get().min(MOST_PLANNED));
    let plan = shared.0.admin.status.borrow().plan.clone();
    let Some(plan) = plan else {
        let reason = "no plan yet";
        let hint = "see `/readyz` for the reason; try again after the first pass";
        return Err(problem_with_hint(StatusCode::SERVICE_UNAVAILABLE, reason, hint));
    };
    Ok(json_stream(shared, move |shared| {
        let toggle_of = |path: &str| shared.0.admin.paths.toggle(path);
        page_pieces(plan.0, after.as_ref(), limit, &toggle_of)
    }))
}

fn toggle_id(after: &str) -> Result<ToggleId, String> {
    after.parse().map_err(|error| format!("after: {error}"))
}

/// The toggles of one response.
#[derive(Debug)]
struct StatusPage {
    selection: Selection,
    after: Option<ToggleId>,
    limit: usize,
}

impl StatusPage {
    fn parse(parameters: &StatusParameters) -> Result<Self, String> {
        let StatusParameters { q, state, environment, after, limit } = parameters;
        let after = after.as_ref().map(|id| toggle_id(id));
        Ok(Self {
            selection: Selection::parse(q, state, environment)?,
            after: after.transpose()?,
            limit: limit.map_or(STATUS_LIMIT, |limit| limit.get().min(MOST_LISTED)),
        })
    }

    /// Returns the selected toggles after `after`.
    fn rest<'a>(&'a self, status: &'a Status) -> impl Iterator<Item = &'a ToggleStatus> {
        let selected = self.selection.of(status);
        selected.filter(|one| self.after.as_ref().is_none_or(|after| one.toggle > *after))
    }

    /// Returns the last toggle of this page, if more follow.
    fn next<'a>(&'a self, status: &'a Status) -> Option<&'a ToggleId> {
        let mut rest = self.rest(status);
        let last = rest.nth(self.limit - 1)?;
        rest.next().map(|_| &last.toggle)
    }

    fn places(self, status: &Status) -> impl Iterator<Item = usize> + Send + use<> {
        let Self { selection, after, limit } = self;
        let (place, toggles) = (selection.place(status), Arc::clone(&status.toggles));
        let is_selected = move |toggle: &ToggleStatus| {
            selection.has(toggle) && after.as_ref().is_none_or(|after| toggle.toggle > *after)
        };
        let places = place.filter(move |at| is_selected(&toggles[*at]));
        places.take(limit)
    }
}

/// What the body of `/api/status` has before its toggles.
#[derive(Serialize)]
struct BeforeToggles<'a> {
    version: &'static str,
    /// The commit that the program was built from.
    commit: Option<&'static str>,
    #[serde(flatten)]
    status: StatusJson<'a>,
}

/// What follows after the toggles.
#[derive(Serialize)]
struct AfterToggles<'a> {
    environments: &'a Overview,
    /// The number of selected toggles, of which the body may have a page.
    matching: usize,
    /// Where the next page begins: after this toggle. None at the end.
    next: Option<&'a ToggleId>,
    webhooks: &'a Option<Deliveries>,
}

impl AdminState {
    /// Returns the record of webhooks; nothing if no webhook secret is set.
    pub(super) fn deliveries(&self) -> Option<Deliveries> {
        let deliveries = self.0.deliveries.lock().unwrap_or_else(PoisonError::into_inner);
        let is_open = self.0.admin.webhook_secret.is_some();
        is_open.then(|| deliveries.clone())
    }
}

/// Returns the body of `/api/status` in pieces, each a toggle or what is around them.
fn pieces(
    status: &Status,
    readiness: &Readiness,
    webhooks: &Option<Deliveries>,
    page: StatusPage,
) -> impl Iterator<Item = String> + Send + use<> {
    let mut before = text(&BeforeToggles {
        version: BUILD.version,
        commit: BUILD.commit,
        status: StatusJson::new(status, readiness),
    });
    let after = text(&AfterToggles {
        environments: &status.overview,
        matching: page.selection.of(status).count(),
        next: page.next(status),
        webhooks,
    });
    // One object, of which the toggles are a member.
    before.pop();
    let (before, after) = (before + ",\"toggles\":[", format!("],{}\n", &after[1..]));
    let toggles = Arc::clone(&status.toggles);
    let rows = page.places(status).enumerate().map(move |(number, at)| {
        let separator = if number > 0 { "," } else { "" };
        format!("{separator}{}", text(&toggles[at]))
    });
    once(before).chain(rows).chain(once(after))
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a status always has a JSON form")
}

/// The toggles that a reader wants to see; all of them by default.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    /// In lower case. Each is a part of the toggle's full key.
    words: Vec<String>,
    state: Option<ToggleState>,
    environment: Option<EnvironmentId>,
}

impl Selection {
    /// Selects by the text of a search, a state and an environment; empty texts select nothing in particular.
    pub(super) fn parse(text: &str, state: &str, environment: &str) -> Result<Self, String> {
        let state = match state {
            "" => None,
            state => Some(state.parse().map_err(|reason| format!("state: {reason}"))?),
        };
        let environment = match environment {
            "" => None,
            environment => {
                let parsed = environment.parse::<EnvironmentId>();
                Some(parsed.map_err(|error| format!("environment: {error}"))?)
            }
        };
        Ok(Self { words: text.split_whitespace().map(str::to_lowercase).collect(), state, environment })
    }

    /// Returns whether it selects every toggle.
    pub(super) fn is_everything(&self) -> bool {
        self.words.is_empty() && self.state.is_none() && self.environment.is_none()
    }

    /// Returns the selected toggles, sorted.
    pub(super) fn of<'a>(&'a self, status: &'a Status) -> impl Iterator<Item = &'a ToggleStatus> {
        let toggles = status.toggles.get(self.place(status)).unwrap_or_default();
        toggles.iter().filter(|toggle| self.has(toggle))
    }

    /// Returns the part of the toggles in which the selected ones are.
    pub(super) fn place(&self, status: &Status) -> Range<usize> {
        match &self.environment {
            None => 0..status.toggles.len(),
            Some(environment) => {
                let found = status.overview.environment(environment);
                found.map_or(0..0, |found| found.place.clone())
            }
        }
    }

    /// Returns whether it selects this toggle of its [`place`](Self::place).
    pub(super) fn has(&self, toggle: &ToggleStatus) -> bool {
        let name = toggle.toggle.as_str().as_bytes();
        self.state.is_none_or(|state| state == toggle.state())
            && self.words.iter().all(|word| contains(name, word.as_bytes()))
    }
}

/// Returns whether `name` contains `word`, which is in lower case, in any case. Names are ASCII.
fn contains(name: &[u8], word: &[u8]) -> bool {
    // Without an allocation, because a search looks at every toggle.
    name.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

/// The number of deployments of a page, and of toggles of a deployment, if the request gives none.
const DEFAULT_PAGE: usize = 20;
/// The most that a request may ask for. A response has to end before its connection does.
const LARGEST_PAGE: usize = 500;

const HISTORY_EXAMPLE: &str = "for example /api/history?limit=20&toggle=shop/production/*; the next page is before=NEXT, with \
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
    let refused = |reason: String| invalid(&reason, HISTORY_EXAMPLE);
    let PageParameters { limit, before, toggle } = valid(parameters).map_err(refused)?;
    let scope = scope(toggle).map_err(refused)?;
    let before = before.map(|text| commit(&text)).transpose().map_err(refused)?;
    let limit = limit.map_or(DEFAULT_PAGE, PageLimit::get).min(LARGEST_PAGE);
    let read = shared.page(move |shared| {
        let page = shared.0.admin.history.page(&scope, before, limit);
        page.map(|page| page.map(page_body)).map_err(|error| error.in_full())
    });
    Ok(response(read.await))
}

pub(super) async fn deployment(
    State(shared): State<AdminState>,
    Path(id): Path<String>,
    parameters: Parameters<PartParameters>,
) -> Result<Response, Response> {
    let refused = |reason: String| invalid(&reason, HISTORY_EXAMPLE);
    let PartParameters { limit, after, toggle } = valid(parameters).map_err(refused)?;
    let (id, scope) = (commit(&id).map_err(refused)?, scope(toggle).map_err(refused)?);
    let after = after.map(|text| {
        text.parse::<ToggleId>().map_err(|error| format!("`{}` is not a toggle: {error}", escaped(&text)))
    });
    let after = after.transpose().map_err(refused)?;
    let limit = limit.map_or(DEFAULT_PAGE, PageLimit::get).min(LARGEST_PAGE);
    let read = shared.page(move |shared| {
        let history = &shared.0.admin.history;
        let part = history.deployment(id, &scope, after.as_ref(), limit);
        part.map(|part| part.map(|part| part_body(&part))).map_err(|error| error.in_full())
    });
    Ok(response(read.await))
}

fn page_body(page: HistoryPage) -> String {
    let log = DeploymentLog { page, diffs: Vec::new() };
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
            problem_with_hint(StatusCode::NOT_FOUND, reason, HISTORY_EXAMPLE)
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

/// Pieces are joined up to this size.
const CHUNK: usize = 16 * 1024;

/// Responds with the JSON whose pieces `begin` returns, each a few characters or one toggle. All work is done
/// on threads that serve no other requests, in turns with other pages.
fn json_stream<I>(shared: AdminState, begin: impl FnOnce(&AdminState) -> I + Send + 'static) -> Response
where
    I: Iterator<Item = String> + Send + 'static,
{
    let state = shared.clone();
    let pieces = std::iter::once_with(move || begin(&state)).flatten();
    let chunks = unfold((shared, Some(pieces)), async |(shared, pieces)| {
        let mut pieces = pieces?;
        let made = shared.page(move |_| (chunk(&mut pieces), pieces)).await;
        match made {
            Some((chunk, _)) if chunk.is_empty() => None,
            Some((chunk, pieces)) => Some((Ok(chunk), (shared, Some(pieces)))),
            // Without the error, the response would look complete.
            None => Some((Err(io::Error::other("shutting down")), (shared, None))),
        }
    });
    json_body(Body::from_stream(chunks))
}

fn chunk(pieces: &mut impl Iterator<Item = String>) -> Bytes {
    let mut chunk = Vec::new();
    while chunk.len() < CHUNK
        && let Some(piece) = pieces.next()
    {
        let written = HarmlessJsonWriter(&mut chunk).write_all(piece.as_bytes());
        written.expect("memory can be written");
    }
    Bytes::from(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        let mut status = Status::default();
        let toggles = [
            ("shop/production/new-Payment", ToggleState::Held),
            ("shop/production/search", ToggleState::InSync),
            ("shop/staging/new-payment", ToggleState::InSync),
        ];
        let toggles = toggles.map(|(id, state)| ToggleStatus::in_state(id, state));
        status.set_toggles(toggles.to_vec());
        status
    }

    #[test]
    fn words_state_and_environment_narrow_a_selection() {
        let status = status();
        for (text, state, environment, expected) in [
            ("", "", "", "3"),
            ("payment", "", "", "2"),
            ("PAY shop/st", "", "", "1"),
            ("", "in_sync", "", "2"),
            ("pay", "in_sync", "shop/production", "0"),
            ("", "", "shop/production", "2"),
            ("", "", "shop/none", "0"),
            ("héllo", "", "", "0"),
        ] {
            let selection = Selection::parse(text, state, environment).unwrap();
            let count = selection.of(&status).count();
            assert_eq!(count.to_string(), expected, "{text} {state} {environment}");
            assert_eq!(selection.is_everything(), (text, state, environment) == ("", "", ""));
        }
        for (state, environment) in [("green", ""), ("", "shop"), ("", "shop/<b>")] {
            assert!(Selection::parse("", state, environment).is_err(), "{state} {environment}");
        }
    }
}
