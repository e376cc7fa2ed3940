//! `gitoggle diff`: compares two environments of a work tree.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::authoring::{DocumentPlace, EnvironmentDocuments};
use crate::cli::args::environment;
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::{Formats, color, nonzero, note, print, print_json, show};
use crate::config::{OutputFormat, Settings};
use crate::document::{self, Diagnostic};
use crate::model::EnvironmentId;
use crate::plan::{EnvironmentDiff, ToggleDiff};
use crate::report;
use crate::source;
use crate::source::worktree::top_of;

/// Compare two environments
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Compares two environments of a work tree, toggle by toggle: what would change for users of A if \
                  it had the documents of B. What `promote FROM TO` changes is the difference between TO and FROM."
)]
pub(crate) struct DiffArgs {
    /// The environment before, as project/environment
    #[arg(value_name = "A", value_parser = environment)]
    pub(crate) before: EnvironmentId,
    /// The environment after
    #[arg(value_name = "B", value_parser = environment)]
    pub(crate) after: EnvironmentId,
    /// Exit with 2 if they differ
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
}

/// The forms of a difference, also that of `promote`.
pub(super) const FORMATS: Formats<ShownDiff> =
    &[(OutputFormat::Human, human), (OutputFormat::Json, json), (OutputFormat::Markdown, markdown)];

/// A difference, the errors in invalid documents, and the toggles that could not be copied, with the reasons.
pub(super) struct ShownDiff {
    pub(super) diff: EnvironmentDiff,
    pub(super) findings: Vec<Diagnostic>,
    pub(super) failed: BTreeMap<String, String>,
}

pub(super) fn run(settings: &Settings, args: &DiffArgs) -> Result<ExitStatus, Failure> {
    let DiffArgs { before, after, detailed_exitcode } = args;
    distinct(before, after)?;
    let folder = folder(settings)?;
    let place = place(settings, &folder);
    let [old, new] = place.environments([before, after])?;
    for (id, documents) in [(before, &old), (after, &new)] {
        // A comparison with nothing is more often a typing error (src/cli/README.md, "Never green by
        // accident").
        if documents.is_empty() {
            return Err(place.no_documents(id).into());
        }
    }
    let diff = compared([before, after], [&old, &new]);
    let mut findings = [old.findings, new.findings].concat();
    findings.sort_unstable();
    let shown = ShownDiff { diff, findings, failed: BTreeMap::new() };
    show(FORMATS, &shown, settings)?;
    let changes = ExitStatus::Changes.when(*detailed_exitcode && !shown.diff.toggles.is_empty());
    Ok(changes.and(invalid(&shown.findings)))
}

fn human(shown: &ShownDiff, settings: &Settings) -> Result<(), Failure> {
    print(&shown.diff.text(color(settings)))?;
    note(&document::render(&shown.findings, color(settings)))
}

fn json(shown: &ShownDiff, _: &Settings) -> Result<(), Failure> {
    let ShownDiff { diff, findings, failed } = shown;
    print_json(&json!({ "version": 1, "diff": diff.json(), "findings": findings, "failed": failed }))
}

fn markdown(shown: &ShownDiff, _: &Settings) -> Result<(), Failure> {
    let findings = report::finding_list(&shown.findings, "", report::ANY_COMMENT / 2);
    print(&(shown.diff.markdown(report::ANY_COMMENT - findings.len()) + &findings))
}

pub(super) fn invalid(findings: &[Diagnostic]) -> ExitStatus {
    ExitStatus::Invalid.when(!findings.is_empty())
}

pub(super) fn distinct(one: &EnvironmentId, other: &EnvironmentId) -> Result<(), Failure> {
    // Ids that differ only in case are one environment (src/model/README.md, "Ids").
    if one.to_string().eq_ignore_ascii_case(&other.to_string()) {
        Err(Failure::new(ExitStatus::Usage, format!("both environments are `{one}`")))
    } else {
        Ok(())
    }
}

/// Returns the top of the work tree of `--repo`, or the folder itself outside of work trees.
pub(super) fn folder(settings: &Settings) -> Result<PathBuf, Failure> {
    let Some(path) = settings.repo.local_path() else {
        let message = "this command needs a work tree, and `--repo` is a URL";
        return Err(Failure::new(ExitStatus::Usage, message).hint("clone it, and pass the clone as `--repo`"));
    };
    if !path.is_dir() {
        return Err(Failure::failed(source::Error::NoFolder(path.to_owned())));
    }
    Ok(top_of(path).unwrap_or_else(|| path.to_owned()))
}

pub(super) fn place<'a>(settings: &'a Settings, folder: &'a Path) -> DocumentPlace<'a> {
    DocumentPlace { folder, root: &settings.root, layout: &settings.layout, kind: settings.service_kind }
}

fn compared([before, after]: [&EnvironmentId; 2], [old, new]: [&EnvironmentDocuments; 2]) -> EnvironmentDiff {
    // Ids that differ only in case are one toggle (src/model/README.md, "Ids").
    let mut all: BTreeMap<String, [Option<&str>; 2]> = BTreeMap::new();
    for (side, documents) in [old, new].into_iter().enumerate() {
        for key in documents.toggles() {
            all.entry(key.to_ascii_lowercase()).or_default()[side] = Some(key);
        }
    }
    let is_invalid = |keys: &[Option<&str>; 2]| {
        [old, new].iter().zip(keys).any(|(side, key)| key.is_some_and(|key| side.invalid.contains_key(key)))
    };
    let (invalid, valid): (Vec<_>, Vec<_>) = all.into_values().partition(is_invalid);
    let different = valid.iter().map(|keys| {
        let payload = |documents: &EnvironmentDocuments, key: Option<&str>| {
            key.and_then(|key| documents.valid.get(key)).map(|document| document.payload.clone())
        };
        let (was, is) = (payload(old, keys[0]), payload(new, keys[1]));
        ToggleDiff {
            toggle: keys[1].or(keys[0]).unwrap_or_default().to_owned(),
            remark: match (&was, &is) {
                (None, _) => format!("only in {after}"),
                (_, None) => format!("only in {before}"),
                (Some(_), Some(_)) => String::new(),
            },
            before: was,
            after: is,
        }
    });
    let toggles: Vec<ToggleDiff> = different.filter(|diff| diff.before != diff.after).collect();
    let only_before = toggles.iter().filter(|diff| diff.after.is_none()).count();
    let only_after = toggles.iter().filter(|diff| diff.before.is_none()).count();
    let mut parts = vec![format!("{} different", toggles.len() - only_before - only_after)];
    parts.extend(nonzero(&[
        (only_before, &format!("only in {before}")),
        (only_after, &format!("only in {after}")),
        (invalid.len(), "invalid"),
    ]));
    parts.push(format!("{} equal", valid.len() - toggles.len()));
    EnvironmentDiff {
        before: before.clone(),
        after: after.clone(),
        copied_from: None,
        toggles,
        summary: parts.join(", "),
    }
}
