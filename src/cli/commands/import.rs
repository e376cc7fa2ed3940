//! `gitoggle import`: writes the documents of toggles that exist, and prints what it did and the commands
//! that follow.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::drift;
use crate::authoring::target_folder::{Existing, TargetFolder};
use crate::cli::args::glob;
use crate::cli::failure::{ExitStatus, Failure, JsonError};
use crate::cli::observer::{begin, progress_bar};
use crate::cli::output::{Formats, note, print, print_json, show, step_summary};
use crate::cli::{runtime, setup, signals};
use crate::config::{OutputFormat, Settings};
use crate::document::{Check, Diagnostic, Severity};
use crate::drift::ScanDepth;
use crate::import::{
    DriftedImport, ImportConfig, ImportError, ImportEvent, ImportReport, ImportResult, ImportScope,
    ImportSource, SkipReason, import,
};
use crate::model::{Scope, ToggleId, chain, command_line, counted, escaped, hinted, listed, shell_word};
use crate::pass::{self, CheckTarget, Checks};
use crate::plan::DriftedToggle;
use crate::report::{ANY_COMMENT, code, drift_left, drift_message, fitting};
use crate::source::worktree::{has_origin, is_same_folder};

/// Write the documents of toggles that exist on the service
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Writes the documents of toggles that exist on the service into the work tree of --repo, in \
                  canonical form, at the path that the layout gives: everything that the token can read, or the \
                  toggles that a GLOB over project/environment/toggle matches. Commits nothing. A document that \
                  means the same stays as it is; one that means something else stays too, unless --overwrite is \
                  given, and does not change the exit code. Run it again to continue after an interruption. Needs \
                  --service-kind featureprobe, or --from. With --drifted, compares the service with what was last \
                  applied, as drift does, and imports exactly the toggles that differ. A document that was changed \
                  in the repository as well stays, unless it has what the service had since then, or --overwrite is given."
)]
pub(crate) struct ImportArgs {
    /// Import only the toggles that this glob matches [everything]
    #[arg(value_name = "GLOB", value_parser = glob)]
    pub(crate) globs: Vec<String>,
    /// Import exactly the toggles that were changed on the service since they were last applied
    #[arg(long, conflicts_with = "from")]
    pub(crate) drifted: bool,
    /// Write a commit message to this file: who changed what, when, and why; empty if nothing was imported
    #[arg(long, value_name = "FILE", requires = "drifted")]
    pub(crate) message_file: Option<PathBuf>,
    /// Write to this file what differs on the service and was not imported; empty if nothing is left there
    #[arg(long, value_name = "FILE", requires = "drifted")]
    pub(crate) left_file: Option<PathBuf>,
}

/// The threads that receive and parse responses. The thread of the command writes.
const THREADS: usize = 2;

/// The forms of the report.
pub(super) const FORMATS: Formats<Imported> = &[
    (OutputFormat::Human, |imported, _| print(&text(&imported.report))),
    (OutputFormat::Json, |imported, _| {
        print_json(&ImportJson::of(&imported.report, imported.problem.as_ref().map(Failure::json_error)))
    }),
    (OutputFormat::Markdown, |imported, _| print(&markdown(&imported.report, ANY_COMMENT))),
    (OutputFormat::Github, |imported, _| {
        print(&text(&imported.report))?;
        step_summary(|limit| markdown(&imported.report, limit))
    }),
];

/// What was imported, and the error of the run.
pub(super) struct Imported {
    report: ImportReport,
    problem: Option<Failure>,
    purpose: Purpose,
}

/// Why documents are imported, which decides what comes next.
enum Purpose {
    /// To manage toggles of the service.
    Manage,
    /// To keep what someone changed on the service. There is a state already.
    KeepDrift {
        /// The file with the message of the commit.
        message: Option<PathBuf>,
    },
}

pub(super) fn run(settings: &Settings, args: &ImportArgs) -> Result<ExitStatus, Failure> {
    if args.drifted {
        return import_drifted(settings, args);
    }
    let report = import_with_bar(config(settings, &args.globs)?)?;
    // An import of nothing must not pass (src/cli/README.md, "Never green by accident").
    let nothing = report.results.is_empty().then(|| match settings.from {
        None => Failure::failed("the service has no toggle that this token can read")
            .hint("check `--base-url` and the token"),
        Some(_) => Failure::failed("the input has no toggle").hint("check the argument of `--from`"),
    });
    let problem = problem(&report, settings).or(nothing);
    finish(Imported { report, problem, purpose: Purpose::Manage }, settings)
}

/// Says which of the written documents Git ignores.
pub(super) fn note_ignored(ignored: &[String]) -> Result<(), Failure> {
    let Some(first) = ignored.first() else { return Ok(()) };
    let documents = counted(ignored.len(), "written document");
    let first = escaped(first);
    note(&format!(
        "note: Git ignores {documents}, `{first}` first, so a commit leaves them out; check `.gitignore`\n"
    ))
}

/// Imports the toggles that differ from what was applied, and writes a commit message.
fn import_drifted(settings: &Settings, args: &ImportArgs) -> Result<ExitStatus, Failure> {
    let write = |file: &Option<PathBuf>, text: &str| match file {
        None => Ok(()),
        Some(path) => {
            let name = path.to_string_lossy();
            std::fs::write(path, text).map_err(Failure::could_not(format!("write `{}`", escaped(&name))))
        }
    };
    // Whatever happens next, the texts are not those of an earlier run.
    write(&args.message_file, "")?;
    write(&args.left_file, "")?;
    let scan = drift::scan(settings, &args.globs, ScanDepth::Changes)?;
    let (removed, drifted): (Vec<_>, Vec<_>) = scan
        .report
        .drifted
        .iter()
        .partition(|drifted| !settings.overwrite && scan.report.orphans.contains(&drifted.applied.id));
    let toggles = drifted.iter().map(|drifted| {
        let DriftedToggle { applied, live, .. } = drifted;
        let since = live.events.iter().filter_map(|version| version.content.payload());
        let earlier = std::iter::once(&applied.payload).chain(since).cloned().collect();
        (applied.id.clone(), DriftedImport { live: live.content.clone(), earlier })
    });
    let report = import_with_bar(ImportConfig {
        from: ImportSource::Drifted(toggles.collect()),
        // The scan has applied the globs.
        scope: ImportScope::default(),
        ..config(settings, &[])?
    })?;
    let result = |drifted: &DriftedToggle| report.results.get(drifted.applied.id.as_str());
    let is_imported = |drifted: &&DriftedToggle| {
        matches!(result(drifted), Some(ImportResult::Replaced { .. } | ImportResult::Written { .. }))
    };
    let (imported, kept): (Vec<_>, Vec<_>) = drifted.into_iter().partition(is_imported);
    let is_left = |drifted: &&DriftedToggle| !matches!(result(drifted), Some(ImportResult::Unchanged { .. }));
    let left: Vec<_> = kept.into_iter().filter(is_left).chain(removed.iter().copied()).collect();
    let held = if scan.has_new_documents { drift::held_over_live(settings, &scan)? } else { Vec::new() };
    let left = drift_left(&left, &held);
    write(&args.message_file, &drift_message(&imported, &left, &scan.report.service))?;
    write(&args.left_file, &left)?;
    let problem = problem(&report, settings);
    let purpose = Purpose::KeepDrift { message: args.message_file.clone() };
    let status = finish(Imported { report, problem, purpose }, settings)?;
    for (count, what) in
        [(removed.len(), "without a document"), (scan.report.missing.len(), "missing on the service")]
    {
        if count > 0 {
            let toggles = counted(count, "toggle");
            note(&format!("note: left out {toggles} {what}; `gitoggle drift` shows what to do\n"))?;
        }
    }
    if let Some((first, reason)) = held.first() {
        let toggles = counted(held.len(), "toggle");
        note(&format!(
            "note: left out {toggles} not applied yet, the first is `{first}`: {}\n",
            escaped(reason)
        ))?;
    }
    Ok(drift::completeness(&scan)?.and(status))
}

fn import_with_bar(config: ImportConfig) -> Result<ImportReport, Failure> {
    let runtime = runtime::multi_threaded(THREADS)?;
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
    // Reads are harmless, so an interrupted import does not wait for open ones when the runtime ends.
    report
}

fn finish(imported: Imported, settings: &Settings) -> Result<ExitStatus, Failure> {
    waive_types(&imported.report, settings)?;
    show(FORMATS, &imported, settings)?;
    let Imported { report, problem, purpose } = imported;
    let different = report.count(|result| matches!(result, ImportResult::Different { .. }));
    if different > 0 {
        let documents = counted(different, "different document");
        note(&format!("note: kept {documents}; `--overwrite` replaces documents\n"))?;
    }
    note_ignored(&report.ignored)?;
    if let Some(text) = wrong_references(&report, settings) {
        note(&text)?;
    }
    if let Some(problem) = problem {
        note(&problem.to_string())?;
        return Ok(problem.status());
    }
    if settings.output == OutputFormat::Human {
        note(&next_commands(&report, &purpose, settings))?;
    }
    Ok(ExitStatus::Clean)
}

/// Adds a waiver to each written prerequisite of type `string` on a toggle whose values look like booleans: that
/// they are texts is known only to the service, with whose type a pass compares.
fn waive_types(report: &ImportReport, settings: &Settings) -> Result<(), Failure> {
    const WAIVER: &str = "# gitoggle: allow(prerequisite-other-type) it is a toggle of text on the service\n";
    let written = report.results.values().filter_map(|result| match result {
        ImportResult::Written { path } | ImportResult::Replaced { path, .. } => Some(path.as_str()),
        _ => None,
    });
    let written: BTreeSet<&str> = written.collect();
    let mut lines: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for found in references(report, settings).unwrap_or_default() {
        let is_unsure = Check::is_unsure_type(found.id) && found.severity == Severity::Error;
        if is_unsure && written.contains(found.path.as_str()) && found.line > 0 {
            lines.entry(found.path).or_default().insert(found.line as usize - 1);
        }
    }
    for (path, lines) in lines {
        let failed = |error| Failure::could_not(format!("add a waiver to `{}`", escaped(&path)))(error);
        let text = std::fs::read_to_string(report.top.join(&path)).map_err(failed)?;
        let mut out = String::new();
        for (at, line) in text.split_inclusive('\n').enumerate() {
            if lines.contains(&at) && line.contains("type: string") {
                out.push_str(&line[..line.len() - line.trim_start().len()]);
                out.push_str(WAIVER);
            }
            out.push_str(line);
        }
        let folder = TargetFolder::open(&report.top, "");
        let replaced = folder.and_then(|folder| folder.write(&path, &out, Existing::Replace));
        replaced.map_err(|error| failed(std::io::Error::other(chain(&error))))?;
    }
    Ok(())
}

/// Returns a note on what the imported documents say wrongly of others: a prerequisite was not imported, or the
/// service has it in another spelling or with other values.
fn wrong_references(report: &ImportReport, settings: &Settings) -> Option<String> {
    let found = references(report, settings)?;
    let first = found.first()?;
    let note = format!(
        "note: imported documents have {} about other documents, the first at {}: {}; `gitoggle validate` shows what to do\n",
        counted(found.len(), "finding"),
        escaped(&first.place()),
        first.message
    );
    Some(hinted(&note).into_owned())
}

/// Returns the findings about others in the imported documents; none if they cannot be checked.
fn references(report: &ImportReport, settings: &Settings) -> Option<Vec<Diagnostic>> {
    let paths: Vec<String> =
        report.results.values().filter_map(ImportResult::path).map(str::to_owned).collect();
    if paths.is_empty() || !settings.service_kind.can().refer {
        return None;
    }
    let checks = Checks {
        layout: &settings.layout,
        kind: settings.service_kind,
        sdks: settings.sdks,
        scope: &Scope::default(),
        within: &paths,
    };
    // The import is done, and `validate` says why a check fails.
    let place = CheckTarget::Folder(report.top.clone(), settings.root.clone());
    let findings = pass::check(&place, checks).ok()?.findings.into_iter();
    Some(findings.filter(|one| Check::is_about_others(one.id)).collect())
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
        on_different: if settings.overwrite { Existing::Replace } else { Existing::Keep },
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

/// Returns the error of an import that ended early, failed for a toggle, or had a glob without a match.
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
            "check the spelling; a glob is compared with the whole of `project/environment/toggle`, in this order",
        ));
    }
    pass::check_scope(&settings.only, &report.unmatched_only).err().map(Failure::from)
}

/// Returns the globs without a match. If no toggle matches `--only` either, each may be the mistake.
fn unmatched(report: &ImportReport, only: &Scope) -> String {
    let quoted = |glob: &String| format!("`{}`", escaped(glob));
    let mut globs: Vec<String> = report.unmatched.iter().map(quoted).collect();
    if report.unmatched_only.len() == only.globs().len() {
        globs.extend(report.unmatched_only.iter().map(|glob| format!("`--only {}`", escaped(glob))));
    }
    listed(&globs)
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        let hint = error.hint();
        Self::failed(error).maybe_hint(hint)
    }
}

/// Returns one line per toggle that needs attention, and the counts.
pub(super) fn text(report: &ImportReport) -> String {
    let mut text = String::new();
    for (name, result) in notable(report) {
        let _ = writeln!(text, "{} {}{}", result.as_str(), escaped(name), details(result));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text + &counts(report) + "\n"
}

/// Formats the result as Markdown of at most `limit` bytes.
fn markdown(report: &ImportReport, limit: usize) -> String {
    let end = if notable(report).next().is_some() { "\n" } else { "" };
    let head = format!("### gitoggle import\n\n{}\n{end}", counts(report));
    let rows = notable(report).map(|(name, result)| {
        let mut row = format!("* **{}** {}", result.as_str(), code(name));
        for part in [result.path(), result.reason()].into_iter().flatten() {
            let _ = write!(row, ": {}", code(part));
        }
        row + "\n"
    });
    fitting([head].into_iter().chain(rows), limit)
}

/// Returns the results that the counts do not explain.
fn notable(report: &ImportReport) -> impl Iterator<Item = (&String, &ImportResult)> {
    report.results.iter().filter(|(_, result)| match result {
        ImportResult::Written { .. } => false,
        ImportResult::Unchanged { spelling, .. } => spelling.is_some(),
        _ => true,
    })
}

fn details(result: &ImportResult) -> String {
    let mut text = String::new();
    if let ImportResult::Skipped(reason, _) = result {
        let _ = write!(text, " ({})", reason.label());
    }
    if let Some(reason) = result.reason() {
        let _ = write!(text, ": {}", escaped(reason));
    }
    if let Some(path) = result.path() {
        let _ = write!(text, " ({})", escaped(path));
    }
    if let Some(spelling) = result.spelling() {
        let _ = write!(text, "\n  the document spells it `{spelling}`: rename its file");
    }
    text
}

fn counts(report: &ImportReport) -> String {
    let Counts { written, replaced, unchanged, different, skipped, failed } = Counts::of(report);
    let mut text = format!("{written} written, {unchanged} unchanged, {different} different");
    if replaced > 0 {
        let _ = write!(text, ", {replaced} replaced");
    }
    if skipped > 0 {
        let reasons = SkipReason::ALL.into_iter().filter_map(|reason| {
            let count =
                report.count(|result| matches!(result, ImportResult::Skipped(other, _) if *other == reason));
            (count > 0).then(|| format!("{}: {count}", reason.label()))
        });
        let reasons: Vec<String> = reasons.collect();
        let _ = write!(text, ", {skipped} skipped ({})", reasons.join(", "));
    }
    if failed > 0 {
        let _ = write!(text, ", {failed} failed");
    }
    text
}

#[derive(Serialize)]
struct ImportJson<'a> {
    version: u32,
    summary: Counts,
    skipped: BTreeMap<&'static str, usize>,
    toggles: Vec<ToggleLine<'a>>,
    error: Option<JsonError>,
}

#[derive(Serialize)]
struct Counts {
    written: usize,
    replaced: usize,
    unchanged: usize,
    different: usize,
    skipped: usize,
    failed: usize,
}

impl Counts {
    fn of(report: &ImportReport) -> Self {
        let count = |word: &str| report.count(|result| result.as_str() == word);
        Self {
            written: count("written"),
            replaced: count("replaced"),
            unchanged: count("unchanged"),
            different: count("different"),
            skipped: count("skipped"),
            failed: count("failed"),
        }
    }
}

/// One toggle, unless its document is unchanged.
#[derive(Serialize)]
struct ToggleLine<'a> {
    toggle: &'a str,
    result: &'static str,
    skipped: Option<SkipReason>,
    path: Option<&'a str>,
    reason: Option<&'a str>,
    spelling: Option<&'a ToggleId>,
}

impl<'a> ImportJson<'a> {
    fn of(report: &'a ImportReport, error: Option<JsonError>) -> Self {
        let mut skipped = BTreeMap::new();
        let mut toggles = Vec::new();
        for (name, result) in &report.results {
            let reason = match result {
                ImportResult::Skipped(reason, _) => Some(*reason),
                _ => None,
            };
            if let Some(reason) = reason {
                *skipped.entry(reason.as_str()).or_default() += 1;
            }
            if matches!(result, ImportResult::Unchanged { spelling: None, .. }) {
                continue;
            }
            toggles.push(ToggleLine {
                toggle: name,
                result: result.as_str(),
                skipped: reason,
                path: result.path(),
                reason: result.reason(),
                spelling: result.spelling(),
            });
        }
        Self { version: 1, summary: Counts::of(report), skipped, toggles, error }
    }
}

/// The most folders that `git add` names.
const MOST_FOLDERS: usize = 8;

/// What an adoption does and does not do. Whether an environment is in its first pass is not known here: an
/// import reads no state, and another process may have the only one.
const OF_DOCUMENTED: &str = "note: `--first-pass adopt` records the documents of every environment without applied toggles; \
     in the others, `apply` publishes the imported documents that differ from what gitoggle applied last, because it cannot \
     read a `documented` service\n";

/// Why the state belongs beside a repository that has an `origin`.
const OF_JOBS: &str = "note: merge the commit before `apply`: jobs take every checkout without the applied commit for a stale one, \
     also if a squash or a rebase has replaced it\nnote: with `--state-remote origin`, jobs of CI and other clones know what was recorded; leave it out if one \
     daemon with its own disk publishes from this repository\n";

/// Returns the commands that follow, with the flags of this one, or nothing if no document was written.
fn next_commands(report: &ImportReport, purpose: &Purpose, all: &Settings) -> String {
    let Some(folders) = written_folders(report) else {
        return String::new();
    };
    let git = git(report);
    let message = match purpose {
        Purpose::Manage => None,
        Purpose::KeepDrift { message } => message.as_deref(),
    };
    let mut text = format!("next:\n  {git} add {folders}\n  {git} commit {}\n", message_flag(message, &git));
    let repo = match all.repo.local_path().is_some_and(|repo| is_same_folder(repo, &report.top)) {
        true => String::new(),
        // An import finds the top of a work tree from a folder below it; the other commands take the folder
        // as it is.
        false => format!(" --repo {}", shell_word(&top(report))),
    };
    // Jobs of CI have no other state than a shared one. To them, what is adopted locally would be a first
    // pass.
    let is_new = matches!(purpose, Purpose::Manage) && all.state_remote.is_none() && all.base_url.is_some();
    let is_shared = is_new && has_origin(&report.top);
    let shared = if is_shared { " --state-remote origin" } else { "" };
    for words in adoption(report, all) {
        let _ = writeln!(text, "  {}", command_line(&format!("gitoggle {words}{repo}{shared}")));
    }
    if is_shared {
        text.push_str(OF_JOBS);
    }
    if all.base_url.is_some() && !all.service_kind.can().read_live {
        text.push_str(OF_DOCUMENTED);
    }
    text
}

/// Returns what `git add` takes; nothing if no document was written.
fn written_folders(report: &ImportReport) -> Option<String> {
    let written = report.results.values().filter_map(|result| match result {
        ImportResult::Replaced { path, .. } | ImportResult::Written { path } => Some(path.as_str()),
        _ => None,
    });
    let folders: BTreeSet<&str> = written.filter_map(|path| path.split('/').next()).collect();
    match folders.len() {
        0 => None,
        1..=MOST_FOLDERS => Some(folders.into_iter().map(shell_word).collect::<Vec<_>>().join(" ")),
        _ => Some(".".to_owned()),
    }
}

/// Returns the flag of `git commit` for the message in a file, or for a short one.
fn message_flag(file: Option<&Path>, git: &str) -> String {
    let path = file.map(|path| match git {
        "git" => Ok(path.to_path_buf()),
        // `git -C` reads it from another folder.
        _ => std::path::absolute(path),
    });
    match path {
        Some(Ok(path)) => format!("--file {}", shell_word(&path.to_string_lossy())),
        _ => "-m 'Import toggles'".to_owned(),
    }
}

/// Returns the commands that adopt the imported documents. Without the address of a service, nothing can be
/// adopted.
fn adoption(report: &ImportReport, all: &Settings) -> Vec<&'static str> {
    if all.base_url.is_none() {
        return vec!["validate"];
    }
    // Documents that were replaced were there before, so their environments have had their first pass, or
    // hold it.
    let is_new = report.count(|result| matches!(result, ImportResult::Written { .. })) > 0;
    let plan = match (all.service_kind.can().read_live, is_new) {
        (true, _) => "plan --live",
        // The documented service cannot be read, so a plan cannot compare with it.
        (false, true) => "plan --first-pass adopt",
        (false, false) => "plan",
    };
    vec![plan, if is_new { "apply --first-pass adopt" } else { "apply" }]
}

fn git(report: &ImportReport) -> String {
    if std::env::current_dir().is_ok_and(|folder| is_same_folder(&folder, &report.top)) {
        "git".to_owned()
    } else {
        format!("git -C {}", shell_word(&top(report)))
    }
}

fn top(report: &ImportReport) -> String {
    let top = report.top.canonicalize().unwrap_or_else(|_| report.top.clone());
    top.to_string_lossy().into_owned()
}
