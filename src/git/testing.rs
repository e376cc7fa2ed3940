//! Git servers over HTTPS on loopback, for tests: a true one (`git http-backend`) and one that answers anything.
//!
//! Names nothing of this crate, so that black-box tests can include the file with `#[path]`.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use tokio::io::AsyncWriteExt;

/// A certificate for loopback, and the authority that signed it as a file.
pub(crate) struct Tls {
    folder: tempfile::TempDir,
    certificate: String,
    key: String,
}

impl Tls {
    pub(crate) fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let authority_key = rcgen::KeyPair::generate().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let pem = authority.self_signed(&authority_key).unwrap().pem();
        std::fs::write(folder.path().join("ca.pem"), pem).unwrap();
        let issuer = rcgen::Issuer::new(authority, authority_key);
        let key = rcgen::KeyPair::generate().unwrap();
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let own = rcgen::CertificateParams::new(names)
            .unwrap()
            .signed_by(&key, &issuer)
            .unwrap();
        Self {
            folder,
            certificate: own.pem(),
            key: key.serialize_pem(),
        }
    }

    pub(crate) fn ca_file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }
}

/// `git http-backend` for the repositories in a folder. Stops when it is dropped.
pub(crate) struct GitServer {
    pub(crate) tls: Tls,
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    sent: Arc<AtomicUsize>,
    handle: axum_server::Handle<SocketAddr>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone)]
struct Served {
    folder: PathBuf,
    /// The value of `Authorization` that is asked for.
    authorization: Option<String>,
    requests: Arc<Mutex<Vec<String>>>,
    /// The bytes of all bodies that were sent.
    sent: Arc<AtomicUsize>,
}

impl GitServer {
    /// Serves what is in `folder`; with credentials, `authorization` is the header that they make.
    pub(crate) fn start(folder: &Path, authorization: Option<&str>) -> Self {
        let tls = Tls::new();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let sent = Arc::new(AtomicUsize::new(0));
        let served = Served {
            sent: Arc::clone(&sent),
            folder: folder.to_owned(),
            authorization: authorization.map(str::to_owned),
            requests: Arc::clone(&requests),
        };
        let handle = axum_server::Handle::new();
        let (own, certificate, key) = (handle.clone(), tls.certificate.clone(), tls.key.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let config = axum_server::tls_rustls::RustlsConfig::from_pem(certificate.into(), key.into());
                let router = axum::Router::new()
                    .fallback(backend)
                    .layer(DefaultBodyLimit::disable());
                let server = axum_server::from_tcp_rustls(listener, config.await.unwrap()).unwrap();
                let service = router.with_state(served).into_make_service();
                server.handle(own).serve(service).await.unwrap();
            });
        });
        Self {
            tls,
            address,
            requests,
            sent,
            handle,
            thread: Some(thread),
        }
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn url(&self, repository: &str) -> String {
        format!("https://{}/{repository}", self.address)
    }

    /// Returns the number of bytes in all bodies that were sent since the last call.
    pub(crate) fn take_sent(&self) -> usize {
        self.sent.swap(0, Ordering::Relaxed)
    }

    /// Returns the requests since the last call, as `METHOD /path?query`.
    pub(crate) fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        self.handle.shutdown();
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            assert!(!matches!(ended, Some(Err(_))), "the Git server panicked");
        }
    }
}

async fn backend(
    State(served): State<Served>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    served
        .requests
        .lock()
        .unwrap()
        .push(format!("{method} {uri}", uri = uri.path_and_query().unwrap()));
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if served.authorization.is_some() && served.authorization.as_deref() != header("authorization") {
        return Response::builder()
            .status(StatusCode::UNAUTHORIZED)
            .body(Body::empty())
            .unwrap();
    }
    if let Some(new) = uri.path_and_query().unwrap().as_str().strip_prefix("/moved") {
        let moved = Response::builder()
            .status(StatusCode::MOVED_PERMANENTLY)
            .header("location", new);
        return moved.body(Body::empty()).unwrap();
    }
    let mut cgi = tokio::process::Command::new("git");
    cgi.arg("http-backend")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap());
    cgi.env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("HOME", &served.folder);
    cgi.env("GIT_PROJECT_ROOT", &served.folder)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REMOTE_USER", "tester");
    // Below `/v0`, it does not understand which protocol is asked for.
    let (path, protocol) = match uri.path().strip_prefix("/v0") {
        Some(path) => (path, None),
        None => (uri.path(), header("git-protocol")),
    };
    cgi.env("HTTP_GIT_PROTOCOL", protocol.unwrap_or_default());
    cgi.env("PATH_INFO", path)
        .env("QUERY_STRING", uri.query().unwrap_or_default());
    cgi.env("REQUEST_METHOD", method.as_str())
        .env("CONTENT_TYPE", header("content-type").unwrap_or_default());
    cgi.env("CONTENT_LENGTH", body.len().to_string());
    let mut child = cgi
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let write = async move {
        // Who does not read its input to the end says why in its answer.
        let _ = input.write_all(&body).await;
    };
    let (output, ()) = tokio::join!(child.wait_with_output(), write);
    answer(&output.unwrap().stdout, &served.sent)
}

/// Makes an answer of what a CGI program prints.
fn answer(output: &[u8], sent: &AtomicUsize) -> Response<Body> {
    let end = output
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .expect("CGI prints a head");
    let mut response = Response::builder();
    for line in std::str::from_utf8(&output[..end]).unwrap().lines() {
        let (name, value) = line.split_once(": ").unwrap();
        response = match name {
            "Status" => response.status(value[..3].parse::<u16>().unwrap()),
            _ => response.header(name, value),
        };
    }
    sent.fetch_add(output.len() - end - 4, Ordering::Relaxed);
    response.body(Body::from(output[end + 4..].to_vec())).unwrap()
}

/// What a [`Canned`] server does after its answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Then {
    Close,
    /// Ends the connection without TLS's own goodbye.
    Cut,
    Hang,
}

/// A TLS server that gives the same answer to everyone.
pub(crate) struct Canned {
    pub(crate) tls: Tls,
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Canned {
    /// `answer` is sent as it is, with `{host}` replaced by the server's own address.
    pub(crate) fn start(answer: &str, then: Then) -> Self {
        let tls = Tls::new();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let answer = answer.replace("{host}", &address.to_string());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let config = server_config(&tls);
        // Ends with the process: it waits for connections until then.
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming() {
                let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut stream = rustls::StreamOwned::new(connection, stream.unwrap());
                let Some(request) = head(&mut stream) else {
                    continue;
                };
                seen.lock().unwrap().push(request);
                let _ = stream.write_all(answer.as_bytes());
                let _ = stream.flush();
                match then {
                    Then::Cut => {}
                    Then::Hang => open.push(stream),
                    Then::Close => {
                        stream.conn.send_close_notify();
                        let _ = stream.flush();
                    }
                }
            }
        });
        Self {
            tls,
            address,
            requests,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}/repo", self.address)
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// Returns the heads of the requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn server_config(tls: &Tls) -> Arc<rustls::ServerConfig> {
    use rustls::pki_types::pem::PemObject;
    let certificate = rustls::pki_types::CertificateDer::from_pem_slice(tls.certificate.as_bytes()).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::from_pem_slice(tls.key.as_bytes()).unwrap();
    let config = rustls::ServerConfig::builder().with_no_client_auth();
    Arc::new(config.with_single_cert(vec![certificate], key).unwrap())
}

/// Reads the head of a request; nothing where the connection ends before.
fn head(stream: &mut impl Read) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}
