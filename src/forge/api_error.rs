//! Why a request to a forge failed.

use std::time::Duration;

use super::api::ForgeApi;
use crate::transport::{NetworkError, SecretError};

/// Why a forge did not do what was asked of it. Never contains the token; text of the forge is escaped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForgeError {
    /// The response is not one of the API.
    #[error("the forge responded with {status}, but not as its API does: {what}")]
    Foreign { status: u16, what: String },
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error("{0}")]
    NoToken(String),
    #[error("{}", refusal(*status, message))]
    Refused {
        status: u16,
        /// The message of the forge.
        message: String,
        /// How long to wait before the next attempt, if the forge names it.
        wait: Option<Duration>,
    },
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// No complete response.
    #[error("the forge is unreachable: {0}")]
    Unreachable(String),
}

fn refusal(status: u16, message: &str) -> String {
    match message {
        // Gitea answers so for a pull request or a commit that does not exist.
        "" if status >= 500 => {
            format!("the forge responded with {status} without a reason; it may not have this object")
        }
        "" => format!("the forge responded with {status}"),
        message => format!("the forge responded with {status}: {message}"),
    }
}

impl ForgeError {
    pub(super) fn foreign(what: &str) -> Self {
        Self::Foreign {
            status: 200,
            what: what.to_owned(),
        }
    }

    /// Returns whether the forge refused with this status.
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

    /// Returns the wait that the forge asks for; `None` if no later attempt can succeed.
    pub(super) fn transient(&self) -> Option<Duration> {
        match self {
            Self::Refused { wait: Some(wait), .. } => Some(*wait),
            Self::Refused {
                status: 408 | 409 | 425 | 429 | 500..,
                ..
            }
            | Self::Unreachable(_) => Some(Duration::ZERO),
            _ => None,
        }
    }

    /// Returns advice for the operator.
    pub(crate) fn hint(&self, api: ForgeApi) -> Option<&'static str> {
        self.is_denied().then(|| api.permissions())
    }
}
