//! The results of expectations. Those that are not met are explained.

use std::fmt::Write as _;

use serde::Serialize;

use super::explanation::Explanation;
use crate::document::{self, Diagnostic, Expectation};
use crate::model::{Color, JunitCase, JunitKind, JunitProblem, JunitSuite, Sdks, ToggleId, counted, escaped};
use crate::plan::sentences::quoted;

#[derive(Debug, Default)]
pub(crate) struct TestRun {
    /// The SDKs that the team uses.
    pub(crate) sdks: Sdks,
    pub(crate) files: usize,
    pub(crate) results: Vec<TestResult>,
    /// The findings in the files of expectations and in the documents that they need.
    pub(crate) findings: Vec<Diagnostic>,
    pub(crate) unreached: Vec<Unreached>,
}

impl TestRun {
    /// Returns whether every expectation is met and every file is valid.
    pub(crate) fn has_passed(&self) -> bool {
        self.findings.is_empty() && self.results.iter().all(|result| result.explanation.is_none())
    }
}

#[derive(Debug)]
pub(crate) struct TestResult {
    pub(crate) toggle: ToggleId,
    pub(crate) path: String,
    pub(crate) expectation: Expectation,
    /// What the user gets instead; `None` if the expectation is met.
    pub(crate) explanation: Option<Explanation>,
    /// What other SDKs serve the user, or may serve, each in one line.
    pub(crate) elsewhere: Vec<String>,
    /// The circle of prerequisites that ends the evaluation.
    pub(crate) circle: Option<String>,
}

impl TestResult {
    /// Returns what is to know although the expectation may be met, each in one line.
    fn notes(&self) -> impl Iterator<Item = &String> {
        self.circle.iter().chain(&self.elsewhere)
    }
}

/// The serves of a toggle that no expectation reaches.
#[derive(Debug, Serialize)]
pub(crate) struct Unreached {
    pub(crate) toggle: ToggleId,
    pub(crate) file: String,
    /// The number of serves that expectations can reach.
    pub(crate) total: usize,
    /// Whether it has expectations, which may not decide which serve they reach.
    #[serde(skip)]
    pub(crate) is_tested: bool,
    /// Those that none reaches, in the order of the document's evaluation.
    pub(crate) serves: Vec<UnreachedServe>,
}

/// A serve with its line; 0 if it is not known. The label is escaped.
#[derive(Debug, Serialize)]
pub(crate) struct UnreachedServe {
    pub(crate) line: u32,
    pub(crate) label: String,
}

pub(crate) fn test_text(run: &TestRun, color: Color, with_coverage: bool) -> String {
    let mut out = String::new();
    for result in &run.results {
        if let Some(explanation) = &result.explanation {
            failed(&mut out, result, explanation);
        }
    }
    for result in run.results.iter().filter(|result| result.explanation.is_none()) {
        let (path, name) = (escaped(&result.path), quoted(&result.expectation.name));
        for note in result.notes() {
            let _ = writeln!(out, "note {path}:{} {name}: {note}", result.expectation.line);
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
    let TestResult { path, expectation, .. } = result;
    let (path, name) = (escaped(path), quoted(&expectation.name));
    let _ = writeln!(
        out,
        "failed {path}:{} {name}: expected {}, {}",
        expectation.line,
        quoted(&expectation.serves),
        explanation.outcome()
    );
    for line in explanation.text().lines() {
        let _ = writeln!(out, "    {line}");
    }
    out.push('\n');
}

fn coverage(out: &mut String, unreached: &[Unreached]) {
    for Unreached { file, serves, is_tested, .. } in unreached {
        let file = escaped(file);
        if !is_tested {
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
    let failures = run.results.iter().filter(|result| result.explanation.is_some()).count();
    let mut parts = Vec::new();
    if failures > 0 {
        parts.push(format!("{failures} failed"));
    }
    if !run.findings.is_empty() {
        parts.push(counted(run.findings.len(), "finding"));
    }
    let found = if parts.is_empty() { "all met".to_owned() } else { parts.join(", ") };
    let (expectations, files) = (counted(run.results.len(), "expectation"), counted(run.files, "file"));
    if run.results.is_empty() && parts.is_empty() {
        format!("tested {expectations}")
    } else {
        format!(
            "tested {expectations} in {files} as {} evaluates them: {found}",
            run.sdks.first().versioned()
        )
    }
}

#[derive(Serialize)]
struct TestJson<'a, E> {
    version: u32,
    summary: TestSummary,
    error: Option<E>,
    results: Vec<ResultJson<'a>>,
    findings: &'a [Diagnostic],
    #[serde(skip_serializing_if = "Option::is_none")]
    unreached: Option<&'a [Unreached]>,
}

#[derive(Serialize)]
struct TestSummary {
    evaluated_as: &'static str,
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
    /// What other SDKs serve; absent if that is the same.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    elsewhere: &'a [String],
    /// The circle of prerequisites that ends the evaluation.
    #[serde(skip_serializing_if = "Option::is_none")]
    circle: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<&'a Explanation>,
}

/// Returns the results as JSON, with the error that makes the whole run fail.
pub(crate) fn test_json<'a>(
    run: &'a TestRun,
    error: Option<impl Serialize + 'a>,
    with_coverage: bool,
) -> impl Serialize + 'a {
    let results = run.results.iter().map(|result| ResultJson {
        toggle: result.toggle.as_str(),
        file: &result.path,
        line: result.expectation.line,
        name: &result.expectation.name,
        expected: &result.expectation.serves,
        passed: result.explanation.is_none(),
        elsewhere: &result.elsewhere,
        circle: result.circle.as_deref(),
        explanation: result.explanation.as_ref(),
    });
    let results: Vec<_> = results.collect();
    TestJson {
        version: 1,
        summary: TestSummary {
            evaluated_as: run.sdks.first().versioned(),
            files: run.files,
            expectations: results.len(),
            failed: results.iter().filter(|result| !result.passed).count(),
            findings: run.findings.len(),
        },
        error,
        results,
        findings: &run.findings,
        unreached: with_coverage.then_some(run.unreached.as_slice()),
    }
}

/// Returns one suite per file. Its name says which SDK's rules decide, because the format has no other place for
/// that which CI systems show.
pub(crate) fn test_suites(run: &TestRun, with_coverage: bool) -> Vec<JunitSuite> {
    let mut suites: Vec<JunitSuite> = Vec::new();
    let as_evaluated = format!("as {} evaluates it", run.sdks.first().versioned());
    let mut add = |path: &str, case| {
        let name = format!("{path} ({as_evaluated})");
        match suites.iter_mut().rev().find(|suite| suite.name == name) {
            Some(suite) => suite.cases.push(case),
            None => suites.push(JunitSuite { name, cases: vec![case] }),
        }
    };
    for result in &run.results {
        let problem = result.explanation.as_ref().map(|explanation| JunitProblem {
            kind: JunitKind::Failure,
            message: format!("expected {}, {}", quoted(&result.expectation.serves), explanation.outcome()),
            details: explanation.text(),
        });
        let case = JunitCase {
            class: result.toggle.as_str().to_owned(),
            name: result.expectation.name.clone(),
            problem,
        };
        add(&result.path, case);
        // The format has no place for notes that CI systems show. A failure has them in its text.
        let notes: Vec<&str> = result.notes().map(String::as_str).collect();
        if result.explanation.is_none() && !notes.is_empty() {
            let about = if result.circle.is_some() { "note" } else { "other SDKs" };
            let case = JunitCase {
                class: result.toggle.as_str().to_owned(),
                name: format!("{} ({about})", result.expectation.name),
                problem: Some(JunitProblem::new(JunitKind::Skipped, &notes.join("; "))),
            };
            add(&result.path, case);
        }
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
    for Unreached { toggle, file, serves, .. } in run.unreached.iter().filter(|_| with_coverage) {
        for UnreachedServe { line, label } in serves {
            let message = format!("no expectation reaches {label} in {}:{line}", escaped(file));
            let case = JunitCase {
                class: toggle.as_str().to_owned(),
                name: format!("{label} (coverage)"),
                problem: Some(JunitProblem::new(JunitKind::Skipped, &message)),
            };
            add(file, case);
        }
    }
    suites
}
