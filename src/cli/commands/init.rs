//! `gitoggle init`: creates a starter repository.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::authoring::{WriteResult, create_files};
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::{note, print};
use crate::config::Settings;
use crate::document::{self, Layout};
use crate::git::Sample;
use crate::model::{Sdks, ServiceKind, command_line, escaped, listed, shell_word};
use crate::source::worktree::{is_bare, is_same_folder, top_of};

/// Create a starter repository
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Creates a repository with one toggle, its test, editor settings, a CI workflow, a CODEOWNERS \
                  skeleton and a pre-commit configuration. Replaces no file, and commits nothing."
)]
pub(crate) struct InitArgs {
    /// Create the repository in this folder [.]
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,
}

/// The files of a starter repository, except for the schemas.
const FILES: [(&str, &str); 8] = [
    (".github/CODEOWNERS", include_str!("templates/CODEOWNERS")),
    (".github/workflows/gitoggle.yaml", include_str!("../../../deploy/ci/github.yaml")),
    (".pre-commit-config.yaml", include_str!("templates/pre-commit.yaml")),
    (".vscode/settings.json", include_str!("templates/settings.json")),
    ("README.md", include_str!("templates/README.md")),
    ("shop/production/new-homepage.test.yaml", include_str!("templates/new-homepage.test.yaml")),
    ("shop/production/new-homepage.yaml", include_str!("templates/new-homepage.yaml")),
    ("shop/staging/new-homepage.yaml", include_str!("templates/new-homepage.yaml")),
];

/// The documents among them, with the other extension.
const OTHERS: [&str; 2] = ["shop/production/new-homepage.yml", "shop/staging/new-homepage.yml"];

/// The beginning of the workflow that others copy.
const COPY: &str = "# Copy this file to .github/workflows/gitoggle.yaml.\n#\n";

pub(super) fn run(settings: &Settings, args: &InitArgs) -> Result<ExitStatus, Failure> {
    let folder = args.folder.as_path();
    refuse_other_places(settings)?;
    refuse_inside(folder)?;
    let attempt = format!("create `{}`", escaped(&folder.to_string_lossy()));
    std::fs::create_dir_all(folder).map_err(Failure::could_not(attempt))?;
    if top_of(folder).is_none() {
        Sample::create(folder).map_err(Failure::failed)?;
    }
    let mut text = String::new();
    let files = files(settings)?;
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (present(folder, path), &**text)).collect();
    for (path, result) in create_files(folder, &files)? {
        let verb = match result {
            WriteResult::Written => "created",
            WriteResult::Exists => "kept the existing",
        };
        text.push_str(&format!("{verb} {path}\n"));
    }
    print(&text)?;
    note(&next_steps(folder, settings.service_kind))?;
    Ok(ExitStatus::Clean)
}

/// Returns the files to create, sorted by path: paths with their contents.
fn files(settings: &Settings) -> Result<Vec<(&'static str, Cow<'static, str>)>, Failure> {
    let schema = |schema| {
        let text = serde_json::to_string_pretty(&schema).map_err(Failure::failed)?;
        Ok::<_, Failure>(Cow::from(text + "\n"))
    };
    let fixed = FILES.into_iter().map(|(path, text)| {
        // The file is where the others are copied to.
        let text = text.strip_prefix(COPY).unwrap_or(text);
        (path, with_choices(text, settings))
    });
    let mut files: Vec<_> = fixed.collect();
    files.push((".vscode/gitoggle.schema.json", schema(document::schema(settings.service_kind))?));
    files.push((".vscode/gitoggle.test.schema.json", schema(document::test_schema())?));
    files.sort_unstable();
    Ok(files)
}

/// Returns the commands from the starter repository to the first publish.
fn next_steps(folder: &Path, kind: ServiceKind) -> String {
    let enter = match &*folder.to_string_lossy() {
        "." => String::new(),
        // `cd` would read the name as an option.
        folder if folder.starts_with('-') => format!("  cd {}\n", shell_word(&format!("./{folder}"))),
        folder => format!("  cd {}\n", shell_word(folder)),
    };
    let kind = match kind == ServiceKind::default() {
        true => String::new(),
        false => format!(" --service-kind {}", kind.as_str()),
    };
    let then = |verb: &str, words: &str| command_line(&format!("gitoggle {verb}{kind}{words}"));
    format!(
        "next:\n{enter}  git add --all\n  git commit -m 'Start with gitoggle'\n  {}\n  {}\n  {}\n\
         before the first push, decide about what the service has; the workflow publishes only what a pull request has shown:\n  \
         {}   # publish these documents\n  \
         {}    # the service has them already\n\
         to have the first publish reviewed as well, do this instead, from an empty repository on the forge:\n  \
         1. create the secret and the variables that .github/workflows/gitoggle.yaml names\n  \
         2. git add .github && git commit -m 'Add the workflow [skip ci]' && git push -u origin main\n  \
         3. git checkout -b first && git add --all && git commit -m 'Add the first toggles' -m 'Gitoggle-First-Pass: assert'   # adopt: the service has them already\n  \
         4. git push -u origin first, and open a pull request: its comment shows what the merge will publish\n  \
         5. merge it with a merge commit; a squash merge drops the trailer, unless the message of its commit has it\n  \
         6. the job for main publishes the documents, and the commit gets the status success\n",
        then("validate", ""),
        then("test", ""),
        then("plan", ""),
        then("apply", " --state-remote origin --first-pass assert"),
        then("apply", " --state-remote origin --first-pass adopt"),
    )
}

/// Returns a file with the kind of service and the SDKs in it, wherever it runs the program.
fn with_choices(text: &'static str, settings: &Settings) -> Cow<'static, str> {
    let kind = Some(settings.service_kind).filter(|kind| *kind != ServiceKind::default());
    let sdks = Some(settings.sdks).filter(|sdks| *sdks != Sdks::default()).map(|sdks| sdks.to_string());
    let mut text = Cow::from(text);
    if let Some(kind) = kind.filter(|kind| kind.can().read_live) {
        // The job for drift asks for a kind that can be read, at the end of its condition.
        let asked = format!(" && vars.GITOGGLE_SERVICE_KIND == '{}'", kind.as_str());
        text = text.replace(&asked, "").into();
    }
    let kind = kind.map(|kind| ("--service-kind", "GITOGGLE_SERVICE_KIND", kind.as_str().to_owned()));
    let sdks = sdks.map(|sdks| ("--sdks", "GITOGGLE_SDKS", sdks));
    let choices: Vec<(&str, &str, String)> = kind.into_iter().chain(sdks).collect();
    if choices.is_empty() {
        return text;
    }
    let of = |one: &dyn Fn(&(&str, &str, String)) -> String| choices.iter().map(one).collect::<Vec<_>>();
    let flags = of(&|(flag, _, value)| format!(" {flag} {}", shell_word(value))).concat();
    let lines = of(&|(_, name, value)| format!("  {name}: {value}\n")).concat();
    let words = of(&|(_, name, value)| format!("`{name}={}`", shell_word(value)));
    let words = format!("Set {} for these commands.\n\n`.github/workflows", listed(&words));
    let line = "  GITOGGLE_SERVICE_KIND: ${{ vars.GITOGGLE_SERVICE_KIND }}\n";
    let kept = if lines.contains("GITOGGLE_SERVICE_KIND") { "" } else { line };
    text.replace(line, &format!("{kept}{lines}"))
        .replace("\n        language: system", &format!("{flags}\n        language: system"))
        .replace("`.github/workflows", &words)
        .into()
}

/// Returns the path of a document that is there with the other extension, or else `path`.
fn present(folder: &Path, path: &'static str) -> &'static str {
    let other = path
        .strip_suffix(".yaml")
        .and_then(|stem| OTHERS.iter().find(|one| one.strip_suffix(".yml") == Some(stem)));
    other.copied().filter(|other| folder.join(other).exists()).unwrap_or(path)
}

/// Refuses settings for which the starter documents would be in the wrong places.
fn refuse_other_places(settings: &Settings) -> Result<(), Failure> {
    if settings.root.is_empty() && settings.layout == Layout::default() {
        return Ok(());
    }
    let message = format!("`init` creates documents at `{}` of the repository alone", Layout::default());
    Err(Failure::new(ExitStatus::Usage, message)
        .hint("run it without `root` and `layout`, and move the documents afterwards"))
}

/// Refuses a folder of an existing repository other than the top of its work tree. Neither the forge nor
/// gitoggle would find the files there.
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
