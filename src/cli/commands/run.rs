//! `gitoggle run`: runs the daemon.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::admin::{self, Admin};
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::observer::RunObserver;
use crate::cli::{forge, runtime, setup, signals};
use crate::config::Settings;
use crate::daemon::{
    self, Control, DeploymentHistory, DocumentPaths, Driver, Heartbeat, Metrics, Status, Trigger,
};
use crate::notification;
use crate::pass::Config;
use crate::plan::OnDrift;
use crate::source::CacheMode;

/// Run continuously, as a daemon or a sidecar
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Makes a pass whenever the source changes, a webhook arrives or the poll interval ends: as a \
                  daemon or a sidecar."
)]
pub(crate) struct RunArgs {}

/// The threads that answer requests and run the loop.
const WORKERS: usize = 2;

pub(super) fn run(settings: &Settings, _: &RunArgs) -> Result<ExitStatus, Failure> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    // Idle threads keep the memory of what they read, and the daemon rests between passes.
    runtime.worker_threads(WORKERS).thread_keep_alive(Duration::from_millis(500));
    runtime::start(&mut runtime, WORKERS)?.block_on(serve(settings))
}

async fn serve(settings: &Settings) -> Result<ExitStatus, Failure> {
    // First, so that a signal during the start has the same exit code as a later one.
    let stop = signals::stop_on_signal().map_err(Failure::failed)?;
    let mut config = setup::config(settings, CacheMode::Keep)?;
    config.ignore_user_git_config();
    // Bound before the first pass, so that a port in use ends the process at startup.
    let listener = listener(settings.listen).await?;
    let (trigger, lookup) = (Trigger::default(), Trigger::default());
    let (control, commands) = Control::new(trigger.clone());
    let (sender, status) = watch::channel(Status::default());
    let metrics = Metrics::new();
    let stale_after = settings.unready_after();
    let heartbeat = Heartbeat::new(Duration::from_secs(90).max(settings.poll_interval * 3));
    signals::reload_on_hangup(control.clone()).map_err(Failure::failed)?;
    notify(settings, &config, &metrics, &status);
    let watching = watch_source(settings, &status, &lookup);
    if let Some(listener) = listener {
        let admin = Admin {
            status: status.clone(),
            control,
            heartbeat: heartbeat.clone(),
            metrics: metrics.clone(),
            history: DeploymentHistory { state_dir: config.state_dir.clone(), kind: settings.service_kind },
            stale_after,
            admin_token: settings.admin_token.clone(),
            page_token: settings.page_token.clone(),
            webhook_secret: settings.webhook_secret.clone(),
            links: forge::links(settings),
            paths: DocumentPaths { root: config.rules.root.clone(), layout: config.rules.layout.clone() },
        };
        tokio::spawn(admin::serve(listener, admin, raised(stop.clone())));
    }
    let observer = RunObserver::new(setup::service(&config), metrics.clone());
    let driver = Driver {
        config,
        poll_interval: settings.poll_interval,
        drift_interval: drift_interval(settings),
        observe: Arc::new(move |event| observer.observe(event)),
        trigger,
        lookup,
        commands,
        status: sender,
        metrics,
        heartbeat,
        stale_after,
    };
    driver.run(stop).await;
    watching.inspect(tokio::task::JoinHandle::abort);
    tracing::info!(name: "stopped", "stopped");
    Ok(ExitStatus::Clean)
}

/// Starts the notifications about changes of `status`.
fn notify(settings: &Settings, config: &Config, metrics: &Metrics, status: &watch::Receiver<Status>) {
    let (receivers, network) = (setup::receivers(settings), setup::network(settings));
    notification::spawn(receivers, &network, metrics, status, &config.state_dir);
}

async fn raised(mut stop: watch::Receiver<bool>) {
    drop(stop.wait_for(|stop| *stop).await);
}

/// Returns the interval between scans for drift; zero for none.
fn drift_interval(settings: &Settings) -> Duration {
    match settings.on_drift {
        OnDrift::Hold | OnDrift::Overwrite if settings.service_kind.can().read_live => {
            settings.drift_interval
        }
        OnDrift::Hold | OnDrift::Ignore | OnDrift::Overwrite => Duration::ZERO,
    }
}

async fn listener(address: Option<SocketAddr>) -> Result<Option<TcpListener>, Failure> {
    let Some(address) = address else {
        return Ok(None);
    };
    let mut listener = TcpListener::bind(address).await;
    if let (Err(error), Some(other)) = (&listener, without_ipv6(address)) {
        tracing::info!(name: "listening_without_ipv6", %error, "no IPv6 here, IPv4 alone is served");
        listener = TcpListener::bind(other).await;
    }
    let listener = listener.map_err(Failure::could_not(format!("listen on {address}")))?;
    // Port 0 selects a free port, which only the listener knows.
    let address = listener.local_addr().unwrap_or(address);
    tracing::info!(name: "listening", %address, "listening");
    Ok(Some(listener))
}

/// Returns the address that takes the place of `[::]` on a machine without IPv6. One process serves both on
/// every other.
fn without_ipv6(address: SocketAddr) -> Option<SocketAddr> {
    let is_any = address.is_ipv6() && address.ip().is_unspecified();
    is_any.then(|| SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port()))
}

/// Watches the source if it is a local repository.
fn watch_source(
    settings: &Settings,
    status: &watch::Receiver<Status>,
    lookup: &Trigger,
) -> Option<tokio::task::JoinHandle<()>> {
    let path = settings.repo.local_path()?.to_owned();
    let reference = settings.reference.clone();
    Some(daemon::watch_source(path, reference, status.clone(), lookup.clone()))
}
