//! Handles `GET /healthz`, `/readyz` and `/metrics`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::{Admin, AdminState};
use crate::daemon::Readiness;
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
            text(StatusCode::OK, &lines)
        }
        Readiness::Unready(reason) => text(StatusCode::SERVICE_UNAVAILABLE, &[reason]),
    }
}

pub(super) async fn metrics(State(shared): State<AdminState>) -> Response {
    let headers = [(header::CONTENT_TYPE, OPEN_METRICS)];
    (headers, shared.0.admin.metrics.encode()).into_response()
}

impl AdminState {
    /// Makes a response that may take a while, in turn with others, on a thread that serves no other requests. Returns
    /// nothing while the process is shutting down.
    pub(super) async fn page<T: Send + 'static>(
        &self,
        make: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        let turn = Arc::clone(&self.0.pages).acquire_owned().await.ok()?;
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

fn text(status: StatusCode, lines: &[String]) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    let lines: String = lines.iter().map(|line| format!("{}\n", escaped(line))).collect();
    (status, headers, lines).into_response()
}
