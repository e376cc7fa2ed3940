//! Changes documents in a work tree for their authors (DESIGN, section 13.4). Commits nothing and needs no service.

mod formatting;

pub use formatting::{FormatMode, FormatReport, FormatRequest, format};

use crate::model::chain;
use crate::pass::target_folder::FolderError;
use crate::source;

/// Why documents could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum AuthoringError {
    /// The files cannot be read.
    #[error(transparent)]
    Source(#[from] source::Error),
    /// Another process writes to the work tree, or the work tree could not be opened.
    #[error("{0}")]
    WorkTree(String),
}

impl From<FolderError> for AuthoringError {
    fn from(error: FolderError) -> Self {
        Self::WorkTree(chain(&error))
    }
}
