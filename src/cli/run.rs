//! `gitoggle run`: the daemon and the sidecar.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::failure::{Failure, Verdict};
use super::observer::Observer;
use super::{setup, show, signals};
use crate::admin::{self, Admin};
use crate::config::{Listen, Settings};
use crate::daemon::{Control, Driver, Heartbeat, Metrics, Status, Trigger};
use crate::git::RepoUrl;
use crate::model::escaped;
use crate::notification::{Notifier, Receiver, ReceiverFormat, SentNotifications};
use crate::source::{CacheMode, Source, watch as watcher};
use crate::transport::{Network, SecretSource};

pub(super) fn run(settings: &Settings) -> Result<Verdict, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_keep_alive(Duration::from_millis(500))
        .enable_all()
        .build();
    let runtime = runtime.map_err(Failure::failed)?;
    let verdict = runtime.block_on(serve(settings));
    // A fetch that hangs must not keep the process: what it does is only a cache.
    runtime.shutdown_background();
    verdict
}

async fn serve(settings: &Settings) -> Result<Verdict, Failure> {
    let config = setup::config(settings, CacheMode::Keep)?;
    let stop = signals::stop_on_signal().map_err(Failure::failed)?;
    let listener = listener(settings.listen).await?;
    let (trigger, lookup) = (Trigger::default(), Trigger::default());
    let (control, commands) = Control::new(trigger.clone());
    let (sender, status) = watch::channel(Status::default());
    let metrics = Metrics::new();
    let heartbeat = Heartbeat::new(Duration::from_secs(90).max(settings.poll_interval * 3));
    reload_on_hangup(control.clone()).map_err(Failure::failed)?;
    let network = Network {
        ca_file: settings.ca_file.clone(),
        ..Network::default()
    };
    tell_people(settings, &network, &metrics, &status, &config.state_dir);
    let watching = watched(settings, &status, &lookup);
    if let Some(listener) = listener {
        let admin = Admin {
            status: status.clone(),
            control,
            heartbeat: heartbeat.clone(),
            metrics: metrics.clone(),
            stale_after: settings.stale_after,
            admin_token: settings.admin_token.clone(),
            webhook_secret: settings.webhook_secret.clone(),
            repo: followed(&config.source),
        };
        tokio::spawn(admin::serve(listener, admin, ended(stop.clone())));
    }
    let observer = Observer::new(setup::service(&config), metrics.clone());
    let driver = Driver {
        config,
        poll_interval: settings.poll_interval,
        observe: Arc::new(move |event| observer.observe(event)),
        trigger,
        lookup,
        commands,
        status: sender,
        metrics,
        heartbeat,
        stale_after: settings.stale_after,
    };
    driver.run(stop).await;
    watching.abort();
    tracing::info!(name: "stopped", "stopped");
    Ok(Verdict::Clean)
}

async fn listener(listen: Listen) -> Result<Option<TcpListener>, Failure> {
    let Listen::Address(address) = listen else {
        return Ok(None);
    };
    let listener = TcpListener::bind(address).await;
    let listener = listener
        .map_err(|error| Failure::failed(show::Attempt::new(format!("cannot listen on {address}"), error)))?;
    let address = listener.local_addr().unwrap_or(address);
    tracing::info!(name: "listening", %address, "listening");
    Ok(Some(listener))
}

async fn ended(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// SIGHUP is a trigger like any other; secrets and the CA file are read anew at every pass anyway.
fn reload_on_hangup(control: Control) -> std::io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            control.trigger().fire();
        }
    });
    Ok(())
}

/// The repository that webhooks must be about: the source, or the `origin` of the checkout that is the source.
fn followed(config: &crate::source::SourceConfig) -> Option<RepoUrl> {
    match config.location.local_path() {
        None => Some(config.location.clone()),
        Some(_) => Source::new(config.clone())
            .origin_url()
            .ok()
            .flatten()?
            .parse()
            .ok(),
    }
}

/// Watches the folders of a local repository. A file event only asks for a lookup of the ref, because another process may
/// fetch and collect garbage there all the time. Without file events, the ref is looked up every second.
fn watched(
    settings: &Settings,
    status: &watch::Receiver<Status>,
    lookup: &Trigger,
) -> tokio::task::JoinHandle<()> {
    let path = settings.repo.local_path().map(Path::to_owned);
    let reference = settings.reference.clone();
    let (lookup, status) = (lookup.clone(), status.clone());
    tokio::spawn(async move {
        let Some(path) = path else { return };
        match watcher::watch(&path, reference.as_deref(), move || lookup.fire()) {
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

/// Watches the folders that the repository is in after each new revision, because a swapped link leads elsewhere.
async fn follow(mut watcher: watcher::Watcher, mut status: watch::Receiver<Status>) {
    let mut seen = None;
    let mut is_told = false;
    while status.changed().await.is_ok() {
        let revision = status.borrow_and_update().source.revision;
        if revision == seen {
            continue;
        }
        seen = revision;
        if let Err(error) = watcher.renew()
            && !is_told
        {
            is_told = true;
            tracing::warn!(name: "file_events_incomplete", reason = %error, "not every file event arrives; the ref is looked up every second");
        }
    }
}

/// Sends notices of what changed, each once, also across restarts.
fn tell_people(
    settings: &Settings,
    network: &Network,
    metrics: &Metrics,
    status: &watch::Receiver<Status>,
    state_dir: &Path,
) {
    let standard = settings.notify_url.as_ref().map(|url| Receiver {
        url: SecretSource::Value(crate::transport::Secret::new(url.clone())),
        format: ReceiverFormat::Standard(settings.notify_secret.clone()),
    });
    let slack = settings.notify_slack_url.clone();
    let slack = slack.map(|url| Receiver {
        url,
        format: ReceiverFormat::Slack,
    });
    let mut notifiers = Vec::new();
    for receiver in standard.into_iter().chain(slack) {
        let (notifier, courier) = Notifier::new(receiver, network.clone(), metrics.clone());
        tokio::spawn(courier);
        notifiers.push(notifier);
    }
    if notifiers.is_empty() {
        return;
    }
    let file = state_dir.join("told.json");
    let mut status = status.clone();
    tokio::spawn(async move {
        let mut told = None;
        while status.changed().await.is_ok() {
            let now = status.borrow_and_update().clone();
            // While another process is the writer, it is the one who tells, and what it told is on record then.
            if now.last_success.is_none() {
                continue;
            }
            let told = told.get_or_insert_with(|| read_told(&file));
            let Some(notice) = told.update(&now) else { continue };
            // On record first: a notice that is lost is better than one that comes with every restart.
            if let Err(error) = write_told(&file, told) {
                tracing::warn!(name: "notifications_unrecorded", reason = %error, "could not record which notifications were sent; they may be sent again");
            }
            notifiers
                .iter()
                .for_each(|notifier| notifier.send(notice.clone()));
        }
    });
}

fn read_told(file: &PathBuf) -> SentNotifications {
    std::fs::read(file)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

fn write_told(file: &Path, told: &SentNotifications) -> std::io::Result<()> {
    use std::io::Write;
    let mut new = tempfile::NamedTempFile::new_in(file.parent().unwrap_or(Path::new(".")))?;
    new.write_all(&serde_json::to_vec(told)?)?;
    new.as_file().sync_all()?;
    new.persist(file)?;
    Ok(())
}
