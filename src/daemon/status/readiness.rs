//! Decides whether the daemon is ready, for `/readyz`.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use super::{Role, Status};

/// Whether the daemon keeps the service up to date.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Readiness {
    /// The last pass succeeded recently.
    Ready,
    /// The reason why it does not.
    Unready(String),
}

impl Readiness {
    /// Returns the reason why the daemon is not ready.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Ready => None,
            Self::Unready(reason) => Some(reason),
        }
    }
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason().unwrap_or("ready"))
    }
}

impl Status {
    /// Returns whether the daemon is ready at `now`. A success older than `stale_after` does not count (DESIGN, section 9,
    /// `/readyz`).
    pub(crate) fn readiness(&self, now: Instant, stale_after: Duration) -> Readiness {
        // Before the role: with `--state-remote origin`, the state cannot be opened without a checkout either.
        if let Some(path) = &self.source.awaited {
            let path = path.display();
            return Readiness::Unready(format!("waiting for a checkout at `{path}`"));
        }
        match &self.role {
            Role::Starting => return Readiness::Unready("starting: no pass has ended yet".into()),
            Role::Follower(holder) => {
                return Readiness::Unready(format!(
                    "another process is the writer: {holder}; this one takes over when it ends; to run both, give each \
                     its own `--state-dir`"
                ));
            }
            Role::Writer => {}
        }
        let readiness = self.freshness(now, stale_after);
        match self.waiting.filter(|waiting| now < waiting.until) {
            // The wait is the cause of the problem; a ready daemon only remarks on it.
            Some(waiting) if readiness != Readiness::Ready => Readiness::Unready(waiting.to_string()),
            _ => match (readiness, &self.doubt) {
                (Readiness::Unready(reason), Some(doubt)) => Readiness::Unready(format!("{reason}; {doubt}")),
                (readiness, _) => readiness,
            },
        }
    }

    fn freshness(&self, now: Instant, stale_after: Duration) -> Readiness {
        if let Some(reason) = self.last_pass.as_ref().and_then(|pass| pass.result.failure()) {
            return Readiness::Unready(format!("the last pass failed: {reason}"));
        }
        let Some(success) = self.last_success else {
            return Readiness::Unready("starting: no pass has succeeded yet".into());
        };
        if now.saturating_duration_since(success.when) > stale_after {
            // Without the age, which differs from second to second: responses are shared while the reason is the same.
            return Readiness::Unready(format!(
                "stale: no pass has succeeded for more than {} s (`--stale-after`)",
                stale_after.as_secs()
            ));
        }
        Readiness::Ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::status::{LastPass, PassResult, Success};

    fn ready(when: Instant) -> Status {
        Status {
            role: Role::Writer,
            last_pass: Some(LastPass { at: 100, result: PassResult::Noop, took_ms: 1 }),
            last_success: Some(Success { at: 100, when }),
            ..Status::default()
        }
    }

    #[test]
    fn the_writer_is_ready_after_a_recent_success() {
        let when = Instant::now();
        let (now, allowed) = (when + Duration::from_secs(11), Duration::from_secs(10));
        assert_eq!(ready(when).readiness(when + allowed, allowed), Readiness::Ready);
        let failed = PassResult::Failed("the service refused the token (401)".into());
        for (status, reason) in [
            (Status::default(), "starting: no pass has ended yet"),
            (
                Status { role: Role::Follower("pid 7 on a".into()), ..ready(when) },
                "another process is the writer: pid 7 on a; this one takes over when it ends; to run both, give each its \
                 own `--state-dir`",
            ),
            (
                Status { last_pass: Some(LastPass { at: 1, result: failed, took_ms: 1 }), ..ready(when) },
                "the last pass failed: the service refused the token (401)",
            ),
            (Status { last_success: None, ..ready(when) }, "starting: no pass has succeeded yet"),
            (ready(when), "stale: no pass has succeeded for more than 10 s (`--stale-after`)"),
        ] {
            assert_eq!(status.readiness(now, allowed).reason(), Some(reason));
        }
    }
}
