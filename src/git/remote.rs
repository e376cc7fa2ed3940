//! Lists, fetches and pushes the refs of a remote, with the `git` program (src/git/README.md, "The program").
//!
//! What the network needs (credential helpers, `~/.ssh/config`, agents, proxies, `insteadOf`) is Git's own
//! business. A process uses only the protocols `https`, `ssh`, and `file`.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use super::host_error::{GitError, GitFailure, GitFault};
use super::process::{Output, SILENCE, isolate, run, version};
use super::process_group::{StepKind, lock};
use super::repository::remove_unfinished;
use super::temporary_folder::TemporaryFolder;
use super::url::{CredentialServer, UserConfig};
use super::words::GitWords;
use super::{GitAccess, RepoUrl};
use crate::model::{CommitId, ObjectId, escaped};
use crate::transport::Secret;

/// The name of a bundle of trusted certificates in its folder.
const AUTHORITIES: &str = "authorities.pem";

/// A ref that a remote advertises.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Advertised {
    /// The full name or `HEAD`; the name of a peeled tag ends in `^{}`.
    pub(crate) name: String,
    pub(crate) id: ObjectId,
    /// The target of a symbolic ref.
    pub(crate) target: Option<String>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum PushVerdict {
    Done,
    /// The reason, and what the host said, as escaped text.
    Rejected(String),
}

/// Lists the refs of `url`: all, or those of `kinds`, such as `--tags`.
pub(crate) fn ls_remote(
    url: &RepoUrl,
    access: &GitAccess,
    kinds: &[&str],
) -> Result<Vec<Advertised>, GitError> {
    let step = Step::new(url, access, Path::new("/dev/null"))?;
    let mut command = step.command();
    command
        .args(["ls-remote", "--symref"])
        .args(kinds)
        .args(step.upload_pack())
        .arg("--")
        .arg(step.address());
    let output = step.checked(command, StepKind::Read)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut refs: Vec<Advertised> = Vec::new();
    let mut target = None;
    for (value, name) in text.lines().filter_map(|line| line.split_once('\t')) {
        if let Some(branch) = value.strip_prefix("ref: ") {
            target = Some((name.to_owned(), branch.to_owned()));
        } else if let Ok(id) = value.parse() {
            let of_this = target.take().filter(|(symbolic, _)| symbolic == name);
            refs.push(Advertised { name: name.to_owned(), id, target: of_this.map(|(_, branch)| branch) });
        }
    }
    Ok(refs)
}

/// Fetches `refspecs` into the bare `repository`, which no other process writes meanwhile. With a wildcard in
/// them, removes the refs that `url` no longer has.
pub(crate) fn fetch(
    repository: &Path,
    url: &RepoUrl,
    access: &GitAccess,
    refspecs: &[impl AsRef<OsStr>],
) -> Result<(), GitError> {
    // Nothing reads `FETCH_HEAD` of the repository.
    fetch_with(repository, url, access, refspecs, "--no-write-fetch-head")
}

/// Fetches as [`fetch`]. Returns the full name of the ref that each of `refspecs` names.
pub(crate) fn fetch_named(
    repository: &Path,
    url: &RepoUrl,
    access: &GitAccess,
    refspecs: &[impl AsRef<OsStr>],
) -> Result<Vec<String>, GitError> {
    fetch_with(repository, url, access, refspecs, "--write-fetch-head")?;
    let text = fs::read(repository.join("FETCH_HEAD"));
    let text = text.map_err(|source| GitError::Io { doing: "read `FETCH_HEAD`", source })?;
    // `ID \t not-for-merge \t branch 'NAME' of URL`, with another kind or none for other refs.
    let full_name = |line: &str| {
        let (kind, rest) = line.rsplit('\t').next()?.split_once('\'')?;
        let (name, _) = rest.rsplit_once("' of ")?;
        let prefix = match kind.trim_end() {
            "branch" => "refs/heads/",
            "tag" => "refs/tags/",
            "remote-tracking branch" => "refs/remotes/",
            _ => "",
        };
        Some(format!("{prefix}{name}"))
    };
    Ok(String::from_utf8_lossy(&text).lines().filter_map(full_name).collect())
}

fn fetch_with(
    repository: &Path,
    url: &RepoUrl,
    access: &GitAccess,
    refspecs: &[impl AsRef<OsStr>],
    head: &str,
) -> Result<(), GitError> {
    let step = Step::new(url, access, repository)?;
    let mut command = step.command();
    // A fetch that broke off leaves its pack, and nothing else removes it.
    remove_unfinished(repository);
    // Only the requested refs are fetched.
    command.args(["fetch", head, "--no-tags", "--no-auto-gc", "--no-recurse-submodules"]);
    if refspecs.iter().any(|refspec| refspec.as_ref().as_encoded_bytes().contains(&b'*')) {
        command.arg("--prune");
    }
    command.arg("--progress").args(step.upload_pack()).arg("--").arg(step.address()).args(refspecs);
    let fetched = step.checked(command, StepKind::Read);
    remove_unfinished(repository);
    fetched.map(drop)
}

/// Moves the ref `name` of `url` from `expected`, or from not existing, to `new`, which is in `repository`.
pub(crate) fn push(
    repository: &Path,
    url: &RepoUrl,
    access: &GitAccess,
    name: &str,
    expected: Option<CommitId>,
    new: CommitId,
) -> Result<PushVerdict, GitError> {
    let step = Step::new(url, access, repository)?;
    let old = expected.map_or_else(String::new, |commit| commit.to_string());
    let mut command = step.command();
    command.args(["push", "--porcelain", "--no-verify", "--progress"]);
    command.arg(format!("--force-with-lease={name}:{old}"));
    command.args(step.receive_pack()).arg("--").arg(step.address()).arg(format!("{new}:{name}"));
    let output = step.run(command, StepKind::Push)?;
    let text = String::from_utf8_lossy(&output.stdout);
    // `FLAG \t FROM:TO \t SUMMARY`, as `--porcelain` promises.
    let verdict = text.lines().find_map(|line| {
        let (flag, rest) = line.split_once('\t')?;
        let (refs, summary) = rest.split_once('\t')?;
        refs.ends_with(name).then_some((flag, summary))
    });
    match verdict {
        Some(("!", summary)) => {
            let said = step.kept(GitWords::of_host(&output.stderr));
            Ok(PushVerdict::Rejected(format!("{}{said}", escaped(summary))))
        }
        Some(_) if output.is_success => Ok(PushVerdict::Done),
        _ => Err(step.failed(&output.words())),
    }
}

/// What the processes of one step share.
struct Step<'a> {
    url: &'a RepoUrl,
    access: &'a GitAccess,
    repository: &'a Path,
    version: (u32, u32),
    /// The folder with the bundle of trusted certificates, if there is a CA file.
    authorities: Option<TemporaryFolder>,
    secret: Option<Secret>,
    credentials: Option<CredentialServer>,
}

impl<'a> Step<'a> {
    fn new(url: &'a RepoUrl, access: &'a GitAccess, repository: &'a Path) -> Result<Self, GitError> {
        let version = version()?;
        let login = access.login(url)?;
        let secret = login.as_ref().map(|login| login.password.clone());
        let bundle = if url.https().is_some() { access.network.ca_bundle()? } else { None };
        let mut step =
            Self { url, access, repository, version, secret, authorities: None, credentials: None };
        let failed = |source| GitError::Io { doing: "write a temporary file for `git`", source };
        if let Some(bundle) = bundle {
            let folder = TemporaryFolder::create(None).map_err(failed)?;
            fs::write(folder.path().join(AUTHORITIES), &bundle).map_err(failed)?;
            step.authorities = Some(folder);
        }
        if let Some(login) = login {
            step.credentials = Some(CredentialServer::start(login).map_err(failed)?);
        }
        Ok(step)
    }

    /// Returns the address as an argument. It never begins with `-`.
    fn address(&self) -> OsString {
        match self.url.local_path() {
            Some(path) => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).into(),
            None => self.url.for_git().into(),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        self.isolate(&mut command);
        self.configure(&mut command);
        if self.url.is_ssh() {
            command.env("GIT_SSH_COMMAND", self.ssh_command());
            // The options below are those of OpenSSH, whatever the name of the program.
            if std::env::var_os("GIT_SSH_VARIANT").is_none() {
                command.env("GIT_SSH_VARIANT", "ssh");
            }
        }
        command
    }

    /// Sets what each process on the network gets, whatever its address.
    fn isolate(&self, command: &mut Command) {
        isolate(command, self.repository);
        command
            .env("GCM_INTERACTIVE", "never")
            .env("SSH_ASKPASS_REQUIRE", "never")
            .env("GIT_ALLOW_PROTOCOL", "https:ssh:file");
        // A window that asks for a password is a prompt, too. A program that the user named for Git is not.
        if std::env::var_os("GIT_ASKPASS").is_none() {
            command.env("GIT_ASKPASS", "");
        }
        let is_named = std::env::var_os("GIT_CONFIG_GLOBAL").is_some();
        if self.access.user_config == UserConfig::Ignored && !is_named {
            command.env("GIT_CONFIG_GLOBAL", "/dev/null");
            // Older versions do not know that variable.
            if self.version < (2, 32) {
                command.env_remove("HOME").env_remove("XDG_CONFIG_HOME");
            }
        }
    }

    /// Passes configuration by variables, behind that of the user.
    fn configure(&self, command: &mut Command) {
        let silence = SILENCE.as_secs().to_string();
        let mut entries = vec![
            ("core.hooksPath".to_owned(), "/dev/null".to_owned()),
            ("core.fsmonitor".to_owned(), "false".to_owned()),
            ("core.fsync".to_owned(), "all".to_owned()),
            // One pack for each transfer, which this crate merges.
            ("fetch.unpackLimit".to_owned(), "1".to_owned()),
            ("gc.auto".to_owned(), "0".to_owned()),
            ("http.followRedirects".to_owned(), "initial".to_owned()),
            ("http.lowSpeedLimit".to_owned(), "1".to_owned()),
            ("http.lowSpeedTime".to_owned(), silence),
            ("maintenance.auto".to_owned(), "false".to_owned()),
            ("protocol.version".to_owned(), "2".to_owned()),
            ("push.followTags".to_owned(), "false".to_owned()),
            ("push.gpgSign".to_owned(), "false".to_owned()),
        ];
        if let (Some(server), Some(https)) = (&self.credentials, self.url.https()) {
            let key = format!("credential.{}.helper", https.origin().ascii_serialization());
            // An empty value removes the helpers before it.
            entries.extend([(key.clone(), String::new()), (key, server.helper())]);
        } else if let Some(https) = self.url.https().filter(|https| !https.username().is_empty()) {
            // Not an argument, because it may be a token.
            let key = format!("credential.{}.username", https.origin().ascii_serialization());
            entries.push((key, https.username().to_owned()));
        }
        if let Some(folder) = &self.authorities {
            command.env("GIT_SSL_CAINFO", folder.path().join(AUTHORITIES));
        }
        let own = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse().ok());
        let first: usize = own.unwrap_or(0);
        for (number, (key, value)) in (first..).zip(&entries) {
            command
                .env(format!("GIT_CONFIG_KEY_{number}"), key)
                .env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        command.env("GIT_CONFIG_COUNT", (first + entries.len()).to_string());
    }

    /// Returns the user's ssh command with our options, which come last: ssh uses the first value of an
    /// option.
    fn ssh_command(&self) -> OsString {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let mut line = set("GIT_SSH_COMMAND")
            .or_else(|| set("GIT_SSH").map(|program| quoted(&program)))
            .or_else(|| self.configured("core.sshCommand"))
            .unwrap_or_else(|| "ssh".into());
        let seconds = self.access.network.connect_timeout.as_secs().max(1);
        // A daemon cannot answer prompts, and only a person may decide to trust a new host key
        // (src/git/README.md, "The program").
        line.push(format!(
            " -o BatchMode=yes -o StrictHostKeyChecking=yes -o ServerAliveInterval=15 -o ConnectTimeout={seconds}"
        ));
        line
    }

    /// Returns a value of Git's configuration.
    fn configured(&self, key: &str) -> Option<OsString> {
        let mut command = Command::new("git");
        self.isolate(&mut command);
        command.args(["config", "--get", key]);
        let output = self.run(command, StepKind::Read).ok()?;
        let value = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.is_success && !value.is_empty()).then(|| value.into())
    }

    /// Returns the argument that runs `upload-pack` of a repository at a path without its configuration.
    fn upload_pack(&self) -> Option<String> {
        self.at_path("upload-pack")
    }

    fn receive_pack(&self) -> Option<String> {
        self.at_path("receive-pack")
    }

    /// Nothing of what a repository at a path configures is executed (src/git/README.md, "The program"), and
    /// it may belong to another user.
    fn at_path(&self, program: &str) -> Option<String> {
        self.url.local_path()?;
        // A garbage collection would ask `gc.recentObjectsHook`, which has no value that turns it off.
        let settings = [
            "core.alternateRefsCommand=true",
            "core.fsmonitor=false",
            "core.fsync=all",
            "core.hooksPath=/dev/null",
            "receive.autogc=false",
            "safe.directory=*",
        ];
        Some(format!("--{program}=git -c {} {program}", settings.join(" -c ")))
    }

    /// Runs a process that must succeed.
    fn checked(&self, command: Command, kind: StepKind) -> Result<Output, GitError> {
        let output = self.run(command, kind)?;
        if output.is_success { Ok(output) } else { Err(self.failed(&output.words())) }
    }

    fn failed(&self, stderr: &str) -> GitError {
        GitError::Failed(Box::new(GitFailure {
            url: self.url.clone(),
            fault: GitFault::of(stderr),
            ca_file: self.access.network.ca_file.clone(),
            words: self.kept(GitWords::of(stderr)),
        }))
    }

    fn kept(&self, words: GitWords) -> GitWords {
        match &self.secret {
            Some(secret) => words.without(secret.expose()),
            None => words,
        }
    }

    fn run(&self, command: Command, kind: StepKind) -> Result<Output, GitError> {
        let output = run(command, kind, self.access.timeout, self.url)?;
        self.note_redirect(&output.stderr);
        Ok(output)
    }

    /// Logs once where a repository has moved to.
    fn note_redirect(&self, stderr: &str) {
        static NOTED: Mutex<BTreeSet<(String, String)>> = Mutex::new(BTreeSet::new());
        let target = stderr.lines().find_map(|line| line.strip_prefix("warning: redirecting to "));
        let Some(to) = target.and_then(|to| to.trim_end_matches('/').parse::<RepoUrl>().ok()) else {
            return;
        };
        if lock(&NOTED).insert((self.url.to_string(), to.to_string())) {
            tracing::warn!(
                name: "repository_moved",
                repository = %self.url,
                to = %to,
                "the repository has moved; following the redirect; update its address in the settings"
            );
        }
    }
}

fn quoted(text: &OsStr) -> OsString {
    format!("'{}'", text.to_string_lossy().replace('\'', r"'\''")).into()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::testing::git;
    use super::*;
    use crate::transport::Network;

    #[test]
    fn a_push_moves_a_ref_only_from_the_commit_that_was_expected() {
        let dir = tempfile::tempdir().unwrap();
        let (own, remote) = (dir.path().join("own"), dir.path().join("remote.git"));
        git(dir.path(), &["init", "--quiet", "own"]);
        git(dir.path(), &["init", "--quiet", "--bare", "remote.git"]);
        let commits = ["a", "b", "c"].map(|message| {
            git(&own, &["commit", "--quiet", "--allow-empty", "--message", message]);
            CommitId(git(&own, &["rev-parse", "HEAD"]).parse().unwrap())
        });
        let access = GitAccess {
            network: Network::default(),
            credentials: None,
            timeout: Duration::from_secs(30),
            user_config: UserConfig::Ignored,
        };
        let url: RepoUrl = remote.to_str().unwrap().parse().unwrap();
        let push = |expected, new| {
            let verdict = push(&own.join(".git"), &url, &access, "refs/x/applied", expected, new).unwrap();
            matches!(verdict, PushVerdict::Done)
        };
        let [a, b, c] = commits;
        assert!(!push(Some(a), b), "the ref does not exist");
        assert!(push(None, a));
        assert!(!push(None, b), "the ref exists");
        assert!(!push(Some(b), c), "the ref is elsewhere");
        assert_eq!(git(&remote, &["rev-parse", "refs/x/applied"]), a.to_string());
        assert!(push(Some(a), b));
        assert!(push(Some(b), a), "the history of the ref is rewritten at times");
    }

    #[test]
    fn a_step_that_takes_too_long_is_ended_with_its_children() {
        // Accepts connections, and says nothing.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let running = || {
            let processes = fs::read_dir("/proc").unwrap().flatten();
            let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
            lines.filter(|line| String::from_utf8_lossy(line).contains(&port.to_string())).count()
        };
        let access = GitAccess {
            network: Network::default(),
            credentials: None,
            timeout: Duration::from_secs(2),
            user_config: UserConfig::Ignored,
        };
        for address in [format!("ssh://127.0.0.1:{port}/a"), format!("https://127.0.0.1:{port}/a")] {
            let url: RepoUrl = address.parse().unwrap();
            let (ended, seen) = std::thread::scope(|scope| {
                let step = scope.spawn(|| ls_remote(&url, &access, &[]));
                let connection = silent.accept().unwrap();
                let seen = running();
                let ended = step.join().unwrap();
                drop(connection);
                (ended, seen)
            });
            assert!(seen >= 2, "git and its child: {seen}");
            assert!(matches!(ended, Err(GitError::Unfinished { .. })), "{ended:?}");
            assert_eq!(running(), 0, "{address}");
        }
    }
}
