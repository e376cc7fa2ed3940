//! `gitoggle diff`: compares two environments of the work tree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::json;

use super::args::PlanExit;
use super::failure::{ExitStatus, Failure};
use super::{color, note, print, show, unsupported_output};
use crate::config::{OutputFormat, Settings};
use crate::document::{self, Diagnostic};
use crate::model::EnvironmentId;
use crate::pass::authoring::{AuthoringError, DocumentPlace, EnvironmentDocuments};
use crate::plan::{EnvironmentDiff, ToggleDiff, render};
use crate::source::{self, worktree};

pub(super) fn run(
    settings: &Settings,
    [before, after]: [&EnvironmentId; 2],
    exit: PlanExit,
) -> Result<ExitStatus, Failure> {
    distinct(before, after)?;
    let folder = folder(settings)?;
    let [old, new] = place(settings, &folder).environments([before, after])?;
    for (id, documents) in [(before, &old), (after, &new)] {
        // A comparison with nothing is more often a typing error (DESIGN, section 3, *Never green by accident*).
        if documents.is_empty() {
            return Err(AuthoringError::NoDocuments(id.clone()).into());
        }
    }
    let diff = compared([before, after], [&old, &new]);
    let mut findings = [old.findings, new.findings].concat();
    findings.sort();
    show(&diff, &findings, &BTreeMap::new(), settings)?;
    let changes = match (exit, diff.toggles.is_empty()) {
        (PlanExit::Detailed, false) => ExitStatus::Changes,
        (PlanExit::Detailed | PlanExit::Plain, _) => ExitStatus::Clean,
    };
    Ok(changes.and(invalid(&findings)))
}

/// Prints the difference, the errors in invalid documents, and the toggles that could not be copied, with the reasons.
pub(super) fn show(
    diff: &EnvironmentDiff,
    findings: &[Diagnostic],
    failed: &BTreeMap<&str, &str>,
    settings: &Settings,
) -> Result<(), Failure> {
    let errors = document::render(findings, color(settings));
    match settings.output {
        OutputFormat::Human => {
            print(&diff.text(color(settings)))?;
            note(&errors)
        }
        OutputFormat::Json => show::json(&json!({
            "version": 1,
            "diff": diff.json(),
            "findings": findings,
            "failed": failed,
        })),
        OutputFormat::Markdown => {
            let findings = render::findings(findings, "", render::ANY_COMMENT / 2);
            print(&(diff.markdown(render::ANY_COMMENT - findings.len()) + &findings))
        }
        other => Err(unsupported_output(other)),
    }
}

pub(super) fn invalid(findings: &[Diagnostic]) -> ExitStatus {
    match findings.is_empty() {
        true => ExitStatus::Clean,
        false => ExitStatus::Invalid,
    }
}

pub(super) fn distinct(one: &EnvironmentId, other: &EnvironmentId) -> Result<(), Failure> {
    match one == other {
        true => Err(Failure::new(
            ExitStatus::Usage,
            format!("both environments are `{one}`"),
        )),
        false => Ok(()),
    }
}

/// Returns the top of the work tree of `--repo`, or the folder itself outside of work trees.
pub(super) fn folder(settings: &Settings) -> Result<PathBuf, Failure> {
    let Some(path) = settings.repo.local_path() else {
        let message = "this command needs a work tree, and `--repo` is a URL";
        return Err(Failure::new(ExitStatus::Usage, message).hint("clone it, and pass the clone as `--repo`"));
    };
    if !path.is_dir() {
        return Err(Failure::failed(source::Error::NoFolder(path.to_owned())));
    }
    Ok(worktree::top_of(path).unwrap_or_else(|| path.to_owned()))
}

pub(super) fn place<'a>(settings: &'a Settings, folder: &'a std::path::Path) -> DocumentPlace<'a> {
    DocumentPlace {
        folder,
        root: &settings.root,
        layout: &settings.layout,
        kind: settings.service_kind,
    }
}

fn compared([before, after]: [&EnvironmentId; 2], [old, new]: [&EnvironmentDocuments; 2]) -> EnvironmentDiff {
    let keys: BTreeSet<&str> = old.toggles().union(&new.toggles()).copied().collect();
    let mut toggles = Vec::new();
    let mut counts = DiffCounts::default();
    for key in keys {
        if old.invalid.contains_key(key) || new.invalid.contains_key(key) {
            counts.invalid += 1;
            continue;
        }
        let payload = |documents: &EnvironmentDocuments| {
            documents.valid.get(key).map(|document| document.payload.clone())
        };
        let (was, is) = (payload(old), payload(new));
        let remark = match (&was, &is) {
            (Some(was), Some(is)) if was == is => {
                counts.equal += 1;
                continue;
            }
            (Some(_), Some(_)) => {
                counts.different += 1;
                String::new()
            }
            (None, _) => {
                counts.only_after += 1;
                format!("only in {after}")
            }
            (_, None) => {
                counts.only_before += 1;
                format!("only in {before}")
            }
        };
        toggles.push(ToggleDiff {
            toggle: key.to_owned(),
            before: was,
            after: is,
            remark,
        });
    }
    EnvironmentDiff {
        before: before.clone(),
        after: after.clone(),
        toggles,
        summary: counts.summary(before, after),
    }
}

/// The number of toggles by the result of their comparison.
#[derive(Default)]
struct DiffCounts {
    different: usize,
    only_before: usize,
    only_after: usize,
    invalid: usize,
    equal: usize,
}

impl DiffCounts {
    fn summary(&self, before: &EnvironmentId, after: &EnvironmentId) -> String {
        let mut parts = vec![format!("{} different", self.different)];
        for (count, what) in [
            (self.only_before, format!("only in {before}")),
            (self.only_after, format!("only in {after}")),
            (self.invalid, "invalid".to_owned()),
        ] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        parts.push(format!("{} equal", self.equal));
        parts.join(", ")
    }
}
