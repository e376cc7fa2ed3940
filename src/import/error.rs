//! Why an import could not begin.

use crate::service::ClientError;
use crate::source;

/// Why an import could not begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportError {
    /// The work tree cannot be used.
    #[error(transparent)]
    Source(#[from] source::Error),
    /// Connections to the service could not be set up.
    #[error(transparent)]
    Service(#[from] ClientError),
    /// The system had no thread left.
    #[error("could not start a thread")]
    Thread(#[source] std::io::Error),
    /// Another import is running, or the work tree could not be opened.
    #[error("{0}")]
    WorkTree(String),
    /// The root contains more files than a tree of documents may have.
    #[error("the root contains too many files")]
    TooManyFiles,
}

impl ImportError {
    /// Returns the way out, if one is known.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Source(source::Error::NoRepository(_) | source::Error::NoWorkTree(_)) => Some(
                "an import writes into a work tree: create one with `git init`, or clone the repository and pass the \
                 clone as `--repo`"
                    .to_owned(),
            ),
            Self::Source(_) => None,
            Self::Service(error) => error.hint(),
            Self::Thread(_) | Self::WorkTree(_) => None,
            Self::TooManyFiles => Some("select one of the folders with `--root`".to_owned()),
        }
    }
}
