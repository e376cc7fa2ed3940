//! The daemon's face: health, metrics, status, orders and webhooks (DESIGN, section 9).
//!
//! It reads the status that the driver publishes and fires its trigger; it decides nothing and never sees the
//! service's token. What arrives in a request ends here: a webhook is checked on its raw bytes, then asks only
//! whether it is about us.
//!
//! Invariant: nothing changes without the admin token, and no pass starts without a token or a webhook's signature.

mod allow;
mod body;
mod caller;
mod connection;
mod control;
mod deliveries;
mod event;
mod form;
mod limit;
mod page;
mod probes;
mod replay;
mod server;
mod signature;
mod webhook;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};

use crate::daemon::{Control, Heartbeat, Metrics, Status};
use crate::git::RepoUrl;
use crate::transport::SecretSource;

pub use server::serve;

/// What the endpoints need to know and whom they may ask.
#[derive(Clone, Debug)]
pub struct Admin {
    /// What the driver last published.
    pub status: watch::Receiver<Status>,
    /// The driver's ear.
    pub control: Control,
    /// Its sign of life.
    pub heartbeat: Heartbeat,
    /// What is counted.
    pub metrics: Metrics,
    /// How old the last success may be.
    pub stale_after: Duration,
    /// What `POST /allow`, `/reconcile`, `/suspend` and `/resume` ask for; without it they are 403.
    pub admin_token: Option<SecretSource>,
    /// What webhooks are signed with; without it they are 404.
    pub webhook_secret: Option<SecretSource>,
    /// The repository that webhooks must be about: the source, or the `origin` of the checkout that is the source.
    /// Without it (or with one on this machine) an authentic webhook about any repository counts.
    pub repo: Option<RepoUrl>,
}

/// An [`Admin`] with what its requests share.
#[derive(Clone, Debug)]
struct Shared(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    admin: Admin,
    /// Contended by concurrent webhooks, for the time of one look-up.
    replays: Mutex<replay::Replays>,
    /// Likewise. Taken from only by webhooks that fail the check.
    limit: Mutex<limit::Bucket>,
    /// Likewise, and by readers of the status.
    deliveries: Mutex<deliveries::Deliveries>,
    /// One large answer at a time, so that impatient readers of a large status do not fill the memory.
    large_answers: Arc<Semaphore>,
    /// The last answer of `/api/status`, which all who read it at the same time share. Contended by nobody: who
    /// makes a large answer is alone.
    status_answer: Mutex<Option<probes::StatusAnswer>>,
}

impl Shared {
    fn new(admin: Admin) -> Self {
        Self(Arc::new(Inner {
            admin,
            replays: Mutex::default(),
            deliveries: Mutex::default(),
            limit: Mutex::new(limit::Bucket::new(WEBHOOK_BURST, WEBHOOKS_PER_SECOND)),
            large_answers: Arc::new(Semaphore::new(1)),
            status_answer: Mutex::default(),
        }))
    }
}

/// A host whose secret is out of date may send hundreds of webhooks at once.
const WEBHOOK_BURST: u32 = 300;
const WEBHOOKS_PER_SECOND: u32 = 20;

/// Returns the time in seconds since 1970-01-01 UTC.
fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

#[cfg(test)]
mod tests;
