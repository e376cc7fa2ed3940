//! Creates repositories with the `git` program.

use std::path::{Path, PathBuf};

use super::{CacheMode, Parents, Source, SourceConfig};
pub(crate) use crate::git::testing::{command, git};
use crate::git::{GitAccess, RepoUrl, UserConfig};
use crate::model::Thresholds;
use crate::transport::Network;

pub(crate) struct Repo {
    folder: tempfile::TempDir,
}

impl Repo {
    pub(crate) fn new() -> Self {
        let repo = Self { folder: tempfile::tempdir().unwrap() };
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

pub(crate) fn config(location: RepoUrl) -> SourceConfig {
    SourceConfig {
        location,
        reference: None,
        root: String::new(),
        parents: Parents::All,
        access: GitAccess {
            network: Network::default(),
            credentials: None,
            timeout: std::time::Duration::from_secs(20),
            user_config: UserConfig::Ignored,
        },
        cache: None,
        mode: CacheMode::Keep,
        thresholds: Thresholds::default(),
    }
}

pub(crate) fn source(path: &Path) -> Source {
    Source::new(config(RepoUrl::local(path)))
}

pub(crate) fn source_at(path: &Path, reference: &str) -> Source {
    Source::new(SourceConfig { reference: Some(reference.to_owned()), ..config(RepoUrl::local(path)) })
}
