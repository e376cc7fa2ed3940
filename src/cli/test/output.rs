//! Prints the results of `test`: as text, JSON and JUnit.

use std::fmt::Write as _;

use serde::Serialize;

use super::coverage::Unreached;
use super::suite::{TestResult, TestRun};
use crate::cli::explain::{Explanation, text};
use crate::cli::failure::{Failure, JsonError};
use crate::cli::{color, print as print_text, show, unsupported_output};
use crate::config::{OutputFormat, Settings};
use crate::document::{self, Diagnostic};
use crate::model::{Color, JunitCase, JunitKind, JunitProblem, JunitSuite, counted, escaped, junit};
use crate::plan::render::failed_suite;
use crate::plan::wording::quoted;

pub(super) fn print(
    run: &TestRun,
    problem: Option<&Failure>,
    settings: &Settings,
    with_coverage: bool,
) -> Result<(), Failure> {
    match settings.output {
        OutputFormat::Human => print_text(&human(run, color(settings), with_coverage)),
        OutputFormat::Json => show::json(&TestJson::of(run, problem, with_coverage)),
        OutputFormat::Junit => {
            let problem = problem.map(|problem| failed_suite("test", &problem.json_error().message));
            let suites: Vec<JunitSuite> = suites(run).into_iter().chain(problem).collect();
            print_text(&junit(&suites))
        }
        _ => Err(unsupported_output(settings.output)),
    }
}

fn human(run: &TestRun, color: Color, with_coverage: bool) -> String {
    let mut out = String::new();
    for result in &run.results {
        if let Some(explanation) = &result.explanation {
            failed(&mut out, result, explanation);
        }
    }
    if !run.findings.is_empty() {
        out.push_str(&document::render(&run.findings, color));
        out.push('\n');
    }
    if with_coverage {
        coverage(&mut out, &run.unreached);
    }
    out.push_str(&summary(run));
    out.push('\n');
    out
}

fn failed(out: &mut String, result: &TestResult, explanation: &Explanation) {
    let TestResult {
        path, expectation, ..
    } = result;
    let (path, name) = (escaped(path), quoted(&expectation.name));
    let _ = writeln!(
        out,
        "failed {path}:{} {name}: expected {}, {}",
        expectation.line,
        quoted(&expectation.serves),
        explanation.outcome()
    );
    for line in text(explanation).lines() {
        let _ = writeln!(out, "    {line}");
    }
    out.push('\n');
}

fn coverage(out: &mut String, unreached: &[Unreached]) {
    for Unreached {
        file, serves, total, ..
    } in unreached
    {
        let file = escaped(file);
        if serves.len() == *total {
            let _ = writeln!(out, "not tested {file}");
            continue;
        }
        for serve in serves {
            let _ = writeln!(out, "not reached {file}:{} {}", serve.line, serve.label);
        }
    }
    if !unreached.is_empty() {
        out.push('\n');
    }
}

fn summary(run: &TestRun) -> String {
    let failures = run
        .results
        .iter()
        .filter(|result| result.explanation.is_some())
        .count();
    let mut parts = Vec::new();
    if failures > 0 {
        parts.push(format!("{failures} failed"));
    }
    if !run.findings.is_empty() {
        parts.push(counted(run.findings.len(), "finding"));
    }
    let found = match parts.is_empty() {
        false => parts.join(", "),
        true => "all met".to_owned(),
    };
    let (expectations, files) = (
        counted(run.results.len(), "expectation"),
        counted(run.files, "file"),
    );
    match run.results.is_empty() && parts.is_empty() {
        true => format!("tested {expectations}"),
        false => format!("tested {expectations} in {files}: {found}"),
    }
}

#[derive(Serialize)]
struct TestJson<'a> {
    version: u32,
    summary: TestSummary,
    error: Option<JsonError>,
    results: Vec<ResultJson<'a>>,
    findings: &'a [Diagnostic],
    #[serde(skip_serializing_if = "Option::is_none")]
    unreached: Option<&'a [Unreached]>,
}

#[derive(Serialize)]
struct TestSummary {
    files: usize,
    expectations: usize,
    failed: usize,
    findings: usize,
}

#[derive(Serialize)]
struct ResultJson<'a> {
    toggle: &'a str,
    file: &'a str,
    line: u32,
    name: &'a str,
    expected: &'a str,
    passed: bool,
    /// The trace of a failed expectation.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<&'a Explanation>,
}

impl<'a> TestJson<'a> {
    fn of(run: &'a TestRun, problem: Option<&Failure>, with_coverage: bool) -> Self {
        let results = run.results.iter().map(|result| ResultJson {
            toggle: result.toggle.as_str(),
            file: &result.path,
            line: result.expectation.line,
            name: &result.expectation.name,
            expected: &result.expectation.serves,
            passed: result.explanation.is_none(),
            explanation: result.explanation.as_ref(),
        });
        let results: Vec<_> = results.collect();
        Self {
            version: 1,
            summary: TestSummary {
                files: run.files,
                expectations: results.len(),
                failed: results.iter().filter(|result| !result.passed).count(),
                findings: run.findings.len(),
            },
            error: problem.map(Failure::json_error),
            results,
            findings: &run.findings,
            unreached: with_coverage.then_some(run.unreached.as_slice()),
        }
    }
}

/// Returns one suite per file; a finding is a test that could not run.
fn suites(run: &TestRun) -> Vec<JunitSuite> {
    let mut suites: Vec<JunitSuite> = Vec::new();
    let mut add = |path: &str, case| match suites.iter_mut().rev().find(|suite| suite.name == path) {
        Some(suite) => suite.cases.push(case),
        None => suites.push(JunitSuite {
            name: path.to_owned(),
            cases: vec![case],
        }),
    };
    for result in &run.results {
        let problem = result.explanation.as_ref().map(|explanation| JunitProblem {
            kind: JunitKind::Failure,
            message: format!(
                "expected {}, {}",
                quoted(&result.expectation.serves),
                explanation.outcome()
            ),
            details: text(explanation),
        });
        let case = JunitCase {
            class: result.toggle.as_str().to_owned(),
            name: result.expectation.name.clone(),
            problem,
        };
        add(&result.path, case);
    }
    for finding in &run.findings {
        let case = JunitCase {
            class: finding.path.clone(),
            name: finding.id.to_owned(),
            problem: Some(JunitProblem {
                kind: JunitKind::Error,
                message: finding.message.clone(),
                details: [Some(finding.place()), finding.help.clone()]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(": "),
            }),
        };
        add(&finding.path, case);
    }
    suites
}
