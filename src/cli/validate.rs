//! `gitoggle validate`: checks documents, and needs nothing but the files.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::config::{OutputFormat, Settings};
use crate::document::{self, Diagnostic, Severity};
use crate::model::{counted, escaped};
use crate::plan::render;
use crate::reconcile::{self, Checked, Place};
use crate::source::{CacheMode, worktree};

use super::failure::{Failure, Verdict};
use super::show;
use super::{color, print, setup};

/// One thing to check: where, and which paths within it.
struct Target {
    place: Place,
    within: Vec<String>,
}

pub(super) fn run(settings: &Settings, paths: &[PathBuf]) -> Result<Verdict, Failure> {
    let mut all = Checked::default();
    for Target { place, within } in targets(settings, paths)? {
        let Checked { documents, findings } = reconcile::check(
            &place,
            &settings.layout,
            settings.service_kind,
            &settings.only,
            &within,
        )?;
        all.documents += documents;
        all.findings.extend(findings);
    }
    show(&all, settings)?;
    let invalid = all
        .findings
        .iter()
        .any(|finding| finding.severity == Severity::Error);
    Ok(if invalid { Verdict::Invalid } else { Verdict::Clean })
}

/// The work tree by default, a revision with `--ref`. A path inside the repository filters, a folder outside is a root.
fn targets(settings: &Settings, paths: &[PathBuf]) -> Result<Vec<Target>, Failure> {
    let top = settings.repo.local_path().and_then(worktree::top_of);
    let top = top.as_deref().and_then(|top| top.canonicalize().ok());
    let mut within = Vec::new();
    let mut targets = Vec::new();
    for path in paths {
        let full = path.canonicalize().map_err(|error| unreadable(path, error))?;
        match top.as_deref().and_then(|top| full.strip_prefix(top).ok()) {
            Some(inner) => within.push(inner.to_string_lossy().into_owned()),
            None if full.is_dir() => targets.push(outside(&full)),
            None => return Err(outside_file(path)),
        }
    }
    if !within.is_empty() || paths.is_empty() {
        targets.push(Target {
            place: repository(settings, top.as_deref())?,
            within,
        });
    }
    Ok(targets)
}

/// A folder outside the repository: a part of another one's work tree, or a root of its own.
fn outside(folder: &Path) -> Target {
    Target {
        place: Place::Folder(folder.to_owned(), String::new()),
        within: Vec::new(),
    }
}

fn repository(settings: &Settings, top: Option<&Path>) -> Result<Place, Failure> {
    match (top, &settings.reference, settings.repo.local_path()) {
        (Some(top), None, _) => Ok(Place::Folder(top.to_owned(), settings.root.clone())),
        (None, None, Some(path)) if !path.exists() => {
            Err(unreadable(path, std::io::ErrorKind::NotFound.into()))
        }
        _ => Ok(Place::Revision(Box::new(setup::source(
            settings,
            CacheMode::Untouched,
        )))),
    }
}

fn unreadable(path: &Path, error: std::io::Error) -> Failure {
    let path = path.to_string_lossy();
    Failure::failed(show::Attempt::new(
        format!("cannot check `{}`", escaped(&path)),
        error,
    ))
}

fn outside_file(path: &Path) -> Failure {
    let path = path.to_string_lossy();
    Failure::new(
        Verdict::Usage,
        format!("`{}` is a file outside the repository", escaped(&path)),
    )
    .hint("give a folder, which is taken as a root, or name the file's repository with `--repo`")
}

fn show(checked: &Checked, settings: &Settings) -> Result<(), Failure> {
    let Checked { documents, findings } = checked;
    let summary = summary(*documents, findings);
    match settings.output {
        OutputFormat::Human => {
            let mut text = document::render(findings, color(settings));
            if !text.is_empty() {
                text.push('\n');
            }
            print(&(text + &summary + "\n"))
        }
        OutputFormat::Json => show::json(&json!({
            "version": 1,
            "summary": {
                "documents": documents,
                "errors": count(findings, Severity::Error),
                "warnings": count(findings, Severity::Warning),
            },
            "findings": findings,
        })),
        OutputFormat::Github => {
            print(&(render::annotations(findings) + &summary + "\n"))?;
            show::step_summary(&(show::markdown(findings) + &summary + "\n"))
        }
        OutputFormat::Markdown => print(&(show::markdown(findings) + &summary + "\n")),
    }
}

fn summary(documents: usize, findings: &[Diagnostic]) -> String {
    let errors = count(findings, Severity::Error);
    let warnings = count(findings, Severity::Warning);
    let found = match (errors, warnings) {
        (0, 0) => "no findings".to_owned(),
        (0, _) => counted(warnings, "warning"),
        (_, 0) => counted(errors, "error"),
        _ => format!("{}, {}", counted(errors, "error"), counted(warnings, "warning")),
    };
    format!("checked {}: {found}", counted(documents, "document"))
}

fn count(findings: &[Diagnostic], severity: Severity) -> usize {
    findings
        .iter()
        .filter(|finding| finding.severity == severity)
        .count()
}
