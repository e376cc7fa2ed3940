//! Changes documents in a work tree for their authors (DESIGN, section 13.4). Commits nothing and needs no service.

mod formatting;
mod promotion;
pub(crate) mod target_folder;
#[cfg(test)]
mod target_folder_tests;

pub(crate) use formatting::{FormatReport, FormatRequest, format};
pub(crate) use promotion::{DocumentPlace, EnvironmentDocuments, PromotionReport, PromotionResult, promote};
pub(crate) use target_folder::{Existing, WriteResult, create_files};

use crate::authoring::target_folder::FolderError;
use crate::model::{EnvironmentId, chain};
use crate::source;

/// Why documents could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthoringError {
    #[error("`{0}` has no document")]
    NoDocuments(EnvironmentId),
    #[error("`{0}` has no document yet")]
    NewEnvironment(EnvironmentId, Option<String>),
    #[error(transparent)]
    Source(#[from] source::Error),
    #[error("{0}")]
    WorkTree(String),
}

impl From<FolderError> for AuthoringError {
    fn from(error: FolderError) -> Self {
        Self::WorkTree(chain(&error))
    }
}
