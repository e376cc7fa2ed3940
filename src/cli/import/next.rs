//! The commands that follow an import.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::cli::commands::{with_flags, word};
use crate::config::{Command, Flags, Settings};
use crate::import::{ImportReport, ImportResult};
use crate::model::ServiceKind;
use crate::source::worktree::is_same_folder;

/// The most folders that `git add` names.
const MOST_FOLDERS: usize = 8;

/// What an adoption does and does not do. Whether an environment is in its first pass is not known here: an import reads no
/// state, and another process may have the only one.
const OF_DOCUMENTED: &str = "note: `--first-pass adopt` records the documents of every environment without applied toggles; \
     in the others, `apply` publishes the imported documents that differ from what gitoggle applied last, because it cannot \
     read a `documented` service\n";

/// Returns the commands that follow, with the flags of this one, or nothing if no document was written.
pub(super) fn commands(report: &ImportReport, all: &Settings, flags: &Flags) -> String {
    let written = report.results.values().filter_map(|result| match result {
        ImportResult::Replaced { path, .. } | ImportResult::Written { path } => Some(path.as_str()),
        _ => None,
    });
    let folders: BTreeSet<&str> = written.filter_map(|path| path.split('/').next()).collect();
    if folders.is_empty() {
        return String::new();
    }
    let folders = match folders.len() {
        ..=MOST_FOLDERS => folders.into_iter().map(word).collect::<Vec<_>>().join(" "),
        _ => ".".to_owned(),
    };
    let git = git(report);
    // Documents that were replaced were there before, so their environments have had their first pass, or hold it.
    let written = report.count(|result| matches!(result, ImportResult::Written { .. }));
    let mut text = format!("next:\n  {git} add {folders}\n  {git} commit -m 'Import toggles'\n");
    let (repo, without) = match all
        .repo
        .local_path()
        .is_some_and(|repo| is_same_folder(repo, &report.top))
    {
        true => (String::new(), [].as_slice()),
        // An import finds the top of a work tree from a folder below it; the other commands take the folder as it is.
        false => (format!(" --repo {}", word(&top(report))), ["repo"].as_slice()),
    };
    let mut then = |command, words: &str| {
        let flags = with_flags(command, flags, without);
        let _ = writeln!(text, "  gitoggle {words}{repo}{flags}");
    };
    match all.base_url {
        // Without the address of a service, nothing can be adopted.
        None => then(Command::Validate, "validate"),
        Some(_) => {
            // The documented service cannot be read, so a plan cannot compare with it.
            match all.service_kind {
                ServiceKind::Documented if written == 0 => then(Command::Plan, "plan"),
                ServiceKind::Documented => then(Command::Plan, "plan --first-pass adopt"),
                ServiceKind::FeatureProbe => then(Command::Plan, "plan --live"),
            }
            match written {
                0 => then(Command::Apply, "apply"),
                _ => then(Command::Apply, "apply --first-pass adopt"),
            }
            if all.service_kind == ServiceKind::Documented {
                text.push_str(OF_DOCUMENTED);
            }
        }
    }
    text
}

fn git(report: &ImportReport) -> String {
    match std::env::current_dir().is_ok_and(|folder| is_same_folder(&folder, &report.top)) {
        true => "git".to_owned(),
        false => format!("git -C {}", word(&top(report))),
    }
}

/// Returns the absolute path of the top of the work tree.
fn top(report: &ImportReport) -> String {
    let top = report.top.canonicalize().unwrap_or_else(|_| report.top.clone());
    top.to_string_lossy().into_owned()
}
