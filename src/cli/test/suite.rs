//! Tests the expectations of one tree of documents.

use std::collections::{BTreeMap, BTreeSet};

use super::coverage::{self, Unreached};
use crate::cli::args::Coverage;
use crate::cli::explain::{Explanation, Lookup, Subject};
use crate::cli::failure::Failure;
use crate::document::{Diagnostic, Expectation, expectations, tree};
use crate::evaluate::{Compiler, Definitions, Evaluator, ServePlace};
use crate::model::{Targeting, ToggleId, closest};
use crate::pass::{DocumentFiles, ReadDocument, TestFile};
use crate::plan::compare::is_within;

/// The results of all tests.
#[derive(Debug, Default)]
pub(super) struct TestRun {
    /// The number of files with expectations.
    pub(super) files: usize,
    pub(super) results: Vec<TestResult>,
    /// The findings in the files of expectations and in the documents that they need.
    pub(super) findings: Vec<Diagnostic>,
    pub(super) unreached: Vec<Unreached>,
}

impl TestRun {
    /// Returns whether every expectation is met and every file is valid.
    pub(super) fn has_passed(&self) -> bool {
        self.findings.is_empty() && self.results.iter().all(|result| result.explanation.is_none())
    }
}

/// The result of one expectation.
#[derive(Debug)]
pub(super) struct TestResult {
    pub(super) toggle: ToggleId,
    /// The file of the expectation.
    pub(super) path: String,
    pub(super) expectation: Expectation,
    /// What the user gets instead; `None` if the expectation is met.
    pub(super) explanation: Option<Explanation>,
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
pub(super) fn run(
    documents: &DocumentFiles,
    wanted: impl Fn(&ToggleId) -> bool,
    within: &[String],
    coverage: Coverage,
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
    if coverage == Coverage::Listed {
        for id in documents.toggles().filter(|id| wanted(id)) {
            let found = documents.read(id)?.filter(|found| is_within(&found.path, within));
            run.unreached
                .extend(found.and_then(|found| coverage::unreached(id, &found, reached.get(id))));
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
        findings.push(tree::test_without_toggle(id, &file.path, similar(id, documents)));
        return Ok(None);
    };
    let targeting = found
        .document
        .payload
        .as_ref()
        .map(crate::model::Payload::targeting);
    if targeting.is_none() {
        findings.extend(found.document.diagnostics.iter().cloned());
    }
    let variations = targeting
        .as_ref()
        .map(|targeting| targeting.content.variations.as_slice());
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
    let mut person = evaluator.person(expectation.at);
    person.reset(expectation.key.as_deref());
    for (name, value) in &expectation.given {
        person.set(name, value);
    }
    let trace = evaluator.trace(tested.index, &person);
    reached.extend(trace.place);
    let explanation = Explanation::new(
        &Subject {
            id: &tested.id,
            path: &tested.document,
            targeting: &tested.targeting,
            key: expectation.key.as_deref(),
            attributes: &expectation.given,
            at: expectation.at,
        },
        &trace,
    );
    let is_met = explanation.variation() == Some(expectation.serves.as_str());
    TestResult {
        toggle: tested.id.clone(),
        path: tested.path.clone(),
        expectation: expectation.clone(),
        explanation: (!is_met).then_some(explanation),
    }
}
