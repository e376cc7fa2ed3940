//! Renders findings as a code-quality report of GitLab.

use serde::Serialize;

use super::fingerprints::Fingerprints;
use crate::document::{Diagnostic, Severity};
use crate::model::escaped;

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
/// because the format requires one.
#[must_use]
pub fn code_quality(findings: &[Diagnostic]) -> Vec<CodeQualityIssue<'_>> {
    let mut fingerprints = Fingerprints::default();
    let issues = findings.iter().map(|finding| CodeQualityIssue {
        description: description(finding),
        check_name: finding.id,
        fingerprint: fingerprints.next(finding),
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
    issues.collect()
}

/// Returns the message and the help on one line.
pub(super) fn description(finding: &Diagnostic) -> String {
    let help = finding.help.as_ref();
    let help = help.map_or_else(String::new, |help| format!(" ({help})"));
    escaped(&format!("{}{help}", finding.message)).to_string()
}
