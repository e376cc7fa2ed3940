//! Defines the metrics (src/daemon/README.md, "Readiness, log and metrics"). Every value of every label
//! exists from the start, so that a rate is right from the first event.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::daemon::status::{PassResult, ToggleStatus, Withheld};
use crate::model::{BUILD, HoldKind, OutcomeKind, Suspensions, ToggleState, words};
use crate::state::{Clock as _, SystemClock};

/// The metrics of one process. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    registry: Registry,
    commit_to_applied: Histogram,
    drift_failures: Labeled<Counter>,
    drift_scans: Labeled<Counter>,
    last_success: Gauge,
    notifications_failed: Counter,
    pass_duration: Histogram,
    passes: Labeled<Counter>,
    publish_duration: Histogram,
    publishes: Labeled<Counter>,
    source_age: SourceAge,
    source_fetch_duration: Histogram,
    suspended: Gauge,
    toggles: Labeled<Gauge<u64, AtomicU64>>,
    webhooks: Labeled<Counter>,
    withheld: Labeled<Gauge<u64, AtomicU64>>,
    writer: Gauge,
}

words! {
    ScanResult {
        /// There was no scan, such as without the state.
        Error = "error",
        /// Something newer interrupted it.
        Interrupted = "interrupted",
        /// Some toggles could not be compared.
        Partial = "partial",
        /// Every toggle was compared.
        Success = "success",
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Creates metrics without events.
    pub fn new() -> Self {
        let mut inner = Inner {
            registry: Registry::default(),
            commit_to_applied: Histogram::new(COMMIT_BUCKETS),
            drift_failures: Labeled::new("outcome", OutcomeKind::ALL.map(OutcomeKind::as_str)),
            drift_scans: Labeled::new("result", ScanResult::ALL.map(ScanResult::as_str)),
            last_success: Gauge::default(),
            notifications_failed: Counter::default(),
            pass_duration: Histogram::new(PASS_BUCKETS),
            passes: Labeled::new("result", ["error", "noop", "success"]),
            publish_duration: Histogram::new(PUBLISH_BUCKETS),
            publishes: Labeled::new("outcome", OutcomeKind::ALL.map(OutcomeKind::as_str)),
            source_age: SourceAge::default(),
            source_fetch_duration: Histogram::new(FETCH_BUCKETS),
            suspended: Gauge::default(),
            toggles: Labeled::new("state", ToggleState::ALL.map(ToggleState::as_str)),
            webhooks: Labeled::new("result", [ACCEPTED, REFUSED]),
            withheld: Labeled::new("reason", HoldKind::ALL.map(HoldKind::as_str)),
            writer: Gauge::default(),
        };
        let help = "Start of the process, in seconds since 1970";
        // The name that every Prometheus client uses, without a prefix.
        inner.registry.register_with_unit("process_start_time", help, Unit::Seconds, start());
        inner.register();
        Self(Arc::new(inner))
    }

    /// Counts a pass that ended after `took`.
    pub fn pass_ended(&self, result: &PassResult, took: Duration) {
        self.0.passes.with(result.as_str()).inc();
        self.0.pass_duration.observe(took.as_secs_f64());
    }

    pub fn drift_scanned(&self, result: ScanResult) {
        self.0.drift_scans.with(result.as_str()).inc();
    }

    /// Counts a scan in which reads had this outcome.
    pub fn scan_failed(&self, outcome: OutcomeKind) {
        self.0.drift_failures.with(outcome.as_str()).inc();
    }

    /// Counts an attempt to publish one toggle, which took `took`.
    pub fn published(&self, outcome: OutcomeKind, took: Duration) {
        self.0.publishes.with(outcome.as_str()).inc();
        self.0.publish_duration.observe(took.as_secs_f64());
    }

    /// Sets the number of toggles by state.
    pub fn toggles(&self, toggles: &[ToggleStatus]) {
        for state in ToggleState::ALL {
            let count = toggles.iter().filter(|toggle| toggle.state() == state).count();
            self.0.toggles.with(state.as_str()).set(count as u64);
        }
    }

    /// Sets the number of withheld toggles by reason.
    pub fn withheld(&self, withheld: &Withheld) {
        for kind in HoldKind::ALL {
            let count = withheld.because_of(kind);
            self.0.withheld.with(kind.as_str()).set(count as u64);
        }
    }

    /// Sets the time at which the source was last current, in seconds since 1970-01-01 UTC; none for a source
    /// without an age.
    pub fn source_fetched_at(&self, at: Option<i64>) {
        self.0.source_age.set(at);
    }

    /// Sets the time of the last successful pass, in seconds since 1970-01-01 UTC.
    pub fn succeeded_at(&self, at: i64) {
        self.0.last_success.set(at);
    }

    /// Records the duration of a fetch of the source.
    pub fn fetched(&self, took: Duration) {
        self.0.source_fetch_duration.observe(took.as_secs_f64());
    }

    /// Records the time from a commit (its committer date) until a toggle of it was applied.
    pub fn applied_after(&self, since_commit: Duration) {
        self.0.commit_to_applied.observe(since_commit.as_secs_f64());
    }

    /// Sets whether an operator has suspended anything.
    pub fn suspensions(&self, suspensions: &Suspensions) {
        self.0.suspended.set(i64::from(!suspensions.is_empty()));
    }

    /// Counts an authentic webhook.
    pub(crate) fn webhook_accepted(&self) {
        self.0.webhooks.with(ACCEPTED).inc();
    }

    pub(crate) fn webhook_refused(&self) {
        self.0.webhooks.with(REFUSED).inc();
    }

    /// Sets whether this process is the writer.
    pub(crate) fn writer(&self, is_writer: bool) {
        self.0.writer.set(i64::from(is_writer));
    }

    /// Counts a notification that could not be delivered.
    pub fn notification_failed(&self) {
        self.0.notifications_failed.inc();
    }

    /// Returns all metrics as OpenMetrics text.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.0.registry).expect("writing into a string does not fail");
        text
    }
}

/// The results of webhooks.
const ACCEPTED: &str = "accepted";
const REFUSED: &str = "refused";

/// In seconds: from a pass without changes to the first pass over all toggles.
const PASS_BUCKETS: [f64; 11] = [0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0, 7200.0];
/// In seconds: a PATCH, up to the default timeout and beyond.
const PUBLISH_BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];
/// In seconds: a lookup of a local ref, a fetch, a clone.
const FETCH_BUCKETS: [f64; 10] = [0.001, 0.01, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 300.0];
/// In seconds: seconds with a webhook, minutes with a poll, hours with an outage.
const COMMIT_BUCKETS: [f64; 11] =
    [1.0, 2.0, 5.0, 15.0, 30.0, 60.0, 300.0, 1800.0, 7200.0, 86_400.0, 604_800.0];

impl Inner {
    fn register(&mut self) {
        // Destructured, so that no metric can be forgotten.
        let Self {
            registry,
            commit_to_applied,
            drift_failures,
            drift_scans,
            last_success,
            notifications_failed,
            pass_duration,
            passes,
            publish_duration,
            publishes,
            source_age,
            source_fetch_duration,
            suspended,
            toggles,
            webhooks,
            withheld,
            writer,
        } = self;
        let registry = registry.sub_registry_with_prefix("gitoggle");
        // The crate appends `_total` to counters, and the unit if one is given.
        let mut duration = |name, help, histogram: &Histogram| {
            registry.register_with_unit(name, help, Unit::Seconds, histogram.clone());
        };
        let help = "Time from the commit of a change until it was applied";
        duration("commit_to_applied", help, commit_to_applied);
        duration("pass_duration", "Duration of a pass", pass_duration);
        let help = "Duration of an attempt to publish a toggle";
        duration("publish_duration", help, publish_duration);
        let help = "Duration of a fetch of the source";
        duration("source_fetch_duration", help, source_fetch_duration);
        registry.register_with_unit(
            "last_success_timestamp",
            "Time of the last successful pass, in seconds since 1970; 0 before the first",
            Unit::Seconds,
            last_success.clone(),
        );
        registry.register_collector(Box::new(source_age.clone()));
        registry.register("build_info", "Version and commit of the running program", build_info());
        let help = "Notifications that could not be delivered";
        registry.register("notices_failed", help, notifications_failed.clone());
        let help =
            "Comparisons of the service with what was applied in which reads failed, by outcome of the reads";
        registry.register("drift_failures", help, drift_failures.family.clone());
        let help = "Comparisons of the service with what was applied, by result";
        registry.register("drift_scans", help, drift_scans.family.clone());
        registry.register("passes", "Passes that ended, by result", passes.family.clone());
        let help = "Attempts to publish a toggle, by outcome";
        registry.register("publishes", help, publishes.family.clone());
        registry.register("suspended", "Whether an operator has suspended publishing", suspended.clone());
        registry.register("toggles", "Toggles, by state", toggles.family.clone());
        let help = "Toggles that the last pass withheld, by reason";
        registry.register("withheld", help, withheld.family.clone());
        registry.register("webhooks", "Webhooks, by result", webhooks.family.clone());
        let help = "Whether this process writes to the state, and does not wait for another one";
        registry.register("writer", help, writer.clone());
    }
}

fn start() -> Gauge {
    let start = Gauge::default();
    start.set(SystemClock.unix());
    start
}

/// The time at which the source was last current, in seconds since 1970-01-01 UTC.
#[derive(Clone, Debug)]
struct SourceAge(Arc<AtomicI64>);

/// The value for a source without an age.
const NONE: i64 = i64::MIN;

impl Default for SourceAge {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(NONE)))
    }
}

impl SourceAge {
    fn set(&self, fetched_at: Option<i64>) {
        // No other memory depends on this value.
        self.0.store(fetched_at.unwrap_or(NONE), Ordering::Relaxed);
    }

    /// Returns the age in seconds; 0 if the clock was set back.
    fn age(&self, now: SystemTime) -> Option<i64> {
        let fetched_at = self.0.load(Ordering::Relaxed);
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        (fetched_at != NONE).then(|| now.saturating_sub(fetched_at).max(0))
    }
}

impl Collector for SourceAge {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(age) = self.age(SystemTime::now()) else {
            return Ok(());
        };
        let gauge = ConstGauge::new(age);
        let help = "Time since the source was last fetched or looked up successfully";
        let metric =
            encoder.encode_descriptor("source_age", help, Some(&Unit::Seconds), gauge.metric_type())?;
        gauge.encode(metric)
    }
}

/// `N` labels: their names and values.
type Labels<const N: usize> = [(&'static str, &'static str); N];

#[derive(Clone, Debug)]
struct Labeled<M> {
    label: &'static str,
    family: Family<Labels<1>, M>,
}

impl<M: Clone + Default> Labeled<M> {
    /// Creates the metric of each of these values.
    fn new(label: &'static str, values: impl IntoIterator<Item = &'static str>) -> Self {
        let family = Family::default();
        let labeled = Self { label, family };
        values.into_iter().for_each(|value| drop(labeled.with(value)));
        labeled
    }

    fn with(&self, value: &'static str) -> M {
        self.family.get_or_create_owned(&[(self.label, value)])
    }
}

/// Returns the metric that shows the version and the commit of the program.
fn build_info() -> Family<Labels<2>, Gauge> {
    let build: Family<Labels<2>, Gauge> = Family::default();
    let commit = BUILD.commit.unwrap_or("unknown");
    let _ = build.get_or_create(&[("version", BUILD.version), ("commit", commit)]).set(1);
    build
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BUILD, Hold, Suspension, SuspensionScope};

    #[test]
    fn the_text_has_the_names_of_the_contract() {
        let metrics = Metrics::new();
        metrics.pass_ended(&PassResult::Noop, Duration::from_millis(2));
        metrics.published(OutcomeKind::Applied, Duration::from_millis(20));
        metrics.succeeded_at(1_700_000_000);
        let mut suspensions = Suspensions::default();
        suspensions.add(SuspensionScope::everything(), Suspension { reason: None, until: None });
        metrics.suspensions(&suspensions);
        metrics.notification_failed();
        metrics.fetched(Duration::from_secs(1));
        metrics.applied_after(Duration::from_secs(3));
        let text = metrics.encode();
        let mut samples: Vec<&str> =
            text.lines().filter(|line| line.starts_with("gitoggle_") && !line.contains("_bucket{")).collect();
        samples.sort_unstable();
        insta::assert_snapshot!(
            samples
                .join("\n")
                .replace(BUILD.version, "[version]")
                .replace(BUILD.commit.unwrap_or("unknown"), "[commit]"),
            @r#"
        gitoggle_build_info{version="[version]",commit="[commit]"} 1
        gitoggle_commit_to_applied_seconds_count 1
        gitoggle_commit_to_applied_seconds_sum 3.0
        gitoggle_drift_failures_total{outcome="applied"} 0
        gitoggle_drift_failures_total{outcome="busy"} 0
        gitoggle_drift_failures_total{outcome="forbidden"} 0
        gitoggle_drift_failures_total{outcome="lost"} 0
        gitoggle_drift_failures_total{outcome="misrouted"} 0
        gitoggle_drift_failures_total{outcome="refused"} 0
        gitoggle_drift_failures_total{outcome="unauthorized"} 0
        gitoggle_drift_failures_total{outcome="untrusted"} 0
        gitoggle_drift_scans_total{result="error"} 0
        gitoggle_drift_scans_total{result="interrupted"} 0
        gitoggle_drift_scans_total{result="partial"} 0
        gitoggle_drift_scans_total{result="success"} 0
        gitoggle_last_success_timestamp_seconds 1700000000
        gitoggle_notices_failed_total 1
        gitoggle_pass_duration_seconds_count 1
        gitoggle_pass_duration_seconds_sum 0.002
        gitoggle_passes_total{result="error"} 0
        gitoggle_passes_total{result="noop"} 1
        gitoggle_passes_total{result="success"} 0
        gitoggle_publish_duration_seconds_count 1
        gitoggle_publish_duration_seconds_sum 0.02
        gitoggle_publishes_total{outcome="applied"} 1
        gitoggle_publishes_total{outcome="busy"} 0
        gitoggle_publishes_total{outcome="forbidden"} 0
        gitoggle_publishes_total{outcome="lost"} 0
        gitoggle_publishes_total{outcome="misrouted"} 0
        gitoggle_publishes_total{outcome="refused"} 0
        gitoggle_publishes_total{outcome="unauthorized"} 0
        gitoggle_publishes_total{outcome="untrusted"} 0
        gitoggle_source_fetch_duration_seconds_count 1
        gitoggle_source_fetch_duration_seconds_sum 1.0
        gitoggle_suspended 1
        gitoggle_toggles{state="drifted"} 0
        gitoggle_toggles{state="failed"} 0
        gitoggle_toggles{state="held"} 0
        gitoggle_toggles{state="in_sync"} 0
        gitoggle_toggles{state="orphan"} 0
        gitoggle_toggles{state="pending"} 0
        gitoggle_webhooks_total{result="accepted"} 0
        gitoggle_webhooks_total{result="refused"} 0
        gitoggle_withheld{reason="approval_required"} 0
        gitoggle_withheld{reason="archived"} 0
        gitoggle_withheld{reason="awaits_approval"} 0
        gitoggle_withheld{reason="awaits_change"} 0
        gitoggle_withheld{reason="differs_from_live"} 0
        gitoggle_withheld{reason="drifted"} 0
        gitoggle_withheld{reason="environment"} 0
        gitoggle_withheld{reason="failed_alone"} 0
        gitoggle_withheld{reason="first_pass"} 0
        gitoggle_withheld{reason="invalid"} 0
        gitoggle_withheld{reason="missing"} 0
        gitoggle_withheld{reason="not_reviewed"} 0
        gitoggle_withheld{reason="rail"} 0
        gitoggle_withheld{reason="refused"} 0
        gitoggle_withheld{reason="renamed"} 0
        gitoggle_withheld{reason="return_type"} 0
        gitoggle_withheld{reason="state_lost"} 0
        gitoggle_withheld{reason="stopped"} 0
        gitoggle_withheld{reason="suspended"} 0
        gitoggle_withheld{reason="unknown"} 0
        gitoggle_withheld{reason="window"} 0
        gitoggle_writer 0
        "#
        );
    }

    #[test]
    fn toggles_are_counted_by_state_and_reason() {
        let metrics = Metrics::new();
        let toggle = || {
            let hold = Arc::new(Hold::new(HoldKind::Rail, ""));
            ToggleStatus::new("a/b/c".parse().unwrap(), Some(hold))
        };
        metrics.toggles(&[toggle(), toggle()]);
        metrics.toggles(&[toggle()]);
        metrics.withheld(&Withheld::of(&[toggle()]));
        let text = metrics.encode();
        assert!(text.contains("gitoggle_toggles{state=\"held\"} 1\n"), "{text}");
        assert!(text.contains("gitoggle_withheld{reason=\"rail\"} 1\n"), "{text}");
    }
}
