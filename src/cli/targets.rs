//! What `validate`, `test`, `fmt` and `explain` read: the work tree, a revision, or the files and folders
//! that are named.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::failure::{ExitStatus, Failure};
use super::setup;
use crate::config::Settings;
use crate::document::PathKind;
use crate::model::{ToggleId, escaped};
use crate::pass::CheckTarget;
use crate::source::{self, CacheMode, SourceConfig, worktree};

/// A place to check, and the paths within it.
pub(super) struct Target {
    pub(super) place: CheckTarget,
    pub(super) within: Vec<String>,
}

/// Returns the targets: the work tree by default, a revision with `--ref`. A path inside a repository is a
/// filter; outside of any repository, a folder is a root, and a file is checked alone.
pub(super) fn targets(settings: &Settings, paths: &[PathBuf]) -> Result<Vec<Target>, Failure> {
    if paths.is_empty() {
        return Ok(vec![all_of(everything(settings)?)]);
    }
    let mut targets = Vec::new();
    let mut within: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for path in paths {
        let full = path.canonicalize().map_err(|error| unreadable(path, error, settings))?;
        let top = worktree::top_of(&full).and_then(|top| top.canonicalize().ok());
        let inner = top.as_deref().and_then(|top| full.strip_prefix(top).ok());
        match (&top, inner) {
            (Some(top), Some(inner)) => {
                let inner = inner.to_string_lossy().into_owned();
                // Grouped by repository, so that each one is read once.
                within.entry(top.clone()).or_default().push(inner);
            }
            _ if full.is_dir() => targets.push(all_of(CheckTarget::Folder(full, String::new()))),
            _ => targets.push(all_of(file(settings, &full, path)?)),
        }
    }
    for (top, within) in within {
        let place = repository(settings, &top)?;
        targets.push(Target { place, within });
    }
    Ok(targets)
}

fn all_of(place: CheckTarget) -> Target {
    let within = Vec::new();
    Target { place, within }
}

/// Returns the place that is checked when no path is given.
pub(super) fn everything(settings: &Settings) -> Result<CheckTarget, Failure> {
    let revision = || Ok(CheckTarget::Revision(Box::new(setup::source(settings, CacheMode::Untouched))));
    let (Some(path), None) = (settings.repo.local_path(), &settings.reference) else {
        return revision();
    };
    if !path.exists() {
        return Err(unreadable(path, std::io::ErrorKind::NotFound.into(), settings));
    }
    if let Some(top) = worktree::top_of(path) {
        return Ok(CheckTarget::Folder(top, settings.root.clone()));
    }
    match worktree::WorkTree::open(path, "") {
        // A bare repository has only committed files.
        Err(source::Error::NoWorkTree(_)) => revision(),
        _ => Ok(CheckTarget::Folder(path.to_owned(), settings.root.clone())),
    }
}

/// Returns the place of the repository whose work tree is at `top`.
fn repository(settings: &Settings, top: &Path) -> Result<CheckTarget, Failure> {
    if settings.reference.is_none() {
        return Ok(CheckTarget::Folder(top.to_owned(), settings.root.clone()));
    }
    let location = top.to_string_lossy().parse().map_err(Failure::failed)?;
    let source = setup::source(settings, CacheMode::Untouched);
    Ok(CheckTarget::Revision(Box::new(SourceConfig { location, ..source })))
}

/// Returns the place of a file outside of any repository. By the layout, its folders name the toggle.
fn file(settings: &Settings, full: &Path, given: &Path) -> Result<CheckTarget, Failure> {
    let folders = settings.layout.pattern().split('/').count();
    let Some(root) = full.ancestors().nth(folders) else {
        let given = given.to_string_lossy();
        let message = format!("the path of `{}` does not name a toggle", escaped(&given));
        return Err(Failure::new(ExitStatus::Usage, message).hint(format!(
            "outside of a repository, a file is named by its folders: `{}`",
            settings.layout
        )));
    };
    let inner = full.strip_prefix(root).unwrap_or(full);
    Ok(CheckTarget::File(root.to_owned(), inner.to_string_lossy().into_owned()))
}

fn unreadable(path: &Path, error: std::io::Error, settings: &Settings) -> Failure {
    let path = path.to_string_lossy();
    let failure = Failure::could_not(format!("check `{}`", escaped(&path)))(error);
    let named = match settings.layout.classify(path.as_bytes()) {
        PathKind::Document { id, .. } => Ok(id),
        _ => path.parse::<ToggleId>(),
    };
    match named {
        Ok(id) => failure.hint(format!("PATH is a file or a folder; for the toggle, pass `--only {id}`")),
        Err(_) => failure,
    }
}
