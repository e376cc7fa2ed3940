//! `gitoggle run`: the daemon and the sidecar.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;

use super::failure::{Failure, Verdict};
use super::observer::Observer;
use super::{setup, show, signals};
use crate::admin::{self, Admin};
use crate::config::{Listen, Settings};
use crate::daemon::{self, Control, Driver, Heartbeat, Metrics, Status, Trigger};
use crate::git::RepoUrl;
use crate::notification;
use crate::source::{CacheMode, Source};
use crate::transport::Network;

pub(super) fn run(settings: &Settings) -> Result<Verdict, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_keep_alive(Duration::from_millis(500))
        .enable_all()
        .build()
        .map_err(Failure::failed)?;
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
    signals::reload_on_hangup(control.clone()).map_err(Failure::failed)?;
    let network = Network {
        ca_file: settings.ca_file.clone(),
        ..Network::default()
    };
    let receivers = setup::receivers(settings);
    notification::spawn(receivers, &network, &metrics, status.clone(), &config.state_dir);
    let watching = watch_source(settings, &status, &lookup);
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
        let mut stop = stop.clone();
        let ended = async move { drop(stop.wait_for(|stop| *stop).await) };
        tokio::spawn(admin::serve(listener, admin, ended));
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
    watching.inspect(tokio::task::JoinHandle::abort);
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

/// The repository that webhooks must be about: the source, or the `origin` of the checkout that is the source.
fn followed(config: &crate::source::SourceConfig) -> Option<RepoUrl> {
    match config.location.local_path() {
        None => Some(config.location.clone()),
        Some(_) => Source::new(config.clone()).origin_url().ok()??.parse().ok(),
    }
}

/// Watches a local repository. A remote one has no folders to watch.
fn watch_source(
    settings: &Settings,
    status: &watch::Receiver<Status>,
    lookup: &Trigger,
) -> Option<tokio::task::JoinHandle<()>> {
    let path = settings.repo.local_path()?.to_owned();
    let reference = settings.reference.clone();
    Some(daemon::watch_source(
        path,
        reference,
        status.clone(),
        lookup.clone(),
    ))
}
