//! Shows the progress of a pass: a bar on a terminal, and one line per change when it ends.

use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock, PoisonError};

use indicatif::ProgressBar;

use super::output::ResultLines;
use crate::cli::observer::{log_answer, log_begin, log_result};
use crate::cli::progress_bar::progress_bar;
use crate::config::LogFormat;
use crate::model::{Action, ToggleId, counted, escaped};
use crate::pass::{ChangeResult, Event, PublishAnswer};
use crate::plan::{Change, Plan};
use crate::telemetry::Stream;

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
    bar: OnceLock<ProgressBar>,
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
        Self {
            bar: OnceLock::new(),
            host,
            format,
            results,
            printed: Mutex::default(),
        }
    }

    pub(super) fn clear(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
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
        let print = || Stream::Stdout.print(&lines);
        let done = match self.bar.get() {
            // A line that is printed while the bar is drawn would be mixed with it.
            Some(bar) => bar.suspend(print),
            None => print(),
        };
        // A failed line is printed again at the end, where its error is reported.
        if done.is_ok() {
            printed.toggles.insert(change.id.clone());
        }
    }

    fn announce(&self, plan: &Plan) {
        let (source, changes) = (plan.source(), plan.changes());
        let adopted = changes
            .iter()
            .filter(|change| change.action == Action::Adopt)
            .count();
        match self.format {
            // A consumer of JSON log lines cannot read plain text among them.
            Some(LogFormat::Json) => log_begin(&self.host, plan),
            Some(LogFormat::Pretty) | None => {
                let (host, reference) = (escaped(&self.host), escaped(&source.reference));
                let published = changes.len() - adopted;
                let work = match (published, adopted) {
                    (published, 0) => format!("publishing {} to", counted(published, "change")),
                    (0, adopted) => format!("comparing {} with", counted(adopted, "document")),
                    (published, adopted) => format!(
                        "publishing {} to, and comparing {} with",
                        counted(published, "change"),
                        counted(adopted, "document")
                    ),
                };
                let text = format!("{work} {host} from {reference} at {}\n", source.revision);
                let _ = Stream::Stderr.print(&text);
            }
        }
    }

    pub(super) fn observe(&self, event: &Event<'_>) {
        match event {
            Event::Begins(plan) => self.begin(plan),
            Event::Ended(change, result, answer) => self.ended(change, result, *answer),
            Event::Answered(..) | Event::HeldBack(_) | Event::Looked(_) => {}
        }
    }

    fn begin(&self, plan: &Plan) {
        self.announce(plan);
        let _ = self.bar.set(progress_bar(plan.changes().len()));
    }

    fn ended(&self, change: &Change, result: &ChangeResult, answer: Option<PublishAnswer>) {
        if let Some(bar) = self.bar.get() {
            bar.inc(1);
        }
        match self.results {
            ResultTiming::AsTheyEnd => {
                self.print(change, result);
                log_answer(change, result, answer);
            }
            ResultTiming::AtTheEnd => log_result(change, result, answer),
        }
    }
}
