//! Why a forge did not do what was asked of it.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use crate::model::{Forge, rfc3339};
use crate::transport::{NetworkError, SecretError, is_passing};

/// Why a forge did not do what was asked of it. Never contains the token; text of the forge is escaped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForgeError {
    #[error("the forge responded with {status}, but not as its API does: {what}")]
    Foreign { status: u16, what: String },
    #[error(transparent)]
    Limited(Limit),
    #[error("the comments of the pull request {0}")]
    Comments(&'static str),
    #[error("the branch that pull requests are merged into is unknown: `{0}` is not a branch")]
    NoBranch(String),
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error("{0}")]
    NoToken(String),
    #[error("{}", refusal(*status, message))]
    Refused { status: u16, message: String },
    #[error("the list of {what} has no end: page {page} has only what earlier pages have")]
    Repeats { what: &'static str, page: u32 },
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("the forge is unreachable: {0}")]
    Unreachable(String),
}

/// A limit on the requests of the token.
#[derive(Debug, thiserror::Error)]
pub(crate) struct Limit {
    pub(super) status: u16,
    pub(super) message: String,
    /// How long the forge asks to wait.
    pub(super) wait: Option<Duration>,
    pub(super) until: Option<Timestamp>,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; the forge limits requests", refusal(self.status, &self.message))?;
        match self.until {
            Some(until) => write!(f, " until {}", rfc3339(until.as_second())),
            None => f.write_str(" and does not say until when"),
        }
    }
}

fn refusal(status: u16, message: &str) -> String {
    match message {
        // Gitea answers so for a pull request or a commit that does not exist. A proxy has other statuses.
        "" if status == 500 => {
            format!("the forge responded with {status} without a reason; it may not have this object")
        }
        "" => format!("the forge responded with {status}"),
        message => format!("the forge responded with {status}: {message}"),
    }
}

impl ForgeError {
    pub(super) fn refused(&self, expected: u16) -> bool {
        matches!(self, Self::Refused { status, .. } if *status == expected)
    }

    pub(super) fn mentions(&self, text: &str) -> bool {
        matches!(self, Self::Refused { message, .. } if message.contains(text))
    }

    /// Returns whether the token lacks rights or does not reach the repository.
    pub(super) fn is_denied(&self) -> bool {
        matches!(self, Self::NoToken(_)) || [401, 403, 404].iter().any(|status| self.refused(*status))
    }

    /// Returns whether the same request may succeed in a moment.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            // A conflict is one with another request of the moment.
            Self::Refused { status, .. } => *status == 409 || is_passing(*status),
            Self::Limited(_) | Self::Unreachable(_) => true,
            Self::Comments(_)
            | Self::Foreign { .. }
            | Self::Network(_)
            | Self::NoBranch(_)
            | Self::NoToken(_)
            | Self::Repeats { .. }
            | Self::Secret(_) => false,
        }
    }

    /// Returns advice for the operator.
    pub(crate) fn hint(&self, api: Forge) -> Option<String> {
        let permissions = api.row().permissions;
        match self {
            Self::Limited(_) => Some("run the job again after that".to_owned()),
            Self::NoBranch(_) => Some("name the branch with `--ref`".to_owned()),
            Self::Refused { status: 401, .. } => {
                Some(format!("the token may have expired or been revoked; if it is valid, {permissions}"))
            }
            _ => self.is_denied().then(|| permissions.to_owned()),
        }
    }
}
