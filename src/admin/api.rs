//! Handles `GET /api/status` and `GET /api/plan`. What the page shows is also here (DESIGN, section 9.3).

use std::sync::{Arc, PoisonError};

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::AdminState;
use super::answer::{problem, problem_with_hint};
use super::deliveries::DeliveriesShown;
use super::json_stream::json_stream;
use super::selection::Selection;
use crate::daemon::{Overview, Readiness, Status, StatusJson, ToggleStatus};
use crate::model::{BUILD, ToggleId, escaped};
use crate::plan::render;

const EXAMPLE: &str =
    "for example /api/status?limit=100&state=held; the next page is after=NEXT, with `next` of the response";

/// The parameters of `/api/status`; without any, it lists all toggles.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub(super) struct StatusParameters {
    /// Words in the names of toggles.
    q: String,
    state: String,
    environment: String,
    /// Only toggles that sort after this one.
    after: Option<String>,
    /// The most toggles to list.
    limit: Option<usize>,
}

/// `GET /api/status`.
pub(super) async fn status(
    State(shared): State<AdminState>,
    parameters: Result<Query<StatusParameters>, QueryRejection>,
) -> Result<Response, Response> {
    let Query(parameters) = parameters.map_err(|rejection| refused(&rejection.body_text()))?;
    let page = StatusPage::parse(&parameters).map_err(|reason| refused(&reason))?;
    let body = match parameters == StatusParameters::default() {
        true => shared.large_answer(AdminState::status_answer).await,
        false => shared.large_answer(move |shared| shared.status_page(&page)).await,
    };
    match body {
        Some(body) => Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response()),
        None => Err(problem(
            StatusCode::SERVICE_UNAVAILABLE,
            "the server is shutting down",
        )),
    }
}

/// `GET /api/plan`: the plan of the last pass, as `gitoggle plan -o json` prints it.
pub(super) async fn plan(State(shared): State<AdminState>) -> Result<Response, Response> {
    let plan = shared.0.admin.status.borrow().plan.clone();
    let Some(plan) = plan else {
        let reason = "no pass has planned yet";
        let hint = "see `/readyz` for the reason; try again after the first pass";
        return Err(problem_with_hint(StatusCode::SERVICE_UNAVAILABLE, reason, hint));
    };
    let turn = Arc::clone(&shared.0.streams).acquire_owned().await;
    let turn = turn.expect("the semaphore is never closed");
    Ok(json_stream(turn, move |out| {
        serde_json::to_writer(out, &render::json(&plan.0))
    }))
}

fn refused(reason: &str) -> Response {
    problem_with_hint(StatusCode::BAD_REQUEST, &escaped(reason).to_string(), EXAMPLE)
}

/// The toggles of one response.
#[derive(Debug, Default)]
struct StatusPage {
    selection: Selection,
    after: Option<ToggleId>,
    limit: Option<usize>,
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
        let after = after
            .as_ref()
            .map(|id| id.parse().map_err(|error| format!("after: {error}")));
        Ok(Self {
            selection: Selection::parse(q, state, environment)?,
            after: after.transpose()?,
            limit: *limit,
        })
    }

    /// Returns the toggles of this page, whether more follow, and the number of all selected toggles.
    fn of<'a>(&'a self, status: &'a Status) -> (Vec<&'a ToggleStatus>, bool, usize) {
        let selected: Vec<_> = self.selection.of(status).collect();
        let start = self
            .after
            .as_ref()
            .map_or(0, |after| selected.partition_point(|one| one.toggle <= *after));
        let rest = &selected[start..];
        let page = &rest[..self.limit.unwrap_or(usize::MAX).min(rest.len())];
        (page.to_vec(), page.len() < rest.len(), selected.len())
    }
}

/// The body of `/api/status`.
#[derive(Serialize)]
struct Versioned<'a> {
    version: &'static str,
    /// The commit that the program was built from.
    commit: Option<&'static str>,
    #[serde(flatten)]
    status: StatusJson<'a>,
    environments: &'a Overview,
    /// The number of selected toggles, of which `toggles` may be a page.
    matching: usize,
    /// Where the next page begins: after this toggle. None at the end.
    next: Option<&'a ToggleId>,
    webhooks: &'a Option<DeliveriesShown>,
}

/// A response of `/api/status` and the values it was made from.
#[derive(Debug)]
pub(super) struct StatusAnswer {
    status: Status,
    readiness: Readiness,
    webhooks: Option<DeliveriesShown>,
    body: Bytes,
}

impl AdminState {
    /// Returns a page of the status.
    fn status_page(&self, page: &StatusPage) -> Bytes {
        let status = self.0.admin.status.borrow().clone();
        status_body(&status, &self.0.admin.readiness(), &self.deliveries(), page)
    }

    /// Returns the whole status.
    fn status_answer(&self) -> Bytes {
        let readiness = self.0.admin.readiness();
        // Cloned, because formatting must not block the driver, which publishes the status.
        let status = self.0.admin.status.borrow().clone();
        let webhooks = self.deliveries();
        let mut last = self
            .0
            .status_answer
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = last
            .as_ref()
            .filter(|last| last.readiness == readiness && last.webhooks == webhooks && last.status == status)
        {
            return answer.body.clone();
        }
        let body = status_body(&status, &readiness, &webhooks, &StatusPage::default());
        *last = Some(StatusAnswer {
            status,
            readiness,
            webhooks,
            body: body.clone(),
        });
        body
    }

    /// Returns the record of webhooks; nothing if no webhook secret is set.
    fn deliveries(&self) -> Option<DeliveriesShown> {
        let deliveries = self.0.deliveries.lock().unwrap_or_else(PoisonError::into_inner);
        let is_open = self.0.admin.webhook_secret.is_some();
        is_open.then(|| deliveries.shown())
    }
}

fn status_body(
    status: &Status,
    readiness: &Readiness,
    webhooks: &Option<DeliveriesShown>,
    page: &StatusPage,
) -> Bytes {
    let (toggles, has_more, matching) = page.of(status);
    let last = toggles.last().map(|toggle| &toggle.toggle);
    let shown = Versioned {
        version: BUILD.version,
        commit: BUILD.commit,
        next: last.filter(|_| has_more),
        status: StatusJson::new(status, readiness).with_toggles(toggles),
        environments: &status.overview,
        matching,
        webhooks,
    };
    let json = serde_json::to_string(&shown).expect("a status always has a JSON form");
    Bytes::from(json + "\n")
}
