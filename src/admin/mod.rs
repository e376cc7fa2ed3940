//! The daemon's HTTP interface: health, metrics, status, commands and webhooks (DESIGN, section 9).
//!
//! It reads the status that the driver publishes, fires its trigger, and sends it commands. It decides nothing and
//! never sees the service's token. A webhook passes on no data: it is checked on its raw bytes, and fires the trigger.
//!
//! Invariant: nothing changes without the admin token, and no pass starts without a token or a webhook's signature.

mod answer;
mod api;
mod control;
mod page;
mod server;
mod signature;
mod web;
mod webhook;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};

use crate::admin::answer::StatusCache;
use crate::daemon::{Control, DeploymentHistory, DocumentPaths, Heartbeat, Metrics, Status};
use crate::report::Links;
use crate::transport::SecretSource;

pub(crate) use server::serve;

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
    /// Reads the deployment history.
    pub history: DeploymentHistory,
    /// The age of the last success from which the daemon is not ready.
    pub stale_after: Duration,
    /// The token that `POST /allow`, `/reconcile`, `/suspend` and `/resume` require; without one they return 403.
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
    /// Few pages are rendered and few parts of the history read at a time, so that readers do not slow down passes.
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
