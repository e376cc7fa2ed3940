//! Starts the task that sends notifications after each pass, each once, also across restarts.

use std::io::Write as _;
use std::path::Path;

use tokio::sync::watch;

use super::change::SentNotifications;
use super::receiver::Receiver;
use super::worker::Notifier;
use crate::daemon::{Metrics, Status};
use crate::transport::Network;

/// The file in the state folder that records the sent notifications.
const FILE: &str = "notifications.json";

/// Starts a task that sends the changes in `status` to `receivers`.
pub fn spawn(
    receivers: Vec<Receiver>,
    network: &Network,
    metrics: &Metrics,
    mut status: watch::Receiver<Status>,
    state_dir: &Path,
) {
    if receivers.is_empty() {
        return;
    }
    let start = |receiver| {
        let (notifier, delivery) = Notifier::new(receiver, network.clone(), metrics.clone());
        tokio::spawn(delivery);
        notifier
    };
    let notifiers: Vec<Notifier> = receivers.into_iter().map(start).collect();
    let file = state_dir.join(FILE);
    tokio::spawn(async move {
        let mut sent = None;
        while status.changed().await.is_ok() {
            let now = status.borrow_and_update().clone();
            // While another process is the writer, that process sends notifications and records them in the file.
            if now.last_success.is_none() {
                continue;
            }
            // Read only as the writer, because another process may have changed the file until then.
            let sent = sent.get_or_insert_with(|| read(&file));
            let Some(notification) = sent.update(&now) else {
                continue;
            };
            // Recorded first: a lost notification is better than one that every restart repeats.
            if let Err(error) = write(&file, sent) {
                tracing::warn!(name: "notifications_unrecorded", reason = %error, "could not record which notifications were sent; they may be sent again");
            }
            notifiers
                .iter()
                .for_each(|notifier| notifier.send(notification.clone()));
        }
    });
}

fn read(file: &Path) -> SentNotifications {
    let bytes = std::fs::read(file).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn write(file: &Path, sent: &SentNotifications) -> std::io::Result<()> {
    let mut new = tempfile::NamedTempFile::new_in(file.parent().unwrap_or(Path::new(".")))?;
    new.write_all(&serde_json::to_vec(sent)?)?;
    // Synced before the rename, so that a power cut does not leave an empty file.
    new.as_file().sync_all()?;
    new.persist(file)?;
    Ok(())
}
