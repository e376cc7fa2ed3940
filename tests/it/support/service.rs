//! A toggle service that shares no code with the program. It keeps every request and responds as configured.
//!
//! One thread per connection, HTTP/1.1 by hand over TLS, so that it can misbehave in every way that matters.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use rustls::{ServerConnection, StreamOwned};

use super::answer::{Act, Answer, Stores, Then};
use super::certificate::Authority;
use super::request::{Request, environment, read_request};

/// The service; stops when dropped.
pub(crate) struct Service {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

struct Shared {
    inner: Mutex<Inner>,
    changed: Condvar,
    tls: Arc<rustls::ServerConfig>,
}

type Fallback = Box<dyn FnMut(&Request) -> Answer + Send>;

struct Inner {
    requests: Vec<Request>,
    queue: VecDeque<Answer>,
    fallback: Fallback,
    open: BTreeMap<usize, String>,
    connections: usize,
    live: usize,
    stopped: bool,
}

impl Service {
    /// Starts a service that takes everything.
    pub(crate) fn start() -> Self {
        Self::start_with(Authority::trusted().server())
    }

    /// Starts a service with this side of TLS.
    pub(crate) fn start_with(tls: Arc<rustls::ServerConfig>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be listened on");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared {
            inner: Mutex::new(Inner {
                requests: Vec::new(),
                queue: VecDeque::new(),
                fallback: Box::new(|_| Answer::applied()),
                open: BTreeMap::new(),
                connections: 0,
                live: 0,
                stopped: false,
            }),
            changed: Condvar::new(),
            tls,
        });
        let accepting = Arc::clone(&shared);
        let listener = std::thread::spawn(move || accept(&listener, &accepting));
        Self { address, shared, listener: Some(listener) }
    }

    /// Answers the next requests with these, in the order in which they come; then as before.
    pub(crate) fn answers(&self, answers: impl IntoIterator<Item = Answer>) -> &Self {
        self.inner().queue.extend(answers);
        self
    }

    /// Answers every request that no queue is there for with what `fallback` says.
    pub(crate) fn always(&self, fallback: impl FnMut(&Request) -> Answer + Send + 'static) -> &Self {
        self.inner().fallback = Box::new(fallback);
        self
    }

    /// Returns its base URL.
    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.address.port())
    }

    /// Returns its port.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns every request so far and forgets them.
    pub(crate) fn take(&self) -> Vec<Request> {
        std::mem::take(&mut self.inner().requests)
    }

    /// Returns every request so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.inner().requests.clone()
    }

    /// Returns how many requests have come.
    pub(crate) fn count(&self) -> usize {
        self.inner().requests.len()
    }

    /// Returns how many connections have been made.
    pub(crate) fn connections(&self) -> usize {
        self.inner().connections
    }

    /// Waits until this many requests have come.
    pub(crate) fn wait_for(&self, count: usize) {
        let (inner, out) = self
            .shared
            .changed
            .wait_timeout_while(self.inner(), super::wait::DEADLINE, |inner| inner.requests.len() < count)
            .expect("no thread of the service panics");
        assert!(!out.timed_out(), "waited in vain for {count} requests; {} came", inner.requests.len());
    }

    /// Waits until everything has been read that a process had sent before it was killed.
    pub(crate) fn sender_died(&self) {
        super::eventually("the end of all connections", || (self.inner().live == 0).then_some(()));
        self.inner().open.clear();
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.shared.inner.lock().expect("no thread of the service panics")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Ok(mut inner) = self.shared.inner.lock() {
            inner.stopped = true;
        }
        drop(TcpStream::connect(self.address));
        if let Some(listener) = self.listener.take() {
            drop(listener.join());
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.inner.lock().expect("no holder of the lock panics").stopped {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        let mut inner = shared.inner.lock().expect("no holder of the lock panics");
        inner.connections += 1;
        inner.live += 1;
        drop(inner);
        std::thread::spawn(move || {
            // A connection that breaks off is the client's business.
            drop(serve(stream, &shared));
            shared.inner.lock().expect("no holder of the lock panics").live -= 1;
        });
    }
}

type Tls = StreamOwned<ServerConnection, TcpStream>;

fn serve(stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    // So that a thread never outlives its test by long.
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let connection = ServerConnection::new(Arc::clone(&shared.tls)).map_err(std::io::Error::other)?;
    let mut tls = StreamOwned::new(connection, stream);
    tls.flush()?;
    let mut pending = Vec::new();
    while let Some(request) = read_request(&mut tls, &mut pending)? {
        let (number, answer) = shared.take_in(request);
        std::thread::sleep(answer.latency);
        if let Some(gate) = &answer.gate {
            super::eventually("a gate to be opened", || gate.is_open().then_some(()));
        }
        // Over before the other side can know it, so that an overlap is never the service's own doing.
        if !matches!(answer.act, Act::Raw(_, Then::Hang)) {
            shared.ended(number);
        }
        match answer.act {
            Act::Raw(bytes, then) => {
                tls.write_all(&bytes)?;
                tls.flush()?;
                match then {
                    Then::Close => close(&mut tls)?,
                    Then::Cut => {}
                    Then::Drip => drip(&mut tls),
                    Then::Hang => {
                        drop(tls.read(&mut [0; 1]));
                        shared.ended(number);
                    }
                }
                return Ok(());
            }
            Act::Reply { status, headers, body } => reply(&mut tls, status, &headers, &body)?,
        }
    }
    Ok(())
}

fn drip(tls: &mut Tls) {
    while tls.write_all(b"0").and_then(|()| tls.flush()).is_ok() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn close(tls: &mut Tls) -> std::io::Result<()> {
    tls.conn.send_close_notify();
    tls.flush()?;
    tls.sock.shutdown(std::net::Shutdown::Both)
}

fn reply(tls: &mut Tls, status: u16, headers: &[(String, String)], body: &[u8]) -> std::io::Result<()> {
    let mut out = format!("HTTP/1.1 {status} Whatever\r\n");
    for (name, value) in headers {
        out.push_str(&format!("{name}: {value}\r\n"));
    }
    if status != 204 {
        out.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    out.push_str("\r\n");
    let mut out = out.into_bytes();
    out.extend_from_slice(body);
    tls.write_all(&out)?;
    tls.flush()
}

impl Shared {
    fn ended(&self, number: usize) {
        let mut inner = self.inner.lock().expect("no holder of the lock panics");
        inner.open.remove(&number);
    }

    /// Keeps a request and decides about it.
    fn take_in(&self, mut request: Request) -> (usize, Answer) {
        let mut inner = self.inner.lock().expect("no holder of the lock panics");
        let inner = &mut *inner;
        let toggle = request.toggle();
        let environment = environment(&toggle).to_owned();
        request.open = inner.open.len() + 1;
        request.open_for_toggle = inner.open.values().filter(|open| **open == toggle).count() + 1;
        request.open_for_environment =
            inner.open.values().filter(|open| self::environment(open) == environment).count() + 1;
        let answer = match inner.queue.pop_front() {
            Some(answer) => answer,
            None => (inner.fallback)(&request),
        };
        request.stored = answer.stores == Stores::Yes;
        request.status = match &answer.act {
            Act::Reply { status, .. } => Some(*status),
            Act::Raw(..) => None,
        };
        request.confirmed = request.stored && matches!(answer.act, Act::Reply { .. });
        static NUMBERS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = NUMBERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        inner.open.insert(number, toggle);
        inner.requests.push(request);
        self.changed.notify_all();
        (number, answer)
    }
}
