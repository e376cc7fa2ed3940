//! Why the `git` program failed: the class of the failure, for hints and retries.
//!
//! With `LC_ALL=C`, Git's own sentences are the same everywhere. An unknown sentence has no hint, and is
//! shown all the same.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::RepoUrl;
use super::words::{GitWords, lines};
use crate::model::{ObjectId, escaped, shell_word};
use crate::transport::{CORRECT_CLOCK, NetworkError, SecretError};

/// The oldest version of the `git` program that has what this crate uses.
pub(super) const OLDEST: (u32, u32) = (2, 31);

/// Why an exchange with a Git host failed. Contains hosts and addresses, never secrets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// The program is absent or too old for a merge.
    #[error("{fact}, and `plan --pull-request` needs Git 2.38 or later")]
    CannotMerge { fact: String, source: Option<io::Error> },
    #[error(transparent)]
    Failed(Box<GitFailure>),
    #[error("could not {doing}")]
    Io { doing: &'static str, source: io::Error },
    #[error("could not run `git`, which gitoggle needs in version 2.31 or later")]
    NoGit(#[source] io::Error),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Setup(#[from] NetworkError),
    #[error("gitoggle was told to end while `git` used `{0}`")]
    Stopped(String),
    #[error("`{url}` did not respond for {} s", .after.as_secs_f64())]
    TimedOut { url: String, after: Duration },
    #[error("`git` is version {}, and gitoggle needs 2.31 or later", escaped(.0))]
    TooOld(String),
    #[error("`git` did not finish with `{on}` within {} s", .after.as_secs_f64())]
    Unfinished { on: String, after: Duration },
}

#[derive(Debug, thiserror::Error)]
#[error("{}{words}", .fault.fact(.url))]
pub struct GitFailure {
    /// The value of `--ca-file`.
    pub(super) ca_file: Option<PathBuf>,
    pub(super) url: RepoUrl,
    pub(super) fault: GitFault,
    /// What the program said.
    pub(super) words: GitWords,
}

/// The class of a failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GitFault {
    /// The certificate of the host was rejected.
    Certificate,
    /// The ssh host key differs from the known one.
    ChangedHostKey,
    /// A local disk is full or read-only.
    Disk,
    /// The credentials are valid but do not allow access.
    Forbidden,
    /// The host key is not known.
    HostKey,
    NoCredentials,
    /// A ref or commit that the host does not have.
    NoRef,
    /// The repository does not exist, or the host hides it.
    NotFound,
    /// The connection failed or broke.
    Network,
    /// An unknown failure, such as that of a process that the system ended. The local repository may be
    /// damaged.
    Other,
    /// A proxy did not connect.
    Proxy,
    /// Object ids that libgit2 does not support.
    Sha256,
    /// The host rejected all ssh keys.
    SshKeys,
    /// The host rejected the credentials.
    WrongCredentials,
}

/// Parts of what Git, ssh, and curl print, with the class of failure that they show. The first one counts.
const SIGNS: &[(&str, GitFault)] = &[
    ("HOST IDENTIFICATION HAS CHANGED", GitFault::ChangedHostKey),
    ("has changed and you have requested strict checking", GitFault::ChangedHostKey),
    ("Host key verification failed", GitFault::HostKey),
    ("host key is known for", GitFault::HostKey),
    ("Permission denied (", GitFault::SshKeys),
    ("Too many authentication failures", GitFault::SshKeys),
    // No repository has such an address, so it is that of a proxy.
    ("could not read Username for 'http:", GitFault::Proxy),
    ("could not read Password for 'http:", GitFault::Proxy),
    ("could not read Username", GitFault::NoCredentials),
    ("could not read Password", GitFault::NoCredentials),
    ("Authentication failed", GitFault::WrongCredentials),
    ("returned error: 401", GitFault::WrongCredentials),
    ("returned error: 407", GitFault::Proxy),
    ("from proxy after CONNECT", GitFault::Proxy),
    ("CONNECT tunnel failed", GitFault::Proxy),
    ("returned error: 403", GitFault::Forbidden),
    ("returned error: 404", GitFault::NotFound),
    ("returned error: 410", GitFault::NotFound),
    ("' not found", GitFault::NotFound),
    ("not valid: is this a git repository?", GitFault::NotFound),
    ("does not appear to be a git repository", GitFault::NotFound),
    ("epository not found", GitFault::NotFound),
    ("annot find repository", GitFault::NotFound),
    ("could not be found", GitFault::NotFound),
    ("certificate", GitFault::Certificate),
    ("couldn't find remote ref", GitFault::NoRef),
    ("not our ref", GitFault::NoRef),
    ("no such remote ref", GitFault::NoRef),
    ("does not allow request for unadvertised object", GitFault::NoRef),
    ("mismatched algorithms", GitFault::Sha256),
    ("No space left on device", GitFault::Disk),
    // Git says so where a write was cut short.
    ("Out of diskspace", GitFault::Disk),
    ("Disk quota exceeded", GitFault::Disk),
    ("Read-only file system", GitFault::Disk),
    ("proxy", GitFault::Proxy),
    ("unable to access", GitFault::Network),
    ("Could not read from remote repository", GitFault::Network),
    ("RPC failed", GitFault::Network),
    ("remote error", GitFault::Network),
    ("early EOF", GitFault::Network),
    ("hung up", GitFault::Network),
    ("unexpected disconnect", GitFault::Network),
    ("protocol error", GitFault::Network),
];

impl GitFault {
    /// Classifies what the program printed on stderr.
    pub(super) fn of(stderr: &str) -> Self {
        // What a hook printed is for people.
        let own: Vec<&str> = lines(stderr).filter(|line| !line.starts_with("remote:")).collect();
        let has = |sign: &str| own.iter().any(|line| line.contains(sign));
        let found = SIGNS.iter().find(|(sign, _)| has(sign));
        found.map_or(Self::Other, |(_, fault)| *fault)
    }

    fn fact(self, url: &RepoUrl) -> String {
        let place = url.host().unwrap_or_else(|| url.to_string());
        let place = escaped(&place);
        match self {
            Self::Certificate => format!("could not verify the certificate of `{place}`"),
            Self::ChangedHostKey => {
                format!("the ssh host key of `{place}` has changed, which may be an attack")
            }
            Self::Disk => "Git could not write to the disk".to_owned(),
            Self::Forbidden => format!("`{place}` denied access to the repository (403)"),
            Self::HostKey => format!("the ssh host key of `{place}` is not known"),
            Self::NoCredentials => format!("`{place}` requires credentials"),
            Self::NoRef => format!("`{url}` does not have the ref"),
            Self::NotFound => format!("the repository `{url}` does not exist or is not accessible"),
            Self::Network if url.is_ssh() => format!("ssh to `{place}` failed"),
            Self::Network | Self::Proxy => format!("could not communicate with `{place}`"),
            Self::Other => format!("Git failed with `{url}`"),
            Self::Sha256 => format!("`{url}` uses SHA-256 object ids, which are not supported"),
            Self::SshKeys => format!("`{place}` rejected the ssh keys"),
            Self::WrongCredentials => format!("`{place}` rejected the credentials"),
        }
    }

    fn hint(self, url: &RepoUrl, words: &GitWords) -> Option<String> {
        let hint = match self {
            Self::Certificate => {
                return Some(certificate_hint("pass its CA certificate with `--ca-file`", words));
            }
            Self::ChangedHostKey | Self::HostKey => {
                let ssh_command = std::env::var("GIT_SSH_COMMAND").ok();
                return self.host_key_hint(&SshHost::named_in(url, words, ssh_command.as_deref())?);
            }
            Self::Disk => "the disk is full or cannot be written: free some space",
            Self::Forbidden => {
                "use credentials that may read the repository and, for `--state-remote`, write to it"
            }
            // Hosts hide what a user may not see, so they ask for credentials where there is nothing, too.
            Self::NoCredentials => {
                "check the address, for hosts ask for credentials also where there is no repository; for a private \
                 repository, set `GITOGGLE_GIT_USERNAME` and `GITOGGLE_GIT_PASSWORD`, or pass `--git-password-file`"
            }
            Self::WrongCredentials if words.is_of_host() => {
                "check `GITOGGLE_GIT_USERNAME` and `GITOGGLE_GIT_PASSWORD`, or `--git-password-file`"
            }
            Self::WrongCredentials => {
                "check `GITOGGLE_GIT_USERNAME` and `GITOGGLE_GIT_PASSWORD`, or `--git-password-file`, and the address: \
                 hosts answer like this also where there is no repository"
            }
            Self::Network if url.is_ssh() => {
                let host = SshHost::of(url)?;
                return Some(format!("for details, run `{}` as this user", host.login()));
            }
            Self::Network if url.local_path().is_none() => {
                "check the address, the network, and the proxy (`HTTPS_PROXY`, `NO_PROXY`)"
            }
            Self::NotFound => "check the address and the permissions of the credentials",
            Self::Proxy => "check the proxy in `HTTPS_PROXY`, or exclude the host with `NO_PROXY`",
            Self::Sha256 => "use a repository with SHA-1 ids, as created by `git init --object-format=sha1`",
            Self::SshKeys => "check the key, the agent, and `~/.ssh/config` of this user",
            Self::Network | Self::NoRef | Self::Other => return None,
        };
        Some(hint.to_owned())
    }
}

/// Returns advice on a certificate that was rejected. Not every TLS library that Git uses says why.
fn certificate_hint(trust: &str, words: &GitWords) -> String {
    let is_about_dates = |line: &String| ["expired", "not yet valid"].iter().any(|sign| line.contains(sign));
    match words.lines.iter().any(is_about_dates) {
        true => format!("renew it on the host, or {CORRECT_CLOCK}"),
        false => format!(
            "to trust the issuer, {trust}; if it is trusted, look at the dates of the certificate, or {CORRECT_CLOCK}"
        ),
    }
}

impl GitFault {
    fn host_key_hint(self, host: &SshHost) -> Option<String> {
        let (keyscan, file) = (host.keyscan(), host.file());
        match self {
            Self::ChangedHostKey => Some(format!(
                "if the change was announced, remove the old key with `{}` and add the new one with `{keyscan} >> {file}`",
                host.forget()
            )),
            Self::HostKey => Some(format!(
                "compare the fingerprint that `{keyscan} | ssh-keygen -lf -` prints with the one that the host publishes, \
                 then add the key with `{keyscan} >> {file}`"
            )),
            _ => None,
        }
    }
}

impl GitError {
    /// Returns whether another attempt may succeed soon: the host could not be reached, or broke off.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Failed(failure) => {
                matches!(failure.fault, GitFault::Network | GitFault::Other | GitFault::Proxy)
            }
            Self::TimedOut { .. } | Self::Unfinished { .. } => true,
            // The system had no process or no memory left.
            Self::Io { source, .. } => {
                matches!(source.kind(), io::ErrorKind::OutOfMemory | io::ErrorKind::WouldBlock)
            }
            _ => false,
        }
    }

    /// Returns the error of starting the program.
    pub(super) fn not_started(source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Self::NoGit(source),
            _ => Self::Io { doing: "start `git`", source },
        }
    }

    /// Returns whether the host refused access, which may last only a moment.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(
            self.fault(),
            Some(GitFault::Forbidden | GitFault::NoCredentials | GitFault::WrongCredentials)
        )
    }

    /// Returns whether only a person can end it: this process and the host do not accept each other, or a
    /// disk is full.
    pub(crate) fn needs_someone(&self) -> bool {
        match self {
            Self::Failed(failure) => match failure.fault {
                GitFault::Certificate
                | GitFault::ChangedHostKey
                | GitFault::Disk
                | GitFault::Forbidden
                | GitFault::HostKey
                | GitFault::NoCredentials
                | GitFault::NotFound
                | GitFault::Sha256
                | GitFault::SshKeys
                | GitFault::WrongCredentials => true,
                GitFault::Network | GitFault::NoRef | GitFault::Other | GitFault::Proxy => false,
            },
            // A file of secrets or certificates.
            Self::Secret(_) | Self::Setup(_) => true,
            _ => false,
        }
    }

    /// Returns the objects that the program named.
    pub(super) fn objects(&self) -> Vec<ObjectId> {
        let Self::Failed(failure) = self else { return Vec::new() };
        let words = failure.words.lines.iter().flat_map(|line| line.split(|c: char| !c.is_ascii_hexdigit()));
        words.filter(|word| word.len() == 40).filter_map(|word| word.parse().ok()).collect()
    }

    /// Returns the class of a failure of the program.
    pub(crate) fn fault(&self) -> Option<GitFault> {
        match self {
            Self::Failed(failure) => Some(failure.fault),
            _ => None,
        }
    }

    /// Returns advice for the operator.
    pub(crate) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Failed(failure) => match &failure.ca_file {
                Some(path) if failure.fault == GitFault::Certificate => certificate_hint(
                    &format!("add its CA certificate to `{}` (`--ca-file`)", escaped(&path.display().to_string())),
                    &failure.words,
                ),
                _ => return failure.fault.hint(&failure.url, &failure.words),
            },
            Self::NoGit(_) | Self::TooOld(_) => {
                "install a newer Git, or pass the path of a checkout as `--repo`".to_owned()
            }
            Self::CannotMerge { .. } => {
                "install Git 2.38 or later, or compare two revisions with `--from` and `--to`".to_owned()
            }
            Self::TimedOut { .. } => {
                "check the address, the network, and the proxy (`HTTPS_PROXY`, `NO_PROXY`)".to_owned()
            }
            Self::Unfinished { .. } => {
                "check the network and the load of this machine; for a large repository, raise `--git-timeout`"
                    .to_owned()
            }
            Self::Secret(error) => error.hint(),
            Self::Setup(error) => return error.hint(),
            Self::Io { .. } | Self::Stopped(_) => return None,
        })
    }
}

/// A host that ssh connects to, for the commands in hints.
struct SshHost {
    user: Option<String>,
    host: String,
    port: u16,
    /// The file of known hosts that ssh reads, if that is not the usual one.
    known_hosts: Option<String>,
}

impl SshHost {
    fn of(url: &RepoUrl) -> Option<Self> {
        let (user, host, port) = url.ssh()?;
        let (user, host, port) = (user.map(str::to_owned), host.to_owned(), port.unwrap_or(22));
        Some(Self { user, host, port, known_hosts: None })
    }

    /// Returns the host under the name and port that ssh looks up in `known_hosts`, if its words contain
    /// them: `~/.ssh/config` may override those of the address. Its words about a changed key name the file; for an
    /// unknown one, `ssh_command` may.
    fn named_in(url: &RepoUrl, words: &GitWords, ssh_command: Option<&str>) -> Option<Self> {
        let text = words.lines.join("\n");
        let between = |before: &str, after: &str| {
            let (_, rest) = text.split_once(before)?;
            Some(rest.split_once(after)?.0.to_owned())
        };
        let file = between("Add correct host key in ", " to get rid of this message");
        let known_hosts = file.or_else(|| known_hosts_file(ssh_command?));
        let own = Self { known_hosts, ..Self::of(url)? };
        let name = between("host key is known for ", " and you have")
            .or_else(|| between("Host key for ", " has changed and you have"));
        let Some(name) = name.filter(|name| !name.contains(char::is_whitespace)) else {
            return Some(own);
        };
        let port = name.strip_prefix('[').and_then(|rest| rest.split_once("]:"));
        let (host, port) = match port.and_then(|(host, port)| Some((host, port.parse().ok()?))) {
            Some((host, port)) => (host, port),
            None => (name.as_str(), 22),
        };
        Some(Self { host: host.to_owned(), port, ..own })
    }

    /// Returns the command that prints the host's keys, as lines for `known_hosts`.
    fn keyscan(&self) -> String {
        format!("ssh-keyscan {}{}", self.option(), word(&self.host))
    }

    /// Returns the command that removes the host's keys from `known_hosts`.
    fn forget(&self) -> String {
        let name = match self.port {
            22 => self.host.clone(),
            port => format!("[{}]:{port}", self.host),
        };
        let file = self.known_hosts.as_ref().map_or_else(String::new, |_| format!("-f {} ", self.file()));
        format!("ssh-keygen {file}-R {}", word(&name))
    }

    /// Returns the file of known hosts, as a word for the shell.
    fn file(&self) -> String {
        let file = self.known_hosts.as_deref().unwrap_or("~/.ssh/known_hosts");
        let quoted = match file.strip_prefix("~/") {
            // The shell replaces it where it is not quoted.
            Some(rest) => format!("~/{}", shell_word(rest)),
            None => shell_word(file),
        };
        escaped(&quoted).to_string()
    }

    /// Returns the command that connects as Git does.
    fn login(&self) -> String {
        let user = self.user.as_ref().map_or_else(String::new, |user| format!("{user}@"));
        format!("ssh {}{}", self.option(), word(&format!("{user}{}", self.host)))
    }

    fn option(&self) -> String {
        if self.port == 22 { String::new() } else { format!("-p {} ", self.port) }
    }
}

/// Returns the file of known hosts that the options of a command name.
fn known_hosts_file(ssh_command: &str) -> Option<String> {
    let (_, rest) = ssh_command.split_once("UserKnownHostsFile")?;
    let rest = rest.trim_start_matches(['=', ' ']);
    let end = rest.find(|c: char| c.is_whitespace() || "'\"\\".contains(c)).unwrap_or(rest.len());
    Some(rest[..end].to_owned()).filter(|file| !file.is_empty())
}

/// Quotes a word for the shell if that is necessary.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@.-_:%".contains(c);
    if text.chars().all(is_plain) {
        return text.to_owned();
    }
    escaped(&format!("'{}'", text.replace('\'', r"'\''"))).to_string()
}

#[cfg(test)]
impl GitError {
    /// Makes the error of a simulated network.
    pub(crate) fn unreachable(url: RepoUrl, why: &str) -> Self {
        Self::Failed(Box::new(GitFailure {
            url,
            fault: GitFault::Network,
            ca_file: None,
            words: GitWords::of(why),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_a_class_and_a_hook_does_not_change_it() {
        for (stderr, fault) in [
            (
                "fatal: could not read Username for 'https://h': terminal prompts disabled",
                GitFault::NoCredentials,
            ),
            (
                "fatal: could not read Password for 'http://user@proxy': terminal prompts disabled",
                GitFault::Proxy,
            ),
            ("remote: No.\nfatal: Authentication failed for 'https://h/a/'", GitFault::WrongCredentials),
            (
                "fatal: unable to access 'https://h/': The requested URL returned error: 403",
                GitFault::Forbidden,
            ),
            (
                "fatal: unable to access 'https://h/': The requested URL returned error: 503",
                GitFault::Network,
            ),
            ("fatal: repository 'https://h/a/' not found", GitFault::NotFound),
            ("fatal: couldn't find remote ref refs/heads/x", GitFault::NoRef),
            ("remote: certificate\nerror: cannot lock ref 'refs/x'", GitFault::Other),
            ("fatal: write error: No space left on device", GitFault::Disk),
        ] {
            assert_eq!(GitFault::of(stderr), fault, "{stderr}");
        }
    }

    #[test]
    fn a_rejected_certificate_names_the_clock_and_no_file_of_this_process() {
        for (stderr, advice) in [
            (
                "fatal: unable to access 'https://h/': server certificate verification failed. CAfile: /tmp/clone-a/b.pem \
                 CRLfile: none",
                "to trust the issuer, ",
            ),
            (
                "fatal: unable to access 'https://h/': SSL certificate problem: certificate has expired",
                "renew it on the host, or ",
            ),
            (
                "fatal: unable to access 'https://h/': SSL certificate problem: certificate is not yet valid",
                "renew it on the host, or ",
            ),
        ] {
            assert_eq!(GitFault::of(stderr), GitFault::Certificate, "{stderr}");
            let words = GitWords::of(stderr);
            assert!(!words.to_string().contains("/tmp"), "{words}");
            let hint = certificate_hint("pass its CA", &words);
            assert!(hint.starts_with(advice) && hint.ends_with("clock of this machine"), "{hint}");
        }
    }

    fn host(url: &str, words: &str) -> SshHost {
        SshHost::named_in(&url.parse().unwrap(), &GitWords::of(words), None).unwrap()
    }

    #[test]
    fn commands_have_the_name_and_port_that_ssh_looks_up() {
        let usual = host("git@example.org:acme/toggles.git", "");
        assert_eq!(usual.keyscan(), "ssh-keyscan example.org");
        assert_eq!(usual.forget(), "ssh-keygen -R example.org");
        assert_eq!(usual.login(), "ssh git@example.org");
        let other = host("ssh://git@[::1]:2222/acme/toggles.git", "");
        assert_eq!(other.keyscan(), "ssh-keyscan -p 2222 ::1");
        assert_eq!(other.forget(), "ssh-keygen -R '[::1]:2222'");
        let alias = |words| host("git@forge:acme/toggles.git", words);
        let unknown =
            "No ED25519 host key is known for [10.0.0.7]:2222 and you have requested strict checking.";
        assert_eq!(alias(unknown).keyscan(), "ssh-keyscan -p 2222 10.0.0.7");
        let changed = "Host key for git.example.org has changed and you have requested strict checking.";
        assert_eq!(alias(changed).forget(), "ssh-keygen -R git.example.org");
        let in_file = "Add correct host key in /etc/my keys to get rid of this message.\nOffending ED25519 key in /etc/my \
                       keys:3\nHost key for [10.0.0.7]:2222 has changed and you have requested strict checking.";
        assert_eq!(alias(in_file).forget(), "ssh-keygen -f '/etc/my keys' -R '[10.0.0.7]:2222'");
        assert_eq!(alias(in_file).file(), "'/etc/my keys'");
        for (ssh_command, file) in [
            ("ssh -i key -o IdentitiesOnly=yes -o UserKnownHostsFile=known_hosts", "known_hosts"),
            ("ssh -o 'UserKnownHostsFile /etc/keys' -v", "/etc/keys"),
            ("ssh -oUserKnownHostsFile=/etc/keys", "/etc/keys"),
            ("ssh -o UserKnownHostsFile=~/keys", "~/keys"),
            ("ssh -o UserKnownHostsFile=", "~/.ssh/known_hosts"),
            ("ssh -v", "~/.ssh/known_hosts"),
        ] {
            let url = "git@forge:acme/toggles.git".parse().unwrap();
            let host = SshHost::named_in(&url, &GitWords::of(unknown), Some(ssh_command)).unwrap();
            assert_eq!(host.file(), file, "{ssh_command}");
        }
        let hostile = "host key is known for x; rm -rf / and you have";
        assert_eq!(alias(hostile).keyscan(), "ssh-keyscan forge");
    }
}
