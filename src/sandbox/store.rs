//! What the documented endpoint keeps: requests, documents, and the file of its history.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Faults;
use super::body::{Accepted, documented};
use super::faults::Fault;
use crate::model::ToggleId;
use crate::transport::Secret;

/// One request to the endpoint, whatever the response was.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    /// The toggle in its path.
    pub toggle: ToggleId,
    /// Its body, byte for byte.
    pub body: Bytes,
}

/// The requests and documents of one sandbox.
#[derive(Clone)]
pub(super) struct RequestLog {
    /// Contended by the requests, each of which holds it for microseconds, twice.
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    received: Vec<ReceivedRequest>,
    /// The number of documents.
    stored: usize,
    toggles: HashMap<ToggleId, ToggleLog>,
    most_open: usize,
    file: Option<HistoryFile>,
}

#[derive(Default)]
struct ToggleLog {
    requests: u64,
    open: usize,
    newest: Option<Arc<StoredDocument>>,
}

impl RequestLog {
    /// Begins with the documents of `file`.
    pub(super) fn new(file: Option<(HistoryFile, Vec<StoredDocument>)>) -> Self {
        let (file, stored) = file.map_or_else(Default::default, |(file, old)| (Some(file), old));
        let mut toggles: HashMap<ToggleId, ToggleLog> = HashMap::new();
        let count = stored.len();
        for document in stored {
            let log = toggles.entry(document.toggle.clone()).or_default();
            log.newest = Some(Arc::new(document));
        }
        let inner = Inner { received: Vec::new(), stored: count, toggles, most_open: 0, file };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Records the arrival of a request, which is open until the returned value is dropped.
    pub(super) fn arrive(&self, toggle: ToggleId, body: &[u8]) -> OpenRequest {
        let mut inner = self.lock();
        let body = Bytes::copy_from_slice(body);
        inner.received.push(ReceivedRequest { toggle: toggle.clone(), body });
        let log = inner.toggles.entry(toggle.clone()).or_default();
        log.open += 1;
        log.requests += 1;
        let (nth, open) = (log.requests - 1, log.open);
        inner.most_open = inner.most_open.max(open);
        drop(inner);
        OpenRequest { request_log: self.clone(), toggle, nth }
    }

    pub(super) fn received(&self) -> Vec<ReceivedRequest> {
        self.lock().received.clone()
    }

    /// Returns the newest document of a toggle.
    pub(super) fn newest(&self, toggle: &ToggleId) -> Option<Arc<StoredDocument>> {
        self.lock().toggles.get(toggle)?.newest.clone()
    }

    /// Returns the most requests that were ever open for one toggle at the same time. A request that its client gave
    /// up counts until the sandbox notices.
    pub(super) fn most_open(&self) -> usize {
        self.lock().most_open
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that has arrived and is not finished.
pub(super) struct OpenRequest {
    request_log: RequestLog,
    pub(super) toggle: ToggleId,
    /// The number of earlier requests for the same toggle.
    pub(super) nth: u64,
}

impl OpenRequest {
    /// Stores the request's document, and returns it.
    pub(super) fn store(&self, body: Accepted) -> std::io::Result<Arc<StoredDocument>> {
        let mut inner = self.request_log.lock();
        let inner = &mut *inner;
        let log = inner.toggles.entry(self.toggle.clone()).or_default();
        let document = StoredDocument {
            seq: inner.stored,
            toggle: self.toggle.clone(),
            version: log.newest.as_ref().map_or(1, |newest| newest.version + 1),
            at: Timestamp::now(),
            body,
        };
        // The file comes first, so that a document that could not be written does not count as stored.
        if let Some(file) = &mut inner.file {
            file.append(&document)?;
        }
        inner.stored += 1;
        let document = Arc::new(document);
        log.newest = Some(Arc::clone(&document));
        Ok(document)
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        // This also runs if the client gives up, because the server then drops the request.
        if let Some(log) = self.request_log.lock().toggles.get_mut(&self.toggle) {
            log.open -= 1;
        }
    }
}

/// A document, which is also one line of the history file.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct StoredDocument {
    /// Its number, from 0, in order of storing.
    pub(super) seq: usize,
    pub(super) toggle: ToggleId,
    /// The number of documents that were stored for this toggle, this one included.
    pub(super) version: u64,
    #[serde(with = "as_text")]
    pub(super) at: Timestamp,
    #[serde(flatten)]
    pub(super) body: Accepted,
}

mod as_text {
    use jiff::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(at)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// A history file that is open for appending.
pub(super) struct HistoryFile(File);

impl HistoryFile {
    /// Opens or creates `path` and reads its documents. Removes a last line that was cut off.
    pub(super) fn open(path: &Path) -> std::io::Result<(Self, Vec<StoredDocument>)> {
        let mut file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?;
        let mut published = Vec::new();
        let mut good = 0;
        let mut reader = BufReader::new(&file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            published.push(read(&line)?);
            good += line.len() as u64;
            line.clear();
        }
        // The next document would otherwise continue the torn line.
        file.set_len(good)?;
        file.seek(SeekFrom::Start(good))?;
        Ok((Self(file), published))
    }

    pub(super) fn append(&mut self, published: &StoredDocument) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(published)?;
        line.push(b'\n');
        self.0.write_all(&line)
    }
}

fn read(line: &[u8]) -> std::io::Result<StoredDocument> {
    let document: StoredDocument = serde_json::from_slice(line)?;
    // An operator may have edited the file.
    documented(&document.body.content).map_err(std::io::Error::other)?;
    Ok(document)
}

pub(super) struct SandboxState {
    pub(super) request_log: RequestLog,
    pub(super) token: Secret,
    pub(super) faults: Faults,
    pub(super) loses_next: AtomicBool,
}

impl SandboxState {
    /// Returns the fault that strikes an authentic request.
    pub(super) fn strike(&self, request: &OpenRequest) -> Fault {
        match self.loses_next.swap(false, Ordering::Relaxed) {
            true => Fault::DropAfterStore,
            false => self.faults.strike(&request.toggle, request.nth),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_are_open_for_one_toggle_at_the_same_time_are_counted() {
        let request_log = RequestLog::new(None);
        let arrive = |id: &str| request_log.arrive(id.parse().unwrap(), b"");
        let one = arrive("p/e/a");
        let two = arrive("p/e/b");
        assert_eq!((one.nth, two.nth), (0, 0));
        drop(one);
        let three = arrive("p/e/a");
        assert_eq!((three.nth, request_log.most_open()), (1, 1));
        let _four = arrive("p/e/a");
        assert_eq!(request_log.most_open(), 2);
    }
}
