//! `gitoggle fmt`: rewrites documents in the canonical layout.

use std::path::PathBuf;

use super::failure::{ExitStatus, Failure};
use super::show::nonzero;
use super::validate::{Target, targets};
use super::{color, note, print};
use crate::authoring::{AuthoringError, FormatMode, FormatReport, FormatRequest, format};
use crate::config::Settings;
use crate::document;
use crate::model::{counted, escaped};
use crate::pass::{self, CheckTarget};

pub(super) fn run(settings: &Settings, paths: &[PathBuf], mode: FormatMode) -> Result<ExitStatus, Failure> {
    if let Some(link) = paths.iter().find(|path| path.is_symlink()) {
        let link = link.to_string_lossy();
        let message = format!("`{}` is a symbolic link, and gitoggle does not write there", escaped(&link));
        return Err(Failure::failed(message));
    }
    let mut all = FormatReport::default();
    for Target { place, within } in targets(settings, paths)? {
        let (folder, root, within) = match place {
            CheckTarget::File(folder, path) => (folder, String::new(), vec![path]),
            CheckTarget::Folder(folder, root) => (folder, root, within),
            CheckTarget::Revision(_) => {
                let message = "`fmt` rewrites files of a work tree, and `--repo` has none";
                return Err(Failure::new(ExitStatus::Usage, message).hint("pass a clone as `--repo`"));
            }
        };
        all.add(format(FormatRequest {
            folder: &folder,
            root: &root,
            within: &within,
            layout: &settings.layout,
            scope: &settings.only,
            kind: settings.service_kind,
            mode,
        })?);
    }
    let globs = settings.only.globs().iter();
    let unmatched: Vec<String> = globs.filter(|glob| !all.matched.contains(*glob)).cloned().collect();
    pass::check_scope(&settings.only, &unmatched)?;
    show(&all, settings, mode)?;
    verdict(&all, mode)
}

fn show(report: &FormatReport, settings: &Settings, mode: FormatMode) -> Result<(), Failure> {
    let FormatReport { matched: _, documents, changed, unsupported, findings, invalid, failed } = report;
    let mut text = document::render(findings, color(settings));
    if !text.is_empty() {
        text.push('\n');
    }
    let (verb, counted_verb) = match mode {
        FormatMode::Check => ("would rewrite", "to rewrite"),
        FormatMode::Write => ("rewrote", "rewritten"),
    };
    for path in changed {
        text.push_str(&format!("{verb} {}\n", escaped(path)));
    }
    for path in unsupported {
        text.push_str(&format!("left as it is: {}\n", escaped(path)));
    }
    for (path, reason) in failed {
        text.push_str(&format!("failed {}: {}\n", escaped(path), escaped(reason)));
    }
    let mut parts = vec![format!("{} {counted_verb}", changed.len())];
    parts.extend(nonzero(&[
        (*invalid, "invalid"),
        (unsupported.len(), "that cannot be rewritten safely"),
        (failed.len(), "failed"),
    ]));
    let documents = counted(*documents, "document");
    print(&format!("{text}{documents}: {}\n", parts.join(", ")))
}

fn verdict(report: &FormatReport, mode: FormatMode) -> Result<ExitStatus, Failure> {
    // A check of nothing must not pass (DESIGN, section 3, *Never green by accident*).
    if report.documents == 0 {
        return Err(Failure::failed("there is no document to format")
            .hint("check the paths, `--root` and `--layout`"));
    }
    if !report.failed.is_empty() {
        let documents = counted(report.failed.len(), "document");
        return Err(Failure::failed(format!("could not write {documents}")));
    }
    if mode == FormatMode::Check && !report.changed.is_empty() {
        note("hint: `gitoggle fmt` rewrites them\n")?;
        return Ok(ExitStatus::Failed);
    }
    Ok(ExitStatus::Invalid.when(report.invalid > 0))
}

impl FormatReport {
    fn add(&mut self, other: Self) {
        let Self { matched, documents, changed, unsupported, findings, invalid, failed } = other;
        self.matched.extend(matched);
        self.documents += documents;
        self.changed.extend(changed);
        self.unsupported.extend(unsupported);
        self.findings.extend(findings);
        self.invalid += invalid;
        self.failed.extend(failed);
    }
}

impl From<AuthoringError> for Failure {
    fn from(error: AuthoringError) -> Self {
        match &error {
            AuthoringError::NewEnvironment(_, closest) => {
                let meant = closest.as_ref().map(|closest| format!("did you mean `{}`? ", escaped(closest)));
                let hint = meant.unwrap_or_default() + "to create it, add `--create`";
                Self::new(ExitStatus::Usage, error).hint(hint)
            }
            AuthoringError::NoDocuments(_) => {
                Self::failed(error).hint("check the name of the environment, `--root` and `--layout`")
            }
            AuthoringError::Source(_) | AuthoringError::WorkTree(_) => Self::failed(error),
        }
    }
}
