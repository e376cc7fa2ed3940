//! Moves the shared ref by compare-and-set, and retries temporary failures.

use std::collections::BTreeMap;
use std::time::Duration;

use super::fault::RemoteFault;
use super::head::SharedHead;
use super::remote::{Pushed, SharedRemote};
use super::seen;
use crate::git::Failpoints;
use crate::model::CommitId;
use crate::state::applied::AppliedRepository;
use crate::state::{Clock, Error, Stop};

/// The time between two lookups of a held ref, and between two tries of a push.
pub(super) const POLL: Duration = Duration::from_secs(1);

/// How often a rejected push is repeated while the ref is as it was.
const REJECTIONS: u32 = 2;

/// How long temporary failures of a lookup, and of a push before the first request, are retried.
pub(super) const RETRY: Duration = Duration::from_secs(8);

/// What is retried, and for how long.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    limit: Duration,
    with_refusals: bool,
}

impl Patience {
    /// Temporary failures.
    pub(super) const fn failures(limit: Duration) -> Self {
        Self { limit, with_refusals: false }
    }

    /// Refusals, too: once a request was sent, its outcome must reach the ref.
    pub(super) const fn refusals_too(limit: Duration) -> Self {
        Self { limit, with_refusals: true }
    }

    fn has(self, error: &Error) -> bool {
        error.is_transient() || self.with_refusals && matches!(error, Error::Remote { .. })
    }
}

/// The shared ref as this process saw it last.
pub(super) struct TrackedRef {
    pub(super) remote: SharedRemote,
    pub(super) clock: Clock,
    /// The commit at the ref; none if the ref does not exist.
    pub(super) at: Option<CommitId>,
    /// The content of that commit.
    pub(super) head: SharedHead,
    pub(super) failpoints: Failpoints,
    /// Commits that were pushed without a verdict, and the start of the first push of each. If the ref points to one of
    /// them, that push succeeded.
    unconfirmed: BTreeMap<CommitId, Duration>,
}

impl TrackedRef {
    pub(super) fn new(remote: SharedRemote, clock: Clock, failpoints: Failpoints) -> Self {
        Self {
            remote,
            clock,
            at: None,
            head: SharedHead::default(),
            failpoints,
            unconfirmed: BTreeMap::new(),
        }
    }

    /// Looks up the ref, and copies its commit into the state folder.
    pub(super) fn fetch(&mut self, into: &AppliedRepository, stop: Stop<'_>) -> Result<(), Error> {
        self.at = self.retry(Patience::failures(RETRY), stop, |tracked| {
            tracked.remote.fetch(into.repository(), &tracked.failpoints)
        })?;
        self.unconfirmed.clear();
        Ok(())
    }

    /// Pushes as [`TrackedRef::push`], and retries.
    pub(super) fn push_within(
        &mut self,
        patience: Patience,
        applied: &AppliedRepository,
        head: &SharedHead,
        now: i64,
        stop: Stop<'_>,
    ) -> Result<Duration, Error> {
        self.retry(patience, stop, |tracked| tracked.push(applied, head, now))
    }

    /// Moves the ref from the commit that was seen last. Returns the start of the first push of that content, at which the
    /// term begins.
    ///
    /// # Errors
    /// [`Error::Raced`] if another process moved the ref, and the cause if the push failed or got no verdict.
    pub(super) fn push(
        &mut self,
        applied: &AppliedRepository,
        head: &SharedHead,
        now: i64,
    ) -> Result<Duration, Error> {
        let (objects, new) = head.objects(applied.base_url(), now);
        applied.write(&objects)?;
        let mut rejections = 0_u32;
        loop {
            // Before the push: another process may see the commit long before this one receives the verdict.
            let began = self.unconfirmed.get(&new).copied();
            let began = began.unwrap_or_else(|| self.clock.elapsed());
            let pushed = self.remote.push(applied.repository(), self.at, new, &self.failpoints);
            match pushed {
                Ok(Pushed::Done) => {
                    (self.at, self.head) = (Some(new), head.clone());
                    self.unconfirmed.clear();
                    seen::keep(applied, &self.remote.name, new)?;
                    return Ok(began);
                }
                // A push without a verdict had succeeded, and no other process has moved the ref since.
                Ok(Pushed::Moved(Some(found))) if self.unconfirmed.contains_key(&found) => {
                    self.at = Some(found);
                }
                Ok(Pushed::Moved(_)) => return Err(Error::Raced(self.remote.name.clone())),
                // Another process may have moved the ref and withdrawn its announcement since, so a lost race can look like
                // a refusal. The verdict of a host that refuses does not change.
                Err(Error::Remote { source: RemoteFault::Rejected(_), .. }) if rejections < REJECTIONS => {
                    rejections += 1;
                    self.clock.sleep(POLL);
                }
                Err(error) => {
                    // The remote may have moved the ref although no verdict arrived.
                    self.unconfirmed.insert(new, began);
                    return Err(error);
                }
            }
        }
    }

    fn retry<T>(
        &mut self,
        patience: Patience,
        stop: Stop<'_>,
        mut work: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let began = self.clock.elapsed();
        loop {
            let error = match work(self) {
                Err(error) if patience.has(&error) && !stop() => error,
                result => return result,
            };
            if self.clock.elapsed().saturating_sub(began) >= patience.limit {
                return Err(error);
            }
            log_retry(&error);
            self.clock.sleep(POLL);
        }
    }
}

pub(super) fn log_retry(error: &Error) {
    tracing::debug!(name: "shared_state_retry", %error, "could not reach the shared state; retrying");
}
