//! The faults of a state remote.

use crate::git::{GitError, Libgit2Error, UnsupportedFormat};

/// Why a state remote could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RemoteFault {
    #[error("there is no repository")]
    NoRepository,
    #[error("there is no repository anymore")]
    Vanished,
    #[error("{0}")]
    Format(UnsupportedFormat),
    #[error("it rejected the push: {0}")]
    Rejected(String),
    #[error(transparent)]
    Repository(Libgit2Error),
    #[error(transparent)]
    Transfer(#[from] GitError),
}

impl From<Libgit2Error> for RemoteFault {
    fn from(error: Libgit2Error) -> Self {
        match error.unsupported_format() {
            Some(format) => Self::Format(format),
            None if error.is_not_found() => Self::NoRepository,
            None => Self::Repository(error),
        }
    }
}

impl RemoteFault {
    /// Returns whether only a person can end it, as opposed to an outage.
    pub(crate) fn needs_someone(&self) -> bool {
        match self {
            Self::NoRepository | Self::Vanished | Self::Format(_) | Self::Rejected(_) => true,
            Self::Repository(_) => false,
            Self::Transfer(error) => error.needs_someone(),
        }
    }

    /// Returns advice for the operator.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::NoRepository => {
                Some("check `--state-remote`; `git init --bare` creates a repository".to_owned())
            }
            // An empty one would look like a state that was never used.
            Self::Vanished => Some(
                "mount or restore it: this state folder was used with it, and other processes may have recorded there what \
                 this folder does not have"
                    .to_owned(),
            ),
            Self::Format(_) => Some("use a repository as created by `git init --bare`".to_owned()),
            Self::Rejected(_) | Self::Repository(_) => {
                Some("check `--state-remote` and the permissions of this user there".to_owned())
            }
            Self::Transfer(error) => error.hint(),
        }
    }

    /// Returns whether a retry may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Transfer(error) => error.is_transient(),
            _ => false,
        }
    }

    /// Returns whether the host refused access, which may last only a moment. The decision of a hook is not
    /// such a refusal.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::Transfer(error) if error.is_refusal())
    }
}
