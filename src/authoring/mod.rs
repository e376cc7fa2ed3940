//! Changes documents in a work tree for their authors (DESIGN, section 13.4). Commits nothing and needs no service.

mod environments;
mod formatting;
mod new_files;
mod promotion;
pub(crate) mod target_folder;
#[cfg(test)]
mod target_folder_tests;

pub use environments::{DocumentPlace, EnvironmentDocument, EnvironmentDocuments};
pub use formatting::{FormatMode, FormatReport, FormatRequest, format};
pub use new_files::create_files;
pub use target_folder::{Existing, WriteResult};

pub use promotion::{PromotionReport, PromotionResult, promote};

use crate::authoring::target_folder::FolderError;
use crate::model::{EnvironmentId, chain};
use crate::source;

/// Why documents could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum AuthoringError {
    /// An environment without a document.
    #[error("`{0}` has no document")]
    NoDocuments(EnvironmentId),
    /// The target of a promotion, which has no document, with the environment that may have been meant.
    #[error("`{0}` has no document yet")]
    NewEnvironment(EnvironmentId, Option<String>),
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
