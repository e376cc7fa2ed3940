//! Runs Git's protocol over the `ssh` program, as git does, with its agent, `~/.ssh/config`, and `known_hosts`.
//!
//! ssh never prompts, rejects unknown host keys, and does not inherit gitoggle's own variables.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream};

use super::connection::{Connection, lock};
use super::error::GitError;
use super::host_message::HostMessage;
use super::paced::TransferPace;
use super::ssh_command::{SHELL_NAME, command};
use super::ssh_host::SshHost;

/// The number of bytes of ssh's stderr that are kept.
const MOST_STDERR: usize = 16 << 10;

/// The time that ssh has to exit and to close its stderr after its stdout ended.
const EXIT_GRACE: Duration = Duration::from_secs(2);

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

/// A running ssh, which is killed on drop.
struct Stream {
    connection: Arc<Connection>,
    process: Arc<Process>,
    input: ChildStdin,
    output: ChildStdout,
    errors: Arc<Mutex<Vec<u8>>>,
    /// Disconnects at the end of stderr.
    errors_end: Receiver<()>,
    pace: TransferPace,
    /// The output until its beginning was checked.
    beginning: Vec<u8>,
    /// Ends the watchdog on drop.
    _watchdog: Sender<()>,
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
        let (errors, errors_end) = collect(errors);
        let watchdog = watchdog(Arc::clone(&process), connection.access.timeout);
        Ok(Self {
            connection: Arc::clone(connection),
            process,
            input,
            output,
            errors,
            errors_end,
            pace: TransferPace::of_transfer(connection.access.timeout),
            beginning: Vec::new(),
            _watchdog: watchdog,
        })
    }

    /// Checks that the output begins with the length of a packet, as Git's protocol does. A remote shell can print text
    /// before that.
    fn check_beginning(&mut self, bytes: &[u8]) -> Result<(), GitError> {
        if self.beginning.len() >= 4 {
            return Ok(());
        }
        self.beginning.extend_from_slice(bytes);
        if self.beginning.iter().take(4).all(u8::is_ascii_hexdigit) {
            return Ok(());
        }
        // What ssh or the remote program reports on stderr says more.
        let _ = self.errors_end.recv_timeout(EXIT_GRACE);
        if !lock(&self.errors).is_empty() {
            return Err(self.explain());
        }
        let text = String::from_utf8_lossy(&self.beginning);
        let line = text.lines().find(|line| !line.trim().is_empty());
        let message = match line.and_then(HostMessage::of_ssh) {
            Some(text) => format!("its output begins with `{text}` instead of Git's protocol"),
            None => "its output is not Git's protocol".to_owned(),
        };
        Err(self.failed(message))
    }

    fn failed(&self, message: String) -> GitError {
        match self.connection.url.ssh().map(SshHost::new) {
            Some(host) => GitError::Ssh { host, message },
            None => GitError::Local,
        }
    }

    /// Returns why ssh ended.
    fn explain(&self) -> GitError {
        // The watchdog killed ssh, so stderr does not contain the cause.
        if lock(&self.process.pending).timed_out {
            let after = self.connection.access.timeout.as_secs_f64();
            return self.failed(format!("it printed nothing for {after} s"));
        }
        let _ = self.errors_end.recv_timeout(EXIT_GRACE);
        let errors = String::from_utf8_lossy(&lock(&self.errors)).into_owned();
        match self.connection.url.ssh() {
            Some(address) => classify(
                &errors,
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
            // libgit2 reads only while it expects data, so the end of stdout is a failure of ssh.
            Ok(0) if !buffer.is_empty() => Err(self.connection.fail_io(self.explain())),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                Err(self.connection.fail_io(self.explain()))
            }
            Ok(count) => {
                let checked = self.pace.count(count);
                let checked = checked.map_err(|slow| self.failed(slow.to_string()));
                let checked = checked.and_then(|()| self.check_beginning(&buffer[..count]));
                checked
                    .map(|()| count)
                    .map_err(|error| self.connection.fail_io(error))
            }
            interrupted => interrupted,
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

/// The program, and the read or write that waits for it.
struct Process {
    child: Mutex<Child>,
    pending: Mutex<Pending>,
}

#[derive(Default)]
struct Pending {
    since: Option<Instant>,
    timed_out: bool,
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
        // Only this call counts as silence, not the time that libgit2 needs between calls.
        let result = work();
        lock(&self.pending).since = None;
        result
    }

    /// Returns the exit code. The program may exit a little after its output ends.
    fn code(&self) -> Option<i32> {
        let until = Instant::now() + EXIT_GRACE;
        loop {
            match lock(&self.child).try_wait() {
                Ok(Some(status)) => return status.code(),
                Ok(None) if Instant::now() < until => {}
                Ok(None) | Err(_) => return None,
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Kills the program and the processes that a shell started for it.
    fn end(&self) {
        let mut child = lock(&self.child);
        // After the exit, the process id may belong to another group.
        if matches!(child.try_wait(), Ok(Some(_))) {
            return;
        }
        // An ssh that a shell started would outlive the shell, and the standard library cannot signal a group.
        let group = format!("kill -s KILL -- -{}", child.id());
        let killed = Command::new("sh")
            .args(["-c", &group])
            .stderr(Stdio::null())
            .status();
        // Without a shell, only the program itself is killed.
        drop(killed);
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Kills `process` when a read or write waits for longer than `limit`, until the sender is dropped.
fn watchdog(process: Arc<Process>, limit: Duration) -> Sender<()> {
    let (sender, receiver) = channel::<()>();
    std::thread::spawn(move || {
        let step = (limit / 8).clamp(Duration::from_millis(5), Duration::from_secs(1));
        while receiver.recv_timeout(step) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let mut pending = lock(&process.pending);
            if pending.since.is_some_and(|since| since.elapsed() >= limit) {
                pending.timed_out = true;
                drop(pending);
                process.end();
                return;
            }
        }
    });
    sender
}

/// Collects the start of stderr in the background. The receiver disconnects at its end.
fn collect(mut stderr: impl Read + Send + 'static) -> (Arc<Mutex<Vec<u8>>>, Receiver<()>) {
    let collected = Arc::new(Mutex::new(Vec::new()));
    let writer = Arc::clone(&collected);
    let (sender, receiver) = channel::<()>();
    std::thread::spawn(move || {
        let _sender = sender;
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stderr.read(&mut buffer) {
            // Reading goes on beyond the limit, because ssh would block at a full pipe.
            let mut collected = lock(&writer);
            let room = MOST_STDERR.saturating_sub(collected.len()).min(count);
            collected.extend_from_slice(&buffer[..room]);
        }
    });
    (collected, receiver)
}

/// Classifies a failure by the stderr of ssh, which includes that of the remote program.
fn classify(stderr: &str, code: Option<i32>, host: SshHost, connection: &Connection) -> GitError {
    let has = |part: &str| stderr.contains(part);
    // A changed key comes first, because ssh then prints `Host key verification failed`, too.
    if has("HOST IDENTIFICATION HAS CHANGED") {
        let host = host.named_in(stderr);
        return GitError::ChangedHostKey { host };
    }
    if has("Host key verification failed") || has("host key is known for") {
        let host = host.named_in(stderr);
        return GitError::UnknownHostKey { host };
    }
    let sentence = HostMessage::of_ssh(stderr);
    // ssh lists its methods in parentheses. Without them, the remote program reports the permission of a file.
    if has("Permission denied (") || has("Too many authentication failures") {
        let message = message(sentence, code);
        return GitError::PermissionDenied { host, message };
    }
    let lower = stderr.to_lowercase();
    let missing = [
        "does not appear to be a git repository",
        "repository not found",
        "cannot find repository",
        "could not be found",
    ];
    if missing.iter().any(|part| lower.contains(part)) {
        let url = connection.url.to_string();
        return GitError::NotFound {
            url,
            message: sentence,
        };
    }
    let message = message(sentence, code);
    // A remote shell without Git also returns 127, but only the local shell prints this name.
    if code == Some(127) && has(SHELL_NAME) {
        let source = io::Error::new(io::ErrorKind::NotFound, message);
        let program = connection.environment.command.clone().unwrap_or_default();
        let program = program.to_string_lossy().into_owned();
        return GitError::NoSsh { program, source };
    }
    GitError::Ssh { host, message }
}

fn message(sentence: Option<HostMessage>, code: Option<i32>) -> String {
    match (sentence, code) {
        (Some(sentence), _) => sentence.to_string(),
        (None, Some(code)) => format!("it exited with {code} and printed nothing"),
        (None, None) => "it ended and printed nothing".to_owned(),
    }
}
