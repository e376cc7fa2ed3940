//! Runs processes of the `git` program (src/git/README.md, "The program").
//!
//! Each step is one process on a bare repository of gitoggle, never on the user's: so no configuration, hook,
//! or attribute of a repository that others write is read.
//!
//! A process gets no terminal and no prompt, no variable of gitoggle, and a process group, which ends as a
//! whole: with the process, after the longest time that a step may take, and with gitoggle.

use std::borrow::Cow;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::host_error::{GitError, OLDEST};
use super::process_group::{ProcessGroup, StepKind, is_over};

/// How long a host may be silent during a transfer. ssh asks a silent host every 15 s, three times.
pub(super) const SILENCE: Duration = Duration::from_secs(60);

/// Variables that make `git` use another repository than the one that it is told to use.
const REPOSITORY_VARIABLES: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Returns a command that works on the objects of `repository`, which is one of gitoggle, and reads no
/// configuration but its.
pub(super) fn local(repository: &Path) -> Command {
    let mut command = Command::new("git");
    isolate(&mut command, repository);
    command
        // Whatever is missing is not fetched from the promisor of a partial clone.
        .env("GIT_ALLOW_PROTOCOL", "none")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env_remove("HOME")
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("GIT_CONFIG_COUNT")
        .env_remove("GIT_CONFIG_PARAMETERS")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        // Some versions read the attributes of `HEAD` in a bare repository.
        .args(["-c", "attr.tree=none", "-c", "core.fsync=all", "-c", "core.hooksPath=/dev/null"])
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Sets what each process of Git gets, whatever it does.
pub(super) fn isolate(command: &mut Command, repository: &Path) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GITOGGLE_") {
            command.env_remove(name);
        }
    }
    for name in REPOSITORY_VARIABLES {
        command.env_remove(name);
    }
    command
        .env("GIT_DIR", repository)
        .env("LC_ALL", "C")
        .env("LANGUAGE", "C")
        .env("GIT_TERMINAL_PROMPT", "0");
}

pub(super) struct Output {
    pub(super) is_success: bool,
    /// The exit code; none of a process that a signal ended.
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

impl Output {
    /// Returns what a process that failed said; how it ended, if it said nothing.
    pub(super) fn words(&self) -> Cow<'_, str> {
        match self.code {
            _ if self.stderr.contains(char::is_alphanumeric) => Cow::Borrowed(&self.stderr),
            Some(code) => Cow::Owned(format!("`git` exited with {code}, and said nothing")),
            None => Cow::Borrowed("a signal ended `git`, as when memory runs out"),
        }
    }
}

/// Runs a process without input until it ends, `limit` is over, or gitoggle ends. Errors name its work `on`.
pub(super) fn run(
    command: Command,
    kind: StepKind,
    limit: Duration,
    on: impl Display,
) -> Result<Output, GitError> {
    run_on(Stdio::null(), command, kind, limit, on)
}

/// Runs a process as [`run`], which reads `input`.
pub(super) fn run_on(
    input: Stdio,
    mut command: Command,
    kind: StepKind,
    limit: Duration,
    on: impl Display,
) -> Result<Output, GitError> {
    if is_over(kind) {
        return Err(GitError::Stopped(on.to_string()));
    }
    let mut process = ProcessGroup::start(&mut command, input).map_err(GitError::not_started)?;
    let began = Instant::now();
    let code = loop {
        match process.ended() {
            Some(code) => break code,
            None if is_over(kind) => return Err(GitError::Stopped(on.to_string())),
            None => {}
        }
        if began.elapsed() >= limit {
            return Err(GitError::Unfinished { on: on.to_string(), after: limit });
        }
        // What works on this machine may be silent, such as the check of a first fetch for missing objects. A push sends what was just written, so its silence is that of the host.
        if kind == StepKind::Push && process.silence() >= SILENCE {
            return Err(GitError::TimedOut { url: on.to_string(), after: SILENCE });
        }
    };
    let (stdout, stderr) = process.output();
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    Ok(Output { is_success: code == Some(0), code, stdout, stderr })
}

/// Returns the version of the `git` program. Checked once, but again after an error: a daemon needs no
/// restart.
pub(super) fn version() -> Result<(u32, u32), GitError> {
    static FOUND: OnceLock<(u32, u32)> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return Ok(*found);
    }
    let output =
        Command::new("git").arg("version").stdin(Stdio::null()).output().map_err(GitError::not_started)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let text = text.trim().trim_start_matches("git version ");
    match parsed(text) {
        Some(found) if found >= OLDEST => Ok(*FOUND.get_or_init(|| found)),
        None if !output.status.success() => {
            let why = format!("`git version` ended with {}", output.status);
            Err(GitError::NoGit(io::Error::other(why)))
        }
        _ => Err(GitError::TooOld(text.to_owned())),
    }
}

fn parsed(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(['.', ' ', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_two_numbers_and_a_tail() {
        for (text, version) in [
            ("2.39.5", Some((2, 39))),
            ("2.31.0-rc1", Some((2, 31))),
            ("2.39.5 (Apple Git-154)", Some((2, 39))),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(parsed(text), version, "{text}");
        }
    }
}
