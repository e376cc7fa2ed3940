//! `gitoggle drift`: shows what was changed on the service.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::Args;

use crate::cli::args::glob;
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::{Formats, color, note, print, print_json, show, step_summary};
use crate::cli::{runtime, setup};
use crate::config::{OutputFormat, Settings};
use crate::drift::{DriftCheck, DriftScan, ScanDepth, plan_live};
use crate::model::{Scope, ToggleId, command_line, escaped, shell_word};
use crate::pass::Files;
use crate::plan::{DriftReport, DriftedToggle, drift_json};
use crate::report::{ANY_COMMENT, drift_markdown, drift_text};
use crate::source::CacheMode;

/// Show what was changed on the service
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Compares the service with what was last applied, and shows what differs: which toggles were \
                  changed there, by whom, when and how, and what to do. Also lists toggles without a document, \
                  documents without a toggle or not applied yet, drafts that await approval, and archived toggles. \
                  Writes only what it found equal, for the next run. Needs --service-kind featureprobe."
)]
pub(crate) struct DriftArgs {
    /// Compare only the toggles that this glob matches [everything]
    #[arg(value_name = "GLOB", value_parser = glob)]
    pub(crate) globs: Vec<String>,
    /// Exit with 2 if there is drift
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
    /// Read every toggle, as every 20th scan does
    #[arg(long)]
    pub(crate) full: bool,
}

/// The forms of the comparison.
pub(super) const FORMATS: Formats<DriftReport> = &[
    (OutputFormat::Human, |report, settings| {
        print(&(drift_text(report, color(settings)) + &commands(report)))
    }),
    (OutputFormat::Json, |report, _| print_json(&drift_json(report))),
    (OutputFormat::Markdown, |report, _| print(&drift_markdown(report, ANY_COMMENT))),
    (OutputFormat::Github, |report, _| step_summary(|limit| drift_markdown(report, limit))),
];

pub(super) fn run(settings: &Settings, args: &DriftArgs) -> Result<ExitStatus, Failure> {
    let depth = if args.full { ScanDepth::Everything } else { ScanDepth::Changes };
    let scan = scan(settings, &args.globs, depth)?;
    let report = &scan.report;
    show(FORMATS, report, settings)?;
    let changes = ExitStatus::Changes.when(args.detailed_exitcode && report.has_drift());
    Ok(completeness(&scan)?.and(changes))
}

/// Compares the service with what was applied.
pub(super) fn scan(settings: &Settings, globs: &[String], depth: ScanDepth) -> Result<DriftScan, Failure> {
    let config = setup::config(settings, CacheMode::Untouched)?;
    let globs = Scope::new(globs).map_err(Failure::failed)?;
    let (_runtime, context) = runtime::for_reads()?;
    let scan = DriftCheck { globs: &globs, depth }.run(&config, &context)?;
    for glob in &scan.report.idle_globs {
        note(&format!("note: no toggle matches the glob `{}` of `--only`\n", escaped(glob)))?;
    }
    Ok(scan)
}

/// Returns the toggles that are not applied, and are held because the service has something else. Blocks.
pub(super) fn held_over_live(
    settings: &Settings,
    scan: &DriftScan,
) -> Result<Vec<(ToggleId, String)>, Failure> {
    let config = setup::config(settings, CacheMode::Untouched)?;
    let (_runtime, context) = runtime::for_reads()?;
    let plan = plan_live(&config, Files::Committed, &context)?.plan;
    let drifted: BTreeSet<&ToggleId> =
        scan.report.drifted.iter().map(|drifted| &drifted.applied.id).collect();
    let held = plan.withheld().iter().filter(|held| held.hold.is_live() && !drifted.contains(&held.id));
    Ok(held.map(|held| (held.id.clone(), held.hold.reason())).collect())
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
    let drifted = report.drifted.iter().filter(|drifted| !drifted.is_documented);
    let all: Vec<&ToggleId> = drifted.map(|drifted| &drifted.applied.id).collect();
    let mut text = to_create(report);
    if !report.unapplied.is_empty() {
        let _ = writeln!(
            text,
            "\nTo compare what was not applied yet with the service:\n  {}",
            command_line("gitoggle plan --live"),
        );
    }
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
