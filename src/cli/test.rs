//! `gitoggle test`: compares what toggles serve with the expectations next to them. It needs no network, state or token.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Serialize;

use super::args::TestArgs;
use super::explain::{Explanation, Lookup, Subject, label, text};
use super::failure::{ExitStatus, Failure, JsonError};
use super::{color, note, print as print_text, show, unsupported_output, validate};
use crate::config::{OutputFormat, Settings};
use crate::document::{self, Diagnostic, Expectation, ServeLines, expectations, layout, serve_lines};
use crate::evaluate::{Compiler, Definitions, Evaluator, ServePlace};
use crate::model::{
    Color, JunitCase, JunitKind, JunitProblem, JunitSuite, Targeting, ToggleId, closest, counted, escaped,
    junit,
};
use crate::pass::{CheckTarget, DocumentFiles, ReadDocument, TestFile};
use crate::plan::compare::is_within;
use crate::plan::sentences::quoted;
use crate::report::failed_suite;

pub(super) fn run(settings: &Settings, args: &TestArgs) -> Result<ExitStatus, Failure> {
    let mut all = TestRun::default();
    let mut unmatched = settings.only.unmatched();
    for validate::Target { place, within } in targets(settings, &args.paths)? {
        let documents = DocumentFiles::open(&place, &settings.layout, settings.service_kind)?;
        documents.toggles().for_each(|id| unmatched.remove_matching(id.as_str()));
        run_tests(&documents, |id: &ToggleId| settings.only.contains(id), &within, args.coverage, &mut all)?;
    }
    let problem = problem(&all, settings, &unmatched.globs());
    print_results(&all, problem.as_ref(), settings, args.coverage)?;
    let Some(problem) = problem else {
        return Ok(ExitStatus::Failed.when(!all.has_passed()));
    };
    note(&problem.to_string())?;
    Ok(problem.status())
}

/// Returns the error of a run that tested nothing or had a glob without a match.
fn problem(run: &TestRun, settings: &Settings, unmatched: &[String]) -> Option<Failure> {
    if let Err(error) = crate::pass::check_scope(&settings.only, unmatched) {
        return Some(error.into());
    }
    // A test of nothing must not pass (DESIGN, section 3, *Never green by accident*).
    let is_empty = run.results.is_empty() && run.findings.is_empty() && !settings.allow_empty;
    is_empty.then(|| {
        Failure::failed("no expectation was tested").hint(
            "write expectations for `NAME.yaml` into `NAME.test.yaml` next to it; if there is nothing to test, pass \
             `--allow-empty`",
        )
    })
}

fn targets(settings: &Settings, paths: &[PathBuf]) -> Result<Vec<validate::Target>, Failure> {
    let targets = validate::targets(settings, paths)?;
    let is_file = |target: &validate::Target| matches!(target.place, CheckTarget::File(..));
    match targets.iter().any(is_file) {
        // The file alone has either the document or its expectations.
        true => {
            Err(Failure::new(ExitStatus::Usage, "a single file outside of a repository cannot be tested")
                .hint("give the folder that contains the documents"))
        }
        false => Ok(targets),
    }
}

#[derive(Debug, Default)]
struct TestRun {
    files: usize,
    results: Vec<TestResult>,
    /// The findings in the files of expectations and in the documents that they need.
    findings: Vec<Diagnostic>,
    unreached: Vec<Unreached>,
}

impl TestRun {
    /// Returns whether every expectation is met and every file is valid.
    fn has_passed(&self) -> bool {
        self.findings.is_empty() && self.results.iter().all(|result| result.explanation.is_none())
    }
}

#[derive(Debug)]
struct TestResult {
    toggle: ToggleId,
    path: String,
    expectation: Expectation,
    /// What the user gets instead; `None` if the expectation is met.
    explanation: Option<Explanation>,
}

/// A toggle with its expectations, ready to be evaluated.
struct Tested {
    id: ToggleId,
    path: String,
    document: String,
    targeting: Targeting,
    index: usize,
    list: Vec<Expectation>,
}

/// Tests the toggles of `documents` that are `wanted` and `within` the paths, and adds the results to `run`.
fn run_tests(
    documents: &DocumentFiles,
    wanted: impl Fn(&ToggleId) -> bool,
    within: &[String],
    with_coverage: bool,
    run: &mut TestRun,
) -> Result<(), Failure> {
    let mut lookup = Lookup::new(documents);
    let mut compiler = Compiler::default();
    let mut tested = Vec::new();
    {
        let mut definitions = Definitions::new(|id| lookup.find(id));
        for (id, file) in documents.tests().iter().filter(|(id, _)| wanted(id)) {
            let found = documents.read(id)?;
            let paths = [Some(&file.path), found.as_ref().map(|found| &found.path)];
            if !paths.into_iter().flatten().any(|path| is_within(path, within)) {
                continue;
            }
            run.files += 1;
            let loaded = load(documents, id, file, found.as_ref(), &mut run.findings)?;
            let index = compiler.toggle(id, &mut definitions);
            if let (Some((targeting, list)), Some(index), Some(found)) = (loaded, index, found) {
                tested.push(Tested {
                    id: id.clone(),
                    path: file.path.clone(),
                    document: found.path,
                    targeting,
                    index,
                    list,
                });
            }
        }
    }
    lookup.finish()?;
    let evaluator = compiler.finish();
    let mut reached: BTreeMap<ToggleId, BTreeSet<ServePlace>> = BTreeMap::new();
    for item in &tested {
        let places = reached.entry(item.id.clone()).or_default();
        for expectation in &item.list {
            run.results.push(test(&evaluator, item, expectation, places));
        }
    }
    if with_coverage {
        for id in documents.toggles().filter(|id| wanted(id)) {
            let Some(found) = documents.read(id)?.filter(|found| is_within(&found.path, within)) else {
                continue;
            };
            match found.document.payload {
                Some(_) => run.unreached.extend(unreached(id, &found, reached.get(id))),
                // Nothing is known of its rules, so it must not count as covered. `load` has reported those with tests.
                None if documents.tests().contains_key(id) => {}
                None => run.findings.extend(found.document.diagnostics),
            }
        }
    }
    run.findings.sort();
    Ok(())
}

/// Reads a file of expectations. Returns the targeting of the toggle and the expectations if both are valid.
fn load(
    documents: &DocumentFiles,
    id: &ToggleId,
    file: &TestFile,
    found: Option<&ReadDocument>,
    findings: &mut Vec<Diagnostic>,
) -> Result<Option<(Targeting, Vec<Expectation>)>, Failure> {
    let Some(found) = found else {
        findings.push(layout::test_without_toggle(id, &file.path, similar(id, documents)));
        return Ok(None);
    };
    let targeting = found.document.payload.as_ref().map(crate::model::Payload::targeting);
    if targeting.is_none() {
        findings.extend(found.document.diagnostics.iter().cloned());
    }
    let variations = targeting.as_ref().map(|targeting| targeting.content.variations.as_slice());
    let read = expectations(&file.path, &documents.test(file)?, variations);
    findings.extend(read.diagnostics);
    Ok(targeting.zip(read.list))
}

/// Returns the toggle of the same environment whose name is close to that of `id`.
fn similar<'a>(id: &ToggleId, documents: &'a DocumentFiles) -> Option<&'a str> {
    let environment = id.environment();
    let others = documents.toggles().filter(|other| other.is_in(&environment));
    closest(id.as_str(), others.map(ToggleId::as_str))
}

fn test(
    evaluator: &Evaluator,
    tested: &Tested,
    expectation: &Expectation,
    reached: &mut BTreeSet<ServePlace>,
) -> TestResult {
    let subject = Subject {
        id: &tested.id,
        path: &tested.document,
        targeting: &tested.targeting,
        key: expectation.key.as_deref(),
        attributes: &expectation.given,
        at: expectation.at,
    };
    let (explanation, place) = subject.explain(evaluator, tested.index);
    reached.extend(place);
    let is_met = explanation.variation() == Some(expectation.serves.as_str());
    TestResult {
        toggle: tested.id.clone(),
        path: tested.path.clone(),
        expectation: expectation.clone(),
        explanation: (!is_met).then_some(explanation),
    }
}

/// The serves of a toggle that no expectation reaches.
#[derive(Debug, Serialize)]
struct Unreached {
    toggle: ToggleId,
    file: String,
    /// The number of serves that expectations can reach.
    total: usize,
    /// Those that none reaches, in the order of the document's evaluation.
    serves: Vec<UnreachedServe>,
}

/// A serve with its line; 0 if it is not known. The label is escaped.
#[derive(Debug, Serialize)]
struct UnreachedServe {
    line: u32,
    label: String,
}

/// Returns what `reached` lacks of a valid document, if anything.
fn unreached(
    id: &ToggleId,
    found: &ReadDocument,
    reached: Option<&BTreeSet<ServePlace>>,
) -> Option<Unreached> {
    let targeting = found.document.payload.as_ref()?.targeting();
    let content = &targeting.content;
    let mut places = Vec::new();
    if targeting.disabled {
        places.push(ServePlace::Disabled);
    } else {
        places.extend((0..content.rules.len()).map(ServePlace::Rule));
        places.push(ServePlace::Default);
        // The disabled serve of an enabled toggle is for users who do not meet a prerequisite.
        places.extend(content.prerequisites.iter().flatten().next().map(|_| ServePlace::Disabled));
    }
    let total = places.len();
    places.retain(|place| !reached.is_some_and(|reached| reached.contains(place)));
    if places.is_empty() {
        return None;
    }
    let lines = serve_lines(&found.content, content.rules.len()).unwrap_or_default();
    let serves = places
        .into_iter()
        .map(|place| UnreachedServe { line: line(&lines, place), label: label(&targeting, place) });
    Some(Unreached { toggle: id.clone(), file: found.path.clone(), total, serves: serves.collect() })
}

fn line(lines: &ServeLines, place: ServePlace) -> u32 {
    match place {
        ServePlace::Default => lines.default_serve,
        ServePlace::Disabled => lines.disabled_serve,
        ServePlace::Rule(index) => lines.rules.get(index).copied().unwrap_or_default(),
    }
}

fn print_results(
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
    let TestResult { path, expectation, .. } = result;
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
    for Unreached { file, serves, total, .. } in unreached {
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
        format!("tested {expectations} in {files}: {found}")
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

fn suites(run: &TestRun) -> Vec<JunitSuite> {
    let mut suites: Vec<JunitSuite> = Vec::new();
    let mut add = |path: &str, case| match suites.iter_mut().rev().find(|suite| suite.name == path) {
        Some(suite) => suite.cases.push(case),
        None => suites.push(JunitSuite { name: path.to_owned(), cases: vec![case] }),
    };
    for result in &run.results {
        let problem = result.explanation.as_ref().map(|explanation| JunitProblem {
            kind: JunitKind::Failure,
            message: format!("expected {}, {}", quoted(&result.expectation.serves), explanation.outcome()),
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
