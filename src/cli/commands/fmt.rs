//! `gitoggle fmt`: rewrites the documents of a work tree in one layout.

use std::path::PathBuf;

use clap::Args;

use crate::authoring::{FormatReport, FormatRequest, format};
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::{color, nonzero, note, print};
use crate::cli::targets::{Target, targets};
use crate::config::Settings;
use crate::document::{self};
use crate::model::{counted, escaped};
use crate::pass::{self, CheckTarget};

/// Rewrite documents in one layout
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Rewrites the documents of a work tree in one canonical layout, that of import. Keeps every \
                  comment, and leaves the meaning and the spelling of scalars as they are. Invalid documents and \
                  other files stay as they are."
)]
pub(crate) struct FmtArgs {
    /// Format these files and folders only
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Write nothing; list the documents with another layout, and exit with 1
    #[arg(long)]
    pub(crate) check: bool,
}

pub(super) fn run(settings: &Settings, args: &FmtArgs) -> Result<ExitStatus, Failure> {
    let FmtArgs { paths, check } = args;
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
            writes: !*check,
        })?);
    }
    let globs = settings.only.globs().iter();
    let unmatched: Vec<String> = globs.filter(|glob| !all.matched.contains(*glob)).cloned().collect();
    pass::check_scope(&settings.only, &unmatched)?;
    show_formatted(&all, settings, *check)?;
    verdict(&all, *check)
}

fn show_formatted(report: &FormatReport, settings: &Settings, check: bool) -> Result<(), Failure> {
    let FormatReport { matched: _, documents, changed, unsupported, findings, invalid, failed } = report;
    let mut text = document::render(findings, color(settings));
    if !text.is_empty() {
        text.push('\n');
    }
    let (verb, counted_verb) = if check { ("would rewrite", "to rewrite") } else { ("rewrote", "rewritten") };
    for path in changed {
        text.push_str(&format!("{verb} {}\n", escaped(path)));
    }
    for (path, reason) in unsupported {
        text.push_str(&format!("left as it is: {}: {reason}\n", escaped(path)));
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

fn verdict(report: &FormatReport, check: bool) -> Result<ExitStatus, Failure> {
    // A check of nothing must not pass (src/cli/README.md, "Never green by accident").
    if report.documents == 0 {
        return Err(Failure::failed("there is no document to format")
            .hint("check the paths, `--root` and `--layout`"));
    }
    if !report.failed.is_empty() {
        let documents = counted(report.failed.len(), "document");
        return Err(Failure::failed(format!("could not write {documents}")));
    }
    if check && !report.changed.is_empty() {
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
