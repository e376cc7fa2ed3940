//! Shows what passes do: `apply` has a bar on a terminal and one line per change when it ends; `run` counts
//! and logs.
//!
//! A toggle that fails again in the next pass for the same reason is logged only at DEBUG.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::config::LogFormat;
use crate::daemon::Metrics;
use crate::model::{HoldKind, LiveToggle, ToggleId, ToggleState, counted, escaped};
use crate::pass::{ChangeResult, Event, PublishAnswer, Report};
use crate::plan::{Change, Plan};
use crate::report::wrapped;
use crate::telemetry::{ANNOUNCEMENT, Stream};

/// The time at which results are printed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ResultTiming {
    /// Each when its change ends, so that the log of a killed CI job is complete.
    AsTheyEnd,
    /// All together, because the format is a single value.
    AtTheEnd,
}

/// Shows a bar with count, rate and remaining time, and the results.
pub(super) struct Progress {
    bar: ProgressBar,
    host: String,
    format: Option<LogFormat>,
    results: ResultTiming,
    /// Contended by lanes, for the time of one line.
    printed: Mutex<PrintedResults>,
}

#[derive(Default)]
struct PrintedResults {
    toggles: BTreeSet<ToggleId>,
    lines: ResultLines,
}

impl Progress {
    /// `host` is the service; `format` is the explicit format of log lines.
    pub(super) fn new(host: String, format: Option<LogFormat>, results: ResultTiming) -> Self {
        Self { bar: progress_bar(), host, format, results, printed: Mutex::default() }
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Returns the lines of a change, unless they were printed.
    pub(super) fn unprinted(&self, change: &Change, result: &ChangeResult) -> Option<String> {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_printed = printed.toggles.contains(&change.id);
        (!is_printed).then(|| printed.lines.next(change, result))
    }

    fn print(&self, change: &Change, result: &ChangeResult) {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = printed.lines.next(change, result);
        // A line that is printed while the bar is drawn would be mixed with it.
        let done = self.bar.suspend(|| Stream::Stdout.print(&lines));
        // A failed line is printed again at the end, where its error is reported.
        if done.is_ok() {
            printed.toggles.insert(change.id.clone());
        }
    }

    fn announce(&self, plan: &Plan) {
        let (source, changes) = (plan.source(), plan.changes());
        let published = plan.requests().count();
        match self.format {
            // A consumer of JSON log lines cannot read plain text among them.
            Some(LogFormat::Json) => {
                log_begin(&self.host, plan);
                log_listed(plan);
            }
            Some(LogFormat::Pretty) | None => {
                let (host, reference) = (escaped(&self.host), escaped(&source.reference));
                let work = match (published, changes.len() - published) {
                    (published, 0) => format!("publishing {} to", counted(published, "change")),
                    (0, compared) => format!("comparing {} with", counted(compared, "document")),
                    (published, compared) => format!(
                        "publishing {} to, and comparing {} with",
                        counted(published, "change"),
                        counted(compared, "document")
                    ),
                };
                let text = format!("{work} {host} from {reference} at {}\n", source.revision);
                let over: String = plan.requests().filter_map(over).collect();
                let _ = Stream::Stderr.print(&(text + &over));
            }
        }
    }

    pub(super) fn observe(&self, event: &Event<'_>) {
        match event {
            Event::Begins(plan) => {
                self.announce(plan);
                begin(&self.bar, plan.changes().len());
            }
            Event::Ended(change, result, answer) => self.ended(change, result, *answer),
            Event::Overwrites(change, live) => match self.format {
                Some(LogFormat::Json) => log_over(change, live),
                Some(LogFormat::Pretty) | None => {
                    let _ = self.bar.suspend(|| Stream::Stderr.print(&over_text(change, live)));
                }
            },
            Event::Answered(..)
            | Event::Doubted(_)
            | Event::Failed(..)
            | Event::HeldBack(_)
            | Event::Looked(_)
            | Event::Queues(_)
            | Event::Sends(..) => {}
        }
    }

    fn ended(&self, change: &Change, result: &ChangeResult, answer: Option<PublishAnswer>) {
        self.bar.inc(1);
        match self.results {
            ResultTiming::AsTheyEnd => {
                self.print(change, result);
                log_answer(change, result, answer);
            }
            ResultTiming::AtTheEnd => log_result(change, result, answer),
        }
    }
}

/// Formats changes with their results, one after the other. A reason that several share is printed with the
/// first.
#[derive(Debug, Default)]
pub(crate) struct ResultLines {
    /// The first change with each reason.
    reasons: BTreeMap<String, ToggleId>,
}

impl ResultLines {
    /// Returns the lines about the next change.
    pub(crate) fn next(&mut self, change: &Change, result: &ChangeResult) -> String {
        let word = result.as_str().replace('_', " ");
        let (id, action) = (&change.id, change.action.as_str());
        let mut text = format!("{word} {id} ({action})");
        if let Some(attribution) = change.known_attribution() {
            let _ = write!(text, " {}", escaped(&attribution.label()));
        }
        text.push('\n');
        if let Some(reason) = result.reason() {
            let _ = match self.reasons.get(&reason) {
                Some(first) => writeln!(text, "  for the same reason as {first}"),
                None => writeln!(text, "  {}", wrapped(&escaped(&reason).to_string(), 2)),
            };
            let first = self.reasons.entry(reason);
            first.or_insert_with(|| id.clone());
        }
        text
    }
}

fn over(change: &Change) -> Option<String> {
    Some(over_text(change, change.overwrites()?))
}

fn over_text(change: &Change, live: &LiveToggle) -> String {
    format!("  {} {}\n", change.id, change.over(live))
}

/// Returns a bar with count, rate and remaining time, which is shown on a terminal only, and not before it
/// begins.
pub(super) fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} · {rate}/s · {eta} left")
        .expect("the template is well formed")
        .with_key("rate", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = write!(out, "{:.0}", state.per_sec());
        });
    ProgressBar::hidden().with_style(style)
}

pub(super) fn begin(bar: &ProgressBar, count: usize) {
    bar.set_length(count as u64);
    // The rate is that since now.
    bar.reset();
    if Stream::Stderr.redraws() {
        bar.set_draw_target(ProgressDrawTarget::stderr());
    }
}

pub(super) struct RunObserver {
    host: String,
    metrics: Metrics,
    /// Whether the pass has too many changes to log each one that is applied.
    is_long: AtomicBool,
    /// The last logged result of each toggle that was not applied.
    logged: Mutex<BTreeMap<ToggleId, ChangeResult>>,
}

impl RunObserver {
    pub(super) fn new(host: String, metrics: Metrics) -> Self {
        Self { host, metrics, is_long: AtomicBool::new(false), logged: Mutex::default() }
    }

    fn is_logged(&self, toggle: &ToggleId) -> bool {
        self.logged.lock().unwrap_or_else(PoisonError::into_inner).contains_key(toggle)
    }

    /// Returns whether `result` is the last one of the toggle, and stores it.
    fn is_known(&self, toggle: &ToggleId, result: &ChangeResult) -> bool {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if result.is_recorded() {
            // The next failure is logged again, even for the same reason.
            logged.remove(toggle);
            return false;
        }
        logged.insert(toggle.clone(), result.clone()).as_ref() == Some(result)
    }

    pub(super) fn observe(&self, event: &Event<'_>) {
        match event {
            Event::Answered(_, outcome, took) | Event::Failed(_, outcome, took) => {
                self.metrics.published(outcome.kind, *took);
            }
            Event::Begins(plan) => {
                self.is_long.store(plan.changes().len() > Report::MANY, Relaxed);
                // A pass that only tries again what was held or failed is no news.
                if plan.requests().any(|change| !self.is_logged(&change.id)) {
                    log_begin(&self.host, plan);
                    log_listed(plan);
                }
            }
            Event::Overwrites(change, live) => log_over(change, live),
            Event::Ended(change, result, answer) => self.ended(change, result, *answer),
            Event::Doubted(_)
            | Event::HeldBack(_)
            | Event::Looked(_)
            | Event::Queues(_)
            | Event::Sends(..) => {}
        }
    }

    fn ended(&self, change: &Change, result: &ChangeResult, answer: Option<PublishAnswer>) {
        if let (ChangeResult::Applied, Some(commit)) = (result, change.attribution.commit()) {
            let now = jiff::Timestamp::now().as_second();
            // A commit from a machine whose clock is ahead is taken to be zero seconds old.
            let since = u64::try_from(now.saturating_sub(commit.committed_at));
            self.metrics.applied_after(Duration::from_secs(since.unwrap_or_default()));
        }
        match (self.is_known(&change.id, result), result.reason()) {
            (true, Some(reason)) => {
                tracing::debug!(name: "unchanged", toggle = %change.id, reason, "not applied, as before");
            }
            (false, Some(reason)) if is_in_status(result) => {
                tracing::debug!(name: "held", toggle = %change.id, reason, "held");
            }
            _ if result.is_recorded() && self.is_long.load(Relaxed) => {
                tracing::debug!(name: "published", toggle = %change.id, "published or found equal");
            }
            _ => log_result(change, result, answer),
        }
    }
}

/// Returns whether the status after the pass logs what holds a change: what its plan has held is logged there, once
/// for all of a group, whether the service can be read or not.
fn is_in_status(result: &ChangeResult) -> bool {
    let ChangeResult::Held(hold) = result else { return false };
    hold.is_recordable() || (hold.state == ToggleState::Held && !hold.is_live())
}

fn log_begin(host: &str, plan: &Plan) {
    let source = plan.source();
    let published = plan.requests().count();
    let compared = plan.changes().len() - published;
    tracing::info!(
        name: "publishing",
        target: ANNOUNCEMENT,
        host,
        reference = source.reference,
        revision = %source.revision,
        changes = published,
        compared = (compared > 0).then_some(compared),
        "publishing"
    );
}

/// Logs what a plan publishes over.
fn log_listed(plan: &Plan) {
    let over = plan.requests().filter_map(|change| Some((change, change.overwrites()?)));
    over.for_each(|(change, live)| log_over(change, live));
}

fn log_over(change: &Change, live: &LiveToggle) {
    let (toggle, over) = (&change.id, live.to_string());
    tracing::warn!(name: "overwrites", %toggle, over, "publishes over what was changed on the service");
}

fn log_result(change: &Change, result: &ChangeResult, answer: Option<PublishAnswer>) {
    let toggle = &change.id;
    let (status, took_ms) = (answer.and_then(|answer| answer.status), took_ms(answer));
    match result {
        ChangeResult::Applied => {
            let commit = change.attribution.commit();
            let commit = commit.map(|commit| tracing::field::display(commit.id));
            tracing::info!(name: "published", %toggle, commit, status, took_ms, "published");
        }
        ChangeResult::Held(hold) => {
            let (kind, reason) = (hold.kind.map(HoldKind::as_str), hold.reason());
            match hold.state {
                ToggleState::Failed => {
                    tracing::warn!(name: "failed", %toggle, reason, status, took_ms, "failed");
                }
                ToggleState::Pending => {
                    tracing::warn!(name: "pending", %toggle, reason, status, took_ms, "pending");
                }
                _ if !hold.is_live() => tracing::info!(name: "held", %toggle, kind, reason, "held"),
                _ => {
                    tracing::warn!(name: "live_hold", %toggle, kind, reason, "held because of its live state");
                }
            }
        }
        ChangeResult::Converged => {
            tracing::info!(name: "converged", %toggle, "the service had this targeting already, recorded");
        }
        ChangeResult::NotSent => {}
    }
}

/// Logs the last request for a change whose result was printed.
fn log_answer(change: &Change, result: &ChangeResult, answer: Option<PublishAnswer>) {
    let (toggle, outcome) = (&change.id, result.as_str());
    let (status, took_ms) = (answer.and_then(|answer| answer.status), took_ms(answer));
    tracing::info!(name: "publish_ended", %toggle, outcome, status, took_ms, "publish ended");
}

fn took_ms(answer: Option<PublishAnswer>) -> Option<u64> {
    answer.map(|answer| u64::try_from(answer.took.as_millis()).unwrap_or(u64::MAX))
}
