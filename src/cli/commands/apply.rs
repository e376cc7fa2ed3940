//! `gitoggle apply`: makes one pass, and prints its results.
//!
//! Text has one line per change, printed when the change ends. The other formats are printed at the end.
//! Every format includes an error that ended the pass after it had sent requests.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::plan;
use crate::cli::failure::{ExitStatus, Failure, JsonError};
use crate::cli::forge::{self, links};
use crate::cli::observer::{Progress, ResultTiming};
use crate::cli::output::{Formats, color, note, print, print_json, show, step_summary};
use crate::cli::{runtime, setup};
use crate::config::{OutputFormat, Settings};
use crate::drift::{DriftScanner, overwritable};
use crate::forge::{CommitVerdict, ForgeRetries};
use crate::model::{
    Color, EnvironmentId, HoldKind, JunitKind, JunitProblem, ServiceKind, ToggleId, ToggleState, chain,
    counted, escaped,
};
use crate::pass::{
    self, CHECK_SERVICE, ChangeResult, Config, FRUITLESS, PassContext, Reconciler, Report, ReviewSource,
    Runtime,
};
use crate::plan::{OnDrift, PassCounts, Plan, PlanJson, StateEdit, if_few, json};
use crate::report::{self, JunitHolds, Links, PlanView, code, fitting};
use crate::source::CacheMode;
use crate::state;

/// Make one pass, then exit
#[derive(Args, Clone, Debug, PartialEq)]
#[command(long_about = "Makes one complete pass, then exits: the command for CI.")]
pub(crate) struct ApplyArgs {}

/// The forms of the results.
pub(super) const FORMATS: Formats<Results> = &[
    (OutputFormat::Human, human),
    (OutputFormat::Json, |results, _| {
        let plan = results.report.shown_plan();
        print_json(&ReportJson::of(&results.report, &plan))
    }),
    (OutputFormat::Markdown, |results, settings| {
        let links = links(settings);
        print(&markdown(&results.report, settings.service_kind, report::ANY_COMMENT, links.as_ref()))
    }),
    (OutputFormat::Github, annotations),
    (OutputFormat::Junit, |results, settings| {
        // A hold that the exit code does not show is not a failed test either.
        let held = if settings.exit_zero_when_held { JunitKind::Skipped } else { JunitKind::Failure };
        print(&junit(&results.report, held))
    }),
];

/// What was done, and what of it was printed already.
pub(super) struct Results {
    /// As [`Report::shown`] returns it.
    report: Report,
    progress: Arc<Progress>,
}

/// The maximum wait for another process that writes to the state.
const LOCK_WAIT: Duration = Duration::from_secs(60);

pub(super) fn run(settings: &Settings, _: &ApplyArgs) -> Result<ExitStatus, Failure> {
    let repository = forge::repository(settings)?;
    let retries = ForgeRetries::default();
    let result = forge::reviews(settings, &retries).and_then(|reviews| pass(settings, reviews));
    // A job that was run again for an old commit does not know how the newest one went.
    let is_stale = result.as_ref().is_err_and(Failure::is_stale);
    if let Some(repository) = repository.filter(|_| !is_stale) {
        forge::set_status(settings, repository, &retries, verdict(&result))?;
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
    let (runtime, stop) = runtime::stoppable()?;
    let results = match settings.output {
        OutputFormat::Human => ResultTiming::AsTheyEnd,
        _ => ResultTiming::AtTheEnd,
    };
    let progress = Arc::new(Progress::new(host, settings.log_format, results));
    let observer = Arc::clone(&progress);
    let handle = Runtime::new(runtime.handle().clone());
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
    let results = Results { report: report.shown(), progress };
    let printed = print_report(&report, &results, settings);
    Ok(FinishedPass { report, comparison, printed })
}

fn print_report(report: &Report, results: &Results, settings: &Settings) -> Result<(), Failure> {
    for text in &report.notes {
        note(&format!("note: {text}\n"))?;
    }
    show(FORMATS, results, settings)?;
    print_end(report, &results.report)
}

/// Returns whether the pass also publishes what was changed on the service only.
fn overwrites(settings: &Settings) -> bool {
    let overwrites = settings.overwrite_drift || settings.on_drift == OnDrift::Overwrite;
    overwrites && settings.service_kind.can().read_live
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
        // Only holds become a success: invalid documents and failures keep their exit codes
        // (src/cli/README.md, "Exit codes").
        true => plan::invalid(&report.plan),
    };
    held.and(failed)
}

fn verdict(result: &Result<FinishedPass, Failure>) -> forge::PassVerdict {
    // A hold is pending even if it does not fail the job.
    let status = match result {
        Ok(pass) => pass.status(false),
        Err(failure) => failure.status(),
    };
    let (description, commit) = match result {
        Ok(FinishedPass { report, .. }) => {
            (one_line(&report.shown()), Some(report.plan.source().revision.to_string()))
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

fn human(results: &Results, settings: &Settings) -> Result<(), Failure> {
    let Results { report, progress } = results;
    let left: String =
        report.lines().filter_map(|(change, result)| progress.unprinted(change, result)).collect();
    print(&(left + &rest(report, settings.service_kind, color(settings))))
}

fn annotations(results: &Results, settings: &Settings) -> Result<(), Failure> {
    let report = &results.report;
    print(&report::github(&report.plan, &report.notes, &settings.root))?;
    // First, so that it is printed even if the summary cannot be written.
    note(&format!("note: {}\n", one_line(report)))?;
    let links = links(settings);
    step_summary(|limit| markdown(report, settings.service_kind, limit, links.as_ref()))
}

/// Prints why a pass ended early or failed. `shown` is [`Report::shown`], whose lines were printed.
fn print_end(report: &Report, shown: &Report) -> Result<(), Failure> {
    if let Some(stopped) = &report.stopped {
        let is_last = |result: &ChangeResult| result.reason().as_deref() == stopped.last();
        // The line of the toggle has the outcome already.
        let text = if stopped.last().is_some() && shown.count(is_last) > 0 {
            stopped.verdict()
        } else {
            stopped.to_string()
        };
        note(&format!("error: the pass ended early: {}\n", escaped(&text)))?;
        if let Some(hint) = stopped.hint() {
            note(&format!("hint: {}\n", report.advised(hint)))?;
        }
    }
    match &report.error {
        Some(error) => note(&Failure::of(error).to_string()),
        // The lines of the toggles have the outcomes already.
        None if shown.is_fruitless() => note(&format!("error: {FRUITLESS}\nhint: {CHECK_SERVICE}\n")),
        // Those of held toggles say what holds them.
        None => match report.last_unread().filter(|_| report.stopped.is_none()) {
            Some(reason) => {
                let count = counted(report.still_held.len(), "held toggle");
                note(&format!(
                    "error: {count} could not be compared with the service: {}\nhint: check the service\n",
                    escaped(&reason)
                ))
            }
            None => Ok(()),
        },
    }
}

/// Returns the text after the lines about the changes: holds, findings and totals. If no change was tried,
/// returns the whole plan.
fn rest(report: &Report, kind: ServiceKind, color: Color) -> String {
    let mut text = match (report.results.is_empty(), report.plan.stopped()) {
        (true, None) => report::text(&report.plan, color),
        (true, Some(stopped)) => format!("{}{stopped}\n", report::text(&report.plan, color)),
        (false, _) => report::rest(&report.plan, color),
    };
    let total = total(report, kind);
    if !text.is_empty() && !total.is_empty() {
        text.push('\n');
    }
    text + &total
}

fn one_line(report: &Report) -> String {
    let totals = Totals::of(report);
    let parts: Vec<String> = match totals.parts(report) {
        Some(parts) => parts.into_iter().map(|(text, _)| text).collect(),
        None if report.lines().next().is_some() => vec![recorded(totals.converged.len())],
        None => {
            let others = totals.others().map(|(toggles, what)| format!("{} {what}", toggles.len()));
            let begin = "nothing to publish".to_owned();
            [begin].into_iter().chain(others).chain(totals.besides()).collect()
        }
    };
    parts.join(" · ")
}

/// The toggles of a pass by result, each toggle once. Every form of the results takes its numbers from here.
#[derive(Serialize)]
struct Totals<'a> {
    applied: Vec<&'a ToggleId>,
    /// Recorded without publishing.
    converged: Vec<&'a ToggleId>,
    /// Those of them that were changes of the plan.
    #[serde(skip)]
    recorded: Vec<&'a ToggleId>,
    failed: Vec<&'a ToggleId>,
    held: Vec<&'a ToggleId>,
    /// The held toggles whose documents are invalid.
    invalid: Vec<&'a ToggleId>,
    not_sent: Vec<&'a ToggleId>,
    pending: Vec<&'a ToggleId>,
    /// The number of invalid documents that belong to no toggle, such as one with a bad name.
    #[serde(skip)]
    without_toggle: usize,
    /// The environments that are held as a whole, although none of their toggles is.
    #[serde(skip)]
    environments: Vec<&'a EnvironmentId>,
}

impl<'a> Totals<'a> {
    fn of(report: &'a Report) -> Self {
        let plan = &report.plan;
        let with = |wanted: fn(&ChangeResult) -> bool| -> Vec<&'a ToggleId> {
            let lines = report.lines().filter(|(_, result)| wanted(result));
            lines.map(|(change, _)| &change.id).collect()
        };
        let mut totals = Self {
            applied: with(|result| *result == ChangeResult::Applied),
            converged: with(|result| *result == ChangeResult::Converged),
            recorded: with(|result| *result == ChangeResult::Converged),
            failed: with(ChangeResult::has_failed),
            held: with(|result| result.as_str() == "held"),
            invalid: Vec::new(),
            not_sent: with(|result| *result == ChangeResult::NotSent),
            pending: with(|result| result.as_str() == "pending"),
            without_toggle: 0,
            environments: Vec::new(),
        };
        for held in plan.withheld() {
            match held.hold.state {
                ToggleState::Failed => totals.failed.push(&held.id),
                ToggleState::Pending => totals.pending.push(&held.id),
                _ => totals.held.push(&held.id),
            }
            if held.hold.is_invalid() {
                totals.invalid.push(&held.id);
            }
        }
        totals.without_toggle = plan.counts().invalid.saturating_sub(totals.invalid.len());
        let is_listed =
            |environment: &&EnvironmentId| plan.withheld().iter().any(|held| held.id.is_in(environment));
        totals.environments = plan.environment_holds().keys().filter(|one| !is_listed(one)).collect();
        if plan.stopped().is_none() && report.error.is_none() {
            totals.converged.extend(plan.state_edits().iter().map(StateEdit::id));
        }
        for toggles in [&mut totals.converged, &mut totals.failed, &mut totals.held, &mut totals.pending] {
            toggles.sort_unstable();
        }
        totals
    }

    /// Returns the number of changes that were to be published.
    fn changes(&self) -> usize {
        let lists = [&self.applied, &self.failed, &self.held, &self.not_sent, &self.pending];
        lists.iter().map(|toggles| toggles.len()).sum()
    }

    /// Returns the changes that were not applied, by result.
    fn others(&self) -> impl Iterator<Item = (&[&'a ToggleId], &'static str)> {
        let others = [
            (self.held.as_slice(), "held"),
            (&self.failed, "failed"),
            (&self.pending, "pending"),
            (&self.not_sent, "not sent"),
        ];
        others.into_iter().filter(|(toggles, _)| !toggles.is_empty())
    }

    /// Returns what decides about the exit code and is not a toggle.
    fn besides(&self) -> impl Iterator<Item = String> {
        let documents = (self.without_toggle > 0).then(|| counted(self.without_toggle, "invalid document"));
        let environments = match self.environments.as_slice() {
            [] => None,
            [one] => Some(format!("1 environment held ({one})")),
            some => Some(format!("{} held", counted(some.len(), "environment"))),
        };
        documents.into_iter().chain(environments)
    }

    /// Returns what was only recorded, in one line.
    fn recorded(&self) -> String {
        recorded(self.converged.len()) + &if_few(&self.converged)
    }

    /// Returns how many of the changes that were tried were applied, and what became of the others, each with the
    /// toggles. None if no change was tried, or everything was only recorded.
    fn parts(&self, report: &Report) -> Option<Vec<(String, &[&'a ToggleId])>> {
        let is_tried = report.lines().next().is_some();
        if !is_tried || (self.changes() == 0 && self.besides().next().is_none()) {
            return None;
        }
        let applied = format!("applied {} of {}", self.applied.len(), counted(self.changes(), "change"));
        let recorded = (!self.recorded.is_empty()).then_some((self.recorded.as_slice(), "converged"));
        let others = recorded.into_iter().chain(self.others());
        let others = others.map(|(toggles, what)| (format!("{} {what}", toggles.len()), toggles));
        let besides = self.besides().map(|what| (what, &[][..]));
        Some([(applied, &[][..])].into_iter().chain(others).chain(besides).collect())
    }

    /// Returns the numbers in one line, with the names of few toggles.
    fn line(&self, report: &Report) -> Option<String> {
        let parts = self.parts(report)?.into_iter().map(|(text, toggles)| text + &if_few(toggles));
        Some(parts.collect::<Vec<_>>().join(", "))
    }
}

fn recorded(number: usize) -> String {
    format!("recorded without publishing: {}", counted(number, "toggle"))
}

fn total(report: &Report, kind: ServiceKind) -> String {
    let (totals, mut text) = (Totals::of(report), String::new());
    let has_recorded = !totals.converged.is_empty();
    if has_recorded {
        let _ = writeln!(text, "{}", totals.recorded());
    }
    let is_adopted = |edit: &StateEdit| matches!(edit, StateEdit::Adopt(_));
    if has_recorded && report.plan.state_edits().iter().any(is_adopted) {
        let comparing = match kind.can().read_live {
            true => "--on-drift hold".to_owned(),
            false => format!("--service-kind {}", ServiceKind::words_with(|can| can.read_live)),
        };
        let _ = writeln!(
            text,
            "the adopted documents were not compared with the service (`{comparing}` does that)"
        );
    }
    // Without a change that was tried, the plan above has its own summary.
    if let Some(line) = totals.line(report) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Formats the results as Markdown of at most `limit` bytes, unapplied changes first, then the plan.
fn markdown(report: &Report, kind: ServiceKind, limit: usize, links: Option<&Links>) -> String {
    let plan = report.shown_plan();
    let view = PlanView { notes: &report.notes, links, ..PlanView::of(&plan) };
    let total = total(report, kind);
    // Of a pass that tried nothing, the plan below has the details.
    let total = if total.is_empty() { one_line(report) + "\n" } else { total };
    let mut head = format!("### gitoggle apply\n\n{total}\n");
    if let Some(error) = &report.error {
        let _ = writeln!(head, "**error**: {}\n", code(&chain(error.as_ref())));
    }
    let (applied, others): (Vec<_>, Vec<_>) =
        report.lines().partition(|(_, result)| matches!(result, ChangeResult::Applied));
    let rows = others.into_iter().chain(applied).map(|(change, result)| {
        let commit = change.attribution.commit().map(|commit| commit.id.short());
        let reason = result.reason().map_or_else(String::new, |reason| format!(": {}", code(&reason)));
        format!(
            "* **{}** {} ({}) {}{reason}\n",
            result.as_str().replace('_', " "),
            code(change.id.as_str()),
            change.verb(),
            code(&commit.unwrap_or_default())
        )
    });
    // The plan needs room, too.
    let results = format!("{}\n\n", fitting([head].into_iter().chain(rows), limit / 2).trim_end());
    let plan = report::markdown(view, limit.saturating_sub(results.len()));
    results + &plan
}

/// Formats the results as JUnit XML: one test per change, which fails if the change was not applied. `held`
/// is the kind of a test whose change is held.
fn junit(report: &Report, held: JunitKind) -> String {
    let problem = |kind, text: &str| Some(JunitProblem::new(kind, &escaped(text).to_string()));
    let of = |result: &ChangeResult| {
        let reason = result.reason().unwrap_or_default();
        match result {
            ChangeResult::Applied | ChangeResult::Converged => None,
            ChangeResult::Held(_) if result.is_held() => problem(held, &reason),
            ChangeResult::Held(_) => problem(JunitKind::Failure, &reason),
            ChangeResult::NotSent => problem(JunitKind::Error, "the pass ended before it was sent"),
        }
    };
    let lines = report.lines().map(|(change, result)| (change, of(result)));
    // A plan that was not approved has changes without results.
    let left = report.plan.changes().iter().skip(report.results.len());
    let stopped = report.plan.stopped().map(|stopped| stopped.to_string());
    let left = left.map(|change| {
        let why = stopped.as_deref().unwrap_or("nothing was sent");
        (change, problem(JunitKind::Skipped, why))
    });
    let error = report.error.as_ref().map(|error| chain(error.as_ref()));
    let error = error.or_else(|| report.stopped.as_ref().map(ToString::to_string));
    let error = error.map(|error| escaped(&error).to_string());
    let holds = JunitHolds { first_pass: held, other: held };
    report::junit_results(&report.plan, lines.chain(left), holds, error.as_deref(), &report.notes)
}

#[derive(Serialize)]
struct ReportJson<'a> {
    #[serde(flatten)]
    plan: PlanJson<'a>,
    results: Vec<ResultLine<'a>>,
    totals: Totals<'a>,
    stopped: Option<String>,
    error: Option<JsonError>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct ResultLine<'a> {
    toggle: &'a ToggleId,
    result: &'static str,
    /// The kind of reason of a held change.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<HoldKind>,
    reason: Option<String>,
}

impl<'a> ReportJson<'a> {
    /// `plan` is [`Report::shown_plan`].
    fn of(report: &'a Report, plan: &'a Plan) -> Self {
        let results = report.lines().map(|(change, result)| ResultLine {
            toggle: &change.id,
            result: result.as_str(),
            kind: result.hold().filter(|_| result.is_held()).and_then(|hold| hold.kind),
            reason: result.reason(),
        });
        let (totals, is_tried) = (Totals::of(report), report.lines().next().is_some());
        let counts = PassCounts {
            text: totals.line(report).unwrap_or_else(|| totals.recorded()),
            changes: totals.changes(),
            failed: totals.failed.len(),
            held: totals.held.len(),
            records: totals.converged.len(),
        };
        Self {
            // Of a pass that tried nothing, the text is the plan, which has its own numbers.
            plan: if is_tried { json(plan).carried_out(counts) } else { json(plan) },
            results: results.collect(),
            totals,
            stopped: report.stopped.as_ref().map(ToString::to_string),
            error: report.error.as_deref().map(|error| JsonError::new(error, error.hint())),
            notes: &report.notes,
        }
    }
}
