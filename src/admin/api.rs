//! Handles `GET /api/status` and `GET /api/plan`. What the page shows is also here (DESIGN, section 9.3).

use std::iter::once;
use std::sync::{Arc, PoisonError};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::AdminState;
use super::answer::{PageLimit, Parameters, invalid, problem_with_hint, valid};
use super::json_stream::json_stream;
use super::selection::Selection;
use super::webhook::Deliveries;
use crate::daemon::{Overview, Readiness, Status, StatusJson, ToggleStatus};
use crate::model::{BUILD, ToggleId};
use crate::plan::page_pieces;

const EXAMPLE: &str =
    "for example /api/status?limit=100&state=held; the next page is after=NEXT, with `next` of the response";

const PLAN_EXAMPLE: &str =
    "for example /api/plan?limit=100; the next page is after=NEXT, with `next` of the response";

/// The toggles of a page of the plan, if the request gives no limit, and the most that it may ask for. Each has its
/// sentences and its document twice, and a response has to end before its connection does.
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
        let reason = "no pass has planned yet";
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
        let StatusParameters {
            q,
            state,
            environment,
            after,
            limit,
        } = parameters;
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
        let Self {
            selection,
            after,
            limit,
        } = self;
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
    fn deliveries(&self) -> Option<Deliveries> {
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
