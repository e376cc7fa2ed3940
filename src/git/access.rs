//! The settings of Git connections, and how the `git` program gets their credentials.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tempfile::TempDir;

use super::RepoUrl;
use crate::transport::{Network, Secret, SecretError, SecretSource};

/// The settings of a Git connection besides its URL.
#[derive(Clone, Debug)]
pub struct GitAccess {
    /// The CA file and the connection timeout. Git takes its proxies from the environment and from its configuration.
    pub network: Network,
    /// The credentials for HTTPS and the host that they belong to.
    pub credentials: Option<GitCredentials>,
    /// The longest silence of a process of Git before it counts as failed.
    pub timeout: Duration,
    /// Whether Git reads the configuration of the user.
    pub user_config: UserConfig,
}

/// The use of the user's Git configuration.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum UserConfig {
    /// As `git` reads it, for a person and a CI job.
    #[default]
    Read,
    /// Only the configuration of the machine counts, unless `GIT_CONFIG_GLOBAL` names another one.
    Ignored,
}

/// A user name and a password (or token) for one Git host.
#[derive(Clone, Debug)]
pub struct GitCredentials {
    /// The only host that receives them, in the form of [`RepoUrl::host`].
    pub host: String,
    /// The user name, which is optional because hosts that take tokens accept any.
    pub username: Option<String>,
    /// The password or token, read again for every process.
    pub password: SecretSource,
}

/// The credentials of one process, as they were read for it.
pub(super) struct Login {
    host: String,
    username: String,
    pub(super) password: Secret,
}

impl GitAccess {
    /// Reads the credentials if they belong to the host of `url`.
    pub(super) fn login(&self, url: &RepoUrl) -> Result<Option<Login>, SecretError> {
        // The credentials go only to the host that they were set for (DESIGN section 5).
        let own = self.credentials.as_ref().zip(url.https());
        let own = own.filter(|(own, _)| Some(own.host.to_ascii_lowercase()) == url.host());
        let Some((own, https)) = own else {
            return Ok(None);
        };
        let of_url = Some(https.username()).filter(|name| !name.is_empty());
        Ok(Some(Login {
            host: own.host.to_ascii_lowercase(),
            // Hosts that take tokens accept any name.
            username: own.username.as_deref().or(of_url).unwrap_or("git").to_owned(),
            password: own.password.read()?,
        }))
    }
}

/// Hands one login to the processes of Git that ask for it.
///
/// Stands in for the daemon of `git credential-cache`, which Git itself talks to: so the password is in no argument, no
/// variable, and no file. A request names the host, also after a redirect, and only the login's own host gets an answer.
pub(super) struct CredentialServer {
    /// Only this user can enter it.
    folder: TempDir,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl CredentialServer {
    pub(super) fn start(login: Login) -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let listener = UnixListener::bind(folder.path().join("s"))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                // A request that fails is one that Git does without.
                let _ = answer(stream, &login);
            }
        });
        Ok(Self { folder, is_over, thread: Some(thread) })
    }

    /// Returns the value of `credential.helper`.
    pub(super) fn helper(&self) -> String {
        format!("cache --timeout 60 --socket '{}'", self.socket().display())
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }
}

impl Drop for CredentialServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread. If that fails, the thread has ended.
        let woken = UnixStream::connect(self.socket());
        if let Some(thread) = self.thread.take().filter(|_| woken.is_ok()) {
            let _ = thread.join();
        }
    }
}

/// Answers one request: `get` for the host of the login. Others, such as `erase`, need no answer.
fn answer(mut stream: UnixStream, login: &Login) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut request = String::new();
    (&stream).take(64 << 10).read_to_string(&mut request)?;
    let value = |key: &str| {
        let mut lines = request.lines();
        lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    };
    let host = value("host").unwrap_or_default().to_ascii_lowercase();
    let is_own = value("protocol") == Some("https") && host.trim_end_matches(":443") == login.host;
    if value("action") != Some("get") || !is_own {
        return Ok(());
    }
    let password = login.password.expose();
    stream.write_all(format!("username={}\npassword={password}\n", login.username).as_bytes())
}
