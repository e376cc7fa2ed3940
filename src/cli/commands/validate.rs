//! `gitoggle validate`: checks documents. Needs no service, state or token.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::targets::{Target, targets};
use crate::cli::{self, color, note, print};
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

pub(super) fn run(settings: &Settings, args: &ValidateArgs) -> Result<ExitStatus, Failure> {
    let all = checked(settings, &targets(settings, &args.paths)?)?;
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
