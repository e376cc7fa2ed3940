//! `gitoggle test`: compares what toggles serve with the expectations next to them. It needs no network, state or token.

mod coverage;
mod output;
mod suite;

use std::path::PathBuf;

use super::args::{Coverage, TestArgs};
use super::failure::{ExitStatus, Failure};
use super::{note, validate};
use crate::config::Settings;
use crate::model::ToggleId;
use crate::pass::{CheckTarget, DocumentFiles};
use suite::TestRun;

pub(super) fn run(settings: &Settings, args: &TestArgs) -> Result<ExitStatus, Failure> {
    let mut all = TestRun::default();
    let mut unmatched = settings.only.unmatched();
    for validate::Target { place, within } in targets(settings, &args.paths)? {
        let documents = DocumentFiles::open(&place, &settings.layout, settings.service_kind)?;
        documents
            .toggles()
            .for_each(|id| unmatched.remove_matching(id.as_str()));
        suite::run(
            &documents,
            |id: &ToggleId| settings.only.contains(id),
            &within,
            args.coverage,
            &mut all,
        )?;
    }
    let problem = problem(&all, settings, &unmatched.globs());
    output::print(
        &all,
        problem.as_ref(),
        settings,
        args.coverage == Coverage::Listed,
    )?;
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
        true => Err(Failure::new(
            ExitStatus::Usage,
            "a single file outside of a repository cannot be tested",
        )
        .hint("give the folder that contains the documents")),
        false => Ok(targets),
    }
}
