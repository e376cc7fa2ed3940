//! Creates repositories with the `git` program, isolated from the configuration of the user and the machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{CacheMode, Parents, Source, SourceConfig};
use crate::git::{GitAccess, RepoUrl};
use crate::transport::Network;

pub(crate) struct Repo {
    folder: tempfile::TempDir,
}

impl Repo {
    pub(crate) fn new() -> Self {
        let repo = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        repo.git(&["init", "-q", "-b", "main", "."]);
        repo
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn join(&self, path: &str) -> PathBuf {
        self.path().join(path)
    }

    /// Runs git in the work tree, and returns what it prints.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(self.path(), args)
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Commits everything, and returns the commit's id.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn commit_file(&self, path: &str, content: &str) -> String {
        self.write(path, content);
        self.commit(&format!("write {path}"))
    }
}

pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let output = command(folder).args(args).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap());
    command
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "Ann")
            .env(format!("GIT_{who}_EMAIL"), "ann@example.org");
        command.env(format!("GIT_{who}_DATE"), "1700000000 +0000");
    }
    command
}

pub(crate) fn config(location: RepoUrl) -> SourceConfig {
    SourceConfig {
        location,
        reference: None,
        root: String::new(),
        first_parent: Parents::All,
        access: GitAccess {
            network: Network::default(),
            credentials: None,
            timeout: std::time::Duration::from_secs(20),
            client: None,
        },
        cache: None,
        mode: CacheMode::Keep,
    }
}

pub(crate) fn source(path: &Path) -> Source {
    Source::new(config(RepoUrl::local(path)))
}

pub(crate) fn source_at(path: &Path, reference: &str) -> Source {
    Source::new(SourceConfig {
        reference: Some(reference.to_owned()),
        ..config(RepoUrl::local(path))
    })
}
