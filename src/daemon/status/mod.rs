//! What is known about the world after the last pass: what `status`, `/readyz` and `/api/status` tell.

mod json;
mod read;
mod readiness;
pub(super) mod toggles;
mod withheld;

pub use json::{ScopedSuspensionJson, StatusJson, SuspensionJson};
pub use read::{Standing, status};
pub use readiness::Readiness;
pub use withheld::{Withheld, WithheldGroup};

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use crate::model::{
    CommitId, Suspension, SuspensionScope, Suspensions, ToggleId, ToggleState, WithheldReason, rfc3339,
};
use crate::plan::History;
use crate::state::Clock;

/// One toggle's line.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct ToggleStatus {
    /// Which toggle.
    pub toggle: ToggleId,
    /// Where it stands.
    pub state: ToggleState,
    /// Why, in words; absent when it is in sync.
    pub reason: Option<String>,
    /// The kind of the reason; absent unless the toggle is withheld.
    pub kind: Option<WithheldReason>,
    /// The source revision of what was last applied; absent when nothing was.
    pub revision: Option<CommitId>,
}

/// Where files come from.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct SourceStatus {
    /// The repository as given.
    pub repo: String,
    /// The ref that is followed, once it is known.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// The revision last looked at.
    pub revision: Option<CommitId>,
    /// How much of its history is there.
    #[serde(skip)]
    pub history: History,
    /// The revision that the last pass refused, because the recorded one is not its ancestor; `allow history` applies it.
    pub refused: Option<CommitId>,
    /// When the source was last fetched or looked up successfully, in seconds since 1970-01-01 UTC; in JSON in RFC 3339
    /// form. A path without `FETCH_HEAD` has none.
    #[serde(serialize_with = "as_rfc3339_if_any")]
    pub fetched_at: Option<i64>,
    /// Why the source counts as stopped: it was last current longer ago than `stale_after`.
    #[serde(skip)]
    pub stale: Option<String>,
    /// The path at which the daemon waits for a checkout.
    #[serde(skip)]
    pub awaited: Option<PathBuf>,
}

/// How a pass ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PassResult {
    /// Every toggle was attempted or held, and something was published or recorded.
    Success,
    /// There was nothing to do.
    Noop,
    /// It could not be done or not be finished: source, state, unauthorised, misrouted, breaker. The reason in words.
    Failed(String),
}

impl PassResult {
    /// Returns whether there was a pass, and nothing stopped it.
    pub(super) fn is_success(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }

    /// Returns the word for it: `success`, `noop` or `error`, as in metric labels.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Noop => "noop",
            Self::Failed(_) => "error",
        }
    }
}

impl Serialize for PassResult {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The pass that ended last.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct LastPass {
    /// When it ended, in seconds since 1970-01-01 UTC; in JSON in RFC 3339 form.
    #[serde(serialize_with = "as_rfc3339")]
    pub at: i64,
    /// How it ended.
    pub result: PassResult,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

impl LastPass {
    /// One that ended like this at `at`, after `took`.
    pub(super) fn new(at: i64, result: PassResult, took: Duration) -> Self {
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        Self { at, result, took_ms }
    }
}

fn as_rfc3339<S: serde::Serializer>(seconds: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*seconds))
}

fn as_rfc3339_if_any<S: serde::Serializer>(seconds: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error> {
    seconds.map(rfc3339).serialize(serializer)
}

/// When a pass last succeeded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Success {
    /// In seconds since 1970-01-01 UTC, for people.
    pub at: i64,
    /// By the clock that nobody sets: what tells how long ago it was.
    pub when: Instant,
}

/// Whether this process may write.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Role {
    /// Not known yet.
    #[default]
    Starting,
    /// It holds the state's lock.
    Writer,
    /// Another process does; who, in words.
    Follower(String),
}

/// A wait that the service asked for (`Retry-After`).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Waiting {
    /// When it ends, by a clock that does not jump.
    pub until: Instant,
    /// The same in seconds since 1970-01-01 UTC.
    pub at: i64,
}

impl Waiting {
    /// A wait of this length that begins now.
    pub(super) fn from_now(wait: Duration) -> Self {
        let seconds = i64::try_from(wait.as_secs()).unwrap_or(i64::MAX);
        Self {
            until: Instant::now() + wait,
            at: Clock::System.unix().saturating_add(seconds),
        }
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = jiff::Timestamp::from_second(self.at).unwrap_or_default();
        let time = at.strftime("%H:%M:%S UTC");
        write!(
            f,
            "waiting until {time} because the service asked for it (Retry-After)"
        )
    }
}

/// Everything the daemon knows about itself; published after every pass.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Status {
    /// The base URL of the service, where one is given.
    pub service: Option<String>,
    /// Where files come from.
    pub source: SourceStatus,
    /// The pass that ended last.
    pub last_pass: Option<LastPass>,
    /// When a pass of this process last succeeded.
    pub last_success: Option<Success>,
    /// Whether this process may write.
    pub role: Role,
    /// What is suspended now.
    pub suspensions: Suspensions,
    /// The wait that the service asked for, until it is over.
    pub waiting: Option<Waiting>,
    /// One line per toggle, sorted by id. Set with [`Status::set_toggles`].
    pub toggles: Arc<Vec<ToggleStatus>>,
    /// What the last pass did not do: the groups of `toggles`.
    pub withheld: Arc<Withheld>,
}

impl Status {
    /// Returns whether all toggles are known to be in sync.
    pub(super) fn is_in_sync(&self) -> bool {
        let is_in_sync = |toggle: &ToggleStatus| toggle.state == ToggleState::InSync;
        !self.toggles.is_empty() && self.toggles.iter().all(is_in_sync)
    }

    /// Replaces the lines of the toggles and regroups what is withheld.
    pub fn set_toggles(&mut self, toggles: Vec<ToggleStatus>) {
        self.withheld = Arc::new(Withheld::of(&toggles));
        self.toggles = Arc::new(toggles);
    }

    /// Returns what an operator of a ready daemon should know: one sentence each, for `/readyz`, the page and the JSON.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let suspended = self.suspensions.iter().map(suspended);
        let withheld = Some(self.withheld.to_string()).filter(|text| !text.is_empty());
        let history = (self.source.history == History::Cut).then(|| History::CUT.to_owned());
        let stale = self.source.stale.clone();
        let waiting = self.waiting.as_ref().map(ToString::to_string);
        let remarks = suspended.chain(stale).chain(waiting);
        remarks.chain(withheld).chain(history).collect()
    }
}

/// Describes a suspension on one line.
fn suspended((scope, suspension): (&SuspensionScope, &Suspension)) -> String {
    let Suspension { reason, until } = suspension;
    let globs = scope.globs().map(|globs| format!(" {globs}"));
    let until = until.map(|until| format!(" until {}", rfc3339(until)));
    let reason = reason.as_deref().map(|reason| format!(": {reason}"));
    format!(
        "suspended{}{}{}",
        globs.unwrap_or_default(),
        until.unwrap_or_default(),
        reason.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_withheld_and_a_suspension_are_remarks() {
        let mut status = Status::default();
        assert_eq!(status.remarks(), Vec::<String>::new());
        status.set_toggles(vec![ToggleStatus {
            toggle: "shop/prod/pay".parse().unwrap(),
            state: ToggleState::Held,
            reason: None,
            kind: Some(WithheldReason::Rail),
            revision: None,
        }]);
        let (reason, until) = (Some("freeze".to_owned()), Some(0));
        status.suspensions = Suspension { reason, until }.into();
        status.source.history = History::Cut;
        assert_eq!(
            status.remarks(),
            [
                "suspended until 1970-01-01T00:00:00Z: freeze",
                "1 held in shop/prod (rail)",
                "the history is cut: comments can be guesses, for which trailers do not count"
            ]
        );
    }
}
