#![doc = include_str!("README.md")]

mod format;
mod promotion;
pub(crate) mod target_folder;
#[cfg(test)]
mod target_folder_tests;

pub(crate) use format::{FormatReport, FormatRequest, format};
pub(crate) use promotion::{DocumentPlace, EnvironmentDocuments, PromotionReport, PromotionResult, promote};
pub(crate) use target_folder::{Existing, WriteResult, create_files};

use target_folder::FolderError;

use crate::model::EnvironmentId;
use crate::source;

/// Why documents could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthoringError {
    #[error("`{0}` has no document")]
    NoDocuments(EnvironmentId, Option<EnvironmentId>),
    #[error("`{0}` has no document yet")]
    NewEnvironment(EnvironmentId, Option<EnvironmentId>),
    #[error(transparent)]
    Source(#[from] source::Error),
    #[error(transparent)]
    WorkTree(#[from] FolderError),
}
