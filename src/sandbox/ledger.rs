//! What the sandbox was asked and what it holds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use jiff::Timestamp;
use tokio::sync::watch;

use super::body;
use super::history_file::HistoryFile;
use crate::model::{Targeting, ToggleId};

/// One request to the endpoint, whatever came of it.
#[derive(Clone, Debug)]
pub struct Received {
    /// Its number, from 0, in order of arrival.
    pub seq: usize,
    /// The toggle it is about.
    pub toggle: ToggleId,
    /// When it arrived, for measuring.
    pub arrived: Instant,
    /// When it arrived, for reading.
    pub at: Timestamp,
    /// Its body, byte for byte.
    pub body: Bytes,
    /// The answer's status; `None` while there is none, and where there was none.
    pub status: Option<u16>,
    /// Whether its document was stored.
    pub stored: bool,
}

/// One document that was stored.
#[derive(Clone, Debug)]
pub struct Published {
    /// Its number, from 0, in order of storing.
    pub seq: usize,
    /// The toggle it is for.
    pub toggle: ToggleId,
    /// How many documents were stored for this toggle, this one included.
    pub version: u64,
    /// When it was stored.
    pub at: Timestamp,
    /// The request's body, byte for byte.
    pub body: Bytes,
}

impl Published {
    /// Returns the comment.
    #[must_use]
    pub fn comment(&self) -> String {
        self.parsed().comment
    }

    /// Returns the targeting.
    #[must_use]
    pub fn targeting(&self) -> Targeting {
        self.parsed().targeting
    }

    fn parsed(&self) -> body::Accepted {
        body::check(&self.body).expect("only what was checked is stored")
    }
}

/// The most requests that were ever open at the same time. A request that its client has given up counts until the
/// sandbox notices.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Concurrency {
    /// Over all.
    pub overall: usize,
    /// Within one environment.
    pub per_environment: usize,
    /// For one toggle.
    pub per_toggle: usize,
}

/// Everything the sandbox remembers.
#[derive(Clone)]
pub(super) struct Ledger {
    /// Contended by the requests, each of which holds it for microseconds, twice.
    inner: Arc<Mutex<Inner>>,
    arrived: watch::Sender<usize>,
}

struct Inner {
    received: Vec<Received>,
    published: Vec<Published>,
    toggles: HashMap<ToggleId, Toggle>,
    environments: HashMap<Box<str>, usize>,
    open: usize,
    most: Concurrency,
    file: Option<HistoryFile>,
}

#[derive(Default)]
struct Toggle {
    requests: u64,
    open: usize,
    published: Vec<usize>,
}

impl Ledger {
    /// Begins with what `file` holds.
    pub(super) fn new(file: Option<(HistoryFile, Vec<Published>)>) -> Self {
        let (file, published) = file.map_or_else(Default::default, |(file, old)| (Some(file), old));
        let mut toggles: HashMap<ToggleId, Toggle> = HashMap::new();
        for (index, Published { toggle, .. }) in published.iter().enumerate() {
            toggles.entry(toggle.clone()).or_default().published.push(index);
        }
        let inner = Inner {
            received: Vec::new(),
            published,
            toggles,
            environments: HashMap::new(),
            open: 0,
            most: Concurrency::default(),
            file,
        };
        Self {
            inner: Arc::new(Mutex::new(inner)),
            arrived: watch::Sender::new(0),
        }
    }

    /// Records that a request has arrived; it is open until what is returned is dropped.
    pub(super) fn arrive(&self, toggle: ToggleId, body: &[u8]) -> Open {
        let mut inner = self.lock();
        let seq = inner.received.len();
        let nth = inner.open(&toggle);
        inner.received.push(Received {
            seq,
            toggle: toggle.clone(),
            arrived: Instant::now(),
            at: Timestamp::now(),
            body: Bytes::copy_from_slice(body),
            status: None,
            stored: false,
        });
        drop(inner);
        self.arrived.send_modify(|count| *count += 1);
        Open {
            ledger: self.clone(),
            toggle,
            seq,
            nth,
        }
    }

    /// Waits until `count` requests have arrived since the start.
    pub(super) async fn arrived(&self, count: usize) {
        let mut arrived = self.arrived.subscribe();
        // An error would say that the sender is gone, and `self` is holding it.
        let _ = arrived.wait_for(|so_far| *so_far >= count).await;
    }

    pub(super) fn received(&self) -> Vec<Received> {
        self.lock().received.clone()
    }

    pub(super) fn published(&self) -> Vec<Published> {
        self.lock().published.clone()
    }

    pub(super) fn concurrency(&self) -> Concurrency {
        self.lock().most
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Counts a request in and returns how many came before it for the same toggle.
    fn open(&mut self, toggle: &ToggleId) -> u64 {
        self.open += 1;
        let environment = match self.environments.get_mut(environment(toggle)) {
            Some(open) => open,
            None => self.environments.entry(environment(toggle).into()).or_default(),
        };
        *environment += 1;
        let counts = self.toggles.entry(toggle.clone()).or_default();
        counts.open += 1;
        counts.requests += 1;
        self.most.overall = self.most.overall.max(self.open);
        self.most.per_environment = self.most.per_environment.max(*environment);
        self.most.per_toggle = self.most.per_toggle.max(counts.open);
        counts.requests - 1
    }

    fn close(&mut self, toggle: &ToggleId) {
        self.open -= 1;
        if let Some(open) = self.environments.get_mut(environment(toggle)) {
            *open -= 1;
        }
        if let Some(counts) = self.toggles.get_mut(toggle) {
            counts.open -= 1;
        }
    }

    fn store(&mut self, seq: usize) -> std::io::Result<u64> {
        let Received { toggle, body, .. } = &self.received[seq];
        let counts = self.toggles.entry(toggle.clone()).or_default();
        let published = Published {
            seq: self.published.len(),
            toggle: toggle.clone(),
            version: counts.published.len() as u64 + 1,
            at: Timestamp::now(),
            body: body.clone(),
        };
        if let Some(file) = &mut self.file {
            file.append(&published)?;
        }
        let version = published.version;
        counts.published.push(published.seq);
        self.published.push(published);
        self.received[seq].stored = true;
        Ok(version)
    }
}

/// `project/environment`, borrowed from the toggle.
fn environment(toggle: &ToggleId) -> &str {
    let text = toggle.as_str();
    &text[..text.len() - toggle.toggle().len() - 1]
}

/// A request that has arrived and is not finished.
pub(super) struct Open {
    ledger: Ledger,
    toggle: ToggleId,
    seq: usize,
    /// How many requests came before it for the same toggle.
    pub(super) nth: u64,
}

impl Open {
    pub(super) fn toggle(&self) -> &ToggleId {
        &self.toggle
    }

    /// Stores the request's document, which was checked, and returns its version.
    pub(super) fn store(&self) -> std::io::Result<u64> {
        self.ledger.lock().store(self.seq)
    }

    /// Records the answer's status.
    pub(super) fn answered(&self, status: u16) {
        self.ledger.lock().received[self.seq].status = Some(status);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.ledger.lock().close(&self.toggle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_at_the_same_time_is_counted() {
        let ledger = Ledger::new(None);
        let arrive = |id: &str| ledger.arrive(id.parse().unwrap(), b"");
        let one = arrive("p/e/a");
        let two = arrive("p/e/b");
        drop(one);
        let three = arrive("p/f/a");
        assert_eq!((two.nth, three.nth), (0, 0));
        let four = arrive("p/e/a");
        assert_eq!(four.nth, 1);
        let most = Concurrency {
            overall: 3,
            per_environment: 2,
            per_toggle: 1,
        };
        assert_eq!(ledger.concurrency(), most);
        let _five = arrive("p/e/a");
        assert_eq!(ledger.concurrency().per_toggle, 2);
    }
}
