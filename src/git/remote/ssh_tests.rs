//! Git over ssh: what is run, and what comes of it with a true `sshd` where there is one.

use std::ffi::OsStr;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::ssh::{Environment, command, quoted};
use super::*;
use crate::transport::Network;

fn access(timeout: Duration) -> GitAccess {
    GitAccess {
        network: Network::default(),
        credentials: None,
        timeout,
        client: None,
    }
}

fn with_command(line: impl Into<std::ffi::OsString>) -> Environment {
    Environment {
        command: Some(line.into()),
        ..Environment::default()
    }
}

fn ask(url: &str, environment: Environment) -> Result<Vec<Advertised>, GitError> {
    advertised_in(
        &url.parse().unwrap(),
        &access(Duration::from_secs(20)),
        environment,
        &[],
    )
}

#[test]
fn ssh_is_run_strictly_and_without_prompts_or_our_variables() {
    let environment = Environment {
        own: vec!["GITOGGLE_TOKEN".into()],
        ..Environment::default()
    };
    let url: RepoUrl = "ssh://git@example.org:2222/it's/a!".parse().unwrap();
    let (command, name) = command(
        &environment,
        url.ssh().unwrap(),
        "git-upload-pack",
        Duration::from_secs(7),
    );
    assert_eq!((command.get_program(), name.as_str()), (OsStr::new("ssh"), "ssh"));
    let args: Vec<_> = command.get_args().map(|arg| arg.to_str().unwrap()).collect();
    assert_eq!(
        args.join(" "),
        "-o BatchMode=yes -o StrictHostKeyChecking=yes -o ServerAliveInterval=15 -o ConnectTimeout=7 -p 2222 \
         git@example.org git-upload-pack '/it'\\''s/a'\\!''"
    );
    assert!(
        command
            .get_envs()
            .any(|pair| pair == (OsStr::new("GITOGGLE_TOKEN"), None))
    );
}

#[test]
fn the_command_wins_over_the_program() {
    let url: RepoUrl = "example.org:a".parse().unwrap();
    let run = |environment: &Environment| {
        let (command, name) = command(
            environment,
            url.ssh().unwrap(),
            "git-upload-pack",
            Duration::from_secs(1),
        );
        (command.get_program().to_str().unwrap().to_owned(), name)
    };
    let mut environment = Environment {
        program: Some("/opt/ssh".into()),
        ..Environment::default()
    };
    assert_eq!(run(&environment), ("/opt/ssh".to_owned(), "/opt/ssh".to_owned()));
    environment.command = Some("ssh -i key".into());
    assert_eq!(run(&environment), ("sh".to_owned(), "ssh -i key".to_owned()));
}

#[test]
fn what_is_quoted_comes_out_of_a_shell_as_it_was() {
    for path in ["/plain", "it's", "$(touch x)`y`", "a b\\", "!!", "'; rm -rf x; '"] {
        let echo = format!("printf %s {}", quoted(path));
        let output = Command::new("sh").args(["-c", &echo]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), path);
    }
}

#[test]
fn a_missing_program_is_told() {
    let environment = Environment {
        program: Some("/nowhere/ssh".into()),
        ..Environment::default()
    };
    let error = ask("example.org:a", environment).unwrap_err();
    assert!(matches!(error, GitError::NoSsh { .. }), "{error:?}");
    let error = ask("example.org:a", with_command("no-such-ssh-program")).unwrap_err();
    assert!(matches!(error, GitError::NoSsh { .. }), "{error:?}");
}

#[test]
fn what_ssh_says_decides_the_error() {
    for (words, expected) in [
        (
            "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
            "ChangedHostKey",
        ),
        (
            "No ED25519 host key is known for x.\nHost key verification failed.",
            "UnknownHostKey",
        ),
        ("git@x: Permission denied (publickey).", "PermissionDenied"),
        (
            "ERROR: Repository not found.\nfatal: Could not read from remote repository.",
            "NotFound",
        ),
        ("ssh: connect to host x port 22: Connection timed out", "TimedOut"),
        (
            "ssh: Could not resolve hostname x: Name or service not known",
            "Ssh",
        ),
        ("", "Ssh"),
    ] {
        let script = format!("printf '%s\\n' \"{words}\" >&2; exit 255; :");
        let error = format!("{:?}", ask("example.org:a", with_command(script)).unwrap_err());
        assert!(error.starts_with(expected), "{words}: {error}");
    }
}

#[test]
fn the_sentence_of_the_host_is_shown_and_the_hint_has_the_port() {
    let gitea = "error:\nerror: Gitea: Unauthorized: Deploy Key: 1:ci is not authorized to read acme/toggles.\nerror:";
    let script = format!("printf '%s\\n' '{gitea}' >&2; echo; exit 1; :");
    let error = ask(
        "ssh://git@git.example.org:2222/acme/toggles.git",
        with_command(script),
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "ssh to `git.example.org:2222` failed: Gitea: Unauthorized: Deploy Key: 1:ci is not authorized to read \
         acme/toggles."
    );
    assert_eq!(
        error.hint().unwrap(),
        "run `ssh -p 2222 git@git.example.org` as this user to find out more"
    );
}

#[test]
fn a_silent_ssh_is_ended_with_everything_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // The shell stays, and has a child that holds the pipes open. What is read ends when nobody can write any more.
    let script = format!("(sleep 30; echo survived) > {} & wait; :", pipe.display());
    let heard = std::thread::spawn(move || fs::read_to_string(pipe).unwrap());
    let access = access(Duration::from_millis(500));
    let url = "example.org:a".parse().unwrap();
    let error = advertised_in(&url, &access, with_command(script), &[]).unwrap_err();
    assert!(matches!(error, GitError::TimedOut { .. }), "{error:?}");
    assert_eq!(heard.join().unwrap(), "");
}

/// A true server on loopback, for the user that runs the tests.
struct Sshd {
    folder: tempfile::TempDir,
    port: u16,
    child: Child,
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Sshd {
    /// Starts a server; says why not where there is none to be had.
    fn start() -> Option<Self> {
        let program = Path::new("/usr/sbin/sshd");
        if !program.exists() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for key in ["host", "other", "client", "stranger"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(at(key));
            assert!(keygen.status().unwrap().success());
        }
        fs::copy(at("client.pub"), at("authorized")).unwrap();
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nPidFile none\n",
            at("host").display(),
            at("authorized").display()
        );
        fs::write(at("config"), config).unwrap();
        // The folder that a packaged server's unit would make; only root needs it, and only root can.
        let _ = fs::create_dir_all("/run/sshd");
        let mut server = Command::new(program);
        server
            .args(["-D", "-e", "-f"])
            .arg(at("config"))
            .stdin(Stdio::null());
        let child = server
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut own = Self { folder, port, child };
        own.listens().then_some(own)
    }

    /// Waits for the line in which it says that it listens.
    fn listens(&mut self) -> bool {
        use std::io::{BufRead, BufReader};
        let mut lines = BufReader::new(self.child.stderr.take().unwrap()).lines();
        let listens = lines
            .by_ref()
            .map_while(Result::ok)
            .any(|line| line.contains("Server listening"));
        // Keeps reading, so that it never waits for us.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        listens
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// An ssh that knows `known` as the host's key and has `key` as its own.
    fn ssh(&self, known: Option<&str>, key: &str) -> Environment {
        let line = known.map_or_else(String::new, |known| {
            let key = fs::read_to_string(self.at(&format!("{known}.pub"))).unwrap();
            format!("[127.0.0.1]:{} {key}", self.port)
        });
        fs::write(self.at("known"), line).unwrap();
        with_command(format!(
            "ssh -F none -o IdentitiesOnly=yes -o IdentityAgent=none -o GlobalKnownHostsFile=none \
             -o UserKnownHostsFile={} -i {}",
            self.at("known").display(),
            self.at(key).display()
        ))
    }

    fn url(&self, path: &Path) -> String {
        format!("ssh://127.0.0.1:{}{}", self.port, path.display())
    }
}

#[test]
fn a_true_server_is_fetched_from_and_pushed_to_and_its_refusals_are_told_apart() {
    let Some(server) = Sshd::start() else {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: no sshd can be started here");
        return;
    };
    libgit2().unwrap();
    let path = server.at("it's a repo");
    let served = git2::Repository::init_bare(&path).unwrap();
    let tree = served
        .find_tree(served.treebuilder(None).unwrap().write().unwrap())
        .unwrap();
    let who = git2::Signature::new("Ann", "ann@example.org", &git2::Time::new(1_700_000_000, 0)).unwrap();
    let id = served
        .commit(Some("refs/heads/main"), &who, &who, "x", &tree, &[])
        .unwrap();
    let url = server.url(&path);

    let refs = ask(&url, server.ssh(Some("host"), "client")).unwrap();
    assert!(
        refs.iter()
            .any(|found| found.name == "refs/heads/main" && found.id.to_string() == id.to_string())
    );
    let own = git2::Repository::init_bare(server.at("own")).unwrap();
    let remote = |work: &mut dyn FnMut(&mut git2::Remote<'_>) -> Result<(), git2::Error>| {
        let environment = server.ssh(Some("host"), "client");
        let access = access(Duration::from_secs(20));
        with_remote_in(&own, &url.parse().unwrap(), &access, environment, |remote| {
            work(remote)
        })
    };
    remote(&mut |remote| remote.fetch(&["+refs/heads/main:refs/x"], None, None)).unwrap();
    assert_eq!(own.refname_to_id("refs/x").unwrap(), id);
    remote(&mut |remote| remote.push(&["refs/x:refs/heads/pushed"], None)).unwrap();
    assert_eq!(served.refname_to_id("refs/heads/pushed").unwrap(), id);

    let nowhere = server.url(&server.at("nowhere"));
    for (url, known, key, expected) in [
        (&url, None, "client", "UnknownHostKey"),
        (&url, Some("other"), "client", "ChangedHostKey"),
        (&url, Some("host"), "stranger", "PermissionDenied"),
        (&nowhere, Some("host"), "client", "NotFound"),
    ] {
        let error = format!("{:?}", ask(url, server.ssh(known, key)).unwrap_err());
        assert!(error.starts_with(expected), "{expected}: {error}");
    }
}
