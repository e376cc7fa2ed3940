//! Builds the command line of the `ssh` program.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::git::ssh_address::SshAddress;

/// The name (`$0`) of the shell that runs `GIT_SSH_COMMAND`. The shell prints it if it does not find the program.
pub(super) const SHELL_NAME: &str = "GIT_SSH_COMMAND";

/// The environment variables that select the ssh program.
#[derive(Debug, Default)]
pub(super) struct Environment {
    /// `GIT_SSH_COMMAND`: a shell command.
    pub(super) command: Option<OsString>,
    /// `GIT_SSH`: the path of a program.
    pub(super) program: Option<OsString>,
    /// The names of gitoggle's own variables, which ssh must not inherit.
    pub(super) own: Vec<OsString>,
}

impl Environment {
    pub(super) fn of_process() -> Self {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let names = std::env::vars_os().map(|(name, _)| name);
        Self {
            command: set("GIT_SSH_COMMAND"),
            program: set("GIT_SSH"),
            own: names
                .filter(|name| name.to_string_lossy().starts_with("GITOGGLE_"))
                .collect(),
        }
    }
}

/// Returns the command that runs `service` on the host, and its name for messages.
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
            // Its options come before ours, and ssh uses the first value of an option.
            script.push(" \"$@\"");
            shell.arg("-c").arg(script).arg(SHELL_NAME);
            (shell, line.to_string_lossy().into_owned())
        }
        (None, Some(program)) => (Command::new(program), program.to_string_lossy().into_owned()),
        (None, None) => (Command::new("ssh"), "ssh".to_owned()),
    };
    let seconds = connect_timeout.as_secs().max(1);
    // A daemon cannot answer prompts, and only a person may decide to trust a new host key (DESIGN section 5).
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
    // These variables hold the token of the service, and `~/.ssh/config` may run any program.
    for name in &environment.own {
        command.env_remove(name);
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // ssh gets a separate process group, so that `Process::end` can kill the children of a shell.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    (command, name)
}

/// Quotes `path` for the remote shell, as git does.
pub(super) fn quoted(path: &str) -> String {
    // csh expands `!` even within quotes.
    format!("'{}'", path.replace('\'', r"'\''").replace('!', r"'\!'"))
}
