//! Looks up the ref between and during passes, so that the driver knows that a pass is due or that the running one is
//! outdated. The result only starts or stops a pass and is never applied.
//!
//! The ref of a local repository is looked up every second, which takes microseconds. The ref of a remote repository is
//! looked up in the background when the driver requests it.

use std::time::{Duration, SystemTime};

use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::freshness::Freshness;
use crate::model::CommitId;
use crate::source::{CacheMode, Fetched, Source, SourceConfig};

/// The time for which a local ref may be unreadable, as it is while the checkout is replaced.
const LOST_AFTER: Duration = Duration::from_secs(1);

/// Looks up the ref of one source.
#[derive(Debug)]
pub(super) struct HeadProbe {
    config: SourceConfig,
    source: Source,
    lookup: Option<JoinHandle<Option<CommitId>>>,
    /// Whether another lookup was requested meanwhile; the running one may be too early to find a newer commit.
    is_requested_again: bool,
    fetched: Option<Fetched>,
    /// The time since which a local ref cannot be read.
    unreadable_since: Option<Instant>,
    freshness: Freshness,
}

impl HeadProbe {
    pub(super) fn new(config: SourceConfig, freshness: Freshness) -> Self {
        let config = SourceConfig {
            // A lookup runs beside a pass, and only the pass writes the mirror.
            mode: CacheMode::Untouched,
            ..config
        };
        Self {
            source: Source::new(config.clone()),
            config,
            lookup: None,
            is_requested_again: false,
            fetched: None,
            unreadable_since: None,
            freshness,
        }
    }

    pub(super) fn is_local(&self) -> bool {
        self.source.is_local()
    }

    /// Returns the head of a local ref; none if it is remote or cannot be read.
    pub(super) fn local_head(&mut self) -> Option<CommitId> {
        let mut found = None;
        if self.is_local() {
            found = self.source.resolve().ok();
            self.fetched = self.source.fetched();
            self.unreadable_since = match found {
                Some(_) => None,
                None => self.unreadable_since.or(Some(Instant::now())),
            };
        }
        self.freshness.publish(self.fetched, SystemTime::now());
        found
    }

    /// Returns whether a local ref has been unreadable for longer than a replacement of the checkout takes.
    pub(super) fn is_lost(&self) -> bool {
        self.unreadable_since
            .is_some_and(|since| since.elapsed() >= LOST_AFTER)
    }

    /// Records that a remote repository was looked up at `at`.
    pub(super) fn record_lookup(&mut self, at: SystemTime) {
        // `FETCH_HEAD` of a local repository is more exact.
        if !self.is_local() {
            // A lookup during a pass is newer than the start of the pass, which is recorded later.
            let at = self.fetched.map_or(at, |known| known.at.max(at));
            self.fetched = Some(Fetched { at, problem: None });
            self.freshness.publish(self.fetched, SystemTime::now());
        }
    }

    /// Starts a lookup of a remote repository; [`HeadProbe::finished`] returns its result.
    pub(super) fn start(&mut self) {
        if self.is_local() {
            return;
        }
        if self.lookup.is_some() {
            self.is_requested_again = true;
            return;
        }
        let mut source = Source::new(self.config.clone());
        self.lookup = Some(tokio::task::spawn_blocking(move || source.resolve().ok()));
    }

    /// Waits for the end of a lookup; never returns if none is running. Returns none if the repository could not be
    /// reached. Is cancel-safe.
    pub(super) async fn finished(&mut self) -> Option<CommitId> {
        let Some(lookup) = &mut self.lookup else {
            return std::future::pending().await;
        };
        let found = lookup.await;
        self.lookup = None;
        if std::mem::take(&mut self.is_requested_again) {
            self.start();
        }
        let found = found.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        if found.is_some() {
            self.record_lookup(SystemTime::now());
        }
        found
    }
}
