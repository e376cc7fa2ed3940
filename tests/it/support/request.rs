//! A request as the service receives it.

use std::io::{ErrorKind, Read};
use std::time::Instant;

use serde_json::Value;

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The method, as written.
    pub(crate) method: String,
    /// The path, as written.
    pub(crate) path: String,
    /// The headers, names in lower case, sorted.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) bytes: Vec<u8>,
    /// How many requests for the same toggle were open when it came, itself included.
    pub(crate) open_for_toggle: usize,
    /// How many requests for the same environment were open when it came, itself included.
    pub(crate) open_for_environment: usize,
    /// How many requests were open when it came, itself included.
    pub(crate) open: usize,
    /// When it came.
    pub(crate) at: Instant,
    /// The status it was answered with, if it was answered in HTTP.
    pub(crate) status: Option<u16>,
    /// Whether the service accepted it.
    pub(crate) stored: bool,
    /// Whether the response shows without doubt that the service accepted it.
    pub(crate) confirmed: bool,
}

impl Request {
    /// Returns the body as JSON.
    pub(crate) fn body(&self) -> Value {
        serde_json::from_slice(&self.bytes).expect("every body is JSON")
    }

    /// Returns the comment.
    pub(crate) fn comment(&self) -> String {
        self.body()["comment"].as_str().expect("there is a comment").to_owned()
    }

    /// Returns `project/environment/toggle`, percent-encoding undone where tests need it.
    pub(crate) fn toggle(&self) -> String {
        toggle(&self.path)
    }

    /// Returns a header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Reads one request; `None` after the client closed the connection. The beginning of the next request stays
/// in `pending`.
pub(super) fn read_request(tls: &mut impl Read, pending: &mut Vec<u8>) -> std::io::Result<Option<Request>> {
    let head = loop {
        if let Some(end) = find(pending, b"\r\n\r\n") {
            break pending.drain(..end + 4).collect::<Vec<_>>();
        }
        if !more(tls, pending)? {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let method = first.next().unwrap_or_default().to_owned();
    let path = first.next().unwrap_or_default().to_owned();
    let mut headers: Vec<_> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    headers.sort();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.parse::<usize>().ok());
    let bytes = match length {
        Some(length) => {
            while pending.len() < length {
                if !more(tls, pending)? {
                    return Ok(None);
                }
            }
            pending.drain(..length).collect()
        }
        None if headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked") => {
            let Some(bytes) = read_chunks(tls, pending)? else {
                return Ok(None);
            };
            bytes
        }
        None => Vec::new(),
    };
    Ok(Some(Request {
        method,
        path,
        headers,
        bytes,
        open_for_toggle: 0,
        open_for_environment: 0,
        open: 0,
        at: Instant::now(),
        status: None,
        stored: false,
        confirmed: false,
    }))
}

fn read_chunks(tls: &mut impl Read, pending: &mut Vec<u8>) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    loop {
        let Some(line) = find(pending, b"\r\n") else {
            if !more(tls, pending)? {
                return Ok(None);
            }
            continue;
        };
        let text = String::from_utf8_lossy(&pending[..line]).into_owned();
        let size = usize::from_str_radix(text.trim(), 16).map_err(std::io::Error::other)?;
        let end = line + 2 + size + 2;
        while pending.len() < end {
            if !more(tls, pending)? {
                return Ok(None);
            }
        }
        bytes.extend_from_slice(&pending[line + 2..line + 2 + size]);
        drop(pending.drain(..end));
        if size == 0 {
            return Ok(Some(bytes));
        }
    }
}

fn more(tls: &mut impl Read, pending: &mut Vec<u8>) -> std::io::Result<bool> {
    let mut chunk = [0; 16 * 1024];
    match tls.read(&mut chunk) {
        Ok(0) => Ok(false),
        Ok(count) => {
            pending.extend_from_slice(&chunk[..count]);
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

/// Returns `project/environment/toggle` for `…/api/projects/P/environments/E/toggles/T/targeting`.
pub(super) fn toggle(path: &str) -> String {
    let parts: Vec<_> = path.split('/').collect();
    let after = |word: &str| {
        parts.iter().rposition(|part| *part == word).and_then(|at| parts.get(at + 1)).copied().unwrap_or("?")
    };
    format!("{}/{}/{}", after("projects"), after("environments"), after("toggles"))
}

pub(super) fn environment(toggle: &str) -> &str {
    toggle.rsplit_once('/').map_or(toggle, |(environment, _)| environment)
}
