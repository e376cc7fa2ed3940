//! Routes, limits and the end of the server.

use std::future::Future;
use std::io;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, Version, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::caller::Caller;
use super::connection::{Gate, LONGEST_CONNECTION};
use super::webhook::Kind;
use super::{Admin, Shared, allow, body, control, page, probes, webhook};

/// The largest body of a request that is not a webhook, in bytes.
const LARGEST_BODY: usize = 1 << 20;
/// How long one request may take; a little less than its connection may, so that the answer gets through.
pub(super) const LONGEST_REQUEST: Duration = Duration::from_secs(LONGEST_CONNECTION.as_secs() - 5);
/// How long open requests may go on once the server was asked to end.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Answers requests on `listener` until `shutdown` ends, then lets open requests finish for up to five seconds.
///
/// # Errors
/// None today: accepting goes on after an error. The signature leaves room for a listener that is lost for good.
pub async fn serve(
    listener: TcpListener,
    admin: Admin,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let (ending, ended) = oneshot::channel();
    let signal = async move {
        shutdown.await;
        // Nobody listens when the server has ended by itself, which is as good.
        let _ = ending.send(());
    };
    let service = router(admin).into_make_service_with_connect_info::<Caller>();
    let server = axum::serve(Gate::new(listener), service).with_graceful_shutdown(signal);
    tokio::select! {
        result = server.into_future() => result,
        () = async {
            let _ = ended.await;
            tokio::time::sleep(LAST_WORDS).await;
        } => Ok(()),
    }
}

fn router(admin: Admin) -> Router {
    Router::new()
        .route("/", get(page::show))
        .route("/healthz", get(probes::health))
        .route("/readyz", get(probes::readiness))
        .route("/metrics", get(probes::metrics))
        .route("/api/status", get(probes::status))
        .route("/reconcile", post(control::reconcile))
        .route("/allow", post(allow::allow))
        .route("/suspend", post(control::suspend))
        .route("/resume", post(control::resume))
        .layer(from_fn(read))
        .merge(webhooks())
        .fallback(async || problem(StatusCode::NOT_FOUND, "there is nothing here"))
        .method_not_allowed_fallback(async || problem(StatusCode::METHOD_NOT_ALLOWED, "not with this method"))
        .layer(from_fn(bounded))
        .with_state(Shared::new(admin))
}

/// Webhooks read their bodies themselves, to check the signature while the body arrives.
fn webhooks() -> Router<Shared> {
    Router::new()
        .route(
            "/webhook/generic",
            post(|shared, request| webhook::receive(Kind::Generic, shared, request)),
        )
        .route(
            "/webhook/gitea",
            post(|shared, request| webhook::receive(Kind::Gitea, shared, request)),
        )
        .route(
            "/webhook/github",
            post(|shared, request| webhook::receive(Kind::GitHub, shared, request)),
        )
        .route(
            "/webhook/gitlab",
            post(|shared, request| webhook::receive(Kind::GitLab, shared, request)),
        )
}

/// Reads the whole body first, so that a sender that is refused receives the response.
async fn read(request: Request, next: Next) -> Response {
    match body::read(request, LARGEST_BODY).await {
        Ok(request) => next.run(request).await,
        Err(unread) => unread.response(),
    }
}

/// Gives every request its limits and every answer its headers. One connection carries one request, so that a
/// connection's deadline is a request's.
async fn bounded(request: Request, next: Next) -> Response {
    let answer = async {
        // One HTTP/2 connection carries hundreds of requests at once, which no limit here is made for.
        if request.version() > Version::HTTP_11 {
            return problem(StatusCode::HTTP_VERSION_NOT_SUPPORTED, "HTTP/1.1 is spoken here");
        }
        next.run(request).await
    };
    let mut response = tokio::time::timeout(LONGEST_REQUEST, answer)
        .await
        .unwrap_or_else(|_| problem(StatusCode::SERVICE_UNAVAILABLE, "this took too long"));
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// Returns a refusal: a status and why, as JSON.
pub(super) fn problem(status: StatusCode, reason: &str) -> Response {
    json(status, &serde_json::json!({ "error": reason }))
}

/// Returns a refusal that also says what to do.
pub(super) fn problem_with_hint(status: StatusCode, reason: &str, hint: &str) -> Response {
    json(status, &serde_json::json!({ "error": reason, "hint": hint }))
}

/// Returns an answer in JSON.
pub(super) fn json(status: StatusCode, value: &serde_json::Value) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (status, headers, format!("{value}\n")).into_response()
}
