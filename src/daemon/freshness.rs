//! How old the source is, and when that is too old.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

use crate::daemon::Metrics;
use crate::daemon::status::Status;
use crate::model::rfc3339;
use crate::source::{FetchProblem, Fetched};

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

#[cfg(test)]
mod tests {
    use super::*;
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
