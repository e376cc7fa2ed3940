//! Git's protocol over the `ssh` program, as git itself does it: agent, `~/.ssh/config` and `known_hosts` are its.
//!
//! Nobody is asked anything, an unknown host key is refused, and our own variables do not get there.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream};

use super::connection::{Connection, lock};
use super::error::GitError;
use super::ssh_host::SshHost;
use super::words::HostWords;
use crate::git::ssh_address::SshAddress;

/// How much of what ssh says on its error channel is kept.
const MOST_WORDS: usize = 16 << 10;

/// How long ssh may take to end after its output did, before its words are taken as they are.
const FAREWELL: Duration = Duration::from_secs(2);

/// What the shell that runs `GIT_SSH_COMMAND` calls itself: it begins what it says when it finds no program.
const SHELL_NAME: &str = "GIT_SSH_COMMAND";

pub(super) struct Ssh(pub(super) Arc<Connection>);

impl SmartSubtransport for Ssh {
    fn action(&self, _: &str, action: Service) -> Result<Box<dyn SmartSubtransportStream>, git2::Error> {
        let program = match action {
            Service::UploadPackLs | Service::UploadPack => "git-upload-pack",
            Service::ReceivePackLs | Service::ReceivePack => "git-receive-pack",
        };
        match Stream::start(&self.0, program) {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(self.0.fail(error)),
        }
    }

    fn close(&self) -> Result<(), git2::Error> {
        Ok(())
    }
}

/// A running ssh. Dropping it ends it.
struct Stream {
    connection: Arc<Connection>,
    process: Arc<Process>,
    input: ChildStdin,
    output: ChildStdout,
    words: Arc<Mutex<Vec<u8>>>,
    silent: Receiver<()>,
    /// Dropped with the stream, which ends the watch.
    _watch: Sender<()>,
}

impl Stream {
    fn start(connection: &Arc<Connection>, service: &str) -> Result<Self, GitError> {
        let Some(address) = connection.url.ssh() else {
            return Err(GitError::Local);
        };
        let connect_timeout = connection.access.network.connect_timeout;
        let (mut command, name) = command(&connection.environment, address, service, connect_timeout);
        let mut child = command.spawn().map_err(|source| GitError::NoSsh {
            program: name,
            source,
        })?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(GitError::Local);
        };
        let process = Arc::new(Process::new(child));
        let (words, silent) = listen(errors);
        let watch = watch(Arc::clone(&process), connection.access.timeout);
        Ok(Self {
            connection: Arc::clone(connection),
            process,
            input,
            output,
            words,
            silent,
            _watch: watch,
        })
    }

    /// Returns why ssh ended.
    fn explain(&self) -> GitError {
        if lock(&self.process.pending).late {
            return GitError::TimedOut {
                host: self.connection.host(),
                after: self.connection.access.timeout,
            };
        }
        let _ = self.silent.recv_timeout(FAREWELL);
        let words = String::from_utf8_lossy(&lock(&self.words)).into_owned();
        match self.connection.url.ssh() {
            Some(address) => classify(
                &words,
                self.process.code(),
                SshHost::new(address),
                &self.connection,
            ),
            None => GitError::Local,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.process.timed(|| self.output.read(buffer));
        match read {
            Ok(0) if !buffer.is_empty() => Err(self.connection.fail_io(self.explain())),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                Err(self.connection.fail_io(self.explain()))
            }
            read => read,
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.process.timed(|| self.input.write(bytes));
        match written {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                Err(self.connection.fail_io(self.explain()))
            }
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.input.flush()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.process.end();
    }
}

/// The program, and since when something is wanted of it.
struct Process {
    child: Mutex<Child>,
    pending: Mutex<Pending>,
}

#[derive(Default)]
struct Pending {
    since: Option<Instant>,
    late: bool,
}

impl Process {
    fn new(child: Child) -> Self {
        Self {
            child: Mutex::new(child),
            pending: Mutex::default(),
        }
    }

    fn timed<T>(&self, work: impl FnOnce() -> T) -> T {
        lock(&self.pending).since = Some(Instant::now());
        let result = work();
        lock(&self.pending).since = None;
        result
    }

    /// Returns what the program ended with, for which it gets a moment: its output ends before it does.
    fn code(&self) -> Option<i32> {
        let until = Instant::now() + FAREWELL;
        loop {
            match lock(&self.child).try_wait() {
                Ok(Some(status)) => return status.code(),
                Ok(None) if Instant::now() < until => {}
                Ok(None) | Err(_) => return None,
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the program, and what a shell may have started for it.
    fn end(&self) {
        let mut child = lock(&self.child);
        if matches!(child.try_wait(), Ok(Some(_))) {
            return;
        }
        let group = format!("kill -s KILL -- -{}", child.id());
        let quiet = Command::new("sh")
            .args(["-c", &group])
            .stderr(Stdio::null())
            .status();
        // The group is gone with its leader where there is no shell to end it.
        drop(quiet);
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Ends `process` when it was asked for something and stayed silent for `limit`; until the sender is dropped.
fn watch(process: Arc<Process>, limit: Duration) -> Sender<()> {
    let (sender, receiver) = channel::<()>();
    std::thread::spawn(move || {
        let step = (limit / 8).clamp(Duration::from_millis(5), Duration::from_secs(1));
        while receiver.recv_timeout(step) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let mut pending = lock(&process.pending);
            if pending.since.is_some_and(|since| since.elapsed() >= limit) {
                pending.late = true;
                drop(pending);
                process.end();
                return;
            }
        }
    });
    sender
}

/// Collects what is said on the error channel; the receiver hears when there is nothing more to come.
fn listen(mut errors: impl Read + Send + 'static) -> (Arc<Mutex<Vec<u8>>>, Receiver<()>) {
    let words = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&words);
    let (sender, receiver) = channel::<()>();
    std::thread::spawn(move || {
        let _sender = sender;
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = errors.read(&mut buffer) {
            let mut heard = lock(&heard);
            let room = MOST_WORDS.saturating_sub(heard.len()).min(count);
            heard.extend_from_slice(&buffer[..room]);
        }
    });
    (words, receiver)
}

/// The variables that decide which program is run.
#[derive(Debug, Default)]
pub(super) struct Environment {
    /// `GIT_SSH_COMMAND`: a line for the shell.
    pub(super) command: Option<OsString>,
    /// `GIT_SSH`: a program.
    pub(super) program: Option<OsString>,
    /// The names of our own variables, which stay here.
    pub(super) own: Vec<OsString>,
}

impl Environment {
    pub(super) fn of_process() -> Self {
        let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let names = std::env::vars_os().map(|(name, _)| name);
        Self {
            command: given("GIT_SSH_COMMAND"),
            program: given("GIT_SSH"),
            own: names
                .filter(|name| name.to_string_lossy().starts_with("GITOGGLE_"))
                .collect(),
        }
    }
}

/// Returns the command that runs `service` on the host, and its name for messages.
///
/// ssh takes the first value that it sees of an option, so what `GIT_SSH_COMMAND` says stands before ours.
pub(super) fn command(
    environment: &Environment,
    address: &SshAddress,
    service: &str,
    connect_timeout: Duration,
) -> (Command, String) {
    let (mut command, name) = match (&environment.command, &environment.program) {
        (Some(line), _) => {
            let mut shell = Command::new("sh");
            let mut script = line.clone();
            script.push(" \"$@\"");
            shell.arg("-c").arg(script).arg(SHELL_NAME);
            (shell, line.to_string_lossy().into_owned())
        }
        (None, Some(program)) => (Command::new(program), program.to_string_lossy().into_owned()),
        (None, None) => (Command::new("ssh"), "ssh".to_owned()),
    };
    let seconds = connect_timeout.as_secs().max(1);
    command.args(["-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"]);
    command
        .args(["-o", "ServerAliveInterval=15", "-o"])
        .arg(format!("ConnectTimeout={seconds}"));
    if let Some(port) = address.port {
        command.arg("-p").arg(port.to_string());
    }
    match &address.user {
        Some(user) => command.arg(format!("{user}@{}", address.host)),
        None => command.arg(&address.host),
    };
    command.arg(format!("{service} {}", quoted(&address.path)));
    for name in &environment.own {
        command.env_remove(name);
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    (command, name)
}

/// Quotes for the shell at the other end, as git does.
pub(super) fn quoted(path: &str) -> String {
    format!("'{}'", path.replace('\'', r"'\''").replace('!', r"'\!'"))
}

/// Classifies a failure by what ssh, or git at the other end, printed.
fn classify(words: &str, code: Option<i32>, host: SshHost, connection: &Connection) -> GitError {
    let says = |part: &str| words.contains(part);
    if says("HOST IDENTIFICATION HAS CHANGED") {
        let host = host.named_in(words);
        return GitError::ChangedHostKey { host };
    }
    if says("Host key verification failed") || says("host key is known for") {
        let host = host.named_in(words);
        return GitError::UnknownHostKey { host };
    }
    let said = HostWords::of_ssh(words);
    if says("Permission denied (") || says("Too many authentication failures") {
        let message = message(said, code);
        return GitError::PermissionDenied { host, message };
    }
    if says("Connection timed out") || says("Operation timed out") || says("timed out while waiting") {
        let after = connection.access.network.connect_timeout;
        let host = host.to_string();
        return GitError::TimedOut { host, after };
    }
    let lower = words.to_lowercase();
    let missing = [
        "does not appear to be a git repository",
        "repository not found",
        "cannot find repository",
        "could not be found",
    ];
    if missing.iter().any(|part| lower.contains(part)) {
        let url = connection.url.to_string();
        return GitError::NotFound { url, said };
    }
    let message = message(said, code);
    if code == Some(127) && says(SHELL_NAME) {
        let source = io::Error::new(io::ErrorKind::NotFound, message);
        let program = connection.environment.command.clone().unwrap_or_default();
        let program = program.to_string_lossy().into_owned();
        return GitError::NoSsh { program, source };
    }
    GitError::Ssh { host, message }
}

fn message(said: Option<HostWords>, code: Option<i32>) -> String {
    match (said, code) {
        (Some(said), _) => said.to_string(),
        (None, Some(code)) => format!("it ended with {code} and printed nothing"),
        (None, None) => "it ended and printed nothing".to_owned(),
    }
}
