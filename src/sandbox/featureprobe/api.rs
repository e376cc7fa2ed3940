//! One service: records requests, injects faults, and hands the rest to the router.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::{Method, StatusCode, header};
use jiff::Timestamp;

use super::call::{ApiCall, Call};
use super::errors::ApiRefusal;
use super::reply::ApiReply;
use super::script::{Script, ScriptAct, ScriptRequest, ScriptStep, ScriptToggle};
use super::state::World;
use super::{data, routes};
use crate::model::{ToggleId, escaped};
use crate::sandbox::faults::Fault;
use crate::sandbox::request_log::OpenRequest;
use crate::sandbox::shared::SandboxState;

/// A service of kind `featureprobe`.
pub(in crate::sandbox) struct Api {
    pub(super) shared: Arc<SandboxState>,
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
    #[cfg(test)]
    clock: Option<Timestamp>,
}

impl Api {
    /// Returns a service with this data, or the sample.
    ///
    /// # Errors
    /// What is wrong with the data.
    pub(in crate::sandbox) fn new(
        shared: Arc<SandboxState>,
        data: Option<&str>,
    ) -> Result<Arc<Self>, String> {
        let mut world = World::new();
        data::load(&mut world, data.unwrap_or(data::SAMPLE), Timestamp::now())?;
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
                #[cfg(test)]
                clock: None,
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
            routes::answer(&mut inner.world, call);
        }
        count
    }

    pub(super) fn now(&self) -> Timestamp {
        self.lock().now()
    }

    #[cfg(test)]
    pub(super) fn set_clock(&self, at: Timestamp) {
        self.lock().clock = Some(at);
    }

    /// Adds another writer, who sends this authorization.
    #[cfg(test)]
    pub(super) fn add_account(&self, authorization: &str, name: &str) {
        let accounts = &mut self.lock().world.accounts;
        accounts.insert(authorization.to_owned(), name.to_owned());
    }

    /// Carries out a request of the account `Admin`, now.
    pub(in crate::sandbox) fn as_admin(&self, request: &ScriptRequest) {
        self.lock().request(request);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request, and returns how many there were before with the same method and path.
    pub(super) fn arrive(&self, call: &Call) -> (u64, Option<OpenRequest>) {
        let open = published_toggle(call).map(|id| self.shared.request_log.arrive(id, &call.sent.body));
        let mut inner = self.lock();
        inner.calls.push(call.sent.clone());
        let count = inner
            .counts
            .entry(format!("{} {}", call.method, call.path()))
            .or_default();
        *count += 1;
        (*count - 1, open)
    }

    /// Carries a request out, unless it is chosen for a fault. Returns none if its connection ends without a response.
    pub(super) fn carry_out(&self, call: Call, nth: u64) -> Option<ApiReply> {
        let is_publish = published_toggle(&call).is_some();
        let faults = &self.shared.faults;
        let fault = match is_publish && self.shared.loses_next.swap(false, Ordering::Relaxed) {
            true => Fault::DropAfterStore,
            false => faults.strike(&(call.method.as_str(), call.path()), nth),
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
        #[cfg(test)]
        if let Some(at) = self.clock {
            return at;
        }
        Timestamp::now()
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
        let reply = routes::answer(&mut self.world, call);
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
        if let Err(refusal) = routes::as_account(&mut self.world, &call) {
            tracing::warn!(name: "answered", path = %escaped(&call.sent.path), ?refusal, "a scripted request failed");
        }
    }
}

/// Returns the toggle that a request publishes.
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
