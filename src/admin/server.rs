//! Routes, limits and shutdown of the server.
//!
//! The process lives for months, so a slow or silent client must not use up its file descriptors: the number
//! of open connections is limited, and each connection ends at its deadline, whether the client does not send
//! or does not read.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Path, Request};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Router};
use hyper::server::conn::http1::Builder;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::authorize::LARGEST_COMMAND;
use super::health::{health, metrics, readiness};
use super::response::problem;
use super::signature::WebhookKind;
use super::state::{Admin, AdminState, LONGEST_CONNECTION, LONGEST_REQUEST};
use super::web::asset_response;
use crate::admin::{allow, api, authorize, control, page, webhook};

/// The number of connections that are open at once; others wait in the kernel's queue.
const CONNECTIONS: usize = 256;
/// The bytes of a response that wait for its client, besides the chunk that exceeds this.
const BUFFER: usize = 64 * 1024;
/// The time that open requests have once the server was asked to end.
const GRACE_PERIOD: Duration = Duration::from_secs(5);

/// Serves requests on `listener` until `shutdown` ends, then lets open requests finish for up to five
/// seconds.
pub(crate) async fn serve(
    listener: TcpListener,
    admin: Admin,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    let router = router(admin);
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let open = GracefulShutdown::new();
    tokio::pin!(shutdown);
    loop {
        let (stream, address, place) = tokio::select! {
            accepted = accept(&listener, &places) => accepted,
            () = &mut shutdown => break,
        };
        let service = TowerToHyperService::new(router.clone().layer(Extension(address)));
        // Only HTTP/1.1: one HTTP/2 connection carries hundreds of requests at once, which no limit here is
        // made for.
        let http = Builder::new().max_buf_size(BUFFER).serve_connection(TokioIo::new(stream), service);
        let connection = open.watch(http);
        tokio::spawn(async move {
            // An error is the client's: it sent something else, or it hung up.
            // hyper has no deadline for a client that never reads its response.
            let _ = timeout(LONGEST_CONNECTION, connection).await;
            drop(place);
        });
    }
    // New connections are refused during the grace period.
    drop(listener);
    // What is still open after the grace period ends with the process.
    let _ = timeout(GRACE_PERIOD, open.shutdown()).await;
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
    // The limit applies before `accept`, so that waiting connections use no file descriptor.
    let place = Arc::clone(places).acquire_owned().await;
    let place = place.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((stream, address)) => return (stream, address, place),
            // The client hung up already, or the process has no descriptor left, which takes a moment to
            // change.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

fn router(admin: Admin) -> Router {
    let state = AdminState::new(admin);
    let read = Router::new()
        .route("/", get(page::show))
        .route("/api/status", get(api::status))
        .route("/api/plan", get(api::plan))
        .route("/api/history", get(api::page))
        .route("/api/history/{commit}", get(api::deployment))
        .route_layer(from_fn_with_state(state.clone(), authorize::authorize));
    Router::new()
        // The files of the page are the same everywhere, so they need no token.
        .route("/assets/{name}", get(async |Path(name): Path<String>| asset_response(&name)))
        .route("/healthz", get(health))
        .route("/readyz", get(readiness))
        .route("/metrics", get(metrics))
        .route("/reconcile", post(control::reconcile))
        .route("/allow", post(allow::allow))
        .route("/suspend", post(control::suspend))
        .route("/resume", post(control::resume))
        .merge(read)
        .layer(DefaultBodyLimit::max(LARGEST_COMMAND))
        // After the body limit: webhooks count for themselves, because their sender must receive the 413.
        .merge(webhooks())
        .fallback(async || problem(StatusCode::NOT_FOUND, "not found"))
        .method_not_allowed_fallback(async || problem(StatusCode::METHOD_NOT_ALLOWED, "method not allowed"))
        .layer(from_fn(bounded))
        .with_state(state)
}

pub(super) fn webhooks() -> Router<AdminState> {
    WebhookKind::all().fold(Router::new(), |router, kind| {
        router.route(
            &format!("/webhook/{}", kind.as_str()),
            post(move |shared, request| webhook::receive(kind, shared, request)),
        )
    })
}

/// Gives every request its time limit and every response its headers.
async fn bounded(request: Request, next: Next) -> Response {
    let mut response = timeout(LONGEST_REQUEST, next.run(request))
        .await
        .unwrap_or_else(|_| problem(StatusCode::SERVICE_UNAVAILABLE, "request timed out"));
    for (name, value) in [
        // One request per connection, so that the deadline of the connection is also that of the request.
        (header::CONNECTION, "close"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        // The files of the page may be kept.
        let header = response.headers_mut().entry(name);
        header.or_insert(HeaderValue::from_static(value));
    }
    response
}
