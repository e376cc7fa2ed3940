//! A service of kind `featureprobe`: the part of its API that gitoggle uses, with its status codes, bodies
//! and quirks.
//!
//! It stores what the service stores and refuses what the service refuses, which is little: content is JSON
//! that is never compared, and mistakes surface as they do there, often as a 500. `tests/replay` sends it
//! requests that were recorded from a running service and compares the answers. State is in memory.
//!
//! [`ScriptStep`]s arrange failures and changes by others at exact requests, for tests.
//!
//! Invariant: a request that is refused changes nothing.

mod content;
mod endpoint;
mod exchange;
mod projects;
mod sdk;
mod store;
mod toggles;

pub use exchange::ApiCall;

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::Response;
use bytes::Bytes;
use endpoint::{answer, as_account};
use exchange::{ApiRefusal, ApiReply, Call};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use store::World;

use super::nothing;
use crate::model::{ToggleId, escaped};
use crate::sandbox::store::{Fault, LARGEST_REQUEST, OpenRequest, SandboxState};

/// A service of kind `featureprobe`.
pub(in crate::sandbox) struct Api {
    shared: Arc<SandboxState>,
    /// Contended by the requests, each of which holds it while it is carried out.
    inner: Mutex<Inner>,
}

struct Inner {
    world: World,
    calls: Vec<ApiCall>,
    /// The number of requests so far, by method and path.
    counts: HashMap<String, u64>,
    script: Script,
    held: Vec<Call>,
    clock: Box<dyn Fn() -> Timestamp + Send>,
}

impl Api {
    /// Returns a service with this data, or the sample.
    pub(in crate::sandbox) fn new(
        shared: Arc<SandboxState>,
        data: Option<&str>,
    ) -> Result<Arc<Self>, String> {
        let mut world = World::new();
        store::load(&mut world, data.unwrap_or(store::SAMPLE), Timestamp::now())?;
        let account = "api:sandbox".to_owned();
        world.accounts.insert(shared.token.expose().to_owned(), account);
        Ok(Arc::new(Self {
            shared,
            inner: Mutex::new(Inner {
                world,
                calls: Vec::new(),
                counts: HashMap::new(),
                script: Script::default(),
                held: Vec::new(),
                clock: Box::new(Timestamp::now),
            }),
        }))
    }

    /// Returns all requests, in order of arrival.
    pub(in crate::sandbox) fn calls(&self) -> Vec<ApiCall> {
        self.lock().calls.clone()
    }

    pub(in crate::sandbox) fn add_step(&self, step: ScriptStep) {
        self.lock().script.add(step);
    }

    /// Carries out the requests that were held, and returns how many there were.
    pub(in crate::sandbox) fn release_held(&self) -> usize {
        let mut inner = self.lock();
        let held = std::mem::take(&mut inner.held);
        let count = held.len();
        for mut call in held {
            call.at = inner.now();
            answer(&mut inner.world, call);
        }
        count
    }

    fn now(&self) -> Timestamp {
        self.lock().now()
    }

    /// Carries out a request of the account `Admin`, now.
    pub(in crate::sandbox) fn as_admin(&self, request: &ScriptRequest) {
        self.lock().request(request);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request, and returns how many there were before with the same method and path.
    fn arrive(&self, call: &Call) -> (u64, Option<OpenRequest>) {
        let open = published_toggle(call).map(|id| self.shared.request_log.arrive(id, &call.sent.body));
        let mut inner = self.lock();
        inner.calls.push(call.sent.clone());
        let count = inner.counts.entry(format!("{} {}", call.method, call.path())).or_default();
        *count += 1;
        (*count - 1, open)
    }

    /// Carries a request out, unless it is chosen for a fault. Returns none if its connection ends without a
    /// response.
    fn carry_out(&self, call: Call, nth: u64) -> Option<ApiReply> {
        let is_publish = published_toggle(&call).is_some();
        let faults = &self.shared.faults;
        let fault = if is_publish && self.shared.loses_next.swap(false, Ordering::Relaxed) {
            Fault::DropAfterStore
        } else {
            faults.strike(&(call.method.as_str(), call.path()), nth)
        };
        let failed = |status| Some(ApiReply::new(Err(ApiRefusal::Framework(status)), &call));
        match fault {
            Fault::DropAfterStore => {
                self.lock().play(call);
                None
            }
            Fault::Internal => failed(StatusCode::INTERNAL_SERVER_ERROR),
            Fault::None => self.lock().play(call),
            Fault::TooMany => {
                let seconds = faults.retry_after.as_secs();
                failed(StatusCode::TOO_MANY_REQUESTS)
                    .map(|reply| reply.with(header::RETRY_AFTER, seconds.into()))
            }
            Fault::Unavailable => failed(StatusCode::SERVICE_UNAVAILABLE),
        }
    }
}

impl Inner {
    fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Carries a request out, with what the script arranged for it. Returns none if it gets no response.
    fn play(&mut self, mut call: Call) -> Option<ApiReply> {
        let acts = self.script.take(&call.sent);
        let mut deleted = None;
        let mut is_lost = false;
        for act in acts {
            match act {
                ScriptAct::Before(request) => self.request(&request),
                ScriptAct::DeleteAfter(toggle) => deleted = Some(toggle),
                ScriptAct::Fail => return Some(ApiReply::new(Err(ApiRefusal::INTERNAL), &call)),
                ScriptAct::Hold => {
                    self.held.push(call);
                    return None;
                }
                ScriptAct::LoseIncrement => self.world.loses_increment = true,
                ScriptAct::LoseResponse => is_lost = true,
                ScriptAct::Page(html) => return Some(ApiReply::page(html)),
            }
        }
        // The time of its execution counts, not that of its arrival.
        call.at = self.now();
        let reply = answer(&mut self.world, call);
        self.world.loses_increment = false;
        if let Some(ScriptToggle { project, toggle }) = deleted
            && let Some(project) = self.world.projects.get_mut(&project)
        {
            project.delete_toggle(&toggle);
        }
        (!is_lost).then_some(reply)
    }

    fn request(&mut self, request: &ScriptRequest) {
        let ScriptRequest { method, path, body } = request;
        let method = method.parse().unwrap_or(Method::GET);
        let call = Call::by_admin(method, path.clone(), body, self.now());
        if let Err(refusal) = as_account(&mut self.world, &call) {
            tracing::warn!(name: "answered", path = %escaped(&call.sent.path), ?refusal, "a scripted request failed");
        }
    }
}

fn published_toggle(call: &Call) -> Option<ToggleId> {
    let components = call.components();
    let path: Vec<&str> = components.iter().map(String::as_str).collect();
    match *path.as_slice() {
        ["api", "projects", p, "environments", e, "toggles", t, "targeting"]
            if call.method == Method::PATCH =>
        {
            ToggleId::new(p, e, t).ok()
        }
        _ => None,
    }
}

pub(in crate::sandbox) fn router(api: Arc<Api>) -> Router {
    Router::new().fallback(handle).layer(DefaultBodyLimit::max(LARGEST_REQUEST)).with_state(api)
}

async fn handle(
    State(api): State<Arc<Api>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let path = uri.path_and_query().map_or_else(|| uri.path().to_owned(), ToString::to_string);
    let is_too_large = body.is_err();
    let call = Call::new(method, path, &headers, body.unwrap_or_default(), api.now());
    let (method, path) = (call.method.clone(), call.sent.path.clone());
    // A server carries out what has arrived, whether or not the client still waits.
    let carried_out = tokio::spawn(async move {
        let (nth, _open) = api.arrive(&call);
        tokio::time::sleep(api.shared.faults.latency).await;
        if is_too_large {
            let refusal = ApiRefusal::Framework(StatusCode::PAYLOAD_TOO_LARGE);
            return Some(ApiReply::new(Err(refusal), &call));
        }
        api.carry_out(call, nth)
    });
    let reply = carried_out.await.ok().flatten();
    let response = reply.map_or_else(nothing, ApiReply::response);
    let status = response.status().as_u16();
    tracing::debug!(name: "answered", %method, path = %escaped(&path), status, "answered");
    response
}

/// One step: the next request that matches `on` meets `act`. It happens once.
///
/// As JSON: `{"on": {"method": "PATCH", "path": "/toggles/pay/targeting"}, "do": "lose_response"}`, or with
/// `"do": {"before": {"method": "PATCH", "path": "/api/projects/…", "body": {…}}}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptStep {
    pub on: RequestPattern,
    /// What happens.
    #[serde(rename = "do")]
    pub act: ScriptAct,
}

/// Requests with this method, and with a path that contains this text. The path includes the query.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestPattern {
    pub method: String,
    /// A part of the path.
    pub path: String,
}

/// What happens at a request.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptAct {
    /// Another request is carried out before this one.
    Before(ScriptRequest),
    /// After it, this toggle is gone, as if someone had removed it from the database: the service itself only
    /// archives.
    DeleteAfter(ScriptToggle),
    /// It is answered with a 500 and not carried out, as the loser of a true race is.
    Fail,
    /// It is not answered, and carried out only when the held requests are released.
    Hold,
    /// It does not raise the version of its environment.
    LoseIncrement,
    /// It is carried out and not answered.
    LoseResponse,
    /// It is answered with this text as a page of HTML with the status 200, as a proxy may do.
    Page(String),
}

/// A request that the account `Admin` makes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptRequest {
    pub method: String,
    pub path: String,
    #[serde(default)]
    pub body: Value,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptToggle {
    pub project: String,
    pub toggle: String,
}

/// The steps that have not happened yet.
#[derive(Default)]
struct Script(Vec<ScriptStep>);

impl Script {
    fn add(&mut self, step: ScriptStep) {
        self.0.push(step);
    }

    /// Takes what happens at `call`: at most one step of each kind, in the order in which they were added.
    fn take(&mut self, call: &ApiCall) -> Vec<ScriptAct> {
        let mut taken: Vec<ScriptAct> = Vec::new();
        self.0.retain(|ScriptStep { on, act }| {
            let matches = on.method.eq_ignore_ascii_case(&call.method) && call.path.contains(&on.path);
            let kind = std::mem::discriminant(act);
            let is_next = matches && taken.iter().all(|one| std::mem::discriminant(one) != kind);
            if is_next {
                taken.push(act.clone());
            }
            !is_next
        });
        taken
    }
}

#[cfg(test)]
impl Api {
    fn set_clock(&self, at: Timestamp) {
        self.lock().clock = Box::new(move || at);
    }

    /// Adds another writer, who sends this authorization.
    fn add_account(&self, authorization: &str, name: &str) {
        let accounts = &mut self.lock().world.accounts;
        accounts.insert(authorization.to_owned(), name.to_owned());
    }
}

#[cfg(test)]
mod tests;
