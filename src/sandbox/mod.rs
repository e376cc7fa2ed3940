#![doc = include_str!("README.md")]

mod documented;
mod featureprobe;
mod identity;
mod instructions;
mod store;
#[cfg(test)]
mod tests;

pub use featureprobe::{ApiCall, RequestPattern, ScriptAct, ScriptRequest, ScriptStep, ScriptToggle};
pub use identity::CertificateError;
pub use store::{Faults, ReceivedRequest};

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use documented::{nothing, router};
use featureprobe::Api;
use hyper::server::conn::http1::Builder;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use identity::{Identity, write_pem};
use instructions::SandboxConnection;
use store::{HistoryFile, RequestLog, SandboxState, StoredDocument};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::model::ServiceKind;
use crate::transport::Secret;

#[derive(Clone, Debug)]
pub struct SandboxConfig {
    /// The address to listen on; port 0 is any free port.
    pub listen: SocketAddr,
    /// The file for the certificate of the sandbox's authority, for `--ca-file`.
    pub ca_file: Option<PathBuf>,
    pub token: Secret,
    pub faults: Faults,
    /// The file for its history; without one, the history is in memory. Only with the documented endpoint.
    pub history_file: Option<PathBuf>,
    pub kind: ServiceKind,
    /// The projects that a service of kind `featureprobe` starts with, as JSON; without them, a sample.
    pub data: Option<String>,
}

impl SandboxConfig {
    /// Returns a sandbox with the documented endpoint, without faults, on any free port of `127.0.0.1`, with
    /// its history in memory.
    pub fn new(token: Secret) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            ca_file: None,
            token,
            faults: Faults::default(),
            history_file: None,
            kind: ServiceKind::default(),
            data: None,
        }
    }
}

/// A sandbox that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not write the sandbox's CA file `{}`", path.display())]
    CaFile { path: PathBuf, source: std::io::Error },
    #[error("could not prepare TLS for the sandbox")]
    Certificate(#[from] CertificateError),
    #[error("the sandbox's data is not valid: {0}")]
    Data(String),
    #[error("could not read the sandbox's history file `{}`", path.display())]
    History { path: PathBuf, source: std::io::Error },
    #[error("the sandbox could not listen on `{address}`")]
    Listen { address: SocketAddr, source: std::io::Error },
}

/// A sandbox that runs until it is stopped or dropped.
pub struct Sandbox {
    connection: SandboxConnection,
    state: Arc<SandboxState>,
    api: Option<Arc<Api>>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Sandbox {
    /// Starts a sandbox on the current runtime. It answers once this returns.
    pub fn start(config: SandboxConfig) -> Result<Self, Error> {
        let SandboxConfig { listen, ca_file, token, faults, history_file, kind, data } = config;
        let Identity { ca_pem, tls } = Identity::new()?;
        let history = history_file.map(open_history).transpose()?;
        let state = Arc::new(SandboxState {
            request_log: RequestLog::new(history),
            token: token.clone(),
            faults,
            loses_next: AtomicBool::new(false),
        });
        let api = match kind {
            ServiceKind::Documented => None,
            ServiceKind::FeatureProbe => {
                Some(Api::new(Arc::clone(&state), data.as_deref()).map_err(Error::Data)?)
            }
        };
        // Bound here and not in the task, so that the caller gets the error and the port.
        let (listener, address) = bind(listen)?;
        // A sandbox that cannot listen must not replace the certificate of a running one.
        if let Some(path) = ca_file.clone() {
            write_pem(&path, &ca_pem).map_err(|source| Error::CaFile { path, source })?;
        }
        let connection = SandboxConnection { url: format!("https://{address}"), ca_file, token, kind };
        let router = match &api {
            Some(api) => featureprobe::router(Arc::clone(api)),
            None => router(Arc::clone(&state)),
        };
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(serve(listener, tls.into(), router, stopped));
        Ok(Self { connection, state, api, stop, task })
    }

    /// Returns the base URL, without a slash at its end.
    pub fn url(&self) -> String {
        self.connection.url.clone()
    }

    /// Returns what a person enters in a shell to use the sandbox.
    pub fn instructions(&self) -> String {
        self.connection.instructions()
    }

    /// Returns all publishes, in order of arrival, including those that were refused or dropped.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.state.request_log.received()
    }

    /// Returns the most requests that were ever open for one toggle at the same time.
    pub fn most_open_for_one_toggle(&self) -> usize {
        self.state.request_log.most_open()
    }

    /// Returns all requests to a service of kind `featureprobe`, in order of arrival.
    pub fn calls(&self) -> Vec<ApiCall> {
        self.api.as_ref().map(|api| api.calls()).unwrap_or_default()
    }

    /// Arranges what happens at a request to a service of kind `featureprobe`.
    pub fn script(&self, step: ScriptStep) {
        if let Some(api) = &self.api {
            api.add_step(step);
        }
    }

    /// Carries out a request of the account `Admin` at a service of kind `featureprobe`, now.
    pub fn request_as_admin(&self, request: &ScriptRequest) {
        if let Some(api) = &self.api {
            api.as_admin(request);
        }
    }

    /// Carries out the requests that a script held, and returns how many there were.
    pub fn release_held(&self) -> usize {
        self.api.as_ref().map_or(0, |api| api.release_held())
    }

    /// Stores the document of the next publish, and closes its connection without a response.
    pub fn lose_next_response(&self) {
        self.state.loses_next.store(true, Ordering::Relaxed);
    }

    /// Stops the sandbox: it accepts nothing new, and open requests have a second to end.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        // The sandbox is stopping, so a panic of its task does not matter.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn open_history(path: PathBuf) -> Result<(HistoryFile, Vec<StoredDocument>), Error> {
    HistoryFile::open(&path).map_err(|source| Error::History { path, source })
}

/// Serves requests until `stop` is raised; then open ones have a second to end.
async fn serve(listener: TcpListener, tls: TlsAcceptor, router: Router, mut stop: watch::Receiver<bool>) {
    let open = GracefulShutdown::new();
    // Ends every connection when this task is aborted.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_connection(stream, tls.clone(), router.clone(), open.watcher()));
                }
                // Such as too many open files: the others must end first.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next() => {}
            () = raised(&mut stop) => break,
        }
    }
    let _ = tokio::time::timeout(Duration::from_secs(1), open.shutdown()).await;
}

async fn raised(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn serve_connection(stream: TcpStream, tls: TlsAcceptor, router: Router, watcher: Watcher) {
    // Without this, a response in two parts can stall for 40 ms.
    let _ = stream.set_nodelay(true);
    let Ok(stream) = tls.accept(stream).await else {
        return;
    };
    let connection = Builder::new().serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // An error is the client's: it hung up.
    let _ = watcher.watch(connection).await;
}

fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Error> {
    let listen = || {
        let listener = std::net::TcpListener::bind(address)?;
        // The asynchronous runtime requires a listener that does not block.
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((TcpListener::from_std(listener)?, address))
    };
    listen().map_err(|source| Error::Listen { address, source })
}
