//! Looks up the ref between and during passes, so that the driver knows that a pass is due or that the
//! running one is outdated. The result only starts or stops a pass and is never applied. Publishes the age of
//! the source with each lookup.
//!
//! The ref of a local repository is looked up every second, which takes microseconds, and at each file event.
//! The ref of a remote repository is looked up in the background when the driver requests it.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::freshness::Freshness;
use crate::model::CommitId;
use crate::source::{CacheMode, Fetched, Source, SourceConfig};
use crate::transport::source_backoff;

/// The time for which a local ref may be unreadable, as it is while the checkout is replaced.
const LOST_AFTER: Duration = Duration::from_secs(1);

/// The times after a webhook at which a remote is looked up again, because some hosts announce a push before
/// a fetch can see it. All of them happen, because what a lookup finds may be an older push
/// (src/daemon/README.md, "Triggers and schedule").
const SECOND_LOOKS: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(5), Duration::from_secs(15), Duration::from_secs(30)];

/// Looks up the ref of one source.
#[derive(Debug)]
pub(super) struct HeadProbe {
    config: SourceConfig,
    source: Source,
    lookup: Option<JoinHandle<Option<CommitId>>>,
    /// The lookups in a row that failed.
    failures: u32,
    /// The time before which no lookup is worth its transfer, because the source could not be read.
    rests_until: Option<Instant>,
    /// Whether another lookup was requested meanwhile; the running one may be too early to find a newer
    /// commit.
    is_requested_again: bool,
    /// The lookups that are still to follow the last webhook.
    second_looks: VecDeque<Instant>,
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
            failures: 0,
            rests_until: None,
            is_requested_again: false,
            second_looks: VecDeque::new(),
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
        self.unreadable_since.is_some_and(|since| since.elapsed() >= LOST_AFTER)
    }

    /// Records that the source was read at `at`.
    pub(super) fn record_lookup(&mut self, at: SystemTime) {
        (self.failures, self.rests_until) = (0, None);
        // `FETCH_HEAD` of a local repository is more exact.
        if !self.is_local() {
            // A lookup during a pass is newer than the start of the pass, which is recorded later.
            let at = self.fetched.map_or(at, |known| known.at.max(at));
            self.fetched = Some(Fetched { at, problem: None });
            self.freshness.publish(self.fetched, SystemTime::now());
        }
    }

    /// Starts a lookup that is due, unless the last ones failed: each may transfer what the one before did.
    pub(super) fn poll(&mut self) {
        if self.rests_until.is_none_or(|until| until <= Instant::now()) {
            self.start();
        }
    }

    /// Has no lookup start before the next pass, which reads the source that the last one could not read.
    pub(super) fn rest(&mut self, until: Instant) {
        self.rests_until = Some(until);
    }

    /// Begins the backoff of lookups anew.
    pub(super) fn forget_failures(&mut self) {
        (self.failures, self.rests_until) = (0, None);
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

    /// Looks a remote repository up again some times after a webhook at `delivered`.
    pub(super) fn expect(&mut self, delivered: Instant) {
        if !self.is_local() {
            self.second_looks = SECOND_LOOKS.map(|wait| delivered + wait).into();
        }
    }

    /// Returns the time of the next lookup after a webhook.
    pub(super) fn second_look(&self) -> Option<Instant> {
        self.second_looks.front().copied()
    }

    /// Starts the lookup after a webhook that is due, or a regular one. A source that cannot be read since the
    /// webhook has its backoff.
    pub(super) fn look_again(&mut self, now: Instant) {
        self.second_looks.retain(|due| *due > now);
        self.poll();
    }

    /// Waits for the end of a lookup; never returns if none is running. Returns none if the repository could
    /// not be reached. Is cancel-safe.
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
        } else {
            self.failures = self.failures.saturating_add(1);
            let wait = source_backoff(self.failures, fastrand::f64());
            self.rests_until = self.rests_until.max(Some(Instant::now() + wait));
        }
        found
    }
}
