//! Handles `GET /healthz`, `/readyz`, `/metrics` and `/api/status`.

use std::sync::{Arc, PoisonError};

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use serde::Serialize;

use super::answer::problem;
use super::deliveries::DeliveriesShown;
use super::{Admin, AdminState};
use crate::daemon::{Readiness, Status, StatusJson};
use crate::model::escaped;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

impl Admin {
    /// Returns whether the daemon is ready now.
    pub(super) fn readiness(&self) -> Readiness {
        let now = tokio::time::Instant::now();
        self.status.borrow().readiness(now, self.stale_after)
    }
}

pub(super) async fn health(State(shared): State<AdminState>) -> Response {
    // Depends on the loop alone, whatever the pass results (DESIGN, section 9).
    match shared.0.admin.heartbeat.stalled_for() {
        None => text(StatusCode::OK, "ok"),
        Some(silence) => {
            let reason = format!("the driver loop has not run for {} s", silence.as_secs());
            text(StatusCode::SERVICE_UNAVAILABLE, &reason)
        }
    }
}

pub(super) async fn readiness(State(shared): State<AdminState>) -> Response {
    let admin = &shared.0.admin;
    match admin.readiness() {
        Readiness::Ready => {
            let mut parts = vec!["ready".to_owned()];
            parts.extend(admin.status.borrow().remarks());
            text(StatusCode::OK, &parts.join("; "))
        }
        Readiness::Unready(reason) => text(StatusCode::SERVICE_UNAVAILABLE, &reason),
    }
}

pub(super) async fn metrics(State(shared): State<AdminState>) -> Response {
    let headers = [(header::CONTENT_TYPE, OPEN_METRICS)];
    (headers, shared.0.admin.metrics.encode()).into_response()
}

pub(super) async fn status(State(shared): State<AdminState>) -> Response {
    match shared.large_answer(AdminState::status_answer).await {
        Some(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        None => problem(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down"),
    }
}

/// The body of `/api/status`.
#[derive(Serialize)]
struct Versioned<'a> {
    version: &'static str,
    #[serde(flatten)]
    status: StatusJson<'a>,
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
        let shown = Versioned {
            version: env!("CARGO_PKG_VERSION"),
            status: StatusJson::new(&status, &readiness),
            webhooks: &webhooks,
        };
        let json = serde_json::to_string(&shown).expect("a status always has a JSON form");
        let body = Bytes::from(json + "\n");
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

    /// Makes a response that may take a while and megabytes, on a thread that serves no other requests. Returns
    /// nothing while the process is shutting down.
    pub(super) async fn large_answer<T: Send + 'static>(
        &self,
        make: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        let turn = Arc::clone(&self.0.large_answers).acquire_owned().await.ok()?;
        let shared = self.clone();
        tokio::task::spawn_blocking(move || {
            let answer = make(&shared);
            // Dropped after the work on this thread, because the client may disconnect before.
            drop(turn);
            answer
        })
        .await
        .ok()
    }
}

fn text(status: StatusCode, line: &str) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    (status, headers, format!("{}\n", escaped(line))).into_response()
}
