//! `gitoggle drift`: shows what was changed on the service since it was last applied.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::args::DriftArgs;
use super::failure::{ExitStatus, Failure};
use super::show::{with_flags, word};
use super::{color, note, setup, show};
use crate::config::{Command, Flags, Settings};
use crate::drift::{DriftCheck, DriftScan, ScanDepth};
use crate::model::{Scope, ToggleId, escaped};
use crate::plan::{DriftReport, DriftedToggle, drift_json};
use crate::report::{drift_markdown, drift_text};
use crate::source::CacheMode;

pub(super) fn run(settings: &Settings, args: &DriftArgs, flags: &Flags) -> Result<ExitStatus, Failure> {
    let depth = if args.full { ScanDepth::Everything } else { ScanDepth::Changes };
    let scan = scan(settings, &args.globs, depth)?;
    let report = &scan.report;
    show::result(
        settings.output,
        || drift_text(report, color(settings)) + &commands(report, flags),
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

/// The settings that an import without `--drifted` does not use, and those that its globs replace.
const NOT_OF_IMPORT: &[&str] = &[
    "git_password_file",
    "git_username",
    "only",
    "state_dir",
    "state_git_password_file",
    "state_git_username",
    "state_name",
    "state_remote",
];

/// Returns what to do about drift, with commands to copy.
fn commands(report: &DriftReport, flags: &Flags) -> String {
    let drifted = report.drifted.iter().map(|drifted| &drifted.applied.id);
    let all: Vec<&ToggleId> = drifted.collect();
    let mut text = to_create(report, flags);
    if all.is_empty() {
        return text;
    }
    let is_inexpressible = |drifted: &DriftedToggle| drifted.live.content.payload().is_none();
    if report.drifted.iter().any(is_inexpressible) {
        text.push_str("\nWhat a document cannot express is not imported: correct it on the service first.\n");
    }
    let _ = writeln!(
        text,
        "\nTo keep what is on the service, import it and commit:\n  gitoggle import --overwrite{}{}",
        globs(&all, ""),
        with_flags(Command::Import, flags, NOT_OF_IMPORT),
    );
    let is_documented = |id: &&ToggleId| !report.orphans.contains(*id);
    let documented: Vec<&ToggleId> = all.into_iter().filter(is_documented).collect();
    if documented.is_empty() {
        return text;
    }
    let _ = writeln!(
        text,
        "To publish the documents over it:\n  gitoggle apply --overwrite-drift{}{}",
        globs(&documented, "--only "),
        with_flags(Command::Apply, flags, &["only"]),
    );
    text.push_str(
        "To publish the next change of a document over it, put this trailer on the commit:\n  Gitoggle-Allow: \
         overwrite-drift\n",
    );
    text
}

/// Returns what to do about toggles that were removed on the service.
fn to_create(report: &DriftReport, flags: &Flags) -> String {
    let gone = report.missing.iter().filter(|missing| missing.is_gone());
    let gone = gone.map(|missing| &missing.id);
    let gone: Vec<&ToggleId> = gone.filter(|id| !report.orphans.contains(*id)).collect();
    if gone.is_empty() {
        return String::new();
    }
    format!(
        "\nTo create a missing toggle again from its document (if it is not needed anymore, remove the document instead):\n  \
         gitoggle apply --overwrite-drift --on-missing create{}{}\n",
        globs(&gone, "--only "),
        with_flags(Command::Apply, flags, &["only", "on_missing"]),
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
    globs.iter().map(|glob| format!(" {flag}{}", word(glob))).collect()
}
