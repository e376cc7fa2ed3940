//! Renders documents and plans as JUnit XML, with one test per document or toggle.

use std::collections::BTreeMap;

use super::findings::description;
use crate::document::{Diagnostic, Severity};
use crate::model::{HoldKind, JunitCase, JunitKind, JunitProblem, JunitSuite, escaped, junit};
use crate::plan::{Change, FETCH_ALL, Plan, WithheldToggle};

/// Returns one test per document, which fails if the document has an error. `problem` is an error of the check as a
/// whole.
pub(crate) fn junit_documents(
    documents: &[String],
    findings: &[Diagnostic],
    problem: Option<&str>,
) -> String {
    let mut suite = suite_of_documents(documents, findings);
    suite.cases.extend(problem.map(|problem| failed_command("check", problem)));
    junit(&[suite])
}

/// Returns one test per toggle of a plan: a change passes, a hold fails, and a toggle that only waits is skipped. One
/// test per invalid document follows. A test fails exactly if the plan's exit code is 3 or 4.
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

/// Returns the same as [`junit_plan`], with the problems of changes that were tried. `error` ended the attempt early. Each
/// note is a test that is skipped, because the format has no place for notes that CI systems show.
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
        let name = format!("{} ({})", change.id.toggle(), change.action.as_str());
        add(change.id.environment().to_string(), &name, problem);
    }
    for (environment, hold) in plan.environment_holds() {
        let problem = JunitProblem::new(holds.other, &hold.text);
        add(environment.to_string(), "environment", Some(problem));
    }
    let documents = suite_of_documents(&[], plan.findings());
    for WithheldToggle { id, hold, .. } in plan.withheld() {
        let is_invalid = matches!(hold.kind, Some(HoldKind::Invalid));
        let kind = match hold.kind {
            // The document fails below, with its errors.
            _ if is_invalid && !documents.cases.is_empty() => continue,
            Some(HoldKind::FirstPass) => holds.first_pass,
            _ if is_invalid => JunitKind::Failure,
            _ if hold.needs_decision() => holds.other,
            _ => JunitKind::Skipped,
        };
        let name = format!("{} ({})", id.toggle(), hold.state.as_str());
        add(id.environment().to_string(), &name, Some(JunitProblem::new(kind, &hold.text)));
    }
    let suites = suites.into_iter().map(|(name, cases)| JunitSuite { name, cases });
    let documents = Some(documents).filter(|suite| !suite.cases.is_empty());
    let error = error.map(|error| failed_suite("pass", error));
    let guesses = plan.guesses().map(|guesses| format!("{guesses}; {FETCH_ALL}"));
    let notes = guesses.into_iter().chain(notes.iter().cloned()).map(|note| JunitCase {
        class: "gitoggle".to_owned(),
        name: "note".to_owned(),
        problem: Some(JunitProblem::new(JunitKind::Skipped, &note)),
    });
    let notes = JunitSuite { name: "notes".to_owned(), cases: notes.collect() };
    let notes = Some(notes).filter(|suite| !suite.cases.is_empty());
    let suites: Vec<JunitSuite> = suites.chain(documents).chain(error).chain(notes).collect();
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

fn line(finding: &Diagnostic) -> String {
    format!("{}: {}: {}", escaped(&finding.place()), finding.id, description(finding))
}
