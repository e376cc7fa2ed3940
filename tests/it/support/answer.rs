//! What the test service does with one request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// One answer of the test service, well behaved or not.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(super) act: Act,
    /// How long it thinks first.
    pub(super) latency: Duration,
    /// What has to be opened first.
    pub(super) gate: Option<Gate>,
    /// Whether the request has taken effect, whatever is answered.
    pub(super) stores: Stores,
}

/// Holds an answer back until a test opens it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate(Arc<AtomicBool>);

impl Gate {
    /// Lets all answers through that wait, and those to come.
    pub(crate) fn open(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(super) fn is_open(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[derive(Clone, Debug)]
pub(super) enum Act {
    /// Sends exactly these bytes.
    Raw(Vec<u8>, Then),
    /// Sends an HTTP response.
    Reply { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
}

/// What becomes of the connection after raw bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Then {
    Close,
    /// Ends without the closing message of TLS.
    Cut,
    /// Sends a byte every 20 ms until the client closes it.
    Drip,
    /// Stays open until the client closes it.
    Hang,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stores {
    No,
    Yes,
}

impl Answer {
    /// Takes the request and says so: 200 and an empty JSON object.
    pub(crate) fn applied() -> Self {
        Self::json(200, "{}")
    }

    /// Answers with that status and nothing else.
    pub(crate) fn status(status: u16) -> Self {
        Self::new(Act::Reply { status, headers: Vec::new(), body: Vec::new() })
    }

    /// Answers with that status and JSON.
    pub(crate) fn json(status: u16, body: &str) -> Self {
        Self::status(status).header("Content-Type", "application/json").body(body)
    }

    /// Answers with that status and a page, as a proxy or a login wall does.
    pub(crate) fn html(status: u16) -> Self {
        Self::status(status)
            .header("Content-Type", "text/html")
            .body("<html>\n<title>Welcome</title>\n</html>\n")
    }

    /// Returns the length of its body.
    pub(crate) fn length(&self) -> usize {
        match &self.act {
            Act::Reply { body, .. } => body.len(),
            _ => 0,
        }
    }

    /// Says nothing and closes the connection.
    pub(crate) fn closes() -> Self {
        Self::raw(b"")
    }

    /// Reads the request, and closes the connection without a response.
    pub(crate) fn stores_and_closes() -> Self {
        Self { stores: Stores::Yes, ..Self::closes() }
    }

    /// Says nothing, and leaves the connection open.
    pub(crate) fn hangs() -> Self {
        Self::raw(b"").and(Then::Hang)
    }

    /// Takes the request, and never answers.
    pub(crate) fn stores_and_hangs() -> Self {
        Self { stores: Stores::Yes, ..Self::hangs() }
    }

    /// Says exactly these bytes and closes.
    pub(crate) fn raw(bytes: &[u8]) -> Self {
        Self::new(Act::Raw(bytes.to_owned(), Then::Close))
    }

    /// Replaces the end of the connection after raw bytes.
    pub(crate) fn and(mut self, end: Then) -> Self {
        if let Act::Raw(_, then) = &mut self.act {
            *then = end;
        }
        self
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        if let Act::Reply { headers, .. } = &mut self.act {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Sets the body.
    pub(crate) fn body(mut self, text: &str) -> Self {
        if let Act::Reply { body, .. } = &mut self.act {
            text.as_bytes().clone_into(body);
        }
        self
    }

    /// Sets the body to bytes.
    pub(crate) fn bytes(mut self, bytes: Vec<u8>) -> Self {
        if let Act::Reply { body, .. } = &mut self.act {
            *body = bytes;
        }
        self
    }

    /// Thinks that long first.
    pub(crate) fn slowly(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Waits for `gate` first.
    pub(crate) fn behind(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    fn new(act: Act) -> Self {
        let stores = match &act {
            Act::Reply { status, .. } if (200..300).contains(status) => Stores::Yes,
            _ => Stores::No,
        };
        Self { act, latency: Duration::ZERO, gate: None, stores }
    }
}
