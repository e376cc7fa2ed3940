//! A true `sshd` on this machine, where one can be had.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::http::free_port;

/// A server with one host key, which lets one key of a client in.
pub(crate) struct Sshd {
    folder: PathBuf,
    port: u16,
    child: Child,
}

impl Sshd {
    /// Starts a server whose keys are in `folder`; nothing where it cannot be started.
    pub(crate) fn start(folder: PathBuf) -> Option<Self> {
        Self::with(folder, "")
    }

    /// Starts a server that accepts each push, and never says anything about it. It makes the file `pushed`
    /// in `folder`.
    pub(crate) fn hanging(folder: PathBuf) -> Option<Self> {
        let pushed = folder.join("pushed").display().to_string();
        let hang = format!("git-receive-pack*) touch {pushed}; exec cat >/dev/null");
        Self::with(
            folder,
            &format!(
                "ForceCommand case \"$SSH_ORIGINAL_COMMAND\" in {hang};; esac; exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n"
            ),
        )
    }

    fn with(folder: PathBuf, more: &str) -> Option<Self> {
        let program = Path::new("/usr/sbin/sshd");
        if !program.exists() {
            return None;
        }
        std::fs::create_dir_all(&folder).unwrap();
        for key in ["host", "other", "client"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(key));
            assert!(keygen.status().unwrap().success());
        }
        let port = free_port();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {0}/host\nAuthorizedKeysFile {0}/client.pub\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PermitRootLogin yes\nPidFile none\n{more}",
            folder.display()
        );
        std::fs::write(folder.join("config"), config).unwrap();
        // The folder that a packaged server's unit would make; only root needs it, and only root can.
        let _ = std::fs::create_dir_all("/run/sshd");
        let mut child = Command::new(program)
            .args(["-D", "-e", "-f"])
            .arg(folder.join("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = lines.by_ref().map_while(Result::ok);
        let listens = said.into_iter().any(|line| line.contains("Server listening"));
        // Keeps reading, so that it never waits for us.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let server = Self { folder, port, child };
        server.trusts("host");
        listens.then_some(server)
    }

    /// Makes `known` the host key that clients know.
    pub(crate) fn trusts(&self, known: &str) {
        let key = std::fs::read_to_string(self.folder.join(format!("{known}.pub"))).unwrap();
        let line = format!("[127.0.0.1]:{} {key}", self.port);
        std::fs::write(self.folder.join("known"), line).unwrap();
    }

    /// Returns what `GIT_SSH_COMMAND` is for a client that is let in.
    pub(crate) fn command(&self) -> String {
        format!(
            "ssh -F none -o IdentitiesOnly=yes -o IdentityAgent=none -o GlobalKnownHostsFile=none \
             -o UserKnownHostsFile={0}/known -i {0}/client",
            self.folder.display()
        )
    }

    /// Returns the URL of a repository on this machine.
    pub(crate) fn url(&self, path: &Path) -> String {
        format!("ssh://127.0.0.1:{}{}", self.port, path.display())
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
