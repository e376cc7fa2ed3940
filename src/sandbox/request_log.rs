//! Records requests and stored documents.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use jiff::Timestamp;

use super::body::Accepted;
use super::document::StoredDocument;
use super::history_file::HistoryFile;
use crate::model::ToggleId;

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
        let inner = Inner {
            received: Vec::new(),
            stored: count,
            toggles,
            most_open: 0,
            file,
        };
        Self {
            inner: Arc::new(Mutex::new(inner)),
        }
    }

    /// Records the arrival of a request, which is open until the returned value is dropped.
    pub(super) fn arrive(&self, toggle: ToggleId, body: &[u8]) -> OpenRequest {
        let mut inner = self.lock();
        let body = Bytes::copy_from_slice(body);
        inner.received.push(ReceivedRequest {
            toggle: toggle.clone(),
            body,
        });
        let log = inner.toggles.entry(toggle.clone()).or_default();
        log.open += 1;
        log.requests += 1;
        let (nth, open) = (log.requests - 1, log.open);
        inner.most_open = inner.most_open.max(open);
        drop(inner);
        OpenRequest {
            request_log: self.clone(),
            toggle,
            nth,
        }
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
