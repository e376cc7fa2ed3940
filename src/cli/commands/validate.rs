//! `gitoggle validate`: checks documents. Needs no service, state or token.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::{Formats, color, nonzero, note, print, print_json, show, step_summary};
use crate::cli::targets::{Target, targets};
use crate::config::{OutputFormat, Settings};
use crate::document::{self, Diagnostic, Severity};
use crate::model::counted;
use crate::pass::{self, Checked, Checks};
use crate::report;

/// Check documents
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Checks documents: the work tree by default, a revision with --ref. A PATH inside a repository \
                  filters, a folder outside one is a root. Needs no base URL, network or token."
)]
pub(crate) struct ValidateArgs {
    /// Check these files and folders only
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}

/// The forms of the findings.
pub(super) const FORMATS: Formats<Validated> = &[
    (OutputFormat::Human, human),
    (OutputFormat::Json, json),
    (OutputFormat::Markdown, |all, _| {
        print(&report::finding_list(&all.checked.findings, &all.summary(), report::ANY_COMMENT))
    }),
    (OutputFormat::Github, annotations),
    (OutputFormat::Gitlab, |all, _| {
        print_json(&report::code_quality(&all.checked.findings, &[], all.error().as_deref()))
    }),
    (OutputFormat::Sarif, |all, _| {
        print_json(&report::sarif(&all.checked.findings, &[], all.error().as_deref()))
    }),
    (OutputFormat::Junit, |all, _| {
        let Checked { documents, findings, .. } = &all.checked;
        print(&report::junit_documents(documents, findings, all.error().as_deref()))
    }),
];

/// What was checked, and the error of the run.
pub(super) struct Validated {
    checked: Checked,
    problem: Option<Failure>,
}

pub(super) fn run(settings: &Settings, args: &ValidateArgs) -> Result<ExitStatus, Failure> {
    let checked = checked(settings, &targets(settings, &args.paths)?)?;
    let all = Validated { problem: problem(&checked, settings), checked };
    show(FORMATS, &all, settings)?;
    let invalid = ExitStatus::Invalid.when(count(&all.checked.findings, Severity::Error) > 0);
    let Some(problem) = all.problem else {
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
    // A check of nothing must not pass (src/cli/README.md, "Never green by accident").
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
        let checks = Checks {
            layout: &settings.layout,
            kind: settings.service_kind,
            sdks: settings.sdks,
            scope: &settings.only,
            within,
        };
        let Checked { documents, findings, waived, unmatched } = pass::check(place, checks)?;
        all.documents.extend(documents);
        all.findings.extend(findings);
        all.waived.extend(waived);
        // A glob that matches a toggle of one target is not an error for the others.
        all.unmatched.retain(|glob| unmatched.contains(glob));
    }
    Ok(all)
}

impl Validated {
    fn summary(&self) -> String {
        summary(self.checked.documents.len(), &self.checked.findings, self.checked.waived.len())
    }

    fn error(&self) -> Option<String> {
        self.problem.as_ref().map(|problem| problem.json_error().message)
    }
}

fn human(all: &Validated, settings: &Settings) -> Result<(), Failure> {
    let mut text = document::render(&all.checked.findings, color(settings));
    if !text.is_empty() {
        text.push('\n');
    }
    print(&(text + &all.summary() + "\n"))
}

fn json(all: &Validated, _: &Settings) -> Result<(), Failure> {
    let Checked { documents, findings, waived, unmatched: _ } = &all.checked;
    print_json(&json!({
        "version": 1,
        "summary": {
            "documents": documents.len(),
            "errors": count(findings, Severity::Error),
            "warnings": count(findings, Severity::Warning),
            "waived": waived.len(),
        },
        "error": all.problem.as_ref().map(Failure::json_error),
        "findings": findings,
        "waived": waived,
    }))
}

fn annotations(all: &Validated, _: &Settings) -> Result<(), Failure> {
    let (findings, summary) = (&all.checked.findings, all.summary());
    let failed = all.error().map(|error| report::failed_annotation(&error)).unwrap_or_default();
    print(&(report::annotations(findings) + &failed + &summary + "\n"))?;
    step_summary(|limit| report::finding_list(findings, &summary, limit))
}

fn summary(documents: usize, findings: &[Diagnostic], waived: usize) -> String {
    let levels = [Severity::Error, Severity::Warning].map(|level| (count(findings, level), level.as_str()));
    let levels = levels.iter().filter(|(count, _)| *count > 0);
    let mut parts: Vec<String> = levels.map(|(count, level)| counted(*count, level)).collect();
    if parts.is_empty() {
        parts.push("no findings".to_owned());
    }
    parts.extend(nonzero(&[(waived, "waived")]));
    format!("checked {}: {}", counted(documents, "document"), parts.join(", "))
}

fn count(findings: &[Diagnostic], severity: Severity) -> usize {
    findings.iter().filter(|finding| finding.severity == severity).count()
}
