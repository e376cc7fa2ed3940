//! `gitoggle status`: prints the state of the toggles, without side effects. `gitoggle drift`: shows what was changed on the
//! service.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::Serialize;

use super::args::DriftArgs;
use super::failure::{ExitStatus, Failure};
use super::{color, note, plan, setup};
use crate::cli;
use crate::config::Settings;
use crate::daemon::{self, Readiness, Status, StatusJson, ToggleState, ToggleStatus};
use crate::drift::{DriftCheck, DriftScan, ScanDepth};
use crate::model::{HoldKind, Scope, ToggleId, command_line, counted, escaped, shell_word};
use crate::plan::{DriftReport, DriftedToggle, Plan, drift_json};
use crate::report::{code, drift_markdown, drift_text, fitting};
use crate::source::CacheMode;

pub(super) fn run(settings: &Settings, lists_all: bool) -> Result<ExitStatus, Failure> {
    let config = setup::config(settings, CacheMode::Untouched)?;
    let daemon::StatusReport { planned, status } = match settings.live {
        true => {
            let (_runtime, context) = setup::requests()?;
            daemon::status_live(&config, &context)?
        }
        false => daemon::status(&config)?,
    };
    for text in &planned.notes {
        note(&format!("note: {text}\n"))?;
    }
    let readiness = readiness(&status);
    cli::print_result(
        settings.output,
        || text(&status, lists_all),
        || StatusOutput {
            version: 1,
            status: StatusJson::new(&status, &readiness),
            toggles: &status.toggles,
            notes: &planned.notes,
        },
        |limit| markdown(&status, limit),
    )?;
    let mut toggles = status.toggles.iter();
    let failed = toggles.any(|toggle| toggle.state() == ToggleState::Failed);
    Ok(plan::held(&planned.plan)
        .and(plan::unread(&planned.plan))
        .and(ExitStatus::Held.when(!planned.plan.undecided().is_empty()))
        .and(held_last(&planned.plan, &status))
        .and(ExitStatus::Failed.when(failed)))
}

/// Returns the status that follows from changes that the last pass held because of the live state of their toggles.
fn held_last(plan: &Plan, status: &Status) -> ExitStatus {
    let is_held = |toggle: &ToggleStatus| {
        toggle.kind().is_some_and(HoldKind::is_live)
            && plan.changes().iter().any(|change| change.id == toggle.toggle)
    };
    ExitStatus::Held.when(status.toggles.iter().any(is_held))
}

#[derive(Serialize)]
struct StatusOutput<'a> {
    version: u32,
    #[serde(flatten)]
    status: StatusJson<'a>,
    toggles: &'a [ToggleStatus],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
}

/// Returns ready if every toggle is in sync.
fn readiness(status: &Status) -> Readiness {
    let behind = status.toggles.iter().filter(|toggle| toggle.state() != ToggleState::InSync).count();
    match behind {
        0 => Readiness::Ready,
        _ => Readiness::Unready(format!("not in sync: {}", counted(behind, "toggle"))),
    }
}

fn text(status: &Status, lists_all: bool) -> String {
    let Status { source, suspensions, toggles, drift_failure, .. } = status;
    let mut text = escaped(&source.repo).to_string();
    if let (Some(reference), Some(revision)) = (&source.reference, source.revision) {
        let _ = write!(text, " {} at {}", escaped(reference), revision.short());
    }
    text.push('\n');
    for (scope, suspension) in suspensions.iter() {
        let reason = suspension.reason.as_deref().unwrap_or("no reason given");
        let globs = scope.globs().map(|globs| format!(" {globs}")).unwrap_or_default();
        let _ = writeln!(text, "suspended{}: {}", escaped(&globs), escaped(reason));
    }
    text += &rows(toggles, lists_all);
    if let Some(failure) = drift_failure {
        let _ = writeln!(text, "{}", escaped(failure));
    }
    text + &counts(toggles) + "\n"
}

fn rows(toggles: &[ToggleStatus], lists_all: bool) -> String {
    let is_listed = |toggle: &&ToggleStatus| lists_all || toggle.state() != ToggleState::InSync;
    let listed: Vec<&ToggleStatus> = toggles.iter().filter(is_listed).collect();
    let widths = listed.iter().map(|toggle| toggle.toggle.as_str().len());
    let width = widths.max().unwrap_or(0);
    let alike = listed.chunk_by(|a, b| (a.state(), a.reason()) == (b.state(), b.reason()));
    alike.map(|toggles| rows_of(toggles, width)).collect()
}

/// Formats toggles that have the same state and reason. A reason that several share is printed once, below them.
fn rows_of(toggles: &[&ToggleStatus], width: usize) -> String {
    let mut text = String::new();
    for status in toggles {
        let (toggle, state) = (&status.toggle, status.state());
        let revision = status.revision;
        let revision = revision.map_or_else(|| "-".repeat(10), |revision| revision.short());
        let own = status.reason().filter(|_| toggles.len() == 1);
        let reason = own.map(|reason| format!("  {}", escaped(reason)));
        let word = state.as_str().replace('_', " ");
        let reason = reason.unwrap_or_default();
        let _ = writeln!(text, "{word:<8} {toggle:<width$}  {revision}{reason}");
    }
    let shared = toggles[0].reason().filter(|_| toggles.len() > 1);
    if let Some(reason) = shared {
        let _ = writeln!(text, "         all {}: {}", toggles.len(), escaped(reason));
    }
    text
}

/// Formats the toggles that are not in sync as Markdown of at most `limit` bytes.
fn markdown(status: &Status, limit: usize) -> String {
    let Status { source, toggles, .. } = status;
    let mut head = format!("### gitoggle status\n\n{}\n\n{}", counts(toggles), code(&source.repo));
    if let (Some(reference), Some(revision)) = (&source.reference, source.revision) {
        let _ = write!(head, " {} {}", code(reference), code(&revision.short()));
    }
    head.push_str("\n\n");
    for (scope, suspension) in status.suspensions.iter() {
        let reason = suspension.reason.as_deref().unwrap_or("no reason given");
        let globs = scope.globs().map(|globs| format!(" {}", code(&globs)));
        let _ = writeln!(head, "* **suspended**{}: {}", globs.unwrap_or_default(), code(reason));
    }
    if let Some(failure) = &status.drift_failure {
        let _ = writeln!(head, "* **not compared**: {}", code(failure));
    }
    let behind = toggles.iter().filter(|toggle| toggle.state() != ToggleState::InSync);
    let rows = behind.map(|toggle| {
        let reason = toggle.reason().map_or_else(String::new, |reason| format!(": {}", code(reason)));
        format!("* **{}** {}{reason}\n", toggle.state().as_str(), code(toggle.toggle.as_str()))
    });
    fitting([head].into_iter().chain(rows), limit)
}

fn counts(toggles: &Arc<Vec<ToggleStatus>>) -> String {
    let counts: Vec<String> = ToggleState::ALL
        .iter()
        .map(|state| (state, toggles.iter().filter(|toggle| toggle.state() == *state).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(state, count)| format!("{count} {}", state.as_str().replace('_', " ")))
        .collect();
    format!(
        "{}{}{}",
        counted(toggles.len(), "toggle"),
        if counts.is_empty() { "" } else { ": " },
        counts.join(", ")
    )
}

pub(super) fn run_drift(settings: &Settings, args: &DriftArgs) -> Result<ExitStatus, Failure> {
    let depth = if args.full { ScanDepth::Everything } else { ScanDepth::Changes };
    let scan = scan(settings, &args.globs, depth)?;
    let report = &scan.report;
    cli::print_result(
        settings.output,
        || drift_text(report, color(settings)) + &commands(report),
        || drift_json(report),
        |limit| drift_markdown(report, limit),
    )?;
    let changes = ExitStatus::Changes.when(args.detailed_exitcode && report.has_drift());
    Ok(completeness(&scan)?.and(changes))
}

/// Compares the service with what was applied.
pub(super) fn scan(settings: &Settings, globs: &[String], depth: ScanDepth) -> Result<DriftScan, Failure> {
    let config = setup::config(settings, CacheMode::Untouched)?;
    let globs = Scope::new(globs).map_err(Failure::failed)?;
    let (_runtime, context) = setup::requests()?;
    Ok(DriftCheck { globs: &globs, depth }.run(&config, &context)?)
}

/// Prints why not every toggle was compared, and returns whether that is a failure.
pub(super) fn completeness(scan: &DriftScan) -> Result<ExitStatus, Failure> {
    let DriftScan { report, is_interrupted, .. } = scan;
    if let Some((unread, hint)) = report.failure().zip(report.hint) {
        note(&format!("error: {}\nhint: {hint}\n", escaped(&unread)))?;
    }
    if *is_interrupted {
        note("error: interrupted before every toggle was compared\n")?;
    }
    Ok(ExitStatus::Failed.when(*is_interrupted || !report.unread.is_empty()))
}

/// Returns what to do about drift, with commands to copy.
fn commands(report: &DriftReport) -> String {
    let drifted = report.drifted.iter().map(|drifted| &drifted.applied.id);
    let all: Vec<&ToggleId> = drifted.collect();
    let mut text = to_create(report);
    if all.is_empty() {
        return text;
    }
    let is_inexpressible = |drifted: &DriftedToggle| drifted.live.content.payload().is_none();
    if report.drifted.iter().any(is_inexpressible) {
        text.push_str("\nWhat a document cannot express is not imported: correct it on the service first.\n");
    }
    let _ = writeln!(
        text,
        "\nTo keep what is on the service, import it and commit:\n  {}",
        command_line(&format!("gitoggle import --overwrite{}", globs(&all, ""))),
    );
    let is_documented = |id: &&ToggleId| !report.orphans.contains(*id);
    let documented: Vec<&ToggleId> = all.into_iter().filter(is_documented).collect();
    if documented.is_empty() {
        return text;
    }
    let _ = writeln!(
        text,
        "To publish the documents over it:\n  {}",
        command_line(&format!("gitoggle apply --overwrite-drift{}", globs(&documented, "--only "))),
    );
    text.push_str(
        "To publish the next change of a document over it, put this trailer on the commit:\n  Gitoggle-Allow: \
         overwrite-drift\n",
    );
    text
}

/// Returns what to do about toggles that were removed on the service.
fn to_create(report: &DriftReport) -> String {
    let gone = report.missing.iter().filter(|missing| missing.is_gone());
    let gone = gone.map(|missing| &missing.id);
    let gone: Vec<&ToggleId> = gone.filter(|id| !report.orphans.contains(*id)).collect();
    if gone.is_empty() {
        return String::new();
    }
    format!(
        "\nTo create a missing toggle again from its document (if it is not needed anymore, remove the document instead):\n  \
         {}\n",
        command_line(&format!(
            "gitoggle apply --overwrite-drift --on-missing create{}",
            globs(&gone, "--only ")
        )),
    )
}

/// Returns the toggles as words of a command, each after a space and `flag`; of many, the environments.
fn globs(ids: &[&ToggleId], flag: &str) -> String {
    // Above this number, the command names environments, because it would be too long to copy.
    const MOST_NAMED: usize = 8;
    let globs: BTreeSet<String> = match ids.len() {
        ..=MOST_NAMED => ids.iter().map(ToString::to_string).collect(),
        _ => ids.iter().map(|id| format!("{}/*", id.environment())).collect(),
    };
    globs.iter().map(|glob| format!(" {flag}{}", shell_word(glob))).collect()
}
