//! A release as the workflow makes it, in a folder or behind HTTPS, and a machine to install it on.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Job, here, yaml};
use crate::support::answer::Answer;
use crate::support::certificate::Authority;
use crate::support::files;
use crate::support::{Request, Service};

pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A folder that has the files of one release in `vVERSION`.
pub(super) struct Mirror {
    folder: tempfile::TempDir,
}

/// Writes a program.
pub(super) fn program(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    files::program(path, &format!("#!/bin/sh\n{script}\n"));
}

/// Writes a small program that runs the one under test, because packing that takes seconds.
pub(super) fn built(path: &Path) {
    program(path, &format!("exec '{}' \"$@\"", env!("CARGO_BIN_EXE_gitoggle")));
}

/// Returns the step of a job in a workflow that has this name.
pub(super) fn step(workflow: &str, job: &str, name: &str) -> serde_json::Value {
    let workflow = yaml(workflow);
    let steps = workflow["jobs"][job]["steps"].as_array().unwrap().iter();
    let mut found = steps.filter(|step| step["name"] == name);
    found.next().unwrap_or_else(|| panic!("{job}: {name}")).clone()
}

/// Returns the targets that a release has archives for.
pub(super) fn targets() -> Vec<String> {
    let workflow = yaml(".github/workflows/release.yaml");
    let matrix = &workflow["jobs"]["archive"]["strategy"]["matrix"]["include"];
    let all = matrix.as_array().unwrap().iter();
    all.map(|row| row["target"].as_str().unwrap().to_owned()).collect()
}

impl Mirror {
    /// Packs a release for all targets.
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mirror = Self { folder };
        let program = mirror.folder.path().join("gitoggle");
        built(&program);
        let release = mirror.release();
        for target in targets() {
            let mut package = Command::new(here(".ci/package"));
            package.arg(&program).arg(target).arg(&release);
            Job::of(package.env("SOURCE_DATE_EPOCH", "0")).exits(0, &[]);
        }
        mirror.publish();
        mirror
    }

    /// Adds what the workflow adds to the archives.
    fn publish(&self) {
        let work = self.folder.path().join("work");
        std::fs::create_dir_all(work.join("deploy/ci")).unwrap();
        std::fs::copy(here("deploy/ci/install.sh"), work.join("deploy/ci/install.sh")).unwrap();
        std::os::unix::fs::symlink(self.release(), work.join("dist")).unwrap();
        let step = step(".github/workflows/release.yaml", "publish", "Add the installer and the checksums");
        let mut shell = Command::new("bash");
        shell.args(["-e", "-o", "pipefail", "-c", step["run"].as_str().unwrap()]);
        Job::of(shell.current_dir(work)).exits(0, &[]);
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the folder of the release.
    pub(super) fn release(&self) -> PathBuf {
        self.folder.path().join(format!("v{VERSION}"))
    }

    pub(super) fn archive(&self, target: &str) -> PathBuf {
        self.release().join(format!("gitoggle-{VERSION}-{target}.tar.gz"))
    }

    /// Returns the digest that SHA256SUMS has for the archive.
    pub(super) fn digest(&self, target: &str) -> String {
        let sums = std::fs::read_to_string(self.release().join("SHA256SUMS")).unwrap();
        let name = format!("gitoggle-{VERSION}-{target}.tar.gz");
        let line = sums.lines().find(|line| line.ends_with(&name)).unwrap();
        line.split(' ').next().unwrap().to_owned()
    }

    /// Serves the files over HTTPS.
    pub(super) fn serve(&self) -> Service {
        let service = Service::start();
        let root = self.folder.path().to_owned();
        service.always(move |request: &Request| {
            match std::fs::read(root.join(request.path.trim_start_matches('/'))) {
                Ok(bytes) => Answer::status(200).bytes(bytes),
                Err(_) => Answer::status(404),
            }
        });
        service
    }
}

/// A machine with few programs.
pub(super) struct Machine {
    folder: tempfile::TempDir,
}

/// What the installer needs besides a program that downloads.
const TOOLS: [&str; 15] = [
    "awk",
    "cat",
    "chmod",
    "cp",
    "cut",
    "gzip",
    "mkdir",
    "mktemp",
    "mv",
    "rm",
    "sed",
    "sh",
    "sha256sum",
    "tar",
    "uname",
];

impl Machine {
    /// Makes an x86-64 Linux with curl.
    pub(super) fn new() -> Self {
        Self::with(&["curl"])
    }

    pub(super) fn with(tools: &[&str]) -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        let tools = TOOLS.iter().chain(tools);
        let places: Vec<PathBuf> = std::env::split_paths(&std::env::var("PATH").unwrap()).collect();
        std::fs::create_dir(machine.path("tools")).unwrap();
        for tool in tools {
            let found = places.iter().map(|place| place.join(tool)).find(|path| path.exists());
            let found = found.unwrap_or_else(|| panic!("{tool} is not installed"));
            std::os::unix::fs::symlink(found, machine.path("tools").join(tool)).unwrap();
        }
        std::fs::write(machine.path("ca.pem"), Authority::trusted().pem()).unwrap();
        let certificates = format!("ca_certificate = {}\n", machine.path("ca.pem").display());
        std::fs::write(machine.path("wgetrc"), certificates).unwrap();
        machine.is("Linux", "x86_64");
        machine
    }

    /// Changes what `uname` prints.
    pub(super) fn is(&self, system: &str, processor: &str) {
        let uname = self.path("tools/uname");
        std::fs::remove_file(&uname).unwrap();
        program(&uname, &format!("case $1 in -m) echo {processor} ;; -s) echo {system} ;; esac"));
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.path("tools").join(program));
        command
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", self.path("tools"))
            .env("HOME", self.path("home"))
            .env("CURL_CA_BUNDLE", self.path("ca.pem"))
            .env("WGETRC", self.path("wgetrc"));
        command
    }

    /// Runs the installer.
    pub(super) fn install(&self, typed: &[&str]) -> Job {
        let mut command = self.command("sh");
        Job::of(command.arg(here("deploy/ci/install.sh")).args(typed))
    }

    /// Returns what the installed program reports as its version.
    pub(super) fn installed(&self) -> Option<String> {
        let program = self.path("home/.local/bin/gitoggle");
        let output = Command::new(program).arg("--version").output().ok()?;
        Some(String::from_utf8(output.stdout).unwrap())
    }
}

/// Returns the paths that were requested since the last call.
pub(super) fn requested(service: &Service) -> Vec<String> {
    service.take().into_iter().map(|request| request.path).collect()
}
