//! Starting, steering and stopping the sandbox.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum_server::Handle;
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::certificate::{CertificateError, Identity, write_pem};
use super::history_file::HistoryFile;
use super::ledger::Ledger;
use super::script::Scripts;
use super::{Certificate, Concurrency, Faults, Published, Received, Script, endpoint};
use crate::model::ToggleId;
use crate::transport::Secret;

/// What a sandbox needs to know.
#[derive(Clone, Debug)]
pub struct SandboxConfig {
    /// Where it listens; port 0 takes any free one.
    pub listen: SocketAddr,
    /// A host name that its certificate is for, besides `localhost` and the loopback addresses.
    pub host: Option<String>,
    /// Which certificate it shows.
    pub certificate: Certificate,
    /// Where the certificate of its authority is written, for `--ca-file`.
    pub ca_file: Option<PathBuf>,
    /// The token it accepts.
    pub token: Secret,
    /// How it misbehaves.
    pub faults: Faults,
    /// Where its history is kept; `None` keeps it in memory.
    pub history_file: Option<PathBuf>,
}

impl SandboxConfig {
    /// Returns a sandbox that behaves, on any free port of `127.0.0.1`, with its history in memory.
    #[must_use]
    pub fn new(token: Secret) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            host: None,
            certificate: Certificate::default(),
            ca_file: None,
            token,
            faults: Faults::default(),
            history_file: None,
        }
    }
}

/// A sandbox that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The authority's certificate cannot be written.
    #[error("cannot write the sandbox's CA file `{}`", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no certificate to show.
    #[error("cannot prepare TLS for the sandbox")]
    Certificate(#[from] CertificateError),
    /// The history file cannot be read, or is none.
    #[error("cannot read the sandbox's history file `{}`", path.display())]
    History {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The address cannot be listened on.
    #[error("the sandbox cannot listen on `{address}`")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
}

/// The sandbox before it runs.
#[derive(Clone, Copy, Debug)]
pub struct Sandbox;

impl Sandbox {
    /// Starts a sandbox on the current runtime; it answers once this returns.
    ///
    /// # Errors
    /// When it cannot listen, make its certificate, or read or write its files.
    #[expect(
        clippy::unused_async,
        reason = "it needs a runtime, and says so by being awaited"
    )]
    pub async fn start(config: SandboxConfig) -> Result<Running, Error> {
        let SandboxConfig {
            listen,
            host,
            certificate,
            ca_file,
            token,
            faults,
            history_file,
        } = config;
        let identity = Identity::new(certificate, host.as_deref())?;
        let history = history_file.map(open_history).transpose()?;
        let (listener, address) = bind(listen)?;
        if let Some(path) = ca_file {
            write_pem(&path, &identity.ca_pem).map_err(|source| Error::CaFile { path, source })?;
        }
        let shared = Shared(Arc::new(State {
            ledger: Ledger::new(history),
            token,
            told: Mutex::new(Told {
                faults: Arc::new(faults),
                scripts: Scripts::default(),
            }),
            held: watch::Sender::new(Held::default()),
        }));
        Ok(serve(listener, address, identity, shared))
    }
}

fn open_history(path: PathBuf) -> Result<(HistoryFile, Vec<Published>), Error> {
    HistoryFile::open(&path).map_err(|source| Error::History { path, source })
}

fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Error> {
    let listen = || {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    listen().map_err(|source| Error::Listen { address, source })
}

fn serve(listener: TcpListener, address: SocketAddr, identity: Identity, shared: Shared) -> Running {
    let Identity { ca_pem, tls } = identity;
    let handle = Handle::new();
    let acceptor = RustlsAcceptor::new(RustlsConfig::from_config(tls)).acceptor(NoDelayAcceptor::new());
    let service = endpoint::router(shared.clone()).into_make_service();
    let server_handle = handle.clone();
    let task = tokio::spawn(async move {
        axum_server::from_tcp(listener)?
            .acceptor(acceptor)
            .handle(server_handle)
            .serve(service)
            .await
    });
    Running {
        address,
        ca_pem,
        shared,
        handle,
        task: Some(task),
    }
}

/// A sandbox that runs until it is stopped or dropped.
pub struct Running {
    address: SocketAddr,
    ca_pem: String,
    shared: Shared,
    handle: Handle<SocketAddr>,
    task: Option<JoinHandle<std::io::Result<()>>>,
}

impl Running {
    /// Returns the base URL, without a slash at its end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Returns the address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the certificate of its authority as PEM.
    #[must_use]
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Returns every document that was stored, in order.
    #[must_use]
    pub fn published(&self) -> Vec<Published> {
        self.shared.ledger.published()
    }

    /// Returns every request to the endpoint, in order of arrival, also those that were refused or dropped.
    #[must_use]
    pub fn requests(&self) -> Vec<Received> {
        self.shared.ledger.received()
    }

    /// Returns the most requests that were ever open at the same time.
    #[must_use]
    pub fn concurrency(&self) -> Concurrency {
        self.shared.ledger.concurrency()
    }

    /// Waits until `count` requests have arrived since the start.
    pub async fn arrived(&self, count: usize) {
        self.shared.ledger.arrived(count).await;
    }

    /// Changes how it misbehaves from the next request on.
    pub fn set_faults(&self, faults: Faults) {
        self.shared.told().faults = Arc::new(faults);
    }

    /// Dictates what happens to the next request: for `toggle`, or for whichever comes. Scripts queue up; a
    /// toggle's own come first.
    pub fn script(&self, toggle: Option<&ToggleId>, script: Script) {
        self.shared.told().scripts.push(toggle, script);
    }

    /// Lets requests arrive and wait, until [`Running::release`].
    pub fn hold(&self) {
        self.shared.held.send_modify(|held| held.everyone = true);
    }

    /// Lets requests for one toggle arrive and wait, until [`Running::release`].
    pub fn hold_toggle(&self, toggle: &ToggleId) {
        self.shared.held.send_modify(|held| {
            held.toggles.insert(toggle.clone());
        });
    }

    /// Lets all requests go on that were held.
    pub fn release(&self) {
        self.shared.held.send_replace(Held::default());
    }

    /// Waits until the server ends, which it does only when it is stopped or cannot go on.
    ///
    /// # Errors
    /// When it cannot go on.
    pub async fn wait(mut self) -> std::io::Result<()> {
        match self.task.take() {
            Some(task) => task
                .await
                .unwrap_or_else(|error| Err(std::io::Error::other(error))),
            None => Ok(()),
        }
    }

    /// Stops it: nothing new is accepted, and open requests have a second to end.
    pub async fn stop(mut self) {
        self.handle.graceful_shutdown(Some(Duration::from_secs(1)));
        if let Some(task) = self.task.take() {
            // It ends because it was told to; how does not matter any more.
            let _ = task.await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.handle.shutdown();
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// What all requests share.
#[derive(Clone)]
pub(super) struct Shared(Arc<State>);

pub(super) struct State {
    pub(super) ledger: Ledger,
    token: Secret,
    /// Contended by the requests, for nanoseconds, and by whoever steers.
    told: Mutex<Told>,
    held: watch::Sender<Held>,
}

struct Told {
    faults: Arc<Faults>,
    scripts: Scripts,
}

/// Whose requests wait.
#[derive(Default)]
struct Held {
    everyone: bool,
    toggles: BTreeSet<ToggleId>,
}

impl std::ops::Deref for Shared {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl State {
    pub(super) fn token(&self) -> &str {
        self.token.expose()
    }

    pub(super) fn faults(&self) -> Arc<Faults> {
        Arc::clone(&self.told().faults)
    }

    pub(super) fn script(&self, toggle: &ToggleId) -> Option<Script> {
        self.told().scripts.next(toggle)
    }

    /// Waits while requests for `toggle` are held.
    pub(super) async fn gate(&self, toggle: &ToggleId) {
        let waits = |held: &Held| held.everyone || held.toggles.contains(toggle);
        if waits(&self.held.borrow()) {
            // An error would say that the sender is gone, and `self` is holding it.
            let _ = self.held.subscribe().wait_for(|held| !waits(held)).await;
        }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
