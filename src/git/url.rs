//! Parses the address of a repository: `https`, ssh, or a path. Rejects everything else. Has the settings of
//! the connections to it, and gives its credentials to `git`.

use std::fmt;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::temporary_folder::TemporaryFolder;
use crate::model::escaped;
use crate::transport::{Network, Secret, SecretError, SecretSource};

/// The address of a repository.
///
/// Parsed as in git: `https://…`, `ssh://…`, `user@host:path`, `file://…`, or a path.
#[derive(Clone, Eq, PartialEq)]
pub struct RepoUrl(Kind);

#[derive(Clone, Debug, Eq, PartialEq)]
enum Kind {
    Https(url::Url),
    Local(PathBuf),
    Ssh(SshAddress),
}

/// An ssh address as it was given, and the parts that hints and credentials need. None of them begins with
/// `-`.
#[derive(Clone, Debug, Eq, PartialEq)]
struct SshAddress {
    text: String,
    user: Option<String>,
    host: String,
    port: Option<u16>,
}

/// Why a text is not the address of a repository, or not an allowed one. Never contains the text, because a
/// URL may contain a password.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RepoUrlError {
    #[error("the repository is empty")]
    Empty,
    #[error("this is not a URL of a repository: {0}")]
    Malformed(String),
    #[error("a {0} of a repository must not begin with `-`")]
    OptionLike(&'static str),
    #[error(
        "a URL must not contain a password; set `GITOGGLE_GIT_USERNAME` and `GITOGGLE_GIT_PASSWORD`, or pass \
         `--git-password-file`"
    )]
    Password,
    #[error("`{0}` is not supported for repositories; use an https or ssh URL, or a path")]
    Scheme(String),
}

impl RepoUrl {
    /// Returns the address of the repository at `path`.
    pub fn local(path: impl Into<PathBuf>) -> Self {
        Self(Kind::Local(path.into()))
    }

    /// Returns the path of a repository on this machine.
    pub fn local_path(&self) -> Option<&Path> {
        match &self.0 {
            Kind::Local(path) => Some(path),
            Kind::Https(_) | Kind::Ssh(_) => None,
        }
    }

    /// Returns the host in lower case, with the port unless it is the default; `None` for a path.
    pub(crate) fn host(&self) -> Option<String> {
        let (host, port) = match &self.0 {
            Kind::Https(url) => (url.host_str()?, url.port()),
            Kind::Local(_) => return None,
            // Credentials belong to a host in this form, so an explicit default port must not make a
            // difference.
            Kind::Ssh(address) => (address.host.as_str(), address.port.filter(|port| *port != 22)),
        };
        let host = host.to_ascii_lowercase();
        Some(port.map_or_else(|| host.clone(), |port| format!("{host}:{port}")))
    }

    pub(crate) fn https(&self) -> Option<&url::Url> {
        match &self.0 {
            Kind::Https(url) => Some(url),
            Kind::Local(_) | Kind::Ssh(_) => None,
        }
    }

    /// Returns the user, the host, and the port of an ssh address.
    pub(super) fn ssh(&self) -> Option<(Option<&str>, &str, Option<u16>)> {
        match &self.0 {
            Kind::Ssh(ssh) => Some((ssh.user.as_deref(), &ssh.host, ssh.port)),
            Kind::Https(_) | Kind::Local(_) => None,
        }
    }

    pub(super) fn is_ssh(&self) -> bool {
        matches!(self.0, Kind::Ssh(_))
    }

    /// Returns the address for `git`, without the user name of an `https` URL.
    pub(super) fn for_git(&self) -> String {
        match &self.0 {
            Kind::Https(url) => {
                let mut url = url.clone();
                // Never fails, because an https URL can have a user name.
                let _ = url.set_username("");
                url.into()
            }
            Kind::Local(path) => path.to_string_lossy().into_owned(),
            Kind::Ssh(address) => address.text.clone(),
        }
    }
}

impl fmt::Debug for RepoUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Prints the address, escaped for a terminal, and without the user name of an `https` URL, which may be a
/// token.
impl fmt::Display for RepoUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Https(url) => {
                let host = self.host().unwrap_or_default();
                write!(f, "https://{}{}", escaped(&host), escaped(url.path()))
            }
            Kind::Local(path) => write!(f, "{}", escaped(&path.to_string_lossy())),
            Kind::Ssh(address) => write!(f, "{}", escaped(&address.text)),
        }
    }
}

impl FromStr for RepoUrl {
    type Err = RepoUrlError;

    fn from_str(text: &str) -> Result<Self, RepoUrlError> {
        if text.is_empty() {
            return Err(RepoUrlError::Empty);
        }
        if let Some((scheme, _)) = text.split_once("://") {
            return with_scheme(&scheme.to_ascii_lowercase(), text).map(Self);
        }
        // `ext::` and other remote helpers would run a program.
        if let Some((helper, _)) = text.split_once("::").filter(|(helper, _)| is_scheme(helper)) {
            return Err(RepoUrlError::Scheme(helper.to_owned()));
        }
        if looks_like_a_password(text) {
            return Err(RepoUrlError::Password);
        }
        match scp_like(text) {
            Some((host, path)) => SshAddress::scp(text, host, path).map(|address| Self(Kind::Ssh(address))),
            None => Ok(Self::local(text)),
        }
    }
}

impl SshAddress {
    /// Parses `user@host:path`, split at the colon.
    fn scp(text: &str, host: &str, path: &str) -> Result<Self, RepoUrlError> {
        let (user, host) = match host.rsplit_once('@') {
            Some((user, host)) => (Some(user.to_owned()), host),
            None => (None, host),
        };
        Self { text: text.to_owned(), user, host: unbracketed(host).to_owned(), port: None }.checked(path)
    }

    /// Parses an `ssh://` URL.
    fn url(text: &str) -> Result<Self, RepoUrlError> {
        let url = parse(text)?;
        if url.password().is_some() {
            return Err(RepoUrlError::Password);
        }
        let user = Some(url.username()).filter(|user| !user.is_empty());
        Self {
            text: text.to_owned(),
            user: user.map(decoded).transpose()?,
            host: unbracketed(&decoded(url.host_str().unwrap_or_default())?).to_owned(),
            port: url.port(),
        }
        .checked(&decoded(url.path())?)
    }

    fn checked(self, path: &str) -> Result<Self, RepoUrlError> {
        // In the form `user:password@host:path`, the password is part of the user.
        if self.user.as_deref().is_some_and(|user| user.contains(':')) {
            return Err(RepoUrlError::Password);
        }
        let user = self.user.as_deref().unwrap_or_default();
        for (what, text) in [("host", &*self.host), ("user", user), ("path", path)] {
            // ssh or the remote program would take the text for an option, which may run a command
            // (CVE-2017-1000117).
            if text.starts_with('-') {
                return Err(RepoUrlError::OptionLike(what));
            }
            if text.contains(['\0', '\n', '\r']) {
                return Err(RepoUrlError::Malformed(format!("the {what} contains a control character")));
            }
        }
        match (self.host.is_empty(), path.is_empty()) {
            (true, _) => Err(RepoUrlError::Malformed("it has no host".to_owned())),
            (_, true) => Err(RepoUrlError::Malformed("it has no path".to_owned())),
            (false, false) => Ok(self),
        }
    }
}

fn unbracketed(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn decoded(text: &str) -> Result<String, RepoUrlError> {
    let text = percent_encoding::percent_decode_str(text).decode_utf8();
    text.map(Into::into).map_err(|_| RepoUrlError::Malformed("it is not UTF-8".to_owned()))
}

fn parse(text: &str) -> Result<url::Url, RepoUrlError> {
    url::Url::parse(text).map_err(|error| RepoUrlError::Malformed(error.to_string()))
}

fn with_scheme(scheme: &str, text: &str) -> Result<Kind, RepoUrlError> {
    match scheme {
        "https" => https(text).map(Kind::Https),
        "ssh" | "git+ssh" | "ssh+git" => SshAddress::url(text).map(Kind::Ssh),
        "file" => parse(text)?.to_file_path().map(Kind::Local).map_err(|()| {
            RepoUrlError::Malformed("a file URL needs an absolute path and no host".to_owned())
        }),
        _ if is_scheme(scheme) => Err(RepoUrlError::Scheme(scheme.to_owned())),
        _ => Ok(Kind::Local(PathBuf::from(text))),
    }
}

fn https(text: &str) -> Result<url::Url, RepoUrlError> {
    let url = parse(text)?;
    // An address is printed, logged, and stored, so it must never hold a secret.
    if url.password().is_some() {
        return Err(RepoUrlError::Password);
    }
    // The transport appends `/info/refs?service=…` to the address.
    if url.query().is_some() || url.fragment().is_some() {
        return Err(RepoUrlError::Malformed("it has a query or a fragment".to_owned()));
    }
    Ok(url)
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Returns whether an address without a scheme contains `USER:PASSWORD@HOST`, such as a URL with a slash too few.
/// Every message about it would show the password.
fn looks_like_a_password(text: &str) -> bool {
    text.split('/').enumerate().any(|(number, part)| {
        let Some((login, host)) = part.split_once('@') else { return false };
        let is_login = login.split_once(':').is_some_and(|(user, word)| !user.is_empty() && !word.is_empty());
        // `host:name@version` is a path on a host.
        is_login && (number > 0 || host.contains(':'))
    })
}

/// Splits `host:path` if the text has this form: as in git, the colon comes before any slash.
fn scp_like(text: &str) -> Option<(&str, &str)> {
    // An IPv6 address contains colons itself, so it is in brackets.
    let bracket = text.find('[').and_then(|open| Some((open, text[open..].find("]:")? + open)));
    let address = bracket.filter(|(open, _)| *open == 0 || text[..*open].ends_with('@'));
    if let Some((_, close)) = address.filter(|(open, _)| !text[..*open].contains('/')) {
        return Some((&text[..=close], &text[close + 2..]));
    }
    let (host, path) = text.split_once(':')?;
    (!host.contains('/')).then_some((host, path))
}

/// The settings of a Git connection besides its URL.
#[derive(Clone, Debug)]
pub struct GitAccess {
    /// The CA file and the connection timeout. Git takes its proxies from the environment and from its
    /// configuration.
    pub network: Network,
    /// The credentials for HTTPS and the host that they belong to.
    pub credentials: Option<GitCredentials>,
    /// The longest time that one step, such as a fetch, may take.
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
        // The credentials go only to the host that they were set for (src/git/README.md, "Addresses").
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
/// Stands in for the daemon of `git credential-cache`, which Git itself talks to: so the password is in no
/// argument, no variable, and no file. A request names the host, also after a redirect, and only the login's
/// own host gets an answer.
pub(super) struct CredentialServer {
    /// Only this user can enter it.
    folder: TemporaryFolder,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl CredentialServer {
    pub(super) fn start(login: Login) -> std::io::Result<Self> {
        let folder = TemporaryFolder::create(None)?;
        let listener = UnixListener::bind(folder.path().join("s"))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = std::thread::Builder::new().spawn(move || {
            for stream in listener.incoming().flatten() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                // A request that fails is one that Git does without.
                let _ = answer(stream, &login);
            }
        })?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> RepoUrlError {
        text.parse::<RepoUrl>().unwrap_err()
    }

    #[test]
    fn every_form_that_git_accepts_is_parsed() {
        for (text, host, shown) in [
            ("https://Example.org/a/b.git", "example.org", "https://example.org/a/b.git"),
            ("https://user@example.org:8443/b", "example.org:8443", "https://example.org:8443/b"),
            ("ssh://git@example.org:2222/a b", "example.org:2222", "ssh://git@example.org:2222/a b"),
            ("ssh://git@example.org/~joe/b", "example.org", "ssh://git@example.org/~joe/b"),
            ("git@example.org:a/b.git", "example.org", "git@example.org:a/b.git"),
            ("example.org:/srv/a", "example.org", "example.org:/srv/a"),
            ("git@[::1]:a", "::1", "git@[::1]:a"),
        ] {
            let url: RepoUrl = text.parse().unwrap();
            assert_eq!((url.host().as_deref(), url.to_string().as_str()), (Some(host), shown), "{text}");
        }
    }

    #[test]
    fn paths_and_file_urls_are_local() {
        for (text, path) in [
            (".", "."),
            ("/srv/a b", "/srv/a b"),
            ("./a:b", "./a:b"),
            ("file:///srv/a%20b", "/srv/a b"),
            ("file://localhost/srv", "/srv"),
        ] {
            let url: RepoUrl = text.parse().unwrap();
            assert_eq!(url.local_path(), Some(Path::new(path)), "{text}");
        }
    }

    #[test]
    fn unsupported_and_dangerous_addresses_are_refused() {
        for (text, scheme) in [
            ("http://example.org/a", "http"),
            ("HTTP://example.org/a", "http"),
            ("git://example.org/a", "git"),
            ("ext::sh -c true", "ext"),
            ("ftp://example.org/a", "ftp"),
        ] {
            assert_eq!(error(text), RepoUrlError::Scheme(scheme.to_owned()));
        }
        for text in ["https://u:p@example.org/a", "ssh://u:p@example.org/a", "https://:p@example.org/a"] {
            assert_eq!(error(text), RepoUrlError::Password);
        }
        assert_eq!(error("-oProxyCommand=x:a"), RepoUrlError::OptionLike("host"));
        assert_eq!(error("-x@example.org:a"), RepoUrlError::OptionLike("user"));
        assert_eq!(error("example.org:-a"), RepoUrlError::OptionLike("path"));
        assert_eq!(error("ssh://-oProxyCommand=x/a"), RepoUrlError::OptionLike("host"));
        assert_eq!(error("ssh://%2DoProxyCommand=x/a"), RepoUrlError::OptionLike("host"));
        assert_eq!(error(""), RepoUrlError::Empty);
        for text in ["https://", "https://example.org/a?token=x", "file://elsewhere/a", "example.org:"] {
            assert!(matches!(error(text), RepoUrlError::Malformed(_)), "{text}");
        }
    }

    #[test]
    fn a_refusal_never_shows_a_password() {
        for text in [
            "https://u:hunter2@example.org/a",
            "http:/u:hunter2@example.org/a",
            "https:/u:hunter2@example.org",
            "u:hunter2@example.org:a",
            "//u:hunter2@example.org",
            "//u:hunter2@example.org/a",
        ] {
            assert_eq!(error(text), RepoUrlError::Password, "{text}");
            assert!(!error(text).to_string().contains("hunter2"));
        }
        for text in
            ["git@example.org:a@v2", "example.org:a@v2", "/srv/a@b:c", "./a:b/c@d", "/a/@b", "git@[::1]:a"]
        {
            assert!(text.parse::<RepoUrl>().is_ok(), "{text}");
        }
    }
}
