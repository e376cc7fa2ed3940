//! Holds the result of the last pass, for `status`, `/readyz` and `/api/status`.

pub(super) mod toggles;
mod withheld;

pub use toggles::{DocumentPaths, StatusReport, status, status_live};
pub(crate) use toggles::{DriftFacts, show};
pub use withheld::{EnvironmentStatus, Overview, StateCounts, Withheld, WithheldGroup};

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};
use tokio::time::Instant;

use crate::model::{
    Commit, CommitId, EnvironmentId, Format, Hold, HoldKind, Suspension, SuspensionScope, Suspensions,
    ToggleId, ToggleState, hinted, rfc3339,
};
use crate::pass::Error;
use crate::plan::hold::resume;
use crate::plan::{DriftedToggle, HISTORY_CUT, Plan};
use crate::state::{Clock as _, SystemClock};

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToggleStatus {
    /// Its full key.
    pub toggle: ToggleId,
    /// Why it is not in sync; none if it is.
    pub hold: Option<Arc<Hold>>,
    /// The source revision that was last applied; absent if none was.
    pub revision: Option<CommitId>,
    /// The time at which that was recorded, in seconds since 1970-01-01 UTC. Absent if nothing was applied,
    /// and until a confirmed change is recorded.
    pub applied_at: Option<i64>,
    /// The extension of the applied document; absent if none was applied.
    pub format: Option<Format>,
}

impl ToggleStatus {
    /// Returns the status of a toggle of which nothing is applied.
    pub fn new(toggle: ToggleId, hold: Option<Arc<Hold>>) -> Self {
        Self { toggle, hold, revision: None, applied_at: None, format: None }
    }

    /// Returns its state after the last pass.
    pub fn state(&self) -> ToggleState {
        self.hold.as_ref().map_or(ToggleState::InSync, |hold| hold.state)
    }

    /// Returns the kind of reason; none unless the toggle is withheld.
    pub fn kind(&self) -> Option<HoldKind> {
        self.hold.as_ref()?.kind
    }

    /// Returns the reason for the state; none if the toggle is in sync.
    pub fn reason(&self) -> Option<String> {
        self.hold.as_ref().map(|hold| hold.reason())
    }
}

#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct SourceStatus {
    /// The repository as given.
    pub repo: String,
    /// The ref, once it is known.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// The revision of the last pass.
    pub revision: Option<CommitId>,
    /// The first line of that commit's message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The time of that commit, in seconds since 1970-01-01 UTC; in RFC 3339 form in JSON.
    #[serde(serialize_with = "as_rfc3339_if_any", skip_serializing_if = "Option::is_none")]
    pub committed_at: Option<i64>,
    /// Whether part of the history is missing.
    #[serde(skip)]
    pub is_history_cut: bool,
    /// The revision that the last pass refused because the recorded one is not its ancestor; `allow history`
    /// applies it.
    pub refused: Option<CommitId>,
    /// The time of the last successful fetch or lookup, in seconds since 1970-01-01 UTC; in RFC 3339 form in
    /// JSON. None for a path without `FETCH_HEAD`.
    #[serde(serialize_with = "as_rfc3339_if_any")]
    pub fetched_at: Option<i64>,
    /// Why the source is out of date: it was last current longer ago than `stale_after`.
    #[serde(skip)]
    pub stale: Option<String>,
    /// The path at which the driver waits for a checkout.
    #[serde(skip)]
    pub awaited: Option<PathBuf>,
}

impl SourceStatus {
    /// Sets what is shown of the commit.
    pub(super) fn set_head(&mut self, head: &Commit) {
        self.subject = Some(head.subject().to_owned());
        self.committed_at = Some(head.committed_at);
    }
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PassResult {
    /// Every toggle was attempted or held, and something was published or recorded.
    Success,
    /// Nothing was published or recorded.
    Noop,
    /// The pass could not run or finish, such as without source, state or token. Holds the reason.
    Failed(String),
    /// The same, and only a person can end it: by a decision, a commit, or a repair. Holds the reason.
    Held(String),
}

impl PassResult {
    pub(super) fn of_error(error: &Error) -> Self {
        Self::failed(error.in_full(), error.needs_someone())
    }

    /// Returns the result of a pass that failed for this reason, which only a person can end if
    /// `needs_someone`.
    pub(super) fn failed(reason: String, needs_someone: bool) -> Self {
        let result = if needs_someone { Self::Held } else { Self::Failed };
        result(reason)
    }

    /// Returns why the pass was not a success.
    pub(crate) fn failure(&self) -> Option<&str> {
        match self {
            Self::Failed(reason) | Self::Held(reason) => Some(reason),
            Self::Success | Self::Noop => None,
        }
    }

    /// Returns `success`, `noop` or `error`, as in metric labels.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Noop => "noop",
            Self::Failed(_) | Self::Held(_) => "error",
        }
    }
}

impl Serialize for PassResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct LastPass {
    /// The time of its end, in seconds since 1970-01-01 UTC; in RFC 3339 form in JSON.
    #[serde(serialize_with = "as_rfc3339")]
    pub at: i64,
    pub result: PassResult,
    /// Its duration, in milliseconds.
    pub took_ms: u64,
}

impl LastPass {
    pub(super) fn new(at: i64, result: PassResult, took: Duration) -> Self {
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        Self { at, result, took_ms }
    }
}

fn as_rfc3339<S: Serializer>(seconds: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*seconds))
}

fn as_rfc3339_if_any<S: Serializer>(seconds: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error> {
    seconds.map(rfc3339).serialize(serializer)
}

/// The time of the last successful pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Success {
    /// In seconds since 1970-01-01 UTC, for display.
    pub at: i64,
    /// Monotonic, for computing the age.
    pub when: Instant,
}

/// The role of this process in the leader election.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Role {
    /// The state is not open yet.
    #[default]
    Starting,
    /// This process holds the lock of the state.
    Writer,
    /// Another process holds it. Describes that process.
    Follower(String),
}

impl Role {
    /// Returns for whom this process waits, and what to do about it.
    pub(crate) fn waits(&self) -> Option<String> {
        let Self::Follower(holder) = self else { return None };
        Some(format!(
            "another process is the writer: {holder}; this one takes over when it ends; to run both, give each its own \
             `--state-dir`"
        ))
    }
}

/// A wait that the service asked for (`Retry-After`).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ServiceWait {
    /// Its end. Monotonic.
    pub until: Instant,
    /// Its end in seconds since 1970-01-01 UTC.
    pub at: i64,
}

impl ServiceWait {
    pub(super) fn from_now(wait: Duration) -> Self {
        let seconds = i64::try_from(wait.as_secs()).unwrap_or(i64::MAX);
        Self { until: Instant::now() + wait, at: SystemClock.unix().saturating_add(seconds) }
    }
}

impl fmt::Display for ServiceWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = jiff::Timestamp::from_second(self.at).unwrap_or_default();
        let time = at.strftime("%H:%M:%S UTC");
        write!(f, "waiting until {time} because the service asked for it (Retry-After)")
    }
}

/// Why a scan for drift did not compare every toggle.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ScanFailure {
    pub reason: String,
    pub extent: ScanFailureExtent,
}

/// What a failed scan for drift says about the next pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ScanFailureExtent {
    /// Nothing: it concerns single toggles.
    Toggles,
    /// It would fail as well.
    Service,
    /// The same, and only a person can end it.
    ServiceHeld,
}

impl ScanFailure {
    /// Returns a failure for this reason, which the next pass would meet as well.
    pub(super) fn of_service(reason: String, needs_someone: bool) -> Self {
        let extent = if needs_someone { ScanFailureExtent::ServiceHeld } else { ScanFailureExtent::Service };
        Self { reason, extent }
    }

    pub(super) fn is_of_service(&self) -> bool {
        self.extent != ScanFailureExtent::Toggles
    }
}

/// The status of the daemon, published after every pass.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Status {
    /// The base URL of the service, if one is configured.
    pub service: Option<String>,
    pub source: SourceStatus,
    pub last_pass: Option<LastPass>,
    pub last_success: Option<Success>,
    /// The time at which the next pass is due, in seconds since 1970-01-01 UTC; none before the first one.
    pub next_pass: Option<i64>,
    /// Whether this process is the writer.
    pub role: Role,
    pub suspensions: Suspensions,
    /// The wait that the service asked for, until it is over.
    pub waiting: Option<ServiceWait>,
    /// Who publishes on the shared state while the running pass waits for it.
    pub queued: Option<String>,
    /// What it may mean that the shared state has no record; none if it has one.
    pub unrecorded: Option<String>,
    /// How the service fails during the running pass, if several toggles in a row had no useful response.
    pub doubt: Option<String>,
    /// Why the last scan for drift did not compare every toggle.
    pub drift_failure: Option<ScanFailure>,
    /// Whether no scan of this process has compared the service with what was applied yet, so that a toggle
    /// that is shown in sync may have drifted. False where nothing is scanned.
    pub awaits_scan: bool,
    /// The time of the pass after which the toggles are shown, in seconds since 1970-01-01 UTC; none before
    /// the first one that read them.
    pub toggles_at: Option<i64>,
    /// What the state has of before the start, until a pass has read the toggles.
    pub recorded: Option<String>,
    /// Sorted by id. Set with [`Status::set_toggles`].
    pub toggles: Arc<Vec<ToggleStatus>>,
    /// The withheld toggles, grouped.
    pub withheld: Arc<Withheld>,
    pub overview: Arc<Overview>,
    pub plan: Option<LastPlan>,
    /// The toggles that were changed on the service, with the changes. Sorted by id.
    pub drifted: Arc<Vec<DriftedToggle>>,
}

/// The remark while [`Status::awaits_scan`].
const UNSCANNED: &str = "the service has not been compared with what was applied since the start: drift is reported as of the \
                         last scan before";

/// The plan of the last pass. Equal to no plan of another pass, so that comparing two statuses is cheap.
#[derive(Clone, Debug)]
pub struct LastPlan(pub Arc<Plan>);

impl PartialEq for LastPlan {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for LastPlan {}

impl Status {
    /// Returns the wait that the service asked for, unless it is over.
    pub(crate) fn wait(&self) -> Option<&ServiceWait> {
        self.waiting.as_ref().filter(|waiting| Instant::now() < waiting.until)
    }

    /// Logs that a pass that somebody requested waits, if it does.
    pub(crate) fn log_wait(&self) {
        if let Some(wait) = self.wait() {
            tracing::info!(name: "pass_waits", reason = %wait, "the requested pass waits");
        }
    }

    /// Returns whether at least one toggle is known and all are in sync.
    pub(super) fn is_in_sync(&self) -> bool {
        let is_in_sync = |toggle: &ToggleStatus| toggle.state() == ToggleState::InSync;
        !self.toggles.is_empty() && self.toggles.iter().all(is_in_sync)
    }

    /// Replaces the toggles and regroups the withheld ones.
    pub fn set_toggles(&mut self, toggles: Vec<ToggleStatus>) {
        self.withheld = Arc::new(Withheld::of(&toggles));
        self.overview = Arc::new(Overview::of(&toggles));
        self.toggles = Arc::new(toggles);
    }

    pub(crate) fn toggles_in(&self, environment: &EnvironmentId) -> &[ToggleStatus] {
        let found = self.overview.environment(environment);
        let toggles = found.and_then(|found| self.toggles.get(found.place.clone()));
        toggles.unwrap_or_default()
    }

    /// Returns one sentence for each suspension.
    pub(crate) fn suspended(&self) -> impl Iterator<Item = String> {
        self.suspensions.iter().map(suspended)
    }

    /// Returns one sentence for each fact that an operator of a ready daemon should know, for `/readyz`, the
    /// page and the JSON.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let suspended = self.suspended();
        let withheld = Some(self.withheld.to_string()).filter(|text| !text.is_empty());
        let history = self.source.is_history_cut.then(|| HISTORY_CUT.to_owned());
        let stale = self.source.stale.clone();
        let waiting = self.waiting.as_ref().map(ToString::to_string);
        let remarks =
            suspended.chain(stale).chain(self.doubt.clone()).chain(self.queued.clone()).chain(waiting);
        let idle = self.plan.iter().flat_map(|plan| plan.0.idle_globs());
        let unscanned = self.awaits_scan.then(|| UNSCANNED.to_owned());
        let drift = self.drift_failure.as_ref().map(|failure| failure.reason.clone()).or(unscanned);
        remarks
            .chain(withheld)
            .chain(self.unrecorded.clone())
            .chain(self.recorded.clone())
            .chain(idle)
            .chain(drift)
            .chain(history)
            .collect()
    }
}

impl Status {
    /// Returns the remarks that the reason of `readiness` does not have already.
    pub(crate) fn remarks_beside(&self, readiness: &Readiness) -> Vec<String> {
        let reason = readiness.reason().unwrap_or_default();
        self.remarks().into_iter().filter(|remark| !reason.contains(remark.as_str())).collect()
    }
}

fn suspended((scope, suspension): (&SuspensionScope, &Suspension)) -> String {
    let Suspension { reason, until } = suspension;
    let globs = scope.globs().map(|globs| format!(" {globs}"));
    let until = until.map(|until| format!(" until {}", rfc3339(until)));
    let reason = reason.as_deref().map(|reason| format!(": {reason}"));
    format!(
        "suspended{}{}{}; {}",
        globs.unwrap_or_default(),
        until.unwrap_or_default(),
        reason.unwrap_or_default(),
        hinted(&resume(scope))
    )
}

/// A status without its toggles, in serializable form. Times are in RFC 3339 form.
#[derive(Debug, Serialize)]
pub struct StatusJson<'a> {
    ready: bool,
    reason: Option<&'a str>,
    remarks: Vec<String>,
    service: Option<&'a str>,
    source: &'a SourceStatus,
    last_pass: Option<&'a LastPass>,
    last_success: Option<String>,
    /// Absent where nothing schedules passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_pass: Option<String>,
    /// The time of the pass after which the toggles are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
    suspended: Option<SuspensionJson<'a>>,
    suspensions: Vec<ScopedSuspensionJson<'a>>,
    groups: &'a Withheld,
}

impl<'a> StatusJson<'a> {
    pub(crate) fn new(status: &'a Status, readiness: &'a Readiness) -> Self {
        // Destructured, so that no new field can be forgotten.
        let Status {
            service,
            source,
            last_pass,
            last_success,
            role: _,
            suspensions,
            waiting: _,
            // One of the remarks.
            queued: _,
            // One of the remarks.
            unrecorded: _,
            // One of the remarks.
            doubt: _,
            // One of the remarks.
            drift_failure: _,
            // One of the remarks.
            awaits_scan: _,
            next_pass,
            toggles_at,
            // One of the remarks.
            recorded: _,
            // Each output lists them in its own way.
            toggles: _,
            withheld,
            // Only in `/api/status`, `/api/plan` and `/api/drift`.
            overview: _,
            plan: _,
            drifted: _,
        } = status;
        Self {
            ready: *readiness == Readiness::Ready,
            reason: readiness.reason(),
            remarks: status.remarks_beside(readiness),
            service: service.as_deref(),
            source,
            last_pass: last_pass.as_ref(),
            last_success: last_success.map(|success| rfc3339(success.at)),
            next_pass: next_pass.map(rfc3339),
            as_of: toggles_at.map(rfc3339),
            suspended: suspensions.everything().map(SuspensionJson::from),
            suspensions: suspensions.iter().map(ScopedSuspensionJson::from).collect(),
            groups: withheld,
        }
    }
}

/// A suspension in serializable form.
#[derive(Debug, Serialize)]
pub struct SuspensionJson<'a> {
    reason: Option<&'a str>,
    until: Option<String>,
}

impl<'a> From<&'a Suspension> for SuspensionJson<'a> {
    fn from(suspension: &'a Suspension) -> Self {
        let Suspension { reason, until } = suspension;
        Self { reason: reason.as_deref(), until: until.map(rfc3339) }
    }
}

/// A suspension with its scope, which is `null` for everything, in serializable form.
#[derive(Debug, Serialize)]
pub struct ScopedSuspensionJson<'a> {
    scope: &'a SuspensionScope,
    #[serde(flatten)]
    suspension: SuspensionJson<'a>,
}

impl<'a> From<(&'a SuspensionScope, &'a Suspension)> for ScopedSuspensionJson<'a> {
    fn from((scope, suspension): (&'a SuspensionScope, &'a Suspension)) -> Self {
        Self { scope, suspension: suspension.into() }
    }
}

/// A toggle in serializable form.
#[derive(Serialize)]
struct ToggleJson<'a> {
    toggle: &'a ToggleId,
    state: ToggleState,
    reason: Option<String>,
    kind: Option<HoldKind>,
    revision: Option<CommitId>,
    applied_at: Option<String>,
}

impl Serialize for ToggleStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let toggle = ToggleJson {
            toggle: &self.toggle,
            state: self.state(),
            reason: self.reason(),
            kind: self.kind(),
            revision: self.revision,
            applied_at: self.applied_at.map(rfc3339),
        };
        toggle.serialize(serializer)
    }
}

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
    /// Returns whether the daemon is ready at `now`. A success older than `stale_after` does not count
    /// (src/daemon/README.md, "Readiness, log and metrics").
    pub(crate) fn readiness(&self, now: Instant, stale_after: Duration) -> Readiness {
        // Before the role: with `--state-remote origin`, the state cannot be opened without a checkout
        // either.
        if let Some(path) = &self.source.awaited {
            let path = path.display();
            return Readiness::Unready(format!("waiting for a checkout at `{path}`"));
        }
        match &self.role {
            Role::Starting => return Readiness::Unready("starting: no pass has ended yet".into()),
            Role::Follower(_) => return Readiness::Unready(self.role.waits().unwrap_or_default()),
            Role::Writer => {}
        }
        let readiness = self.freshness(now, stale_after);
        match self.waiting.filter(|waiting| now < waiting.until) {
            // The wait is the cause of the problem; a ready daemon only remarks on it.
            Some(waiting) if readiness != Readiness::Ready => Readiness::Unready(waiting.to_string()),
            // A pass that failed says the same of the service.
            _ => match (readiness, self.doubt.as_ref().filter(|_| self.failure().is_none())) {
                (Readiness::Unready(reason), Some(doubt)) => Readiness::Unready(format!("{reason}; {doubt}")),
                (readiness, _) => readiness,
            },
        }
    }

    /// Returns why the last pass failed, if it did.
    fn failure(&self) -> Option<&str> {
        self.last_pass.as_ref()?.result.failure()
    }

    /// Returns why nothing is published until a person has acted.
    pub(crate) fn held(&self) -> Option<&str> {
        match &self.last_pass.as_ref()?.result {
            PassResult::Held(reason) => Some(reason),
            PassResult::Failed(_) => None,
            PassResult::Success | PassResult::Noop => {
                let failure = self.drift_failure.as_ref()?;
                (failure.extent == ScanFailureExtent::ServiceHeld).then_some(&failure.reason)
            }
        }
    }

    fn freshness(&self, now: Instant, stale_after: Duration) -> Readiness {
        if let Some(reason) = self.failure() {
            return Readiness::Unready(format!("the last pass failed: {reason}"));
        }
        if let Some(failure) = self.drift_failure.as_ref().filter(|failure| failure.is_of_service()) {
            return Readiness::Unready(format!("the last scan for drift failed: {}", failure.reason));
        }
        let Some(success) = self.last_success else {
            return Readiness::Unready("starting: no pass has succeeded yet".into());
        };
        if now.saturating_duration_since(success.when) > stale_after {
            // Without the age, which differs from second to second: responses are shared while the reason is
            // the same.
            return Readiness::Unready(format!(
                "stale: no pass has succeeded for more than {} s (`--stale-after`)",
                stale_after.as_secs()
            ));
        }
        Readiness::Ready
    }
}

#[cfg(test)]
impl ToggleStatus {
    /// Returns a toggle in a state that nothing is known about.
    pub(crate) fn in_state(toggle: &str, state: ToggleState) -> Self {
        let hold = (state != ToggleState::InSync).then(|| Arc::new(Hold::undecided(state, "why")));
        Self::new(toggle.parse().unwrap(), hold)
    }
}

#[cfg(test)]
mod tests {
    use super::{LastPass, PassResult, Success, *};

    #[test]
    fn withheld_toggles_suspensions_and_cut_history_are_remarks() {
        let mut status = Status::default();
        assert_eq!(status.remarks(), Vec::<String>::new());
        let hold = Some(Arc::new(Hold::new(HoldKind::Rail, "")));
        status.set_toggles(vec![ToggleStatus::new("shop/prod/pay".parse().unwrap(), hold)]);
        let (reason, until) = (Some("freeze".to_owned()), Some(0));
        status.suspensions.add(SuspensionScope::everything(), Suspension { reason, until });
        status.source.is_history_cut = true;
        assert_eq!(
            status.remarks(),
            [
                "suspended until 1970-01-01T00:00:00Z: freeze; `gitoggle resume` publishes again",
                "1 held in shop/prod (rail)",
                "the history is cut: comments can be guesses, for which trailers do not count"
            ]
        );
    }

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
