//! Renders findings and notes for machines: as workflow commands of GitHub, Gitea and Forgejo Actions, as a
//! code-quality report of GitLab, as SARIF, and, with one test per document or toggle, as JUnit XML.

use std::collections::BTreeMap;

use percent_encoding::utf8_percent_encode;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::links::IN_PATH;
use super::{Remark, defused};
use crate::document::{Check, Diagnostic, Severity};
use crate::model::{JunitCase, JunitKind, JunitProblem, JunitSuite, counted, escaped, hex, junit};
use crate::plan::{Change, Plan, WithheldToggle};

/// The number of annotations of one level that GitHub shows for one step.
const MOST_SHOWN: usize = 10;

/// Returns the workflow commands of a plan: a warning if comments are guesses, the notes, then the findings.
/// `root` is the folder of the documents.
pub(crate) fn github(plan: &Plan, notes: &[String], root: &str) -> String {
    let guesses = plan.guess_note().map(|note| format!("::warning title=history-is-cut::{}\n", data(&note)));
    // GitHub shows only the first commands of a step, and the job summary has all of them.
    let needed = super::needed_orphans(plan, root).chain(super::needed(plan, root));
    let notes = notes.iter().cloned().map(Remark::from).chain(needed.take(MOST_SHOWN));
    let notes = notes.map(|Remark { path, text }| {
        let file = path.map(|path| format!("file={},", property(&escaped(&path).to_string())));
        format!("::notice {}title=note::{}\n", file.unwrap_or_default(), data(&escaped(&text).to_string()))
    });
    guesses.into_iter().chain(notes).collect::<String>() + &annotations(plan.findings())
}

/// Returns findings as workflow commands, which GitHub shows next to the lines concerned. Errors come first,
/// because GitHub shows only the first commands of a step.
pub(crate) fn annotations(findings: &[Diagnostic]) -> String {
    let mut out = String::new();
    for severity in [Severity::Error, Severity::Warning] {
        let of_level = findings.iter().filter(|finding| finding.severity == severity);
        let of_level: Vec<&Diagnostic> = of_level.collect();
        // The last annotation that is shown counts the others, which are in the log as plain text.
        let (shown, others) = match of_level.len() {
            0..=MOST_SHOWN => of_level.split_at(of_level.len()),
            _ => of_level.split_at(MOST_SHOWN - 1),
        };
        out.extend(shown.iter().map(|finding| annotation(finding)));
        if !others.is_empty() {
            let level = severity.as_str();
            let more = counted(others.len(), &format!("more {level}"));
            out.push_str(&format!(
                "::{level} title=more-findings::{more}: see the job summary and the log of this step\n"
            ));
            out.extend(others.iter().map(|finding| log_line(finding)));
        }
    }
    out
}

/// Returns the workflow command of an error of the command as a whole.
pub(crate) fn failed_annotation(problem: &str) -> String {
    format!("::error title=gitoggle::{}\n", data(&escaped(problem).to_string()))
}

fn annotation(finding: &Diagnostic) -> String {
    let file = property(&escaped(&finding.path).to_string());
    let place = match finding.line {
        0 => String::new(),
        line => format!(",line={line},col={}", finding.column),
    };
    let (level, title) = (finding.severity.as_str(), property(finding.id));
    let text = data(&description(finding));
    format!("::{level} file={file}{place},title={title}::{text}\n")
}

/// Returns one line for the log, which is not a command.
fn log_line(finding: &Diagnostic) -> String {
    let text = format!(
        "{} {} {}: {}\n",
        finding.severity.as_str(),
        escaped(&finding.place()),
        finding.id,
        description(finding)
    );
    defused(&text)
}

fn data(text: &str) -> String {
    // `%` comes first, so that the other escapes are not escaped again.
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Returns the message and the help of a finding on one line.
fn description(finding: &Diagnostic) -> String {
    let help = finding.help.as_ref();
    let help = help.map_or_else(String::new, |help| format!(" ({help})"));
    escaped(&format!("{}{help}", finding.message)).to_string()
}

pub(super) fn errors_first(findings: &[Diagnostic]) -> impl Iterator<Item = &Diagnostic> {
    let of = |severity| findings.iter().filter(move |finding| finding.severity == severity);
    of(Severity::Error).chain(of(Severity::Warning))
}

/// The checks of issues that are an error or a note of the command, and their path.
const FAILED: &str = "failed";
const NOTE: &str = "note";
const ROOT: &str = ".";

/// One finding in GitLab's subset of the Code Climate format.
#[derive(Debug, Serialize)]
pub(crate) struct CodeQualityIssue<'a> {
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

/// Returns findings as a code-quality report, ready to serialize. A finding about a whole file is at its
/// first line, because the format requires one. `problem` is an error that makes the report incomplete.
pub(crate) fn code_quality<'a>(
    findings: &'a [Diagnostic],
    notes: &'a [Remark],
    problem: Option<&str>,
) -> Vec<CodeQualityIssue<'a>> {
    let mut fingerprints = Fingerprints::default();
    // The format has no place for errors and notes of the tool, and GitLab takes an empty file for no report.
    let of_tool = problem.map(|problem| (FAILED, ROOT, problem, "blocker")).into_iter();
    let path = |note: &'a Remark| note.path.as_deref().unwrap_or(ROOT);
    let of_tool = of_tool.chain(notes.iter().map(|note| (NOTE, path(note), note.text.as_str(), "info")));
    let of_tool: Vec<_> = of_tool
        .map(|(check_name, path, text, severity)| CodeQualityIssue {
            description: escaped(text).to_string(),
            check_name,
            fingerprint: fingerprints.next([check_name, path, text]),
            severity,
            location: Location { path, lines: Lines { begin: 1 } },
        })
        .collect();
    let issues = findings.iter().map(|finding| CodeQualityIssue {
        description: description(finding),
        check_name: finding.id,
        fingerprint: fingerprints.next([finding.id, &finding.path, &finding.message]),
        severity: match finding.severity {
            Severity::Error => "major",
            Severity::Warning => "minor",
        },
        location: Location { path: &finding.path, lines: Lines { begin: finding.line.max(1) } },
    });
    of_tool.into_iter().chain(issues).collect()
}

/// The number of results that GitHub accepts in one run.
const MOST_RESULTS: usize = 25_000;

/// Returns findings as a SARIF log with one run, errors first. `problem` is an error that makes the run
/// incomplete. Paths are relative to the repository's root.
pub(crate) fn sarif(findings: &[Diagnostic], notes: &[Remark], problem: Option<&str>) -> Value {
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
                "toolExecutionNotifications": notifications(findings.len(), notes, problem),
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
        Severity::Error => "The document is invalid, and is not published.",
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
    json!({
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": finding.severity.as_str(),
        "message": { "text": message(&description(finding)) },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": artifact(&finding.path),
                "region": region,
            },
        }],
        "partialFingerprints": { "finding/v1": fingerprints.next([finding.id, &finding.path, &finding.message]) },
    })
}

fn artifact(path: &str) -> Value {
    json!({ "uri": utf8_percent_encode(path, IN_PATH).to_string(), "uriBaseId": "%SRCROOT%" })
}

fn notifications(findings: usize, notes: &[Remark], problem: Option<&str>) -> Vec<Value> {
    let more = findings.saturating_sub(MOST_RESULTS);
    let left_out = (more > 0)
        .then(|| format!("{} left out: a run has at most {MOST_RESULTS} results", counted(more, "finding")));
    let notification = |level: &str, text: &str| json!({ "level": level, "message": { "text": text } });
    let left_out = left_out.map(|text| notification("warning", &text));
    let problem = problem.map(|problem| notification("error", &message(problem)));
    let notes = notes.iter().map(|note| {
        let mut shown = notification("note", &message(&escaped(&note.text).to_string()));
        if let Some(path) = &note.path {
            shown["locations"] = json!([{ "physicalLocation": { "artifactLocation": artifact(path) } }]);
        }
        shown
    });
    left_out.into_iter().chain(problem).chain(notes).collect()
}

/// Returns a plain text message without links, which a text in brackets would be (SARIF 2.1.0, section
/// 3.11.6).
fn message(text: &str) -> String {
    text.replace('[', "\\[").replace(']', "\\]")
}

/// Creates the fingerprints of one report. A fingerprint does not depend on the line, so that it survives an
/// edit above it, and is unique in its report.
#[derive(Default)]
struct Fingerprints(BTreeMap<[u8; 32], usize>);

impl Fingerprints {
    /// Returns the fingerprint of the next finding, by its check, path and message.
    fn next(&mut self, parts: [&str; 3]) -> String {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part);
            // Without a separator, two different findings could have the same bytes.
            hash.update([0]);
        }
        let key: [u8; 32] = hash.clone().finalize().into();
        let count = self.0.entry(key).or_default();
        *count += 1;
        hash.update(count.to_string());
        hex(&hash.finalize())
    }
}

/// Returns one test per document, which fails if the document has an error, and those of warnings. `problem` is an
/// error of the check as a whole.
pub(crate) fn junit_documents(
    documents: &[String],
    findings: &[Diagnostic],
    problem: Option<&str>,
) -> String {
    let mut suite = suite_of_documents(documents, findings);
    suite.cases.extend(problem.map(|problem| failed_command("check", problem)));
    let suites: Vec<JunitSuite> = [suite].into_iter().chain(suite_of_warnings(findings)).collect();
    junit(&suites)
}

/// Returns one test per toggle of a plan: a change passes, a hold fails, and a toggle that only waits is
/// skipped. One test per invalid document and those of warnings follow. A test fails exactly if the plan's exit code is 3 or 4.
pub(crate) fn junit_plan(plan: &Plan, notes: &[String]) -> String {
    let changes = plan.changes().iter().map(|change| (change, None));
    let holds = JunitHolds {
        // As with the exit code, a pull request that adds an environment passes.
        first_pass: JunitKind::Skipped,
        other: JunitKind::Failure,
    };
    junit_results(plan, changes, holds, None, notes)
}

/// The kind of a test whose toggle is held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JunitHolds {
    /// Of a toggle in an environment without a first pass.
    pub(crate) first_pass: JunitKind,
    /// Of any other toggle.
    pub(crate) other: JunitKind,
}

/// Returns the same as [`junit_plan`], with the problems of changes that were tried. `error` ended the
/// attempt early. Each warning and note is a test that is skipped, because the format has no place for them that
/// CI systems show.
pub(crate) fn junit_results<'a>(
    plan: &Plan,
    changes: impl Iterator<Item = (&'a Change, Option<JunitProblem>)>,
    holds: JunitHolds,
    error: Option<&str>,
    notes: &[String],
) -> String {
    let mut suites: BTreeMap<String, Vec<JunitCase>> = BTreeMap::new();
    let mut add = |environment: String, name: &str, problem: Option<JunitProblem>| {
        suites.entry(environment.clone()).or_default().push(JunitCase {
            class: environment,
            name: name.to_owned(),
            problem,
        });
    };
    for (change, problem) in changes {
        let name = format!("{} ({})", change.id.toggle(), change.verb());
        add(change.id.environment().to_string(), &name, problem);
    }
    for (environment, hold) in plan.environment_holds() {
        let problem = JunitProblem::new(holds.other, &hold.reason());
        add(environment.to_string(), "environment", Some(problem));
    }
    let documents = suite_of_documents(&[], plan.findings());
    for WithheldToggle { id, hold, .. } in plan.withheld() {
        let is_invalid = hold.is_invalid();
        let kind = match hold.kind {
            // The document fails below, with its errors.
            _ if is_invalid && !documents.cases.is_empty() => continue,
            Some(kind) if kind.is_first_pass() => holds.first_pass,
            _ if is_invalid => JunitKind::Failure,
            _ if hold.needs_decision() => holds.other,
            _ => JunitKind::Skipped,
        };
        let name = format!("{} ({})", id.toggle(), hold.state.as_str());
        add(id.environment().to_string(), &name, Some(JunitProblem::new(kind, &hold.reason())));
    }
    let suites = suites.into_iter().map(|(name, cases)| JunitSuite { name, cases });
    let documents = Some(documents).filter(|suite| !suite.cases.is_empty());
    let error = error.map(|error| failed_suite("pass", error));
    let needed = super::needed_orphans(plan, "").chain(super::needed(plan, "")).map(|note| note.text);
    let notes = plan.guess_note().into_iter().chain(notes.iter().cloned()).chain(needed);
    let notes = notes.map(|note| JunitCase {
        class: "gitoggle".to_owned(),
        name: "note".to_owned(),
        problem: Some(JunitProblem::new(JunitKind::Skipped, &note)),
    });
    let notes = JunitSuite { name: "notes".to_owned(), cases: notes.collect() };
    let notes = Some(notes).filter(|suite| !suite.cases.is_empty());
    let warnings = suite_of_warnings(plan.findings());
    let suites: Vec<JunitSuite> = suites.chain(documents).chain(warnings).chain(error).chain(notes).collect();
    junit(&suites)
}

/// Returns the suite of a command that failed as a whole. `name` is what failed.
pub(crate) fn failed_suite(name: &str, error: &str) -> JunitSuite {
    JunitSuite { name: "gitoggle".to_owned(), cases: vec![failed_command(name, error)] }
}

/// Returns the test of a command as a whole.
fn failed_command(name: &str, error: &str) -> JunitCase {
    JunitCase {
        class: "gitoggle".to_owned(),
        name: name.to_owned(),
        problem: Some(JunitProblem::new(JunitKind::Error, error)),
    }
}

/// Returns one test per document and per other file with an error.
fn suite_of_documents(documents: &[String], findings: &[Diagnostic]) -> JunitSuite {
    let mut files: BTreeMap<&str, Vec<&Diagnostic>> = BTreeMap::new();
    for path in documents {
        files.entry(path).or_default();
    }
    for finding in findings.iter().filter(|finding| finding.severity == Severity::Error) {
        files.entry(&finding.path).or_default().push(finding);
    }
    let cases = files.into_iter().map(|(path, errors)| JunitCase {
        class: "documents".to_owned(),
        name: path.to_owned(),
        problem: errors.first().map(|first| JunitProblem {
            kind: JunitKind::Failure,
            message: description(first),
            details: errors.iter().map(|error| line(error)).collect::<Vec<_>>().join("\n"),
        }),
    });
    JunitSuite { name: "documents".to_owned(), cases: cases.collect() }
}

/// Returns one skipped test per warning about more than the document that has it, such as other documents and SDKs.
/// Their names differ, because CI systems show one test of each name.
fn suite_of_warnings(findings: &[Diagnostic]) -> Option<JunitSuite> {
    let is_shown = |finding: &&Diagnostic| {
        finding.severity == Severity::Warning && !Check::is_about_one_document(finding.id)
    };
    let warnings = findings.iter().filter(is_shown);
    let cases: Vec<JunitCase> = warnings
        .map(|finding| JunitCase {
            class: "warnings".to_owned(),
            name: format!("{} {}", finding.place(), finding.id),
            problem: Some(JunitProblem::new(JunitKind::Skipped, &description(finding))),
        })
        .collect();
    (!cases.is_empty()).then(|| JunitSuite { name: "warnings".to_owned(), cases })
}

fn line(finding: &Diagnostic) -> String {
    format!("{}: {}: {}", escaped(&finding.place()), finding.id, description(finding))
}
