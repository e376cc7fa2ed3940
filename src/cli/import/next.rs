//! The commands that follow an import.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::cli::commands::{with_flags, word};
use crate::config::{Command, Flags, Settings};
use crate::model::ServiceKind;
use crate::pass::import::{ImportReport, ImportResult};

/// The most folders that `git add` names.
const MOST_FOLDERS: usize = 8;

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
    // Documents that were replaced were there before, so their environments have had their first pass.
    let written = report.count(|result| matches!(result, ImportResult::Written { .. }));
    let mut text = format!("next:\n  {git} add {folders}\n  {git} commit -m 'Import toggles'\n");
    let mut then = |command, words: &str| {
        let _ = writeln!(text, "  gitoggle {words}{}", with_flags(command, flags, &[]));
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
        }
    }
    text
}

fn git(report: &ImportReport) -> String {
    let top = report.top.canonicalize().unwrap_or_else(|_| report.top.clone());
    match std::env::current_dir().is_ok_and(|folder| folder.canonicalize().is_ok_and(|folder| folder == top))
    {
        true => "git".to_owned(),
        false => format!("git -C {}", word(&top.to_string_lossy())),
    }
}
