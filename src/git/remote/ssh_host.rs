//! Formats the host of an ssh connection, and the commands in hints about it.

use std::fmt;

use super::ssh_command::quoted;
use crate::git::ssh_address::SshAddress;
use crate::model::escaped;

/// The default port of ssh.
const PORT: u16 = 22;

/// A host that ssh connects to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SshHost {
    user: Option<String>,
    host: String,
    port: u16,
}

impl SshHost {
    pub(super) fn new(address: &SshAddress) -> Self {
        Self {
            user: address.user.clone(),
            host: address.host.clone(),
            port: address.port.unwrap_or(PORT),
        }
    }

    /// Returns the host under the name and port that ssh looks up in `known_hosts`, if its `stderr` contains them:
    /// `~/.ssh/config` may override those of the address.
    pub(super) fn named_in(self, stderr: &str) -> Self {
        let between = |before: &str, after: &str| {
            let (_, rest) = stderr.split_once(before)?;
            Some(rest.split_once(after)?.0.to_owned())
        };
        let name = between("host key is known for ", " and you have")
            .or_else(|| between("Host key for ", " has changed and you have"));
        let Some(name) = name.filter(|name| !name.contains(char::is_whitespace)) else {
            return self;
        };
        let port = name.strip_prefix('[').and_then(|rest| rest.split_once("]:"));
        match port.and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?))) {
            Some((host, port)) => Self { host, port, ..self },
            None => Self {
                host: name,
                port: PORT,
                ..self
            },
        }
    }

    /// Returns the command that prints the host's keys, as lines for `known_hosts`.
    pub(super) fn keyscan(&self) -> String {
        format!("ssh-keyscan {}{}", self.option("-p"), word(&self.host))
    }

    /// Returns the command that removes the host's keys from `known_hosts`.
    pub(super) fn forget(&self) -> String {
        let name = match self.port {
            PORT => self.host.clone(),
            port => format!("[{}]:{port}", self.host),
        };
        format!("ssh-keygen -R {}", word(&name))
    }

    /// Returns the command that connects as gitoggle does.
    pub(super) fn login(&self) -> String {
        let target = match &self.user {
            Some(user) => format!("{user}@{}", self.host),
            None => self.host.clone(),
        };
        format!("ssh {}{}", self.option("-p"), word(&target))
    }

    fn option(&self, name: &str) -> String {
        match self.port {
            PORT => String::new(),
            port => format!("{name} {port} "),
        }
    }
}

impl fmt::Display for SshHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", escaped(&self.host))?;
        match self.port {
            PORT => Ok(()),
            port => write!(f, ":{port}"),
        }
    }
}

/// Quotes a word for the shell if that is necessary.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@.-_:%".contains(c);
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false => escaped(&quoted(text)).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::git::RepoUrl;

    fn host(url: &str) -> SshHost {
        let url: RepoUrl = url.parse().unwrap();
        SshHost::new(url.ssh().unwrap())
    }

    #[test]
    fn commands_have_the_port_unless_it_is_the_default() {
        let usual = host("git@example.org:acme/toggles.git");
        assert_eq!(usual.keyscan(), "ssh-keyscan example.org");
        assert_eq!(usual.forget(), "ssh-keygen -R example.org");
        assert_eq!(usual.login(), "ssh git@example.org");
        let other = host("ssh://git@example.org:2222/acme/toggles.git");
        assert_eq!(other.keyscan(), "ssh-keyscan -p 2222 example.org");
        assert_eq!(other.forget(), "ssh-keygen -R '[example.org]:2222'");
        assert_eq!(other.login(), "ssh -p 2222 git@example.org");
        assert_eq!(
            host("ssh://git@[::1]:2222/a").forget(),
            "ssh-keygen -R '[::1]:2222'"
        );
    }

    #[test]
    fn commands_have_the_name_that_ssh_looks_up() {
        let alias = || host("git@forge:acme/toggles.git");
        let unknown =
            "No ED25519 host key is known for [10.0.0.7]:2222 and you have requested strict checking.";
        assert_eq!(
            alias().named_in(unknown).keyscan(),
            "ssh-keyscan -p 2222 10.0.0.7"
        );
        let changed = "Host key for git.example.org has changed and you have requested strict checking.";
        assert_eq!(
            alias().named_in(changed).forget(),
            "ssh-keygen -R git.example.org"
        );
        let hostile = "host key is known for x; rm -rf / and you have";
        assert_eq!(alias().named_in(hostile).keyscan(), "ssh-keyscan forge");
    }

    #[test]
    fn the_command_removes_what_ssh_would_look_up() {
        let folder = tempfile::tempdir().unwrap();
        let (key, known) = (folder.path().join("key"), folder.path().join("known"));
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(&key)
            .status();
        assert!(made.unwrap().success());
        let key = std::fs::read_to_string(key.with_extension("pub")).unwrap();
        for (url, name) in [
            ("git@example.org:a", "example.org"),
            ("ssh://git@example.org:2222/a", "[example.org]:2222"),
            ("ssh://git@[::1]:2222/a", "[::1]:2222"),
        ] {
            std::fs::write(&known, format!("{name} {key}other.example {key}")).unwrap();
            let command = format!("{} -f {}", host(url).forget(), known.display());
            let output = Command::new("sh").args(["-c", &command]).output().unwrap();
            assert!(output.status.success(), "{command}: {output:?}");
            let rest = std::fs::read_to_string(&known).unwrap();
            assert!(
                !rest.contains(name) && rest.contains("other.example"),
                "{command}: {rest}"
            );
        }
    }

    #[test]
    fn the_command_asks_the_port_for_its_keys() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let command = host(&format!("ssh://git@127.0.0.1:{port}/a")).keyscan();
        let mut child = Command::new("sh")
            .args(["-c", &format!("exec {command} 2>&1")])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // With a wrong port, this blocks until the test times out.
        drop(listener.accept().unwrap());
        drop((child.kill(), child.wait()));
    }
}
