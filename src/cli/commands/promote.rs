//! `gitoggle promote`: copies documents to another environment of a work tree.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal as _;
use std::path::Path;

use clap::Args;

use super::diff::{FORMATS, ShownDiff, distinct, folder, invalid, place};
use super::import::note_ignored;
use crate::authoring::{self, AuthoringError, PromotionReport, PromotionResult};
use crate::cli::args::{environment, key_glob};
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::{nonzero, note, show};
use crate::config::Settings;
use crate::document::{Diagnostic, Severity};
use crate::model::{EnvironmentId, Scope, counted, escaped, hinted, listed};
use crate::pass::{self, CheckTarget, Checks};
use crate::plan::{EnvironmentDiff, ToggleDiff};
use crate::telemetry::Stream;

/// Copy documents to another environment
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Copies the documents of FROM to TO in a work tree, comments included, and shows what changes. A \
                  document is replaced only by one of the same toggle; toggles that only TO has stay. If TO has \
                  no document yet, asks on a terminal, and elsewhere needs --create. Commits nothing."
)]
pub(crate) struct PromoteArgs {
    /// The environment to copy from, as project/environment
    #[arg(value_name = "FROM", value_parser = environment)]
    pub(crate) before: EnvironmentId,
    /// The environment to copy to
    #[arg(value_name = "TO", value_parser = environment)]
    pub(crate) after: EnvironmentId,
    /// Copy only the toggles whose key this glob matches [everything]
    #[arg(value_name = "GLOB", value_parser = key_glob)]
    pub(crate) globs: Vec<String>,
    /// Create TO if it has no document yet
    #[arg(long)]
    pub(crate) create: bool,
}

pub(super) fn run(settings: &Settings, args: &PromoteArgs) -> Result<ExitStatus, Failure> {
    let PromoteArgs { before: from, after: to, globs, create } = args;
    distinct(from, to)?;
    let globs = Scope::new(globs).map_err(|error| Failure::new(ExitStatus::Usage, error))?;
    let folder = folder(settings)?;
    let promoted = |create| authoring::promote(place(settings, &folder), from, to, &globs, create);
    let before = errors(settings, &folder, to)?;
    let mut report = match promoted(*create) {
        Err(AuthoringError::NewEnvironment(to, closest)) => {
            if is_confirmed(&to, closest.as_ref())? {
                promoted(true)?
            } else {
                return Err(AuthoringError::NewEnvironment(to, closest).into());
            }
        }
        result => result?,
    };
    if !report.unmatched.is_empty() {
        let quoted: Vec<String> =
            report.unmatched.iter().map(|glob| format!("`{}`", escaped(glob))).collect();
        let message = format!("no toggle of `{from}` matches {}", listed(&quoted));
        return Err(Failure::failed(message).hint("a glob is compared with the key of the toggle"));
    }
    // What the copies break in each other, and in the documents that need them.
    report.findings.extend(errors(settings, &folder, to)?.difference(&before).cloned());
    let failed: BTreeMap<String, String> =
        report.failed().map(|(key, reason)| (key.to_owned(), reason.to_owned())).collect();
    let shown = ShownDiff { diff: changes(&report, from, to), findings: report.findings.clone(), failed };
    show(FORMATS, &shown, settings)?;
    for (key, result) in &report.results {
        match result {
            PromotionResult::Failed(reason) => note(&format!("error: {to}/{key}: {}\n", escaped(reason)))?,
            PromotionResult::Copied { .. } | PromotionResult::Unchanged => {}
        }
    }
    for (key, needed) in &report.lacking {
        let (key, needed) = (escaped(key), escaped(needed));
        note(&hinted(&format!(
            "note: `{to}/{key}` needs `{needed}`, which has no document in `{to}`; `gitoggle promote {from} {to} {needed}` \
             copies it\n"
        )))?;
    }
    note_ignored(&report.ignored)?;
    if shown.failed.is_empty() {
        return Ok(invalid(&report.findings));
    }
    note(&format!("error: could not copy {}\n", counted(shown.failed.len(), "toggle")))?;
    Ok(ExitStatus::Failed)
}

/// Returns the errors in the documents of an environment.
fn errors(settings: &Settings, folder: &Path, id: &EnvironmentId) -> Result<BTreeSet<Diagnostic>, Failure> {
    let scope = Scope::new(&[format!("{id}/*")]).map_err(Failure::failed)?;
    let checks = Checks {
        layout: &settings.layout,
        kind: settings.service_kind,
        sdks: settings.sdks,
        scope: &scope,
        within: &[],
    };
    let target = CheckTarget::Folder(folder.to_owned(), settings.root.clone());
    let found = pass::check(&target, checks)?.findings.into_iter();
    Ok(found.filter(|finding| finding.severity == Severity::Error).collect())
}

/// Asks on a terminal whether to create an environment.
fn is_confirmed(to: &EnvironmentId, closest: Option<&EnvironmentId>) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() || !Stream::Stderr.is_terminal() {
        return Ok(false);
    }
    let closest = closest.map(|closest| format!(" (did you mean `{closest}`?)"));
    note(&format!("`{to}` has no document yet{}. Create it? [y/N] ", closest.unwrap_or_default()))?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(Failure::failed)?;
    Ok(["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()))
}

fn changes(report: &PromotionReport, from: &EnvironmentId, to: &EnvironmentId) -> EnvironmentDiff {
    let toggles = report.results.iter().filter_map(|(key, result)| match result {
        PromotionResult::Copied { path, before, after, .. } => Some(ToggleDiff {
            toggle: key.clone(),
            before: before.clone(),
            after: Some(after.clone()),
            remark: path.clone(),
        }),
        PromotionResult::Failed(_) | PromotionResult::Unchanged => None,
    });
    let toggles: Vec<ToggleDiff> = toggles.collect();
    let mut parts = vec![
        format!("{} copied", toggles.len()),
        format!("{} unchanged", report.count(|result| matches!(result, PromotionResult::Unchanged))),
    ];
    let failed = report.failed().count();
    parts.extend(nonzero(&[(report.invalid.len(), "invalid"), (failed, "failed")]));
    EnvironmentDiff {
        before: to.clone(),
        after: to.clone(),
        copied_from: Some(from.clone()),
        toggles,
        summary: parts.join(", "),
    }
}

impl PromotionReport {
    /// Returns the toggles that could not be copied, with the reasons.
    fn failed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.results.iter().filter_map(|(key, result)| match result {
            PromotionResult::Failed(reason) => Some((key.as_str(), reason.as_str())),
            PromotionResult::Copied { .. } | PromotionResult::Unchanged => None,
        })
    }

    fn count(&self, is: impl Fn(&PromotionResult) -> bool) -> usize {
        self.results.values().filter(|result| is(result)).count()
    }
}
