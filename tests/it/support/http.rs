//! A small HTTP client for the daemon on loopback.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// The HTTP interface of a daemon at one port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoint {
    port: u16,
}

/// Returns a port of loopback on which no process listens now.
///
/// It is below the ports that systems hand out by themselves (from 32768 on Linux): one of those could become
/// the near end of another test's connection before the program under test listens on it. No two calls of one
/// process return the same, and two processes begin far apart.
pub(crate) fn free_port() -> u16 {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let next = || {
        COUNTER.fetch_add(1, Ordering::Relaxed).wrapping_add(std::process::id().wrapping_mul(257)) % 16_384
    };
    let port = || u16::try_from(16_384 + next()).expect("it is below 32768");
    std::iter::repeat_with(port)
        .take(16_384)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("loopback can be listened on")
}

/// One answer.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The status.
    pub(crate) status: u16,
    /// The body.
    pub(crate) body: String,
}

impl Reply {
    /// Returns the body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Endpoint {
    /// Finds a port that is free now.
    pub(crate) fn free() -> Self {
        Self { port: free_port() }
    }

    /// Returns the address for `--listen`.
    pub(crate) fn address(self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Sends a GET; `None` if no process listens yet.
    pub(crate) fn get(self, path: &str) -> Option<Reply> {
        self.ask("GET", path, &[], b"")
    }

    /// Asks with these headers.
    pub(crate) fn get_with(self, path: &str, headers: &[(&str, &str)]) -> Option<Reply> {
        self.ask("GET", path, headers, b"")
    }

    /// Sends a POST; panics if no process listens.
    pub(crate) fn post(self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        self.ask("POST", path, headers, body).expect("the daemon listens")
    }

    fn ask(self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Option<Reply> {
        let mut stream = TcpStream::connect(self.address()).ok()?;
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        // A server may refuse a body before it has read it all.
        drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)));
        let mut bytes = Vec::new();
        drop(stream.read_to_end(&mut bytes));
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = if is_chunked { joined(body)? } else { body.to_owned() };
        Some(Reply { status, body })
    }
}

/// Joins the chunks of a body; `None` if it is incomplete.
fn joined(mut chunks: &str) -> Option<String> {
    let mut body = String::new();
    loop {
        let (size, rest) = chunks.split_once("\r\n")?;
        let size = usize::from_str_radix(size, 16).ok()?;
        body.push_str(rest.get(..size)?);
        if size == 0 {
            return Some(body);
        }
        chunks = rest.get(size..)?.strip_prefix("\r\n")?;
    }
}
