//! What the endpoints depend on, and the state that requests share.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};

use super::cache::StatusCache;
use crate::admin::{page, webhook};
use crate::daemon::{Control, DeploymentHistory, DocumentPaths, Heartbeat, Metrics, Status};
use crate::report::Links;
use crate::transport::SecretSource;

/// From accept to close. A connection carries one request, so this is also the longest request.
pub(super) const LONGEST_CONNECTION: Duration = Duration::from_secs(10);
/// A little less than its connection has, so that the response gets through.
pub(super) const LONGEST_REQUEST: Duration = Duration::from_secs(LONGEST_CONNECTION.as_secs() - 5);

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
pub(super) struct AdminState(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) admin: Admin,
    /// Contended by concurrent webhooks and readers of the status, for the time of one lookup.
    pub(super) deliveries: Mutex<webhook::Deliveries>,
    /// Few bodies are read at a time, so that large webhooks do not slow down passes.
    pub(super) webhook_bodies: Semaphore,
    /// Pages of the history, by where they begin.
    pub(super) history: StatusCache<String, Arc<page::Recent>>,
    /// Few pages are rendered and few parts of the history read at a time, so that readers do not slow down
    /// passes.
    pub(super) pages: Arc<Semaphore>,
    pub(super) rendered: StatusCache<page::PageKey, page::TimedPage>,
}

impl AdminState {
    pub(super) fn new(admin: Admin) -> Self {
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

    /// Makes a response that may take a while, in turn with others, on a thread that serves no other
    /// requests. Returns nothing while the process is shutting down.
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

/// The rendered pages that are kept, of at most 100 kB each.
const MOST_RENDERED: usize = 8;

/// Returns the time in seconds since 1970-01-01 UTC.
pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}
