//! `gitoggle validate` checks documents, and `gitoggle stale` lists the toggles that no longer decide anything. They need
//! no service, state or token.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::StaleArgs;
use super::failure::{ExitStatus, Failure};
use super::{color, note, print, setup};
use crate::cli;
use crate::config::{OutputFormat, Settings};
use crate::document::{self, Diagnostic, Severity};
use crate::model::{Scope, counted, escaped};
use crate::pass::{self, CheckTarget, Checked, Checks};
use crate::report;
use crate::source::{self, CacheMode, SourceConfig, worktree};

/// A place to check, and the paths within it.
pub(super) struct Target {
    pub(super) place: CheckTarget,
    pub(super) within: Vec<String>,
}

pub(super) fn run(settings: &Settings, paths: &[PathBuf]) -> Result<ExitStatus, Failure> {
    let all = checked(settings, &targets(settings, paths)?)?;
    let problem = problem(&all, settings);
    show(&all, problem.as_ref(), settings)?;
    let invalid = ExitStatus::Invalid.when(count(&all.findings, Severity::Error) > 0);
    let Some(problem) = problem else {
        return Ok(invalid);
    };
    note(&problem.to_string())?;
    Ok(problem.status().and(invalid))
}

/// Returns the error of a run that checked no document or had a glob without a match.
fn problem(checked: &Checked, settings: &Settings) -> Option<Failure> {
    let unmatched: Vec<String> = checked.unmatched.iter().cloned().collect();
    if let Err(error) = pass::check_scope(&settings.only, &unmatched) {
        return Some(error.into());
    }
    // A check of nothing must not pass (DESIGN, section 3, *Never green by accident*).
    let is_empty = checked.documents.is_empty() && !settings.allow_empty;
    is_empty.then(|| {
        Failure::failed("no document was checked").hint(
            "check the paths, `--root` and `--layout` (a sparse checkout leaves files out); if there is nothing to \
             check, pass `--allow-empty`",
        )
    })
}

fn checked(settings: &Settings, targets: &[Target]) -> Result<Checked, Failure> {
    let mut all =
        Checked { unmatched: settings.only.globs().iter().cloned().collect(), ..Checked::default() };
    for Target { place, within } in targets {
        let checks =
            Checks { layout: &settings.layout, kind: settings.service_kind, scope: &settings.only, within };
        let Checked { documents, findings, waived, unmatched } = pass::check(place, checks)?;
        all.documents.extend(documents);
        all.findings.extend(findings);
        all.waived.extend(waived);
        // A glob that matches a toggle of one target is not an error for the others.
        all.unmatched.retain(|glob| unmatched.contains(glob));
    }
    Ok(all)
}

/// Returns the targets: the work tree by default, a revision with `--ref`. A path inside a repository is a filter; outside
/// of any repository, a folder is a root, and a file is checked alone.
pub(super) fn targets(settings: &Settings, paths: &[PathBuf]) -> Result<Vec<Target>, Failure> {
    if paths.is_empty() {
        return Ok(vec![all_of(everything(settings)?)]);
    }
    let mut targets = Vec::new();
    let mut within: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for path in paths {
        let full = path.canonicalize().map_err(|error| unreadable(path, error))?;
        let top = worktree::top_of(&full).and_then(|top| top.canonicalize().ok());
        let inner = top.as_deref().and_then(|top| full.strip_prefix(top).ok());
        match (&top, inner) {
            (Some(top), Some(inner)) => {
                let inner = inner.to_string_lossy().into_owned();
                // Grouped by repository, so that each one is read once.
                within.entry(top.clone()).or_default().push(inner);
            }
            _ if full.is_dir() => targets.push(all_of(CheckTarget::Folder(full, String::new()))),
            _ => targets.push(all_of(file(settings, &full, path)?)),
        }
    }
    for (top, within) in within {
        let place = repository(settings, &top)?;
        targets.push(Target { place, within });
    }
    Ok(targets)
}

fn all_of(place: CheckTarget) -> Target {
    let within = Vec::new();
    Target { place, within }
}

/// Returns the place that is checked when no path is given.
pub(super) fn everything(settings: &Settings) -> Result<CheckTarget, Failure> {
    let revision = || Ok(CheckTarget::Revision(Box::new(setup::source(settings, CacheMode::Untouched))));
    let (Some(path), None) = (settings.repo.local_path(), &settings.reference) else {
        return revision();
    };
    if !path.exists() {
        return Err(unreadable(path, std::io::ErrorKind::NotFound.into()));
    }
    if let Some(top) = worktree::top_of(path) {
        return Ok(CheckTarget::Folder(top, settings.root.clone()));
    }
    match worktree::WorkTree::open(path, "") {
        // A bare repository has only committed files.
        Err(source::Error::NoWorkTree(_)) => revision(),
        _ => Ok(CheckTarget::Folder(path.to_owned(), settings.root.clone())),
    }
}

/// Returns the place of the repository whose work tree is at `top`.
fn repository(settings: &Settings, top: &Path) -> Result<CheckTarget, Failure> {
    if settings.reference.is_none() {
        return Ok(CheckTarget::Folder(top.to_owned(), settings.root.clone()));
    }
    let location = top.to_string_lossy().parse().map_err(Failure::failed)?;
    let source = setup::source(settings, CacheMode::Untouched);
    Ok(CheckTarget::Revision(Box::new(SourceConfig { location, ..source })))
}

/// Returns the place of a file outside of any repository. By the layout, its folders name the toggle.
fn file(settings: &Settings, full: &Path, given: &Path) -> Result<CheckTarget, Failure> {
    let folders = settings.layout.pattern().split('/').count();
    let Some(root) = full.ancestors().nth(folders) else {
        let given = given.to_string_lossy();
        let message = format!("the path of `{}` does not name a toggle", escaped(&given));
        return Err(Failure::new(ExitStatus::Usage, message).hint(format!(
            "outside of a repository, a file is named by its folders: `{}`",
            settings.layout
        )));
    };
    let inner = full.strip_prefix(root).unwrap_or(full);
    Ok(CheckTarget::File(root.to_owned(), inner.to_string_lossy().into_owned()))
}

fn unreadable(path: &Path, error: std::io::Error) -> Failure {
    let path = path.to_string_lossy();
    Failure::could_not(format!("check `{}`", escaped(&path)))(error)
}

fn show(checked: &Checked, problem: Option<&Failure>, settings: &Settings) -> Result<(), Failure> {
    let Checked { documents, findings, waived, unmatched: _ } = checked;
    let summary = summary(documents.len(), findings, waived.len());
    let error = problem.map(|problem| problem.json_error().message);
    let error = error.as_deref();
    match settings.output {
        OutputFormat::Human => {
            let mut text = document::render(findings, color(settings));
            if !text.is_empty() {
                text.push('\n');
            }
            print(&(text + &summary + "\n"))
        }
        OutputFormat::Json => cli::print_json(&json!({
            "version": 1,
            "summary": {
                "documents": documents.len(),
                "errors": count(findings, Severity::Error),
                "warnings": count(findings, Severity::Warning),
                "waived": waived.len(),
            },
            "error": problem.map(Failure::json_error),
            "findings": findings,
            "waived": waived,
        })),
        OutputFormat::Github => {
            let failed = error.map(report::failed_annotation).unwrap_or_default();
            print(&(report::annotations(findings) + &failed + &summary + "\n"))?;
            cli::step_summary(|limit| report::finding_list(findings, &summary, limit))
        }
        OutputFormat::Gitlab => cli::print_json(&report::code_quality(findings, &[], error)),
        OutputFormat::Junit => print(&report::junit_documents(documents, findings, error)),
        OutputFormat::Sarif => cli::print_json(&report::sarif(findings, &[], error)),
        OutputFormat::Markdown => print(&report::finding_list(findings, &summary, report::ANY_COMMENT)),
    }
}

fn summary(documents: usize, findings: &[Diagnostic], waived: usize) -> String {
    let levels = [Severity::Error, Severity::Warning].map(|level| (count(findings, level), level.as_str()));
    let levels = levels.iter().filter(|(count, _)| *count > 0);
    let mut parts: Vec<String> = levels.map(|(count, level)| counted(*count, level)).collect();
    if parts.is_empty() {
        parts.push("no findings".to_owned());
    }
    parts.extend(cli::nonzero(&[(waived, "waived")]));
    format!("checked {}: {}", counted(documents, "document"), parts.join(", "))
}

fn count(findings: &[Diagnostic], severity: Severity) -> usize {
    findings.iter().filter(|finding| finding.severity == severity).count()
}

/// Lists the toggles that no longer decide anything.
pub(super) fn stale(settings: &Settings, args: &StaleArgs) -> Result<ExitStatus, Failure> {
    let globs = Scope::new(&args.globs).map_err(Failure::failed)?;
    let query = pass::StaleQuery {
        layout: &settings.layout,
        kind: settings.service_kind,
        scopes: [&settings.only, &globs],
        older_than: args.older_than,
        now: jiff::Timestamp::now().as_second(),
    };
    let report = pass::stale(&setup::source(settings, CacheMode::Untouched), query)?;
    cli::print_result(
        settings.output,
        || report::stale_text(&report, color(settings)),
        || report::stale_json(&report),
        |limit| report::stale_markdown(&report, limit),
    )?;
    let found = ExitStatus::Changes.when(args.detailed_exitcode && !report.stale.is_empty());
    Ok(found.and(ExitStatus::Invalid.when(!report.invalid.is_empty())))
}
