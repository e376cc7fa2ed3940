//! The TLS service of the black-box tests, for the unit tests of the clients, and the `git` program.

#[allow(dead_code, reason = "shared with tests/it, which uses the rest")]
#[path = "../../tests/it/support/answer.rs"]
mod answer;
#[allow(dead_code, reason = "shared with tests/it, which uses the rest")]
#[path = "../../tests/it/support/certificate.rs"]
mod certificate;
#[allow(dead_code, reason = "shared with tests/it, which uses the rest")]
#[path = "../../tests/it/support/git_host.rs"]
mod git_host;
#[allow(dead_code, reason = "shared with tests/it, which uses the rest")]
#[path = "../../tests/it/support/request.rs"]
mod request;
#[allow(dead_code, reason = "shared with tests/it, which uses the rest")]
#[path = "../../tests/it/support/service.rs"]
mod service;
#[path = "../../tests/it/support/wait.rs"]
mod wait;

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) use self::answer::Answer;
pub(crate) use self::certificate::Authority;
pub(crate) use self::git_host::Door;
pub(crate) use self::request::Request;
use self::service::Service;
use self::wait::eventually;

/// A service on loopback, and the certificate of its authority in a file.
pub(crate) struct Server {
    service: Service,
    folder: tempfile::TempDir,
}

impl Server {
    /// Starts a service that gives these answers, and the last one from then on.
    pub(crate) fn answering(answers: impl IntoIterator<Item = Answer>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), Authority::trusted().pem()).unwrap();
        let service = Service::start();
        let answers: Vec<Answer> = answers.into_iter().collect();
        if let Some(last) = answers.last().cloned() {
            service.always(move |_| last.clone());
        }
        service.answers(answers);
        Self { service, folder }
    }

    /// Starts `git http-backend` for the repositories in `root`.
    pub(crate) fn git(root: &Path, door: Door) -> Self {
        let server = Self::answering([]);
        let root = root.to_owned();
        server.service.always(move |request| git_host::answer(&root, &door, request));
        server
    }

    pub(crate) fn ca_file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.service.port())
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{}/{path}", self.host())
    }

    /// Returns the requests since the last call.
    pub(crate) fn take(&self) -> Vec<Request> {
        self.service.take()
    }

    /// Returns the requests since the last call, as `METHOD /path?query`.
    pub(crate) fn take_requests(&self) -> Vec<String> {
        let requests = self.take();
        let lines = requests.iter().map(|request| format!("{} {}", request.method, request.path));
        lines.collect()
    }
}

/// Runs git, isolated from the configuration of the user and the machine. Returns what it prints, without
/// white space at its end.
pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let output = command(folder).args(args).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Returns a command of git, as [`git`] runs it.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = git_host::git();
    command.current_dir(folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("HOME", folder).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Ann").env(format!("GIT_{who}_EMAIL"), "ann@example.org");
        command.env(format!("GIT_{who}_DATE"), "1700000000 +0000");
    }
    command
}
