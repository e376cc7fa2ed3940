//! The commands that evaluate toggles: `gitoggle explain` traces one user through a toggle, `gitoggle test` compares what
//! toggles serve with the expectations next to them, and `plan --audience` counts whom changes affect. None needs a
//! network, state or token of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::args::{AudienceArgs, ExplainArgs, TestArgs};
use super::failure::{ExitStatus, Failure};
use super::{color, note, print, setup, unsupported_output, validate};
use crate::cli;
use crate::config::{OutputFormat, Settings};
use crate::document::{self, Diagnostic, Expectation, ServeLines, expectations, layout, serve_lines};
use crate::evaluate::{Audience, Compiler, Definitions, Evaluator, ServePlace, UserImpact, count_users};
use crate::model::{Color, CommitId, JunitSuite, Payload, Targeting, ToggleId, closest, escaped, junit};
use crate::pass::{self, CheckTarget, DocumentFiles, Files, ReadDocument, TestFile};
use crate::plan::compare::is_within;
use crate::plan::{Before, Change, Plan};
use crate::report::{
    Explanation, Subject, TestResult, TestRun, Unreached, UnreachedServe, failed_suite, serve_label,
    test_json, test_suites, test_text,
};
use crate::source::{CacheMode, SourceConfig};

pub(super) fn explain(settings: &Settings, args: &ExplainArgs) -> Result<ExitStatus, Failure> {
    let attributes = attributes(args)?;
    let target = validate::everything(settings)?;
    let documents = DocumentFiles::open(&target, &settings.layout, settings.service_kind)?;
    let found = documents.read(&args.toggle)?.ok_or_else(|| unknown(&args.toggle, &documents))?;
    let targeting = valid(&args.toggle, &found)?;
    let mut compiler = Compiler::default();
    let mut lookup = Lookup::new(&documents);
    let index = compiler.toggle(&args.toggle, &mut Definitions::new(|id| lookup.find(id)));
    lookup.finish()?;
    let index = index.expect("the document of the toggle is valid");
    let evaluator = compiler.finish();
    let now = args.at.unwrap_or_else(|| jiff::Timestamp::now().as_second());
    let subject = Subject {
        id: &args.toggle,
        path: &found.path,
        targeting: &targeting,
        key: args.key.as_deref(),
        attributes: &attributes,
        at: Some(now),
    };
    let (explanation, _) = subject.explain(&evaluator, index);
    match settings.output {
        OutputFormat::Human => print(&explanation.text())?,
        OutputFormat::Json => cli::print_json(&ExplanationJson { version: 1, explanation: &explanation })?,
        _ => return Err(unsupported_output(settings.output)),
    }
    Ok(ExitStatus::Clean)
}

#[derive(Serialize)]
struct ExplanationJson<'a> {
    version: u32,
    #[serde(flatten)]
    explanation: &'a Explanation,
}

fn attributes(args: &ExplainArgs) -> Result<BTreeMap<String, String>, Failure> {
    let mut attributes = BTreeMap::new();
    for (name, value) in &args.attributes {
        if attributes.insert(name.clone(), value.clone()).is_some() {
            let message = format!("the attribute `{}` is given twice", escaped(name));
            return Err(Failure::new(ExitStatus::Usage, message).hint("give each `--attr` once"));
        }
    }
    Ok(attributes)
}

fn unknown(id: &ToggleId, documents: &DocumentFiles) -> Failure {
    let failure = Failure::failed(format!("there is no document for `{id}`"));
    // Toggles of the same environment come first, because the suggestion looks at a limited number.
    let (near, far): (Vec<_>, Vec<_>) = documents.toggles().partition(|other| other.is_in(&id.environment()));
    let candidates = near.into_iter().chain(far).map(ToggleId::as_str);
    match closest(id.as_str(), candidates) {
        Some(similar) => failure.hint(format!("did you mean `{similar}`?")),
        None => failure.hint(
            "check the name, `--root` and `--layout`; `gitoggle validate` shows whether documents are found",
        ),
    }
}

/// Returns the targeting of a document, or prints its findings.
fn valid(id: &ToggleId, found: &ReadDocument) -> Result<Targeting, Failure> {
    if let Some(payload) = &found.document.payload {
        return Ok(payload.targeting());
    }
    note(&document::render(&found.document.diagnostics, Color::Never))?;
    Err(Failure::new(
        ExitStatus::Invalid,
        format!("the document of `{id}` is invalid, so it cannot be evaluated"),
    ))
}

/// Finds valid documents, and keeps the first error of a read.
struct Lookup<'a> {
    documents: &'a DocumentFiles,
    error: Option<pass::Error>,
}

impl<'a> Lookup<'a> {
    fn new(documents: &'a DocumentFiles) -> Self {
        let error = None;
        Self { documents, error }
    }

    fn find(&mut self, id: &ToggleId) -> Option<Payload> {
        match self.documents.read(id) {
            Ok(found) => found?.document.payload,
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }

    fn finish(self) -> Result<(), Failure> {
        self.error.map_or(Ok(()), |error| Err(error.into()))
    }
}

pub(super) fn test(settings: &Settings, args: &TestArgs) -> Result<ExitStatus, Failure> {
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
    if let Err(error) = pass::check_scope(&settings.only, unmatched) {
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
            run.results.push(result(&evaluator, item, expectation, places));
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
    run.findings.sort_unstable();
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
    let targeting = found.document.payload.as_ref().map(Payload::targeting);
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

fn result(
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
        .map(|place| UnreachedServe { line: line(&lines, place), label: serve_label(&targeting, place) });
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
        OutputFormat::Human => print(&test_text(run, color(settings), with_coverage)),
        OutputFormat::Json => {
            cli::print_json(&test_json(run, problem.map(Failure::json_error), with_coverage))
        }
        OutputFormat::Junit => {
            let problem = problem.map(|problem| failed_suite("test", &problem.json_error().message));
            let suites: Vec<JunitSuite> = test_suites(run).into_iter().chain(problem).collect();
            print(&junit(&suites))
        }
        _ => Err(unsupported_output(settings.output)),
    }
}

/// Counts the users of a file whom the changes of `plan` affect, withheld ones included.
pub(super) fn impact(
    plan: &Plan,
    files: Files,
    args: &AudienceArgs,
    settings: &Settings,
) -> Result<UserImpact, Failure> {
    let unreadable = |error| unreadable(&args.file, error);
    let file = File::open(&args.file).map_err(unreadable)?;
    let audience = compile(plan, files, settings)?;
    let tally = count_users(&audience, file, args.at).map_err(unreadable)?.map_err(Failure::failed)?;
    let impact = audience.impact(&tally);
    // A plan for an audience of nobody must not look as if no user were affected (DESIGN, section 3).
    match impact.users.users {
        0 => Err(empty(&args.file, &impact)),
        _ => Ok(impact),
    }
}

fn compile(plan: &Plan, files: Files, settings: &Settings) -> Result<Audience, Failure> {
    let withheld = plan.withheld().iter().filter_map(|withheld| withheld.change.as_deref());
    let changes: BTreeMap<_, _> = plan.changes().iter().chain(withheld).map(sides).collect();
    // The revision of the plan, because the ref may have moved since.
    let revision = |commit: &CommitId| {
        CheckTarget::Revision(Box::new(SourceConfig {
            reference: Some(commit.to_string()),
            ..setup::source(settings, CacheMode::Untouched)
        }))
    };
    let target = match files {
        Files::Committed => revision(&plan.source().revision),
        Files::WorkTree => validate::everything(settings)?,
    };
    // A toggle whose file was removed or is invalid keeps its version before.
    let base = plan.source().base.as_ref().map(|base| revision(&base.revisions[0]));
    let mut others = OtherToggles {
        places: [Some(target), base].into_iter().flatten().map(|target| (target, None)).collect(),
        settings,
        error: None,
    };
    let audience = Audience::new(&changes, |id| others.find(id));
    others.error.map_or(Ok(audience), Err)
}

/// Returns a toggle with its targeting before and after its change.
fn sides(change: &Change) -> (ToggleId, (Result<Option<Payload>, ()>, Payload)) {
    let before = match &change.before {
        Before::Unreadable => Err(()),
        before => Ok(before.payload().cloned()),
    };
    (change.id.clone(), (before, change.payload.clone()))
}

/// The toggles that do not change, which prerequisites may name. Their files are listed only if one is needed.
struct OtherToggles<'a> {
    /// Where to look for a document. The first place that has a valid one counts.
    places: Vec<(CheckTarget, Option<DocumentFiles>)>,
    settings: &'a Settings,
    error: Option<Failure>,
}

impl OtherToggles<'_> {
    fn find(&mut self, id: &ToggleId) -> Option<Payload> {
        let Self { places, settings, error } = self;
        places.iter_mut().find_map(|(target, opened)| {
            if opened.is_none() {
                match DocumentFiles::open(target, &settings.layout, settings.service_kind) {
                    Ok(files) => *opened = Some(files),
                    Err(failed) => {
                        error.get_or_insert(failed.into());
                    }
                }
            }
            let mut lookup = Lookup::new(opened.as_ref()?);
            let found = lookup.find(id);
            if let Err(failed) = lookup.finish() {
                error.get_or_insert(failed);
            }
            found
        })
    }
}

fn unreadable(path: &Path, error: io::Error) -> Failure {
    let path = path.to_string_lossy();
    Failure::could_not(format!("read the audience `{}`", escaped(&path)))(error)
}

fn empty(path: &Path, impact: &UserImpact) -> Failure {
    let path = path.to_string_lossy();
    let failure = Failure::failed(format!("the audience `{}` has no user", escaped(&path)));
    match impact.users.first_broken.first() {
        Some(broken) => failure.hint(format!("line {}: {}", broken.line, broken.reason)),
        None => {
            failure.hint("write one JSON object per line, or CSV with a header, with a `key` and attributes")
        }
    }
}
