//! What can go wrong on the way to a Git host, and what to do about it.

use std::time::Duration;

use super::ssh_host::SshHost;
use super::words::HostWords;
use crate::git::Libgit2Error;
use crate::model::escaped;
use crate::transport::{CertificateFault, NetworkError, ProxyFault, Reason, SecretError};

/// Why a Git host gave no answer, or not the one that was needed. Names hosts and addresses, never a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// The host has another key than the one that is known.
    #[error("the ssh host key of `{host}` has changed: this may be an attack")]
    ChangedHostKey {
        /// The host.
        host: SshHost,
    },
    /// The host knows who asks, and refuses.
    #[error("`{}` refuses access to the repository (403){}", escaped(host), saying(said.as_ref()))]
    Forbidden {
        /// The host.
        host: String,
        /// Its reason.
        said: Option<HostWords>,
    },
    /// libgit2 says so.
    #[error("the Git transfer failed")]
    Git {
        /// What it said.
        source: Libgit2Error,
    },
    /// A path is opened, not connected to.
    #[error("a repository at a path is opened, not connected to")]
    Local,
    /// The connection was not made, or broke.
    #[error("cannot talk to `{}`", escaped(host))]
    Network {
        /// The host.
        host: String,
        /// The cause.
        source: Reason,
    },
    /// The proxy did not connect to the host.
    #[error("cannot connect to `{}`: {fault}", escaped(host))]
    Proxy {
        /// The host.
        host: String,
        /// What the proxy did.
        fault: ProxyFault,
    },
    /// The host refuses in the terms of Git's protocol.
    #[error("`{}` refuses{}", escaped(host), saying(said.as_ref()))]
    Refused {
        /// The host.
        host: String,
        /// Its reason.
        said: Option<HostWords>,
    },
    /// The client could not be made.
    #[error(transparent)]
    Setup(#[from] NetworkError),
    /// The ssh program cannot be run.
    #[error("cannot run the ssh program `{}`", escaped(program))]
    NoSsh {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// The repository is not there, or not for this user.
    #[error("there is no repository `{url}`, or no access to it{}", saying(said.as_ref()))]
    NotFound {
        /// Its address.
        url: String,
        /// The sentence of the host.
        said: Option<HostWords>,
    },
    /// Somebody answered who does not speak Git.
    #[error(
        "`{url}` does not answer as a Git repository does{}{}",
        called(content_type.as_deref()),
        saying(said.as_ref())
    )]
    NotGit {
        /// Its address.
        url: String,
        /// What the answer called itself.
        content_type: Option<String>,
        /// The title of the page.
        said: Option<HostWords>,
    },
    /// ssh was refused.
    #[error("`{host}` refuses the ssh keys it was offered: {}", escaped(message))]
    PermissionDenied {
        /// The host.
        host: SshHost,
        /// What ssh said.
        message: String,
    },
    /// A redirect to somewhere else.
    #[error("`{}` redirects to `{}`, which is not followed", escaped(host), escaped(to))]
    Redirect {
        /// The host.
        host: String,
        /// Where it redirects to, without user, query and fragment.
        to: String,
    },
    /// The secret cannot be had.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The repository uses object ids that libgit2 does not read.
    #[error("`{url}` uses SHA-256 object ids, which are not supported")]
    Sha256 {
        /// Its address.
        url: String,
    },
    /// ssh or the program behind it failed.
    #[error("ssh to `{host}` failed: {}", escaped(message))]
    Ssh {
        /// The host.
        host: SshHost,
        /// What was printed.
        message: String,
    },
    /// Another status.
    #[error("`{}` answers with status {status}{}", escaped(host), saying(said.as_ref()))]
    Status {
        /// The host.
        host: String,
        /// The status.
        status: u16,
        /// The sentence of the host.
        said: Option<HostWords>,
    },
    /// Nothing came for too long.
    #[error("`{}` was silent for {} s", escaped(host), .after.as_secs_f64())]
    TimedOut {
        /// The host.
        host: String,
        /// For how long.
        after: Duration,
    },
    /// Credentials are missing or wrong.
    #[error("`{}` {} (401){}", escaped(host), match offered {
        Offered::Nothing => "wants credentials",
        Offered::Password => "does not accept the credentials",
    }, saying(said.as_ref()))]
    Unauthorised {
        /// The host.
        host: String,
        /// What it was given.
        offered: Offered,
        /// Its reason.
        said: Option<HostWords>,
    },
    /// The host's key is not known.
    #[error("the ssh host key of `{host}` is not known")]
    UnknownHostKey {
        /// The host.
        host: SshHost,
    },
    /// The host's certificate is not trusted.
    #[error("could not verify the certificate of `{}`: {fault}", escaped(host))]
    Untrusted {
        /// The host.
        host: String,
        /// The problem with it.
        fault: CertificateFault,
    },
}

/// What a host was given that answers with 401.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Offered {
    /// Nothing.
    Nothing,
    /// A user name and a password or token.
    Password,
}

impl From<git2::Error> for GitError {
    fn from(source: git2::Error) -> Self {
        Self::Git {
            source: Libgit2Error(source),
        }
    }
}

impl GitError {
    /// Returns whether another try in a moment may succeed: the host did not answer, or not as it should.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Git { .. }
            | Self::Network { .. }
            | Self::Proxy { .. }
            | Self::Ssh { .. }
            | Self::TimedOut { .. } => true,
            Self::Status { status, .. } => *status >= 500 || *status == 429,
            _ => false,
        }
    }

    /// Returns what to do about it, where there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::ChangedHostKey { host } => format!(
                "if the change was announced, remove the old key with `{}` and add the new one with `{} >> \
                 ~/.ssh/known_hosts`",
                host.forget(),
                host.keyscan()
            ),
            Self::UnknownHostKey { host } => format!(
                "compare the fingerprint that `{0} | ssh-keygen -lf -` prints with the one that the host publishes, \
                 then add the key with `{0} >> ~/.ssh/known_hosts`",
                host.keyscan()
            ),
            Self::Unauthorised { .. } => "give `GITOGGLE_GIT_USERNAME` and `GITOGGLE_GIT_PASSWORD` or \
                 `--git-password-file`"
                .to_owned(),
            Self::Untrusted { fault, .. } => return Some(trust(*fault).to_owned()),
            Self::NoSsh { .. } => {
                "install OpenSSH's client, name it in `GIT_SSH_COMMAND`, or use an https URL".to_owned()
            }
            Self::PermissionDenied { .. } => {
                "check the key, the agent and `~/.ssh/config` of this user".to_owned()
            }
            Self::Redirect { .. } => "give the address that it redirects to, if you trust it".to_owned(),
            Self::Forbidden { .. } => {
                "give credentials that may read it, and for `--state-remote` write to it".to_owned()
            }
            Self::Network { .. } | Self::TimedOut { .. } => {
                "check the address, the network and the proxy (`HTTPS_PROXY`, `NO_PROXY`)".to_owned()
            }
            Self::NotFound { .. } => "check the address, and what the credentials may read".to_owned(),
            Self::NotGit { .. } => "give the address that `git clone` takes".to_owned(),
            Self::Ssh { host, .. } => format!("run `{}` as this user to find out more", host.login()),
            Self::Proxy { .. } => {
                "check the proxy in `HTTPS_PROXY`, or exclude the host with `NO_PROXY`".to_owned()
            }
            Self::Refused { .. } => {
                "check the address, and what the credentials may read and write".to_owned()
            }
            Self::Sha256 { .. } => {
                "give a repository with SHA-1 ids, as `git init --object-format=sha1` makes one".to_owned()
            }
            Self::Status { .. } => "run it again when the host is well".to_owned(),
            Self::Setup(error) => return error.hint(),
            Self::Secret(error) => error.hint(),
            Self::Git { .. } | Self::Local => return None,
        };
        Some(hint)
    }
}

fn trust(fault: CertificateFault) -> &'static str {
    match fault {
        CertificateFault::Expired => "ask the operator of the host to renew it",
        CertificateFault::NotYetValid => "check the clock of this machine",
        CertificateFault::Other => "ask the operator of the host to replace it",
        CertificateFault::Untrusted => "to trust the issuer, pass its CA certificate with `--ca-file`",
        CertificateFault::WrongName => "check the address",
    }
}

/// Appends the sentence of a host.
fn saying(said: Option<&HostWords>) -> String {
    said.map_or_else(String::new, |said| format!(": {said}"))
}

fn called(content_type: Option<&str>) -> String {
    content_type.map_or_else(String::new, |kind| format!(", but with `{}`", escaped(kind)))
}
