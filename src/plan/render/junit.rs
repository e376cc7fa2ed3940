//! Renders documents and plans as JUnit XML, with one test per document or toggle.

use std::collections::BTreeMap;

use super::gitlab::description;
use crate::document::{Diagnostic, Severity};
use crate::model::{JunitCase, JunitKind, JunitProblem, JunitSuite, escaped, junit};
use crate::plan::{Plan, WithheldReason, WithheldToggle};

/// Returns one test per document, which fails if the document has an error. `problem` is an error of the check as a
/// whole.
#[must_use]
pub fn junit_documents(documents: &[String], findings: &[Diagnostic], problem: Option<&str>) -> String {
    let mut suite = suite_of_documents(documents, findings);
    suite.cases.extend(problem.map(|problem| JunitCase {
        class: "gitoggle".to_owned(),
        name: "check".to_owned(),
        problem: Some(self::problem(JunitKind::Error, problem)),
    }));
    junit(&[suite])
}

/// Returns one test per toggle of a plan: a change passes, a hold fails, and a toggle that only waits is skipped. One
/// test per invalid document follows. A test fails exactly if the plan's exit code is 3 or 4.
#[must_use]
pub fn junit_plan(plan: &Plan) -> String {
    let mut suites: BTreeMap<String, Vec<JunitCase>> = BTreeMap::new();
    let mut add = |environment: String, name: &str, problem: Option<JunitProblem>| {
        suites.entry(environment.clone()).or_default().push(JunitCase {
            class: environment,
            name: name.to_owned(),
            problem,
        });
    };
    for change in plan.changes() {
        let name = format!("{} ({})", change.id.toggle(), change.action.as_str());
        add(change.id.environment().to_string(), &name, None);
    }
    for (environment, reason) in plan.environment_holds() {
        let problem = problem(JunitKind::Failure, &escaped(reason).to_string());
        add(environment.to_string(), "environment", Some(problem));
    }
    let documents = suite_of_documents(&[], plan.findings());
    for WithheldToggle { id, reason, .. } in plan.withheld() {
        let kind = match reason {
            // The document fails below, with its errors.
            _ if reason.is_invalid() && !documents.cases.is_empty() => continue,
            // As with the exit code, a pull request that adds an environment passes.
            WithheldReason::FirstPass(_) => JunitKind::Skipped,
            _ if reason.is_invalid() || reason.needs_decision() => JunitKind::Failure,
            _ => JunitKind::Skipped,
        };
        let name = format!("{} ({})", id.toggle(), reason.state().as_str());
        add(
            id.environment().to_string(),
            &name,
            Some(problem(kind, &reason.to_string())),
        );
    }
    let suites = suites.into_iter().map(|(name, cases)| JunitSuite { name, cases });
    let suites: Vec<JunitSuite> = suites
        .chain([documents].into_iter().filter(|suite| !suite.cases.is_empty()))
        .collect();
    junit(&suites)
}

/// Returns one test per document and per other file with an error.
fn suite_of_documents(documents: &[String], findings: &[Diagnostic]) -> JunitSuite {
    let mut files: BTreeMap<&str, Vec<&Diagnostic>> = BTreeMap::new();
    for path in documents {
        files.entry(path).or_default();
    }
    for finding in findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
    {
        files.entry(&finding.path).or_default().push(finding);
    }
    let cases = files.into_iter().map(|(path, errors)| JunitCase {
        class: "documents".to_owned(),
        name: path.to_owned(),
        problem: errors.first().map(|first| JunitProblem {
            kind: JunitKind::Failure,
            message: description(first),
            details: errors
                .iter()
                .map(|error| line(error))
                .collect::<Vec<_>>()
                .join("\n"),
        }),
    });
    JunitSuite {
        name: "documents".to_owned(),
        cases: cases.collect(),
    }
}

fn line(finding: &Diagnostic) -> String {
    let Diagnostic {
        path,
        line,
        column,
        id,
        ..
    } = finding;
    format!(
        "{}:{line}:{column}: {id}: {}",
        escaped(path),
        description(finding)
    )
}

fn problem(kind: JunitKind, message: &str) -> JunitProblem {
    JunitProblem {
        kind,
        message: message.to_owned(),
        details: message.to_owned(),
    }
}
