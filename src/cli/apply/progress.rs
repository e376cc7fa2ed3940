//! Shows the progress of a pass: a bar on a terminal, and one line per change when it ends.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use indicatif::ProgressBar;

use super::output::ResultLines;
use crate::cli::observer::{log_answer, log_begin, log_result};
use crate::cli::progress_bar::{begin, progress_bar};
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
        let adopted = changes.iter().filter(|change| change.action == Action::Adopt).count();
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
                let over: String = changes.iter().filter_map(over).collect();
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
            Event::Answered(..) | Event::Doubted(_) | Event::HeldBack(_) | Event::Looked(_) => {}
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

/// Returns the line about what a change publishes over.
fn over(change: &Change) -> Option<String> {
    let live = change.overwrites()?;
    Some(format!("  {} publishes over what was changed on the service: {live}\n", change.id))
}
