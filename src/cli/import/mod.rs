//! `gitoggle import`: writes the documents of toggles that exist.

mod next;
mod output;

use super::failure::{ExitStatus, Failure};
use super::progress_bar::{begin, progress_bar};
use super::{note, print, setup, show, signals};
use crate::authoring::Existing;
use crate::config::{Flags, OutputFormat, Settings};
use crate::import::{
    ImportConfig, ImportError, ImportEvent, ImportReport, ImportResult, ImportScope, ImportSource, import,
};
use crate::model::{Scope, counted, escaped, listed};
use crate::pass;
pub(super) use output::text as import_text;

/// The threads that receive and parse responses. The thread of the command writes.
const THREADS: usize = 2;

pub(super) fn run(settings: &Settings, globs: &[String], flags: &Flags) -> Result<ExitStatus, Failure> {
    let config = config(settings, globs)?;
    let runtime = setup::runtime(THREADS)?;
    let bar = progress_bar();
    let report = runtime.block_on(async {
        let stop = signals::stop_on_signal().map_err(Failure::failed)?;
        let observe = |event| match event {
            ImportEvent::Begins(count) => begin(&bar, count),
            ImportEvent::Done => bar.inc(1),
        };
        Ok::<_, Failure>(import(config, stop, observe).await?)
    });
    // The bar ends before anything is printed below it.
    bar.finish_and_clear();
    // Reads are harmless, so an interrupted import does not wait for open ones.
    runtime.shutdown_background();
    let report = report?;
    let problem = problem(&report, settings);
    show(&report, problem.as_ref(), settings)?;
    let different = report.count(|result| matches!(result, ImportResult::Different { .. }));
    if different > 0 {
        let documents = counted(different, "different document");
        note(&format!(
            "note: kept {documents}; `--overwrite` replaces documents\n"
        ))?;
    }
    if let Some(first) = report.ignored.first() {
        let documents = counted(report.ignored.len(), "written document");
        let first = escaped(first);
        note(&format!(
            "note: Git ignores {documents}, `{first}` first, so a commit leaves them out; check `.gitignore`\n"
        ))?;
    }
    if let Some(problem) = problem {
        note(&problem.to_string())?;
        return Ok(problem.status());
    }
    if settings.output == OutputFormat::Human {
        note(&next::commands(&report, settings, flags))?;
    }
    Ok(ExitStatus::Clean)
}

/// Returns what to import, from where, and where to.
pub(super) fn config(settings: &Settings, globs: &[String]) -> Result<ImportConfig, Failure> {
    let Some(repo) = settings.repo.local_path() else {
        let message = "`import` writes into a work tree, and `--repo` is a URL";
        return Err(Failure::new(ExitStatus::Usage, message).hint("clone it, and pass the clone as `--repo`"));
    };
    Ok(ImportConfig {
        repo: repo.to_owned(),
        root: settings.root.clone(),
        layout: settings.layout.clone(),
        kind: settings.service_kind,
        scope: ImportScope {
            globs: Scope::new(globs).map_err(Failure::failed)?,
            only: settings.only.clone(),
        },
        on_different: match settings.overwrite {
            false => Existing::Keep,
            true => Existing::Replace,
        },
        from: from(settings)?,
    })
}

fn from(settings: &Settings) -> Result<ImportSource, Failure> {
    match &settings.from {
        Some(path) if path.as_os_str() == "-" => Ok(ImportSource::Stdin),
        Some(path) => Ok(ImportSource::Folder(path.clone())),
        None => {
            let client = setup::client(settings)
                .ok_or_else(|| Failure::new(ExitStatus::Usage, "give `--base-url` and a token"))?;
            Ok(ImportSource::Service(client, settings.max_in_flight))
        }
    }
}

/// Returns the error of an import that ended early, had nothing to do, or failed for a toggle.
fn problem(report: &ImportReport, settings: &Settings) -> Option<Failure> {
    if let Some(stop) = &report.stopped {
        let text = stop.to_string();
        let message = format!("the import ended early: {}", escaped(&text));
        return Some(Failure::failed(message).hint(stop.hint()));
    }
    let failed = report.count(|result| matches!(result, ImportResult::Failed(_)));
    if failed > 0 {
        // Not a number of toggles, because a list that could not be read stands for several.
        let message = format!("the import is incomplete: {failed} failed");
        return Some(Failure::failed(message).hint("fix the cause, then run the command again"));
    }
    if !report.unmatched.is_empty() {
        let message = format!("no toggle matches {}", unmatched(report, &settings.only));
        return Some(Failure::failed(message).hint(
            "check the spelling; a glob is compared with the whole of `project/environment/toggle`, case included",
        ));
    }
    if let Err(error) = pass::check_scope(&settings.only, &report.unmatched_only) {
        return Some(error.into());
    }
    // An import of nothing must not pass (DESIGN, section 3, *Never green by accident*).
    report.results.is_empty().then(|| match settings.from {
        None => Failure::failed("the service has no toggle that this token can read")
            .hint("check `--base-url` and the token"),
        Some(_) => Failure::failed("the input has no toggle").hint("check the argument of `--from`"),
    })
}

/// Returns the globs without a match. If no toggle matches `--only` either, each may be the mistake.
fn unmatched(report: &ImportReport, only: &Scope) -> String {
    let quoted = |glob: &String| format!("`{}`", escaped(glob));
    let mut globs: Vec<String> = report.unmatched.iter().map(quoted).collect();
    if report.unmatched_only.len() == only.globs().len() {
        globs.extend(
            report
                .unmatched_only
                .iter()
                .map(|glob| format!("`--only {}`", escaped(glob))),
        );
    }
    listed(&globs)
}

fn show(report: &ImportReport, problem: Option<&Failure>, settings: &Settings) -> Result<(), Failure> {
    if settings.output == OutputFormat::Github {
        print(&output::text(report))?;
    }
    show::result(
        settings.output,
        || output::text(report),
        || output::ImportJson::of(report, problem.map(Failure::json_error)),
        |limit| output::markdown(report, limit),
    )
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        let hint = error.hint();
        Self::failed(error).maybe_hint(hint)
    }
}
