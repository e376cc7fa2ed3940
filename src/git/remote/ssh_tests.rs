//! Git over ssh: the command line, and connections to a real `sshd` if one is installed.

use std::ffi::OsStr;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::ssh_command::{Environment, command, quoted};
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

fn lookup(url: &str, environment: Environment) -> Result<Vec<Advertised>, GitError> {
    advertised_in(
        &url.parse().unwrap(),
        &access(Duration::from_secs(20)),
        environment,
        &[],
    )
}

#[test]
fn ssh_runs_without_prompts_and_without_gitoggles_variables() {
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
fn git_ssh_command_overrides_git_ssh() {
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
fn a_shell_reads_a_quoted_path_unchanged() {
    for path in ["/plain", "it's", "$(touch x)`y`", "a b\\", "!!", "'; rm -rf x; '"] {
        let echo = format!("printf %s {}", quoted(path));
        let output = Command::new("sh").args(["-c", &echo]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), path);
    }
}

#[test]
fn a_missing_program_is_a_distinct_error() {
    let environment = Environment {
        program: Some("/nowhere/ssh".into()),
        ..Environment::default()
    };
    let error = lookup("example.org:a", environment).unwrap_err();
    assert!(matches!(error, GitError::NoSsh { .. }), "{error:?}");
    let error = lookup("example.org:a", with_command("no-such-ssh-program")).unwrap_err();
    assert!(matches!(error, GitError::NoSsh { .. }), "{error:?}");
}

#[test]
fn the_output_of_ssh_determines_the_error() {
    for (stderr, expected) in [
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
        ("ssh: connect to host x port 22: Connection timed out", "Ssh"),
        (
            "ssh: Could not resolve hostname x: Name or service not known",
            "Ssh",
        ),
        ("", "Ssh"),
    ] {
        let script = format!("printf '%s\\n' \"{stderr}\" >&2; exit 255; :");
        let error = format!("{:?}", lookup("example.org:a", with_command(script)).unwrap_err());
        assert!(error.starts_with(expected), "{stderr}: {error}");
    }
}

#[test]
fn text_before_the_protocol_is_shown() {
    for (output, shown) in [
        (
            "Welcome to our host\n003f",
            "its output begins with `Welcome to our host` instead of Git's protocol",
        ),
        (
            "HTTP/1.1 400 Bad Request",
            "its output begins with `HTTP/1.1 400 Bad Request` instead of Git's protocol",
        ),
        ("  \n\n", "its output is not Git's protocol"),
    ] {
        let script = format!("printf '%s' '{output}'; exec sleep 60; :");
        let error = lookup("example.org:a", with_command(script)).unwrap_err();
        assert_eq!(error.to_string(), format!("ssh to `example.org` failed: {shown}"));
        assert_eq!(
            error.hint().unwrap(),
            "for details, run `ssh example.org` as this user"
        );
    }
}

#[test]
fn the_error_contains_the_message_of_the_host_and_the_hint_the_port() {
    let gitea = "error:\nerror: Gitea: Unauthorized: Deploy Key: 1:ci is not authorized to read acme/toggles.\nerror:";
    let script = format!("printf '%s\\n' '{gitea}' >&2; echo; exit 1; :");
    let error = lookup(
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
        "for details, run `ssh -p 2222 git@git.example.org` as this user"
    );
}

#[test]
fn a_silent_ssh_is_killed_with_its_child_processes() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // The shell keeps running, with a child that holds the pipes open. The pipe ends when its last writer is gone.
    let script = format!("(sleep 30; echo survived) > {} & wait; :", pipe.display());
    let written = std::thread::spawn(move || fs::read_to_string(pipe).unwrap());
    let access = access(Duration::from_millis(500));
    let url = "example.org:a".parse().unwrap();
    let error = advertised_in(&url, &access, with_command(script), &[]).unwrap_err();
    // A proxy in a variable does not concern ssh.
    assert_eq!(
        (error.to_string(), error.hint()),
        (
            "ssh to `example.org` failed: it printed nothing for 0.5 s".to_owned(),
            Some("for details, run `ssh example.org` as this user".to_owned())
        )
    );
    assert_eq!(written.join().unwrap(), "");
}

/// An `sshd` on loopback for the user that runs the tests.
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
    /// Starts a server. Returns nothing if none is installed.
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
        // The service unit of a packaged server creates this folder; only root needs it and can create it.
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

    /// Waits for the log line that reports the port.
    fn listens(&mut self) -> bool {
        use std::io::{BufRead, BufReader};
        let mut lines = BufReader::new(self.child.stderr.take().unwrap()).lines();
        let listens = lines
            .by_ref()
            .map_while(Result::ok)
            .any(|line| line.contains("Server listening"));
        // Keeps reading, so that the server never blocks on a full pipe.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        listens
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns an ssh with `known` as the host key in `known_hosts`, and with the private key `key`.
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
fn a_real_server_accepts_fetches_and_pushes_and_its_refusals_are_distinct_errors() {
    let Some(server) = Sshd::start() else {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: no sshd can be started here");
        return;
    };
    crate::git::libgit2::libgit2().unwrap();
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

    let refs = lookup(&url, server.ssh(Some("host"), "client")).unwrap();
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
        let error = format!("{:?}", lookup(url, server.ssh(known, key)).unwrap_err());
        assert!(error.starts_with(expected), "{expected}: {error}");
    }
}
