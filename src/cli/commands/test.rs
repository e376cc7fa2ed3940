//! `gitoggle test`: compares what toggles serve with the expectations next to them. Needs no service, state
//! or token.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::Args;

use crate::cli::audience::{Lookup, types};
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::{Formats, color, note, print, print_json, show};
use crate::cli::suggested::suggested;
use crate::cli::targets;
use crate::config::{OutputFormat, Settings};
use crate::document::{Diagnostic, Expectation, ServeLines, expectations, layout, serve_lines};
use crate::evaluate::{Compiler, Definitions, Evaluator, SdkRules, ServePlace, UnmetServe};
use crate::model::{JunitSuite, Payload, Sdks, Targeting, ToggleId, junit};
use crate::pass::{self, CheckTarget, DocumentFiles, ReadDocument, TestFile};
use crate::plan::compare::is_within;
use crate::report::{
    Subject, TestResult, TestRun, Unreached, UnreachedServe, failed_suite, serve_label, test_json,
    test_suites, test_text,
};

/// Test what users are served
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Tests documents: compares what they serve with the expectations in NAME.test.yaml next to \
                  NAME.yaml. Needs no base URL, network or token."
)]
pub(crate) struct TestArgs {
    /// Test these files and folders only
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// List the rules and serves that no test reaches
    #[arg(long)]
    pub(crate) coverage: bool,
}

/// The forms of the results.
pub(super) const FORMATS: Formats<TestReport> = &[
    (OutputFormat::Human, |tested, settings| {
        print(&test_text(&tested.run, color(settings), tested.with_coverage))
    }),
    (OutputFormat::Json, |tested, _| {
        let problem = tested.problem.as_ref().map(Failure::json_error);
        print_json(&test_json(&tested.run, problem, tested.with_coverage))
    }),
    (OutputFormat::Junit, print_junit),
];

/// The results, and the error of the run.
pub(super) struct TestReport {
    run: TestRun,
    problem: Option<Failure>,
    with_coverage: bool,
}

pub(super) fn run(settings: &Settings, args: &TestArgs) -> Result<ExitStatus, Failure> {
    let mut all = TestRun { sdks: settings.sdks, ..TestRun::default() };
    let mut unmatched = settings.only.unmatched();
    for targets::Target { place, within } in whole_targets(settings, &args.paths)? {
        let documents = DocumentFiles::open(&place, &settings.layout, settings.service_kind)?;
        documents.toggles().for_each(|id| unmatched.remove_matching(id.as_str()));
        let wanted = |id: &ToggleId| settings.only.contains(id);
        // They belong to no toggle, so no glob matches them.
        if settings.only.is_everything() {
            all.findings.extend(documents.stray_tests(|path| is_within(path, &within))?);
        }
        run_tests(&documents, wanted, &within, settings, args.coverage, &mut all)?;
    }
    let problem = problem(&all, settings, &unmatched.globs());
    let tested = TestReport { run: all, problem, with_coverage: args.coverage };
    show(FORMATS, &tested, settings)?;
    let Some(problem) = tested.problem else {
        return Ok(ExitStatus::Failed.when(!tested.run.has_passed()));
    };
    note(&problem.to_string())?;
    Ok(problem.status())
}

/// Returns the error of a run that tested nothing or had a glob without a match.
fn problem(run: &TestRun, settings: &Settings, unmatched: &[String]) -> Option<Failure> {
    if let Err(error) = pass::check_scope(&settings.only, unmatched) {
        return Some(error.into());
    }
    // A test of nothing must not pass (src/cli/README.md, "Never green by accident").
    let is_empty = run.results.is_empty() && run.findings.is_empty() && !settings.allow_empty;
    is_empty.then(|| {
        Failure::failed("no expectation was tested").hint(
            "write expectations for `NAME.yaml` into `NAME.test.yaml` next to it; if there is nothing to test, pass \
             `--allow-empty`",
        )
    })
}

fn whole_targets(settings: &Settings, paths: &[PathBuf]) -> Result<Vec<targets::Target>, Failure> {
    let targets = targets::targets(settings, paths)?;
    let is_file = |target: &targets::Target| matches!(target.place, CheckTarget::File(..));
    match targets.iter().any(is_file) {
        // The file alone has either the document or its expectations.
        true => {
            Err(Failure::new(ExitStatus::Usage, "a single file outside of a repository cannot be tested")
                .hint("give the folder that contains the documents"))
        }
        false => Ok(targets),
    }
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
    settings: &Settings,
    with_coverage: bool,
    run: &mut TestRun,
) -> Result<(), Failure> {
    let sdks = settings.sdks;
    let (evaluator, tested) = compiled(documents, &wanted, within, run)?;
    let mut reached = Reached::new();
    for item in &tested {
        for expectation in &item.list {
            let places = reached.entry(item.id.clone()).or_default();
            run.results.push(result(&evaluator, documents, item, expectation, sdks, places));
        }
    }
    if with_coverage {
        add_unreached(documents, &wanted, within, &reached, sdks, run)?;
    }
    run.findings.sort_unstable();
    Ok(())
}

/// What the expectations of each toggle have certainly reached. Toggles without an expectation are absent.
type Reached = BTreeMap<ToggleId, BTreeSet<ServePlace>>;

/// Returns the toggles to test, compiled with all that they need.
fn compiled(
    documents: &DocumentFiles,
    wanted: impl Fn(&ToggleId) -> bool,
    within: &[String],
    run: &mut TestRun,
) -> Result<(Evaluator, Vec<Tested>), Failure> {
    let mut lookup = Lookup::new(documents);
    let mut compiler = Compiler::default();
    let mut tested = Vec::new();
    let mut definitions = Definitions::new(|id| lookup.find(id)).with_types(|id| types(documents, id));
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
    drop(definitions);
    lookup.finish()?;
    Ok((compiler.finish(), tested))
}

/// Adds the serves that no expectation has reached.
fn add_unreached(
    documents: &DocumentFiles,
    wanted: impl Fn(&ToggleId) -> bool,
    within: &[String],
    reached: &Reached,
    sdks: Sdks,
    run: &mut TestRun,
) -> Result<(), Failure> {
    for id in documents.toggles().filter(|id| wanted(id)) {
        let Some(found) = documents.read(id)? else { continue };
        let test = documents.tests().get(id).map(|file| &file.path);
        if !test.into_iter().chain([&found.path]).any(|path| is_within(path, within)) {
            continue;
        }
        match found.document.payload {
            Some(_) => run.unreached.extend(unreached(id, &found, reached.get(id), sdks)),
            // Nothing is known of its rules, so it must not count as covered. `load` has reported those
            // with tests.
            None if documents.tests().contains_key(id) => {}
            None => run.findings.extend(found.document.diagnostics),
        }
    }
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
        let similar = suggested(id, documents).map(|one| one.id.as_str());
        findings.push(layout::test_without_toggle(id, &file.path, similar));
        return Ok(None);
    };
    let targeting = found.document.payload.as_ref().map(Payload::targeting);
    if targeting.is_none() {
        findings.extend(found.document.diagnostics.iter().cloned());
    }
    let variations = targeting.as_ref().map(|targeting| targeting.content.variations.as_slice());
    let read = expectations(&file.path, &documents.test(file)?, variations);
    findings.extend(read.diagnostics);
    Ok(targeting.zip(read.list))
}

fn result(
    evaluator: &Evaluator,
    documents: &DocumentFiles,
    tested: &Tested,
    expectation: &Expectation,
    sdks: Sdks,
    reached: &mut BTreeSet<ServePlace>,
) -> TestResult {
    let subject = Subject {
        id: &tested.id,
        path: &tested.document,
        targeting: &tested.targeting,
        key: expectation.key.as_deref(),
        attributes: &expectation.given,
        at: expectation.at,
        sdks,
        others: &|id| documents.read(id).ok()??.document.payload.map(|payload| payload.targeting()),
    };
    let (explanation, place) = subject.explain(evaluator, tested.index);
    reached.extend(place);
    let is_met = explanation.variation() == Some(expectation.serves.as_str());
    TestResult {
        toggle: tested.id.clone(),
        path: tested.path.clone(),
        expectation: expectation.clone(),
        elsewhere: explanation.elsewhere().into_iter().chain(explanation.doubts()).collect(),
        circle: explanation.circle().map(str::to_owned),
        explanation: (!is_met).then_some(explanation),
    }
}

/// Returns what `reached` lacks of a valid document, if anything.
fn unreached(
    id: &ToggleId,
    found: &ReadDocument,
    reached: Option<&BTreeSet<ServePlace>>,
    sdks: Sdks,
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
        let is_needed = SdkRules::of(sdks.first()).unmet == UnmetServe::Disabled;
        let first = content.prerequisites.iter().flatten().next().filter(|_| is_needed);
        places.extend(first.map(|_| ServePlace::Disabled));
    }
    let (total, is_tested) = (places.len(), reached.is_some());
    places.retain(|place| !reached.is_some_and(|reached| reached.contains(place)));
    if places.is_empty() {
        return None;
    }
    let lines = serve_lines(&found.content, content.rules.len()).unwrap_or_default();
    let serves = places
        .into_iter()
        .map(|place| UnreachedServe { line: line(&lines, place), label: serve_label(&targeting, place) });
    Some(Unreached {
        toggle: id.clone(),
        file: found.path.clone(),
        total,
        is_tested,
        serves: serves.collect(),
    })
}

fn line(lines: &ServeLines, place: ServePlace) -> u32 {
    match place {
        ServePlace::Default => lines.default_serve,
        ServePlace::Disabled => lines.disabled_serve,
        ServePlace::Rule(index) => lines.rules.get(index).copied().unwrap_or_default(),
    }
}

fn print_junit(tested: &TestReport, _: &Settings) -> Result<(), Failure> {
    let problem = tested.problem.as_ref();
    let problem = problem.map(|problem| failed_suite("test", &problem.json_error().message));
    let suites = test_suites(&tested.run, tested.with_coverage);
    let suites: Vec<JunitSuite> = suites.into_iter().chain(problem).collect();
    print(&junit(&suites))
}
