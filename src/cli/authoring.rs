//! `gitoggle diff`, `fmt`, `init` and `promote`: work on the documents of a work tree.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::failure::{ExitStatus, Failure};
use super::nonzero;
use super::validate::{Target, targets};
use super::{color, note, print, unsupported_output};
use crate::authoring::{
    self, AuthoringError, DocumentPlace, EnvironmentDocuments, FormatReport, FormatRequest, PromotionReport,
    PromotionResult, WriteResult, create_files, format,
};
use crate::cli;
use crate::config::{OutputFormat, Settings};
use crate::document::{self, Diagnostic};
use crate::git::Sample;
use crate::model::{EnvironmentId, Scope, ServiceKind, counted, escaped, listed, shell_word};
use crate::pass::{self, CheckTarget};
use crate::plan::{EnvironmentDiff, ToggleDiff};
use crate::report;
use crate::source;
use crate::source::worktree::{is_bare, is_same_folder, top_of};
use crate::telemetry::Stream;

pub(super) fn diff(
    settings: &Settings,
    [before, after]: [&EnvironmentId; 2],
    detailed_exitcode: bool,
) -> Result<ExitStatus, Failure> {
    distinct(before, after)?;
    let folder = folder(settings)?;
    let [old, new] = place(settings, &folder).environments([before, after])?;
    for (id, documents) in [(before, &old), (after, &new)] {
        // A comparison with nothing is more often a typing error (DESIGN, section 3, *Never green by accident*).
        if documents.is_empty() {
            return Err(AuthoringError::NoDocuments(id.clone()).into());
        }
    }
    let diff = compared([before, after], [&old, &new]);
    let mut findings = [old.findings, new.findings].concat();
    findings.sort_unstable();
    show_diff(&diff, &findings, &BTreeMap::new(), settings)?;
    let changes = ExitStatus::Changes.when(detailed_exitcode && !diff.toggles.is_empty());
    Ok(changes.and(invalid(&findings)))
}

/// Prints the difference, the errors in invalid documents, and the toggles that could not be copied, with the reasons.
fn show_diff(
    diff: &EnvironmentDiff,
    findings: &[Diagnostic],
    failed: &BTreeMap<&str, &str>,
    settings: &Settings,
) -> Result<(), Failure> {
    let errors = document::render(findings, color(settings));
    match settings.output {
        OutputFormat::Human => {
            print(&diff.text(color(settings)))?;
            note(&errors)
        }
        OutputFormat::Json => cli::print_json(&json!({
            "version": 1,
            "diff": diff.json(),
            "findings": findings,
            "failed": failed,
        })),
        OutputFormat::Markdown => {
            let findings = report::finding_list(findings, "", report::ANY_COMMENT / 2);
            print(&(diff.markdown(report::ANY_COMMENT - findings.len()) + &findings))
        }
        other => Err(unsupported_output(other)),
    }
}

fn invalid(findings: &[Diagnostic]) -> ExitStatus {
    ExitStatus::Invalid.when(!findings.is_empty())
}

fn distinct(one: &EnvironmentId, other: &EnvironmentId) -> Result<(), Failure> {
    // Ids that differ only in case are one environment (DESIGN, section 2).
    if one.to_string().eq_ignore_ascii_case(&other.to_string()) {
        Err(Failure::new(ExitStatus::Usage, format!("both environments are `{one}`")))
    } else {
        Ok(())
    }
}

/// Returns the top of the work tree of `--repo`, or the folder itself outside of work trees.
fn folder(settings: &Settings) -> Result<PathBuf, Failure> {
    let Some(path) = settings.repo.local_path() else {
        let message = "this command needs a work tree, and `--repo` is a URL";
        return Err(Failure::new(ExitStatus::Usage, message).hint("clone it, and pass the clone as `--repo`"));
    };
    if !path.is_dir() {
        return Err(Failure::failed(source::Error::NoFolder(path.to_owned())));
    }
    Ok(top_of(path).unwrap_or_else(|| path.to_owned()))
}

fn place<'a>(settings: &'a Settings, folder: &'a Path) -> DocumentPlace<'a> {
    DocumentPlace { folder, root: &settings.root, layout: &settings.layout, kind: settings.service_kind }
}

fn compared([before, after]: [&EnvironmentId; 2], [old, new]: [&EnvironmentDocuments; 2]) -> EnvironmentDiff {
    let all: BTreeSet<&str> = old.toggles().union(&new.toggles()).copied().collect();
    let is_invalid = |key: &&str| old.invalid.contains_key(*key) || new.invalid.contains_key(*key);
    let (invalid, valid): (Vec<&str>, Vec<&str>) = all.into_iter().partition(is_invalid);
    let different = valid.iter().map(|key| {
        let payload = |documents: &EnvironmentDocuments| {
            let document = documents.valid.get(*key);
            document.map(|document| document.payload.clone())
        };
        let (was, is) = (payload(old), payload(new));
        ToggleDiff {
            toggle: (*key).to_owned(),
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

pub(super) fn promote(
    settings: &Settings,
    [from, to]: [&EnvironmentId; 2],
    globs: &[String],
    create: bool,
) -> Result<ExitStatus, Failure> {
    distinct(from, to)?;
    let globs = Scope::new(globs).map_err(|error| Failure::new(ExitStatus::Usage, error))?;
    let folder = folder(settings)?;
    let promoted = |create| authoring::promote(place(settings, &folder), from, to, &globs, create);
    let report = match promoted(create) {
        Err(AuthoringError::NewEnvironment(to, closest)) => {
            if is_confirmed(&to, closest.as_deref())? {
                promoted(true)?
            } else {
                return Err(AuthoringError::NewEnvironment(to, closest).into());
            }
        }
        result => result?,
    };
    if !report.unmatched.is_empty() {
        let quoted: Vec<String> =
            report.unmatched.iter().map(|glob| format!("`{}`", escaped(glob))).collect();
        let message = format!("no toggle of `{from}` matches {}", listed(&quoted));
        return Err(
            Failure::failed(message).hint("a glob is compared with the key of the toggle, case included")
        );
    }
    let failed: BTreeMap<&str, &str> = report.failed().collect();
    show_diff(&changes(&report, from, to), &report.findings, &failed, settings)?;
    for (key, result) in &report.results {
        match result {
            PromotionResult::Failed(reason) => note(&format!("error: {to}/{key}: {}\n", escaped(reason)))?,
            PromotionResult::Copied { .. } | PromotionResult::Unchanged => {}
        }
    }
    if failed.is_empty() {
        return Ok(invalid(&report.findings));
    }
    note(&format!("error: could not copy {}\n", counted(failed.len(), "toggle")))?;
    Ok(ExitStatus::Failed)
}

/// Asks on a terminal whether to create an environment.
fn is_confirmed(to: &EnvironmentId, closest: Option<&str>) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() || !Stream::Stderr.is_terminal() {
        return Ok(false);
    }
    let closest = closest.map(|closest| format!(" (did you mean `{closest}`?)"));
    note(&format!("`{to}` has no document yet{}. Create it? [y/N] ", closest.unwrap_or_default()))?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(Failure::failed)?;
    Ok(["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()))
}

fn changes(report: &PromotionReport, from: &EnvironmentId, to: &EnvironmentId) -> EnvironmentDiff {
    let toggles = report.results.iter().filter_map(|(key, result)| match result {
        PromotionResult::Copied { path, before, after, .. } => Some(ToggleDiff {
            toggle: key.clone(),
            before: before.clone(),
            after: Some(after.clone()),
            remark: path.clone(),
        }),
        PromotionResult::Failed(_) | PromotionResult::Unchanged => None,
    });
    let toggles: Vec<ToggleDiff> = toggles.collect();
    let mut parts = vec![
        format!("{} copied", toggles.len()),
        format!("{} unchanged", report.count(|result| matches!(result, PromotionResult::Unchanged))),
    ];
    let failed = report.failed().count();
    parts.extend(nonzero(&[(report.invalid.len(), "invalid"), (failed, "failed")]));
    EnvironmentDiff {
        before: to.clone(),
        after: to.clone(),
        copied_from: Some(from.clone()),
        toggles,
        summary: parts.join(", "),
    }
}

impl PromotionReport {
    /// Returns the toggles that could not be copied, with the reasons.
    fn failed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.results.iter().filter_map(|(key, result)| match result {
            PromotionResult::Failed(reason) => Some((key.as_str(), reason.as_str())),
            PromotionResult::Copied { .. } | PromotionResult::Unchanged => None,
        })
    }

    fn count(&self, is: impl Fn(&PromotionResult) -> bool) -> usize {
        self.results.values().filter(|result| is(result)).count()
    }
}

pub(super) fn fmt(settings: &Settings, paths: &[PathBuf], check: bool) -> Result<ExitStatus, Failure> {
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
            writes: !check,
        })?);
    }
    let globs = settings.only.globs().iter();
    let unmatched: Vec<String> = globs.filter(|glob| !all.matched.contains(*glob)).cloned().collect();
    pass::check_scope(&settings.only, &unmatched)?;
    show_formatted(&all, settings, check)?;
    verdict(&all, check)
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

fn verdict(report: &FormatReport, check: bool) -> Result<ExitStatus, Failure> {
    // A check of nothing must not pass (DESIGN, section 3, *Never green by accident*).
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

/// The files of a starter repository, except for the schema.
const FILES: [(&str, &str); 8] = [
    (".github/CODEOWNERS", include_str!("templates/CODEOWNERS")),
    (".github/workflows/gitoggle.yaml", include_str!("../../deploy/ci/github.yaml")),
    (".pre-commit-config.yaml", include_str!("templates/pre-commit.yaml")),
    (".vscode/settings.json", include_str!("templates/settings.json")),
    ("README.md", include_str!("templates/README.md")),
    ("shop/production/new-homepage.test.yaml", include_str!("templates/new-homepage.test.yaml")),
    ("shop/production/new-homepage.yaml", include_str!("templates/new-homepage.yaml")),
    ("shop/staging/new-homepage.yaml", include_str!("templates/new-homepage.yaml")),
];

/// The beginning of the workflow that others copy.
const COPY: &str = "# Copy this file to .github/workflows/gitoggle.yaml.\n#\n";

pub(super) fn init(settings: &Settings, folder: &Path) -> Result<ExitStatus, Failure> {
    refuse_inside(folder)?;
    let attempt = format!("create `{}`", escaped(&folder.to_string_lossy()));
    std::fs::create_dir_all(folder).map_err(Failure::could_not(attempt))?;
    if top_of(folder).is_none() {
        Sample::create(folder).map_err(Failure::failed)?;
    }
    let schema = serde_json::to_string_pretty(&document::schema(settings.service_kind));
    let schema = schema.map_err(Failure::failed)? + "\n";
    let mut files = FILES
        .map(|(path, text)| {
            // The file is where the others are copied to.
            let text = text.strip_prefix(COPY).unwrap_or(text);
            (path, for_kind(text, settings.service_kind))
        })
        .to_vec();
    files.push((".vscode/gitoggle.schema.json", Cow::from(schema)));
    files.sort_unstable();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, &**text)).collect();
    let mut text = String::new();
    for (path, result) in create_files(folder, &files)? {
        let verb = match result {
            WriteResult::Written => "created",
            WriteResult::Exists => "kept the existing",
        };
        text.push_str(&format!("{verb} {path}\n"));
    }
    print(&text)?;
    let enter = match &*folder.to_string_lossy() {
        "." => String::new(),
        // `cd` would read the name as an option.
        folder if folder.starts_with('-') => format!("  cd {}\n", shell_word(&format!("./{folder}"))),
        folder => format!("  cd {}\n", shell_word(folder)),
    };
    let kind = match settings.service_kind {
        ServiceKind::Documented => String::new(),
        kind => format!(" --service-kind {}", kind.as_str()),
    };
    note(&format!(
        "next:\n{enter}  git add --all\n  git commit -m 'Start with gitoggle'\n  gitoggle validate{kind}\n  gitoggle test{kind}\n  gitoggle plan{kind}\n\
         before the first push, decide about what the service has; the workflow publishes only what a pull request has shown:\n  \
         gitoggle apply{kind} --state-remote origin --first-pass assert   (publish these documents)\n  \
         gitoggle apply{kind} --state-remote origin --first-pass adopt    (the service has them already)\n"
    ))?;
    Ok(ExitStatus::Clean)
}

/// Returns a file with the kind of service in it, wherever it runs the program.
fn for_kind(text: &'static str, kind: ServiceKind) -> Cow<'static, str> {
    if kind == ServiceKind::Documented {
        return Cow::from(text);
    }
    let kind = kind.as_str();
    let of_hook = format!(" --service-kind {kind}\n        language: system");
    let of_readme = format!("Set `GITOGGLE_SERVICE_KIND={kind}` for these commands.\n\n`.github/workflows");
    let text = text.replace(" && vars.GITOGGLE_SERVICE_KIND == 'featureprobe'", "");
    let text = text.replace("${{ vars.GITOGGLE_SERVICE_KIND }}", kind);
    let text = text.replace("\n        language: system", &of_hook);
    let text = text.replace("`.github/workflows", &of_readme);
    Cow::from(text)
}

/// Refuses a folder of an existing repository other than the top of its work tree. Neither the forge nor gitoggle would find
/// the files there.
fn refuse_inside(folder: &Path) -> Result<(), Failure> {
    let shown = folder.to_string_lossy();
    if is_bare(folder) {
        let message = format!("`{}` is a bare repository, which has no files", escaped(&shown));
        return Err(Failure::failed(message).hint("clone it, and run `gitoggle init` in the clone"));
    }
    match top_of(folder).filter(|top| !is_same_folder(folder, top)) {
        None => Ok(()),
        Some(top) => {
            let message = format!(
                "`{}` is inside the repository `{}`",
                escaped(&shown),
                // Without the slash at the end.
                escaped(&top.components().as_path().to_string_lossy())
            );
            Err(Failure::failed(message).hint(
                "run `gitoggle init` in the top folder of the repository, or run `git init` here first for another one",
            ))
        }
    }
}
