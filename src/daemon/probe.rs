//! Looks up the ref between and during passes, so that the driver knows that a pass is due or that the
//! running one is outdated. The result only starts or stops a pass and is never applied. Publishes the age of
//! the source with each lookup.
//!
//! The ref of a local repository is looked up every second, which takes microseconds, and at each file event.
//! The ref of a remote repository is looked up in the background when the driver requests it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::daemon::status::Status;
use crate::daemon::{Metrics, Trigger};
use crate::model::{CommitId, escaped, rfc3339};
use crate::source::watch::{Watcher, watch as watch_repository};
use crate::source::{CacheMode, FetchProblem, Fetched, Source, SourceConfig};
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

    /// Starts the lookup after a webhook that is due, or a regular one.
    pub(super) fn look_again(&mut self, now: Instant) {
        let count = self.second_looks.len();
        self.second_looks.retain(|due| *due > now);
        if self.second_looks.len() < count { self.start() } else { self.poll() }
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
            (self.failures, self.rests_until) = (0, None);
            self.record_lookup(SystemTime::now());
        } else {
            self.failures = self.failures.saturating_add(1);
            let wait = source_backoff(self.failures, fastrand::f64());
            self.rests_until = self.rests_until.max(Some(Instant::now() + wait));
        }
        found
    }
}

/// Publishes the age of the source.
#[derive(Debug)]
pub(super) struct Freshness {
    pub(super) status: watch::Sender<Status>,
    pub(super) metrics: Metrics,
    /// The age from which the source is out of date.
    pub(super) stale_after: Duration,
}

impl Freshness {
    /// Publishes the time at which the source was last current, and whether that is too long before `now`.
    pub(super) fn publish(&self, fetched: Option<Fetched>, now: SystemTime) {
        let fetched_at = fetched.map(|fetched| seconds(fetched.at));
        self.metrics.source_fetched_at(fetched_at);
        let stale = fetched.and_then(|fetched| stale(fetched, now, self.stale_after));
        // The age is published every second, and each change of the status wakes its readers.
        self.status.send_if_modified(|status| {
            let source = &mut status.source;
            log(source.stale.as_deref(), stale.as_deref());
            let is_new = (source.fetched_at, &source.stale) != (fetched_at, &stale);
            (source.fetched_at, source.stale) = (fetched_at, stale);
            is_new
        });
    }
}

fn log(before: Option<&str>, now: Option<&str>) {
    match (before, now) {
        (None, Some(reason)) => tracing::warn!(name: "source_stale", reason, "the source is out of date"),
        (Some(_), None) => tracing::info!(name: "source_fetched", "the source is up to date again"),
        _ => {}
    }
}

/// Describes the age of a source that was last current longer ago than `stale_after`.
fn stale(fetched: Fetched, now: SystemTime, stale_after: Duration) -> Option<String> {
    // The fetch is in the future if the clock was set back.
    let age = now.duration_since(fetched.at).unwrap_or_default();
    if age <= stale_after {
        return None;
    }
    let last = format!("{} ago, at {}", rounded(age), rfc3339(seconds(fetched.at)));
    Some(match fetched.problem {
        None => format!("the source was last fetched {last}"),
        Some(FetchProblem::Failed) => {
            format!("the source was last fetched {last}; the fetch since then did not succeed")
        }
        Some(FetchProblem::NotCheckedOut(commit)) => {
            let commit = commit.short();
            format!("the source was last up to date {last}; {commit} was fetched and is not checked out")
        }
    })
}

/// Formats a time span in the largest unit that it has at least twice.
fn rounded(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Returns a time in seconds since 1970-01-01 UTC.
fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Fires `lookup` at each file event of the repository at `path`, until the task is aborted.
///
/// Without file events, the ref is looked up every second.
pub fn watch_source(
    path: PathBuf,
    reference: Option<String>,
    status: watch::Receiver<Status>,
    lookup: Trigger,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        // A lookup, not a pass, because another process may fetch and collect garbage there all the time.
        match watch_repository(&path, reference.as_deref(), move || lookup.fire()) {
            Ok(watcher) => follow(watcher, status).await,
            Err(error) => {
                let reason = escaped(&error.to_string()).to_string();
                tracing::warn!(
                    name: "no_file_events",
                    reason,
                    "no file events; the ref is looked up every second instead"
                );
            }
        }
    })
}

/// Watches the folders that the repository is in after each new revision.
async fn follow(mut watcher: Watcher, mut status: watch::Receiver<Status>) {
    let mut seen = None;
    let mut is_logged = false;
    while status.changed().await.is_ok() {
        let revision = status.borrow_and_update().source.revision;
        if revision == seen {
            continue;
        }
        seen = revision;
        // A new revision may come from a swapped link, which leads to other folders.
        if let Err(error) = watcher.renew()
            && !is_logged
        {
            is_logged = true;
            tracing::warn!(name: "file_events_incomplete", reason = %error, "not every file event arrives; the ref is looked up every second");
        }
    }
}

/// The time of the driver loop's last turn. A driver whose passes all fail has a heartbeat as well.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    last: Arc<Mutex<Instant>>,
    silence_allowed: Duration,
}

impl Heartbeat {
    /// Creates a heartbeat that has just beaten. The loop is stalled after `silence_allowed`, which
    /// must be longer than the longest time between two beats: the poll interval, or one step of a long pass.
    pub(crate) fn new(silence_allowed: Duration) -> Self {
        Self { last: Arc::new(Mutex::new(Instant::now())), silence_allowed }
    }

    /// Records a turn of the loop.
    pub fn beat(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns the time since the last beat if the loop has stalled.
    pub(crate) fn stalled_for(&self) -> Option<Duration> {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        Some(last.elapsed()).filter(|silence| *silence > self.silence_allowed)
    }
}

#[cfg(test)]
mod tests {
    mod freshness {
        use super::super::*;
        use crate::model::{CommitId, ObjectId};

        #[test]
        fn a_source_is_stale_once_it_is_older_than_allowed() {
            let at = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
            let allowed = Duration::from_secs(300);
            let commit = CommitId(ObjectId([0xab; 20]));
            let expected = [
                (None, 300, None),
                (None, 301, Some("the source was last fetched 5 min ago, at 2023-11-14T22:13:20Z")),
                (
                    Some(FetchProblem::Failed),
                    7200,
                    Some(
                        "the source was last fetched 2 h ago, at 2023-11-14T22:13:20Z; the fetch since then did not succeed",
                    ),
                ),
                (
                    Some(FetchProblem::NotCheckedOut(commit)),
                    260_000,
                    Some(
                        "the source was last up to date 3 days ago, at 2023-11-14T22:13:20Z; ababababab was fetched and is not checked out",
                    ),
                ),
            ];
            for (problem, age, text) in expected {
                let found = stale(Fetched { at, problem }, at + Duration::from_secs(age), allowed);
                assert_eq!(found.as_deref(), text);
            }
            let ahead = Fetched { at: at + allowed * 2, problem: None };
            assert_eq!(stale(ahead, at, allowed), None, "a clock that was set back");
        }
    }

    mod heartbeat {
        use super::super::*;

        #[tokio::test(start_paused = true)]
        async fn a_loop_without_a_beat_for_too_long_has_stalled() {
            let heart = Heartbeat::new(Duration::from_secs(60));
            tokio::time::advance(Duration::from_secs(60)).await;
            assert_eq!(heart.stalled_for(), None);
            tokio::time::advance(Duration::from_secs(1)).await;
            assert_eq!(heart.stalled_for(), Some(Duration::from_secs(61)));
            heart.beat();
            assert_eq!(heart.stalled_for(), None);
        }
    }
}
