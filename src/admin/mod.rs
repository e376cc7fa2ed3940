#![doc = include_str!("README.md")]

mod allow;
mod api;
mod authorize;
mod control;
mod page;
mod signature;
mod web;
mod webhook;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use authorize::LARGEST_BODY;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use hyper::server::conn::http1::Builder;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use signature::WebhookKind;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;
use web::asset_response;

use crate::daemon::{Control, DeploymentHistory, DocumentPaths, Heartbeat, Metrics, Readiness, Status};
use crate::model::{escaped, harmless_json};
use crate::report::Links;
use crate::transport::SecretSource;

/// From accept to close. A connection carries one request, so this is also the longest request.
const LONGEST_CONNECTION: Duration = Duration::from_secs(10);
/// A little less than its connection has, so that the response gets through.
const LONGEST_REQUEST: Duration = Duration::from_secs(LONGEST_CONNECTION.as_secs() - 5);

/// The dependencies and settings of the endpoints.
#[derive(Clone, Debug)]
pub(crate) struct Admin {
    /// The status that the driver last published.
    pub status: watch::Receiver<Status>,
    /// Sends commands to the driver.
    pub control: Control,
    /// Records when the driver loop last ran.
    pub heartbeat: Heartbeat,
    /// The counters behind `GET /metrics`.
    pub metrics: Metrics,
    pub history: DeploymentHistory,
    /// The age of the last success from which the daemon is not ready.
    pub stale_after: Duration,
    /// The token that `POST /allow`, `/reconcile`, `/suspend` and `/resume` require; without one they return
    /// 403.
    pub admin_token: Option<SecretSource>,
    /// The token that the page and the read endpoints require; without one they are open.
    pub page_token: Option<SecretSource>,
    /// The secret that webhooks are signed with; without one they return 404.
    pub webhook_secret: Option<SecretSource>,
    /// The pages of the repository, for links.
    pub links: Option<Links>,
    /// Where documents are in the repository, for links.
    pub paths: DocumentPaths,
}

/// An [`Admin`] with the state that its requests share.
#[derive(Clone, Debug)]
struct AdminState(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    admin: Admin,
    /// Contended by concurrent webhooks and readers of the status, for the time of one lookup.
    deliveries: Mutex<webhook::Deliveries>,
    /// Few bodies are read at a time, so that large webhooks do not slow down passes.
    webhook_bodies: Semaphore,
    /// Pages of the history, by where they begin.
    history: StatusCache<String, Arc<page::Recent>>,
    /// Few pages are rendered and few parts of the history read at a time, so that readers do not slow down
    /// passes.
    pages: Arc<Semaphore>,
    rendered: StatusCache<page::PageKey, page::TimedPage>,
}

impl AdminState {
    fn new(admin: Admin) -> Self {
        let status = &admin.status;
        Self(Arc::new(Inner {
            history: StatusCache::new(status.clone(), 2),
            rendered: StatusCache::new(status.clone(), MOST_RENDERED),
            admin,
            deliveries: Mutex::default(),
            webhook_bodies: Semaphore::new(webhook::BODIES),
            pages: Arc::new(Semaphore::new(2)),
        }))
    }
}

/// The rendered pages that are kept, of at most 100 kB each.
const MOST_RENDERED: usize = 8;

/// Returns the time in seconds since 1970-01-01 UTC.
fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

#[cfg(test)]
mod tests;

// The responses that all endpoints share, `GET /healthz`, `/readyz` and `/metrics`, and what readers share
// until the status changes.

fn problem(status: StatusCode, reason: &str) -> Response {
    json(status, &json!({ "error": reason }))
}

/// Returns a refusal with a way out.
fn problem_with_hint(status: StatusCode, reason: &str, hint: &str) -> Response {
    json(status, &json!({ "error": reason, "hint": hint }))
}

/// Returns the refusal of a parameter or a body, with an example of a valid request.
fn invalid(reason: &str, example: &str) -> Response {
    problem_with_hint(StatusCode::BAD_REQUEST, &escaped(reason).to_string(), example)
}

fn shutting_down() -> Response {
    problem(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down")
}

/// Parameters that may not be valid.
type Parameters<T> = Result<Query<T>, QueryRejection>;

/// Returns the parameters of a request.
///
/// # Errors
/// The first parameter that is not valid, with the reason.
fn valid<T>(parameters: Parameters<T>) -> Result<T, String> {
    let reason = |rejection: QueryRejection| {
        let text = rejection.body_text();
        // The parameter follows the words of a library.
        let reason = text.strip_prefix("Failed to deserialize query string: ");
        reason.map_or_else(|| text.clone(), str::to_owned)
    };
    parameters.map(|Query(parameters)| parameters).map_err(reason)
}

/// The most entries of a response. Not zero, because a response without entries cannot say where the next
/// page begins.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(try_from = "String")]
struct PageLimit(NonZeroUsize);

impl PageLimit {
    fn get(self) -> usize {
        self.0.get()
    }
}

impl TryFrom<String> for PageLimit {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let limit = text.parse();
        limit.map(Self).map_err(|_| format!("`{text}` is not a number from 1 on"))
    }
}

fn json(status: StatusCode, value: &Value) -> Response {
    let body = format!("{}\n", harmless_json(&value.to_string()));
    (status, json_body(body)).into_response()
}

/// Returns a success whose body is JSON.
fn json_body(body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.into()).into_response()
}

/// Reads the body of a command, a JSON object.
fn command<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    // As a list, a command would be accepted without the names of its fields.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err("could not read the command: the body is not a JSON object".to_owned());
    }
    serde_json::from_slice(body).map_err(|error| format!("could not read the command: {error}"))
}

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

impl Admin {
    /// Returns whether the daemon is ready now.
    fn readiness(&self) -> Readiness {
        let now = tokio::time::Instant::now();
        self.status.borrow().readiness(now, self.stale_after)
    }
}

async fn health(State(shared): State<AdminState>) -> Response {
    // Depends on the loop alone, whatever the pass results (src/admin/README.md, "Rules").
    match shared.0.admin.heartbeat.stalled_for() {
        None => text(StatusCode::OK, &["ok".to_owned()]),
        Some(silence) => {
            let reason = format!("the driver loop has not run for {} s", silence.as_secs());
            text(StatusCode::SERVICE_UNAVAILABLE, &[reason])
        }
    }
}

async fn readiness(State(shared): State<AdminState>) -> Response {
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
        Readiness::Unready(reason) => text(StatusCode::SERVICE_UNAVAILABLE, &[reason]),
    }
}

async fn metrics(State(shared): State<AdminState>) -> Response {
    let headers = [(header::CONTENT_TYPE, OPEN_METRICS)];
    (headers, shared.0.admin.metrics.encode()).into_response()
}

impl AdminState {
    /// Makes a response that may take a while, in turn with others, on a thread that serves no other
    /// requests. Returns nothing while the process is shutting down.
    async fn page<T: Send + 'static>(&self, make: impl FnOnce(&Self) -> T + Send + 'static) -> Option<T> {
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

/// The last `capacity` values that were made from the current status, by key.
#[derive(Debug)]
struct StatusCache<K, V> {
    capacity: usize,
    /// Contended by readers, for the time of one lookup.
    entries: Mutex<CacheEntries<K, V>>,
}

#[derive(Debug)]
struct CacheEntries<K, V> {
    status: watch::Receiver<Status>,
    /// Counts the statuses. A value that was made from an older one is not kept.
    generation: u64,
    /// The newest first.
    values: VecDeque<(K, V)>,
}

impl<K: PartialEq, V: Clone> StatusCache<K, V> {
    fn new(status: watch::Receiver<Status>, capacity: usize) -> Self {
        Self {
            capacity,
            entries: Mutex::new(CacheEntries { status, generation: 0, values: VecDeque::new() }),
        }
    }

    /// Returns the value for `key`, if one that `is_usable` was made from the current status.
    fn get(&self, key: &K, is_usable: impl Fn(&V) -> bool) -> Option<V> {
        self.with(|entries| entries.get(key, is_usable))
    }

    /// Returns the same, or the value that `make` returns for the current status. Two callers may make it at
    /// the same time, because neither waits for the other.
    fn get_or_make(&self, key: K, is_usable: impl Fn(&V) -> bool, make: impl FnOnce(&Status, &K) -> V) -> V {
        let found = self.with(|entries| {
            let known = entries.get(&key, is_usable);
            // Cloned, because the driver, which publishes the status, must not wait. It shares its lists.
            known.ok_or_else(|| Box::new((entries.status.borrow().clone(), entries.generation)))
        });
        let (status, generation) = match found {
            Ok(value) => return value,
            Err(basis) => *basis,
        };
        let value = make(&status, &key);
        self.with(|entries| {
            if entries.generation == generation {
                entries.values.retain(|(other, _)| *other != key);
                entries.values.truncate(self.capacity - 1);
                entries.values.push_front((key, value.clone()));
            }
        });
        value
    }

    fn with<T>(&self, act: impl FnOnce(&mut CacheEntries<K, V>) -> T) -> T {
        act(&mut self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<K: PartialEq, V: Clone> CacheEntries<K, V> {
    fn get(&mut self, key: &K, is_usable: impl Fn(&V) -> bool) -> Option<V> {
        // After the last sender is gone, the status no longer changes.
        if self.status.has_changed().unwrap_or(false) {
            self.status.mark_unchanged();
            self.generation += 1;
            self.values.clear();
        }
        let mut values = self.values.iter();
        let (_, value) = values.find(|(other, value)| other == key && is_usable(value))?;
        Some(value.clone())
    }
}

// Routes, limits and shutdown of the server.
//
// The process lives for months, so a slow or silent client must not use up its file descriptors: the number
// of open connections is limited, and each connection ends at its deadline, whether the client does not send
// or does not read.

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
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        // After the body limit: webhooks count for themselves, because their sender must receive the 413.
        .merge(webhooks())
        .fallback(async || problem(StatusCode::NOT_FOUND, "not found"))
        .method_not_allowed_fallback(async || problem(StatusCode::METHOD_NOT_ALLOWED, "method not allowed"))
        .layer(from_fn(bounded))
        .with_state(state)
}

fn webhooks() -> Router<AdminState> {
    let kinds = [WebhookKind::Generic, WebhookKind::Gitea, WebhookKind::GitHub, WebhookKind::GitLab];
    kinds.into_iter().fold(Router::new(), |router, kind| {
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
