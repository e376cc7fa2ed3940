//! Renders findings as SARIF 2.1.0, the format of code scanning.

use std::collections::BTreeMap;

use percent_encoding::utf8_percent_encode;
use serde_json::{Value, json};

use super::fingerprints::Fingerprints;
use super::links::IN_PATH;
use super::{description, errors_first};
use crate::document::{Diagnostic, Severity};
use crate::model::counted;

/// The number of results that GitHub accepts in one run.
const MOST_RESULTS: usize = 25_000;

/// Returns findings as a SARIF log with one run, errors first. `problem` is an error that makes the run incomplete.
/// Paths are relative to the repository's root.
#[must_use]
pub fn sarif(findings: &[Diagnostic], problem: Option<&str>) -> Value {
    let rules = rules(findings);
    let mut fingerprints = Fingerprints::default();
    let results: Vec<Value> = errors_first(findings)
        .take(MOST_RESULTS)
        .map(|finding| {
            let index = rules.keys().position(|id| *id == finding.id);
            result(finding, index, &mut fingerprints)
        })
        .collect();
    let rules: Vec<Value> = rules.iter().map(|(id, severity)| rule(id, *severity)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "gitoggle", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": { "%SRCROOT%": { "description": { "text": "The root of the repository." } } },
            "invocations": [{
                "executionSuccessful": problem.is_none(),
                "toolExecutionNotifications": notifications(findings.len(), problem),
            }],
            "results": results,
        }],
    })
}

/// Returns the rules of the findings, each with its highest severity.
fn rules(findings: &[Diagnostic]) -> BTreeMap<&'static str, Severity> {
    let mut rules = BTreeMap::new();
    for finding in findings {
        let severity = rules.entry(finding.id).or_insert(finding.severity);
        *severity = finding.severity.min(*severity);
    }
    rules
}

fn rule(id: &str, severity: Severity) -> Value {
    let words = id.replace('-', " ");
    let consequence = match severity {
        Severity::Error => "The document is invalid: the last applied version stays.",
        Severity::Warning => "The document is suspicious, but it is published.",
    };
    json!({
        "id": id,
        "shortDescription": { "text": words },
        "help": { "text": format!("{consequence} Each finding says how to solve it.") },
        "defaultConfiguration": { "level": severity.as_str() },
    })
}

fn result(finding: &Diagnostic, index: Option<usize>, fingerprints: &mut Fingerprints) -> Value {
    let mut region = json!({ "startLine": finding.line.max(1) });
    if finding.line > 0 {
        region["startColumn"] = finding.column.max(1).into();
    }
    if let Some(end) = finding.end_column {
        region["endColumn"] = end.into();
    }
    let uri = utf8_percent_encode(&finding.path, IN_PATH).to_string();
    json!({
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": finding.severity.as_str(),
        "message": { "text": message(&description(finding)) },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": uri, "uriBaseId": "%SRCROOT%" },
                "region": region,
            },
        }],
        "partialFingerprints": { "finding/v1": fingerprints.next([finding.id, &finding.path, &finding.message]) },
    })
}

fn notifications(findings: usize, problem: Option<&str>) -> Vec<Value> {
    let more = findings.saturating_sub(MOST_RESULTS);
    let left_out = (more > 0).then(|| {
        let text = format!(
            "{} left out: a run has at most {MOST_RESULTS} results",
            counted(more, "finding")
        );
        ("warning", text)
    });
    let problem = problem.map(|problem| ("error", message(problem)));
    let all = left_out.into_iter().chain(problem);
    all.map(|(level, text)| json!({ "level": level, "message": { "text": text } }))
        .collect()
}

/// Returns a plain text message without links, which a text in brackets would be (SARIF 2.1.0, section 3.11.6).
fn message(text: &str) -> String {
    text.replace('[', "\\[").replace(']', "\\]")
}
