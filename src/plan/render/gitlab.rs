//! Renders findings as a code-quality report of GitLab.

use serde::Serialize;

use super::description;
use super::fingerprints::Fingerprints;
use crate::document::{Diagnostic, Severity};
use crate::model::escaped;

/// The check of an issue that is an error of the command, and its path.
const FAILED: &str = "failed";
const ROOT: &str = ".";

/// One finding in GitLab's subset of the Code Climate format.
#[derive(Debug, Serialize)]
pub struct CodeQualityIssue<'a> {
    description: String,
    check_name: &'static str,
    fingerprint: String,
    severity: &'static str,
    location: Location<'a>,
}

#[derive(Debug, Serialize)]
struct Location<'a> {
    path: &'a str,
    lines: Lines,
}

#[derive(Debug, Serialize)]
struct Lines {
    begin: u32,
}

/// Returns findings as a code-quality report, ready to serialize. A finding about a whole file is at its first line,
/// because the format requires one. `problem` is an error that makes the report incomplete.
#[must_use]
pub fn code_quality<'a>(findings: &'a [Diagnostic], problem: Option<&str>) -> Vec<CodeQualityIssue<'a>> {
    let mut fingerprints = Fingerprints::default();
    // The format has no place for errors of the tool, and GitLab takes an empty file for no report.
    let problem = problem.map(|problem| CodeQualityIssue {
        description: escaped(problem).to_string(),
        check_name: FAILED,
        fingerprint: fingerprints.next([FAILED, ROOT, problem]),
        severity: "blocker",
        location: Location {
            path: ROOT,
            lines: Lines { begin: 1 },
        },
    });
    let issues = findings.iter().map(|finding| CodeQualityIssue {
        description: description(finding),
        check_name: finding.id,
        fingerprint: fingerprints.next([finding.id, &finding.path, &finding.message]),
        severity: match finding.severity {
            Severity::Error => "major",
            Severity::Warning => "minor",
        },
        location: Location {
            path: &finding.path,
            lines: Lines {
                begin: finding.line.max(1),
            },
        },
    });
    problem.into_iter().chain(issues).collect()
}
