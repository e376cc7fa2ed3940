//! Starts and stops the sandbox.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum_server::Handle;
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use tokio::task::JoinHandle;

use super::certificate::{CertificateError, Identity, write_pem};
use super::document::StoredDocument;
use super::history_file::HistoryFile;
use super::request_log::RequestLog;
use super::shared::SandboxState;
use super::{Faults, ReceivedRequest, endpoint};
use crate::transport::Secret;

/// The settings of a sandbox.
#[derive(Clone, Debug)]
pub struct SandboxConfig {
    /// The address to listen on; port 0 is any free port.
    pub listen: SocketAddr,
    /// The file for the certificate of the sandbox's authority, for `--ca-file`.
    pub ca_file: Option<PathBuf>,
    /// The token that it accepts.
    pub token: Secret,
    /// Its faults.
    pub faults: Faults,
    /// The file for its history; without one, the history is in memory.
    pub history_file: Option<PathBuf>,
}

impl SandboxConfig {
    /// Returns a sandbox without faults on any free port of `127.0.0.1`, with its history in memory.
    #[must_use]
    pub fn new(token: Secret) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
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
    #[error("could not write the sandbox's CA file `{}`", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The certificate cannot be made.
    #[error("could not prepare TLS for the sandbox")]
    Certificate(#[from] CertificateError),
    /// The history file is unreadable or malformed.
    #[error("could not read the sandbox's history file `{}`", path.display())]
    History {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The address is not available.
    #[error("the sandbox could not listen on `{address}`")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
}

/// A sandbox that runs until it is stopped or dropped.
pub struct Sandbox {
    address: SocketAddr,
    state: Arc<SandboxState>,
    handle: Handle<SocketAddr>,
    task: Option<JoinHandle<std::io::Result<()>>>,
}

impl Sandbox {
    /// Starts a sandbox on the current runtime. It answers once this returns.
    ///
    /// # Errors
    /// When it cannot listen, make its certificate, or read or write its files.
    pub fn start(config: SandboxConfig) -> Result<Self, Error> {
        let SandboxConfig {
            listen,
            ca_file,
            token,
            faults,
            history_file,
        } = config;
        let Identity { ca_pem, tls } = Identity::new()?;
        let history = history_file.map(open_history).transpose()?;
        // Bound here and not in the task, so that the caller gets the error and the port.
        let (listener, address) = bind(listen)?;
        // A sandbox that cannot listen must not replace the certificate of a running one.
        if let Some(path) = ca_file {
            write_pem(&path, &ca_pem).map_err(|source| Error::CaFile { path, source })?;
        }
        let state = Arc::new(SandboxState {
            request_log: RequestLog::new(history),
            token,
            faults,
            loses_next: AtomicBool::new(false),
        });
        let handle = Handle::new();
        // Without `TCP_NODELAY`, requests over HTTP/2 stall for 40 ms (measurements, section 3).
        let acceptor = RustlsAcceptor::new(RustlsConfig::from_config(tls)).acceptor(NoDelayAcceptor::new());
        let service = endpoint::router(Arc::clone(&state)).into_make_service();
        let server_handle = handle.clone();
        let task = tokio::spawn(async move {
            let server = axum_server::from_tcp(listener)?.acceptor(acceptor);
            server.handle(server_handle).serve(service).await
        });
        Ok(Self {
            address,
            state,
            handle,
            task: Some(task),
        })
    }

    /// Returns the base URL, without a slash at its end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Returns all requests to the endpoint, in order of arrival, including those that were refused or dropped.
    #[must_use]
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.state.request_log.received()
    }

    /// Returns the most requests that were ever open for one toggle at the same time.
    #[must_use]
    pub fn most_open_for_one_toggle(&self) -> usize {
        self.state.request_log.most_open()
    }

    /// Stores the document of the next request, and closes its connection without a response.
    pub fn lose_next_response(&self) {
        self.state.loses_next.store(true, Ordering::Relaxed);
    }

    /// Stops the sandbox: it accepts nothing new, and open requests have a second to end.
    pub async fn stop(mut self) {
        self.handle.graceful_shutdown(Some(Duration::from_secs(1)));
        if let Some(task) = self.task.take() {
            // The sandbox is stopping, so its result does not matter.
            let _ = task.await;
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.handle.shutdown();
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

fn open_history(path: PathBuf) -> Result<(HistoryFile, Vec<StoredDocument>), Error> {
    HistoryFile::open(&path).map_err(|source| Error::History { path, source })
}

fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Error> {
    let listen = || {
        let listener = TcpListener::bind(address)?;
        // The asynchronous runtime requires a listener that does not block.
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    listen().map_err(|source| Error::Listen { address, source })
}
