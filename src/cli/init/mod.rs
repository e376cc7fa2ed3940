//! `gitoggle init`: creates a starter repository.

use std::path::Path;

use super::commands::word;
use super::failure::{ExitStatus, Failure};
use super::{note, print, show};
use crate::config::Settings;
use crate::document;
use crate::model::escaped;
use crate::pass::authoring::{NewFile, create_files};
use crate::source::sample::Sample;
use crate::source::worktree::top_of;

/// The files of a starter repository, except for the schema.
const FILES: [(&str, &str); 8] = [
    (".github/CODEOWNERS", include_str!("templates/CODEOWNERS")),
    (
        ".github/workflows/gitoggle.yaml",
        include_str!("../../../deploy/ci/github.yaml"),
    ),
    (
        ".pre-commit-config.yaml",
        include_str!("templates/pre-commit.yaml"),
    ),
    (".vscode/settings.json", include_str!("templates/settings.json")),
    ("README.md", include_str!("templates/README.md")),
    (
        "shop/production/new-homepage.test.yaml",
        include_str!("templates/new-homepage.test.yaml"),
    ),
    (
        "shop/production/new-homepage.yaml",
        include_str!("templates/new-homepage.yaml"),
    ),
    (
        "shop/staging/new-homepage.yaml",
        include_str!("templates/new-homepage.yaml"),
    ),
];

pub(super) fn run(settings: &Settings, folder: &Path) -> Result<ExitStatus, Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        let what = format!("could not create `{}`", escaped(&folder.to_string_lossy()));
        Failure::failed(show::FailedAttempt::new(what, error))
    })?;
    if top_of(folder).is_none() {
        Sample::create(folder).map_err(Failure::failed)?;
    }
    let schema = serde_json::to_string_pretty(&document::schema(settings.service_kind));
    let schema = schema.map_err(Failure::failed)? + "\n";
    let mut files = FILES.to_vec();
    files.push((".vscode/gitoggle.schema.json", &schema));
    files.sort_unstable();
    let mut text = String::new();
    for (path, result) in create_files(folder, &files)? {
        let verb = match result {
            NewFile::Created => "created",
            NewFile::Kept => "kept the existing",
        };
        text.push_str(&format!("{verb} {path}\n"));
    }
    print(&text)?;
    let enter = match folder.as_os_str() == "." {
        true => String::new(),
        false => format!("  cd {}\n", word(&folder.to_string_lossy())),
    };
    note(&format!(
        "next:\n{enter}  git add --all\n  git commit -m 'Start with gitoggle'\n  gitoggle validate\n  gitoggle test\n  gitoggle plan\n"
    ))?;
    Ok(ExitStatus::Clean)
}
