//! `gitoggle apply`: makes one pass.

mod output;
mod progress;

use std::sync::Arc;
use std::time::Duration;

use super::failure::{ExitStatus, Failure};
use super::links::links;
use super::{color, forge, note, plan, print, setup, show};
use crate::config::{OutputFormat, Settings};
use crate::drift::{DriftScanner, overwritable};
use crate::forge::CommitVerdict;
use crate::model::{JunitKind, ServiceKind, chain, escaped};
use crate::pass::{self, ChangeResult, Config, PassContext, Reconciler, Report, ReviewSource, Runtime};
use crate::plan::OnDrift;
use crate::report;
use crate::source::CacheMode;
use crate::state;
pub(super) use output::ResultLines;
use progress::{Progress, ResultTiming};

/// The maximum wait for another process that writes to the state.
const LOCK_WAIT: Duration = Duration::from_secs(60);

pub(super) fn run(settings: &Settings) -> Result<ExitStatus, Failure> {
    let repository = forge::repository(settings)?;
    let result = forge::reviews(settings).and_then(|reviews| pass(settings, reviews));
    // A job that was run again for an old commit does not know how the newest one went.
    let is_stale = result.as_ref().is_err_and(Failure::is_stale);
    if let Some(repository) = repository.filter(|_| !is_stale) {
        forge::set_status(settings, repository, verdict(&result))?;
    }
    let result = result.and_then(|pass| {
        let status = pass.status(settings.exit_zero_when_held);
        pass.printed.map(|()| status)
    });
    match (result, settings.exit_zero_when_held) {
        // A hold of the whole pass, such as a stale checkout, is an error without a report.
        (Err(failure), true) if failure.status() == ExitStatus::Held => Err(failure.with(ExitStatus::Clean)),
        (result, _) => result,
    }
}

/// A pass, and the comparison with the service before it.
struct FinishedPass {
    report: Report,
    /// Failed if drift was to be overwritten, and not every toggle could be compared.
    comparison: ExitStatus,
    /// Failed if the report could not be printed.
    printed: Result<(), Failure>,
}

impl FinishedPass {
    fn status(&self, exit_zero_when_held: bool) -> ExitStatus {
        status(&self.report, exit_zero_when_held).and(self.comparison)
    }
}

fn pass(settings: &Settings, reviews: Option<ReviewSource>) -> Result<FinishedPass, Failure> {
    let config = Config { reviews, ..setup::config(settings, CacheMode::Keep)? };
    let host = setup::service(&config);
    let mut reconciler = open(config)?;
    let (runtime, stop) = setup::stoppable()?;
    let results = match settings.output {
        OutputFormat::Human => ResultTiming::AsTheyEnd,
        _ => ResultTiming::AtTheEnd,
    };
    let progress = Arc::new(Progress::new(host, settings.log_format, results));
    let observer = Arc::clone(&progress);
    let handle = Runtime::Tokio(runtime.handle().clone());
    let context = PassContext::new(handle, stop, move |event| observer.observe(event));
    let (inputs, drift) =
        if overwrites(settings) { overwritable(reconciler.config(), &context)? } else { Default::default() };
    let unread = drift.failure();
    let report = reconciler.pass(&context, inputs);
    // The bar ends before an error is printed below it.
    progress.clear();
    let mut report = report?;
    // Without it, the next scan for drift reads these toggles, so this is not a failure.
    if let Err(error) = DriftScanner::keep_published(reconciler.config(), &report) {
        tracing::info!(name: "live_versions_lost", reason = chain(&error), "could not keep which versions were applied");
    }
    let comparison = ExitStatus::Failed.when(unread.is_some());
    report.notes.extend(unread.map(|unread| escaped(&unread).to_string()));
    let printed = print_report(&report, &progress, settings);
    Ok(FinishedPass { report, comparison, printed })
}

fn print_report(report: &Report, progress: &Progress, settings: &Settings) -> Result<(), Failure> {
    for text in &report.notes {
        note(&format!("note: {text}\n"))?;
    }
    print_results(report, progress, settings)?;
    print_end(report)
}

/// Returns whether the pass also publishes what was changed on the service only.
fn overwrites(settings: &Settings) -> bool {
    let overwrites = settings.overwrite_drift || settings.on_drift == OnDrift::Overwrite;
    overwrites && settings.service_kind == ServiceKind::FeatureProbe
}

/// Opens the state. Prints the holder of the lock before waiting for it.
fn open(config: Config) -> Result<Reconciler, Failure> {
    // The holder is printed before the wait, so that a CI log explains the delay.
    match Reconciler::open(config.clone(), Duration::ZERO) {
        Err(pass::Error::State(state::Error::Locked { holder, .. })) => {
            note(&format!("waiting for {holder}, which is writing to this state\n"))?;
            Ok(Reconciler::open(config, LOCK_WAIT)?)
        }
        opened => Ok(opened?),
    }
}

fn status(report: &Report, exit_zero_when_held: bool) -> ExitStatus {
    let failed = ExitStatus::Failed.when(!report.is_complete());
    let held = match exit_zero_when_held {
        false if report.has_held() => plan::invalid(&report.plan).and(ExitStatus::Held),
        false => plan::held(&report.plan),
        // Only holds become a success: invalid documents and failures keep their exit codes (DESIGN, section 3).
        true => plan::invalid(&report.plan),
    };
    held.and(failed)
}

/// Returns the text of the commit status.
fn verdict(result: &Result<FinishedPass, Failure>) -> forge::PassVerdict {
    // A hold is pending even if it does not fail the job.
    let status = match result {
        Ok(pass) => pass.status(false),
        Err(failure) => failure.status(),
    };
    let (description, commit) = match result {
        Ok(FinishedPass { report, .. }) => {
            (output::one_line(report), Some(report.plan.source().revision.to_string()))
        }
        Err(_) => ("nothing was applied; the job has the reason".to_owned(), None),
    };
    forge::PassVerdict {
        verdict: match status {
            ExitStatus::Clean | ExitStatus::Changes => CommitVerdict::Success,
            ExitStatus::Held => CommitVerdict::Pending,
            ExitStatus::Failed | ExitStatus::Invalid | ExitStatus::Usage => CommitVerdict::Failure,
        },
        description,
        commit,
    }
}

fn print_results(report: &Report, progress: &Progress, settings: &Settings) -> Result<(), Failure> {
    match settings.output {
        OutputFormat::Github => {
            print(&report::github(&report.plan, &report.notes))?;
            // First, so that it is printed even if the summary cannot be written.
            note(&format!("note: {}\n", output::one_line(report)))?;
            let links = links(settings);
            show::step_summary(|limit| output::markdown(report, settings.service_kind, limit, links.as_ref()))
        }
        OutputFormat::Human => {
            let left: String =
                report.lines().filter_map(|(change, result)| progress.unprinted(change, result)).collect();
            print(&(left + &output::rest(report, settings.service_kind, color(settings))))
        }
        OutputFormat::Json => show::json(&output::ReportJson::of(report)),
        OutputFormat::Junit => {
            // A hold that the exit code does not show is not a failed test either.
            let held = if settings.exit_zero_when_held { JunitKind::Skipped } else { JunitKind::Failure };
            print(&output::junit(report, held))
        }
        OutputFormat::Gitlab | OutputFormat::Sarif => Err(super::unsupported_output(settings.output)),
        OutputFormat::Markdown => print(&output::markdown(
            report,
            settings.service_kind,
            report::ANY_COMMENT,
            links(settings).as_ref(),
        )),
    }
}

/// Prints why the pass ended early, if it did.
fn print_end(report: &Report) -> Result<(), Failure> {
    if let Some(stopped) = &report.stopped {
        let is_last = |result: &ChangeResult| result.reason() == stopped.last();
        // The line of the toggle has the outcome already.
        let text = if stopped.last().is_some() && report.count(is_last) > 0 {
            stopped.verdict()
        } else {
            stopped.to_string()
        };
        note(&format!("error: the pass ended early: {}\n", escaped(&text)))?;
        if let Some(hint) = stopped.hint() {
            note(&format!("hint: {hint}\n"))?;
        }
    }
    match &report.error {
        Some(error) => note(&Failure::of(error).to_string()),
        None => Ok(()),
    }
}
