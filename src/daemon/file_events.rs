//! File events of a local repository, after which its ref is looked up.

use std::path::PathBuf;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::daemon::Trigger;
use crate::daemon::status::Status;
use crate::model::escaped;
use crate::source::watch::{Watcher, watch as watch_repository};

/// Fires `lookup` at each file event of the repository at `path`, until the task is aborted.
///
/// Without file events, the ref is looked up every second.
pub fn watch_source(
    path: PathBuf,
    reference: Option<String>,
    status: watch::Receiver<Status>,
    lookup: Trigger,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        // A lookup, not a pass, because another process may fetch and collect garbage there all the time.
        match watch_repository(&path, reference.as_deref(), move || lookup.fire()) {
            Ok(watcher) => follow(watcher, status).await,
            Err(error) => {
                let reason = escaped(&error.to_string()).to_string();
                tracing::warn!(
                    name: "no_file_events",
                    reason,
                    "no file events; the ref is looked up every second instead"
                );
            }
        }
    })
}

/// Watches the folders that the repository is in after each new revision.
async fn follow(mut watcher: Watcher, mut status: watch::Receiver<Status>) {
    let mut seen = None;
    let mut is_logged = false;
    while status.changed().await.is_ok() {
        let revision = status.borrow_and_update().source.revision;
        if revision == seen {
            continue;
        }
        seen = revision;
        // A new revision may come from a swapped link, which leads to other folders.
        if let Err(error) = watcher.renew()
            && !is_logged
        {
            is_logged = true;
            tracing::warn!(name: "file_events_incomplete", reason = %error, "not every file event arrives; the ref is looked up every second");
        }
    }
}
