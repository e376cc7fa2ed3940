//! `GET /healthz`, `/readyz` and `/metrics`.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::response::text;
use super::state::{Admin, AdminState};
use crate::daemon::Readiness;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

impl Admin {
    /// Returns whether the daemon is ready now.
    pub(super) fn readiness(&self) -> Readiness {
        let now = tokio::time::Instant::now();
        self.status.borrow().readiness(now, self.stale_after)
    }
}

pub(super) async fn health(State(shared): State<AdminState>) -> Response {
    // Depends on the loop alone, whatever the pass results (src/admin/README.md, "Rules").
    match shared.0.admin.heartbeat.stalled_for() {
        None => text(StatusCode::OK, &["ok".to_owned()]),
        Some(silence) => {
            let reason = format!("the driver loop has not run for {} s", silence.as_secs());
            text(StatusCode::SERVICE_UNAVAILABLE, &[reason])
        }
    }
}

pub(super) async fn readiness(State(shared): State<AdminState>) -> Response {
    let admin = &shared.0.admin;
    match admin.readiness() {
        Readiness::Ready => {
            let status = admin.status.borrow().clone();
            let mut parts = vec!["ready".to_owned()];
            parts.extend(status.remarks());
            let mut lines = vec![parts.join("; ")];
            lines.extend(status.explanations());
            lines.extend(shared.deliveries().and_then(|webhooks| webhooks.explanation()));
            text(StatusCode::OK, &lines)
        }
        Readiness::Unready(reason) => {
            // Whoever has just suspended publishing looks here whether it counts.
            let suspended = admin.status.borrow().suspended().collect::<Vec<_>>();
            let lines: Vec<String> = std::iter::once(reason).chain(suspended).collect();
            text(StatusCode::SERVICE_UNAVAILABLE, &lines)
        }
    }
}

pub(super) async fn metrics(State(shared): State<AdminState>) -> Response {
    let headers = [(header::CONTENT_TYPE, OPEN_METRICS)];
    (headers, shared.0.admin.metrics.encode()).into_response()
}
