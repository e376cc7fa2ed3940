//! What can go wrong on the way to a Git host, and what to do about it.

use std::time::Duration;

use crate::model::escaped;
use crate::transport::{NetworkError, SecretError};

/// Why a Git host gave no answer, or not the one that was needed. Names hosts and addresses, never a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// The host has another key than the one that is known.
    #[error("the ssh host key of `{}` has changed: this may be an attack", escaped(host))]
    ChangedHostKey {
        /// The host.
        host: String,
    },
    /// The host knows who asks, and refuses.
    #[error("`{}` refuses access to the repository (403)", escaped(host))]
    Forbidden {
        /// The host.
        host: String,
    },
    /// libgit2 says so.
    #[error("git: {}", escaped(source.message()))]
    Git {
        /// What it said.
        source: git2::Error,
    },
    /// A path is opened, not connected to.
    #[error("a repository at a path is opened, not connected to")]
    Local,
    /// The connection was not made, or broke.
    #[error("cannot talk to `{}`", escaped(host))]
    Network {
        /// The host.
        host: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
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
    #[error("there is no repository `{url}`, or no access to it")]
    NotFound {
        /// Its address.
        url: String,
    },
    /// Somebody answered who does not speak Git.
    #[error("`{url}` does not answer as a Git repository does{}", called(content_type.as_deref()))]
    NotGit {
        /// Its address.
        url: String,
        /// What the answer called itself.
        content_type: Option<String>,
    },
    /// ssh was refused.
    #[error(
        "`{}` refuses the ssh keys it was offered: {}",
        escaped(host),
        escaped(message)
    )]
    PermissionDenied {
        /// The host.
        host: String,
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
    /// ssh or the program behind it failed.
    #[error("ssh to `{}` failed: {}", escaped(host), escaped(message))]
    Ssh {
        /// The host.
        host: String,
        /// What was said last.
        message: String,
    },
    /// Another status.
    #[error("`{}` answers with status {status}", escaped(host))]
    Status {
        /// The host.
        host: String,
        /// The status.
        status: u16,
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
    #[error("`{}` {} (401)", escaped(host), match offered {
        Offered::Nothing => "wants credentials",
        Offered::Password => "does not accept the credentials",
    })]
    Unauthorised {
        /// The host.
        host: String,
        /// What it was given.
        offered: Offered,
    },
    /// The host's key is not known.
    #[error("the ssh host key of `{}` is not known", escaped(host))]
    UnknownHostKey {
        /// The host.
        host: String,
    },
    /// The host's certificate is not trusted.
    #[error("the certificate of `{}` is not trusted", escaped(host))]
    Untrusted {
        /// The host.
        host: String,
        /// Why.
        source: reqwest::Error,
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
        Self::Git { source }
    }
}

impl GitError {
    /// Returns what to do about it, where there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::ChangedHostKey { host } => format!(
                "if the change is announced, remove the old key with `ssh-keygen -R {}` and add the new one to \
                 `known_hosts`",
                escaped(host)
            ),
            Self::UnknownHostKey { host } => format!(
                "add it to `known_hosts`: `ssh-keyscan {} >> ~/.ssh/known_hosts`, and compare its fingerprint with \
                 the one that the host publishes",
                escaped(host)
            ),
            Self::Unauthorised { .. } => "give `GITOGGLE_GIT_USERNAME` and `GITOGGLE_GIT_PASSWORD` or \
                 `--git-password-file`"
                .to_owned(),
            Self::Untrusted { .. } => {
                "name the file of the authority that signed it with `--ca-file`".to_owned()
            }
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
            Self::Ssh { host, .. } => {
                format!("`ssh {}` as this user may tell more", escaped(host))
            }
            Self::Status { .. } => "run it again when the host is well".to_owned(),
            Self::Setup(error) => return error.hint(),
            Self::Secret(error) => error.hint(),
            Self::Git { .. } | Self::Local => return None,
        };
        Some(hint)
    }
}

fn called(content_type: Option<&str>) -> String {
    content_type.map_or_else(String::new, |kind| format!(", but with `{}`", escaped(kind)))
}
