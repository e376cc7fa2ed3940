//! The errors of connections to Git hosts, with their hints.

use std::time::Duration;

use super::host_message::HostMessage;
use super::paced::TooSlow;
use super::ssh_host::SshHost;
use crate::git::Libgit2Error;
use crate::model::escaped;
use crate::transport::{CertificateFault, NetworkError, ProxyFault, Reason, SecretError};

/// Why an exchange with a Git host failed. Contains hosts and addresses, never secrets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// The host key differs from the one in `known_hosts`.
    #[error("the ssh host key of `{host}` has changed, which may be an attack")]
    ChangedHostKey {
        /// The host.
        host: SshHost,
    },
    /// The credentials are valid but do not allow access.
    #[error("`{}` denied access to the repository (403){}", escaped(host), suffix(message.as_ref()))]
    Forbidden {
        /// The host.
        host: String,
        /// Its message.
        message: Option<HostMessage>,
    },
    /// Another error of libgit2.
    #[error("the Git transfer failed")]
    Git {
        /// The cause.
        source: Libgit2Error,
    },
    /// A repository at a path, which is opened instead.
    #[error("could not connect to a path: it must be opened")]
    Local,
    /// The connection failed or broke.
    #[error("could not communicate with `{}`", escaped(host))]
    Network {
        /// The host.
        host: String,
        /// The cause.
        source: Reason,
    },
    /// The proxy did not connect to the host.
    #[error("could not connect to `{}`: {fault}", escaped(host))]
    Proxy {
        /// The host.
        host: String,
        /// The fault of the proxy.
        fault: ProxyFault,
    },
    /// An `ERR` line of Git's protocol.
    #[error("`{}` refused the request{}", escaped(host), suffix(message.as_ref()))]
    Refused {
        /// The host.
        host: String,
        /// Its message.
        message: Option<HostMessage>,
    },
    /// The client could not be created.
    #[error(transparent)]
    Setup(#[from] NetworkError),
    /// The ssh program could not be started.
    #[error("could not run the ssh program `{}`", escaped(program))]
    NoSsh {
        /// The program.
        program: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The repository does not exist, or the host hides it from this user.
    #[error("the repository `{url}` does not exist or is not accessible{}", suffix(message.as_ref()))]
    NotFound {
        /// Its address.
        url: String,
        /// The message of the host.
        message: Option<HostMessage>,
    },
    /// A response that is not Git's protocol.
    #[error(
        "`{url}` did not respond as a Git repository{}{}",
        returned(content_type.as_deref()),
        suffix(message.as_ref())
    )]
    NotGit {
        /// Its address.
        url: String,
        /// The media type of the response.
        content_type: Option<String>,
        /// The title of the page.
        message: Option<HostMessage>,
    },
    /// The host rejected all ssh keys.
    #[error("`{host}` rejected the ssh keys: {}", escaped(message))]
    PermissionDenied {
        /// The host.
        host: SshHost,
        /// The output of ssh.
        message: String,
    },
    /// A redirect that is not followed: to another host or path, or one too many.
    #[error("`{}` redirects to `{}`, which is not followed", escaped(host), escaped(to))]
    Redirect {
        /// The host.
        host: String,
        /// The target, without user, query, and fragment.
        to: String,
    },
    /// The password file is unusable.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The repository uses object ids that libgit2 does not support.
    #[error("`{url}` uses SHA-256 object ids, which are not supported")]
    Sha256 {
        /// Its address.
        url: String,
    },
    /// ssh or the remote program failed.
    #[error("ssh to `{host}` failed: {}", escaped(message))]
    Ssh {
        /// The host.
        host: SshHost,
        /// The output on stderr.
        message: String,
    },
    /// Another HTTP status.
    #[error("`{}` returned status {status}{}", escaped(host), suffix(message.as_ref()))]
    Status {
        /// The host.
        host: String,
        /// The status code.
        status: u16,
        /// The message of the host.
        message: Option<HostMessage>,
    },
    /// The connection was silent for too long.
    #[error("`{}` did not respond for {} s", escaped(host), .after.as_secs_f64())]
    TimedOut {
        /// The host.
        host: String,
        /// The duration of the silence.
        after: Duration,
    },
    /// The connection was not silent, but a transfer of this pace would not end.
    #[error("`{}` is too slow: {slow}", escaped(host))]
    TooSlow {
        /// The host.
        host: String,
        /// The pace.
        slow: TooSlow,
    },
    /// Credentials are missing or wrong.
    #[error("`{}` {} (401){}", escaped(host), match offered {
        Offered::Nothing => "requires credentials",
        Offered::Password => "rejected the credentials",
    }, suffix(message.as_ref()))]
    Unauthorized {
        /// The host.
        host: String,
        /// The credentials that were sent.
        offered: Offered,
        /// Its message.
        message: Option<HostMessage>,
    },
    /// The host key is not in `known_hosts`.
    #[error("the ssh host key of `{host}` is not known")]
    UnknownHostKey {
        /// The host.
        host: SshHost,
    },
    /// The certificate of the host was rejected.
    #[error("could not verify the certificate of `{}`: {fault}", escaped(host))]
    Untrusted {
        /// The host.
        host: String,
        /// The fault of the certificate.
        fault: CertificateFault,
    },
}

/// The credentials that a host rejected with status 401.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Offered {
    /// None.
    Nothing,
    /// A user name with a password or token.
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
    /// Returns whether another attempt may succeed: the host did not respond, or responded with an internal error.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Git { .. }
            | Self::Network { .. }
            | Self::Proxy { .. }
            | Self::Ssh { .. }
            | Self::TimedOut { .. }
            | Self::TooSlow { .. } => true,
            Self::Status { status, .. } => *status >= 500 || *status == 429,
            _ => false,
        }
    }

    /// Returns advice for the operator.
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
            Self::Unauthorized { .. } => "set `GITOGGLE_GIT_USERNAME` and `GITOGGLE_GIT_PASSWORD`, or pass \
                 `--git-password-file`"
                .to_owned(),
            Self::Untrusted { fault, .. } => return Some(trust(*fault).to_owned()),
            Self::NoSsh { .. } => {
                "install the OpenSSH client, set `GIT_SSH_COMMAND`, or use an https URL".to_owned()
            }
            Self::PermissionDenied { .. } => {
                "check the key, the agent, and `~/.ssh/config` of this user".to_owned()
            }
            Self::Redirect { .. } => {
                "if you trust the target, set it as the address of the repository".to_owned()
            }
            Self::Forbidden { .. } => {
                "use credentials that may read the repository and, for `--state-remote`, write to it"
                    .to_owned()
            }
            Self::Network { .. } | Self::TimedOut { .. } | Self::TooSlow { .. } => {
                "check the address, the network, and the proxy (`HTTPS_PROXY`, `NO_PROXY`)".to_owned()
            }
            Self::NotFound { .. } => "check the address and the permissions of the credentials".to_owned(),
            Self::NotGit { .. } => "use the address that `git clone` accepts".to_owned(),
            Self::Ssh { host, .. } => format!("for details, run `{}` as this user", host.login()),
            Self::Proxy { .. } => {
                "check the proxy in `HTTPS_PROXY`, or exclude the host with `NO_PROXY`".to_owned()
            }
            Self::Refused { .. } => "check the address and the permissions of the credentials".to_owned(),
            Self::Sha256 { .. } => {
                "use a repository with SHA-1 ids, as created by `git init --object-format=sha1`".to_owned()
            }
            Self::Status { .. } => "try again when the host has recovered".to_owned(),
            Self::Setup(error) => return error.hint(),
            Self::Secret(error) => error.hint(),
            Self::Git { .. } | Self::Local => return None,
        };
        Some(hint)
    }
}

fn trust(fault: CertificateFault) -> &'static str {
    match fault {
        CertificateFault::CaCertificate => {
            "create a server certificate with `openssl req -x509 -addext basicConstraints=critical,CA:FALSE -addext \
             subjectAltName=DNS:HOST`"
        }
        CertificateFault::Expired => "ask the operator of the host to renew the certificate",
        CertificateFault::NotYetValid => "check the clock of this machine",
        CertificateFault::Other => "ask the operator of the host to replace the certificate",
        CertificateFault::Untrusted => "to trust the issuer, pass its CA certificate with `--ca-file`",
        CertificateFault::WrongName => "check the address",
    }
}

fn suffix(message: Option<&HostMessage>) -> String {
    message.map_or_else(String::new, |message| format!(": {message}"))
}

fn returned(content_type: Option<&str>) -> String {
    content_type.map_or_else(String::new, |kind| format!(" (it returned `{}`)", escaped(kind)))
}
